"""What the TileAS passes ask of a kernel and its module: target, warps, the smem budget, per-access facts."""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects.nv_tileaa import Func, KernelSpecAttr
from tessera_tools.ir.builtin_attributes import StringAttr
from tessera_tools.ir.core import Operation
from tessera_tools.target import Target, UnknownTargetError, lookup


def target_of(module: Operation) -> Target:
    """The target that the module was lowered for (`nv_tileaa.target_spec`)."""
    spec = module.attributes.get("nv_tileaa.target_spec")
    if not isinstance(spec, StringAttr):
        raise module.error(
            "Failed to get ComputeCapability: the module has no 'nv_tileaa.target_spec'",
            'run --convert-cuda-tile-to-tileaa first, or set the attribute, e.g. "sm_90a"',
        )
    try:
        return lookup(spec.value)
    except UnknownTargetError as problem:
        raise module.error(f"has an unknown target: {problem}") from None


def kernels(module: Operation) -> list[Func]:
    """The tile functions of a module that have a body."""
    return [
        op
        for region in module.regions
        for block in region.blocks
        for op in block
        if isinstance(op, Func) and op.body.blocks
    ]


def kernel_spec(function: Any) -> KernelSpecAttr:
    """The function's kernel spec; an error if it has none."""
    spec = function.attributes.get("nv_tileaa.kernel_spec")
    if not isinstance(spec, KernelSpecAttr):
        raise function.error("has no 'nv_tileaa.kernel_spec'; run --convert-tileaa-to-tileas first")
    return spec
