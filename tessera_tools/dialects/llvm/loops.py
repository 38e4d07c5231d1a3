"""Properties and hints of loops, as attributes of the branch of their latch (LLVM LangRef, "'llvm.loop'").

#llvm.loop_annotation<mustProgress = true, unroll = <count = 4 : i32>>

Each parameter becomes a metadata node; `metadata` says of which form.
"""

from __future__ import annotations

import enum
from typing import ClassVar

from tessera_tools.dialects.llvm.aliasing import AccessGroupAttr
from tessera_tools.dialects.llvm.records import ATTRIBUTE, FLAG, NUMBER, Record, listed, record
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import IntegerAttr


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

    disable: IntegerAttr | None = None
    predicateEnable: IntegerAttr | None = None
    scalableEnable: IntegerAttr | None = None
    width: IntegerAttr | None = None
    followupVectorized: LoopAnnotationAttr | None = None
    followupEpilogue: LoopAnnotationAttr | None = None
    followupAll: LoopAnnotationAttr | None = None
    parameters_as: ClassVar = {
        "disable": FLAG,
        "predicateEnable": FLAG,
        "scalableEnable": FLAG,
        "width": NUMBER,
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

    count: IntegerAttr
    parameters_as: ClassVar = {
        "count": NUMBER,
    }
    metadata: ClassVar = {
        "count": (Form.NUMBER, "llvm.loop.interleave.count"),
    }


class LoopUnrollAttr(Record, name="llvm.loop_unroll"):
    """`llvm.loop.unroll.*`."""

    disable: IntegerAttr | None = None
    count: IntegerAttr | None = None
    runtimeDisable: IntegerAttr | None = None
    full: IntegerAttr | None = None
    followupUnrolled: LoopAnnotationAttr | None = None
    followupRemainder: LoopAnnotationAttr | None = None
    followupAll: LoopAnnotationAttr | None = None
    parameters_as: ClassVar = {
        "disable": FLAG,
        "count": NUMBER,
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

    disable: IntegerAttr | None = None
    count: IntegerAttr | None = None
    followupOuter: LoopAnnotationAttr | None = None
    followupInner: LoopAnnotationAttr | None = None
    followupRemainderOuter: LoopAnnotationAttr | None = None
    followupRemainderInner: LoopAnnotationAttr | None = None
    followupAll: LoopAnnotationAttr | None = None
    parameters_as: ClassVar = {
        "disable": FLAG,
        "count": NUMBER,
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

    disable: IntegerAttr | None = None
    versioningDisable: IntegerAttr | None = None
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

    disable: IntegerAttr | None = None
    followupCoincident: LoopAnnotationAttr | None = None
    followupSequential: LoopAnnotationAttr | None = None
    followupFallback: LoopAnnotationAttr | None = None
    followupAll: LoopAnnotationAttr | None = None
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

    disable: IntegerAttr | None = None
    initiationinterval: IntegerAttr | None = None
    parameters_as: ClassVar = {
        "disable": FLAG,
        "initiationinterval": NUMBER,
    }
    metadata: ClassVar = {
        "disable": (Form.TRUTH, "llvm.loop.pipeline.disable"),
        "initiationinterval": (Form.NUMBER, "llvm.loop.pipeline.initiationinterval"),
    }


class LoopPeeledAttr(Record, name="llvm.loop_peeled"):
    """`llvm.loop.peeled.count`."""

    count: IntegerAttr | None = None
    parameters_as: ClassVar = {
        "count": NUMBER,
    }
    metadata: ClassVar = {
        "count": (Form.NUMBER, "llvm.loop.peeled.count"),
    }


class LoopUnswitchAttr(Record, name="llvm.loop_unswitch"):
    """`llvm.loop.unswitch.partial.disable`."""

    partialDisable: IntegerAttr | None = None
    parameters_as: ClassVar = {
        "partialDisable": FLAG,
    }
    metadata: ClassVar = {
        "partialDisable": (Form.UNIT, "llvm.loop.unswitch.partial.disable"),
    }


class LoopAnnotationAttr(Record, name="llvm.loop_annotation"):
    """Properties and hints of a loop; an attribute of the branch of its latch."""

    disableNonforced: IntegerAttr | None = None
    vectorize: LoopVectorizeAttr | None = None
    interleave: LoopInterleaveAttr | None = None
    unroll: LoopUnrollAttr | None = None
    unrollAndJam: LoopUnrollAndJamAttr | None = None
    licm: LoopLICMAttr | None = None
    distribute: LoopDistributeAttr | None = None
    pipeline: LoopPipelineAttr | None = None
    peeled: LoopPeeledAttr | None = None
    unswitch: LoopUnswitchAttr | None = None
    mustProgress: IntegerAttr | None = None
    isVectorized: IntegerAttr | None = None
    startLoc: Attribute | None = None
    endLoc: Attribute | None = None
    parallelAccesses: tuple[AccessGroupAttr, ...] = ()
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
        "parallelAccesses": listed(record(lambda: AccessGroupAttr)),
    }
    metadata: ClassVar = {
        "disableNonforced": (Form.UNIT, "llvm.loop.disable_nonforced"),
        "mustProgress": (Form.UNIT, "llvm.loop.mustprogress"),
        "isVectorized": (Form.TRUTH_I32, "llvm.loop.isvectorized"),
        "parallelAccesses": (Form.GROUPS, "llvm.loop.parallel_accesses"),
    }
