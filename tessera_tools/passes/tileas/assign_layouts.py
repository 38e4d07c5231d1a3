"""tileas-assign-layouts: assigns a layout to every tensor value; conversions are inserted where a use needs another.

    tie values into classes  →  anchors choose the layouts of their classes, strongest first  →  layouts propagate
    through copies  →  other classes get the default layout  →  conversions where an op's operands and results disagree

Values that must agree (operands and results of an elementwise op, carried values of a loop) form a class.
layout_rules.py defines what each op ties, prefers and demands.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from tessera_tools.diagnostics import error
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.builtin_attributes import DenseElementsAttr
from tessera_tools.ir.core import Block, Builder, Operation, OpOperand, OpResult, Value
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout import LayoutError, LinearLayout, classify
from tessera_tools.layout.conversion import register_move
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.explain import explain_layouts, explain_products
from tessera_tools.planning.kernel import check_tiles, kernels, known_target, unit_of
from tessera_tools.planning.layout_rules import (
    ANCHORS,
    DEMANDS,
    Copy,
    copies,
    default_layout,
    is_known,
    is_tile,
    narrow_atom,
    ties,
)
from tessera_tools.planning.shared_memory import fit_access
from tessera_tools.target import ExecutionUnit

MOST_ELEMENTS = 1024
"""The maximum number of elements of a tile in one thread; more would mostly be spilled."""

_COST = {"identity": 0, "registers": 0, "select": 1, "shuffle": 4, "shared": 8}
"""The cost of a conversion per element, by kind (layout.classify); only the order matters."""
_ROUND_TRIP = 64
"""The cost of the barriers of a conversion through shared memory, in the same unit."""


class AssignLayouts(Pass):
    """Give every tensor a layout."""

    name: ClassVar = "tileas-assign-layouts"
    summary: ClassVar = "assign a layout to every tensor"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops and a kernel_spec on each kernel"
    ensures: ClassVar = "every ranked tensor in a kernel carries a #nv_tileas.linear encoding"
    statistics: ClassVar = {"conversions": "layout conversions inserted"}

    def run(self, op: Operation, context: PassContext) -> None:
        for function in kernels(op):
            check_tiles(function)
            accesses = [
                access
                for access in function.walk()
                if isinstance(access, nv_tileas.Store | nv_tileas.Load)
                and _needs_layout(access.value if isinstance(access, nv_tileas.Store) else access.res)
            ]
            assignment = Assignment(function)
            context.count("conversions", assignment.run())
            for access in accesses:
                fit_access(access, known_target(op))
            if context.explains:
                explain_layouts(assignment, context)
                explain_products(function, known_target(op), context)


class Reason(NamedTuple):
    """The reason for the layout of a class: the op that requested it, and the number of copies in between."""

    op: Operation | None
    """None for the default layout, of tiles without a request."""
    copies: int = 0


def conversion_cost(old: LinearLayout, new: LinearLayout) -> int:
    """The cost of a conversion for a thread."""
    if old == new:
        return 0
    kind = classify(old, new)
    fixed = _ROUND_TRIP if kind == "shared" else 0
    return fixed + _COST[kind] * max(old.in_size("register"), new.in_size("register"))


class Assignment:
    """One function's classes, their layouts, and the rewriting of types."""

    def __init__(self, function: Operation) -> None:
        self.function = function
        self.units: dict[Block | None, ExecutionUnit] = {}
        self.parent: dict[Value, Value] = {}
        self.layouts: dict[Value, LinearLayout] = {}
        self.conversions = 0
        self.tiles: list[Value] = []
        self.reasons: dict[Value, Reason] = {}
        """By class."""
        self.tying: list[tuple[Operation, Value]] = []
        """(an op that ties tiles, one of the tiles)."""
        self.overruled: list[tuple[Operation, Value]] = []
        """(an op that requested a layout, the class that has another)."""
        self.made: list[tuple[nv_tileas.ConvertLayout, Operation, Value]] = []
        """(a conversion, the op that needs it, the tile before or after it whose layout was chosen)."""
        self.turning = {op.parent for op in function.walk() if isinstance(op, nv_tileas.OrderWait)}
        """The blocks in which turns of warpgroups begin."""

    def unit(self, op: Operation | None) -> ExecutionUnit:
        """The execution unit of an op; for None, the function's CTA."""
        block = op.parent if op is not None else None
        if block not in self.units:
            self.units[block] = unit_of(op if op is not None else self.function)
        return self.units[block]

    # -- classes

    def find(self, value: Value) -> Value:
        """The representative of a value's class."""
        root = value
        while (up := self.parent.get(root, root)) is not root:
            root = up
        while (up := self.parent.get(value, value)) is not root:
            self.parent[value] = root
            value = up
        return root

    def tie(self, a: Value, b: Value) -> None:
        """Put two tiles into one class."""
        ra, rb = self.find(a), self.find(b)
        if ra is not rb:
            self.parent[rb] = ra

    # -- the pass

    def run(self) -> int:
        """Assign layouts; returns the number of inserted conversions."""
        ops = list(self.function.walk())
        tiles: list[Value] = []
        for op in ops:
            if not is_known(op) and any(map(_needs_layout, (*op.operands, *op.results))):
                raise op.error("carries tiles, and has no layout assignment in this version")
            for first, *rest in ties(op):
                self.tying.append((op, first))
                for other in rest:
                    self.tie(first, other)
            tiles += filter(is_tile, op.results)
            for region in op.regions:
                for block in region.blocks:
                    tiles += filter(is_tile, block.arguments)
        self.tiles = tiles
        self.choose(ops, tiles)
        for argument in self.function.regions[0].entry.arguments:
            if _needs_layout(argument):
                raise self.function.error(
                    f"has an argument of type {argument.type}; expected pointers, views and scalars"
                )
        for value in tiles:
            self.set_type(value)
        for op in ops:
            self.convert(op)
        return self.conversions

    def choose(self, ops: list[Operation], tiles: list[Value]) -> None:
        """Give every class a layout."""
        neighbors: dict[Value, list[Copy]] = {}
        for op in ops:
            for copy in copies(op):
                neighbors.setdefault(self.find(copy.source), []).append(copy)
                neighbors.setdefault(self.find(copy.result), []).append(copy)
        anchors = [
            (-strength, position, self.find(value), layout, Reason(op))
            for position, (op, (value, strength, layout)) in enumerate(
                (op, anchor)
                for op in ops
                if op.name in ANCHORS
                for anchor in ANCHORS[op.name](op, self.unit(op).warps)
                if anchor[0].type.encoding is None  # type: ignore[attr-defined]
            )
        ]
        self.spread(anchors, neighbors)
        # Without a request, the largest tiles get the default layout first; the others follow from them.
        free = sorted((v for v in tiles if v.type.encoding is None), key=lambda v: -v.type.num_elements)  # type: ignore[attr-defined]
        for value in free:
            root = self.find(value)
            if root not in self.layouts:
                default = default_layout(value.type, self.unit(_place(value)).warps)  # type: ignore[arg-type]
                self.spread([(0, 0, root, default, Reason(None))], neighbors)

    def spread(
        self,
        anchors: list[tuple[int, int, Value, LinearLayout, Reason]],
        neighbors: dict[Value, list[Copy]],
    ) -> None:
        """Give classes the layouts of their anchors, and neighboring classes the layouts that need no data movement,
        nearest and strongest anchors first."""
        heapq.heapify(anchors)
        count = len(anchors)
        while anchors:
            strength, _, root, layout, reason = heapq.heappop(anchors)
            if root in self.layouts:
                if reason.op is not None and not reason.copies and self.layouts[root] != layout:
                    self.overruled.append((reason.op, root))
                continue
            self.layouts[root] = layout
            self.reasons[root] = reason
            for copy in neighbors.get(root, ()):
                for value, map_layout in ((copy.result, copy.forward), (copy.source, copy.backward)):
                    other = self.find(value)
                    if other is root or other in self.layouts:
                        continue
                    try:
                        found = map_layout(layout)
                    except LayoutError:
                        continue
                    # A copy that repeats elements does not determine the layout of the larger tile.
                    if found is not None and (
                        value is copy.source or copy.source.type.num_elements >= copy.result.type.num_elements  # type: ignore[attr-defined]
                    ):
                        count += 1
                        further = Reason(reason.op, reason.copies + 1)
                        heapq.heappush(anchors, (strength, count, other, found, further))

    def set_type(self, value: Value) -> None:
        """Write a value's layout into its type."""
        type = value.type
        assert isinstance(type, RankedTensorType)
        if type.encoding is not None:
            return
        threads = self.unit(_place(value)).threads
        elements = type.num_elements // threads
        if elements > MOST_ELEMENTS:
            raise error(
                value.location,
                f"a tile of type {type} puts {elements} elements in each of {threads} threads; at most "
                f"{MOST_ELEMENTS} are supported, because a thread has 255 registers: use a smaller tile, or more warps "
                '(--convert-tileaa-to-tileas="num-warps=…")',
            )
        value.type = nv_tileas.with_layout(type, self.layouts[self.find(value)])

    # -- conversions

    def convert(self, op: Operation) -> None:
        """Insert the conversions that an op's operands or results need."""
        for group in ties(op):
            self.agree(op, group)
        made = copies(op)
        if made and not all(_needs_no_movement(c) for c in made):
            self.convert_copies(op, made)
            for group in ties(op):
                self.agree(op, group)
        if op.name in DEMANDS:
            self.convert_demands(op, DEMANDS[op.name](op, self.unit(op).warps))
        if isinstance(op, nv_tileaa.Load | nv_tileaa.Store):
            narrow_atom(op)
        if op.name == "arith.constant" and is_tile(op.results[0]):
            value = op.attributes["value"]
            assert isinstance(value, DenseElementsAttr)
            op.attributes["value"] = DenseElementsAttr(op.results[0].type, value.data)

    def convert_demands(self, op: Operation, demands: list[tuple[Value, LinearLayout]]) -> None:
        """Convert the demanded operands: if a value is several operands, one use for each demand, in order."""
        uses = list(op.op_operands)
        for value, layout in demands:
            if isinstance(value, OpResult) and value.op is op:
                self.convert_result(value, layout)
                continue
            for use in uses:
                if use.value is value:
                    uses.remove(use)
                    self.convert_use(use, layout)
                    break

    def agree(self, op: Operation, group: Sequence[Value]) -> None:
        """Tied operands that already have layouts (partly assigned input) are converted to the last of the group."""
        wanted = nv_tileas.layout_of(group[-1].type)
        for use in op.op_operands:
            if use.value in group:
                self.convert_use(use, wanted)

    def convert_copies(self, op: Operation, made: list[Copy]) -> None:
        """Convert the operands of a copying op, or its results, whichever is cheaper."""
        inputs = self.input_layouts(made)
        price = sum(
            conversion_cost(nv_tileas.layout_of(c.source.type), layout)
            for c, layout in zip(made, inputs or (), strict=inputs is not None)
        )
        outputs = _output_layouts(made)
        other = sum(
            conversion_cost(layout, nv_tileas.layout_of(c.result.type))
            for c, layout in zip(made, outputs or (), strict=outputs is not None)
        )
        if inputs is not None and (outputs is None or price <= other):
            for c, layout in zip(made, inputs, strict=True):
                for use in op.op_operands:
                    if use.value is c.source:
                        self.convert_use(use, layout)
        else:
            # Every rule has a layout for all in one direction at least (layout_rules.py).
            assert outputs is not None
            for c, layout in zip(made, outputs, strict=True):
                if c.result in op.results:
                    self.convert_result(c.result, layout)

    @staticmethod
    def input_layouts(made: list[Copy]) -> list[LinearLayout] | None:
        """The operands' layouts that need no data movement for the results' layouts; None if there are none."""
        found = []
        for c in made:
            try:
                layout = c.backward(nv_tileas.layout_of(c.result.type))
            except LayoutError:
                return None
            if layout is None or not layout.is_surjective():
                return None
            found.append(layout)
        return found

    def convert_use(self, use: OpOperand, layout: LinearLayout) -> None:
        """Convert a use of a value to a layout."""
        value = use.value
        if nv_tileas.layout_of(value.type) == layout:
            return
        conversion = nv_tileas.ConvertLayout(value, res=nv_tileas.with_layout(value.type, layout))  # type: ignore[arg-type]
        place = _outside_loops(use)
        if place.parent in self.turning:
            place = _before_turn(place, value)
        Builder.before(place).insert(conversion)
        self.made.append((conversion, use.owner, value))
        use.set(conversion.results[0])
        self.conversions += 1

    def convert_result(self, result: Value, layout: LinearLayout) -> None:
        """The op produces `layout`; its users still see the layout of the class."""
        seen = result.type_as(RankedTensorType)
        if nv_tileas.layout_of(seen) == layout:
            return
        op = result.defining_op
        assert op is not None
        result.type = nv_tileas.with_layout(seen, layout)
        conversion = nv_tileas.ConvertLayout(result, res=seen)
        Builder.after(op).insert(conversion)
        self.made.append((conversion, op, result))
        result.replace_all_uses_with(conversion.results[0], keep=lambda use: use.owner is conversion)
        self.conversions += 1


def _outside_loops(use: OpOperand) -> Operation:
    """The op before which a conversion for a use is inserted: the outermost loop in which the value does not change."""
    place: Operation = use.owner
    home = use.value.owner_block
    while (loop := place.parent_op) is not None and isinstance(loop, LoopLike) and place.parent is not home:
        if home is not None and loop.is_ancestor_of(home.parent_op):
            break
        place = loop
    return place


def _before_turn(place: Operation, value: Value) -> Operation:
    """The begin of the turn in which an op stands, if the value is there; else the op itself.

    A conversion may need a barrier of all warpgroups, for which they do not wait while one of them has a turn.
    """
    op = place.prev_op
    while op is not None and op is not value.defining_op and not isinstance(op, nv_tileas.OrderArrive):
        if isinstance(op, nv_tileas.OrderWait):
            return op
        op = op.prev_op
    return place


def _place(value: Value) -> Operation | None:
    """An op in the block that defines a value; None for a parameter of the function."""
    block = value.owner_block
    return block.first_op if block is not None else None


def _needs_layout(value: Value) -> bool:
    """True if a value is a tile without a layout."""
    return isinstance(value.type, RankedTensorType) and value.type.encoding is None


def _needs_no_movement(copy: Copy) -> bool:
    """True if each thread already holds the source of its part of the result."""
    source, result = nv_tileas.layout_of(copy.source.type), nv_tileas.layout_of(copy.result.type)
    try:
        if copy.seen is None:
            return copy.forward(source) == result
        return register_move(source, copy.seen(result)) is not None
    except LayoutError:
        return False


def _output_layouts(made: list[Copy]) -> list[LinearLayout] | None:
    try:
        return [c.forward(nv_tileas.layout_of(c.source.type)) for c in made]
    except LayoutError:
        return None


__all__ = ["AssignLayouts", "Assignment", "conversion_cost"]
