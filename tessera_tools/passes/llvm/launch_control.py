"""Cluster launch control: asking for the place of a CTA that has not begun, and the answer.

PTX ISA, "clusterlaunchcontrol.try_cancel", "clusterlaunchcontrol.query_cancel".
"""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects import llvm, nv_tileas
from tessera_tools.dialects.nv_tileas.launch_control import RESPONSE_WORDS
from tessera_tools.dialects.nvvm.attributes import ClusterLaunchControlQueryTypeAttr
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import i64
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import I1, I32, IntegerType
from tessera_tools.passes.llvm.instructions import guarded, only_where
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.shared_memory import GLOBAL_SMEM
from tessera_tools.target import Feature

_BYTES = 4 * RESPONSE_WORDS
_NONE = -1
"""The number of the program where no cluster was left."""


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
        e.nvvm("clusterlaunchcontrol.try.cancel", [_place(low, op.response), barrier])


@lowers("nv_tileas.canceled_program_id")
def canceled_program_id(low: Lowering, op: nv_tileas.CanceledProgramId) -> None:
    """Every thread reads the answer; if it is that there is none left, there is no first CTA to ask for."""
    _check(low, op)
    e = low.e
    response = e.emit(llvm.Load(_place(low, op.response), i64(_BYTES), res=IntegerType(128))).results[0]

    def query(what: str, type: Type) -> Value:
        asked = ClusterLaunchControlQueryTypeAttr(what)
        (found,) = e.nvvm("clusterlaunchcontrol.query.cancel", [response], (type,), query_type=asked).results
        return found

    def number() -> list[Value]:
        x, y, z = (query(f"get_first_cta_id_{axis}", I32) for axis in "xyz")
        row = e.add(e.mul(z, low.scalar(op.rows)), y)
        return [e.constant(e.add(e.mul(row, low.scalar(op.columns)), x))]

    canceled = query("is_canceled", I1)
    (found,) = guarded(e, canceled, [e.constant(_NONE)], number)
    low.define(op.res, found)
