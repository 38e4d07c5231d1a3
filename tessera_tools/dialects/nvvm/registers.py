"""Special registers: `nvvm.read.ptx.sreg.tid.x` (PTX ISA, "Special Registers")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.llvm.attributes import ConstantRangeAttr
from tessera_tools.dialects.nvvm.base import NVVMOp
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import I32, I64, IntegerType
from tessera_tools.opdef import (
    IN_ORDER,
    PURE,
    CustomDirective,
    TypeConstraint,
    attribute,
    of_class,
    result,
)

if TYPE_CHECKING:
    from tessera_tools.dialects.llvm.base import Emitter
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

REGISTER: TypeConstraint[IntegerType] = TypeConstraint(
    "32- or 64-bit signless integer", lambda t: t in (I32, I64)
)
RANGE = of_class(ConstantRangeAttr)


class _Register(NVVMOp):
    res = result(REGISTER)
    assembly = "attr-dict `:` type($res)"

    def intrinsic_name(self) -> str:
        return f"llvm.{self.name}"


class _RangedRegister(NVVMOp):
    range = attribute(RANGE, optional=True)
    res = result(REGISTER)
    assembly = "custom<Range>($range) attr-dict `:` type($res)"

    def llvm_ir(self, e: Emitter) -> None:
        bounds = self.range
        type = self.results[0].type
        before = "" if bounds is None else f"range({bounds.type} {bounds.lower}, {bounds.upper}) "
        e.call(self, f"llvm.{self.name}", e.type(type), [], before=before)


class RangeSyntax(CustomDirective, name="Range"):
    """`range <i32, 0, 1024>`, or nothing."""

    grammar = """
    custom: "range" "<" TYPE "," INTEGER "," INTEGER ">" -> present
          | -> absent
    """

    def read(self, state: OpState, node: Node) -> None:
        alias, children = node
        if alias == "present":
            type, lower, upper = children
            state.attribute("range", ConstantRangeAttr(type, integer_of(lower.text), integer_of(upper.text)))

    def write(self, p: Printer, op: _RangedRegister) -> None:
        if op.range is not None:
            p.write(f" range {op.range.parameters_text()}")


class LaneId(_RangedRegister, name="nvvm.read.ptx.sreg.laneid", traits=(PURE,)):
    """The lane of the thread in its warp."""


class WarpSize(_RangedRegister, name="nvvm.read.ptx.sreg.warpsize", traits=(PURE,)):
    """The number of lanes of a warp."""


class WarpId(_RangedRegister, name="nvvm.read.ptx.sreg.warpid", traits=(PURE,)):
    """The warp's number in the CTA."""


class WarpDim(_RangedRegister, name="nvvm.read.ptx.sreg.nwarpid", traits=(PURE,)):
    """The most warps a CTA can have."""


class SmId(_RangedRegister, name="nvvm.read.ptx.sreg.smid", traits=(PURE,)):
    """The SM's number."""


class SmDim(_RangedRegister, name="nvvm.read.ptx.sreg.nsmid", traits=(PURE,)):
    """The number of SMs."""


class GridId(_RangedRegister, name="nvvm.read.ptx.sreg.gridid", traits=(PURE,)):
    """The grid's number."""


class ThreadIdX(_RangedRegister, name="nvvm.read.ptx.sreg.tid.x", traits=(PURE,)):
    """The thread in its CTA, along x."""


class ThreadIdY(_RangedRegister, name="nvvm.read.ptx.sreg.tid.y", traits=(PURE,)):
    """The thread in its CTA, along y."""


class ThreadIdZ(_RangedRegister, name="nvvm.read.ptx.sreg.tid.z", traits=(PURE,)):
    """The thread in its CTA, along z."""


class BlockDimX(_RangedRegister, name="nvvm.read.ptx.sreg.ntid.x", traits=(PURE,)):
    """The CTA's size in threads, along x."""


class BlockDimY(_RangedRegister, name="nvvm.read.ptx.sreg.ntid.y", traits=(PURE,)):
    """The CTA's size in threads, along y."""


class BlockDimZ(_RangedRegister, name="nvvm.read.ptx.sreg.ntid.z", traits=(PURE,)):
    """The CTA's size in threads, along z."""


class BlockIdX(_RangedRegister, name="nvvm.read.ptx.sreg.ctaid.x", traits=(PURE,)):
    """The CTA in its grid, along x."""


class BlockIdY(_RangedRegister, name="nvvm.read.ptx.sreg.ctaid.y", traits=(PURE,)):
    """The CTA in its grid, along y."""


class BlockIdZ(_RangedRegister, name="nvvm.read.ptx.sreg.ctaid.z", traits=(PURE,)):
    """The CTA in its grid, along z."""


class GridDimX(_RangedRegister, name="nvvm.read.ptx.sreg.nctaid.x", traits=(PURE,)):
    """The grid's size in CTAs, along x."""


class GridDimY(_RangedRegister, name="nvvm.read.ptx.sreg.nctaid.y", traits=(PURE,)):
    """The grid's size in CTAs, along y."""


class GridDimZ(_RangedRegister, name="nvvm.read.ptx.sreg.nctaid.z", traits=(PURE,)):
    """The grid's size in CTAs, along z."""


class ClusterIdX(_RangedRegister, name="nvvm.read.ptx.sreg.clusterid.x", traits=(PURE,)):
    """The cluster in its grid, along x."""


class ClusterIdY(_RangedRegister, name="nvvm.read.ptx.sreg.clusterid.y", traits=(PURE,)):
    """The cluster in its grid, along y."""


class ClusterIdZ(_RangedRegister, name="nvvm.read.ptx.sreg.clusterid.z", traits=(PURE,)):
    """The cluster in its grid, along z."""


class ClusterDimX(_RangedRegister, name="nvvm.read.ptx.sreg.nclusterid.x", traits=(PURE,)):
    """The grid's size in clusters, along x."""


class ClusterDimY(_RangedRegister, name="nvvm.read.ptx.sreg.nclusterid.y", traits=(PURE,)):
    """The grid's size in clusters, along y."""


class ClusterDimZ(_RangedRegister, name="nvvm.read.ptx.sreg.nclusterid.z", traits=(PURE,)):
    """The grid's size in clusters, along z."""


class BlockInClusterIdX(_RangedRegister, name="nvvm.read.ptx.sreg.cluster.ctaid.x", traits=(PURE,)):
    """The CTA in its cluster, along x."""


class BlockInClusterIdY(_RangedRegister, name="nvvm.read.ptx.sreg.cluster.ctaid.y", traits=(PURE,)):
    """The CTA in its cluster, along y."""


class BlockInClusterIdZ(_RangedRegister, name="nvvm.read.ptx.sreg.cluster.ctaid.z", traits=(PURE,)):
    """The CTA in its cluster, along z."""


class ClusterDimBlocksX(_RangedRegister, name="nvvm.read.ptx.sreg.cluster.nctaid.x", traits=(PURE,)):
    """The cluster's size in CTAs, along x."""


class ClusterDimBlocksY(_RangedRegister, name="nvvm.read.ptx.sreg.cluster.nctaid.y", traits=(PURE,)):
    """The cluster's size in CTAs, along y."""


class ClusterDimBlocksZ(_RangedRegister, name="nvvm.read.ptx.sreg.cluster.nctaid.z", traits=(PURE,)):
    """The cluster's size in CTAs, along z."""


class ClusterRank(_RangedRegister, name="nvvm.read.ptx.sreg.cluster.ctarank", traits=(PURE,)):
    """The rank of the CTA in its cluster."""


class ClusterSize(_RangedRegister, name="nvvm.read.ptx.sreg.cluster.nctarank", traits=(PURE,)):
    """The number of CTAs in the cluster."""


class LaneMaskEq(_Register, name="nvvm.read.ptx.sreg.lanemask.eq", traits=(PURE,)):
    """The bit of the own lane."""


class LaneMaskLe(_Register, name="nvvm.read.ptx.sreg.lanemask.le", traits=(PURE,)):
    """The bits of lanes up to the own."""


class LaneMaskLt(_Register, name="nvvm.read.ptx.sreg.lanemask.lt", traits=(PURE,)):
    """The bits of lanes below the own."""


class LaneMaskGe(_Register, name="nvvm.read.ptx.sreg.lanemask.ge", traits=(PURE,)):
    """The bits of lanes from the own."""


class LaneMaskGt(_Register, name="nvvm.read.ptx.sreg.lanemask.gt", traits=(PURE,)):
    """The bits of lanes above the own."""


class TotalSmemSize(_Register, name="nvvm.read.ptx.sreg.total.smem.size", traits=(PURE,)):
    """The CTA's shared memory in bytes."""


class DynamicSmemSize(_Register, name="nvvm.read.ptx.sreg.dynamic.smem.size", traits=(PURE,)):
    """The CTA's dynamic shared memory in bytes."""


class Clock(_Register, name="nvvm.read.ptx.sreg.clock", traits=(IN_ORDER,)):
    """A counter of cycles, 32 bits."""


class Clock64(_Register, name="nvvm.read.ptx.sreg.clock64", traits=(IN_ORDER,)):
    """A counter of cycles, 64 bits."""


class GlobalTimer(_Register, name="nvvm.read.ptx.sreg.globaltimer", traits=(IN_ORDER,)):
    """A clock in nanoseconds."""


class GlobalTimerLo(_Register, name="nvvm.read.ptx.sreg.globaltimer.lo", traits=(IN_ORDER,)):
    """The low half of the clock in nanoseconds."""
