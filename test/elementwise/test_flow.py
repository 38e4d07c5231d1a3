"""Functions with branches and loops of their own, in branches and loops; without LLVM's optimizations too."""

from __future__ import annotations

import numpy as np
import pytest
from elementwise.numbers import distance
from programs import check_tools, empty, fresh_seed, program, run, tile

COUNT = 256
TYPE = tile("f32", (COUNT,))
BODY = f"""%zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %k = constant <f32: 1.0e+9> : {TYPE}
  %r = for %i in (%zero to %three, step %one) : tile<i32> iter_values(%a = %x) -> ({TYPE}) {{
    %c = cmpi equal %i, %one, signed : tile<i32> -> tile<i1>
    %t = if %c -> ({TYPE}) {{
      %s = sin %a : {TYPE}
      yield %s : {TYPE}
    }} else {{
      %m = mulf %a, %k : {TYPE}
      %f = remf %m, %x : {TYPE}
      yield %f : {TYPE}
    }}
    %u = sin %x : {TYPE}
    %w = addf %t, %u : {TYPE}
    continue %w : {TYPE}
  }}
  %v = sin %x : {TYPE}
  %y = mulf %r, %v : {TYPE}"""


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("target", ["sm_80", "sm_120a"])
def test_functions_in_loops_and_branches(target: str, level: int) -> None:
    rng = np.random.default_rng(fresh_seed())
    x = (rng.standard_normal(COUNT) * np.exp2(rng.uniform(0, 40, COUNT))).astype(np.float32)
    text = program(BODY, {"x": ("f32", (COUNT,))}, {"y": ("f32", (COUNT,))})
    check_tools(text, target)
    found = run(text, x, empty("f32", (COUNT,)), target=target, level=level)[-1]
    # One function after the other, rounded as each is: the sines may differ by a unit.
    alone = program(f"%y = sin %x : {TYPE}", {"x": ("f32", (COUNT,))}, {"y": ("f32", (COUNT,))})

    def sine(v: np.ndarray) -> np.ndarray:
        return run(alone, v, empty("f32", (COUNT,)), target=target)[-1]

    a = x
    for i in range(3):
        with np.errstate(invalid="ignore"):
            t = sine(a) if i == 1 else np.fmod(a * np.float32(1e9), x)
            a = t + sine(x)
    assert distance(found, (a * sine(x)).astype(np.float64), "f32").max() == 0
