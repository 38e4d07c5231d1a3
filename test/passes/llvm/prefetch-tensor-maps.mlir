// RUN: tessera-translate --mlir-to-llvmir --gpu-name sm_90a %s -o %t.ll
// RUN: filecheck %s --input-file %t.ll
// RUN: tessera-translate --mlir-to-llvmir --gpu-name sm_80 %s -o %t.80.ll
// RUN: filecheck %s --input-file %t.80.ll --check-prefix=WITHOUT

// The thread that prepares the barriers of agents prefetches each tensor map once: two loads of one view share one.
// CHECK: br i1
// CHECK: call void @llvm.nvvm.prefetch.tensormap.p101(
// CHECK-NOT: prefetch.tensormap
// CHECK: call void @llvm.nvvm.mbarrier.init
// CHECK-NOT: call void @llvm.nvvm.prefetch.tensormap
// CHECK: cp.async.bulk.tensor

// Without TMA there are no tensor maps.
// WITHOUT-NOT: tensormap
cuda_tile.module @m {
  entry @square(%a: tile<ptr<f16>>, %d: tile<ptr<f32>>, %n: tile<i32>) {
    %a16 = assume div_by<16>, %a : tile<ptr<f16>>
    %n64 = assume div_by<64>, %n : tile<i32>
    %t = make_token : token
    %i, %j, %z = get_tile_block_id : tile<i32>
    %view = make_tensor_view %a16, shape = [%n64, %n64], strides = [%n64, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?, 1]>
    %tiles = make_partition_view %view : partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?, 1]>>
    %out = make_tensor_view %d, shape = [%n64, %n64], strides = [%n64, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?, 1]>
    %places = make_partition_view %out : partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?, 1]>>
    %zero = constant <f32: 0.0> : tile<64x64xf32>
    %c0 = constant <i32: 0> : tile<i32>
    %c1 = constant <i32: 1> : tile<i32>
    %c64 = constant <i32: 64> : tile<i32>
    %steps = divi %n64, %c64 signed : tile<i32>
    %sum = for %k in (%c0 to %steps, step %c1) : tile<i32> iter_values(%acc = %zero) -> (tile<64x64xf32>) {
      %x, %t1 = load_view_tko weak %tiles[%i, %k] token = %t : partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?, 1]>>, tile<i32> -> tile<64x64xf16>, token
      %y, %t2 = load_view_tko weak %tiles[%k, %j] token = %t : partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?, 1]>>, tile<i32> -> tile<64x64xf16>, token
      %r = mmaf %x, %y, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      continue %r : tile<64x64xf32>
    }
    %t3 = store_view_tko weak %sum, %places[%i, %j] token = %t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?, 1]>>, tile<i32> -> token
    return
  }
}
