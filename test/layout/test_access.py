"""Accesses to memory: widths, matrices and banks, each against a simulation of lanes and bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout.banks import wavefronts_of_access, wavefronts_of_phase
from layout.strategies import invertible_columns, tiles

from tessera_tools.layout import (
    LayoutError,
    LinearLayout,
    MatrixAccess,
    Refused,
    VectorAccess,
    bank_conflict_degree,
    blocked,
    contiguous_elements,
    matrix_access,
    mma_m16n8_accumulator,
    mma_operand_a,
    mma_operand_b,
    offsets,
    row_major,
    swizzled,
    vector_access,
    wavefronts,
)


def check_vectors(plan: VectorAccess, registers: LinearLayout, memory: LinearLayout) -> None:
    """Every group is adjacent, aligned memory for every thread; every register is in a group or a copy."""
    inverse = offsets(registers, memory)
    copied = dict(plan.copies)
    grouped = [register for group in plan.groups for register in group]
    assert sorted([*grouped, *copied]) == list(range(registers.in_size("register")))
    for lane in range(registers.in_size("lane")):
        for warp in range(registers.in_size("warp")):
            where = {"lane": lane, "warp": warp}
            for index, group in enumerate(plan.groups):
                start = plan.address.evaluate(index, lane=lane, warp=warp)
                assert start % plan.elements == 0
                for step, register in enumerate(group):
                    assert inverse.apply(register=register, **where)["offset"] == start + step
            for register, source in copied.items():
                assert registers.apply(register=register, **where) == registers.apply(
                    register=source, **where
                )


@settings(max_examples=60, deadline=None)
@given(tiles(9, 3, 5), invertible_columns(9), st.sampled_from([8, 16, 32, 64]))
def test_vectors_are_adjacent_aligned_and_complete(tile: LinearLayout, memory: list[int], bits: int) -> None:
    layout = LinearLayout.from_columns([("offset", 512)], tile.outs, memory)
    plan = vector_access(tile, layout, bits)
    assert plan.bits <= 128
    check_vectors(plan, tile, layout)


@settings(max_examples=60, deadline=None)
@given(tiles(9, 3, 5), invertible_columns(9), st.sampled_from([8, 16, 32, 64]))
def test_vector_wavefronts_are_those_of_the_simulation(
    tile: LinearLayout, memory: list[int], bits: int
) -> None:
    layout = LinearLayout.from_columns([("offset", 512)], tile.outs, memory)
    plan = vector_access(tile, layout, bits)
    for index in range(len(plan.groups)):
        addresses = [plan.address.evaluate(index, lane=lane, warp=1) * bits // 8 for lane in range(32)]
        assert wavefronts_of_access(addresses, plan.bits // 8) == plan.banks.per_instruction


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 1023), min_size=5, max_size=5),
    st.sampled_from([8, 16, 32, 64]),
    st.integers(0, 4),
)
def test_wavefronts_of_any_lanes_are_those_of_the_simulation(lanes: list[int], bits: int, log: int) -> None:
    elements = min(1 << log, 128 // bits)
    columns = [column // elements * elements for column in lanes]
    layout = LinearLayout({"lane": [(column,) for column in columns]}, {"offset": 1024})
    addresses = [layout.apply(lane=lane)["offset"] * bits // 8 for lane in range(32)]
    took, ideal = wavefronts(columns, bits, elements)
    assert took == wavefronts_of_access(addresses, elements * bits // 8)
    assert ideal == max(1, elements * bits // 32)


def test_lanes_that_share_a_word_do_not_conflict() -> None:
    assert wavefronts([1, 2, 4, 8, 16], 16) == (1, 1)
    assert wavefronts([0, 0, 0, 0, 0], 32) == (1, 1)


def test_a_column_of_a_row_major_tile_is_a_full_conflict() -> None:
    assert wavefronts([32, 64, 128, 256, 512], 32) == (32, 1)
    assert bank_conflict_degree([32, 64, 128], 32) == 8


def test_wavefronts_refuses_what_no_instruction_does() -> None:
    with pytest.raises(LayoutError, match="access of 256 bits"):
        wavefronts([8] * 5, 32, 8)
    with pytest.raises(LayoutError, match="not aligned to 4 elements"):
        wavefronts([2, 4, 8, 16, 32], 32, 4)


def test_a_row_major_tile_is_read_in_128_bit_vectors() -> None:
    tile = blocked((16, 64), (1, 8), (4, 8), (4, 1), (1, 0))
    plan = vector_access(tile, row_major((16, 64)), 16)
    assert (plan.bits, plan.groups) == (128, ((0, 1, 2, 3, 4, 5, 6, 7),))
    assert vector_access(tile, row_major((16, 64)), 16, max_bits=32).elements == 2


def test_a_transposed_tile_is_read_element_by_element() -> None:
    tile = blocked((16, 64), (1, 8), (4, 8), (4, 1), (1, 0))
    assert vector_access(tile, row_major((16, 64), (0, 1)), 16).elements == 1


def test_an_accumulator_is_stored_in_pairs() -> None:
    plan = vector_access(mma_m16n8_accumulator((16, 16), (1, 1)), row_major((16, 16)), 32)
    assert plan.bits == 64
    assert plan.groups == ((0, 1), (2, 3), (4, 5), (6, 7))


def test_repeated_registers_are_copied_not_loaded() -> None:
    tile = LinearLayout(
        {"register": [(0,), (1,)], "lane": [(2 << i,) for i in range(5)], "warp": []}, {"dim0": 64}
    )
    plan = vector_access(tile, row_major((64,)), 32)
    assert plan.groups == ((0, 2),)
    assert plan.copies == ((1, 0), (3, 2))
    check_vectors(plan, tile, row_major((64,)))


def test_half_a_byte_cannot_be_accessed_alone() -> None:
    tile = blocked((64,), (1,), (32,), (1,), (0,))
    with pytest.raises(LayoutError, match="an access of 4 bits"):
        vector_access(tile, row_major((64,)), 4)
    assert vector_access(blocked((64,), (2,), (32,), (1,), (0,)), row_major((64,)), 4).bits == 8


def test_a_staged_buffer_is_not_a_plain_memory_layout() -> None:
    with pytest.raises(LayoutError, match="the one input 'offset'"):
        offsets(blocked((4,), (1,), (32,), (1,), (0,)), LinearLayout.identity_1d(4, "stage", "dim0"))


@pytest.mark.parametrize(
    ("axis", "contiguity", "alignment", "most", "elements"),
    [
        (1, 64, 8, 8, 4),
        (1, 64, 2, 8, 2),
        (1, 64, 6, 8, 2),
        (1, 2, 8, 8, 2),
        (0, 16, 16, 8, 1),
        (1, 64, 64, 2, 2),
    ],
)
def test_contiguity_and_alignment_bound_global_vectors(
    axis: int, contiguity: int, alignment: int, most: int, elements: int
) -> None:
    tile = blocked((16, 64), (1, 4), (2, 16), (4, 1), (1, 0))
    assert contiguous_elements(tile, axis, contiguity, alignment, most) == elements


def test_contiguity_along_an_axis_that_is_not_there() -> None:
    with pytest.raises(LayoutError, match="no axis 2"):
        contiguous_elements(blocked((4,), (1,), (32,), (1,), (0,)), 2, 1, 1, 1)


def check_matrices(
    plan: MatrixAccess, registers: LinearLayout, memory: LinearLayout, element_bits: int
) -> None:
    """Execute ldmatrix as PTX describes it: what each lane receives is the element that its layout names."""
    per_row = 128 // element_bits
    packed = 32 // element_bits
    for warp in range(registers.in_size("warp")):
        for index, instruction in enumerate(plan.registers):
            assert len(instruction) == plan.num
            for matrix, word in enumerate(instruction):
                rows = [plan.address.evaluate(index, lane=8 * matrix + row, warp=warp) for row in range(8)]
                assert all(row % per_row == 0 for row in rows)
                for lane in range(32):
                    for half, register in enumerate(word):
                        if plan.trans:
                            offset = rows[2 * (lane % 4) + half] + lane // 4
                        else:
                            offset = rows[lane // 4] + packed * (lane % 4) + half
                        assert memory.apply(offset=offset) == registers.apply(
                            register=register, lane=lane, warp=warp
                        )
                addresses = [row * element_bits // 8 for row in rows]
                assert wavefronts_of_phase(addresses, 16) * plan.num == plan.banks.per_instruction
    held = [register for instruction in plan.registers for word in instruction for register in word]
    assert sorted([*held, *(register for register, _ in plan.copies)]) == list(
        range(registers.in_size("register"))
    )


@pytest.mark.parametrize("mode", [0, 32, 64, 128])
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_ldmatrix_serves_operand_a_from_rows(bits: int, mode: int) -> None:
    registers = mma_operand_a((32, 128), bits, (2, 2))
    memory = swizzled((32, 128), bits, swizzle_bytes=mode)
    plan = matrix_access(registers, memory, bits)
    assert isinstance(plan, MatrixAccess)
    assert (plan.num, plan.trans) == (4, False)
    assert plan.banks.is_conflict_free == (mode != 0)
    check_matrices(plan, registers, memory, bits)


@pytest.mark.parametrize("mode", [0, 32, 64, 128])
def test_ldmatrix_trans_serves_operand_b_from_rows(mode: int) -> None:
    registers = mma_operand_b((32, 64), 16, (2, 2))
    memory = swizzled((32, 64), 16, swizzle_bytes=mode)
    plan = matrix_access(registers, memory, 16)
    assert isinstance(plan, MatrixAccess)
    assert plan.trans
    check_matrices(plan, registers, memory, 16)


def test_ldmatrix_serves_operand_b_from_columns() -> None:
    registers = mma_operand_b((64, 32), 16, (1, 2))
    memory = swizzled((64, 32), 16, (0, 1))
    plan = matrix_access(registers, memory, 16)
    assert isinstance(plan, MatrixAccess)
    assert not plan.trans
    check_matrices(plan, registers, memory, 16)


def test_stmatrix_serves_a_16_bit_accumulator() -> None:
    registers = mma_m16n8_accumulator((32, 64), (2, 1))
    memory = swizzled((32, 64), 16)
    plan = matrix_access(registers, memory, 16)
    assert isinstance(plan, MatrixAccess)
    check_matrices(plan, registers, memory, 16)


def test_one_matrix_is_x1() -> None:
    registers = mma_operand_b((8, 8), 16, (1, 1), k=8)
    plan = matrix_access(registers, row_major((8, 8), (0, 1)), 16)
    assert isinstance(plan, MatrixAccess)
    assert plan.num == 1


@pytest.mark.parametrize(
    ("registers", "memory", "bits", "reason"),
    [
        (mma_operand_a((16, 16), 16, (1, 1)), row_major((16, 16)), 64, "8-, 16- or 32-bit"),
        (
            mma_operand_b((32, 8), 8, (1, 1)),
            row_major((32, 8)),
            8,
            "no register holds the neighbor at offset 1",
        ),
        (
            blocked((16, 16), (1, 1), (2, 16), (1, 1), (1, 0)),
            row_major((16, 16)),
            16,
            r"no register holds the neighbor at offset 1; with .trans: lane bits 2 to 4 move by",
        ),
        (blocked((8, 8), (1, 8), (8, 1), (1, 1), (1, 0)), row_major((8, 8)), 16, "needs 32 lanes, found 8"),
        (
            blocked((32,), (1,), (32,), (1,), (0,)),
            row_major((32,)),
            16,
            "with .trans: a lane holds one element",
        ),
    ],
)
def test_a_refusal_says_why(registers: LinearLayout, memory: LinearLayout, bits: int, reason: str) -> None:
    refused = matrix_access(registers, memory, bits)
    assert isinstance(refused, Refused)
    assert not refused
    assert reason.replace("\\", "") in refused.reason


def test_rows_that_do_not_begin_at_16_bytes_are_refused() -> None:
    registers = mma_operand_a((16, 16), 16, (1, 1))
    columns = list(row_major((16, 16)).columns)
    columns[4] ^= columns[0]  # element (1, 1) lies where (1, 0) did: odd rows begin one element in
    memory = LinearLayout.from_columns([("offset", 256)], row_major((16, 16)).outs, columns)
    refused = matrix_access(registers, memory, 16, trans=False)
    assert refused == Refused("a row does not begin at a multiple of 16 bytes")
    assert not matrix_access(registers, row_major((16, 16)), 8, trans=True)


def test_trans_moves_elements_of_16_bits_alone() -> None:
    registers, rows = mma_operand_a((16, 16), 16, (1, 1)), row_major((16, 16))
    columns = [*rows.columns[4:], *rows.columns[:4]]
    memory = LinearLayout.from_columns([("offset", 256)], rows.outs, columns)
    assert matrix_access(registers, memory, 16, trans=True)
    for bits in (8, 32):
        refused = matrix_access(registers, memory, bits, trans=True)
        assert refused == Refused(f"ldmatrix .trans moves 16-bit elements, found {bits} bits")
