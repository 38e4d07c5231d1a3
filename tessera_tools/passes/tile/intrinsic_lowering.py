"""tile-intrinsic-lowering: selects instructions of the target for generic ops.

    arch has        tile.mma                     tile.cp_async of a slice                 tile.row_max, row_min, row_sum
    wgmma           tile.wgmma, else tile.wmma   tile.tma_load, else tile.cp_async_cg     tile.warp_reduce
    tcgen05         unchanged                    tile.tma_load, else tile.cp_async_cg     unchanged
    else            tile.wmma                    tile.tma_load if available,              unchanged
                                                 else tile.cp_async_cg

An instruction is selected only if it exists and supports the operands (PTX ISA, "wgmma.mma_async", "mma", "cp.async",
"cp.async.bulk.tensor"); other ops are unchanged.  tcgen05 has its accumulators in tensor memory, not in fragments, so
products are unchanged there.  In wgmma accumulators, a row is in four lanes of one warp, so row reductions are warp
reductions; with mma.sync, a row may be in several warps.
"""

from __future__ import annotations

from typing import Any, ClassVar

from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.fragments import Fragments, fragments_of
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import func, tile
from tessera_tools.dialects.tile.compute import Product, RowReduction
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, StringAttr
from tessera_tools.ir.core import BlockArgument, Operation
from tessera_tools.ir.types import I64, FloatType, IntegerType
from tessera_tools.passes.base import Pass, PassContext, PassFailure, option
from tessera_tools.passes.tile.alignment import alignment_of
from tessera_tools.passes.tile.compute import product_atom
from tessera_tools.passes.tile.instruction_names import warp_instruction
from tessera_tools.passes.tile.slices import slice_of
from tessera_tools.passes.tile.tma_copies import boxes_of
from tessera_tools.passes.tile.warpgroup_products import by_warpgroups
from tessera_tools.records import dataclass
from tessera_tools.target import Feature, Target, UnknownTargetError, lookup

_SIXTEEN_BYTES = 16


@dataclass(frozen=True)
class TileIntrinsicLowering(Pass):
    """Select the instructions of a GPU architecture in a `tile` program."""

    name: ClassVar = "tile-intrinsic-lowering"
    summary: ClassVar = "select the target's instructions for matrix products, copies and reductions"
    ensures: ClassVar = "the target supports every tile.wgmma, tile.wmma, tile.tma_load and tile.cp_async_cg"
    statistics: ClassVar = {
        "products": "products mapped to an instruction",
        "copies": "copies mapped to an instruction",
        "reductions": "reductions mapped to warp instructions",
    }

    arch: str = option("sm_90", "the GPU architecture")

    def run(self, op: Operation, context: PassContext) -> bool:
        try:
            target = lookup(self.arch)
        except UnknownTargetError as problem:
            raise PassFailure(problem.message, None, problem.hint) from None
        functions = [f for f in op.walk() if isinstance(f, func.Func)]
        lowered = [_lower(function, target, context) for function in functions]
        return any(lowered)


def _lower(function: Operation, target: Target, context: PassContext) -> bool:
    ops = [op for op in function.walk() if op.name.startswith("tile.")]
    fragments = fragments_of(function) if any(isinstance(op, Product) for op in ops) else Fragments()
    facts, alignment = Facts(), alignment_of(function)
    boxes = boxes_of(function, target).boxes
    made: list[tuple[Any, Any, str]] = []
    for op in ops:
        if isinstance(op, tile.Mma):
            made.append((op, _product(op, fragments, target), "products"))
        elif isinstance(op, tile.CpAsync):
            made.append((op, _copy(op, facts, alignment, target, boxes.get(op)), "copies"))
        elif (
            isinstance(op, RowReduction) and not isinstance(op, tile.WarpReduce) and target.has(Feature.WGMMA)
        ):
            kind = (
                op.kind
                if isinstance(op, tile.Reduce)
                else tile.ReductionKindAttr(op.name.removeprefix("tile.row_"))
            )
            made.append((op, (tile.WarpReduce, {"kind": kind}), "reductions"))
    changed = False
    for op, choice, counter in made:
        if choice is None:
            continue
        cls, attributes = choice
        new = cls.create(
            list(op.operands), op.result_types, {**op.attributes, **attributes}, location=op.location
        )
        op.parent.insert_before(op, new)
        for old, result in zip(op.results, new.results, strict=True):
            result.name_hint = old.name_hint
            old.replace_all_uses_with(result)
        op.erase()
        context.count(counter)
        changed = True
    return changed


# -- products


def _product(op: Product, fragments: Fragments, target: Target) -> tuple[Any, dict[str, Any]] | None:
    """The op for a product, and its instruction; None if the product is unchanged."""
    if any(tile.space_of(v.type) == 0 for v in (op.lhs, op.rhs)):
        return None  # operands in global memory must be copied to shared memory first
    if target.has(Feature.WGMMA):
        found = by_warpgroups(op, fragments, target)
        if found is not None:
            return tile.Wgmma, {"intrinsic": StringAttr(found)}
    if target.has(Feature.TCGEN05):
        return None
    found = warp_instruction(product_atom(op, target))
    return (tile.Wmma, {"intrinsic": StringAttr(found)}) if found is not None else None


# -- copies


def _copy(
    op: Any, facts: Facts, alignment: int, target: Target, box: tuple[int, ...] | None
) -> tuple[Any, dict[str, Any]] | None:
    """The op for a copy; None if it is unchanged."""
    if box is not None:
        return tile.TmaLoad, {"tile_size": DenseArrayAttr(I64, box)}
    bypasses = op.bypass_l1 is not None and op.bypass_l1.value
    if bypasses and target.has(Feature.CP_ASYNC) and moves_sixteen_bytes(op, facts, alignment):
        return tile.CpAsyncCg, {"cache_level": StringAttr("L2")}
    return None


def moves_sixteen_bytes(op: Any, facts: Facts, alignment: int) -> bool:
    """True if a copy consists of whole 16-byte pieces: address, strides, columns and the last extent are multiples."""
    found = slice_of(op.source)
    type = op.dest.type
    if found is None or not isinstance(found.tensor, BlockArgument) or not type.is_static:
        return False
    if not isinstance(type.element, IntegerType | FloatType):
        return False
    pieces = max(1, 128 // storage_bits(type.element))
    divisors = found.column_divisors(type.shape, facts, alignment)
    return alignment % _SIXTEEN_BYTES == 0 and all(n % pieces == 0 for n in (*divisors, type.shape[-1]))
