"""Where sums are in tensor memory, and which thread loads which."""

from __future__ import annotations

import pytest

from tessera_tools.layout.distributed import wgmma_accumulator
from tessera_tools.layout.linear import LayoutError
from tessera_tools.layout.tensor_memory import accumulator, loaded, operand


def test_a_lane_holds_a_row_and_a_column_a_column() -> None:
    layout = accumulator((128, 32), 128)
    assert layout.apply({"lane": 77, "column": 5}) == {"dim0": 77, "dim1": 5}


def test_rows_behind_the_lanes_follow_in_further_columns() -> None:
    layout = accumulator((256, 32), 128)
    assert layout.apply({"lane": 77, "column": 32 + 5}) == {"dim0": 128 + 77, "dim1": 5}


def test_64_rows_take_16_of_32_lanes() -> None:
    """PTX ISA, the data path layout of M = 64 without .ws: row 16 is in lane 32."""
    layout = accumulator((64, 8), 64)
    assert [layout.apply({"lane": lane, "column": 0})["dim0"] for lane in (15, 32, 47, 96)] == [
        15,
        16,
        31,
        48,
    ]


@pytest.mark.parametrize(("bits", "parts"), [(8, 4), (16, 2), (32, 1)])
def test_elements_of_a_left_factor_share_columns(bits: int, parts: int) -> None:
    layout = operand((128, 32), 128, bits)
    assert layout.in_size("part") == parts and layout.in_size("column") == 32 // parts
    assert layout.apply({"part": parts - 1, "lane": 9, "column": 3}) == {"dim0": 9, "dim1": 4 * parts - 1}


def test_a_left_factor_fills_whole_columns() -> None:
    with pytest.raises(LayoutError, match="are no whole columns"):
        operand((128, 2), 128, 8)


@pytest.mark.parametrize("shape", [(128, 64), (256, 32), (512, 16)])
@pytest.mark.parametrize("warps", [(4, 1), (4, 2), (8, 1)])
def test_a_warp_loads_the_lanes_of_its_number(shape: tuple[int, int], warps: tuple[int, int]) -> None:
    if shape[0] % (warps[0] // 4 * 128):
        with pytest.raises(LayoutError, match="cannot be divided"):
            loaded(shape, 128, warps)
        return
    there = accumulator(shape, 128)
    places = {
        tuple(there.apply({"lane": lane, "column": column}).values()): lane
        for lane in range(128)
        for column in range(there.in_size("column"))
    }
    layout = loaded(shape, 128, warps)
    for warp in range(warps[0] * warps[1]):
        for lane in (0, 7, 31):
            for register in range(layout.in_size("register")):
                at = layout.apply({"register": register, "lane": lane, "warp": warp, "block": 0})
                assert places[tuple(at.values())] == 32 * (warp % 4) + lane
    assert layout.is_surjective()


def test_64_rows_are_loaded_as_wgmma_leaves_them() -> None:
    assert loaded((64, 32), 64, (4, 2)) == wgmma_accumulator((64, 32), (4, 2))


@pytest.mark.parametrize(("shape", "m"), [((96, 32), 64), ((64, 32), 128), ((64, 32), 32), ((2, 64, 32), 64)])
def test_other_tiles_are_refused(shape: tuple[int, ...], m: int) -> None:
    with pytest.raises(LayoutError, match="has no whole instructions"):
        accumulator(shape, m)
