"""The orders of the programs of a grid: the place of a program, computed as the ops do it, with 32 bits."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
import pytest
from programs import fresh_seed

from tessera_tools.dialects import arith, nv_tileaa
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Block, Builder, Operation, Value
from tessera_tools.ir.folding import constant_value
from tessera_tools.ir.types import I32
from tessera_tools.parser import parse_module
from tessera_tools.passes.tileas.raster import priced_raster, program_at, read_raster

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
        made = constant_value(op.results[0])
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


def busy(raster: str, columns: int, rows: int, slots: int) -> float:
    """The part of their time that SMs work, if each takes the next program when it is done, and programs take as many
    steps as their place along the first axis says."""
    ends = [0] * slots
    for number in range(columns * rows):
        x = number % columns if raster == "rows" else place(raster, number, columns, rows)[0]
        heapq.heapreplace(ends, ends[0] + 2 + x)
    work = rows * sum(2 + x for x in range(columns))
    return work / (slots * max(ends))


@pytest.mark.parametrize(("columns", "rows"), [(64, 16), (16, 128), (32, 40)])
def test_long_programs_first_leave_sms_idle_for_less_time(columns: int, rows: int) -> None:
    assert busy("reversed:8", columns, rows, 132) > max(0.98, busy("rows", columns, rows, 132) + 0.04)


CAUSAL = """
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @k(%n: i32) attributes {
      nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %a = arith.constant dense<0.0> : tensor<64x64xf16>
    %z = arith.constant dense<0.0> : tensor<64x64xf32>
    %i = nv_tileaa.get_program_id {axis = 0 : i32} : i32
    %j = nv_tileaa.get_program_id {axis = 1 : i32} : i32
    %row = arith.muli %i, %c64 : i32
    %end = arith.addi %row, %c64 : i32
    %blocks = arith.divsi %end, %c64 : i32
    %fewer = arith.subi %n, %blocks : i32
    %some = arith.minsi %blocks, %n : i32
    %r = scf.for %k = LOWER to UPPER step %c1 iter_args(%s = %z) -> (tensor<64x64xf32>) : i32 {
      %d = nv_tileas.dot %a, %a, %s {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>}
        : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    nv_tileaa.return
  }
}
"""


@pytest.mark.parametrize(
    ("lower", "upper", "kind"),
    [
        ("%c0", "%blocks", "reversed"), ("%j", "%some", "reversed"), ("%c0", "%n", "rows"), ("%c0", "%j", "rows"),
        ("%blocks", "%n", "rows"), ("%c0", "%fewer", "rows"),
    ],
)  # fmt: skip
def test_programs_that_multiply_more_come_first(lower: str, upper: str, kind: str) -> None:
    """Only where it is certain that they are further along the first axis."""
    module = parse_module(CAUSAL.replace("LOWER", lower).replace("UPPER", upper))
    (function,) = (op for op in module.walk() if isinstance(op, nv_tileaa.Func))
    assert priced_raster(function).kind == kind
