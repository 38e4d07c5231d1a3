"""Cluster launch control: a cluster takes the place of one that has not begun (PTX ISA, "clusterlaunchcontrol")."""

from __future__ import annotations

from tessera_tools.dialects.nvvm.attributes import ClusterLaunchControlQueryTypeAttr
from tessera_tools.dialects.nvvm.base import I32_OR_I1, SHARED, NVVMOp, flag
from tessera_tools.ir.types import I1, I32, IntegerType
from tessera_tools.opdef import (
    PURE,
    READ_WRITE,
    UNIT_ATTR,
    attribute,
    enum,
    exactly,
    operand,
    result,
)


class TryCancel(NVVMOp, name="nvvm.clusterlaunchcontrol.try.cancel", traits=(READ_WRITE,)):
    """Ask for the place of a cluster that has not begun; the answer of 16 bytes completes a phase of the mbarrier."""

    multicast = attribute(UNIT_ATTR, optional=True)
    smem_address = operand(SHARED)
    mbarrier = operand(SHARED)
    assembly = "(`multicast` $multicast^ `,`)? $smem_address `,` $mbarrier attr-dict"

    def intrinsic_name(self) -> str:
        multicast = "multicast." if flag(self, "multicast") else ""
        return f"llvm.nvvm.clusterlaunchcontrol.try_cancel.async.{multicast}shared"


class QueryCancel(NVVMOp, name="nvvm.clusterlaunchcontrol.query.cancel", traits=(PURE,)):
    """What an answer says: whether there was such a cluster, or a coordinate of its first CTA."""

    query_type = attribute(enum(ClusterLaunchControlQueryTypeAttr))
    try_cancel_response = operand(exactly(IntegerType(128)))
    res = result(I32_OR_I1)
    assembly = "`query` `=` $query_type `,` $try_cancel_response attr-dict `:` type($res)"

    def intrinsic_name(self) -> str:
        query = self.query_type.value.replace("cta_id_", "ctaid.")
        return f"llvm.nvvm.clusterlaunchcontrol.query_cancel.{query}"

    def verify_op(self) -> None:
        canceled = self.query_type.value == "is_canceled"
        if self.results[0].type is not (I1 if canceled else I32):
            raise self.error(f"{self.query_type.value} query type returns an {I1 if canceled else I32}")
