"""How values pass between the regions of structured control flow, as the ops themselves say it.

    %r = scf.for … iter_args(%a = %x) { …; scf.yield %y }      %a, %r ◀─ %x, %y
    %r = nv_tileaa.loop (%a = %x) {                            %a ◀─ %x, %y
      nv_tileaa.if %c { nv_tileaa.break %z }                   %r ◀─ %z
      nv_tileaa.continue %y
    }

An op that passes values on has the interface `HasFlow`.
"""

from __future__ import annotations

from tessera_tools.ir.core import BlockArgument, Operation, OpResult, Value
from tessera_tools.ir.interfaces import Flow, HasFlow


def flow_of(op: Operation | None) -> Flow:
    """The flow of an op; empty for one that passes nothing on."""
    return op.flow() if isinstance(op, HasFlow) else []


def sources(value: Value) -> list[Value] | None:
    """The values that a block argument or result of structured control flow may take; None for any other value."""
    owner = value.op if isinstance(value, OpResult) else None
    if isinstance(value, BlockArgument):
        owner = value.block.parent_op
    for target, found in flow_of(owner):
        if target is value:
            return found
    return None
