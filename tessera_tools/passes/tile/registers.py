"""The registers of a `tile` program: fragments share registers if possible, and are spilled to shared memory if
necessary.

tile.mma ──▶ %s              tile.mma ──▶ %s; tile.spill %s, %slot
…                     ──▶    …                                          in between, the registers of %s are free
tile.add %s, %x              %r = tile.reload %slot; tile.add %r, %x
"""

from __future__ import annotations

from math import prod

from tessera_tools.analysis.fragments import Fragments, is_fragment
from tessera_tools.analysis.lane_values import trips
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import func, scf, tile
from tessera_tools.dialects.tile.compute import Product
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.ir.types import I64, MemRefType
from tessera_tools.passes.tile.interference import interferences, pinned
from tessera_tools.passes.tile.liveness import Liveness, read, registers
from tessera_tools.passes.tile.lowering import writes_of
from tessera_tools.passes.tile.shared_accesses import operand_slices
from tessera_tools.target import Target, max_registers_for

RESERVED = 20
"""Registers of a thread for values other than fragments and operands of products: addresses, counters, scalars.  This
is the median of ptxas's register counts for the examples (docs/tile.md has the table)."""
MARGIN = 12
"""Additional registers that the spiller keeps free, because ptxas loads early."""


def budget(target: Target, threads: int) -> int:
    """The number of registers for fragments and operands of a thread, for a block of `threads` threads."""
    return max_registers_for(target, threads=threads) - RESERVED - MARGIN


def operand_registers(op: Operation, fragments: Fragments, target: Target) -> tuple[int, int]:
    """The registers for a product's operands from shared memory: the minimum, for one step along K, and for all steps,
    which ptxas loads early if registers are available."""
    if not isinstance(op, Product) or op.res not in fragments.shapes:
        return 0, 0
    step = whole = 0
    for side, value in enumerate((op.lhs, op.rhs)):
        slices = operand_slices(op, side, fragments, target) if not is_fragment(value) else None
        if slices:
            bits = storage_bits(value.type.element)
            sizes = [-(-layout.in_size("register") * bits // 32) for layout in slices]
            whole += sum(sizes)
            step += sizes[0] if len(sizes) > 1 else min(sizes[0], _AT_ONCE)
    return step, whole


_LEAST = 16
"""Registers for temporaries of ops other than products."""
_AT_ONCE = 32
"""Registers for an operand that is read as a whole: ptxas reads it incrementally."""


def share(function: func.Func, fragments: Fragments) -> int:
    """Merge fragments of the same type with disjoint live ranges; returns the number of removed ones."""
    gone = 0
    fixed = pinned(function)
    meeting = interferences(Liveness(function))
    kept: list[tile.AllocRegister] = []
    for op in [op for op in function.walk() if isinstance(op, tile.AllocRegister)]:
        if op.res not in fragments.shapes or op.res in fixed or not op.res.has_uses:
            continue
        for other in kept:
            if _alike(op, other, fragments) and frozenset((op.res, other.res)) not in meeting:
                op.res.replace_all_uses_with(other.res)
                op.erase()
                for copy in [c for c in other.res.users if isinstance(c, tile.Copy) and c.source is c.dest]:
                    copy.erase()
                gone += 1
                meeting = interferences(Liveness(function))
                break
        else:
            kept.append(op)
    return gone


def _alike(a: tile.AllocRegister, b: tile.AllocRegister, fragments: Fragments) -> bool:
    return (
        a.res.type is b.res.type
        and a.parent is b.parent
        and a.attributes == b.attributes
        and fragments.shape(a.res) == fragments.shape(b.res)
    )


class Spiller:
    """Spills fragments of one function until the live ones fit."""

    def __init__(
        self, function: func.Func, fragments: Fragments, divergent: set[Value], target: Target
    ) -> None:
        self.limit = budget(target, fragments.threads)
        """The number of registers for fragments and operands."""
        self.function = function
        self.fragments = fragments
        self.divergent = divergent
        self.target = target
        self.unspillable: set[Value] = set()
        """Spilled fragments, and their reloads."""
        for op in function.walk():
            if isinstance(op, tile.Spill):
                self.unspillable.add(op.value)
            elif isinstance(op, tile.Reload):
                self.unspillable.add(op.res)

    def run(self) -> tuple[int, int, Operation | None]:
        """(number of spilled fragments, the final maximum of registers, its op)."""
        spilled = 0
        while True:
            liveness = Liveness(self.function)
            places = self._places(liveness)
            over = sorted((op for op in places if places[op] > self.limit), key=lambda op: -places[op])
            if not over:
                return spilled, max(places.values(), default=0), None
            choice = next((v for op in over if (v := self._choose(liveness, op)) is not None), None)
            if choice is None:
                return spilled, places[over[0]], over[0]
            self._spill(choice)
            spilled += 1

    def _places(self, liveness: Liveness) -> dict[Operation, int]:
        """The number of registers at each op for fragments and operands."""
        return {
            op: liveness.pressure(op) + max(_LEAST, operand_registers(op, self.fragments, self.target)[0])
            for op in self.function.walk()
            if not op.regions
        }

    def peak(self) -> tuple[int, Operation | None]:
        """The maximum number of registers, and its op."""
        places = self._places(Liveness(self.function))
        place = max(places, key=lambda op: places[op], default=None)
        return (places[place], place) if place is not None else (0, None)

    def _choose(self, liveness: Liveness, place: Operation) -> Value | None:
        """The best fragment to spill among those live across an op that does not use them: the smallest cost of stores
        and loads per freed register."""
        used = set(place.operands) | set(place.results)
        room = self.target.max_shared_per_block - _shared_bytes(self.function)
        best: tuple[float, Value] | None = None
        held = (liveness.before[place] & liveness.after[place]) - pinned(self.function)
        for value in [v for op in self.function.walk() for v in op.results if v in held]:
            type = value.type_as(MemRefType)
            if (
                value in used
                or value in self.unspillable
                or type.rank != 2
                or storage_bits(type.element) != 32
            ):
                continue
            if value not in self.fragments.shapes or self._slot_elements(value) * 4 > room:
                continue
            cost = sum(trips(unit) for unit in self._units(value)) / registers(value)
            if best is None or cost < best[0]:
                best = cost, value
        return best[1] if best is not None else None

    def _slot_elements(self, value: Value) -> int:
        return prod(value.type.shape) * self.fragments.threads  # type: ignore[attr-defined]

    def _units(self, value: Value) -> list[Operation]:
        """The ops that use a fragment, once each; for those in a divergent branch, the branch."""
        found: dict[Operation, None] = {}
        for use in value.uses:
            unit = use.owner
            around = unit.parent_op
            while around is not None and around is not self.function:
                if isinstance(around, scf.If) and around.condition in self.divergent:
                    unit = around
                around = around.parent_op
            found[unit] = None
        return list(found)

    def _spill(self, value: Value) -> None:
        type = value.type_as(MemRefType)
        shared = MemRefType((self._slot_elements(value),), type.element, None, IntegerAttr(tile.SHARED, I64))
        entry = self.function.body.entry
        slot = tile.AllocShared(res=shared, location=self.function.location)
        entry.insert_before(entry.first_op, slot)
        shape = self.fragments.shapes[value]
        units = self._units(value)
        definition = value.defining_op
        for unit in units:
            held = self._held(unit, value, slot.res)
            self.fragments.shapes[held] = shape
            self.unspillable.add(held)
            for inner in (unit, *unit.walk()):
                for index, operand in enumerate(inner.operands):
                    if operand is value:
                        inner.op_operands[index].set(held)
        if isinstance(definition, tile.AllocRegister):
            definition.erase()
        elif definition is not None:
            self._after(definition, tile.Spill(value, slot.res, location=definition.location))
            self.unspillable.add(value)

    def _held(self, unit: Operation, value: Value, slot: Value) -> Value:
        """The fragment that replaces a spilled one in an op; reloaded if it is read, spilled again if modified."""
        type = value.type
        changed = any(value in writes_of(inner) for inner in (unit, *unit.walk()))
        if unit.regions or value in read(unit):
            held = Builder.before(unit).insert(tile.Reload(slot, res=type, location=unit.location)).res
        else:
            held = Builder.before(unit).insert(tile.AllocRegister(res=type, location=unit.location)).res
        if changed:
            self._after(unit, tile.Spill(held, slot, location=unit.location))
        return held

    @staticmethod
    def _after(op: Operation, made: Operation) -> None:
        assert op.parent is not None
        op.parent.insert_after(op, made)


def _shared_bytes(function: Operation) -> int:
    """The total size of a function's buffers."""
    return sum(
        op.res.type.num_elements * storage_bits(op.res.type.element) // 8
        for op in function.walk()
        if isinstance(op, tile.AllocShared)
    )


__all__ = ["MARGIN", "RESERVED", "Spiller", "budget", "operand_registers", "share"]
