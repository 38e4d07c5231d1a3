"""The flow of values between the regions of structured control flow, declared by the ops.

    %r = scf.for … iter_args(%a = %x) { …; scf.yield %y }      %a, %r ◀─ %x, %y
    %r = nv_tileaa.loop (%a = %x) {                            %a ◀─ %x, %y
      nv_tileaa.if %c { nv_tileaa.break %z }                   %r ◀─ %z
      nv_tileaa.continue %y
    }

An op that forwards values has the interface `HasFlow`.
"""

from __future__ import annotations

from tessera_tools.ir.core import BlockArgument, Operation, OpResult, Value
from tessera_tools.ir.interfaces import Flow, HasFlow


def flow_of(op: Operation | None) -> Flow:
    """The flow of an op; empty if it forwards no values."""
    return op.flow() if isinstance(op, HasFlow) else []


def sources(value: Value) -> list[Value] | None:
    """The values that a block argument or result of structured control flow may equal; None for any other value."""
    owner = value.op if isinstance(value, OpResult) else None
    if isinstance(value, BlockArgument):
        owner = value.block.parent_op
    for target, found in flow_of(owner):
        if target is value:
            return found
    return None
