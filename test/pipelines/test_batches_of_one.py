# ruff: noqa: E501
"""Products whose tiles are batches of one matrix: the code is that of products of matrices."""

from __future__ import annotations

import re

import numpy as np
import pytest
from programs import compiled, decode, empty, fresh_seed, launch, random

M, N, K = 64, 64, 32
INSTRUCTION = {
    "sm_80": "mma.sync",
    "sm_90a": "wgmma.mma_async",
    "sm_100a": "tcgen05.mma",
    "sm_120a": "mma.sync",
}


def program(axis: bool, softmax: bool = False) -> str:
    """C[z] = A[z] · B[z]; with `softmax`, the rows of A are first normalized by their exponentials.

    axis: the tiles keep the axis of the batch; otherwise they are reshaped to matrices.
    """
    one = "1x" if axis else ""
    a, b, c = f"tile<{one}{M}x{K}xf16>", f"tile<{one}{K}x{N}xf16>", f"tile<{one}{M}x{N}xf32>"
    lines = ["%token = make_token : token", "%x, %y, %z = get_tile_block_id : tile<i32>"]
    views: dict[str, str] = {}
    for name, (rows, columns) in {"a": (M, K), "b": (K, N), "c": (M, N)}.items():
        tensor = "tensor_view<?x?x?xf16, strides=[?,?,1]>"
        views[name] = f"partition_view<tile=(1x{rows}x{columns}), padding_value = zero, {tensor}>"
        lines += [
            f"%{name}Q = assume div_by<16>, %{name}P : tile<ptr<f16>>",
            f"%{name}S = assume div_by<8>, %{name}s : tile<i32>",
            f"%{name}R = assume div_by<8>, %{name}r : tile<i32>",
            f"%{name}T = make_tensor_view %{name}Q, shape = [%batch, %{name}m, %{name}n], strides = [%{name}S, %{name}R, 1] : tile<i32> -> {tensor}",
            f"%{name}V = make_partition_view %{name}T : {views[name]}",
        ]
    lines += [
        "%c0 = constant <i32: 0> : tile<i32>",
        "%c1 = constant <i32: 1> : tile<i32>",
        f"%ck = constant <i32: {K}> : tile<i32>",
        "%steps = divi %an, %ck signed rounding<positive_inf> : tile<i32>",
        f"%zero = constant <f32: 0.0> : {c}",
        f"%sums = for %k in (%c0 to %steps, step %c1) : tile<i32> iter_values(%acc = %zero) -> ({c}) {{",
        *_loaded("a", "%z, %x, %k", f"{M}x{K}", views["a"], axis),
        *_loaded("b", "%z, %k, %y", f"{K}x{N}", views["b"], axis),
        *(_softmax(axis) if softmax else []),
        f"  %new = mmaf %{'p' if softmax else 'a'}, %b, %acc : {a}, {b}, {c}",
        f"  continue %new : {c}",
        "}",
        f"%h = ftof %sums : {c} -> tile<{one}{M}x{N}xf16>",
        *([] if axis else [f"%hx = reshape %h : tile<{M}x{N}xf16> -> tile<1x{M}x{N}xf16>"]),
        f"%done = store_view_tko weak %h{'' if axis else 'x'}, %cV[%z, %x, %y] token = %token : tile<1x{M}x{N}xf16>, {views['c']}, tile<i32> -> token",
        "return",
    ]
    parameters = [
        f"%{name}P: tile<ptr<f16>>, %{name}m: tile<i32>, %{name}n: tile<i32>, %{name}s: tile<i32>, %{name}r: tile<i32>"
        for name in views
    ]
    inside = "\n  ".join(lines)
    return f"cuda_tile.module @m {{\nentry @batches({', '.join(parameters)}, %batch: tile<i32>) {{\n  {inside}\n}}\n}}\n"


def _loaded(name: str, place: str, shape: str, view: str, axis: bool) -> list[str]:
    tile = f"tile<1x{shape}xf16>"
    loaded = name if axis else f"{name}x"
    load = f"  %{loaded}, %{name}t = load_view_tko weak %{name}V[{place}] token = %token : {view}, tile<i32> -> {tile}, token"
    return [load] + ([] if axis else [f"  %{name} = reshape %{name}x : {tile} -> tile<{shape}xf16>"])


def _softmax(axis: bool) -> list[str]:
    one, along = ("1x", 2) if axis else ("", 1)
    wide, row, column = f"{one}{M}x{K}", f"{one}{M}", f"{one}{M}x1"
    return [
        f"  %f = ftof %a : tile<{wide}xf16> -> tile<{wide}xf32>",
        f"  %e = exp2 %f : tile<{wide}xf32>",
        f"  %l = reduce %e dim={along} identities=[0.0 : f32] : tile<{wide}xf32> -> tile<{row}xf32>",
        "  (%u: tile<f32>, %v: tile<f32>) {",
        "    %w = addf %u, %v : tile<f32>",
        "    yield %w : tile<f32>",
        "  }",
        f"  %l1 = reshape %l : tile<{row}xf32> -> tile<{column}xf32>",
        f"  %l2 = broadcast %l1 : tile<{column}xf32> -> tile<{wide}xf32>",
        f"  %q = divf %e, %l2 : tile<{wide}xf32>",
        f"  %p = ftof %q : tile<{wide}xf32> -> tile<{wide}xf16>",
    ]


@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize("target", INSTRUCTION)
def test_the_code_is_that_of_matrices(target: str, softmax: bool) -> None:
    found, expected = (compiled(program(axis, softmax), target).ptx for axis in (True, False))
    assert INSTRUCTION[target] in found
    assert _instructions(found) == _instructions(expected)


def _instructions(ptx: str) -> list[str]:
    """The mnemonics, in alphabetical order."""
    return sorted(re.findall(r"^\s+(?:@!?%p\d+\s+)?([a-z][\w.:]*)", ptx, re.MULTILINE))


@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize("target", INSTRUCTION)
def test_results(target: str, softmax: bool) -> None:
    rng = np.random.default_rng(fresh_seed())
    m, n, k, batch = M + 24, N + 8, 2 * K if softmax else 2 * K + 16, 2
    a, b, c = (
        random("f16", (batch, m, k), rng),
        random("f16", (batch, k, n), rng),
        empty("f16", (batch, m, n)),
    )
    given: list[object] = []
    for array in (a, b, c):
        _, rows, columns = array.shape
        given += [array, np.int32(rows), np.int32(columns), np.int32(rows * columns), np.int32(columns)]
    grid = (-(-m // M), -(-n // N), batch)
    found = launch(program(True, softmax), *given, np.int32(batch), target=target, grid=grid)[0][2]
    x, y = (np.asarray(decode("f16", array), np.float64) for array in (a, b))
    if softmax:
        parts = np.exp2(x).reshape(batch, m, -1, K)
        x = (parts / parts.sum(axis=-1, keepdims=True)).reshape(batch, m, k)
    expected = x @ y
    assert np.abs(decode("f16", found) - expected).max() <= 4e-3 * np.abs(expected).max()
