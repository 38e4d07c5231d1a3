"""Kernels over rows: ../softmax.mlir, ../layer_norm.mlir and ../rms_norm.mlir."""

from tessera_tools.dsl import (
    arange,
    array,
    bf16,
    cdiv,
    exp,
    f16,
    f32,
    kernel,
    load,
    make_partition_view,
    program_id,
    rsqrt,
    store,
    tile,
    where,
    zeros,
)


@kernel
def softmax(X: array[f32, 2], Y: array[f32, 2]):
    """8 rows of up to 512 columns a block. Columns behind the last one are loaded as -inf."""
    row = program_id(0)
    x = load(make_partition_view(X, tile=(8, 512), padding="neg_inf"), (row, 0))
    e = exp(x - max(x, axis=1, keep_dims=True))
    store(make_partition_view(Y, tile=(8, 512)), (row, 0), e / sum(e, axis=1, keep_dims=True))


@kernel
def layer_norm(X: array[bf16, 2], gamma: array[bf16], beta: array[bf16], Y: array[bf16, 2], epsilon: f32):
    """4 rows of up to 1024 columns a block, with a scale and a shift for each column."""
    row = program_id(0)
    n = X.shape[1].to(f32)
    x = load(make_partition_view(X, tile=(4, 1024)), (row, 0)).to(f32)
    scale = load(make_partition_view(gamma, tile=1024), 0).to(f32)
    shift = load(make_partition_view(beta, tile=1024), 0).to(f32)

    mean = sum(x, axis=1, keep_dims=True) / n
    # What is behind the last column has been loaded as zero, and is no element.
    d = where(arange(1024) < X.shape[1], x - mean, 0.0)
    variance = sum(d * d, axis=1, keep_dims=True) / n
    y = d * rsqrt(variance + epsilon) * scale + shift
    store(make_partition_view(Y, tile=(4, 1024)), (row, 0), y.to(bf16))


@kernel
def rms_norm(X: array[f16, 2], gamma: array[f16], Y: array[f16, 2], epsilon: f32):
    """8 rows of any length a block, 256 columns at a time: twice, first for the sum of squares."""
    row = program_id(0)
    steps = cdiv(X.shape[1], 256)
    x_tiles = make_partition_view(X, tile=(8, 256))
    y_tiles = make_partition_view(Y, tile=(8, 256))
    scales = make_partition_view(gamma, tile=256)

    squares = zeros(tile[8, 256, f32])
    for j in range(steps):
        x = load(x_tiles, (row, j)).to(f32)
        squares += x * x
    factor = rsqrt(sum(squares, axis=1, keep_dims=True) / X.shape[1].to(f32) + epsilon)

    for j in range(steps):
        x = load(x_tiles, (row, j)).to(f32)
        store(y_tiles, (row, j), (x * factor * load(scales, j).to(f32)).to(f16))
