"""Numbers that one agent sends to another, until tileas-resolve-agent-boundary makes a pipeline of each channel."""

from __future__ import annotations

from tessera_tools.ir.types import I32, I64
from tessera_tools.opdef import I32_ATTR, IN_ORDER, Op, attribute, exactly, operand, result

INTEGER_SCALAR = exactly(I32) | exactly(I64)


class SendValue(Op, name="nv_tileas.async.pipeline.send", traits=(IN_ORDER,)):
    """Gives a number to another agent, whose `receive` of the same channel gets it.  Both are executed equally often;
    tileas-resolve-agent-boundary makes a pipeline of each channel."""

    value = operand(INTEGER_SCALAR)
    channel = attribute(I32_ATTR)
    assembly = "$value `,` `channel` `=` $channel attr-dict `:` type($value)"


class ReceiveValue(Op, name="nv_tileas.async.pipeline.receive", traits=(IN_ORDER,)):
    """The next number that another agent sends."""

    channel = attribute(I32_ATTR)
    res = result(INTEGER_SCALAR)
    assembly = "`channel` `=` $channel attr-dict `:` type($res)"
