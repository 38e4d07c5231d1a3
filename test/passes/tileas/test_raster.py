"""The orders of the programs of a grid: the place of a program, computed as the ops do it, with 32 bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from programs import fresh_seed

from tessera_tools.dialects import arith
from tessera_tools.dialects.arith.constants import constant_of
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Block, Builder, Operation, Value
from tessera_tools.ir.types import I32
from tessera_tools.passes.tileas.raster import program_at, read_raster

BITS = (1 << 32) - 1
COMPUTED: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddI: lambda a, b: a + b & BITS,
    arith.SubI: lambda a, b: a - b & BITS,
    arith.MulI: lambda a, b: a * b & BITS,
    arith.DivUI: lambda a, b: a // b,
    arith.RemUI: lambda a, b: a % b,
    arith.MinUI: min,
}


def place(raster: str, number: int, columns: int, rows: int) -> tuple[int, int]:
    """(x, y) of a program."""
    order, block = read_raster(raster), Block([I32, I32, I32])
    assert order is not None
    at, width, height = block.arguments
    found = program_at(order, at, width, height, Builder.at_end(block))
    values: dict[Value, int] = dict(zip(block.arguments, (number, columns, rows), strict=True))
    for op in block:
        made = constant_of(op.results[0])
        values[op.results[0]] = (
            made.value
            if isinstance(made, IntegerAttr)
            else COMPUTED[type(op)](*(values[v] for v in op.operands))
        )
    x, y = (values[value] for value in found)
    return x, y


@pytest.mark.parametrize("width", [1, 8, 1024])
def test_long_rows_begin_with_their_last_program(width: int) -> None:
    """Also where as many rows as are taken together would have more programs than 32 bits count."""
    rng = np.random.default_rng(fresh_seed())
    for _ in range(20):
        rows = int(rng.integers(1, 6))
        columns = int(rng.integers(1 << 22, (1 << 31) // rows))
        x, y = int(rng.integers(columns)), int(rng.integers(rows))
        top = y - y % width
        height = min(width, rows - top)
        number = top * columns + (columns - 1 - x) * height + y - top
        assert place(f"reversed:{width}", number, columns, rows) == (x, y)


@pytest.mark.parametrize("width", [1, 8, 1024])
def test_groups_of_few_long_columns(width: int) -> None:
    rng = np.random.default_rng(fresh_seed())
    for _ in range(20):
        columns = int(rng.integers(1, 6))
        rows = int(rng.integers(1 << 22, (1 << 31) // columns))
        x, y = int(rng.integers(columns)), int(rng.integers(rows))
        left = x - x % width
        size = min(width, columns - left)
        assert place(f"grouped:{width}", left * rows + y * size + x - left, columns, rows) == (x, y)


@pytest.mark.parametrize(
    "text", ["reversed:0", "reversed:1025", "reversed:-1", "reversed:" + "1" * 5000, "hilbert:6"]
)
def test_what_is_no_order(text: str) -> None:
    """Python does not read 5,000 digits as a number."""
    assert read_raster(text) is None
