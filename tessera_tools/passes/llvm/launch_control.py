"""Cluster launch control: asking for the place of a CTA that has not begun, and the answer.

PTX ISA, "clusterlaunchcontrol.try_cancel", "clusterlaunchcontrol.query_cancel".
"""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects import nv_tileas
from tessera_tools.dialects.nv_tileas.launch_control import RESPONSE_WORDS
from tessera_tools.ir.core import Operation, Value
from tessera_tools.passes.llvm.inline_asm import instruction
from tessera_tools.passes.llvm.instructions import only_where
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.shared_memory import GLOBAL_SMEM
from tessera_tools.target import Feature

_BYTES = 4 * RESPONSE_WORDS
_QUERY = (
    "{{ .reg .b128 r; .reg .pred p; .reg .b32 x, y, z, n; ld.shared.b128 r, [{0}]; "
    "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r; mov.b32 n, -1; "
    "@p clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {{x, y, z, _}}, r; "
    "@p mad.lo.u32 y, z, {2}, y; @p mad.lo.u32 n, y, {1}, x; mov.b32 {d}, n; }}"
)
"""The result is written last: it may have the register of an operand."""


def _place(low: Lowering, buffer: Value) -> Value:
    return low.e.gep(low.e.address_of(GLOBAL_SMEM), low.buffer(buffer).offset)


def _check(low: Lowering, op: Operation) -> None:
    if not low.target.has(Feature.LAUNCH_CONTROL):
        raise op.error(f"is {Feature.LAUNCH_CONTROL.value}, which {low.target.name} does not support")


@lowers("nv_tileas.async.cancel_launch")
def cancel_launch(low: Lowering, op: Any) -> None:
    """One thread announces the bytes of the answer, and asks."""
    _check(low, op)
    e = low.e
    with only_where(e, e.is_first_thread):
        barrier = _place(low, op.mbarrier)
        e.nvvm("mbarrier.arrive.expect_tx", [barrier, e.constant(_BYTES)])
        text = (
            "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [{0}], [{1}]"
        )
        instruction(e, text, [_place(low, op.response), barrier], None)


@lowers("nv_tileas.canceled_program_id")
def canceled_program_id(low: Lowering, op: nv_tileas.CanceledProgramId) -> None:
    """Every thread reads the answer; if it is that there is none left, there is no first CTA to ask for."""
    _check(low, op)
    e = low.e
    operands = [_place(low, op.response), low.scalar(op.columns), low.scalar(op.rows)]
    low.define(op.res, instruction(e, _QUERY, operands, None, e.constant(0)))
