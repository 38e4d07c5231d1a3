"""Numbers of a kernel in a launch that is known."""

from __future__ import annotations

import pytest

from tessera_tools.analysis.launches import Launch
from tessera_tools.dialects import scf
from tessera_tools.ir.core import Value
from tessera_tools.parser import parse_module

TEXT = """nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32, %m: i32) {
  %one = arith.constant 1 : i32
  %deep = arith.constant 64 : i32
  %rest = arith.constant 63 : i32
  %known = nv_tileaa.assume %n {divisor = 8 : i64} : i32
  %more = arith.addi %known, %rest : i32
  %steps = arith.divui %more, %deep : i32
  %x = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %elsewhere = arith.addi %steps, %x : i32
  scf.for %i = %m to %steps step %elsewhere : i32 {
  }
  nv_tileaa.return
}
"""


def bounds(*arguments: int | None) -> list[int | None]:
    """What a launch with these arguments makes of the bounds and the step of the loop."""
    loop = next(op for op in parse_module(TEXT).walk() if isinstance(op, scf.For))
    launch = Launch(arguments)
    values: list[Value] = [loop.lower, loop.upper, loop.step]
    return [launch.number(value) for value in values]


@pytest.mark.parametrize(("n", "steps"), [(0, 0), (8, 1), (64, 1), (72, 2), (8192, 128)])
def test_arithmetic_on_arguments(n: int, steps: int) -> None:
    assert bounds(None, n, 5) == [5, steps, None]


def test_what_is_not_an_integer_of_the_launch_is_unknown() -> None:
    assert bounds(None, None, 5) == [5, None, None]
    assert bounds() == [None, None, None]


def test_arguments_wrap_as_their_types_do() -> None:
    assert bounds(None, 1 << 40, -1) == [-1, 0, None]
