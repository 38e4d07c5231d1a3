"""Cluster launch control: asking for the place of a CTA that has not begun, and the answer.

PTX ISA, "clusterlaunchcontrol.try_cancel", "clusterlaunchcontrol.query_cancel".
"""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects import llvm, nv_tileas
from tessera_tools.dialects.nv_tileas.launch_control import RESPONSE_WORDS
from tessera_tools.dialects.nvvm.attributes import ClusterLaunchControlQueryTypeAttr
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import UNIT, i64
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import I1, I32, IntegerType
from tessera_tools.passes.llvm.agents import full_barrier
from tessera_tools.passes.llvm.clusters import is_first
from tessera_tools.passes.llvm.inline_asm import instruction
from tessera_tools.passes.llvm.instructions import guarded, only_where
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.releases import pipeline_of_op
from tessera_tools.passes.llvm.shared_memory import GLOBAL_SMEM
from tessera_tools.passes.llvm.shuffles import BY_INDEX, exchange
from tessera_tools.target import Feature

_BYTES = 4 * RESPONSE_WORDS
_NONE = -1
"""The number of the program where no cluster was left."""


def _place(low: Lowering, buffer: Value) -> Value:
    own = low.buffer(buffer)
    place = low.e.gep(low.e.address_of(GLOBAL_SMEM), own.offset)
    return place if own.slot is None else low.e.gep(place, low.e.mul(own.slot, own.stage_bytes))


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


@lowers("nv_tileas.async.request_launch")
def request_launch(low: Lowering, op: nv_tileas.RequestLaunch) -> None:
    """The enclosing producer_write selects the thread, and announces the bytes of the answer."""
    _check(low, op)
    e, buffer = low.e, low.buffer(op.buffer)
    stage = e.mul(low.scalar(op.iter), buffer.stage_bytes)
    place = e.gep(e.gep(e.address_of(GLOBAL_SMEM), buffer.offset), stage)
    multicast: dict[str, Attribute] = {"multicast": UNIT} if pipeline_of_op(op).by_first is not None else {}
    e.nvvm("clusterlaunchcontrol.try.cancel", [place, full_barrier(low, op)], **multicast)


@lowers("nv_tileas.take_number")
def take_number(low: Lowering, op: nv_tileas.TakeNumber) -> None:
    """By one thread."""
    e = low.e
    one, zero = e.constant(1), e.constant(0)
    taker = e.is_first_thread if low.ctas == 1 else e.both([e.is_first_thread, is_first(low)])
    taken = instruction(
        e,
        "atom.relaxed.gpu.global.add.u32 {d}, [{0}], {1}",
        [low.scalar(op.counter), one],
        taker,
        zero,
    )
    low.define(op.res, taken)


@lowers("nv_tileas.of_first_lane")
def of_first_lane(low: Lowering, op: nv_tileas.OfFirstLane) -> None:
    """shfl.sync."""
    (found,) = exchange(low.e, [low.scalar(op.source)], BY_INDEX, 0)
    low.define(op.res, found)


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
        x, y, z = (
            e.lshr(query(f"get_first_cta_id_{axis}", I32), count.bit_length() - 1)
            for axis, count in zip("xyz", low.cluster, strict=True)
        )
        row = e.add(e.mul(z, low.scalar(op.rows)), y)
        return [e.constant(e.add(e.mul(row, low.scalar(op.columns)), x))]

    canceled = query("is_canceled", I1)
    (found,) = guarded(e, canceled, [e.constant(_NONE)], number)
    low.define(op.res, found)
