cuda_tile.module {
  cuda_tile.entry @gemm(%A: !cuda_tile.ptr<f16>, %B: !cuda_tile.ptr<f16>,
                       %C: !cuda_tile.ptr<f32>, %D: !cuda_tile.ptr<f32>,
                       %M: i32, %N: i32, %K: i32) {
    %tok0 = cuda_tile.make_token : !cuda_tile.token
    %bm = cuda_tile.get_tile_block_id { axis = 0 : i32 } : i32
    %bn = cuda_tile.get_tile_block_id { axis = 1 : i32 } : i32

    %a_view = cuda_tile.tensor_view %A, shape = [%M, %K], stride = [%K, 1]
            : !cuda_tile.tensor_view<128x64xf16>
    %b_view = cuda_tile.tensor_view %B, shape = [%N, %K], stride = [%K, 1]
            : !cuda_tile.tensor_view<128x64xf16>
    %c_view = cuda_tile.tensor_view %C, shape = [%M, %N], stride = [%N, 1]
            : !cuda_tile.tensor_view<128x128xf32>
    %d_view = cuda_tile.tensor_view %D, shape = [%M, %N], stride = [%N, 1]
            : !cuda_tile.tensor_view<128x128xf32>

    %a_part = cuda_tile.partition_view %a_view, tile = [128, 64], dim_map = [0, 1]
            : !cuda_tile.partition_view<128x64xf16>
    %b_part = cuda_tile.partition_view %b_view, tile = [128, 64], dim_map = [0, 1]
            : !cuda_tile.partition_view<128x64xf16>

    %zero  = cuda_tile.constant dense<0.0> : !cuda_tile.tile<128x128xf32>
    %k_end = arith.muli %K, %K : i32
    %c0    = arith.constant 0  : i32
    %c64   = arith.constant 64 : i32

    %acc_out = cuda_tile.for %k = %c0 to %K step %c64 iter_args(%acc = %zero)
             -> !cuda_tile.tile<128x128xf32> {
      %kt = arith.divsi %k, %c64 : i32
      %a, %tok_a = cuda_tile.load_view_tko %a_part, [%bm, %kt], %tok0
                 : !cuda_tile.tile<128x64xf16>, !cuda_tile.token
      %b, %tok_b = cuda_tile.load_view_tko %b_part, [%bn, %kt], %tok_a
                 : !cuda_tile.tile<128x64xf16>, !cuda_tile.token
      %acc_n = cuda_tile.mmaf %a, %b, %acc { fastmath = "contract" }
             : !cuda_tile.tile<128x64xf16>, !cuda_tile.tile<128x64xf16>,
               !cuda_tile.tile<128x128xf32>
      cuda_tile.yield %acc_n : !cuda_tile.tile<128x128xf32>
    }

    %c_part = cuda_tile.partition_view %c_view, tile = [128, 128], dim_map = [0, 1]
            : !cuda_tile.partition_view<128x128xf32>
    %d_part = cuda_tile.partition_view %d_view, tile = [128, 128], dim_map = [0, 1]
            : !cuda_tile.partition_view<128x128xf32>

    %c_tile, %tok_c = cuda_tile.load_view_tko %c_part, [%bm, %bn], %tok0
                    : !cuda_tile.tile<128x128xf32>, !cuda_tile.token
    %d_tile = cuda_tile.addf %acc_out, %c_tile : !cuda_tile.tile<128x128xf32>
    %tok_s  = cuda_tile.store_view_tko %d_part, [%bm, %bn], %d_tile, %tok_c
            : !cuda_tile.token
    cuda_tile.return
  }
}
