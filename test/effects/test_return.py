"""return: ends the kernel for its tile block, from inside of loops and branches."""

from __future__ import annotations

import numpy as np
import pytest
from programs import TARGETS, check_tools, launch

COUNT = """
    %i = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %most = constant <i32: 5> : tile<i32>
    %x, %y, %z = get_tile_block_id : tile<i32>
    %o = offset %out, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
"""
LOOP = """
    %last = loop iter_values(%k = %i) : tile<i32> -> tile<i32> {
      %found = cmpi equal %k, %x, signed : tile<i32> -> tile<i1>
      if %found {
        return
      }
      %next = addi %k, %one : tile<i32>
      %t = store_ptr_tko weak %o, %next : tile<ptr<i32>>, tile<i32> -> token
      %end = cmpi equal %next, %most, signed : tile<i32> -> tile<i1>
      if %end {
        break %next : tile<i32>
      }
      continue %next : tile<i32>
    }
"""
AFTER = """
    %done = constant <i32: 99> : tile<i32>
    %u = store_ptr_tko weak %o, %done : tile<ptr<i32>>, tile<i32> -> token
"""
IN_A_BRANCH = f"""
    %two = constant <i32: 2> : tile<i32>
    %high = cmpi greater_than_or_equal %x, %two, signed : tile<i32> -> tile<i1>
    if %high {{
      {LOOP}
    }}
"""
IN_A_LOOP = f"""
    loop {{
      {LOOP}
      break
    }}
"""


def written(body: str, target: str) -> list[int]:
    """What each of 8 tile blocks writes last."""
    text = f"  entry @kernel(%out: tile<ptr<i32>>) {{{COUNT}{body}\n  }}\n"
    (out,), _ = launch(text, np.zeros(8, np.int32), grid=(8,), target=target)
    check_tools(text, target)
    return out.tolist()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (LOOP, [0, 1, 2, 3, 4, 99, 99, 99]),
        (IN_A_LOOP, [0, 1, 2, 3, 4, 99, 99, 99]),
        (IN_A_BRANCH, [99, 99, 2, 3, 4, 99, 99, 99]),
    ],
    ids=["in a loop", "in two loops", "in a loop in a branch"],
)
def test_what_follows_a_return_does_not_run(body: str, expected: list[int], target: str) -> None:
    assert written(body + AFTER + "return", target) == expected


def test_a_loop_may_end_in_a_return() -> None:
    once = "loop { %t = store_ptr_tko weak %o, %x : tile<ptr<i32>>, tile<i32> -> token return }"
    assert written(once + AFTER, TARGETS[0]) == list(range(8))
