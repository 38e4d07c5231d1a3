"""Programs in which many tile blocks change the same elements, and what may come out of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def spread(name: str, pointer: str, element: str, shape: str, offsets: str) -> str:
    """`%name`: a tile of pointers, `pointer` moved by each of the i32 `offsets`."""
    ones = "x".join("1" for _ in shape.split("x"))
    pointers = f"tile<{shape}xptr<{element}>>"
    return f"""
    %{name}1 = reshape {pointer} : tile<ptr<{element}>> -> tile<{ones}xptr<{element}>>
    %{name}2 = broadcast %{name}1 : tile<{ones}xptr<{element}>> -> {pointers}
    %{name} = offset %{name}2, {offsets} : {pointers}, tile<{shape}xi32> -> {pointers}
"""


def contended(
    count: int,
    element: str,
    op: Callable[[str], str],
    *,
    returns: bool = True,
    masked: bool = False,
    warps: int | None = None,
) -> str:
    """`kernel(elements, operands, results)`: tile block b does `op` with its `count` operands, the i-th on element
    i mod 7; `masked`, only the even ones.

    op: the mask's operand text (`, %mask` or nothing) → the op, on %p and %x, which makes %r and %t1.
    """
    types = f"tile<{count}xptr<{element}>>, tile<{count}x{element}>"
    stored = f"%t2 = store_ptr_tko weak %q, %r token=%t1 : {types} -> token" if returns else ""
    pointer = f"tile<ptr<{element}>>"
    hints = (
        f"optimization_hints=<default = {{num_worker_warps_per_cta = {warps}}}>" if warps is not None else ""
    )
    return f"""
  entry @kernel(%elements: {pointer}, %operands: {pointer}, %results: {pointer}) {hints} {{
    %i = iota : tile<{count}xi32>
    %bx, %by, %bz = get_tile_block_id : tile<i32>
    %extent = constant <i32: {count}> : tile<i32>
    %start = muli %bx, %extent : tile<i32>
    %start1 = reshape %start : tile<i32> -> tile<1xi32>
    %starts = broadcast %start1 : tile<1xi32> -> tile<{count}xi32>
    %own = addi %i, %starts : tile<{count}xi32>
    %seven = constant <i32: 7> : tile<{count}xi32>
    %place = remi %i, %seven unsigned : tile<{count}xi32>
    %two = constant <i32: 2> : tile<{count}xi32>
    %zeros = constant <i32: 0> : tile<{count}xi32>
    %odd = remi %i, %two unsigned : tile<{count}xi32>
    %mask = cmpi equal %odd, %zeros, signed : tile<{count}xi32> -> tile<{count}xi1>
    {spread("p", "%elements", element, str(count), "%place")}
    {spread("v", "%operands", element, str(count), "%own")}
    {spread("q", "%results", element, str(count), "%own")}
    %x, %t0 = load_ptr_tko weak %v : tile<{count}xptr<{element}>> -> tile<{count}x{element}>, token
    {op(", %mask" if masked else "")}
    {stored}
    return
  }}
"""


def rmw(
    count: int, element: str, mode: str, order: str = "relaxed", scope: str = "device"
) -> Callable[[str], str]:
    """The op of `contended` for one mode."""

    def op(mask: str) -> str:
        types = f"tile<{count}xptr<{element}>>, tile<{count}x{element}>" + (
            f", tile<{count}xi1>" if mask else ""
        )
        return (
            f"%r, %t1 = atomic_rmw_tko {order} {scope} %p, {mode}, %x{mask} token=%t0 : {types} -> "
            f"tile<{count}x{element}>, token"
        )

    return op


def is_a_history(first: Any, last: Any, steps: list[tuple[Any, Any]], change: Any) -> bool:
    """True if steps (value seen, operand) can be put in an order in which each sees what the one before left.

    Steps that leave the element as it is come first where they can; of those that change it, one at most may see each
    value (or all that see it do the same).
    """
    left = Counter(steps)
    current = first
    while left:
        fitting = [step for step in left if step[0] == current]
        if not fitting:
            return False
        step = next((s for s in fitting if change(s[0], s[1]) == current), fitting[0])
        left[step] -= 1
        left += Counter()
        current = change(*step)
    return bool(current == last)
