"""Which arrivals at the mbarriers of pipelines are emitted: those that somebody waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tessera_tools.analysis.implied_waits import part_of
from tessera_tools.dialects import nv_tileas
from tessera_tools.ir.core import Operation
from tessera_tools.ir.interfaces import LoopLike

if TYPE_CHECKING:
    from tessera_tools.dialects.nv_tileas.pipelines import OnStage


def pipeline_of_op(op: OnStage) -> nv_tileas.CreatePipeline:
    """The pipeline whose stage an op is on."""
    found = nv_tileas.pipeline_at(op)
    if found is None:
        raise op.error(nv_tileas.NO_PIPELINE)
    return found


def pipeline_of_token(op: nv_tileas.ProducerCommit | nv_tileas.ConsumerRelease) -> nv_tileas.CreatePipeline:
    """The pipeline of the token that an op takes."""
    found = nv_tileas.pipeline_of(op.token)
    if found is None:
        raise op.error(nv_tileas.NO_PIPELINE)
    return found


def peers_of(pipeline: nv_tileas.CreatePipeline) -> tuple[int, ...]:
    """The CTAs whose stages are filled together with those of this one."""
    return tuple(pipeline.peers.values) if pipeline.peers is not None else ()


def waits_for_empty(op: nv_tileas.ProducerAcquire | nv_tileas.ProducerTail) -> bool:
    """Whether a producer waits until a stage is empty: not in the first round, in which it is, and not if its other
    waits say so."""
    return op.phase is not None and op.implied is None


def is_filled_once(pipeline: nv_tileas.CreatePipeline, part: int | None = None) -> bool:
    """Whether nobody waits until a stage is empty, or a part of it."""
    users = list(pipeline.res.users)
    acquires = [user for user in users if isinstance(user, nv_tileas.ProducerAcquire)]
    if not any(op.phase is not None for op in acquires):
        return True
    waits = [user for user in users if isinstance(user, nv_tileas.ProducerTail)] + acquires
    return not any(waits_for_empty(op) and _is_of(op, part) for op in waits)


def has_empty_barrier(pipeline: nv_tileas.CreatePipeline, part: int) -> bool:
    """Whether threads arrive when a part of a stage is empty, or wait until it is: all parts, if a release is of the
    part with the number of its warps."""
    waits = [user for user in pipeline.res.users if isinstance(user, nv_tileas.ConsumerWait)]
    if any(op.part is None for op in waits):
        return not is_filled_once(pipeline)
    return not is_filled_once(pipeline, part)


def _is_of(op: Any, part: int | None) -> bool:
    return part is None or op.part is None or op.part.value == part


def is_arrival(op: Operation) -> bool:
    """Whether an op on a stage arrives at an mbarrier for which somebody waits."""
    if isinstance(op, nv_tileas.ConsumerRelease):
        pipeline = pipeline_of_token(op)
        return not is_filled_once(pipeline, part_of(op)) and not is_last(op)
    return isinstance(op, nv_tileas.ProducerCommit)


def is_last(op: Operation) -> bool:
    """Whether nobody waits for a release: so few stages are read behind it that all of them were filled before.  The
    consumers of other CTAs may read more stages than those of this one."""
    if not isinstance(op, nv_tileas.ConsumerRelease) or op.products is not None:
        return False
    pipeline = pipeline_of_token(op)
    if pipeline.is_of_cluster:
        return False
    if any(isinstance(user, nv_tileas.ProducerTail) for user in pipeline.res.users):
        return False
    agent = nv_tileas.agent_of(op)
    waits = [user for user in pipeline.res.users if isinstance(user, nv_tileas.ConsumerWait)]
    waits = [user for user in waits if nv_tileas.agent_of(user) is agent]
    count = 0
    here: Operation | None = op
    while agent is not None and here is not None:
        if isinstance(here, LoopLike):
            return False
        for wait in waits:
            outer, in_loop = _at(wait, here)
            if outer is not None and outer is not here and here.is_before_in_block(outer):
                if in_loop:
                    return False
                count += 1
        assert here.parent is not None
        if here.parent.parent is agent:
            return count < pipeline.stages.value
        here = here.parent_op
    return False


def _at(op: Operation, other: Operation) -> tuple[Operation | None, bool]:
    """The op around an op in the block of another one, None if there is none; and whether a loop is on the way."""
    outer: Operation | None = op
    in_loop = False
    while outer is not None and outer.parent is not other.parent:
        outer = outer.parent_op
        in_loop |= isinstance(outer, LoopLike)
    return outer, in_loop


def has_pipelines_of_cluster(op: nv_tileas.AgentSwitch) -> bool:
    """Whether agents wait for those of other CTAs.  All threads of the cluster meet before and behind such agents: the
    barriers must be ready when others arrive at them, and there until the last one has."""
    return any(isinstance(one, nv_tileas.CreatePipeline) and one.is_of_cluster for one in (op.parent or ()))
