"""The accesses of a `tile` program to each buffer in shared memory, and their cost in wavefronts.

    tile.load_shared, tile.store_shared, …   by element: index expressions         analysis/bank_conflicts.py
    tile.mma, tile.wgmma, tile.wmma          slices of operands by their layouts   passes/tile/compute.py
    tile.cp_async, _cg, tile.tma_load        pieces of rows, threads along rows    planning/layout_rules.py

The layouts are those of convert-tile-to-tileas; they do not depend on the selected instruction.
"""

from __future__ import annotations

from typing import Protocol

from tessera_tools.analysis.bank_conflicts import (
    NOTHING,
    Wavefronts,
    count_wavefronts,
    element_access,
)
from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.fragments import Fragments, is_fragment
from tessera_tools.analysis.lane_values import WARP, LaneValues
from tessera_tools.analysis.storage import padded_bits, storage_bits
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import tile
from tessera_tools.dialects.tile.asynchronous import CopyLike
from tessera_tools.dialects.tile.compute import Product
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import MemRefType
from tessera_tools.layout import (
    LayoutError,
    LinearLayout,
    MatrixAccess,
    VectorAccess,
    coalesced,
    transpose,
    vector_access,
)
from tessera_tools.passes.tile.alignment import alignment_of
from tessera_tools.passes.tile.compute import prefers_rows, product_atom
from tessera_tools.passes.tile.slices import slice_of
from tessera_tools.passes.tile.warpgroup_products import by_warpgroups
from tessera_tools.planning.dot_layouts import operand_layouts, warp_grid
from tessera_tools.planning.shared_memory import full_tile_registers, slice_plan
from tessera_tools.records import dataclass
from tessera_tools.target import Target

BY_ELEMENT = (tile.LoadShared, tile.StoreShared, tile.LoadSharedVector, tile.StoreSharedVector)
_MATRIX_ROW = 16
"""Bytes of a row of ldmatrix."""


class Cost(Protocol):
    """The cost of an access for any layout of its buffer."""

    def wavefronts(self, memory: LinearLayout) -> list[Wavefronts]:
        """The wavefronts of a block per execution: one value for each distinct case."""
        ...


@dataclass(frozen=True)
class SharedAccess:
    """One access of a buffer; `cost` is None if unknown."""

    op: Operation
    cost: Cost | None


class Accesses:
    """The accesses of shared memory of one function."""

    def __init__(
        self, function: Operation, fragments: Fragments, divergent: set[Value], target: Target
    ) -> None:
        self.function = function
        self.fragments = fragments
        self.lanes = LaneValues(fragments.threads, divergent)
        self.target = target

    def of(self, buffer: Value) -> list[SharedAccess]:
        """The accesses of a buffer."""
        found: list[SharedAccess] = []
        for use in buffer.uses:
            op = use.owner
            cost: Cost | None = None
            if isinstance(op, BY_ELEMENT):
                cost = (
                    element_access(op, self.lanes) if storage_bits(op.buffer.type.element) % 8 == 0 else None
                )
            elif isinstance(op, Product):
                cost = self._operand(op, buffer, use.index)
            elif isinstance(op, CopyLike):
                cost = self._copy(op)
            elif isinstance(op, tile.Spill | tile.Reload):
                cost = _kept(op, self.fragments.threads // WARP)
            found.append(SharedAccess(op, cost))
        return found

    def _operand(self, op: Product, buffer: Value, side: int) -> Cost | None:
        """The slices of an operand of a product, as `compute.product` reads them."""
        slices = operand_slices(op, side, self.fragments, self.target)
        type = buffer.type_as(MemRefType)
        if slices is None:
            return None
        return _Slices(slices, padded_bits(type.element), self.fragments.threads // WARP, self.target)

    def _copy(self, op: CopyLike) -> Cost | None:
        """The pieces that the threads copy."""
        bits = padded_bits(op.dest.type.element)
        vector = self._copied_elements(op)
        if vector is None or vector * bits not in (32, 64, 128):
            return None
        try:
            layout = coalesced(op.dest.type.shape, vector, self.fragments.threads // WARP)
        except LayoutError:
            return None
        return _Pieces(layout, bits, vector * bits, self.fragments.threads // WARP)

    def _copied_elements(self, op: CopyLike) -> int | None:
        """The number of elements per access of a thread: the result of analysis.access.vector_elements when the copy is
        lowered, from the declared alignment of the kernel's tensors."""
        found = slice_of(op.source)
        if found is None:
            return None
        size = storage_bits(op.dest.type.element) // 8
        divisors = found.column_divisors(op.dest.type.shape, Facts(), alignment_of(self.function))
        count = 1
        while (
            2 * count * size <= 16
            and 2 * count <= op.dest.type.shape[-1]
            and all(divisor % (2 * count) == 0 for divisor in divisors)
        ):
            count *= 2
        return count


def operand_slices(
    op: Product, side: int, fragments: Fragments, target: Target
) -> tuple[LinearLayout, ...] | None:
    """The layouts in which a product reads operand 0 or 1 from shared memory, slice by slice along K; None if
    unknown.  No thread reads the factors of wgmma."""
    if op.res not in fragments.shapes:
        return None
    if by_warpgroups(op, fragments, target) is not None:
        return ()
    m, n = fragments.shape(op.res)
    turned = op.transposes_b if side else op.transposes_a
    type = op.operand(side).type_as(MemRefType)
    k = type.shape[(0 if side else 1) ^ turned]
    try:
        atom = product_atom(op, target)
        grid = warp_grid((m, n), fragments.threads // WARP, along_rows=prefers_rows(op))
        step = k if is_fragment(op.lhs) or is_fragment(op.rhs) else max(atom.mnk[2], 1)
        slices: list[LinearLayout] = []
        for _ in range(0, k, step):
            layout = operand_layouts((m, n), min(step, k), atom, grid)[side]
            layout = transpose(layout, (1, 0)) if turned else layout
            slices.append(full_tile_registers(layout, type.shape))
    except (DiagnosticError, LayoutError):
        return None
    return tuple(slices)


@dataclass(frozen=True)
class _Known:
    """A cost that does not depend on the layout."""

    count: Wavefronts

    def wavefronts(self, memory: LinearLayout) -> list[Wavefronts]:
        return [self.count]


def _kept(op: tile.Spill | tile.Reload, warps: int) -> Cost:
    """A spill or reload: the lanes of a warp access whole lines."""
    type = op.value.type if isinstance(op, tile.Spill) else op.res.type
    count = warps * -(-type.num_elements * storage_bits(type.element) // 32)
    return _Known(Wavefronts(count, count))


@dataclass(frozen=True)
class _Slices:
    """Loads of slices of a tile, of these layouts."""

    layouts: tuple[LinearLayout, ...]
    bits: int
    warps: int
    target: Target

    def wavefronts(self, memory: LinearLayout) -> list[Wavefronts]:
        total = NOTHING
        for layout in self.layouts:
            total += counted(slice_plan(layout, memory, self.bits, self.target), self.bits, self.warps)
        return [total]


@dataclass(frozen=True)
class _Pieces:
    """Copies of a tile in pieces of `bits` bits."""

    layout: LinearLayout
    element_bits: int
    bits: int
    warps: int

    def wavefronts(self, memory: LinearLayout) -> list[Wavefronts]:
        plan = vector_access(self.layout, memory, self.element_bits, self.bits)
        return [counted(plan, self.element_bits, self.warps, self.layout.free_variable_masks())]


def counted(
    plan: VectorAccess | MatrixAccess, element_bits: int, warps: int, idle: dict[str, int] | None = None
) -> Wavefronts:
    """The wavefronts of the instructions of a plan, for all warps of a block.

    idle: bits of `lane` and `warp`; threads with one of them set do not take part.
    """
    masks = idle or {}
    if isinstance(plan, MatrixAccess):
        lanes, width, count = range(8 * plan.num), _MATRIX_ROW, len(plan.registers)
    else:
        lanes, width, count = range(WARP), plan.bits // 8, len(plan.groups)
    total = NOTHING
    for warp in range(warps):
        if warp & masks.get("warp", 0):
            continue
        base = [plan.address.base(lane=lane, warp=warp) for lane in lanes if not lane & masks.get("lane", 0)]
        for number in range(count):
            constant = plan.address.constants[number]
            total += count_wavefronts([(b ^ constant) * element_bits // 8 for b in base], width)
    return total
