"""Shared memory layouts: the hardware's modes against their byte formula, and choices against the simulation."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout.banks import wavefronts_of_access
from layout.strategies import tiles

from tessera_tools.layout import (
    SWIZZLE_128B,
    SWIZZLE_MODES,
    Access,
    LayoutError,
    LinearLayout,
    MatrixAccess,
    VectorAccess,
    blocked,
    choose_swizzle,
    mma_m16n8_accumulator,
    mma_operand_a,
    mma_operand_b,
    row_major,
    swizzled,
    vector_access,
)
from tessera_tools.layout.shared import conflict_free


def test_row_major_offsets() -> None:
    layout = row_major((4, 8))
    assert [layout.apply(offset=o) for o in (1, 8, 31)] == [
        {"dim0": 0, "dim1": 1}, {"dim0": 1, "dim1": 0}, {"dim0": 3, "dim1": 7},
    ]  # fmt: skip
    assert row_major((4, 8), (0, 1)).apply(offset=5) == {"dim0": 1, "dim1": 1}


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("mode", [32, 64, 128])
def test_modes_xor_16_byte_chunks_with_128_byte_lines(bits: int, mode: int) -> None:
    # PTX ISA, tensor swizzling modes: chunk c of line l goes to chunk c ^ (l mod 8, its lowest bits by mode).
    width = mode * 8 // bits
    layout = swizzled((16, width), bits, swizzle_bytes=mode).invert()
    for row in range(16):
        for col in range(width):
            byte = row * mode + col * bits // 8
            chunk, line = byte // 16 % 8, byte // 128 % 8
            masked = line & (mode // 16 - 1)
            expected = byte // 128 * 128 + (chunk ^ masked) * 16 + byte % 16
            assert layout.apply(dim0=row, dim1=col)["offset"] * bits // 8 == expected


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_an_atomicity_of_32_bytes_keeps_pairs_of_chunks(bits: int) -> None:
    # PTX ISA, tensor swizzling modes: 32-byte chunk c of line l goes to chunk c ^ (l mod 4).
    width = 128 * 8 // bits
    layout = swizzled((16, width), bits, atomicity=32).invert()
    for row in range(16):
        for col in range(width):
            chunk, within = divmod(col * bits // 8, 32)
            expected = row * 128 + (chunk ^ row % 4) * 32 + within
            assert layout.apply(dim0=row, dim1=col)["offset"] * bits // 8 == expected


def test_wider_rows_are_panels() -> None:
    layout = swizzled((16, 128), 16).invert()
    inner = swizzled((16, 64), 16).invert()
    for row, col in ((0, 0), (3, 17), (15, 127), (8, 64)):
        expected = inner.apply(dim0=row, dim1=col % 64)["offset"] + col // 64 * 16 * 64
        assert layout.apply(dim0=row, dim1=col)["offset"] == expected


def test_mode_zero_is_row_major() -> None:
    assert swizzled((16, 64), 16, swizzle_bytes=0) == row_major((16, 64))


def test_the_named_modes() -> None:
    assert str(SWIZZLE_128B) == "Sw<3,4,3>"
    assert [mode.bits for mode in SWIZZLE_MODES.values()] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: swizzled((16, 64), 16, swizzle_bytes=16), r"expected one of \[0, 32, 64, 128\]"),
        (lambda: swizzled((16, 32), 16), "needs rows of at least 64 elements, found 32"),
        (
            lambda: swizzled((16, 32), 16, swizzle_bytes=64, atomicity=32),
            "swizzle of 64 bytes with an atomicity of 32 bytes, expected 16 bytes",
        ),
        (lambda: swizzled((16, 64), 16, atomicity=64), "with an atomicity of 64 bytes, expected 16 bytes"),
        (lambda: row_major((4, 4), (0, 0)), "not a permutation"),
        (
            lambda: Access(row_major((4, 4)), "tma").plan(row_major((4, 4)), 16),
            "expected 'vector' or 'matrix'",
        ),
    ],
)
def test_impossible_memories_are_refused(build: object, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        build()  # pyright: ignore[reportCallIssue]


def test_a_gemm_operand_gets_the_128_byte_mode_and_no_conflict() -> None:
    write = Access(blocked((64, 64), (1, 8), (4, 8), (4, 1), (1, 0)))
    for read in (mma_operand_a((64, 64), 16, (2, 2)), mma_operand_b((64, 64), 16, (2, 2))):
        choice = choose_swizzle((64, 64), 16, write, Access(read, "matrix"))
        assert choice.mode == 128
        assert choice.is_conflict_free
        assert choice.write.instructions == 4


def test_without_a_swizzle_the_same_operand_conflicts() -> None:
    read = Access(mma_operand_a((64, 64), 16, (2, 2)), "matrix")
    assert read.plan(row_major((64, 64)), 16).banks.per_instruction == 32


def test_narrow_rows_still_read_without_conflict() -> None:
    write = Access(blocked((64, 16), (1, 8), (16, 2), (4, 1), (1, 0)))
    read = Access(mma_operand_a((64, 16), 16, (2, 2)), "matrix")
    assert choose_swizzle((64, 16), 16, write, read).is_conflict_free


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_a_transposition_has_a_conflict_free_layout(bits: int) -> None:
    rows = blocked((64, 64), (1, 1), (1, 32), (4, 1), (1, 0))
    columns = blocked((64, 64), (1, 1), (32, 1), (1, 4), (0, 1))
    choice = choose_swizzle((64, 64), bits, Access(rows), Access(columns))
    assert choice.is_conflict_free


def test_an_accumulator_to_rows_is_conflict_free() -> None:
    accumulator = mma_m16n8_accumulator((64, 64), (2, 2))
    for bits in (16, 32):
        rows = blocked((64, 64), (1, 128 // bits), (bits // 4, 128 // bits), (4, 1), (1, 0))
        assert choose_swizzle((64, 64), bits, Access(accumulator), Access(rows)).is_conflict_free


def test_modes_only_is_a_hardware_mode() -> None:
    rows = blocked((64, 64), (1, 1), (1, 32), (4, 1), (1, 0))
    columns = blocked((64, 64), (1, 1), (32, 1), (1, 4), (0, 1))
    choice = choose_swizzle((64, 64), 32, Access(rows), Access(columns), modes_only=True)
    assert choice.mode in SWIZZLE_MODES
    assert choice.order is not None


def test_the_cheapest_mode_is_chosen() -> None:
    """Of all modes in both orders, the fewest wavefronts, and of those the fewest instructions."""
    tiles = [
        blocked((64, 64), each, lanes, warps, (1, 0))
        for each, lanes, warps in [
            ((1, 8), (4, 8), (4, 1)),
            ((1, 1), (1, 32), (4, 1)),
            ((2, 4), (8, 4), (4, 1)),
            ((2, 2), (8, 4), (1, 4)),
        ]
    ]
    for (write, read), bits in itertools.product(
        itertools.product(map(Access, tiles), repeat=2), (8, 16, 32)
    ):
        found = choose_swizzle((64, 64), bits, write, read, modes_only=True)
        prices = [
            (costs[0].total + costs[1].total, costs[0].instructions + costs[1].instructions)
            for order in ((1, 0), (0, 1))
            for mode in SWIZZLE_MODES
            if mode * 8 <= 64 * bits
            for costs in [[side.cost(swizzled((64, 64), bits, order, mode), bits) for side in (write, read)]]
        ]
        assert min(prices) == (
            found.write.total + found.read.total,
            found.write.instructions + found.read.instructions,
        )


def simulated(plan: VectorAccess | MatrixAccess, bits: int) -> int:
    assert isinstance(plan, VectorAccess)
    return sum(
        wavefronts_of_access(
            [plan.address.evaluate(index, lane=lane) * bits // 8 for lane in range(32)], plan.bits // 8
        )
        for index in range(len(plan.groups))
    )


@settings(max_examples=25, deadline=None)
@given(tiles(10, 3, 5), tiles(10, 3, 5), st.sampled_from([8, 16, 32, 64]))
def test_a_choice_is_invertible_and_its_counts_are_true(
    write: LinearLayout, read: LinearLayout, bits: int
) -> None:
    choice = choose_swizzle((32, 32), bits, Access(write), Access(read))
    assert Access(write).least(bits) <= choice.write.total
    assert Access(read).least(bits) <= choice.read.total
    assert choice.layout.is_invertible()
    assert simulated(Access(write).plan(choice.layout, bits), bits) == choice.write.total
    assert simulated(Access(read).plan(choice.layout, bits), bits) == choice.read.total


@settings(max_examples=25, deadline=None)
@given(tiles(10, 3, 5), tiles(10, 3, 5))
def test_32_bit_elements_never_conflict(write: LinearLayout, read: LinearLayout) -> None:
    # A layout without conflicts exists for any two tiles; a cheaper choice may only be one of wider vectors.
    choice = choose_swizzle((32, 32), 32, Access(write, max_bits=32), Access(read, max_bits=32))
    assert choice.is_conflict_free


@settings(max_examples=25, deadline=None)
@given(tiles(10, 3, 5), tiles(10, 3, 5), st.sampled_from([8, 16, 32, 64]))
def test_the_derived_layout_is_free_of_conflicts(
    first: LinearLayout, second: LinearLayout, bits: int
) -> None:
    lanes = 4 if bits == 64 else 5
    memory = conflict_free(
        (32, 32), bits, [], first.dim_columns("lane")[:lanes], second.dim_columns("lane")[:lanes]
    )
    for tile in (first, second):
        plan = vector_access(tile, memory, bits, max_bits=bits)
        assert plan.banks.is_conflict_free
        assert simulated(plan, bits) == plan.banks.total


def test_a_word_is_filled_with_lanes_of_both_accesses() -> None:
    """Two 16-bit elements of one word do not conflict, in either access."""
    first, second = [32, 64, 128, 256, 4], [1, 2, 4, 8, 16]
    assert conflict_free((32, 32), 16, [], first, second).dim_columns("offset")[0] == 4
    # Without such a lane, a word holds neighbors; a vector stays in front.
    assert conflict_free((32, 32), 16, [], [32, 64, 128], [2, 4, 8]).dim_columns("offset")[0] == 1
    assert conflict_free((32, 32), 8, [2], first, second).dim_columns("offset")[:2] == (2, 4)


@pytest.mark.parametrize(("size", "columns"), [(2, (1,)), (4, (1, 2))])
def test_a_tile_smaller_than_a_word_has_a_layout(size: int, columns: tuple[int, ...]) -> None:
    assert conflict_free((size,), 8, [], [1], [1]).dim_columns("offset") == columns


def test_a_copy_of_several_elements_keeps_them_together() -> None:
    """Where registers hold neighbors of both axes, reading alone would choose the other order of axes."""
    registers = blocked((4, 64), (4, 2), (1, 32), (1, 1), (1, 0))
    read = Access(blocked((4, 64), (4, 1), (1, 32), (1, 1), (0, 1)))
    for axis in (0, 1):
        chosen = choose_swizzle((4, 64), 64, Access(registers), read, modes_only=True, fastest=axis)
        assert chosen.order is not None and chosen.order[0] == axis
    cube = Access(blocked((2, 4, 64), (1, 1, 1), (1, 1, 32), (1, 1, 1), (2, 1, 0)))
    with pytest.raises(LayoutError, match="no memory layout"):
        choose_swizzle((2, 4, 64), 64, cube, cube, modes_only=True, fastest=0)
