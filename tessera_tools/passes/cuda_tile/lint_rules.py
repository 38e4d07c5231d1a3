"""The rules of `cuda-tile-lint`: each checks one operation for slow code and likely mistakes.

    rule(op, scope) ──▶ Finding("unaligned-base", "memory", message, advice) …

`RULES` lists the rules with their descriptions; a test compares docs/lint.md with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tessera_tools.dialects.cuda_tile import hints
from tessera_tools.dialects.cuda_tile.control_flow import For, Loop
from tessera_tools.dialects.cuda_tile.core_ops import Broadcast, Constant, Iota, Reshape
from tessera_tools.dialects.cuda_tile.float_ops import DivF, MmaF, MmaFScaled, Sqrt
from tessera_tools.dialects.cuda_tile.integer_ops import DivI, MmaI, RemI
from tessera_tools.dialects.cuda_tile.memory import AtomicCasTko, AtomicRmwTko, LoadPtrTko, StorePtrTko
from tessera_tools.dialects.cuda_tile.types import PartitionViewType, TileType
from tessera_tools.dialects.cuda_tile.view_atomics import AtomicRedViewTko
from tessera_tools.dialects.cuda_tile.views import LoadViewTko, MakeTensorView, StoreViewTko
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import DYNAMIC, F16, F32, FloatType, element_type
from tessera_tools.passes.cuda_tile.lint_facts import (
    LintFacts,
    element_bits,
    root_of,
    tile_bytes,
)
from tessera_tools.passes.cuda_tile.lint_ranges import FAR, Ranges
from tessera_tools.records import dataclass, field
from tessera_tools.target import Feature, Target

COPY_BYTES = 16
"""The widest copy instruction, and the alignment of bases and strides that the tensor memory accelerator requires."""
SECTOR_BYTES = 32
"""The size of a sector, in which global memory is read."""
_FP8 = tuple(FloatType(name) for name in ("f8E4M3FN", "f8E5M2"))
_LOADS = (LoadViewTko, LoadPtrTko)
_STORES = (StoreViewTko, StorePtrTko, AtomicRmwTko, AtomicCasTko)


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a rule at an operation; `advice` is the recommended change."""

    rule: str
    message: str
    advice: str


@dataclass(slots=True)
class Scope:
    """The context of a rule: the target, and the enclosing kernel."""

    target: Target
    facts: LintFacts = field(default_factory=LintFacts)
    ranges: Ranges = field(default_factory=Ranges)
    stored: frozenset[Value] = frozenset()
    """The pointers through which the kernel writes."""


Rule = Callable[[Any, Scope], Iterator[Finding]]


def tensor_view(op: Operation, scope: Scope) -> Iterator[Finding]:
    """Bases, strides and extents that do not provably allow the widest copies."""
    if not isinstance(op, MakeTensorView) or not op.result.has_uses:
        return
    view, facts = op.result.type, scope.facts
    size = element_bits(view.element) / 8
    known = facts.divisor(op.base)
    if known % COPY_BYTES:
        least = "not known to be aligned" if known == 1 else f"known only to be a multiple of {known} bytes"
        yield Finding(
            "unaligned-base",
            f"the base address is {least}; copies of {COPY_BYTES} bytes require {COPY_BYTES}",
            f"assume div_by<{COPY_BYTES}> of the pointer, if that holds",
        )
    dynamic = iter(op.dynamicStrides)
    strides = [next(dynamic) if stride == DYNAMIC else stride for stride in view.strides]
    if strides and 1 not in strides:
        yield Finding(
            "no-unit-stride",
            "no dimension has stride 1, so every element is a separate access",
            "declare the constant stride 1 for the contiguous dimension",
        )
    for dimension, stride in enumerate(strides):
        if isinstance(stride, int):
            if stride != 1 and stride * size % COPY_BYTES:
                yield Finding(
                    "unaligned-stride",
                    f"the stride of dimension {dimension} is {int(stride * size)} bytes, not a multiple of "
                    f"{COPY_BYTES}",
                    "pad the rows of the tensor",
                )
        elif facts.divisor(stride) * size % COPY_BYTES:
            least = int(COPY_BYTES // size)
            yield Finding(
                "unassumed-stride",
                f"the stride of dimension {dimension} is not known to be a multiple of {COPY_BYTES} bytes",
                f"assume div_by<{least}> of it, if that holds",
            )
    if scope.target.has(Feature.TMA) or 1 not in strides:
        return
    row = len(strides) - 1 - strides[::-1].index(1)
    if view.shape[row] == DYNAMIC:
        extent = op.dynamicShape[sum(e == DYNAMIC for e in view.shape[:row])]
        least = int(COPY_BYTES // size)
        if facts.divisor(extent) % least:
            yield Finding(
                "unassumed-extent",
                f"the extent of dimension {row} is not known to be a multiple of {least} elements, and "
                f"{scope.target.name} checks bounds vector by vector",
                f"assume div_by<{least}> of it, if that holds",
            )


def view_access(op: Operation, scope: Scope) -> Iterator[Finding]:
    """Tiles with short rows, unspecified padding, unsupported hints."""
    if not isinstance(op, LoadViewTko | StoreViewTko):
        return
    view = op.view.type
    if not isinstance(view, PartitionViewType):
        return
    tensor = view.tensor_view
    size = element_bits(tensor.element) / 8
    rows = [i for i, dimension in enumerate(view.dimensions) if tensor.strides[dimension] == 1]
    if rows and view.tile[rows[-1]] * size < SECTOR_BYTES:
        yield Finding(
            "short-rows",
            f"a tile takes {int(view.tile[rows[-1]] * size)} bytes of each row, but memory is read {SECTOR_BYTES} "
            "bytes at a time",
            "use a tile that is longer along the dimension of stride 1",
        )
    ragged = any(
        tensor.shape[dimension] == DYNAMIC or tensor.shape[dimension] % extent
        for extent, dimension in zip(view.tile, view.dimensions, strict=True)
    )
    if isinstance(op, LoadViewTko) and view.padding is None and ragged:
        yield Finding(
            "unspecified-padding",
            "the tensor need not be whole tiles, and the result of an out-of-bounds load is unspecified",
            "give the partition view a padding_value, unless those elements are never used",
        )
    if op.optimization_hints is not None:
        allowed = op.optimization_hints.hint(scope.target.name, "allow_tma")
        if getattr(allowed, "value", 0) and not scope.target.has(Feature.TMA):
            yield Finding(
                "ignored-hint",
                f"{scope.target.name} has no tensor memory accelerator to allow",
                "drop allow_tma",
            )


def indices(op: Operation, scope: Scope) -> Iterator[Finding]:
    """Indices of tiles that may be negative."""
    if not isinstance(op, LoadViewTko | StoreViewTko | AtomicRedViewTko):
        return
    for dimension, index in enumerate(op.index):
        least = scope.ranges.of(index).low
        if -FAR < least < 0:
            yield Finding(
                "negative-index",
                f"the index of dimension {dimension} may be as low as {least}; indices are unsigned, and what a tile "
                "at a negative one holds is undefined",
                "assume bounded<0, ?> of it, if that holds; load a halo through a gather view, or through pointers "
                "with a mask",
            )


def pointer_access(op: Operation, scope: Scope) -> Iterator[Finding]:
    """Tiles that are moved element by element."""
    if isinstance(op, LoadPtrTko | StorePtrTko):
        pointers = op.source if isinstance(op, LoadPtrTko) else op.destination
        if pointers.type.num_elements >= 128 and scope.facts.base_divisor(pointers) % COPY_BYTES:
            yield Finding(
                "pointer-tile",
                f"{pointers.type.num_elements} elements are moved through a pointer each, from a base that is not "
                "known to be aligned",
                f"use a partition view if the elements are a tile of a tensor, or assume div_by<{COPY_BYTES}>",
            )


def order(op: Operation, scope: Scope) -> Iterator[Finding]:
    """Accesses that are not ordered with the kernel's writes to the same pointer."""
    if not isinstance(op, _LOADS) or op.token is not None or op.result_token.has_uses:
        return
    if root_of(op.operand(0)) in scope.stored:
        yield Finding(
            "unordered-access",
            "the kernel also writes through this pointer, and no token orders the accesses",
            "pass the token of one access to the other",
        )


def tensor_cores(op: Operation, scope: Scope) -> Iterator[Finding]:
    """Matrix products that tensor cores do not support, or compute inefficiently."""
    if not isinstance(op, MmaF | MmaI | MmaFScaled):
        return
    source, target = element_type(op.lhs.type), scope.target
    if source is F32:
        yield Finding(
            "f32-mma",
            "tensor cores do not support f32 operands: this product uses scalar multiply-adds",
            "convert both operands to tf32 (ftof) if 10 bits of mantissa are sufficient",
        )
    if source in _FP8 and not (target.has(Feature.MMA_SYNC_FP8) or target.multiplies_asynchronously):
        yield Finding(
            "fp8-mma",
            f"{target.name} has no tensor core for {source}: the operands are widened first",
            "use f16 there",
        )
    if isinstance(op, MmaF) and element_type(op.acc.type) is F16:
        yield Finding(
            "f16-accumulator",
            "the accumulator is f16, with 10 bits of mantissa and a maximum of 65504",
            "accumulate in f32 and convert at the end",
        )
    *_, rows, depth = op.lhs.type.shape
    columns = op.rhs.type.shape[-1]
    least = 256 // element_bits(source)
    if source is not F32 and (rows < 16 or columns < 8 or depth < least):
        yield Finding(
            "small-mma",
            f"{rows}x{columns}x{depth} is less than the smallest instruction's 16x8x{least}, so part of its "
            "work is wasted",
            "use larger tiles, or batch several products",
        )
    elif target.multiplies_asynchronously and rows < 64 and columns >= 64:
        yield Finding(
            "narrow-mma",
            f"{rows} rows do not fill the 64 of {target.name}'s widest instructions",
            "swap the operands, so that the rows have the larger extent",
        )


def size(op: Operation, scope: Scope) -> Iterator[Finding]:
    """Tiles that do not fit in registers or shared memory."""
    target = scope.target
    registers = target.registers_per_block * 4
    if not isinstance(op, Constant | Iota | Broadcast | Reshape):
        for result in op.results:
            if isinstance(result.type, TileType) and tile_bytes(result.type) > registers // 2:
                count = tile_bytes(result.type)
                fits = "more than" if count > registers else "more than half of"
                yield Finding(
                    "large-tile",
                    f"this tile takes {count // 1024} KiB, {fits} the {registers // 1024} KiB of registers of a block "
                    f"on {target.name}",
                    "use a smaller tile; values that do not fit are spilled to memory",
                )
    if isinstance(op, For | Loop):
        needed = _operand_bytes(op)
        if 2 * needed > target.max_shared_per_block:
            yield Finding(
                "large-operands",
                f"the operands of this loop's matrix products take {needed // 1024} KiB an iteration; two iterations "
                f"do not fit the {target.max_shared_per_block // 1024} KiB of shared memory of {target.name}",
                "make the tiles smaller along the reduction dimension",
            )


def _operand_bytes(loop: Operation) -> int:
    """Bytes of the loaded tiles that are operands of matrix products directly in the loop."""
    found: dict[Value, int] = {}
    for region in loop.regions:
        for op in (op for block in region.blocks for op in block.operations):
            if isinstance(op, MmaF | MmaI | MmaFScaled):
                for value in (op.lhs, op.rhs):
                    source = _loaded(value)
                    if (
                        source is not None
                        and source.defining_op is not None
                        and source.defining_op.parent is op.parent
                    ):
                        found[source] = tile_bytes(source.type)  # type: ignore[arg-type]
    return sum(found.values())


def _loaded(value: Value) -> Value | None:
    """The loaded tile from which a value is converted or rearranged."""
    while (op := value.defining_op) is not None:
        if isinstance(op, _LOADS):
            return value
        if len(op.operands) != 1:
            return None
        value = op.operand(0)
    return None


def arithmetic(op: Operation, scope: Scope) -> Iterator[Finding]:
    """Arithmetic that requires a subroutine for each element."""
    if (
        isinstance(op, DivF | Sqrt)
        and op.result.type.shape
        and element_type(op.result.type) is F32
        and op.rounding_mode.value not in ("approx", "full")
    ):
        modes = "rounding<full> or rounding<approx>" if isinstance(op, DivF) else "rounding<approx>"
        yield Finding(
            "exact-rounding",
            "an exactly rounded result requires a subroutine for each element",
            f"{modes} is faster",
        )
    if isinstance(op, DivI | RemI) and op.result.type.shape:
        divisor = scope.facts.divisor(op.rhs)
        if not isinstance(op.rhs.defining_op, Constant) or divisor & (divisor - 1):
            yield Finding(
                "integer-division",
                "integer division takes tens of instructions for each element",
                "divide before broadcasting, or by a constant power of two",
            )


def wrong_hints(op: Operation, scope: Scope) -> Iterator[Finding]:
    """Optimization hints that are ignored."""
    for problem in hints.problems(op):
        yield Finding("invalid-hint", problem, "a hint that is not valid is ignored")


CHECKS: tuple[Rule, ...] = (
    tensor_view, view_access, indices, pointer_access, order, tensor_cores, size, arithmetic, wrong_hints,
)  # fmt: skip

RULES: dict[str, tuple[str, str]] = {
    "unaligned-base": ("memory", "a tensor view whose base is not known to be a multiple of 16 bytes"),
    "unassumed-stride": ("memory", "a stride that is not known to be a multiple of 16 bytes"),
    "unaligned-stride": ("memory", "a constant stride that is not a multiple of 16 bytes"),
    "unassumed-extent": ("memory", "rows of unknown length, which need a bounds check for each vector"),
    "no-unit-stride": ("memory", "a tensor without a dimension of stride 1"),
    "short-rows": ("memory", "tiles that cover less than 32 bytes of each row"),
    "unspecified-padding": ("memory", "loads whose elements outside the tensor have no defined value"),
    "negative-index": ("memory", "an index of a view that may be negative, as that of a halo"),
    "pointer-tile": ("memory", "many elements that are moved through one pointer each"),
    "unordered-access": ("memory", "a load and a store through the same pointer that no token orders"),
    "ignored-hint": ("hints", "a hint that the target does not support"),
    "invalid-hint": ("hints", "a hint with an unknown name or a value out of range"),
    "f32-mma": ("tensorcore", "an f32 matrix product, which tensor cores do not support"),
    "fp8-mma": ("tensorcore", "an 8-bit float matrix product on a target without the instruction"),
    "f16-accumulator": ("tensorcore", "a matrix product that accumulates in f16"),
    "small-mma": ("tensorcore", "a matrix product smaller than one instruction"),
    "narrow-mma": ("tensorcore", "a matrix product with few rows, on a target whose instruction computes 64"),
    "large-tile": ("resources", "a tile that uses most of a block's registers"),
    "large-operands": (
        "resources",
        "matrix operands that leave no shared memory for a second pipeline stage",
    ),
    "exact-rounding": ("arithmetic", "f32 divisions and square roots with exact rounding"),
    "integer-division": ("arithmetic", "integer divisions, element by element"),
}
"""Rule → (category, description)."""

__all__ = ["CHECKS", "RULES", "Finding", "Scope", "stores_of"]


def stores_of(kernel: Operation) -> frozenset[Value]:
    """The pointers through which a kernel writes."""
    found: set[Value] = set()
    for op in kernel.walk():
        if isinstance(op, StoreViewTko):
            found.add(root_of(op.view))
        elif isinstance(op, _STORES):
            found.add(root_of(op.operand(0)))
    return frozenset(found)
