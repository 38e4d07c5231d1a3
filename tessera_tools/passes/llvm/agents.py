"""Agents and their pipelines: branches by warp, mbarriers by stage and parity.

    create_pipeline     one thread: prefetch.tensormap of each descriptor; mbarrier.init of full and empty, each stage;
                        fence.mbarrier_init
    agent_switch        barrier; the warp's number by shfl.sync; setmaxnreg; each agent in the branch of its warps
    producer_acquire    mbarrier.try_wait.parity empty[stage], parity ^ 1; nothing in the first round
    producer_write      one thread: mbarrier.arrive.expect_tx full[stage], and the copies by TMA; all: cp.async, stores
    producer_commit     each thread with cp.async: cp.async.mbarrier.arrive.noinc full[stage]; each warp that stores:
                        mbarrier.arrive full[stage]; one thread that multiplies: tcgen05.commit full[stage]
    consumer_wait       mbarrier.try_wait.parity full[stage], parity
    consumer_release    one thread of each warp: mbarrier.arrive empty[stage], also in the CTAs that share its stages;
                        for what products read: tcgen05.commit empty[stage]
    producer_tail       mbarrier.try_wait.parity empty[stage], parity ^ 1

In a pair of CTAs, what the thread waits for that starts products arrives in the leader: TMA of both CTAs completes its
full barriers, and their threads arrive there. The commits of that thread arrive in both CTAs.

If the first CTA of a cluster fills the stages of all, it alone waits until they are empty: all consumers arrive there.

A pipeline's barriers are contiguous: full 0 … n-1, empty 0 … n-1.  PTX ISA, "mbarrier", "setmaxnreg".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tessera_tools.analysis.implied_waits import part_of
from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import llvm, nv_tileas
from tessera_tools.dialects.nv_tileas import Fill
from tessera_tools.dialects.nvvm.attributes import MemScopeAttr, SetMaxRegisterActionAttr
from tessera_tools.ir.builtin_attributes import TRUE, i32
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import I1, I64
from tessera_tools.passes.llvm.clusters import (
    address_in,
    cluster_address,
    cluster_barrier,
    is_first,
    leader_address,
    leads,
)
from tessera_tools.passes.llvm.control import branch, branch_if
from tessera_tools.passes.llvm.fences import fence_before, fence_behind
from tessera_tools.passes.llvm.instructions import only_where
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.mbarriers import LONGEST_WAIT, is_completed_elsewhere, is_fenced_later
from tessera_tools.passes.llvm.releases import (
    has_empty_barrier,
    has_pipelines_of_cluster,
    is_arrival,
    is_filled_once,
    peers_of,
    pipeline_of_op,
    pipeline_of_token,
    waits_for_empty,
)
from tessera_tools.passes.llvm.shared_memory import GLOBAL_SMEM
from tessera_tools.passes.llvm.tensor_maps import box_bytes, prefetch_tensor_maps
from tessera_tools.passes.llvm.tensor_memory import commit_products
from tessera_tools.target import WARPS_OF_WARPGROUP, ExecutionUnit, Feature

if TYPE_CHECKING:
    from tessera_tools.dialects.nv_tileas.pipelines import OnStage

_BYTES = 8
_BY_BYTES = (nv_tileas.TiledTmaLoad, nv_tileas.RequestLaunch)
"""What one thread starts, and announces the bytes of."""


def full_barrier(low: Lowering, op: OnStage) -> Value:
    """The mbarrier for the full stage that an op is on."""
    return _barrier(low, pipeline_of_op(op), low.scalar(op.iter), 0, part_of(op))


def is_in_pair(op: OnStage) -> bool:
    """Whether an op is on a stage that products of a pair of CTAs use."""
    return pipeline_of_op(op).pair is not None


def _empty_barrier(low: Lowering, op: Operation, pipeline: nv_tileas.CreatePipeline, stage: Value) -> Value:
    return _barrier(low, pipeline, stage, pipeline.barriers, part_of(op))


def _barrier(
    low: Lowering, pipeline: nv_tileas.CreatePipeline, stage: Value, first: int, part: int | None
) -> Value:
    """The mbarrier of a stage behind the first ones; of several parts, that of the warpgroup if no other is named."""
    e = low.e
    base = e.gep(e.address_of(GLOBAL_SMEM), low.allocation.offsets[pipeline] + first * _BYTES)
    number = stage
    if pipeline.parts is not None:
        own = e.lshr(e.uniform_warp, WARPS_OF_WARPGROUP.bit_length() - 1) if part is None else part
        number = e.add(e.mul(stage, pipeline.parts.value), own)
    return e.gep(base, e.mul(number, _BYTES))


def wait_for_phase(low: Lowering, barrier: Value, parity: Value) -> None:
    """Wait for a phase of an mbarrier."""
    e = low.e
    e.nvvm("mbarrier.try_wait.parity", [barrier, parity, e.constant(LONGEST_WAIT)])


def wait_for_cluster(low: Lowering, barrier: Value, phase: Value) -> None:
    """Wait for a phase that other CTAs complete, after what they have done; by parity, or the state of an arrival."""
    e = low.e
    again, after = e.new_block(), e.new_block()
    e.emit(llvm.Br([], dest=again))
    e.block = again
    done = e.nvvm("mbarrier.try_wait", [barrier, phase], [I1], scope=MemScopeAttr("cluster")).results[0]
    e.emit(llvm.CondBr(done, [], [], true_dest=after, false_dest=again))
    e.block = after


def _waits(pipeline: nv_tileas.CreatePipeline) -> Callable[[Lowering, Value, Value], None]:
    """How to wait for a phase of a pipeline that producers wait for."""
    return wait_for_cluster if pipeline.is_of_cluster else wait_for_phase


@lowers("nv_tileas.async.pipeline.create_pipeline")
def create_pipeline(low: Lowering, op: nv_tileas.CreatePipeline) -> None:
    """One thread initializes the barriers; the agent_switch waits for it."""
    e = low.e
    if not low.target.has(Feature.MBARRIER_TRY_WAIT):
        raise op.error(
            f"waits with mbarrier.try_wait, which {low.target.name} does not support; it requires sm_90 or later"
        )
    if op.pair is not None and low.ctas % 2:
        raise op.error(
            "Failed to init mbarrier: its stages are those of a pair of CTAs, but the kernel has no cluster of two; "
            "expected a kernel_spec with an even number of CTAs"
        )
    if far := [peer for peer in peers_of(op) if peer >= low.ctas]:
        raise op.error(
            f"Failed to init mbarrier: its stages are filled together with those of peers {far}, but the kernel has "
            f"clusters of {low.ctas} CTA{'s' if low.ctas > 1 else ''}; expected peers below that number"
        )
    stages, parts = op.barriers, 1 if op.parts is None else op.parts.value
    phases = [(place, op.producers.value) for place in range(stages)]
    phases += [
        (stages + place, op.consumers.value)
        for place in range(stages)
        if has_empty_barrier(op, place % parts)
    ]
    with only_where(e, e.is_first_thread):
        prefetch_tensor_maps(low)
        for place, count in phases:
            pointer = e.gep(e.address_of(GLOBAL_SMEM), low.allocation.offsets[op] + place * _BYTES)
            e.nvvm("mbarrier.init", [pointer, e.constant(count)])
        if is_completed_elsewhere(op) and not is_fenced_later(op):
            e.nvvm("fence.mbarrier.init")
    low.define(op.res, None)


@lowers("nv_tileas.async.pipeline.produce_one", "nv_tileas.async.pipeline.consume_one")
def one(low: Lowering, op: nv_tileas.ProduceOne | nv_tileas.ConsumeOne) -> None:
    """Lower the ops of the region."""
    _inline(low, op, op.results)


def _inline(
    low: Lowering, op: nv_tileas.ProduceOne | nv_tileas.ConsumeOne | nv_tileas.ConsumerRead, results: Any
) -> None:
    block = op.body.entry
    low.block(block)
    assert block.last_op is not None
    low.define_all(results, low.flatten_all(block.last_op.operands))


@lowers("nv_tileas.async.pipeline.producer_acquire")
def producer_acquire(low: Lowering, op: nv_tileas.ProducerAcquire) -> None:
    """Wait until the previous round was read, which has the other parity; in the first round, this does not wait."""
    if waits_for_empty(op):
        e = low.e
        assert op.phase is not None
        barrier = _empty_barrier(low, op, pipeline_of_op(op), low.scalar(op.iter))
        empty = e.constant(e.xor(low.scalar(op.phase), 1))
        # Only threads that arrive wait: for another one, which comes later, two rounds may have passed.
        fills = {f for user in op.res.users if isinstance(user, nv_tileas.ProducerWrite) for f in user.fills}
        with _only_in_first(low, pipeline_of_op(op)), only_where(e, _who(low, fills)):
            _waits(pipeline_of_op(op))(low, barrier, empty)
    fence_behind(low, op)
    low.define(op.res, None)


@lowers("nv_tileas.async.pipeline.producer_tail")
def producer_tail(low: Lowering, op: nv_tileas.ProducerTail) -> None:
    """As an acquire, if anybody releases the stage."""
    pipeline = pipeline_of_op(op)
    if waits_for_empty(op) and not is_filled_once(pipeline):
        e = low.e
        assert op.phase is not None
        barrier = _empty_barrier(low, op, pipeline, low.scalar(op.iter))
        _waits(pipeline)(low, barrier, e.constant(e.xor(low.scalar(op.phase), 1)))
    fence_behind(low, op)


def _only_in_first(low: Lowering, pipeline: nv_tileas.CreatePipeline) -> AbstractContextManager[None]:
    """What is emitted inside runs only in the first CTA of the cluster, if that fills the stages of all."""
    return only_where(low.e, is_first(low) if pipeline.by_first is not None else None)


def _who(low: Lowering, fills: set[Fill]) -> Value | None:
    """The threads that fill a stage, as a condition; None for all threads of the producer."""
    e = low.e
    if fills == {Fill.NUMBERS}:
        return e.is_first_thread
    if fills == {Fill.BOXES} and low.unit.warps > 1:
        return e.icmp("eq", e.uniform_warp, 0)
    return None


@lowers("nv_tileas.async.pipeline.producer_write")
def producer_write(low: Lowering, op: nv_tileas.ProducerWrite) -> None:
    """By one thread: the expected bytes, then the copies by TMA, or numbers.  By all: other copies, and tiles."""
    e, fills = low.e, op.fills
    if not fills:
        raise op.error(
            "starts no copy: expected an nv_tileas.async.tiled_tma_load, an nv_tileas.async.tiled_copy, an "
            "nv_tileas.store or an nv_tileas.store_element in its region"
        )
    ops = [inner for inner in op.body.entry if not inner.has_trait(Terminator)]
    boxes = [inner for inner in ops if isinstance(inner, _BY_BYTES)]
    if fills == {Fill.BOXES}:
        boxes, ops = ops, []
    ops = [inner for inner in ops if inner not in boxes]
    if boxes:
        count = sum(box_bytes(inner) for inner in boxes if isinstance(inner, _BY_BYTES))
        first = None if low.unit.warps == 1 else e.icmp("eq", e.uniform_warp, 0)
        pair = is_in_pair(op)
        with only_where(e, first), only_where(e, e.is_elected):
            # The leader of a pair announces the bytes of both CTAs.
            with only_where(e, leads(low) if pair else None):
                announced = e.constant(count * (1 + pair))
                e.nvvm("mbarrier.arrive.expect_tx", [full_barrier(low, op), announced])
            with _only_in_first(low, pipeline_of_op(op)):
                for inner in boxes:
                    low.op(inner)
    if not ops:
        low.define(op.res, None)
        return
    with (
        _only_in_first(low, pipeline_of_op(op)),
        only_where(e, e.is_first_thread if fills == {Fill.NUMBERS} else None),
    ):
        for inner in ops:
            low.op(inner)
    low.define(op.res, None)


@lowers("nv_tileas.async.pipeline.producer_commit")
def producer_commit(low: Lowering, op: nv_tileas.ProducerCommit) -> None:
    """The arrivals of each kind of what fills the stage.

    That of TMA was combined with the number of bytes, and its copies complete the phase.
    """
    write = op.token.defining_op
    if isinstance(write, nv_tileas.ProducerAcquire):
        commit_products(low, full_barrier(low, write), in_pair=is_in_pair(write))
        return
    fills = write.fills if isinstance(write, nv_tileas.ProducerWrite) else set[Fill]()
    if not isinstance(write, nv_tileas.ProducerWrite) or fills == {Fill.BOXES}:
        return
    e = low.e
    barrier = full_barrier(low, write)
    if Fill.COPIES in fills:
        e.nvvm("cp.async.mbarrier.arrive", [barrier], noinc=TRUE)
    if Fill.NUMBERS in fills:
        first = pipeline_of_op(write).by_first is not None
        with _only_in_first(low, pipeline_of_op(write)), only_where(e, e.is_first_thread):
            if first:
                arrive_in_cluster(low, (address_in(low, barrier, cta) for cta in range(low.ctas)))
            else:
                e.nvvm("mbarrier.arrive", [barrier], [I64])
    if Fill.TILES in fills:
        fence_before(low, op)
        arrive_by_warp(low, barrier, (), leader_address(low, barrier) if is_in_pair(write) else None)


@lowers("nv_tileas.async.pipeline.consumer_wait")
def consumer_wait(low: Lowering, op: nv_tileas.ConsumerWait) -> None:
    """Every thread waits."""
    assert op.phase is not None
    pipeline = pipeline_of_op(op)
    by_others = pipeline.pair is not None or (pipeline.by_first is not None and not _is_by_bytes(pipeline))
    wait = wait_for_cluster if by_others else wait_for_phase
    wait(low, full_barrier(low, op), low.scalar(op.phase))
    fence_behind(low, op)
    low.define(op.res, (low.scalar(op.iter),))


@lowers("nv_tileas.async.pipeline.consumer_read")
def consumer_read(low: Lowering, op: nv_tileas.ConsumerRead) -> None:
    """Lower the ops of the region."""
    low.define(op.res, low.stage(op.token))
    _inline(low, op, op.results[1:])


@lowers("nv_tileas.async.pipeline.consumer_release")
def consumer_release(low: Lowering, op: nv_tileas.ConsumerRelease) -> None:
    """One arrival per warp, after all of its lanes have read; none if nobody fills a stage again."""
    pipeline = pipeline_of_token(op)
    if not is_arrival(op):
        return
    fence_before(low, op)
    (stage,) = low.stage(op.token)
    barrier = _empty_barrier(low, op, pipeline, stage)
    if op.products is not None:
        commit_products(low, barrier, peers_of(pipeline), in_pair=pipeline.pair is not None)
    else:
        collected = None
        if pipeline.pair is not None or pipeline.by_first is not None:
            in_pair = pipeline.pair is not None
            collected = leader_address(low, barrier) if in_pair else address_in(low, barrier, 0)
        arrive_by_warp(low, barrier, peers_of(pipeline), collected)


def _is_by_bytes(pipeline: nv_tileas.CreatePipeline) -> bool:
    """Whether the bytes of copies complete the phases of the full barriers."""
    acquires = [user for user in pipeline.res.users if isinstance(user, nv_tileas.ProducerAcquire)]
    writes = [user for op in acquires for user in op.res.users]
    return all(isinstance(op, nv_tileas.ProducerWrite) and op.fills == {Fill.BOXES} for op in writes)


def arrive_by_warp(
    low: Lowering, barrier: Value, peers: Sequence[int] = (), collected: Value | None = None
) -> None:
    """One arrival per warp, after what all of its lanes have done, also at the same barrier of other CTAs; or at one of
    the cluster alone, which has the arrivals of several CTAs."""
    e = low.e
    # The addresses are computed outside of the branch, where they can be shared.
    remote = [cluster_address(low, barrier, peer) for peer in peers]
    if collected is not None:
        remote = [collected]
    e.nvvm("bar.warp.sync", [e.constant(-1)])
    with only_where(e, e.is_elected):
        if collected is None:
            e.nvvm("mbarrier.arrive", [barrier], [I64])
        arrive_in_cluster(low, remote)


def arrive_in_cluster(low: Lowering, barriers: Iterable[Value]) -> None:
    """Arrive at barriers of CTAs of the cluster, by their addresses in it."""
    for barrier in barriers:
        low.e.nvvm("mbarrier.arrive", [barrier], scope=MemScopeAttr("cluster"))


@lowers("nv_tileas.async.pipeline.agent_switch")
def agent_switch(low: Lowering, op: nv_tileas.AgentSwitch) -> None:
    """A chain of branches, agents by their first warp; warps without agent continue after it."""
    e = low.e
    shared = has_pipelines_of_cluster(op)
    if shared or any(isinstance(inner, nv_tileas.MEETINGS) for inner in op.walk()):
        cluster_barrier(low)
    elif not isinstance(_before(op), nv_tileas.AllocTmem):
        e.barrier()
    warp = e.uniform_warp
    after = e.new_block()
    units = [op.unit(number) for number in range(len(op.regions))]
    order = sorted(range(len(units)), key=lambda i: units[i].first_warp)
    crews: list[list[int]] = []
    for number in order:
        # Agents that share a warpgroup request registers together.
        inside = units[number].first_warp % WARPS_OF_WARPGROUP
        if inside and crews and None not in (units[number].registers, units[crews[-1][0]].registers):
            crews[-1].append(number)
        else:
            crews.append([number])
    scope = None
    for position, crew in enumerate(crews):
        end = units[crews[position + 1][0]].first_warp if position + 1 < len(crews) else low.unit.warps
        entry, following = e.new_block(), after if position + 1 == len(crews) else e.new_block()
        split = branch_if(low, e.icmp("ult", warp, end), entry, following)
        if scope is None:
            scope = split
            e.open(split)
        e.block = entry
        _request_registers(low, [units[number] for number in crew], end)
        for number, other in pairwise(crew):
            entry, rest = e.new_block(), e.new_block()
            branch_if(low, e.icmp("ult", warp, units[other].first_warp), entry, rest)
            e.block = entry
            _agent(low, units[number], op.regions[number].entry, after, units[other].first_warp)
            e.scopes[-1].table.clear()
            e.block = rest
        _agent(low, units[crew[-1]], op.regions[crew[-1]].entry, after, end)
        e.scopes[-1].table.clear()
        e.block = following
    e.close()
    low.reached.add(after)
    e.block = after
    if shared:
        cluster_barrier(low)


def _before(op: Operation) -> Operation | None:
    """The last op before one that does more than compute."""
    before = op.prev_op
    while before is not None and is_pure(before):
        before = before.prev_op
    return before


def _request_registers(low: Lowering, units: list[ExecutionUnit], end: int) -> None:
    """All warps of a warpgroup change their registers together, also those without agent."""
    e, registers = low.e, units[0].registers
    if registers is None:
        return
    first = units[0].first_warp
    if first % WARPS_OF_WARPGROUP or end % WARPS_OF_WARPGROUP or any(u.registers != registers for u in units):
        raise Refusal(
            f"warps {first} to {end - 1} request registers that are not those of whole groups of "
            f"{WARPS_OF_WARPGROUP} warps, to which setmaxnreg applies"
        )
    launched = low.launched_registers
    action = "increase" if registers > launched else "decrease"
    e.nvvm("setmaxregister", regCount=i32(registers), action=SetMaxRegisterActionAttr(action))


def _agent(low: Lowering, unit: ExecutionUnit, block: Block, after: Block, end: int) -> None:
    e = low.e
    if unit.first_warp + unit.warps > low.unit.warps:
        raise Refusal(
            f"an agent has warps up to {unit.first_warp + unit.warps - 1}, the kernel {low.unit.warps} warps"
        )
    warp = e.uniform_warp
    with e.agent(unit):
        if unit.first_warp + unit.warps < end:
            inside = e.new_block()
            branch_if(low, e.icmp("ult", warp, unit.first_warp + unit.warps), inside, after)
            e.block = inside
        low.block(block)
    if low.reachable:
        branch(low, after)
    low.reachable = True
