"""Counted loops at the edges of their types: no iteration, one, bounds that a step passes over, every width."""

from __future__ import annotations

import numpy as np
import pytest
from programs import TARGETS, check_tools, compiled, empty, fresh_seed, run

WIDTHS = (8, 16, 32, 64)


def counting(width: int, unsigned: bool, early: bool, known: tuple[int, int, int] | None = None) -> str:
    """A kernel that stores how often a loop runs, and the sum of its counters (modulo 2**64).

    early: an iteration whose counter is even ends early.  known: lower bound, upper bound and step, as constants.
    """
    type = f"tile<i{width}>"
    head = "entry @kernel(%out: tile<ptr<i64>>"
    head += "" if known else f", %lower: {type}, %upper: {type}, %step: {type}"
    constants = (
        ""
        if known is None
        else "\n  ".join(
            f"%{name} = constant <i{width}: {n}> : {type}"
            for name, n in zip(("lower", "upper", "step"), known, strict=True)
        )
    )
    wide = "%i" if width == 64 else f"exti %i {'unsigned' if unsigned else 'signed'} : {type} -> tile<i64>"
    widened = "" if width == 64 else f"%w = {wide}"
    value = "%i" if width == 64 else "%w"
    left = f"""%two = constant <i{width}: 2> : {type}
    %rest = remi %i, %two unsigned : {type}
    %zero = constant <i{width}: 0> : {type}
    %even = cmpi equal %rest, %zero, unsigned : {type} -> tile<i1>
    if %even {{ continue %m, %s : tile<i64>, tile<i64> }}"""
    view = "tensor_view<2xi64, strides=[1]>"
    part = f"partition_view<tile=(1), {view}>"
    return f"""{head}) {{
  {constants}
  %start = make_token : token
  %c0 = constant <i64: 0> : tile<i64>
  %c1 = constant <i64: 1> : tile<i64>
  %count, %sum = for {"unsigned " if unsigned else ""}%i in (%lower to %upper, step %step) : {type}
      iter_values(%n = %c0, %s = %c0) -> (tile<i64>, tile<i64>) {{
    %m = addi %n, %c1 : tile<i64>
    {left if early else ""}
    {widened}
    %t = addi %s, {value} : tile<i64>
    continue %m, %t : tile<i64>, tile<i64>
  }}
  %v = make_tensor_view %out, shape = [2], strides = [1] : {view}
  %q = make_partition_view %v : {part}
  %first = reshape %count : tile<i64> -> tile<1xi64>
  %second = reshape %sum : tile<i64> -> tile<1xi64>
  %a = store_view_tko weak %first, %q[%c0] token = %start : tile<1xi64>, {part}, tile<i64> -> token
  %b = store_view_tko weak %second, %q[%c1] token = %start : tile<1xi64>, {part}, tile<i64> -> token
  return
}}
"""


def expected(lower: int, upper: int, step: int, early: bool) -> list[int]:
    """What the kernel stores, as the op says: each lower + i * step below upper, in numbers without end."""
    counters = range(lower, upper, step)
    assert len(counters) < 1000
    total = sum(i for i in counters if not early or i % 2)
    return [len(counters), (total + (1 << 63)) % (1 << 64) - (1 << 63)]


def cases(width: int, unsigned: bool) -> list[tuple[int, int, int]]:
    """(lower, upper, step): none, one, and several iterations, the last ones next to the largest number."""
    low, high = (0, (1 << width) - 1) if unsigned else (-(1 << (width - 1)), (1 << (width - 1)) - 1)
    rng = np.random.default_rng(fresh_seed())
    step = int(rng.integers(2, 60))
    return [
        (0, 0, 1),
        (5, 3, 2),
        (low, low, 1),
        (high, low, 3),
        (0, 1, high if not unsigned else high >> 1),
        (high - 3, high, 1),
        (high - 2, high, 2),
        (high - 5 * step // 2, high, step),
        (low, low + 3 * step, step),
        (low, high, (high >> 2) + 1),
        (high - 1, high, (1 << (width - 1)) - 1),
    ]


@pytest.mark.parametrize("early", [False, True], ids=["whole", "early"])
@pytest.mark.parametrize("unsigned", [False, True], ids=["signed", "unsigned"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_loop_ends_where_its_bound_says(width: int, unsigned: bool, early: bool) -> None:
    kind = np.dtype(f"{'u' if unsigned else ''}int{width}").type
    text = counting(width, unsigned, early)
    for number, (lower, upper, step) in enumerate(cases(width, unsigned)):
        arguments = [kind(n).view(f"int{width}") for n in (lower, upper, step)]
        target = TARGETS[number % len(TARGETS)]
        [found] = run(text, empty("i64", (2,)), *arguments, target=target)
        assert found.tolist() == expected(lower, upper, step, early), (lower, upper, step)


@pytest.mark.parametrize("early", [False, True], ids=["whole", "early"])
@pytest.mark.parametrize("known", [(120, 127, 5), (0, 127, 100), (-128, 127, 64), (7, 7, 1), (3, 4, 127)])
def test_a_loop_of_constants_ends_where_its_bound_says(known: tuple[int, int, int], early: bool) -> None:
    [found] = run(counting(8, False, early, known), empty("i64", (2,)))
    assert found.tolist() == expected(*known, early)


def test_a_loop_whose_counter_cannot_wrap_asks_nothing_more() -> None:
    plain = compiled(counting(32, False, False, (0, 100, 3))).llvm
    assert "llvm.sub" not in plain
    assert "llvm.sub" in compiled(counting(32, False, False)).llvm


def test_the_tools_take_loops_that_are_left_early() -> None:
    check_tools(counting(16, True, True), *TARGETS)
