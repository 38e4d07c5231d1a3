"""atomic_red_view_tko: reductions into tiles of views, by tile blocks that reduce into the same tile."""

from __future__ import annotations

import re

import numpy as np
import pytest
from programs import TARGETS, check_tools, compiled, decode, encode, fresh_seed, run


def _text(element: str, mode: str, view: str, tile: str, dims: str = "") -> str:
    """Tile block (x, y) reduces its tile of values, at [x, y], into the tile of the view at [x, y]; z repeats."""
    types = f"tile<{tile}x{element}>"
    part = f"partition_view<tile=({tile}), tensor_view<{view}>{dims}>"
    source = f"tensor_view<?x?x{element}, strides=[?,1]>"
    values = f"partition_view<tile=({tile}), {source}>"
    return f"""
  entry @kernel(%memory: tile<ptr<{element}>>, %values: tile<ptr<{element}>>, %rows: tile<i32>, %columns: tile<i32>) {{
    %x, %y, %z = get_tile_block_id : tile<i32>
    %t0 = make_token : token
    %v = make_tensor_view %values, shape = [%rows, %columns], strides = [%columns, 1] : tile<i32> -> {source}
    %vp = make_partition_view %v : {values}
    %a, %t1 = load_view_tko weak %vp[%x, %y] token = %t0 : {values}, tile<i32> -> {types}, token
    %m = make_tensor_view %memory, shape = [MSHAPE], strides = [MSTRIDE] : tensor_view<{view}>
    %mp = make_partition_view %m : {part}
    %t2 = atomic_red_view_tko relaxed device %mp[%x, %y], {mode}, %a token = %t1
      : {types}, {part}, tile<i32> -> token
    return
  }}
"""


_FUNCTIONS = {"add": np.add, "umax": np.maximum, "and": np.bitwise_and, "addf": np.add}


@pytest.mark.parametrize(
    ("element", "mode"), [("i32", "add"), ("i64", "umax"), ("i32", "and"), ("f32", "addf"), ("f16", "addf")]
)
def test_a_ragged_view_is_reduced_into_where_it_is(element: str, mode: str) -> None:
    """20x13 elements in tiles of 8x16 and 4 times over; what lies outside the view is not touched."""
    rng = np.random.default_rng(fresh_seed())
    text = _text(element, mode, f"20x13x{element}, strides=[13,1]", "8x16")
    text = text.replace("MSHAPE", "20, 13").replace("MSTRIDE", "13, 1")
    numbers = rng.integers(0, 9, (24, 16))
    before = rng.integers(0, 9, 20 * 13)
    first, operands = (
        (
            encode(element, a.astype(np.float64))
            if element[0] == "f"
            else a.astype(f"i{int(element[1:]) // 8}")
        )
        for a in (before, numbers)
    )
    target = "sm_80"
    after, _ = run(text, first, operands, np.int32(24), np.int32(16), grid=(3, 1, 4), target=target)
    expected = before.reshape(20, 13).copy()
    for _ in range(4):
        expected = _FUNCTIONS[mode](expected, numbers[:20, :13])
    found = decode(element, after) if element[0] == "f" else after
    assert np.array_equal(found.reshape(20, 13), expected)


def test_axes_of_the_view_may_change_places() -> None:
    rng = np.random.default_rng(fresh_seed())
    text = _text("i32", "add", "13x20xi32, strides=[20,1]", "8x16", ", dim_map=[1, 0]")
    text = text.replace("MSHAPE", "13, 20").replace("MSTRIDE", "20, 1")
    numbers = rng.integers(0, 99, (24, 16), np.int32)
    after, _ = run(text, np.zeros(13 * 20, np.int32), numbers, np.int32(24), np.int32(16), grid=(3, 1, 2))
    assert np.array_equal(after.reshape(13, 20), 2 * numbers[:20, :13].T)


def test_indices_of_two_types_into_a_padded_view() -> None:
    """Padding is what a load gives; a reduction leaves what is outside the view alone."""
    rng = np.random.default_rng(fresh_seed())
    text = _text("i32", "add", "20x13xi32, strides=[13,1]", "8x16")
    plain = "partition_view<tile=(8x16), tensor_view<20x13xi32, strides=[13,1]>>"
    padded = plain.replace("tensor_view", "padding_value = zero, tensor_view")
    text = text.replace("MSHAPE", "20, 13").replace("MSTRIDE", "13, 1").replace(plain, padded)
    text = text.replace("%t2 =", "%w = exti %y unsigned : tile<i32> -> tile<i64>\n    %t2 =")
    text = text.replace("%mp[%x, %y]", "%mp[%x, %w]").replace(
        f"{padded}, tile<i32>", f"{padded}, tile<i32>, tile<i64>"
    )
    numbers = rng.integers(0, 99, (24, 16), np.int32)
    after, _ = run(text, np.zeros(20 * 13, np.int32), numbers, np.int32(24), np.int32(16), grid=(3, 1, 1))
    assert np.array_equal(after.reshape(20, 13), numbers[:20, :13])


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_read_back(target: str) -> None:
    """`red`, not `atom`: the memory system does it alone."""
    text = _text("f32", "addf", "16x16xf32, strides=[16,1]", "16x16")
    text = text.replace("MSHAPE", "16, 16").replace("MSTRIDE", "16, 1")
    assert re.search(r"red\.relaxed\.gpu\.global\.add\.f32", compiled(text, target).ptx)
    assert "atom." not in compiled(text, target).ptx
    check_tools(text, target)
