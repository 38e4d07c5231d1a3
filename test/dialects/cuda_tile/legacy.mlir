// RUN: tessera-opt %s | filecheck %s

// The older spelling is translated as it is read: scalars become tiles, B is permuted, the view loads zeros outside.

// CHECK:      cuda_tile.module @kernels {
// CHECK-NEXT:   entry @gemm(%A: tile<ptr<f16>>, %B: tile<ptr<f16>>, %D: tile<ptr<f32>>, %M: tile<i32>, %N: tile<i32>, %K: tile<i32>) {
// CHECK-NEXT:     %tok0 = make_token : token
// CHECK-NEXT:     %bm, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
// CHECK-NEXT:     %blockId_x, %bn, %blockId_z_0 = get_tile_block_id : tile<i32>
// CHECK-NEXT:     %a_view = make_tensor_view %A, shape = [%M, %K], strides = [%K, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
// CHECK:          %d_view = make_tensor_view %D, shape = [%M, %N], strides = [%N, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
// CHECK-NEXT:     %a_part = make_partition_view %a_view : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
// CHECK:          %zero = constant <f32: 0.000000e+00> : tile<128x128xf32>
// CHECK-NEXT:     %k_end = muli %K, %K : tile<i32>
// CHECK-NEXT:     %c0 = constant <i32: 0> : tile<i32>
// CHECK-NEXT:     %c64 = constant <i32: 64> : tile<i32>
// CHECK-NEXT:     %acc_out = for %k in (%c0 to %K, step %c64) : tile<i32> iter_values(%acc = %zero) -> (tile<128x128xf32>) {
// CHECK-NEXT:       %kt = divi %k, %c64 signed : tile<i32>
// CHECK-NEXT:       %a, %tok_a = load_view_tko weak %a_part[%bm, %kt] token = %tok0 : {{.*}} -> tile<128x64xf16>, token
// CHECK-NEXT:       %b, %tok_b = load_view_tko weak %b_part[%bn, %kt] token = %tok_a : {{.*}} -> tile<128x64xf16>, token
// CHECK-NEXT:       %0 = permute %b [1, 0] : tile<128x64xf16> -> tile<64x128xf16>
// CHECK-NEXT:       %acc_n = mmaf %a, %0, %acc : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>
// CHECK-NEXT:       continue %acc_n : tile<128x128xf32>
// CHECK-NEXT:     }
// CHECK:          %tok_s = store_view_tko weak %acc_out, %d_part[%bm, %bn] token = %tok0 : tile<128x128xf32>
// CHECK-NEXT:     return
cuda_tile.module {
  cuda_tile.entry @gemm(%A: !cuda_tile.ptr<f16>, %B: !cuda_tile.ptr<f16>, %D: !cuda_tile.ptr<f32>,
                        %M: i32, %N: i32, %K: i32) {
    %tok0 = cuda_tile.make_token : !cuda_tile.token
    %bm = cuda_tile.get_tile_block_id { axis = 0 : i32 } : i32
    %bn = cuda_tile.get_tile_block_id { axis = 1 : i32 } : i32
    %a_view = cuda_tile.tensor_view %A, shape = [%M, %K], stride = [%K, 1] : !cuda_tile.tensor_view<128x64xf16>
    %b_view = cuda_tile.tensor_view %B, shape = [%N, %K], stride = [%K, 1] : !cuda_tile.tensor_view<128x64xf16>
    %d_view = cuda_tile.tensor_view %D, shape = [%M, %N], stride = [%N, 1] : !cuda_tile.tensor_view<128x128xf32>
    %a_part = cuda_tile.partition_view %a_view, tile = [128, 64], dim_map = [0, 1] : !cuda_tile.partition_view<128x64xf16>
    %b_part = cuda_tile.partition_view %b_view, tile = [128, 64], dim_map = [0, 1] : !cuda_tile.partition_view<128x64xf16>
    %d_part = cuda_tile.partition_view %d_view, tile = [128, 128], dim_map = [0, 1] : !cuda_tile.partition_view<128x128xf32>
    %zero = cuda_tile.constant dense<0.0> : !cuda_tile.tile<128x128xf32>
    %k_end = arith.muli %K, %K : i32
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %acc_out = cuda_tile.for %k = %c0 to %K step %c64 iter_args(%acc = %zero) -> !cuda_tile.tile<128x128xf32> {
      %kt = arith.divsi %k, %c64 : i32
      %a, %tok_a = cuda_tile.load_view_tko %a_part, [%bm, %kt], %tok0 : !cuda_tile.tile<128x64xf16>, !cuda_tile.token
      %b, %tok_b = cuda_tile.load_view_tko %b_part, [%bn, %kt], %tok_a : !cuda_tile.tile<128x64xf16>, !cuda_tile.token
      %acc_n = cuda_tile.mmaf %a, %b, %acc { fastmath = "contract" }
             : !cuda_tile.tile<128x64xf16>, !cuda_tile.tile<128x64xf16>, !cuda_tile.tile<128x128xf32>
      cuda_tile.yield %acc_n : !cuda_tile.tile<128x128xf32>
    }
    %tok_s = cuda_tile.store_view_tko %d_part, [%bm, %bn], %acc_out, %tok0 : !cuda_tile.token
    cuda_tile.return
  }
}
