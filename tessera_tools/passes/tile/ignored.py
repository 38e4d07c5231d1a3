"""Attributes of `tile` ops that have no effect, with the reasons: a remark at the op reports it.

    tile.cp_async %m, %s {priority = "high"}      remark: priority is ignored: cp.async has no priorities

Every other attribute has an effect, or states a fact that the verifier checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tessera_tools.diagnostics import Remark, emit
from tessera_tools.dialects import tile
from tessera_tools.dialects.tile.asynchronous import CopyLike
from tessera_tools.dialects.tile.collectives import Collective
from tessera_tools.dialects.tile.compute import Product
from tessera_tools.ir.builtin_attributes import FALSE, TRUE, StringAttr
from tessera_tools.ir.core import Operation

_GLOBAL_BY_ELEMENT = (
    tile.LoadGlobal,
    tile.StoreGlobalElement,
    tile.LoadGlobalVector,
    tile.StoreGlobalVector,
)

IMPLEMENTATION = StringAttr("nccl")
"""The implementation of the collectives that the compiler inserts."""


def remark_ignored(op: Operation, source: str = "convert-tile-to-tileas", **facts: object) -> None:
    """Emits a remark for each attribute of an op without effect.

    source: the pass that lowers the op.
    facts: facts of the lowering: `bits` of one piece of a copy, `instruction` of a product.
    """
    for name, why in _ignored(op, facts):
        remark = Remark("remark", op.location, f"{name} is ignored: {why}")
        remark.source, remark.rule, remark.kind = source, "ignored-attribute", "missed"
        emit(remark)


def _ignored(op: Operation, facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if isinstance(op, CopyLike):
        yield from _of_copy(op, facts["bits"], facts.get("box"))
    elif isinstance(op, Product):
        yield from _of_product(op, facts["instruction"])
    elif isinstance(op, tile.AllocRegister):
        for name in ("layout", "vector_width"):
            if name in op.attributes:
                yield name, "the ops that use the fragment determine which elements each thread holds"
    elif isinstance(op, tile.StoreGlobal | tile.LoadGlobalTile) and op.coalesce is not None:
        yield "coalesce", "tiles are copied along rows, with the widest access that their alignment allows"
    elif isinstance(op, _GLOBAL_BY_ELEMENT) and op.coalesce is FALSE:
        yield "coalesce = false", "the hardware coalesces the accesses of a warp"
    elif isinstance(op, tile.ProfileMarker):
        for name in ("kind", "subject"):
            yield name, "records contain only the number of the marker in program order"
    elif isinstance(op, Collective) and op.implementation not in (None, IMPLEMENTATION):
        yield "implementation", "the transport is chosen when the ranks start (tessera-run --transport)"


def _of_copy(op: Any, bits: int, box: tuple[int, ...] | None) -> Iterator[tuple[str, str]]:
    if op.double_buffer is not None:
        yield "double_buffer", "buffers are allocated explicitly; allocate two, or run tile-double-buffering"
    if op.stages is not None:
        yield "stages", "stages are explicit; allocate and wait for each stage"
    if op.priority is not None:
        name = "cp.async" if box is None else "TMA"
        yield "priority", f"{name} has no priorities; copies complete in the order of their groups"
    if box is not None:
        if op.bypass_l1 is FALSE:
            yield "bypass_l1 = false", "TMA does not copy through L1"
        if isinstance(op, tile.TmaLoad) and op.tile_size is not None and op.box != box:
            yield "tile_size", f"the boxes have {'x'.join(map(str, box))} elements, as the buffer requires"
        return
    if op.bypass_l1 is TRUE and bits < 128:
        yield "bypass_l1", f"cp.async.cg moves 16 bytes, but this copy moves {bits // 8} at a time"
    if op.bypass_l1 is FALSE and bits == 128:
        yield "bypass_l1 = false", "copies of 16 bytes are cp.async.cg"
    if isinstance(op, tile.TmaLoad) and op.tile_size is not None:
        yield "tile_size", "the copy is compiled as cp.async"


def _of_product(op: Product, instruction: str | None) -> Iterator[tuple[str, str]]:
    if op.accumulate is TRUE and op.acc is None:
        yield (
            "accumulate",
            "there is no accumulator operand; use tile.accumulate to add a product to a fragment",
        )
    if op.precision is not None:
        yield "precision", "the operand and result types determine the precision of the sum"
    named = op.attributes.get("intrinsic")
    if isinstance(named, StringAttr) and named.value != instruction:
        made = instruction or "fused multiply-adds"
        yield "intrinsic", f"the product is compiled as {made}"
