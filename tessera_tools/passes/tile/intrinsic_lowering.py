"""tile-intrinsic-lowering: what the hardware has, in place of what the program asks for.

    arch has        tile.mma                     tile.cp_async of a slice                 tile.row_max, row_min, row_sum
    wgmma           tile.wgmma, else tile.wmma   tile.tma_load, else tile.cp_async_cg     tile.warp_reduce
    tcgen05         as it is                     tile.tma_load, else tile.cp_async_cg     as they are
    else            tile.wmma                    tile.tma_load where there is TMA,        as they are
                                                 else tile.cp_async_cg

An instruction is named only where it exists and serves the operands (PTX ISA, "wgmma.mma_async", "mma", "cp.async",
"cp.async.bulk.tensor"); what none serves stays.  tcgen05 keeps its accumulators in tensor memory, not in fragments, so
a product stays one for "whatever the target has" there.  In wgmma's accumulators a row lies in four lanes of one warp,
so reductions by row are the warp's; those of mma.sync may lie in several warps.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.fragments import Fragments, fragments_of, is_fragment
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import func, tile
from tessera_tools.dialects.tile.asynchronous import MOST_OF_A_BOX, box_problem
from tessera_tools.dialects.tile.compute import Product, RowReduction
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, StringAttr
from tessera_tools.ir.core import BlockArgument, Operation
from tessera_tools.ir.types import BF16, F16, F32, I8, I32, I64, TF32, FloatType, IntegerType, Type
from tessera_tools.passes.base import Pass, PassContext, PassFailure, option
from tessera_tools.passes.tile.alignment import alignment_of
from tessera_tools.passes.tile.compute import product_atom
from tessera_tools.passes.tile.instruction_names import ptx_type, warp_instruction
from tessera_tools.passes.tile.slices import slice_of
from tessera_tools.target import Feature, Target, UnknownTargetError, lookup

F8 = (FloatType("f8E4M3FN"), FloatType("f8E5M2"))
WARPGROUP = 128
_WARPGROUP_ROWS = 64
_WIDEST = 256
_SIXTEEN_BYTES = 16


@dataclass(frozen=True)
class TileIntrinsicLowering(Pass):
    """Name the instructions of a GPU architecture in a `tile` program."""

    name: ClassVar = "tile-intrinsic-lowering"
    summary: ClassVar = "select the target's instructions for matrix products, copies and reductions"
    ensures: ClassVar = (
        "every tile.wgmma, tile.wmma, tile.tma_load and tile.cp_async_cg is one that the target has"
    )
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


def _lower(function: Any, target: Target, context: PassContext) -> bool:
    ops = [op for op in function.walk() if op.name.startswith("tile.")]
    fragments = fragments_of(function) if any(isinstance(op, Product) for op in ops) else Fragments()
    facts, alignment = Facts(), alignment_of(function)
    made: list[tuple[Any, Any, str]] = []
    for op in ops:
        if isinstance(op, tile.Mma):
            made.append((op, _product(op, fragments, target), "products"))
        elif isinstance(op, tile.CpAsync):
            made.append((op, _copy(op, facts, alignment, target), "copies"))
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


def _product(op: Any, fragments: Fragments, target: Target) -> tuple[Any, dict[str, Any]] | None:
    """The op for a product and its instruction; None where the product stays."""
    if any(tile.space_of(v.type) == 0 for v in (op.lhs, op.rhs)):
        return None  # operands in global memory have to be brought nearer first
    if target.has(Feature.WGMMA):
        found = warpgroup_instruction(op, fragments)
        if found is not None:
            return tile.Wgmma, {"intrinsic": StringAttr(found)}
    if target.has(Feature.TCGEN05):
        return None
    found = warp_instruction(product_atom(op, target))
    return (tile.Wmma, {"intrinsic": StringAttr(found)}) if found is not None else None


def warpgroup_instruction(op: Any, fragments: Fragments) -> str | None:
    """The wgmma instruction that serves a product, e.g. wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16; None
    where none does.  PTX ISA, "Asynchronous warpgroup-level matrix instructions".

    B lies in shared memory; A there, or in registers as it was computed.  Only 16-bit operands can be read the other
    way round.  Each warpgroup has 64 rows, or a multiple, of a tile whose threads are counted; one warpgroup takes a
    tile that is still whole, and its 64 rows may go beyond it: those are made from whatever lies after A, and hidden.
    """
    a, b, c = (v.type.element for v in (op.lhs, op.rhs, op.res))
    depth = _depth_of(a, b, c)
    if depth is None or is_fragment(op.rhs) or (is_fragment(op.lhs) and op.transposes_a):
        return None
    if a.width != 16 and (op.transposes_a or not op.transposes_b):
        return None
    m, n = fragments.shape(op.res)
    k = op.rhs.type.shape[1 if op.transposes_b else 0]
    threads = m * n // prod(op.res.type.shape)
    if threads > 1 and (threads % WARPGROUP or m % (_WARPGROUP_ROWS * (threads // WARPGROUP))):
        return None
    columns = _columns(n, isinstance(a, IntegerType))
    if columns is None or k % depth:
        return None
    return f"wgmma.mma_async.sync.aligned.m64n{columns}k{depth}.{ptx_type(c)}.{ptx_type(a)}.{ptx_type(b)}"


def _depth_of(a: Type, b: Type, c: Type) -> int | None:
    """Elements of K that one wgmma takes: 32 bytes of them; None where it does not take the types."""
    if a in F8 and b in F8:
        return 32 if c in (F16, F32) else None
    if a is not b:
        return None
    accumulators = {F16: (F16, F32), BF16: (F32,), TF32: (F32,), I8: (I32,)}.get(a, ())
    if c not in accumulators:
        return None
    return {F16: 16, BF16: 16, TF32: 8, I8: 32}[a]


def _columns(n: int, integers: bool) -> int | None:
    """The most columns that one wgmma has and that divide N: multiples of 8 up to 256; for integers, from 32 on, of
    16."""
    sizes = range(min(n, _WIDEST) // 8 * 8, 0, -8)
    return next((s for s in sizes if n % s == 0 and not (integers and s > 24 and s % 16)), None)


# -- copies


def _copy(op: Any, facts: Facts, alignment: int, target: Target) -> tuple[Any, dict[str, Any]] | None:
    """The op for a copy; None where it stays."""
    if target.has(Feature.TMA):
        box = box_of(op, alignment)
        if box is not None:
            return tile.TmaLoad, {"tile_size": DenseArrayAttr(I64, box)}
    bypasses = op.bypass_l1 is not None and op.bypass_l1.value
    if bypasses and target.has(Feature.CP_ASYNC) and moves_sixteen_bytes(op, facts, alignment):
        return tile.CpAsyncCg, {"cache_level": StringAttr("L2")}
    return None


def box_of(op: Any, alignment: int) -> tuple[int, ...] | None:
    """The box in which TMA copies a slice into shared memory; None where it cannot.

    A tensor map needs an address and strides of a multiple of 16 bytes; rows of a box that is swizzled are no longer
    than the swizzle's.  PTX ISA, "Tensors".
    """
    found = slice_of(op.source)
    type = op.dest.type
    if found is None or alignment % _SIXTEEN_BYTES or not isinstance(found.tensor, BlockArgument):
        return None
    if any(found.ends_within(type.shape)):
        return None  # the tensor map ends where the tensor does
    if not type.is_static or not isinstance(type.element, IntegerType | FloatType):
        return None
    buffer = op.dest.defining_op
    span = MOST_OF_A_BOX
    if isinstance(buffer, tile.AllocShared) and buffer.swizzle is not None and buffer.swizzle.value == "xor":
        bytes = buffer.swizzle_size.value if buffer.swizzle_size is not None else 128
        span = min(span, bytes * 8 // storage_bits(type.element))
    box = tuple(
        _largest_divisor(extent, span if axis == len(type.shape) - 1 else MOST_OF_A_BOX)
        for axis, extent in enumerate(type.shape)
    )
    return box if box_problem(box, storage_bits(type.element)) is None else None


def _largest_divisor(extent: int, most: int) -> int:
    return next(n for n in range(min(extent, most), 0, -1) if extent % n == 0)


def moves_sixteen_bytes(op: Any, facts: Facts, alignment: int) -> bool:
    """True if a copy is one of whole 16-byte pieces: address, strides, columns and the last extent are multiples."""
    found = slice_of(op.source)
    type = op.dest.type
    if found is None or not isinstance(found.tensor, BlockArgument) or not type.is_static:
        return False
    if not isinstance(type.element, IntegerType | FloatType):
        return False
    pieces = max(1, 128 // storage_bits(type.element))
    divisors = found.column_divisors(type.shape, facts, alignment)
    return alignment % _SIXTEEN_BYTES == 0 and all(n % pieces == 0 for n in (*divisors, type.shape[-1]))
