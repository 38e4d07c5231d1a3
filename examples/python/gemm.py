"""Matrix products: `gemm` is ../gemm.mlir, `gemm_tile` and `gemm_ring` those of the `tile` dialect.

The `.mlir` files of the `tile` dialect write their buffers in shared memory and the copies into them. Here the compiler
chooses them.
"""

from tessera_tools.dsl import (
    array,
    constexpr,
    f16,
    f32,
    kernel,
    load,
    make_partition_view,
    num_tiles,
    program_id,
    store,
    tile,
    zeros,
)


def product(A, B, i, j, m, n, k):
    """Tile (i, j) of A · B, of m by n elements, with steps of k; the sums are f32."""
    a_tiles = make_partition_view(A, tile=(m, k))
    b_tiles = make_partition_view(B, tile=(k, n))
    acc = zeros(tile[m, n, f32])
    for step in range(num_tiles(a_tiles, 1)):
        acc += load(a_tiles, (i, step)) @ load(b_tiles, (step, j))
    return acc


@kernel
def gemm(A: array[f16, 2], B: array[f16, 2], D: array[f16, 2]):
    i, j = program_id(0), program_id(1)
    d_tiles = make_partition_view(D, tile=(64, 64))
    # Round once, at the end.
    store(d_tiles, (i, j), product(A, B, i, j, 64, 64, 32).to(f16))


@kernel
def gemm_f32(A: array[f16, 2], B: array[f16, 2], D: array[f32, 2], m: constexpr, n: constexpr, k: constexpr):
    i, j = program_id(0), program_id(1)
    store(make_partition_view(D, tile=(m, n)), (i, j), product(A, B, i, j, m, n, k))


gemm_tile = gemm_f32.bind(m=128, n=128, k=64)
gemm_ring = gemm_f32.bind(m=64, n=64, k=32)
