"""Properties of a kernel and its module for TileAS passes: target, warps, shared-memory budget, facts of accesses."""

from __future__ import annotations

from tessera_tools.dialects.nv_tileaa import Func, KernelSpecAttr
from tessera_tools.dialects.nv_tileas import AgentSwitch, agent_of
from tessera_tools.ir.builtin_attributes import IntegerAttr, StringAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.target import ExecutionUnit, Feature, Target, UnknownTargetError, lookup

OCCUPANCY = "nv_tileaa.occupancy"
"""The attribute of a kernel: how many of its CTAs a multiprocessor is to run at once, which limits their registers."""


def occupancy_of(function: Operation) -> int:
    """Returns how many CTAs a multiprocessor is to run at once; 0 if that is open."""
    value = function.attributes.get(OCCUPANCY)
    return value.value if isinstance(value, IntegerAttr) else 0


def target_of(module: Operation) -> Target:
    """Returns the target of the module. Reports an error if the module does not specify one."""
    target = known_target(module)
    if target is None:
        missing = (
            "target_spec" if "nv_tileaa.compute_capability" in module.attributes else "compute_capability"
        )
        # The description of the conversion to LLVM quotes the first words of this message.
        raise module.error(
            f"Failed to get ComputeCapability: the module has no 'nv_tileaa.{missing}'",
            "run --convert-cuda-tile-to-tileaa, or set nv_tileaa.compute_capability = 90 : i32 and "
            'nv_tileaa.target_spec = "sm_90a"',
        )
    return target


def known_target(module: Operation) -> Target | None:
    """Same as `target_of`, but returns None if the module does not specify a target."""
    capability = module.attributes.get("nv_tileaa.compute_capability")
    spec = module.attributes.get("nv_tileaa.target_spec")
    if not isinstance(capability, IntegerAttr) or not isinstance(spec, StringAttr):
        return None
    try:
        target = lookup(spec.value)
    except UnknownTargetError as problem:
        raise module.error(f"has an unknown target: {problem}") from None
    if target.compute_capability != capability.value:
        raise module.error(
            f"has nv_tileaa.compute_capability = {capability.value}, but its target {spec.value} has "
            f"{target.compute_capability}"
        )
    return target


def kernels(module: Operation) -> list[Func]:
    """Returns the tile functions of a module that have a body."""
    return [
        op
        for region in module.regions
        for block in region.blocks
        for op in block
        if isinstance(op, Func) and op.body.blocks
    ]


def check_tiles(function: Func) -> None:
    """Reports an error for a tile that layouts cannot describe."""
    for op in function.walk():
        for result in op.results:
            type = result.type
            if isinstance(type, RankedTensorType) and any(n < 1 or n & (n - 1) for n in type.shape):
                raise op.error(f"makes a tile of type {type}; extents must be powers of two")


def kernel_spec(function: Operation) -> KernelSpecAttr:
    """Returns the function's kernel spec. Reports an error if it has none."""
    spec = function.attributes.get("nv_tileaa.kernel_spec")
    if not isinstance(spec, KernelSpecAttr):
        raise function.error("has no 'nv_tileaa.kernel_spec'; run --convert-tileaa-to-tileas first")
    return spec


def unit_of(op: Operation) -> ExecutionUnit:
    """Returns the execution unit that runs an op: the enclosing agent, or the whole CTA of its function.

    Reports an error unless its number of warps is a power of two, which layouts require.
    """
    inner = op
    while not isinstance(inner, Func) and (outer := inner.parent_op) is not None:
        if isinstance(outer, AgentSwitch):
            region = agent_of(inner)
            unit = outer.unit(next(i for i, r in enumerate(outer.regions) if r is region))
            return _laid_out(outer, unit)
        inner = outer
    return _laid_out(inner, ExecutionUnit(kernel_spec(inner).num_warps))


def _laid_out(op: Operation, unit: ExecutionUnit) -> ExecutionUnit:
    if unit.warps & (unit.warps - 1):
        raise op.error(
            f"has {unit.warps} warps; tiles are laid out over a power of two of warps, from 1 to 32"
        )
    return unit


def kernels_with(module: Operation, *features: Feature) -> list[tuple[Func, Target]]:
    """Returns the tile functions of a module that have a body, each with the target: none if the target lacks one of
    the features.  Reports an error if there are functions, but no target."""
    functions = kernels(module)
    if not functions:
        return []
    target = target_of(module)
    return [(function, target) for function in functions] if all(map(target.has, features)) else []
