"""Tiles at any index, through TMA and by threads: indices are unsigned, and a tile behind the end is padding.

A negative index is an unsigned number of 2^31 or more. TMA reads coordinates as signed numbers, so it would bring the
part of a tile that starts before the tensor.
"""

from __future__ import annotations

import numpy as np
import pytest
from programs import TARGETS, Array, compiled, empty, fresh_seed, launch

from tessera_tools.diagnostics import DiagnosticError

ROWS, COLUMNS, TILE = 300, 128, 64
TMA = ("sm_90a", "sm_100a")


def program(index: str, *, inbounds: str = "", rows: str = "") -> str:
    """%out's tile at [%j, 0] = twice %in's tile at [%i, 0]: products with the unit matrix, in a loop of two iterations.

    Tiles are a row apart. `rows`: the static number of rows, instead of %n.
    """
    many = rows or "?"

    def view(element: str) -> str:
        return f"tensor_view<{many}x{COLUMNS}x{element}, strides=[{COLUMNS},1]>"

    def tiles(element: str, padding: str = "") -> str:
        return f"strided_view<tile=(64x64), traversal_strides=[1,64], {padding}{view(element)}>"

    arrow = "" if rows else "tile<i32> -> "
    loaded, stored = tiles("f16", "padding_value = zero, "), tiles("f16")
    unit = "partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>"
    return f"""
entry @kernel(%in: tile<ptr<f16>>, %unit: tile<ptr<f16>>, %out: tile<ptr<f16>>, %n: tile<i32>, %i: tile<{index}>, %j: tile<{index}>) {{
  %a = assume div_by<16>, %in : tile<ptr<f16>>
  %b = assume div_by<16>, %unit : tile<ptr<f16>>
  %c = assume div_by<16>, %out : tile<ptr<f16>>
  %m = assume bounded<0, ?>, %n : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %left = constant <{index}: 0> : tile<{index}>
  %av = make_tensor_view %a, shape = [{rows or "%m"}, {COLUMNS}], strides = [{COLUMNS}, 1] : {arrow}{view("f16")}
  %bv = make_tensor_view %b, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf16, strides=[64,1]>
  %cv = make_tensor_view %c, shape = [{rows or "%m"}, {COLUMNS}], strides = [{COLUMNS}, 1] : {arrow}{view("f16")}
  %ap = make_strided_view %av : {loaded}
  %bp = make_partition_view %bv : {unit}
  %cp = make_strided_view %cv : {stored}
  %none = constant <f32: 0.0> : tile<64x64xf32>
  %sum = for %k in (%zero to %two, step %one) : tile<i32> iter_values(%s = %none) -> (tile<64x64xf32>) {{
    %x, %t = load_view_tko weak %ap[%i, %left]{inbounds} : {loaded}, tile<{index}> -> tile<64x64xf16>, token
    %y, %u = load_view_tko weak %bp[%zero, %zero] : {unit}, tile<i32> -> tile<64x64xf16>, token
    %w = mmaf %x, %y, %s : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %w : tile<64x64xf32>
  }}
  %r = ftof %sum : tile<64x64xf32> -> tile<64x64xf16>
  %v = store_view_tko weak %r, %cp[%j, %left]{inbounds} : tile<64x64xf16>, {stored}, tile<{index}> -> token
  return
}}
"""  # noqa: E501


def tensor(rng: np.random.Generator) -> Array:
    return rng.integers(-9, 10, (ROWS, COLUMNS)).astype(np.float16)


def expected(given: Array, source: int, target: int) -> Array:
    """The tensor of zeros to which the tile at row `source`, doubled, was stored at row `target`."""
    tile = np.zeros((TILE, TILE), np.float16)
    part = given[source : source + TILE, :TILE]
    tile[: len(part)] = 2 * part
    found = np.zeros((ROWS, COLUMNS), np.float16)
    place = found[target : target + TILE, :TILE]
    place[:] = tile[: len(place)]
    return found


def random_index(rng: np.random.Generator, width: int) -> int:
    """An index inside, shortly before the tensor, or anywhere behind it that fits 32 bits."""
    low, high = -(1 << width - 1), min((1 << width - 1) - 1, (1 << 32) - 1)
    ranges = [(0, min(high, ROWS)), (max(low, -TILE), 0), (min(high - 1, ROWS), high)]
    return int(rng.integers(*ranges[int(rng.integers(len(ranges)))]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("index", ["i8", "i16", "i32", "i64"])
def test_a_tile_at_any_index(index: str, target: str) -> None:
    width = int(index[1:])
    text = program(index)
    rng = np.random.default_rng(fresh_seed())
    given, unit = tensor(rng), np.eye(TILE, dtype=np.float16)
    number = np.dtype(f"int{width}").type
    cases = [(random_index(rng, width), random_index(rng, width)) for _ in range(2)]
    for i, j in [(-1, 0), (0, -1), *cases]:
        print(i, j)
        got = launch(
            text, given, unit, np.zeros_like(given), np.int32(ROWS), number(i), number(j), target=target
        )
        assert np.array_equal(got[0][2], expected(given, i % (1 << width), j % (1 << width)))


@pytest.mark.parametrize("target", TMA)
def test_the_tiles_are_brought_and_stored_by_tma(target: str) -> None:
    ptx = compiled(program("i32"), target).ptx
    assert "cp.async.bulk.tensor.2d.shared::c" in ptx
    assert "cp.async.bulk.tensor.2d.global" in ptx


@pytest.mark.parametrize("target", TARGETS)
def test_tiles_that_are_promised_to_lie_inside(target: str) -> None:
    text = program("i32", inbounds=" inbounds = [true, true]")
    rng = np.random.default_rng(fresh_seed())
    given, unit = tensor(rng), np.eye(TILE, dtype=np.float16)
    i, j = (int(n) for n in rng.integers(0, ROWS - TILE, 2))
    got = launch(
        text, given, unit, np.zeros_like(given), np.int32(ROWS), np.int32(i), np.int32(j), target=target
    )
    assert np.array_equal(got[0][2], expected(given, i, j))


# -- tensors longer than TMA's coordinates reach


@pytest.mark.parametrize("rows", [(1 << 31) - 1, 1 << 31])
def test_a_long_tensor_is_copied_without_tma(rows: int) -> None:
    """A tile of the part that exists is the same."""
    text = program("i32", rows=str(rows))
    rng = np.random.default_rng(fresh_seed())
    given, unit = tensor(rng), np.eye(TILE, dtype=np.float16)
    got = launch(
        text, given, unit, np.zeros_like(given), np.int32(0), np.int32(70), np.int32(5), target="sm_90a"
    )
    assert np.array_equal(got[0][2], expected(given, 70, 5))
    assert ("cp.async.bulk.tensor.2d.global" in compiled(text, "sm_90a").ptx) == (rows < 1 << 31)


def test_a_launch_with_a_longer_tensor_is_refused() -> None:
    given = empty("f16", (1, COLUMNS))
    unit = np.eye(TILE, dtype=np.float16)
    arguments = (np.int32(-(1 << 31)), np.int32(0), np.int32(0))
    with pytest.raises(DiagnosticError) as caught:
        launch(program("i32"), given, unit, given, *arguments, target="sm_90a")
    (found,) = caught.value.diagnostics
    assert found.message == (
        "'kernel': a tensor map has dimensions (128, 2147483648); coordinates of TMA are below 2^31"
    )
    assert [note.message for note in found.notes] == [
        "compile with --abi=plain, or with allow_tma = false for the loads and stores of this tensor"
    ]
