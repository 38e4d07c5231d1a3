"""tileas-cut-products: a kernel whose tiles an SM has no room for computes their rows and columns in parts.

    acc = for k { dot a, b, acc : 256x256 }    ──▶    for p in 0..2 {
    store acc, c                                        acc = for k { dot a, b[:, 128 p:], acc : 256x128 }
                                                        store acc, c[:, 128 p:] }

256x256 sums of 32 bits are all registers of an SM, and two stages of 256x128x128 in tf32 more than its shared memory.
A loop over the parts is put around the kernel, or into its loops over tiles, which then have all parts of a tile before
the next tile.  The tiles that have rows or columns of the sums have only those of the part: what is loaded along
them, what is computed element by element, and what is stored.  The other factor is loaded for each part.  The producer
loads for the next part while the consumer stores.

A kernel is cut if it does nothing else than this: no other effects, no reduction along the axis, and no order that
would let a part read what another one has written.  In another kernel, a product whose factors are too deep adds fewer
terms at a time (cut_terms.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tessera_tools.analysis.axis import is_elementwise
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.arith.constants import splat_of
from tessera_tools.dialects.nv_tileaa import MEM_TOKEN
from tessera_tools.ir.builtin_attributes import DenseElementsAttr, i32
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.cut_terms import axis_before, cut_terms
from tessera_tools.passes.tileas.memory_order import MemoryOrder
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.part_indices import move_to_part
from tessera_tools.passes.tileas.products import has_room
from tessera_tools.planning.kernel import kernels_with
from tessera_tools.target import Feature, Target

_ROWS, _COLUMNS = 0, 1
_FEWEST = 64
"""Rows and columns of a part."""
_RESULTS = (nv_tileas.TiledStore, nv_tileas.Dot)
_FOR_EACH_PART = (nv_tileas.TiledLoad, nv_tileas.ClusterOrder, nv_tileaa.Func, scf.For, scf.If)
"""Ops with effects that may be executed for each part.  All CTAs of a cluster have as many parts."""


class CutProducts(Pass):
    """Compute products that an SM has no room for part by part."""

    name: ClassVar = "tileas-cut-products"
    summary: ClassVar = "compute the tiles of products in parts where an SM has no room for them"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts"
    ensures: ClassVar = "an SM has room for the products of a kernel that is cut"
    statistics: ClassVar = {"cut": "kernels whose tiles are computed in parts"}

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function, target in kernels_with(op, Feature.TMA):
            if not target.multiplies_asynchronously:
                continue
            while self.cut_one(function, target, context):
                changed = True
        return changed

    def cut_one(self, function: nv_tileaa.Func, target: Target, context: PassContext) -> bool:
        """Cut the first product for which there is no room; returns whether that changed something."""
        dots = [op for op in function.walk() if isinstance(op, nv_tileas.Dot)]
        large = next((dot for dot in dots if not has_room(dot, dot.c.type.shape, target, True)), None)
        if large is None:
            return False
        old = m, n = large.c.type.shape
        terms = large.a.type.shape[1]
        made = large
        try:
            shape = _part(dots, large, target)
            parts = {axis: old[axis] // shape[axis] for axis in (_ROWS, _COLUMNS) if shape[axis] != old[axis]}
            scope = _scope(function, parts)
            for axis, count in parts.items():
                _Axis(function, scope, axis, count).cut()
            text = f"computed in parts of {shape[0]}x{shape[1]}, one after the other: an SM has no room for {m}x{n}"
        except Missed as refusal:
            try:
                if len(dots) > 1:
                    # With other products, a kernel has several pipelines, and each may have a single stage.
                    raise Missed(large, "is not the only product")
                made = cut_terms(large, target)
            except Missed as other:
                why = f"{refusal.text(large)}, and it adds all terms at once: {other.text(large)}: use smaller tiles"
                text = f"{m}x{n} sums are not computed in parts, as an SM needs: {why}"
                context.failed(large, text, "product", "tensorcore", function=function)
                return False
            text = f"adds {made.a.type.shape[1]} terms at a time: an SM has no room for two stages of {m}x{n}x{terms}"
        context.passed(made, text, "product", "tensorcore", function=function)
        context.count("cut")
        return True


def _part(dots: list[nv_tileas.Dot], large: nv_tileas.Dot, target: Target) -> tuple[int, int]:
    """The largest part of a product for which there is room, of halves of the longer side.  Missed if other products
    have other tiles, or if there is no such part."""
    m, n = shape = large.c.type.shape
    if any(dot.c.type.shape != shape for dot in dots):
        raise Missed(large, "is not the only product, and the others have other tiles")
    # With tensor memory, factors and promoted sums take no registers beside the sums.
    alone = target.has(Feature.TCGEN05)
    while not all(has_room(dot, (m, n), target, alone) for dot in dots):
        if n > m and n > _FEWEST:
            n //= 2
        elif m > _FEWEST:
            m //= 2
        else:
            raise Missed(large, f"has no room for {m}x{n} sums either")
    return m, n


class _Axis:
    """The tiles of a kernel that have rows, or columns, of its sums.  Missed if they cannot be computed in parts."""

    def __init__(self, function: nv_tileaa.Func, scope: Block, axis: int, parts: int) -> None:
        self.function, self.axis, self.parts = function, axis, parts
        self.scope = scope
        """The block around whose ops the loop over the parts is put."""
        self.ops = [inner for op in scope for inner in (op, *op.walk())]
        self.inside = set(self.ops)
        self.axes: dict[Value, int] = {}
        """The tiles of which there is only a part, and its axis."""
        self.whole: set[Value] = set()
        """The tiles of which all is needed."""
        self.work: list[tuple[Value, int | None]] = []
        self.in_place: list[nv_tileas.TiledLoad] = []
        """Loads of tiles that are then stored."""
        self.check()
        self.demand()

    def check(self) -> None:
        """Missed if the kernel has other effects, or an order between its parts."""
        order = MemoryOrder()
        stores: list[nv_tileas.TiledStore] = []
        for op in self.ops:
            if isinstance(op, nv_tileas.TiledStore):
                stores.append(op)
            elif isinstance(op, _FOR_EACH_PART):
                continue
            elif not op.has_trait(Terminator) and not is_pure(op):
                raise Missed(op, "would be executed once for each part")
        for op in self.ops:
            if isinstance(op, nv_tileas.TiledLoad) and any(
                isinstance(o, nv_tileas.TiledStore) for o in order.before(op, within=self.scope)
            ):
                raise Missed(op, "is ordered by its token after a store")
        for store in stores:
            for load in order.before(store, within=self.scope):
                if isinstance(load, nv_tileas.TiledStore):
                    repeated = load not in order.before(store, again=False, within=self.scope)
                    if not _is_same_place(load, store) or (repeated and self._differs_in_a_loop(store)):
                        raise Missed(
                            store, "is ordered by its token after a store, perhaps to the same place"
                        )
                elif isinstance(load, nv_tileas.TiledLoad) and _is_same_place(load, store):
                    self.in_place.append(load)
                else:
                    raise Missed(
                        load, "is ordered by its token before a store, which another part would execute first"
                    )

    def _differs_in_a_loop(self, store: nv_tileas.TiledStore) -> bool:
        """Whether the place of a store may differ between iterations of loops within the scope."""
        parent = store.parent
        while parent is not self.scope and parent is not None:
            if any(value.owner_block is parent for value in (store.view, *store.indices)):
                return True
            parent = parent.parent_op.parent if parent.parent_op is not None else None
        return False

    # -- what has only a part

    def demand(self) -> None:
        """Find the tiles of which there is only a part, from the stores on."""
        for op in self.ops:
            if isinstance(op, nv_tileas.TiledStore):
                self.work.append((op.value, self.axis_of(op)))
        while self.work:
            value, axis = self.work.pop()
            if not isinstance(value.type, RankedTensorType):
                continue
            if axis is None:
                if value in self.axes:
                    raise Missed(_owner(value), "makes a tile of which all is needed, too")
                if value not in self.whole:
                    self.whole.add(value)
                    self.trace(value, None)
                continue
            if value in self.whole or self.axes.get(value, axis) != axis:
                raise Missed(_owner(value), "makes a tile of which all is needed, too")
            if value in self.axes:
                continue
            if value.type.shape[axis] % self.parts:
                raise Missed(_owner(value), f"makes a tile with an extent of {value.type.shape[axis]}")
            self.axes[value] = axis
            self.trace(value, axis)
        for op in self.ops:
            if isinstance(op, nv_tileas.Dot) and self.axes.get(op.res) != self.axis:
                raise Missed(op, "makes sums of which whole rows or columns are needed")
        for value in self.axes:
            for use in value.uses:
                if not self.takes_part(use.owner, use.index):
                    raise Missed(use.owner, "needs a whole tile of what is computed in parts")
        for load in self.in_place:
            if self.axes.get(load.res) != self.axis:
                raise Missed(load, "loads a tile that another part would change first")

    def axis_of(self, store: nv_tileas.TiledStore) -> int:
        """The axis of a stored tile along which it has parts.  Missed if it is no matrix, or several."""
        *others, _, _ = shape = store.value.type.shape if store.value.type.rank > 1 else (2, 1, 1)
        if any(n != 1 for n in others):
            raise Missed(store, "stores a tile that is no matrix")
        return len(shape) - 2 + self.axis

    def takes_part(self, user: Operation, index: int) -> bool:
        """Whether a use of a tile is one of its part."""
        if isinstance(user, nv_tileas.TiledStore):
            return True
        outer = user.parent_op
        if isinstance(user, scf.For):
            return user.iter_args[index - 3] in self.axes
        if isinstance(user, scf.Yield) and outer is not None:
            return (outer.iter_args if isinstance(outer, scf.For) else outer.results)[index] in self.axes
        return any(result in self.axes for result in user.results)

    def trace(self, value: Value, axis: int | None) -> None:
        """What a tile, or a part of it, is computed from."""
        op = value.defining_op
        if op is None:
            loop = _owner(value)
            if not isinstance(loop, scf.For) or value not in loop.iter_args:
                raise Missed(loop, "has a tile of which no part is known")
            number = next(n for n, v in enumerate(loop.iter_args) if v is value)
            self.work += [
                (loop.inits[number], axis),
                (loop.yielded[number], axis),
                (loop.results[number], axis),
            ]
        elif isinstance(op, scf.For):
            number = next(n for n, v in enumerate(op.results) if v is value)
            self.work += [(op.iter_args[number], axis)]
        elif isinstance(op, scf.If):
            number = next(n for n, v in enumerate(op.results) if v is value)
            ends = [region.entry.last_op for region in op.regions if region.blocks]
            self.work += [(end.operands[number], axis) for end in ends if end is not None]
        elif axis is None:
            self.work += [(operand, None) for operand in op.operands]
        elif isinstance(op, nv_tileas.Dot):
            if op.scales:
                raise Missed(op, "has scales")
            rows = axis == _ROWS
            self.work += [(op.a, axis if rows else None), (op.b, None if rows else axis), (op.c, axis)]
        elif isinstance(op, nv_tileaa.Permute):
            self.work.append((op.source, op.permutation.values[axis]))
        elif isinstance(op, nv_tileaa.Broadcast):
            self.work.append((op.source, None if op.source.type.shape[axis] == 1 else axis))
        elif isinstance(op, nv_tileaa.Reshape):
            self.work.append((op.source, axis_before(op, axis)))
        elif isinstance(op, nv_tileas.TiledLoad):
            if op not in self.inside:
                raise Missed(op, "loads the parts of several tiles")
        elif isinstance(op, nv_tileaa.Splat):
            pass
        elif isinstance(op, arith.Constant):
            if splat_of(op.attributes["value"]) is None:
                raise Missed(op, "has elements that differ")
        elif is_elementwise(op) and not op.regions:
            self.work += [(v, axis) for v in op.operands if isinstance(v.type, RankedTensorType)]
        else:
            raise Missed(op, "needs whole rows or columns")

    # -- the parts

    def cut(self) -> None:
        """Give the tiles the types of their parts, the accesses their places, and put a loop around them."""
        part = self.loop()
        for value, axis in self.axes.items():
            type = value.type_as(RankedTensorType)
            shape = tuple(n // self.parts if i == axis else n for i, n in enumerate(type.shape))
            value.type = RankedTensorType(shape, type.element)
            op = value.defining_op
            if isinstance(op, arith.Constant) and isinstance(op.value, DenseElementsAttr):
                op.attributes["value"] = DenseElementsAttr(value.type, op.value.data)
            elif isinstance(op, nv_tileas.TiledLoad):
                move_to_part(op, axis, type.shape[axis], self.parts, part)
        for op in self.ops:
            if isinstance(op, nv_tileas.TiledStore):
                axis = self.axis_of(op)
                move_to_part(op, axis, op.value.type.shape[axis] * self.parts, self.parts, part)

    def loop(self) -> Value:
        """Put what is not the same for all parts into a loop; returns the number of the part.

        The tokens that a persistent loop carries are joined with those of all parts.
        """
        end = self.scope.last_op
        assert end is not None
        inside = _of_parts(self.scope)
        results = {value for op in inside for value in op.results}
        carried = [(n, value) for n, value in enumerate(end.operands) if value in results]
        outer = self.scope.parent_op
        inits = [outer.iter_args[n] for n, _ in carried] if isinstance(outer, scf.For) else []
        builder = Builder.before(end)
        first, last, step = (
            builder.insert(arith.Constant(i32(n), location=end.location)).results[0]
            for n in (0, self.parts, 1)
        )
        types = [value.type for value in inits]
        block = Block([first.type, *types], [end.location] * (1 + len(types)))
        body = Region([block])
        made = scf.For(first, last, step, inits, results=types, body=body, location=end.location)
        builder.insert(made)
        for op in inside:
            op.detach()
            block.append(op)
        ending = Builder.at_end(block, end.location)
        after = [
            ending.insert(nv_tileaa.JoinMemTokens([before, value], res=MEM_TOKEN, location=end.location)).res
            for before, (_, value) in zip(block.arguments[1:], carried, strict=True)
        ]
        ending.insert(scf.Yield(after))
        for (n, _), value in zip(carried, made.results, strict=True):
            end.set_operand(n, value)
        return block.arguments[0]


def _scope(function: nv_tileaa.Func, parts: Mapping[int, int]) -> Block:
    """The innermost block that can be executed once for each part.  Missed, with the reason of the innermost, if there
    is none.

    parts: axis of the sums → how many.  A kernel that can be cut along one axis only stays as it is.
    """
    why: Missed | None = None
    for scope in reversed(_scopes(function)):
        try:
            for axis, count in parts.items():
                _Axis(function, scope, axis, count)
            return scope
        except Missed as missed:
            why = why or missed
    assert why is not None
    raise why


def _scopes(function: nv_tileaa.Func) -> list[Block]:
    """The blocks that have all products and stores, from outside, whose iterations take nothing that another one has
    computed for a part, but for the order of accesses."""
    scope = function.body.entry
    found = [scope]
    while True:
        around = [op for op in scope if any(isinstance(inner, _RESULTS) for inner in (op, *op.walk()))]
        loop = around[0] if len(around) == 1 else None
        if not isinstance(loop, scf.For):
            return found
        scope = loop.body.entry
        results = {value for op in _of_parts(scope) for value in op.results}
        if all(value not in results or value.type is MEM_TOKEN for value in loop.yielded):
            found.append(scope)


def _of_parts(block: Block) -> list[Operation]:
    """The ops of a block, without its terminator, that are executed for each part: all but those that compute the
    numbers of all parts."""
    inside: list[Operation] = []
    results: set[Value] = set()
    for op in block:
        tiles = any(isinstance(v.type, RankedTensorType) for v in op.results)
        if op.regions or tiles or not is_pure(op) or any(v in results for v in op.operands):
            inside.append(op)
            results.update(op.results)
    return [op for op in inside if not op.has_trait(Terminator)]


def _is_same_place(access: nv_tileas.TiledLoad | nv_tileas.TiledStore, store: nv_tileas.TiledStore) -> bool:
    return access.view is store.view and [*access.indices] == [*store.indices]


def _owner(value: Value) -> Operation:
    """The op that makes a value, or of which it is an argument."""
    block = value.owner_block
    op = value.defining_op or (block.parent_op if block is not None else None)
    assert op is not None
    return op
