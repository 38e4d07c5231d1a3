"""The rules of the nvvm attributes on functions: launch bounds, clusters, parameters in constant memory."""

from __future__ import annotations

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, IntegerAttr, UnitAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import I32
from tessera_tools.opdef import OpRule, ParameterRule, ParameterUse


def _kernel(op: Operation, value: Attribute) -> str | None:
    return None if op.name == "llvm.func" else "'nvvm.kernel' attribute attached to unexpected op"


def _extents(name: str) -> OpRule:
    def rule(op: Operation, value: Attribute) -> str | None:
        fits = isinstance(value, DenseArrayAttr) and value.element is I32 and 1 <= len(value) <= 3
        return None if fits else f"'\"{name}\"' attribute must be integer array with maximum 3 index"

    return rule


def _number(name: str) -> OpRule:
    def rule(op: Operation, value: Attribute) -> str | None:
        return None if isinstance(value, IntegerAttr) else f"'\"{name}\"' attribute must be integer constant"

    return rule


def _blocks_are_clusters(op: Operation, value: Attribute) -> str | None:
    if "nvvm.reqntid" in op.attributes and "nvvm.cluster_dim" in op.attributes:
        return None
    return (
        "'\"nvvm.blocksareclusters\"' attribute must be used along with 'nvvm.reqntid' and 'nvvm.cluster_dim'"
    )


def _grid_constant(use: ParameterUse, value: Attribute) -> str | None:
    if use.is_result:
        return None
    if "nvvm.kernel" not in use.function.attributes:
        return "'\"nvvm.grid_constant\"' attribute must be present only on kernel arguments"
    if not isinstance(value, UnitAttr):
        return "'\"nvvm.grid_constant\"' must be a unit attribute"
    if "llvm.byval" not in use.beside:
        return "'\"nvvm.grid_constant\"' attribute requires the argument to also have attribute 'llvm.byval'"
    return None


OP_ATTRIBUTES: dict[str, OpRule] = {
    "nvvm.kernel": _kernel,
    "nvvm.blocksareclusters": _blocks_are_clusters,
    **{name: _extents(name) for name in ("nvvm.reqntid", "nvvm.maxntid", "nvvm.cluster_dim")},
    **{name: _number(name) for name in ("nvvm.minctasm", "nvvm.maxnreg", "nvvm.cluster_max_blocks")},
}
PARAMETER_ATTRIBUTES: dict[str, ParameterRule] = {"nvvm.grid_constant": _grid_constant}
