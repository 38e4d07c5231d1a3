"""Tiles of less than 128 bytes in a pipeline: TMA requires that each stage begins at a multiple of 128 bytes."""

from __future__ import annotations

import numpy as np
import pytest
from programs import compiled, fresh_seed, launch

M, N, K, STEPS = 64, 64, 32, 9


def scaled(width: int) -> str:
    """C = (A · s) · B; the factors s of `width` columns of A, 2 * width bytes, are a tile of each step."""

    def view(name: str, element: str, shape: tuple[int, int], tile: tuple[int, int]) -> list[str]:
        rows, columns = shape
        tensor = f"tensor_view<{rows}x{columns}x{element}, strides=[{columns}, 1]>"
        return [
            f"%{name}B = assume div_by<16>, %{name} : tile<ptr<{element}>>",
            f"%{name}T = make_tensor_view %{name}B, shape = [{rows}, {columns}], strides = [{columns}, 1] : {tensor}",
            f"%{name}V = make_partition_view %{name}T : partition_view<tile=({tile[0]}x{tile[1]}), {tensor}>",
        ]

    def part(name: str, element: str, shape: tuple[int, int], tile: tuple[int, int]) -> str:
        rows, columns = shape
        return (
            f"partition_view<tile=({tile[0]}x{tile[1]}), tensor_view<{rows}x{columns}x{element}, "
            f"strides=[{columns}, 1]>>, tile<i32>"
        )

    a = ("a", "f16", (M, K * STEPS), (M, K))
    b = ("b", "f16", (K * STEPS, N), (K, N))
    s = ("s", "f16", (1, width * STEPS), (1, width))
    c = ("c", "f32", (M, N), (M, N))
    lines = [line for one in (a, b, s, c) for line in view(*one)]
    copies = K // width
    return f"""cuda_tile.module @m {{
  entry @scaled(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %s: tile<ptr<f16>>, %c: tile<ptr<f32>>, %n: tile<i32>) {{
    {chr(10).join(lines)}
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %none = constant <f32: 0.0> : tile<{M}x{N}xf32>
    %sum = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%old = %none) -> (tile<{M}x{N}xf32>) {{
      %x, %t1 = load_view_tko weak %aV[%zero, %i] : {part(*a)} -> tile<{M}x{K}xf16>, token
      %y, %t2 = load_view_tko weak %bV[%i, %zero] : {part(*b)} -> tile<{K}x{N}xf16>, token
      %w, %t3 = load_view_tko weak %sV[%zero, %i] : {part(*s)} -> tile<1x{width}xf16>, token
      %w3 = reshape %w : tile<1x{width}xf16> -> tile<1x{width}x1xf16>
      %wide = broadcast %w3 : tile<1x{width}x1xf16> -> tile<{M}x{width}x{copies}xf16>
      %factors = reshape %wide : tile<{M}x{width}x{copies}xf16> -> tile<{M}x{K}xf16>
      %product = mulf %x, %factors : tile<{M}x{K}xf16>
      %new = mmaf %product, %y, %old : tile<{M}x{K}xf16>, tile<{K}x{N}xf16>, tile<{M}x{N}xf32>
      continue %new : tile<{M}x{N}xf32>
    }}
    %t4 = store_view_tko weak %sum, %cV[%zero, %zero] : tile<{M}x{N}xf32>, {part(*c)} -> token
    return
  }}
}}
"""


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("width", [8, 32])
def test_results(width: int, target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    a = rng.integers(-2, 3, (M, K * STEPS)).astype(np.float16)
    b = rng.integers(-2, 3, (K * STEPS, N)).astype(np.float16)
    s = rng.integers(-2, 3, (1, width * STEPS)).astype(np.float16)
    text = scaled(width)
    arrays, _ = launch(text, a, b, s, np.zeros((M, N), np.float32), np.int32(STEPS), target=target)
    expected = (a * np.repeat(s, K // width, axis=1)).astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(arrays[3], expected)
    ptx = compiled(text, target).ptx
    assert ("wgmma.mma_async" if target == "sm_90a" else "tcgen05.mma") in ptx
    assert ptx.count("cp.async.bulk.tensor.2d.shared::cta.global") == 3
