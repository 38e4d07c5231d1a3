"""Accesses by element: ../copy_bounds.mlir, ../transpose.mlir and ../histogram.mlir."""

from tessera_tools.dsl import (
    arange,
    array,
    atomic,
    cdiv,
    f32,
    i8,
    i32,
    kernel,
    load,
    make_partition_view,
    program_id,
    store,
    sum,
    tile,
    zeros,
)


@kernel
def copy(A: array[f32], B: array[f32]):
    """512 elements a block, each through a pointer of its own, with a mask for the end."""
    i = program_id(0) * 512 + arange(512)
    inside = i < A.shape[0]
    store(B.pointer + i, load(A.pointer + i, mask=inside), mask=inside)


@kernel
def transpose(A: array[f32, 2], B: array[f32, 2]):
    """32x32 a block."""
    i, j = program_id(0), program_id(1)
    a = load(make_partition_view(A, tile=(32, 32)), (i, j))
    store(make_partition_view(B, tile=(32, 32)), (j, i), a.T)


@kernel
def histogram(A: array[i8], H: array[i32]):
    """How often each of 32 numbers occurs in A, by one block: each number of the tile is compared with all 32."""
    counts = zeros(tile[32, 128, i32])
    bins = arange(32)[:, None]
    values = make_partition_view(A, tile=128)
    for step in range(cdiv(A.shape[0], 128)):
        here = (load(values, step).to(i32) & 31)[None, :] == bins
        inside = (step * 128 + arange(128) < A.shape[0])[None, :]
        counts += (here & inside).to(i32)
    store(make_partition_view(H, tile=32), 0, sum(counts, axis=1))


@kernel
def histogram_by_atomics(A: array[i8], H: array[i32]):
    """The same by many blocks, which add to the counts in memory."""
    i = program_id(0) * 128 + arange(128)
    inside = i < A.shape[0]
    values = load(A.pointer + i, mask=inside, other=0).to(i32) & 31
    atomic("add", H.pointer + values, 1, mask=inside)
