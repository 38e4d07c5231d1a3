"""Remarks on a kernel with layouts: the reason for each layout, the instruction of each product, and the width of each
access with its limit.

    %0 = nv_tileas.dot …          remark[passed]: product by #cute_nvgpu.mma_atom<…> [product]
    %1 = nv_tileas.tiled_load …   remark[missed]: access of 16 bits at a time, not 128: the base is not known … [width]
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tessera_tools.analysis.access import WIDEST_ACCESS, storage_bits, vector_limits
from tessera_tools.analysis.axis import Axes, is_elementwise, pointer_limit
from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.interfaces import BranchLike, LoopLike
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout import classify
from tessera_tools.passes.base import PassContext
from tessera_tools.passes.tileas.missed import place_of
from tessera_tools.passes.tileas.products import types_advice
from tessera_tools.target import Feature, Target

if TYPE_CHECKING:
    from tessera_tools.passes.tileas.assign_layouts import Assignment

__all__ = ["explain_layouts", "explain_loads", "explain_products", "explain_stores"]

_WAYS = {
    "identity": "nothing",
    "registers": "renamed registers",
    "select": "selects between registers",
    "shuffle": "shuffles between the lanes of a warp",
    "shared": "a round trip through shared memory",
}
"""The implementation of a conversion, by kind (layout.classify)."""
_ATOMS = {"dot": "mma_atom", "async.dot": "mma_atom", "tiled_load": "copy_atom", "tiled_store": "copy_atom"}
"""The attribute that requests a layout, by the op's name without its dialect; for other ops, the op itself."""


def explain_layouts(assignment: Assignment, context: PassContext) -> None:
    """A remark for each layout that was chosen, for each op that was overruled, and for each conversion."""
    find = assignment.find
    sizes = Counter(find(value) for value in assignment.tiles)
    through: dict[Value, Counter[str]] = {}
    for root, op in dict.fromkeys((find(value), op) for op, value in assignment.tying):
        if isinstance(op, LoopLike | BranchLike) or is_elementwise(op):
            what = "loop" if isinstance(op, LoopLike) else "branch" if op.regions else "elementwise op"
            through.setdefault(root, Counter())[what] += 1

    def reason(root: Value) -> str:
        """`from mma_atom at gemm.mlir:12:8, through 3 elementwise ops and 1 copy`."""
        found = assignment.reasons[root]
        if found.op is None:
            return "the default one"
        ways = Counter(through.get(root, Counter()))
        if found.copies:
            ways["copy"] = found.copies
        path = f", through {_listed([_count(n, word) for word, n in ways.items()])}" if ways else ""
        name = found.op.name
        return f"from {_ATOMS.get(name.partition('.')[2], name)}{place_of(found.op)}{path}"

    prices: dict[Operation, list[str]] = {}
    for conversion, user, _ in assignment.made:
        old, new = (nv_tileas.layout_of(v.type) for v in (conversion.source, conversion.res))
        prices.setdefault(user, []).append(_WAYS[classify(old, new)])
    for root, found in assignment.reasons.items():
        anchor = found.op or root.defining_op or assignment.function
        tiles = f"{_count(sizes[root], 'tile')} of type {_plain_text(root)}"
        context.passed(anchor, f"layout of {tiles}: {reason(root)}", "layout", "layout")
    for op, root in assignment.overruled:
        ways = Counter(prices.get(op, ()))
        price = " and ".join(
            f"a conversion that uses {way}" if count == 1 else f"{count} conversions that each use {way}"
            for way, count in ways.items()
        )
        context.missed(
            op,
            f"'{op.name}' prefers another layout for its tile of type {_plain_text(root)}, but must use the layout of "
            f"its tied tiles, which is {reason(root)}; the cost is {price or 'no conversion'}",
            "layout",
            "layout",
        )
    for conversion, user, value in assignment.made:
        old, new = (nv_tileas.layout_of(v.type) for v in (conversion.source, conversion.res))
        root = find(value)
        has = f", which is {reason(root)}" if root in assignment.reasons else ""
        context.missed(
            user,
            f"'{user.name}' needs a tile of type {_plain_text(value)} in a different layout than it has{has}; the "
            f"conversion uses {_WAYS[classify(old, new)]}",
            "conversion",
            "layout",
        )


def _plain_text(value: Value) -> str:
    """`64x64xf16`: a tile's type without its layout."""
    type = value.type
    assert isinstance(type, RankedTensorType)
    return f"{type.dims_text()}{type.element}"


def _count(number: int, word: str) -> str:
    """`1 copy`, `2 copies`."""
    plural = {"copy": "copies", "branch": "branches"}.get(word, f"{word}s")
    return f"{number} {word if number == 1 else plural}"


def _listed(items: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(items[:-1]), items[-1])))


def explain_products(function: Operation, target: Target | None, context: PassContext) -> None:
    """A remark at each product with its instruction; missed if it does not use tensor cores, or if these do not
    multiply by its scales although the target's could."""
    scales = target is not None and target.has(Feature.MMA_SYNC_BLOCK_SCALE)
    for op in function.walk():
        asynchronous = isinstance(op, nv_tileas.AsyncDot | nv_tileas.Umma)
        if asynchronous or (isinstance(op, nv_tileas.Dot) and not op.atom.is_fma):
            context.passed(op, f"product by {op.atom}", "product", "tensorcore")
            if scales and isinstance(op, nv_tileas.Dot) and op.scales and not op.atom.is_scaled:
                depth, type = op.a.type.shape[-1], op.scales[0].type
                context.missed(
                    op,
                    f"scales of {type.element} multiply sums of {depth // type.shape[-1]} of {depth} terms: mma.sync "
                    f"takes no such scales with {op.a.type.element}",
                    "product",
                    "tensorcore",
                )
        elif isinstance(op, nv_tileas.Dot):
            a, b, c = (value.type.element for value in (op.a, op.b, op.c))
            context.missed(
                op,
                f"product by {op.atom}: no tensor core instruction multiplies {a} by {b} into {c}",
                "product",
                "tensorcore",
                *filter(None, [types_advice((a, b, c))]),
            )


def explain_loads(function: Operation, context: PassContext) -> None:
    """A remark at each load from global memory: its width; missed, with the reason, if it is not the widest."""
    _explain_accesses(function, context, (nv_tileas.TiledLoad, nv_tileaa.Load))


def explain_stores(function: Operation, context: PassContext) -> None:
    """As `explain_loads`, for the stores."""
    _explain_accesses(function, context, (nv_tileas.TiledStore, nv_tileaa.Store))


def _explain_accesses(
    function: Operation, context: PassContext, classes: tuple[type[Operation], ...]
) -> None:
    facts = Facts()
    axes = Axes(facts)
    for op in (op for op in function.walk() if isinstance(op, classes)):
        if isinstance(op, nv_tileas.TiledLoad | nv_tileas.TiledStore):
            moved = op.moved.type
            view = op.view.defining_op
            if not isinstance(view, nv_tileaa.MakeMemRef):
                continue
            plain = RankedTensorType(moved.shape, moved.element)
            bits, limits = op.atom.bits, vector_limits(view, op.indices, plain, facts)
            count = min(limit.elements for limit in limits)
            # The first limit is the widest access itself, which is not a reason.
            reasons = [limit.why for limit in limits[len(limits) > 1 :] if limit.elements == count]
        elif isinstance(op, nv_tileaa.Load | nv_tileaa.Store):
            moved = op.moved.type
            if not isinstance(moved, RankedTensorType):
                continue
            bits = op.copy_atom.bits
            _, count, why = pointer_limit(op, axes)
            reasons = [why]
        else:
            continue
        if bits < count * storage_bits(moved.element):
            reasons = ["the layout of the tile has no more adjacent elements in one thread"]
        if bits == WIDEST_ACCESS:
            context.passed(op, f"access of {bits} bits at a time", "width", "memory")
        else:
            message = f"access of {bits} bits at a time, not {WIDEST_ACCESS}: {reasons[0]}"
            context.missed(op, message, "width", "memory", *(f"also, {why}" for why in reasons[1:]))
