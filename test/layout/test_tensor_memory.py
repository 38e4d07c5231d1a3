"""Where sums are in tensor memory, and which thread loads which."""

from __future__ import annotations

import pytest

from tessera_tools.layout import transpose
from tessera_tools.layout.distributed import wgmma_accumulator
from tessera_tools.layout.linear import LayoutError
from tessera_tools.layout.tensor_memory import (
    accumulator,
    are_atoms,
    loaded,
    operand,
    repeated,
    scale_atoms,
    scale_factors,
)


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


@pytest.mark.parametrize("rows", [128, 256, 512])
def test_further_rows_of_a_left_factor_follow_in_further_columns(rows: int) -> None:
    layout = operand((rows, 64), 128, 16)
    assert layout.in_size("column") == 32 * rows // 128
    for block in range(rows // 128):
        found = layout.apply({"part": 1, "lane": 9, "column": 32 * block + 5})
        assert found == {"dim0": 128 * block + 9, "dim1": 11}


def test_32_lanes_hold_the_factors_of_32_rows() -> None:
    """PTX ISA, the layout of scale factors: row 37 is in lane 5 of the second column, and of each 32 lanes."""
    layout = scale_factors((128, 8), 0, 128)
    for lane in (5, 37, 101):
        assert layout.apply({"part": 3, "lane": lane, "column": 1}) == {"dim0": 37, "dim1": 3}
    assert layout.apply({"part": 2, "lane": 0, "column": 4}) == {"dim0": 0, "dim1": 6}
    assert scale_factors((8, 64), 1, 64).apply({"part": 0, "lane": 1, "column": 3}) == {"dim0": 4, "dim1": 33}


def test_each_warp_holds_all_factors() -> None:
    layout = repeated(scale_factors((128, 4), 0, 128), 8)
    assert layout.apply({"register": 5, "lane": 3, "warp": 6, "block": 0}) == {"dim0": 35, "dim1": 1}


def test_factors_are_copied_in_atoms_of_512_bytes() -> None:
    """cuBLAS, "1D Block Scaling Factors Layout": row r, block b is at (r % 32) * 16 + (r / 32) * 4 + b."""
    layout = scale_atoms((256, 8), 0)
    for row, block in ((37, 2), (127, 3), (5, 0)):
        offset = row % 32 * 16 + row // 32 * 4 + block
        assert layout.apply({"offset": offset}) == {"dim0": row, "dim1": block}
    assert layout.apply({"offset": 512}) == {"dim0": 0, "dim1": 4}
    assert layout.apply({"offset": 1024}) == {"dim0": 128, "dim1": 0}


def test_atoms_may_be_in_any_order() -> None:
    layout = scale_atoms((256, 8), 0)
    offsets = layout.bases["offset"]
    turned = type(layout)({"offset": [*offsets[:9], offsets[10], offsets[9]]}, layout.outs)
    assert are_atoms(turned, 0) and not are_atoms(turned, 1)
    assert are_atoms(transpose(turned, (1, 0)), 1)
    inside = type(layout)({"offset": [offsets[9], *offsets[1:9], offsets[0], offsets[10]]}, layout.outs)
    assert not are_atoms(inside, 0)


def test_a_part_of_an_atom_is_not_copied() -> None:
    with pytest.raises(LayoutError, match=r"no whole atoms of \[128, 4\]"):
        scale_atoms((128, 2), 0)
    assert not are_atoms(repeated(scale_factors((64, 4), 0, 128), 1), 0)


def test_fewer_than_four_blocks_are_repeated() -> None:
    assert scale_factors((128, 1), 0, 128).in_size("part") == 4


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
