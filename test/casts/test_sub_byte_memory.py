"""f4E2M1FN in global memory, two a byte: views of every orientation, at the edge of tensors, on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import programs
import pytest

Array = np.ndarray[Any, Any]


def nibbles(octets: Array) -> Array:
    """The codes of bytes, the first in the low bits, along the last axis."""
    return np.stack([octets & 15, octets >> 4], axis=-1).reshape(*octets.shape[:-1], -1)


def octets(codes: Array) -> Array:
    """The inverse of `nibbles`."""
    return codes[..., 0::2] | codes[..., 1::2] << 4


@pytest.mark.parametrize("target", programs.TARGETS)
def test_a_tile_is_transposed(target: str) -> None:
    """Loaded by rows, permuted, stored by rows: every code changes its byte."""
    rng = np.random.default_rng(programs.fresh_seed())
    x = rng.integers(0, 256, (32, 8), dtype=np.uint8)
    text = programs.program(
        "%y = permute %x [1, 0] : tile<32x16xf4E2M1FN> -> tile<16x32xf4E2M1FN>",
        {"x": ("f4E2M1FN", (32, 16))},
        {"y": ("f4E2M1FN", (16, 32))},
    )
    _, found = programs.run(text, x, np.zeros((16, 16), np.uint8), target=target)
    assert (found == octets(nibbles(x).T)).all()
    programs.check_tools(text, target)


F4 = "f4E2M1FN"


def copy_program(view: str, tile: str, strides: str) -> str:
    """Each block of a grid copies its tile of `%x` to `%y`, tensors of ? x ? codes."""
    part = f"partition_view<tile=({tile}), {view}>"
    return f"""entry @kernel(%x: tile<ptr<{F4}>>, %y: tile<ptr<{F4}>>, %m: tile<i32>, %n: tile<i32>, %s: tile<i32>) {{
  %t = make_token : token
  %i, %j, %k = get_tile_block_id : tile<i32>
  %xv = make_tensor_view %x, shape = [%m, %n], strides = [{strides}] : tile<i32> -> {view}
  %yv = make_tensor_view %y, shape = [%m, %n], strides = [{strides}] : tile<i32> -> {view}
  %xp = make_partition_view %xv : {part}
  %yp = make_partition_view %yv : {part}
  %v, %l = load_view_tko weak %xp[%i, %j] token = %t : {part}, tile<i32> -> tile<{tile}x{F4}>, token
  %w = store_view_tko weak %v, %yp[%i, %j] token = %l : tile<{tile}x{F4}>, {part}, tile<i32> -> token
  return
}}
"""


@pytest.mark.parametrize("target", programs.TARGETS)
@pytest.mark.parametrize("columns", [False, True])
def test_tiles_at_the_edge(target: str, columns: bool) -> None:
    """Extents known at run time, no multiples of the tile: only what lies inside is copied."""
    rng = np.random.default_rng(programs.fresh_seed())
    inner, outer, stride = 2 * int(rng.integers(10, 30)), int(rng.integers(20, 40)), 64
    strides = "1, %s" if columns else "%s, 1"
    view = f"tensor_view<?x?x{F4}, strides=[{strides.replace('%s', '?')}]>"
    tile, shape = ("16x8", (inner, outer)) if columns else ("8x16", (outer, inner))
    grid = tuple(-(-extent // int(size)) for extent, size in zip(shape, tile.split("x"), strict=True))
    x = rng.integers(0, 256, (outer, stride // 2), dtype=np.uint8)
    y = rng.integers(0, 256, x.shape, dtype=np.uint8)
    _, found = programs.run(copy_program(view, tile, strides), x, y, *shape, stride, target=target, grid=grid)
    wanted = y.copy()
    wanted[:, : inner // 2] = x[:, : inner // 2]
    assert (found == wanted).all()


def test_padding_is_zero() -> None:
    """Outside the view the codes are 0, which a store through bytes shows."""
    views = {name: f"tensor_view<{name}, strides=[1]>" for name in (f"20x{F4}", "16xi8")}
    codes = f"partition_view<tile=(32), padding_value = zero, {views[f'20x{F4}']}>"
    octets_of = f"partition_view<tile=(16), {views['16xi8']}>"
    text = f"""entry @kernel(%x: tile<ptr<{F4}>>, %y: tile<ptr<i8>>) {{
  %v = make_tensor_view %x, shape = [20], strides = [1] : {views[f"20x{F4}"]}
  %p = make_partition_view %v : {codes}
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %a, %l = load_view_tko weak %p[%zero] token = %t : {codes}, tile<i32> -> tile<32x{F4}>, token
  %b = pack %a : tile<32x{F4}> -> tile<16xi8>
  %w = make_tensor_view %y, shape = [16], strides = [1] : {views["16xi8"]}
  %q = make_partition_view %w : {octets_of}
  %s = store_view_tko weak %b, %q[%zero] token = %l : tile<16xi8>, {octets_of}, tile<i32> -> token
  return
}}
"""
    x = np.random.default_rng(programs.fresh_seed()).integers(0, 256, 10, dtype=np.uint8)
    _, found = programs.run(text, x, np.full(16, 0xA5, np.uint8))
    assert (found == np.concatenate([x, np.zeros(6, np.uint8)])).all()


def test_numbers_of_a_sum() -> None:
    """f4E2M1FN from memory, added as f32, rounded back: the numbers are those of the table."""
    rng = np.random.default_rng(programs.fresh_seed())
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
    a, b = (rng.integers(0, 16, 256, dtype=np.uint8) for _ in range(2))
    kind = ("f4E2M1FN", (256,))
    body = """%p = ftof %a : tile<256xf4E2M1FN> -> tile<256xf32>
    %q = ftof %b : tile<256xf4E2M1FN> -> tile<256xf32>
    %s = addf %p, %q : tile<256xf32>
    %y = ftof %s : tile<256xf32> -> tile<256xf4E2M1FN>"""
    text = programs.program(body, {"a": kind, "b": kind}, {"y": kind})
    *_, found = programs.run(text, octets(a), octets(b), np.zeros(128, np.uint8))
    got, exact = table[nibbles(found)], table[a] + table[b]
    nearest = np.abs(table[None, :] - exact[:, None]).min(axis=1)
    assert (np.abs(got - exact) == nearest).all()
