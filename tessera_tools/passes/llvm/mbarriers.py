"""mbarriers in shared memory: init, arrive, wait (PTX ISA, "mbarrier")."""

from __future__ import annotations

from tessera_tools.dialects import nv_tileas
from tessera_tools.dialects.nv_tileas.pipelines import Fill
from tessera_tools.ir.builtin_attributes import TRUE
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.types import I64
from tessera_tools.passes.llvm.fences import fence_behind
from tessera_tools.passes.llvm.instructions import only_where
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.shared_memory import GLOBAL_SMEM
from tessera_tools.target import Feature

LONGEST_WAIT = 0x989680
"""The time limit of one try, in ticks; the wait is a loop of tries."""
_BYTES = 8


def address_of(
    low: Lowering,
    op: nv_tileas.MBarrierWait | nv_tileas.MBarrierInit | nv_tileas.MBarrierArrive | nv_tileas.S2tCopy,
) -> Value:
    """The mbarrier of a stage."""
    e, buffer = low.e, low.buffer(op.mbarrier)
    pointer = e.gep(e.address_of(GLOBAL_SMEM), buffer.offset)
    return e.gep(pointer, e.mul(low.scalar(op.stage), _BYTES))


@lowers("nv_tileas.async.mbarrier_init")
def initialize(low: Lowering, op: nv_tileas.MBarrierInit) -> None:
    """By one thread; the barrier for the other threads is inserted as for any write."""
    e = low.e
    with only_where(e, e.is_first_thread):
        e.nvvm("mbarrier.init", [address_of(low, op), e.constant(op.count.value)])
        if _needs_fence(op) and not is_fenced_later(op):
            e.nvvm("fence.mbarrier.init")


def _needs_fence(op: Operation | None) -> bool:
    """Whether phases of mbarriers that an op initializes are completed through the async proxy, or by other CTAs."""
    if isinstance(op, nv_tileas.MBarrierInit):
        users = op.mbarrier.users
        return any(
            isinstance(user, (nv_tileas.CancelLaunch, nv_tileas.S2tCopy, *nv_tileas.MEETINGS))
            for user in users
        )
    return isinstance(op, nv_tileas.CreatePipeline) and is_completed_elsewhere(op)


def is_completed_elsewhere(pipeline: nv_tileas.CreatePipeline) -> bool:
    """Whether phases of a pipeline are completed through the async proxy, or by other CTAs, and not by arrivals of
    threads and their cp.async alone, which see the mbarriers behind a barrier of the CTA."""
    used = list(pipeline.res.users)
    acquired = [user for op in used if isinstance(op, nv_tileas.ProducerAcquire) for user in op.res.users]
    read = [user for op in used if isinstance(op, nv_tileas.ConsumerWait) for user in op.res.users]
    read += [user for op in read if isinstance(op, nv_tileas.ConsumerRead) for user in op.results[0].users]
    by_threads = bool(acquired) and all(
        isinstance(op, nv_tileas.ProducerWrite) and op.fills <= {Fill.COPIES, Fill.TILES, Fill.NUMBERS}
        for op in acquired
    )
    by_products = any(isinstance(op, nv_tileas.ConsumerRelease) and op.products is not None for op in read)
    return not by_threads or by_products or pipeline.is_of_cluster


def is_fenced_later(op: Operation) -> bool:
    """Whether the same thread initializes more mbarriers before threads meet: one fence is for all of them."""
    after = op.next_op
    while after is not None and not _needs_fence(after):
        if not is_pure(after) and not isinstance(
            after, nv_tileas.AllocTensor | nv_tileas.MBarrierInit | nv_tileas.CreatePipeline
        ):
            return False
        after = after.next_op
    return after is not None


@lowers("nv_tileas.async.mbarrier_arrive")
def arrive(low: Lowering, op: nv_tileas.MBarrierArrive) -> None:
    """mbarrier.arrive, or cp.async.mbarrier.arrive.noinc: when this thread's copies are complete."""
    e = low.e
    if op.copies is not None:
        e.nvvm("cp.async.mbarrier.arrive", [address_of(low, op)], noinc=TRUE)
    else:
        e.nvvm("mbarrier.arrive", [address_of(low, op)], [I64])


@lowers("nv_tileas.async.mbarrier_wait")
def wait(low: Lowering, op: nv_tileas.MBarrierWait) -> None:
    """Tries until the phase is complete."""
    e = low.e
    if not low.target.has(Feature.MBARRIER_TRY_WAIT):
        raise op.error(
            f"waits with mbarrier.try_wait, which {low.target.name} does not support; it requires sm_90 or later"
        )
    e.nvvm("mbarrier.try_wait.parity", [address_of(low, op), low.scalar(op.parity), e.constant(LONGEST_WAIT)])
    fence_behind(low, op)
