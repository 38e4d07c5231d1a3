"""How values pass between the regions of structured control flow, as the ops themselves say it.

    %r = scf.for … iter_args(%a = %x) { …; scf.yield %y }      %a, %r ◀─ %x, %y
    %r = nv_tileaa.loop (%a = %x) {                            %a ◀─ %x, %y
      nv_tileaa.if %c { nv_tileaa.break %z }                   %r ◀─ %z
      nv_tileaa.continue %y
    }

An op that passes values on has a method `flow()`: for each block argument and result that takes its value so, the
values that it may take.  Of a loop's carried value the initial one comes first.
"""

from __future__ import annotations

from typing import Any

from tessera_tools.ir.core import BlockArgument, Operation, OpResult, Value

Flow = list[tuple[Value, list[Value]]]
"""(what takes a value, the values that it may take), for each such block argument and result."""


def flow_of(op: Operation | None) -> Flow:
    """The flow of an op; empty for one that passes nothing on."""
    flow: Any = getattr(op, "flow", None)
    return flow() if flow is not None else []


def sources(value: Value) -> list[Value] | None:
    """The values that a block argument or result of structured control flow may take; None for any other value."""
    owner = value.op if isinstance(value, OpResult) else None
    if isinstance(value, BlockArgument):
        owner = value.block.parent_op
    for target, found in flow_of(owner):
        if target is value:
            return found
    return None
