"""Loops that count become counted loops, with the iterations and the last counter of the loop as it is written."""

from __future__ import annotations

import itertools
import random
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import tessera_tools as tt

PREDICATES = {
    "less_than": "<",
    "less_than_or_equal": "<=",
    "greater_than": ">",
    "greater_than_or_equal": ">=",
}
COMPARE = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}
MOST = 40
"""Iterations of a loop to its upper bound; one with more is not launched."""


class Loop(NamedTuple):
    """`while i upper n and i lower k: count += 1; i += step`, as cuTile exports it, or with the parts swapped."""

    upper: str
    lower: str | None
    step: int
    signed: bool
    nested: bool

    def text(self) -> str:
        sign = "signed" if self.signed else "unsigned"
        below = f"cmpi {self.upper} %i, %n, {sign} : tile<i32> -> tile<i1>"
        above = f"cmpi {self.lower} %i, %k, {sign} : tile<i32> -> tile<i1>"
        if self.lower is None:
            condition = f"%more = {below}"
        elif self.nested:
            condition = f"""%above = {above}
      %more = if %above -> (tile<i1>) {{
        %below = {below}
        yield %below : tile<i1>
      }} else {{
        yield %above : tile<i1>
      }}"""
        else:
            condition = (
                f"%above = {above}\n      %below = {below}\n      %more = andi %below, %above : tile<i1>"
            )
        return f"""cuda_tile.module @m {{
  entry @count(%out: tile<ptr<i32>>, %l: tile<i32>, %k: tile<i32>, %n: tile<i32>) {{
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %step = constant <i32: {self.step}> : tile<i32>
    %end:2 = loop iter_values(%i = %l, %c = %zero) : tile<i32>, tile<i32> -> tile<i32>, tile<i32> {{
      {condition}
      if %more {{
      }} else {{
        break %i, %c : tile<i32>, tile<i32>
      }}
      %d = addi %c, %one : tile<i32>
      %j = addi %i, %step : tile<i32>
      continue %j, %d : tile<i32>, tile<i32>
    }}
    %t0 = make_token : token
    %t1 = store_ptr_tko weak %out, %end#0 token = %t0 : tile<ptr<i32>>, tile<i32> -> token
    %next = offset %out, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t2 = store_ptr_tko weak %next, %end#1 token = %t1 : tile<ptr<i32>>, tile<i32> -> token
    return
  }}
}}
"""

    def is_long(self, first: int, upper: int) -> bool:
        """Whether the counter needs many steps to the upper bound."""
        return upper - first > MOST * self.step

    def run(self, first: int, lower: int, upper: int) -> tuple[int, int] | None:
        """The last counter and the iterations; None if there are many, because the counter wraps around."""
        at = first
        for count in range(2 * MOST):
            goes_on = COMPARE[PREDICATES[self.upper]](at, upper)
            if self.lower is not None:
                goes_on = goes_on and COMPARE[PREDICATES[self.lower]](at, lower)
            if not goes_on:
                return at, count
            at = self.wrapped(at + self.step)
        return None

    def wrapped(self, number: int) -> int:
        low = -(2**31) if self.signed else 0
        return (number - low) % 2**32 + low


@cache
def compiled(loop: Loop) -> tt.Kernel:
    return tt.compile(loop.text(), "sm_80")


LOOPS = [
    Loop(upper, lower, step, signed, nested)
    for upper, lower, step, signed, nested in itertools.product(
        ("less_than", "less_than_or_equal"), (None, "greater_than", "greater_than_or_equal"), (1, 7), (True, False),
        (True, False),
    )
    if lower is None or upper == "less_than"
    if lower is not None or not nested
]  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: "-".join(map(str, loop)))
def test_a_counted_loop_has_the_iterations_of_the_loop(loop: Loop) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    kernel = compiled(loop)
    assert "scf.for" in kernel.stages["nv_tileas"] and "nv_tileaa.loop" not in kernel.stages["nv_tileas"]
    edges = (-(2**31), 2**31 - 1, 0) if loop.signed else (0, 2**32 - 1, 2**31)
    done = refused = 0
    while done + refused < 12:
        near = rng.choice(edges)
        first, lower, upper = (loop.wrapped(near + rng.randint(-30, 30)) for _ in range(3))
        if loop.is_long(first, upper):
            continue
        out = np.full(2, -1, np.int32)
        args = [int(np.uint32(number % 2**32).view(np.int32)) for number in (first, lower, upper)]
        expected = loop.run(first, lower, upper)
        if expected is None:
            # A counter that wraps around, or reaches every number: the assertion ends the loop instead.
            with pytest.raises(tt.FindingsError, match="the counter of a loop wraps around"):
                kernel[1](out, *args)
            refused += 1
            continue
        kernel[1](out, *args)
        assert (loop.wrapped(int(out[0])), int(out[1])) == expected, (first, lower, upper)
        done += 1
    assert done


@pytest.mark.parametrize("lower", [None, "greater_than"])
def test_a_counter_that_would_be_in_the_range_again_is_reported(lower: str | None) -> None:
    out = np.zeros(2, np.int32)
    with pytest.raises(tt.FindingsError, match="the counter of a loop wraps around"):
        compiled(Loop("less_than", lower, 7, True, False))[1](out, 2**31 - 5, -(2**31), 2**31 - 1)


IN_A_LOOP = """cuda_tile.module @m {
  entry @count(%out: tile<ptr<i64>>, %n: tile<i64>, %limit: tile<i64>, %m: tile<i64>) {
    %zero = constant <i64: 0> : tile<i64>
    %one = constant <i64: 1> : tile<i64>
    %three = constant <i64: 3> : tile<i64>
    %blocks, %y, %z = get_num_tile_blocks : tile<i32>
    %step = exti %blocks signed : tile<i32> -> tile<i64>
    %end:2 = loop iter_values(%o = %zero, %s = %one) : tile<i64>, tile<i64> -> tile<i64>, tile<i64> {
      %next = muli %s, %three : tile<i64>
      %more = cmpi less_than %o, %m, signed : tile<i64> -> tile<i1>
      if %more {
      } else {
        break %o, %s : tile<i64>, tile<i64>
      }
      %active = cmpi less_than %o, %limit, signed : tile<i64> -> tile<i1>
      %count = loop iter_values(%i = %zero, %c = %next) : tile<i64>, tile<i64> -> tile<i64> {
        %below = cmpi less_than %i, %n, signed : tile<i64> -> tile<i1>
        %both = andi %active, %below : tile<i1>
        if %both {
        } else {
          break %c : tile<i64>
        }
        %d = addi %c, %one : tile<i64>
        %j = addi %i, %step : tile<i64>
        continue %j, %d : tile<i64>, tile<i64>
      }
      %p = addi %o, %one : tile<i64>
      continue %p, %count : tile<i64>, tile<i64>
    }
    %t0 = make_token : token
    %t1 = store_ptr_tko weak %out, %end#1 token = %t0 : tile<ptr<i64>>, tile<i64> -> token
    return
  }
}
"""


def test_a_loop_may_ask_for_the_counter_of_another_one() -> None:
    """Both are counted: the condition of the inner one holds for all of its iterations, or for none."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    kernel = tt.compile(IN_A_LOOP, "sm_80")
    assert kernel.stages["nv_tileas"].count("scf.for") == 2
    for _ in range(6):
        n, limit, m = (rng.randint(-1, 6) for _ in range(3))
        expected = 1
        for outer in range(max(m, 0)):
            expected = 3 * expected + (max(n, 0) if outer < limit else 0)
        out = np.zeros(1, np.int64)
        kernel[1](out, n, limit, m)
        assert out[0] == expected, (n, limit, m)


@pytest.mark.parametrize("hint", ["", " {tessera.unroll_hint = 2 : i64}"])
@pytest.mark.parametrize("rounds", ["%n", "%two"])
def test_a_loop_around_an_endless_one_is_left_before_its_first_iteration(rounds: str, hint: str) -> None:
    text = f"""cuda_tile.module @m {{
  entry @rounds(%out: tile<ptr<i32>>, %n: tile<i32>) {{
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %two = constant <i32: 2> : tile<i32>
    %t0 = make_token : token
    %start = store_ptr_tko weak %out, %one token = %t0 : tile<ptr<i32>>, tile<i32> -> token
    for %i in (%zero to {rounds}, step %one) : tile<i32> {{
      %count = loop iter_values(%c = %zero) : tile<i32> -> tile<i32> {{
        %t1 = store_ptr_tko weak %out, %c token = %t0 : tile<ptr<i32>>, tile<i32> -> token
        %d = addi %c, %two : tile<i32>
        continue %d : tile<i32>
      }}
      %t2 = store_ptr_tko weak %out, %count token = %t0 : tile<ptr<i32>>, tile<i32> -> token
    }}{hint}
    return
  }}
}}
"""
    kernel = tt.compile(text, "sm_80")
    if rounds == "%n":
        out = np.zeros(1, np.int32)
        kernel[1](out, 0)
        assert out[0] == 1
