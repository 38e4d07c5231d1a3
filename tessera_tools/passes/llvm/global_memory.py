"""Global memory: tiled loads and stores, asynchronous copies into shared memory.

The address of a thread's element at register r is  base + Σ_d (index_d + thread_d + constant_d(r)) · stride_d.  The
parts of the thread and the register are invariant in a loop and hoisted as a pointer; the indices add one offset per
iteration.  The addresses of several copies of a tile follow from each other instead.  Addresses are computed in 64
bits.  An element is in bounds if, on every axis, its coordinate in the tile is less than the extent minus the index.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from tessera_tools.analysis.access import in_bounds
from tessera_tools.analysis.storage import element_bytes
from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import llvm, nv_tileaa, nv_tileas
from tessera_tools.dialects.nvvm.attributes import LoadCacheModifierAttr
from tessera_tools.ir.builtin_attributes import element_attribute, i32
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I32, I64, TF32, IntegerType, VectorType
from tessera_tools.layout import LinearLayout, as_xor_expression, coalesced, vector_access
from tessera_tools.passes.llvm.cache import load, store
from tessera_tools.passes.llvm.casts import rounded
from tessera_tools.passes.llvm.emitter import Emitter, Int
from tessera_tools.passes.llvm.inline_asm import instruction
from tessera_tools.passes.llvm.instructions import guarded, only_where
from tessera_tools.passes.llvm.lowering import Lowering, emits, lowers
from tessera_tools.passes.llvm.shared_memory import stage_pointer
from tessera_tools.passes.llvm.tiles import (
    Tile,
    View,
    converted,
    from_memory,
    into_memory,
    scalar_attribute,
    stored,
)
from tessera_tools.planning.accesses import (
    MANY_ROWS,
    MANY_STORED_ROWS,
    access_layout,
    access_vector,
    layout_axis,
)
from tessera_tools.records import dataclass


@dataclass(slots=True)
class Group:
    """One access: registers of adjacent elements, and the coordinates of the first."""

    registers: tuple[int, ...]
    constants: tuple[int, ...]


def groups_along(layout: LinearLayout, axis: int, elements: int) -> list[Group]:
    """Accesses of `elements` adjacent elements along an axis; replicated elements only once."""
    expressions = [as_xor_expression(layout, out=name) for name in layout.out_dims]
    found: dict[tuple[int, ...], int] = {}
    for register in range(layout.in_size("register")):
        found.setdefault(tuple(x.constants[register] for x in expressions), register)
    groups: list[Group] = []
    for at in found:
        if at[axis] % elements == 0:
            run = [(*at[:axis], at[axis] + i, *at[axis + 1 :]) for i in range(elements)]
            groups.append(Group(tuple(found[c] for c in run), at))
    return groups


@lowers("nv_tileaa.make_memref")
def make_memref(low: Lowering, op: nv_tileaa.MakeMemRef) -> None:
    """The view's numbers in 32 or 64 bits, unsigned."""
    strides = [v if isinstance(v, int) else _at_least_32(low, v) for v in op.strides()]
    extents = [v if isinstance(v, int) else _at_least_32(low, v) for v in op.extents()]
    low.define(op.res, View(low.scalar(op.base), extents, strides, op.res.type.element))


def _at_least_32(low: Lowering, value: Value) -> Value:
    lowered = low.scalar(value)
    type = lowered.type
    if isinstance(type, IntegerType) and type.width < 32:
        return low.e.resized(lowered, I32)
    if type not in (I32, I64):
        raise Refusal(f"an extent or stride of type {value.type}; at most 64 bits are supported")
    return lowered


_FEW_COPIES = 4
"""Up to so many copies of a tile by a thread, hoisted addresses take few registers, and none waits for another."""


class _Access:
    """The addresses and bounds of one tiled access."""

    def __init__(
        self, low: Lowering, op: Any, layout: LinearLayout, shape: Sequence[int], indices: Sequence[Value]
    ) -> None:
        self.e = low.e
        self.view: View = low.view(op.view)
        self.indices = [low.scalar(v) for v in indices]
        self.bytes = element_bytes(self.view.element)
        self.rank = len(self.indices)
        self.layout = layout
        self.expressions = [as_xor_expression(layout, out=f"dim{d}") for d in range(self.rank)]
        for expression in self.expressions:
            self.e.thread_part(expression)  # here, where no condition holds yet
        view = op.view.defining_op
        self.axis = layout_axis(op)
        self.shape = shape
        self.known_inside = in_bounds(view, indices, shape, low.facts)

    def groups(self, elements: int) -> list[Group]:
        """Accesses of `elements` adjacent elements along the contiguous axis; replicated elements only once."""
        return groups_along(self.layout, self.axis, elements)

    def coordinate(self, d: int, constant: int) -> Int:
        """The thread's coordinate along an axis for a register's constant, without the index."""
        return self.e.add(*self.e.parts(self.expressions[d], constant))

    def address(self, group: Group) -> Value:
        """The address of a group's first element."""
        e, view = self.e, self.view
        pointer = view.base
        terms: list[Int] = []
        for d in range(self.rank):
            stride = view.strides[d]
            moving, fixed = e.parts(self.expressions[d], group.constants[d])
            scale = self._bytes_of(stride)
            terms.append(e.mul(e.zext(moving), scale, I64))
            terms.append(e.mul(scale, fixed, I64))
            terms.append(e.mul(e.zext(self.indices[d]), scale, I64))
        computed = [t for t in terms if isinstance(t, Value)]
        # Invariant parts first, so that pointers are hoisted as far as possible.
        depths = {id(t): e.depth.get(t, 0) for t in computed}
        for depth in sorted(set(depths.values())):
            total: Int = 0
            for term in computed:
                if depths[id(term)] == depth:
                    total = e.add(total, term, I64)
            pointer = e.gep(pointer, total)
        return e.gep(pointer, sum(t for t in terms if isinstance(t, int)), shared=False)

    def address_after(self, before: Group, pointer: Value, group: Group) -> Value:
        """The address of a group, from that of the group before it, if they are a dynamic stride apart in a loop.

        The address of each group without its indices would be hoisted, and take two registers throughout the loop. The
        distance is the same for all groups, so it takes two in total, for the same number of additions.
        """
        e = self.e
        apart = [d for d in range(self.rank) if before.constants[d] != group.constants[d]]
        if len(apart) == 1 and not isinstance(stride := self.view.strides[apart[0]], int):
            distance = self._distance(apart[0], before, group)
            if distance is not None and self._moves(stride):
                return e.gep(pointer, distance)
        return self.address(group)

    def in_turn(self, groups: list[Group], many: int) -> Callable[[Group], Value]:
        """What gives the address of each group in turn: of many rows at a dynamic stride in a loop, from that of the
        first group of the row before, and within a row at a constant from the first one (see `address_after`)."""
        rows = [d for d in range(self.rank) if not isinstance(self.view.strides[d], int)]
        places = {tuple(group.constants[d] for d in rows) for group in groups}
        strides = [stride for stride in self.view.strides if not isinstance(stride, int)]
        if len(places) < many or not all(map(self._moves, strides)):
            return self.address
        head: tuple[Group, Value] | None = None

        def address(group: Group) -> Value:
            nonlocal head
            found = None
            if head is not None:
                distances = [self._distance(d, head[0], group) for d in range(self.rank)]
                total: Int = 0
                for distance in distances:
                    total = 0 if distance is None else self.e.add(total, distance, I64)
                if None not in distances:
                    found = self.e.gep(head[1], total, shared=not isinstance(total, int))
            found = self.address(group) if found is None else found
            if head is None or any(head[0].constants[d] != group.constants[d] for d in rows):
                head = group, found
            return found

        return address

    def _distance(self, d: int, before: Group, group: Group) -> Int | None:
        """The bytes from one group to another along an axis; None if they are not the same in all threads."""
        (moving, start), (same, end) = (
            self.e.parts(self.expressions[d], one.constants[d]) for one in (before, group)
        )
        return self.e.mul(self._bytes_of(self.view.strides[d]), end - start, I64) if moving is same else None

    def _moves(self, stride: Value) -> bool:
        """Whether the tile is in a loop in which the stride does not change."""
        depth = self.e.depth
        return max(depth.get(v, 0) for v in self.indices) > depth.get(stride, 0)

    def _bytes_of(self, stride: Int) -> Int:
        return (
            stride * self.bytes
            if isinstance(stride, int)
            else self.e.mul(self.e.zext(stride), self.bytes, I64)
        )

    def inside(self, group: Group) -> Value | None:
        """True if the group is in bounds (completely or not at all); None if it is known to be."""
        conditions: list[Value | None] = []
        for d in range(self.rank):
            if not self.known_inside[d]:
                coordinate = self.coordinate(d, group.constants[d])
                conditions.append(self.e.icmp("ult", coordinate, self.left(d)))
        return self.e.both(conditions)

    def left(self, d: int) -> Int:
        """The number of elements of the tile in bounds along an axis, or more than the tile has; 0 if the tile is out
        of bounds."""
        e, extent, index = self.e, self.view.extents[d], self.indices[d]
        if isinstance(extent, int) and isinstance(index, int):
            return max(0, extent - index)
        narrow = extent < 1 << 32 if isinstance(extent, int) else extent.type is I32
        type = I32 if narrow else I64
        end, start = (e.constant(v, type) if narrow else e.constant(e.zext(v), I64) for v in (extent, index))
        # max(start, extent) - start is 0 if the start is beyond the end.
        most = e.pure("umax", (end, start), lambda: llvm.UMax(end, start))
        left = e.pure(llvm.Sub, (most, start), lambda: llvm.Sub(most, start))
        if narrow:
            return left
        limit = e.constant(self.shape[d], I64)
        return e.resized(e.pure("umin", (left, limit), lambda: llvm.UMin(left, limit)), I32)

    def owner(self) -> Value | None:
        """True if this thread is the one, of several that hold the same elements, to store them."""
        return self.e.no_bit_set(self.layout.free_variable_masks())


def _vector(op: nv_tileas.TiledLoad | nv_tileas.TiledStore, layout: LinearLayout) -> int:
    """The number of elements of one access, from the atom; raises an error if a thread does not hold that many adjacent
    ones."""
    wanted = max(1, op.atom.bits // (8 * element_bytes(op.view.type.element)))
    held = access_vector(op, layout)
    if held < wanted:
        raise op.error(
            f"moves {wanted} elements per access with its atom {op.atom}, but each thread holds {held} contiguous "
            "elements; choose a narrower atom"
        )
    return wanted


@lowers("nv_tileas.tiled_load")
@emits("ldg")
def tiled_load(low: Lowering, op: nv_tileas.TiledLoad) -> None:
    """Vector loads with bounds checks; accesses with the same condition share a branch."""
    e = low.e
    layout = nv_tileas.layout_of(op.res.type)
    access = _Access(low, op, layout, op.res.type.shape, op.indices)
    element = access.view.element
    register_type = converted(element)
    try:
        bits = op.padding.bits(element)
    except Refusal as problem:
        raise op.error(f"is not supported by convert-tileas-to-llvm in this version: {problem}") from None
    filler = (
        e.constant_of(scalar_attribute(element_attribute(bits, element)), register_type)
        if bits is not None
        else e.undefined(register_type)
    )
    cache = op.cache.value if op.cache is not None else ""
    elements: list[Any] = [None] * layout.in_size("register")
    every = access.groups(_vector(op, layout))
    # Agents keep other values in registers meanwhile: their sums, or the tiles that they load next.
    address_of = access.in_turn(every, MANY_ROWS) if e.is_agent else access.address
    for condition, groups in _by_condition(access, every, None).values():
        # The next ones may follow from these, wherever the condition holds.
        places = [address_of(group) for group in groups] if address_of != access.address else []

        def loads(groups: list[Group] = groups, places: list[Value] = places) -> list[Value]:
            found: list[Value] = []
            for number, group in enumerate(groups):
                found += _load(e, access, group, places[number] if places else access.address(group), cache)
            return found

        width = sum(len(g.registers) for g in groups)
        values = iter(guarded(e, condition, [filler] * width, loads))
        for group in groups:
            for register in group.registers:
                elements[register] = next(values)
    fill_copies(layout, elements)
    if op.rounds:
        elements = [rounded(e, value, TF32) for value in elements]
    low.define(op.res, Tile(op.res.type, elements))
    low.define(op.out_token, None)


def fill_copies(layout: LinearLayout, elements: list[Any]) -> None:
    """Registers that replicate another's element get its value."""
    if not layout.free_variable_masks().get("register", 0):
        return
    dims = [as_xor_expression(layout, out=name).constants for name in layout.out_dims]
    loaded = {
        tuple(constants[register] for constants in dims): value
        for register, value in enumerate(elements)
        if value is not None
    }
    for register, value in enumerate(elements):
        if value is None:
            elements[register] = loaded[tuple(constants[register] for constants in dims)]


def _by_condition(
    access: _Access, groups: list[Group], also: Value | None
) -> dict[Hashable, tuple[Value | None, list[Group]]]:
    """Groups by their condition."""
    found: dict[Hashable, tuple[Value | None, list[Group]]] = {}
    for group in groups:
        condition = access.e.both([access.inside(group), also])
        found.setdefault(condition, (condition, []))[1].append(group)
    return found


def _load(e: Emitter, access: _Access, group: Group, place: Value, cache: str) -> list[Value]:
    element = access.view.element
    count = len(group.registers)
    in_memory = stored(element)
    type = VectorType((count,), in_memory) if count > 1 else in_memory
    loaded = load(e, place, type, cache)
    return [from_memory(e, v, element) for v in e.elements(loaded, count, in_memory)]


@lowers("nv_tileas.tiled_store")
@emits("stg")
def tiled_store(low: Lowering, op: nv_tileas.TiledStore) -> None:
    """Vector stores with bounds checks; one thread stores an element that several hold."""
    e = low.e
    layout = nv_tileas.layout_of(op.value.type)
    access = _Access(low, op, layout, op.value.type.shape, op.indices)
    element = access.view.element
    values = low.tile(op.value).elements(e)
    cache = op.cache.value if op.cache is not None else ""
    every = access.groups(_vector(op, layout))
    address_of = access.in_turn(every, MANY_STORED_ROWS)
    for condition, groups in _by_condition(access, every, access.owner()).values():
        # The next ones may follow from these, wherever the condition holds.
        places = [address_of(group) for group in groups] if address_of != access.address else []
        with only_where(e, condition):
            for number, group in enumerate(groups):
                packed = e.vector(
                    [into_memory(e, values[r], element) for r in group.registers], stored(element)
                )
                store(e, packed, places[number] if places else access.address(group), cache)
    low.define(op.out_token, None)


_LINE = 128
"""The size of a cache line, in bytes."""


@lowers("nv_tileas.tiled_prefetch")
def tiled_prefetch(low: Lowering, op: nv_tileas.TiledPrefetch) -> None:
    """One prefetch for each 128 bytes of a row, by one thread."""
    e = low.e
    shape, element = tuple(op.shape.values), op.view.type.element
    vector = max(1, _LINE // element_bytes(element))
    axis = layout_axis(op)
    layout = coalesced(shape, vector, low.unit.warps, axis)
    access = _Access(low, op, layout, shape, op.indices)
    owner = access.owner()
    for group in access.groups(min(vector, shape[axis])):
        condition = e.both([access.inside(group), owner])
        instruction(e, "prefetch.global.L2 [{0}]", [access.address(group)], condition)


@lowers("nv_tileas.async.tiled_copy")
@emits("cp_async")
def async_tiled_copy(low: Lowering, op: nv_tileas.AsyncTiledCopy) -> None:
    """cp.async of 4, 8 or 16 bytes; out of bounds, the source size is 0 and zeros are written (PTX ISA, cp.async)."""
    e = low.e
    buffer = low.buffer(op.buffer)
    element = op.view.type.element
    bits = 8 * element_bytes(element)
    vector = op.atom.bits // bits
    tile = op.buffer.type.tile
    layout = access_layout(op, tile, low.unit.warps)
    plan = vector_access(layout, buffer.layout, bits, op.atom.bits)
    # Registers may be in any order, but a copy keeps that of the view.
    adjacent = min(
        next((n for n, register in enumerate(group) if register != group[0] + n), len(group))
        for group in plan.groups
    )
    if adjacent != vector or op.atom.bits not in (32, 64, 128):
        raise op.error(
            f"copies {op.atom.bits} bits at a time, but the buffer's layout has {adjacent * bits} contiguous bits, "
            "and cp.async moves 32, 64 or 128; choose another atom"
        )
    access = _Access(low, op, layout, tile, op.indices)
    when = low.scalar(op.when) if op.when is not None else None
    size = vector * bits // 8
    modifier = LoadCacheModifierAttr("cg" if size == 16 else "ca")
    with only_where(e, access.owner()):
        before: tuple[Group, Value] | None = None
        many = len(plan.groups) > _FEW_COPIES
        for i, registers in enumerate(plan.groups):
            group = Group(registers, tuple(x.constants[registers[0]] for x in access.expressions))
            destination = stage_pointer(low, buffer, op.stage, plan.address, i)
            # Two selects instead of a conjunction: for an iteration that does not exist, the bounds may be poison.
            taken = e.select(when, e.select(access.inside(group), size, 0), 0)
            address = access.address_after(*before, group) if before and many else access.address(group)
            before = group, address
            e.nvvm(
                "cp.async.shared.global",
                [destination, address, e.constant(taken)],
                size=i32(size),
                modifier=modifier,
            )
