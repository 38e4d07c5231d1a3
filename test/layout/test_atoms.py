"""Hardware atoms, each against its formula in the PTX ISA, element by element."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from tessera_tools.layout import LayoutError, LinearLayout, atoms, fma_layouts

RowCol = Callable[[int, int], tuple[int, int]]


def check(layout: LinearLayout, elements: int, formula: RowCol) -> None:
    """Lane `lane` holds element i of its fragment at formula(lane, i), for every lane and i."""
    assert layout.in_size("register") == elements
    for lane in range(32):
        for i in range(elements):
            where = layout.apply(register=i, lane=lane)
            assert (where["row"], where["col"]) == formula(lane, i), f"lane {lane}, element {i} of {layout}"


# PTX ISA, "Matrix Fragments for mma.m16n8kX": groupID = %laneid >> 2, threadID_in_group = %laneid % 4.


def a_f16_k16(lane: int, i: int) -> tuple[int, int]:
    row = lane >> 2 if i < 2 or 4 <= i < 6 else (lane >> 2) + 8
    col = (lane % 4) * 2 + (i & 1) if i < 4 else (lane % 4) * 2 + (i & 1) + 8
    return row, col


def b_f16_k16(lane: int, i: int) -> tuple[int, int]:
    return ((lane % 4) * 2 + (i & 1) + (0 if i < 2 else 8), lane >> 2)


def a_f16_k8(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (0 if i < 2 else 8), (lane % 4) * 2 + (i & 1)


def b_f16_k8(lane: int, i: int) -> tuple[int, int]:
    return (lane % 4) * 2 + i, lane >> 2


def a_tf32_k8(lane: int, i: int) -> tuple[int, int]:
    row = lane >> 2 if i in (0, 2) else (lane >> 2) + 8
    return row, lane % 4 if i in (0, 1) else lane % 4 + 4


def b_tf32_k8(lane: int, i: int) -> tuple[int, int]:
    return lane % 4 + (4 if i else 0), lane >> 2


def a_tf32_k4(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (8 if i else 0), lane % 4


def a_8bit_k32(lane: int, i: int) -> tuple[int, int]:
    row = lane >> 2 if i < 4 or 8 <= i < 12 else (lane >> 2) + 8
    return row, (lane % 4) * 4 + (i & 3) + (0 if i < 8 else 16)


def b_8bit_k32(lane: int, i: int) -> tuple[int, int]:
    return (lane % 4) * 4 + (i & 3) + (0 if i < 4 else 16), lane >> 2


def a_4bit_k64(lane: int, i: int) -> tuple[int, int]:
    row = lane >> 2 if i < 8 or 16 <= i < 24 else (lane >> 2) + 8
    return row, (lane % 4) * 8 + (i & 7) + (0 if i < 16 else 32)


def b_4bit_k64(lane: int, i: int) -> tuple[int, int]:
    return (lane % 4) * 8 + (i & 7) + (0 if i < 8 else 32), lane >> 2


def a_f64_k16(lane: int, i: int) -> tuple[int, int]:
    if i % 2 == 0:
        return lane >> 2, i * 2 + lane % 4
    return (lane >> 2) + 8, i * 2 - 2 + lane % 4


def accumulator(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (0 if i < 2 else 8), (lane % 4) * 2 + (i & 1)


@pytest.mark.parametrize(
    ("bits", "k", "elements", "formula"),
    [
        (16, None, 8, a_f16_k16),
        (16, 8, 4, a_f16_k8),
        (32, None, 4, a_tf32_k8),
        (32, 4, 2, a_tf32_k4),
        (8, None, 16, a_8bit_k32),
        (4, None, 32, a_4bit_k64),
        (64, 16, 8, a_f64_k16),
        (64, 8, 4, a_tf32_k8),
        (64, None, 2, a_tf32_k4),
    ],
)
def test_operand_a(bits: int, k: int | None, elements: int, formula: RowCol) -> None:
    check(atoms.mma_a(bits, k), elements, formula)


@pytest.mark.parametrize(
    ("bits", "k", "elements", "formula"),
    [
        (16, None, 4, b_f16_k16),
        (16, 8, 2, b_f16_k8),
        (32, None, 2, b_tf32_k8),
        (8, None, 8, b_8bit_k32),
        (4, None, 16, b_4bit_k64),
    ],
)
def test_operand_b(bits: int, k: int | None, elements: int, formula: RowCol) -> None:
    check(atoms.mma_b(bits, k), elements, formula)


def test_accumulator() -> None:
    check(atoms.mma_accumulator(), 4, accumulator)


@pytest.mark.parametrize("n", [8, 16, 64, 256])
def test_wgmma_accumulator_is_a_column_of_m16n8_for_each_warp(n: int) -> None:
    # PTX ISA, accumulator D of wgmma.mma_async.m64nNk16: d(4j) to d(4j+3) are columns 8j to 8j+7.
    layout = atoms.wgmma_accumulator_atom(n)
    assert layout.is_invertible()
    for thread in range(128):
        for i in range(n // 2):
            row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (i % 4 // 2)
            col = 8 * (i // 4) + 2 * (thread % 4) + i % 2
            where = layout.apply(register=i, lane=thread % 32, warp=thread // 32)
            assert (where["row"], where["col"]) == (row, col)


def test_wgmma_a_from_registers() -> None:
    layout = atoms.wgmma_a(16)
    for warp in range(4):
        for lane in range(32):
            for i in range(8):
                row, col = a_f16_k16(lane, i)
                assert layout.apply(register=i, lane=lane, warp=warp) == {"row": row + 16 * warp, "col": col}


# PTX ISA, "Block Scaling for mma.sync": of a quad, two lanes hold the scales of A, and one those of B, by thread-id.


@pytest.mark.parametrize("count", [1, 2, 4])
def test_scales_of_blocks(count: int) -> None:
    check(atoms.mma_scale_a(count), count, lambda lane, i: ((lane >> 2) + 8 * (lane & 1), i))
    check(atoms.mma_scale_b(count), count, lambda lane, i: (i, lane >> 2))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: atoms.mma_a(12), "12-bit elements"),
        (lambda: atoms.mma_a(16, 4), "k = 4 for 16-bit elements"),
        (lambda: atoms.mma_b(16, 24), "k = 24"),
        (lambda: atoms.wgmma_accumulator_atom(24), "n = 24, expected a power of two"),
        (lambda: atoms.wgmma_a(64), "wgmma on 64-bit elements"),
    ],
)
def test_what_no_instruction_has_is_refused(build: Callable[[], LinearLayout], message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        build()


@pytest.mark.parametrize("batches", [(), (2,)], ids=["one", "two"])
def test_threads_without_tensor_cores_compute_different_elements(batches: tuple[int, ...]) -> None:
    """Of each product that has an element for every thread in the part of its warp."""
    for m, n, along_m, along_n in product((1, 4, 16, 64, 128), (1, 8, 32, 64), (1, 2, 4, 8), (1, 2, 4)):
        if m // along_m * (n // along_n) >= 32:
            ones = (1,) * len(batches)
            c = fma_layouts((*batches, m, n), 8, 32, (1, 1, 1), (*ones, along_m, along_n))[2]
            assert c is not None and c.is_surjective()
            assert not any(c.free_variable_masks().values()), (m, n, along_m, along_n)


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_the_left_factor_of_wgmma_has_256_bits_of_a_row(bits: int) -> None:
    assert dict(atoms.wgmma_a(bits).outs) == {atoms.ROW: 64, atoms.COL: 256 // bits}


@pytest.mark.parametrize("bits", [4, 64])
def test_wgmma_of_other_elements_is_refused(bits: int) -> None:
    with pytest.raises(LayoutError, match=f"wgmma on {bits}-bit elements, expected 8, 16 or 32 bits"):
        atoms.wgmma_a(bits)
