"""The order of the terms of a product in which threads that hold sums have its left factor."""

from __future__ import annotations

import pytest

from tessera_tools.layout import LinearLayout, reshape, transpose, wgmma_accumulator, wgmma_operand_a
from tessera_tools.planning.term_order import axes_of, term_order

GRID = (4, 1)


def reordered(layout: LinearLayout, order: tuple[int, ...]) -> LinearLayout:
    """The layout of a tile whose columns come in an order."""
    rows, columns = (size for _, size in layout.outs)
    parts, permutation = axes_of(order, columns)
    split = reshape(layout, (rows, *parts))
    return reshape(transpose(split, (0, *(1 + axis for axis in permutation))), (rows, columns))


@pytest.mark.parametrize(
    "bits, order",
    [(8, (0, 3, 1, 2, 4, 5)), (16, (0, 1, 2, 3, 4, 5)), (32, (1, 2, 0, 3, 4, 5))],
)
def test_a_thread_has_the_terms_that_the_instruction_reads(bits: int, order: tuple[int, ...]) -> None:
    """Then the layouts differ in the order of registers only."""
    held, wanted = wgmma_accumulator((64, 64), GRID, 64), wgmma_operand_a((64, 64), bits, GRID)
    assert term_order(held, wanted) == order
    found = reordered(held, order)
    for name in wanted.in_dims:
        ours, theirs = found.bases[name], wanted.bases[name]
        assert sorted(ours) == sorted(theirs) if name == "register" else ours == theirs


def test_rows_of_other_threads_have_no_order() -> None:
    held, wanted = wgmma_accumulator((128, 64), (8, 1), 64), wgmma_operand_a((128, 64), 8, (4, 1))
    assert term_order(held, wanted) is None


def test_rows_of_other_warps_have_no_order() -> None:
    """Only registers may change places."""
    held, wanted = wgmma_accumulator((64, 64), GRID, 64), wgmma_operand_a((64, 64), 16, GRID)
    turned = LinearLayout({**held.bases, "warp": held.bases["warp"][::-1]}, held.outs)
    assert term_order(held, wanted) is not None
    assert term_order(turned, wanted) is None


def test_tiles_of_other_shapes_have_no_order() -> None:
    held, wanted = wgmma_accumulator((64, 64), GRID, 64), wgmma_operand_a((64, 128), 8, GRID)
    assert term_order(held, wanted) is None


def test_bits_that_stay_together_are_one_axis() -> None:
    assert axes_of((0, 1, 2), 8) == ((8,), (0,))
    assert axes_of((0, 3, 1, 2, 4), 32) == ((2, 2, 4, 2), (0, 2, 1, 3))
