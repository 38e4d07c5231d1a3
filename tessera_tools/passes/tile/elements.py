"""Lowering of per-thread accesses: elements and vectors of shared and global memory, with indices by thread."""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import arith, llvm, nv_tileaa, nv_tileas, tile, vector
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.dialects.memref import DYNAMIC_INDEX
from tessera_tools.dialects.nv_tileas.base import SmemType
from tessera_tools.ir.builtin_attributes import TypeAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I1, I32, I64, INDEX, VectorType
from tessera_tools.passes.tile import hints
from tessera_tools.passes.tile.copies import stage_number
from tessera_tools.passes.tile.hints import load_operator, store_operator
from tessera_tools.passes.tile.ignored import remark_ignored
from tessera_tools.passes.tile.lowering import Lowering, handles


def _shared_place(
    low: Lowering, op: tile.StoreShared | tile.StoreSharedVector | tile.LoadShared | tile.LoadSharedVector
) -> tuple[Value, Value, list[Value]]:
    """The buffer, the stage and the indices in it that an op accesses."""
    shared = low.shared.get(op.buffer)
    if shared is None:
        raise op.error(f"uses {op.buffer.type}; expected the result of tile.alloc_shared, or a part of it")
    buffer = shared.buffer.type_as(SmemType)
    indices = [low.narrow(low.scalar(op, v)) for v in op.indices]
    ring = shared.ring
    if ring is None:
        # A view may keep dimensions of extent 1.
        return shared.buffer, shared.stage, indices[-len(buffer.tile) :]
    stage = stage_number(low, op, ring, list(op.indices[: ring.axis + 1]))
    inside = indices[ring.axis :]
    inside[0] = low.insert(arith.RemUI(inside[0], low.number(ring.tile[0], I32))).result
    return shared.buffer, stage, inside


def _whole_bytes(op: Any) -> None:
    element = op.buffer.type.element
    if storage_bits(element) % 8 or element is I1:
        raise op.error(f"accesses single elements of {element.width} bits; only whole bytes are supported")


@handles("tile.load_shared", "tile.load_shared_vector")
def load_shared(low: Lowering, op: tile.LoadShared | tile.LoadSharedVector) -> None:
    """Load one element, or a vector, of a buffer."""
    _whole_bytes(op)
    low.values[op.res] = low.insert(nv_tileas.LoadElement(*_shared_place(low, op), res=op.res.type)).res


@handles("tile.store_shared", "tile.store_shared_vector")
def store_shared(low: Lowering, op: tile.StoreShared | tile.StoreSharedVector) -> None:
    """The inverse of a load."""
    _whole_bytes(op)
    low.insert(nv_tileas.StoreElement(low.scalar(op, op.value), *_shared_place(low, op)))


def _wide(low: Lowering, value: Value) -> Value:
    if value.type is I64:
        return value
    if value.type is INDEX:
        return low.insert(arith.IndexCast(value, out=I64)).results[0]
    return low.insert(arith.ExtSI(value, out=I64)).out


def _place(
    low: Lowering,
    op: tile.LoadGlobal
    | tile.LoadGlobalVector
    | tile.StoreGlobalElement
    | tile.StoreGlobalVector
    | tile.Prefetch,
) -> Value:
    """The address of an element of a parameter, or of a slice of one: base + the sum of index · stride."""
    _whole_bytes(op)
    indices = [low.scalar(op, v) for v in op.indices]
    matrix = low.matrices.get(op.buffer)
    if matrix is not None:
        view: Any = matrix.view.defining_op
        base = view.base
        strides: list[int | Value] = list(view.strides())
        own = [low.insert(arith.IndexCast(v, out=I32)).results[0] for v in indices]
        indices = [
            low.insert(arith.AddI(offset, v)).result for offset, v in zip(matrix.offsets, own, strict=True)
        ]
    else:
        # Nothing but parameters and slices of them is in global memory.
        base, _, dynamic, _ = low.tensors[op.buffer]
        strides = [*dynamic[:-1], 1] if dynamic else []
    total: Value | None = None
    for index, stride in zip(indices, strides, strict=True):
        part = _wide(low, index)
        if isinstance(stride, Value):
            part = low.insert(arith.MulI(part, _wide(low, stride))).result
        elif stride != 1:
            part = low.insert(arith.MulI(part, low.number(stride, I64))).result
        total = part if total is None else low.insert(arith.AddI(total, part)).result
    if total is None:
        return base
    element = TypeAttr(op.buffer.type.element)
    return low.insert(nv_tileaa.Offset(base, total, element, res=PointerType(1))).res


@handles("tile.load_global", "tile.load_global_vector")
def load_global(low: Lowering, op: tile.LoadGlobal | tile.LoadGlobalVector) -> None:
    """Load one element, or a vector, of global memory."""
    remark_ignored(op)
    place = _place(low, op)
    low.values[op.res] = low.insert(nv_tileas.LoadGlobal(place, load_operator(op), res=op.res.type)).res
    hints.prefetch(low, op, [place], lambda v: nv_tileas.Prefetch(v[0]))


@handles("tile.store_global_element", "tile.store_global_vector")
def store_global(low: Lowering, op: tile.StoreGlobalElement | tile.StoreGlobalVector) -> None:
    """The inverse of a load."""
    remark_ignored(op)
    low.insert(nv_tileas.StoreGlobal(low.scalar(op, op.value), _place(low, op), store_operator(op)))


@handles("tile.prefetch")
def prefetch(low: Lowering, op: tile.Prefetch) -> None:
    low.insert(nv_tileas.Prefetch(_place(low, op)))


# -- fragments in shared memory


@handles("tile.spill")
def spill(low: Lowering, op: tile.Spill) -> None:
    """Store each thread's registers to its own part of the slot."""
    for user in op.slot.users:
        kept = user.value if isinstance(user, tile.Spill) else getattr(user, "res", None)
        if not isinstance(user, tile.Spill | tile.Reload) or kept is None or kept.type is not op.value.type:
            raise user.error("uses a spill slot; all fragments in a slot must have the same type")
    shared = low.stage(op, op.slot)
    low.insert(nv_tileas.Spill(low.tile(op, op.value), shared.buffer, shared.stage))


@handles("tile.reload")
def reload(low: Lowering, op: tile.Reload) -> None:
    """The inverse of a spill."""
    if not any(isinstance(user, tile.Spill) for user in op.slot.users):
        raise op.error("reloads from a slot to which nothing is spilled")
    shared = low.stage(op, op.slot)
    low.tiles[op.res] = low.insert(
        nv_tileas.Reload(shared.buffer, shared.stage, res=low.tile_type(op.res))
    ).res


# -- vectors of loaded elements


@handles("vector.extract")
def extract(low: Lowering, op: vector.Extract) -> None:
    """Extract one element at a constant position."""
    position = op.static_position.values
    if len(position) != 1 or position[0] in (DYNAMIC_INDEX, -1) or isinstance(op.result.type, VectorType):
        raise op.error("is not supported; expected one element at a constant position")
    place = low.number(position[0], I32)
    low.values[op.result] = low.insert(
        llvm.ExtractElement(low.scalar(op, op.source), place, res=op.result.type)
    ).results[0]


@handles("vector.from_elements")
def from_elements(low: Lowering, op: vector.FromElements) -> None:
    """Elements as a vector."""
    type = op.dest.type
    made = low.insert(llvm.Poison(res=type)).results[0]
    for number, value in enumerate(op.elements):
        place = low.number(number, I32)
        made = low.insert(llvm.InsertElement(made, low.scalar(op, value), place, res=type)).results[0]
    low.values[op.dest] = made
