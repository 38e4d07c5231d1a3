"""D = A · Bᵀ + C, tiles of 128×128: ../gemm_stage1.mlir, as the listing that it is made from."""

from tessera_tools.dsl import (
    addf,
    f16,
    f32,
    i32,
    kernel,
    load,
    make_partition_view,
    mmaf,
    program_id,
    ptr,
    store,
    tile,
    zeros,
)


# fmt: off
@kernel
def gemm(A: ptr[f16], B: ptr[f16], C: ptr[f32], D: ptr[f32],
         M: i32, N: i32, K: i32):
    block_m = program_id(0)
    block_n = program_id(1)

    a_view = make_partition_view(A, [M, K], tile=(128, 64), dim_map=[0, 1])
    b_view = make_partition_view(B, [N, K], tile=(128, 64), dim_map=[0, 1])
    c_view = make_partition_view(C, [M, N], tile=(128, 128), dim_map=[0, 1])
    d_view = make_partition_view(D, [M, N], tile=(128, 128), dim_map=[0, 1])

    acc = zeros(tile[128, 128, f32])
    for k in range(0, K, 64):
        a_tile = load(a_view, (block_m, k // 64))     # tile<128x64xf16>
        b_tile = load(b_view, (block_n, k // 64))     # tile<128x64xf16>
        acc    = mmaf(a_tile, b_tile, acc)            # tile<128x128xf32>

    c_tile = load(c_view, (block_m, block_n))
    d_tile = addf(acc, c_tile)
    store(d_view, (block_m, block_n), d_tile)
