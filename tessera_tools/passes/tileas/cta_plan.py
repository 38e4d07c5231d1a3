"""The parts of the tiles of a kernel with a cluster, and how they follow from those of some tiles (cta_arms.py)."""

from __future__ import annotations

from collections import deque

from tessera_tools.analysis.access import contiguous_axis, storage_bits
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.core import Operation, OpResult, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.passes.tileas.cta_arms import BACKWARD, FORWARD, Conflict, agree, arm_of, maker_of
from tessera_tools.passes.tileas.cta_layouts import Blocks, part_shape, replicated, retype, with_blocks
from tessera_tools.planning.layout_rules import is_tile

_YIELDS = ("scf.yield", "nv_tileaa.yield")
_EXITS = ("nv_tileaa.break", "nv_tileaa.continue")


def _other_part(op: Operation, value: Value) -> Conflict:
    return Conflict(op, f"needs another part of {value.type} than the CTA has")


class Plan:
    """The parts of the tiles of a function."""

    def __init__(self, function: nv_tileaa.Func, count: int) -> None:
        self.function = function
        self.bits = count.bit_length() - 1
        self.blocks: dict[Value, Blocks] = {}
        self.work: deque[tuple[Value, str]] = deque()
        self.parts: tuple[int, int] = (1, 1)
        """Along rows and columns."""
        self.why = ""
        self.anchor: tuple[Operation, Value] | None = None
        """The op at which parts are asked for first, and the tile."""
        self.others: list[Operation] = []
        """Products and sums of several CTAs whose parts do not follow from that one."""

    def of(self, value: Value) -> Blocks:
        """The parts of a tile; whole tiles if nothing has asked for others."""
        type = value.type_as(RankedTensorType)
        return self.blocks.get(value) or replicated(type.rank, self.bits)

    def give(self, value: Value, blocks: Blocks, by: Operation) -> None:
        """A value has these parts, because of an op.  Raises Conflict if it has others."""
        type = value.type_as(RankedTensorType)
        if part_shape(type.shape, blocks) is None:
            raise Conflict(by, f"would have parts of {type} that are no boxes")
        known = self.blocks.get(value)
        if known is not None:
            if known != blocks:
                raise Conflict(
                    by, f"needs another part of {type} than the CTA has, which would be in another CTA"
                )
            return
        self.blocks[value] = blocks
        self.work += [(value, BACKWARD), (value, FORWARD)]

    def spread(self) -> None:
        """Follow the arms from all values that have parts."""
        while self.work:
            value, direction = self.work.popleft()
            (self.step_backward if direction == BACKWARD else self.step_forward)(value)

    def step_backward(self, value: Value) -> None:
        op = maker_of(value)
        if op is None or op is self.function:
            return
        blocks = self.blocks[value]
        arm = arm_of(op, BACKWARD)
        if arm is None:
            if any(map(any, blocks)):
                raise Conflict(op, "makes tiles of which a CTA of a cluster cannot make a part")
            return
        for other, needed in arm.step(op, value, blocks):
            have = self.blocks.get(other, needed)
            if have != needed and agree(op, have, needed):
                continue
            self.give(other if have == needed else self.copy_for(op, other), needed, op)

    def copy_for(self, op: Operation, value: Value) -> Value:
        """A copy of a value for an op, which needs another part of it than others do; the value, if its op cannot be
        executed twice."""
        made = value.defining_op
        if made is None or made.regions or isinstance(made, nv_tileas.Dot):
            return value
        if not (is_pure(made) or isinstance(made, nv_tileas.TiledLoad)):
            return value
        uses = [
            use
            for use in value.uses
            if use.owner is op or (use.owner.parent_op is op and use.owner.has_trait(Terminator))
        ]
        if not uses:
            return value
        copy = made.clone()
        assert made.parent is not None
        made.parent.insert_after(made, copy)
        found = copy.results[value.index] if isinstance(value, OpResult) else value
        for use in uses:
            use.owner.set_operand(use.index, found)
        return found

    def step_forward(self, value: Value) -> None:
        blocks = self.blocks[value]
        for use in list(value.uses):
            op = use.owner
            owner: Operation | None = op
            if op.name in _YIELDS:
                owner = op.parent_op
            elif op.name in _EXITS:
                while owner is not None and owner.name != "nv_tileaa.loop":
                    owner = owner.parent_op
            assert owner is not None
            arm = arm_of(owner, FORWARD)
            if arm is None:
                if any(map(any, blocks)):
                    raise Conflict(owner, "takes tiles whole, of which a CTA of a cluster would have a part")
                continue
            for other, found in arm.step(owner, value, blocks):
                if other not in self.blocks:
                    self.give(other, found, owner)

    def check(self) -> None:
        """Raises Conflict unless every op has the parts of its operands that it needs."""
        for op in self.function.walk():
            for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.arguments)):
                arm = arm_of(op, BACKWARD) if is_tile(value) else None
                if arm is None:
                    continue
                for other, needed in arm.step(op, value, self.of(value)):
                    if not agree(op, self.of(other), needed):
                        raise _other_part(op, other)
            if isinstance(op, nv_tileas.TiledLoad | nv_tileas.TiledStore):
                self.check_rows(op)
            if isinstance(op, nv_tileas.ClusterReduceScatter) and not all(map(any, self.of(op.res))):
                # All CTAs need the same sums, of which each would get a part.
                raise _other_part(op, op.res)

    def check_rows(self, op: nv_tileas.TiledLoad | nv_tileas.TiledStore) -> None:
        """Raises Conflict if a part has rows that are shorter than an access of a thread."""
        value = op.moved
        part = part_shape(value.type.shape, self.of(value))
        along = contiguous_axis(op.view.defining_op)
        if part is None or along is None or part[along] == value.type.shape[along]:
            return
        bits = part[along] * storage_bits(value.type.element)
        if bits < op.atom.bits:
            raise Conflict(op, f"would move rows of {bits} bits in a CTA; its accesses have {op.atom.bits}")

    def show(self) -> None:
        """Write the parts to the types."""
        for op in self.function.walk():
            for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.arguments)):
                if is_tile(value):
                    plain = value.type_as(RankedTensorType)
                    retype(value, with_blocks(plain, self.of(value)))
