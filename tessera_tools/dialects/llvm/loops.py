"""Properties and hints of loops, as attributes of the branch of their latch (LLVM LangRef, "'llvm.loop'").

#llvm.loop_annotation<mustProgress = true, unroll = <count = 4 : i32>>

Each parameter becomes a metadata node; `metadata` says of which form.
"""

from __future__ import annotations

import enum
from typing import Any, ClassVar

from tessera_tools.dialects.llvm.records import ATTRIBUTE, FLAG, Record, listed, record


class Form(enum.Enum):
    """What the node of a parameter holds after its name."""

    UNIT = "nothing; no node for false"
    TRUTH = "the i1"
    NEGATED = "the i1, negated"
    DISABLE = "nothing; `.disable` or `.enable` completes the name"
    NUMBER = "the integer"
    TRUTH_I32 = "the truth as i32"
    LOOP = "the node of another loop annotation"
    GROUPS = "the nodes of access groups"


_LOOP = record(lambda: LoopAnnotationAttr)


class LoopVectorizeAttr(Record, name="llvm.loop_vectorize"):
    """`llvm.loop.vectorize.*`."""

    disable: Any = None
    predicateEnable: Any = None
    scalableEnable: Any = None
    width: Any = None
    followupVectorized: Any = None
    followupEpilogue: Any = None
    followupAll: Any = None
    parameters_as: ClassVar = {
        "disable": FLAG,
        "predicateEnable": FLAG,
        "scalableEnable": FLAG,
        "width": ATTRIBUTE,
        "followupVectorized": _LOOP,
        "followupEpilogue": _LOOP,
        "followupAll": _LOOP,
    }
    metadata: ClassVar = {
        "disable": (Form.NEGATED, "llvm.loop.vectorize.enable"),
        "predicateEnable": (Form.TRUTH, "llvm.loop.vectorize.predicate.enable"),
        "scalableEnable": (Form.TRUTH, "llvm.loop.vectorize.scalable.enable"),
        "width": (Form.NUMBER, "llvm.loop.vectorize.width"),
        "followupVectorized": (Form.LOOP, "llvm.loop.vectorize.followup_vectorized"),
        "followupEpilogue": (Form.LOOP, "llvm.loop.vectorize.followup_epilogue"),
        "followupAll": (Form.LOOP, "llvm.loop.vectorize.followup_all"),
    }


class LoopInterleaveAttr(Record, name="llvm.loop_interleave"):
    """`llvm.loop.interleave.count`."""

    count: Any
    parameters_as: ClassVar = {
        "count": ATTRIBUTE,
    }
    metadata: ClassVar = {
        "count": (Form.NUMBER, "llvm.loop.interleave.count"),
    }


class LoopUnrollAttr(Record, name="llvm.loop_unroll"):
    """`llvm.loop.unroll.*`."""

    disable: Any = None
    count: Any = None
    runtimeDisable: Any = None
    full: Any = None
    followupUnrolled: Any = None
    followupRemainder: Any = None
    followupAll: Any = None
    parameters_as: ClassVar = {
        "disable": FLAG,
        "count": ATTRIBUTE,
        "runtimeDisable": FLAG,
        "full": FLAG,
        "followupUnrolled": _LOOP,
        "followupRemainder": _LOOP,
        "followupAll": _LOOP,
    }
    metadata: ClassVar = {
        "disable": (Form.DISABLE, "llvm.loop.unroll"),
        "count": (Form.NUMBER, "llvm.loop.unroll.count"),
        "runtimeDisable": (Form.TRUTH, "llvm.loop.unroll.runtime.disable"),
        "full": (Form.UNIT, "llvm.loop.unroll.full"),
        "followupUnrolled": (Form.LOOP, "llvm.loop.unroll.followup_unrolled"),
        "followupRemainder": (Form.LOOP, "llvm.loop.unroll.followup_remainder"),
        "followupAll": (Form.LOOP, "llvm.loop.unroll.followup_all"),
    }


class LoopUnrollAndJamAttr(Record, name="llvm.loop_unroll_and_jam"):
    """`llvm.loop.unroll_and_jam.*`."""

    disable: Any = None
    count: Any = None
    followupOuter: Any = None
    followupInner: Any = None
    followupRemainderOuter: Any = None
    followupRemainderInner: Any = None
    followupAll: Any = None
    parameters_as: ClassVar = {
        "disable": FLAG,
        "count": ATTRIBUTE,
        "followupOuter": _LOOP,
        "followupInner": _LOOP,
        "followupRemainderOuter": _LOOP,
        "followupRemainderInner": _LOOP,
        "followupAll": _LOOP,
    }
    metadata: ClassVar = {
        "disable": (Form.DISABLE, "llvm.loop.unroll_and_jam"),
        "count": (Form.NUMBER, "llvm.loop.unroll_and_jam.count"),
        "followupOuter": (Form.LOOP, "llvm.loop.unroll_and_jam.followup_outer"),
        "followupInner": (Form.LOOP, "llvm.loop.unroll_and_jam.followup_inner"),
        "followupRemainderOuter": (Form.LOOP, "llvm.loop.unroll_and_jam.followup_remainder_outer"),
        "followupRemainderInner": (Form.LOOP, "llvm.loop.unroll_and_jam.followup_remainder_inner"),
        "followupAll": (Form.LOOP, "llvm.loop.unroll_and_jam.followup_all"),
    }


class LoopLICMAttr(Record, name="llvm.loop_licm"):
    """`llvm.licm.disable` and `llvm.loop.licm_versioning.disable`."""

    disable: Any = None
    versioningDisable: Any = None
    parameters_as: ClassVar = {
        "disable": FLAG,
        "versioningDisable": FLAG,
    }
    metadata: ClassVar = {
        "disable": (Form.UNIT, "llvm.licm.disable"),
        "versioningDisable": (Form.UNIT, "llvm.loop.licm_versioning.disable"),
    }


class LoopDistributeAttr(Record, name="llvm.loop_distribute"):
    """`llvm.loop.distribute.*`."""

    disable: Any = None
    followupCoincident: Any = None
    followupSequential: Any = None
    followupFallback: Any = None
    followupAll: Any = None
    parameters_as: ClassVar = {
        "disable": FLAG,
        "followupCoincident": _LOOP,
        "followupSequential": _LOOP,
        "followupFallback": _LOOP,
        "followupAll": _LOOP,
    }
    metadata: ClassVar = {
        "disable": (Form.NEGATED, "llvm.loop.distribute.enable"),
        "followupCoincident": (Form.LOOP, "llvm.loop.distribute.followup_coincident"),
        "followupSequential": (Form.LOOP, "llvm.loop.distribute.followup_sequential"),
        "followupFallback": (Form.LOOP, "llvm.loop.distribute.followup_fallback"),
        "followupAll": (Form.LOOP, "llvm.loop.distribute.followup_all"),
    }


class LoopPipelineAttr(Record, name="llvm.loop_pipeline"):
    """`llvm.loop.pipeline.*`."""

    disable: Any = None
    initiationinterval: Any = None
    parameters_as: ClassVar = {
        "disable": FLAG,
        "initiationinterval": ATTRIBUTE,
    }
    metadata: ClassVar = {
        "disable": (Form.TRUTH, "llvm.loop.pipeline.disable"),
        "initiationinterval": (Form.NUMBER, "llvm.loop.pipeline.initiationinterval"),
    }


class LoopPeeledAttr(Record, name="llvm.loop_peeled"):
    """`llvm.loop.peeled.count`."""

    count: Any = None
    parameters_as: ClassVar = {
        "count": ATTRIBUTE,
    }
    metadata: ClassVar = {
        "count": (Form.NUMBER, "llvm.loop.peeled.count"),
    }


class LoopUnswitchAttr(Record, name="llvm.loop_unswitch"):
    """`llvm.loop.unswitch.partial.disable`."""

    partialDisable: Any = None
    parameters_as: ClassVar = {
        "partialDisable": FLAG,
    }
    metadata: ClassVar = {
        "partialDisable": (Form.UNIT, "llvm.loop.unswitch.partial.disable"),
    }


class LoopAnnotationAttr(Record, name="llvm.loop_annotation"):
    """Properties and hints of a loop; an attribute of the branch of its latch."""

    disableNonforced: Any = None
    vectorize: Any = None
    interleave: Any = None
    unroll: Any = None
    unrollAndJam: Any = None
    licm: Any = None
    distribute: Any = None
    pipeline: Any = None
    peeled: Any = None
    unswitch: Any = None
    mustProgress: Any = None
    isVectorized: Any = None
    startLoc: Any = None
    endLoc: Any = None
    parallelAccesses: tuple[Any, ...] = ()
    parameters_as: ClassVar = {
        "disableNonforced": FLAG,
        "vectorize": record(lambda: LoopVectorizeAttr),
        "interleave": record(lambda: LoopInterleaveAttr),
        "unroll": record(lambda: LoopUnrollAttr),
        "unrollAndJam": record(lambda: LoopUnrollAndJamAttr),
        "licm": record(lambda: LoopLICMAttr),
        "distribute": record(lambda: LoopDistributeAttr),
        "pipeline": record(lambda: LoopPipelineAttr),
        "peeled": record(lambda: LoopPeeledAttr),
        "unswitch": record(lambda: LoopUnswitchAttr),
        "mustProgress": FLAG,
        "isVectorized": FLAG,
        "startLoc": ATTRIBUTE,
        "endLoc": ATTRIBUTE,
        "parallelAccesses": listed(ATTRIBUTE),
    }
    metadata: ClassVar = {
        "disableNonforced": (Form.UNIT, "llvm.loop.disable_nonforced"),
        "mustProgress": (Form.UNIT, "llvm.loop.mustprogress"),
        "isVectorized": (Form.TRUTH_I32, "llvm.loop.isvectorized"),
        "parallelAccesses": (Form.GROUPS, "llvm.loop.parallel_accesses"),
    }
