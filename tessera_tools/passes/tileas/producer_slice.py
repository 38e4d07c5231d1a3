"""The slice of a kernel that the producer must compute: the addresses of its loads, and tiles that its threads bring.

for %k { %r = muli %k, %c; if %g { load %v[%r, %z]; … } }  ──▶  ops {muli}, control {for, if}; or a Missed
for %k { %p = load %table[%k]; load %v[%p, %z]; … }  ──▶  ops {load}: the producer reads the table, too
for %k { %p = atomic_rmw …; load %v[%p, %z]; … }     ──▶  handed {%p}: the consumer sends what only it can compute
for %k { %r = if %g { … yield %n }; load %v[%r, %z]; … }  ──▶  ops {if}: a branch that computes numbers alone
for %k { %x = load …; %y = extf %x; dot %a, %y … }   ──▶  ops {load, extf}: the threads of the producer store %y
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.ir.builtin_attributes import i32
from tessera_tools.ir.core import BlockArgument, Builder, IRMapping, Operation, OpResult, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.traversal import values_taken
from tessera_tools.ir.types import I32, I64, RankedTensorType, Type
from tessera_tools.passes.tileas.fills import LOADS, BoxLoad, Filler
from tessera_tools.passes.tileas.memory_order import MemoryOrder, writes_memory
from tessera_tools.passes.tileas.missed import Missed, place_of


class Slice:
    """What the producer must compute: the ops, the loops and branches around the loads, and the values that loops carry
    for them.

    Raises Missed if a load depends on an op that only the consumer executes.
    """

    def __init__(self, fillers: Iterable[Filler], channels: int = 0) -> None:
        self.channels = channels
        """How many channels there are of other agents."""
        self.ops: set[Operation] = set()
        self.control: set[Operation] = set()
        """Loops and branches."""
        self.carried: set[Value] = set()
        self.seen: set[Value] = set()
        self.loads: list[nv_tileaa.Load | nv_tileas.TiledLoad] = []
        """Loads of single numbers, and of tiles."""
        self.order = MemoryOrder()
        self.handed: dict[Value, int] = {}
        """Numbers that the consumer computes and sends: each with a channel of its own."""
        for filler in fillers:
            load = filler.load
            self.around(load, load)
            if isinstance(filler, BoxLoad):
                needed = list(load.indices)
            elif filler.is_copied:
                needed = [load.view, *load.indices]
            elif filler.slices:
                needed = self.of_slices(filler.slices)
            else:
                needed = [filler.value]
            for value in needed:
                self.need(value, load)

    def of_slices(self, ops: list[Operation]) -> list[Value]:
        """What the producer must know to compute a tile part by part: views, indices and numbers."""
        found: list[Value] = []
        for op in ops:
            if isinstance(op, nv_tileas.TiledLoad):
                self.loads.append(op)
                found += [op.view, *op.indices]
            else:
                found += [v for v in op.operands if not isinstance(v.type, RankedTensorType)]
        return found

    def around(self, op: Operation, load: Operation) -> None:
        """Add the enclosing loops and branches of an op."""
        outer = op.parent_op
        while isinstance(outer, scf.For | scf.If):
            if outer not in self.control:
                self.control.add(outer)
                for value in outer.operands[:1] if isinstance(outer, scf.If) else outer.operands[:3]:
                    self.need(value, load)
            outer = outer.parent_op
        # The loads are in nothing else (fills.py), and so is what dominates them.
        assert isinstance(outer, nv_tileaa.Func)

    def need(self, value: Value, load: Operation) -> None:
        """Add a value."""
        if value in self.seen:
            return
        self.seen.add(value)
        if isinstance(value, BlockArgument):
            loop = value.block.parent_op
            if isinstance(loop, scf.For):
                self.around(value.block.first_op or loop, load)
                if value.index:
                    self.carry(loop, value.index - 1, load)
            return
        assert isinstance(value, OpResult)
        op = value.op
        if isinstance(op, LOADS) and value is op.res and self.is_executed(op):
            self.around(op, load)
            if op in self.ops:
                return
            self.loads.append(op)
            self.ops.add(op)
            # Nothing but loads comes before it: in the producer it needs no token.
            for operand in op.operands:
                if operand is not op.token:
                    self.need(operand, load)
            return
        if isinstance(op, scf.For):
            self.around(op.body.entry.first_op or op, load)
            self.carry(op, value.index, load)
            return
        if isinstance(op, scf.If) and self.is_of_pure_numbers(op):
            self.around(op, load)
            self.ops.add(op)
            for operand in dict.fromkeys(values_taken(op)):
                self.need(operand, load)
            return
        if value.type in (I32, I64) and (op.regions or not is_pure(op) or not self.is_of_numbers(op)):
            # The consumer executes the op, and sends the number.
            self.around(op, load)
            self.handed[value] = self.channels + len(self.handed)
            return
        if op.regions or not is_pure(op) or isinstance(op, nv_tileas.Dot):
            what = "is a tile" if isinstance(value.type, RankedTensorType) else "has an index or a bound"
            raise Missed(
                load, f"{what} that depends on '{op.name}'{place_of(op)}, which only the consumer executes"
            )
        self.around(op, load)
        self.ops.add(op)
        for operand in op.operands:
            self.need(operand, load)

    def is_executed(self, op: nv_tileaa.Load | nv_tileas.TiledLoad) -> bool:
        """True if the producer executes a load: of a tile, whose order is known (fills.py), or of one number, which is
        the same for whoever loads it whenever: tokens order nothing that writes before or after it."""
        if isinstance(op.res.type, RankedTensorType):
            return True
        if isinstance(op, nv_tileas.TiledLoad) or not self.is_unordered(op):
            return False
        return op.mask is None or self.is_computed(op.mask)

    def is_computed(self, value: Value) -> bool:
        """True if the producer can compute a truth value, from numbers that it has or receives."""
        if value.type in (I32, I64):
            return True
        op = value.defining_op
        return op is not None and not op.regions and is_pure(op) and all(map(self.is_computed, op.operands))

    def is_of_numbers(self, op: Operation) -> bool:
        """True if the producer can compute the tiles that a pure op takes: they have one element, and come from pure
        ops and from loads that no token orders with a write."""
        for value in op.operands:
            if not isinstance(value.type, RankedTensorType):
                continue
            made = value.defining_op
            if made is None or made.regions or not is_number(value.type):
                return False
            if isinstance(made, nv_tileas.TiledLoad):
                if not self.is_unordered(made):
                    return False
            elif not is_pure(made) or not self.is_of_numbers(made):
                return False
        return True

    def is_of_pure_numbers(self, op: scf.If) -> bool:
        """True if the agent can execute a branch as it stands: it computes numbers from numbers, and does nothing
        else."""
        inside = (inner for inner in op.walk() if not isinstance(inner, scf.If | scf.Yield))
        return (
            all(not inner.regions and is_pure(inner) for inner in inside)
            and not any(
                isinstance(value.type, RankedTensorType) or value.type is nv_tileaa.MEM_TOKEN
                for inner in (op, *op.walk())
                for value in (*inner.operands, *inner.results)
            )
            and all(
                isinstance(value, BlockArgument) or self.is_computed(value)
                for value in dict.fromkeys(values_taken(op))
            )
        )

    def is_unordered(self, op: Operation) -> bool:
        """True if tokens order nothing that writes before or after a load."""
        around: Operation = op
        while (outer := around.parent_op) is not None and not isinstance(around, nv_tileaa.Func):
            around = outer
        writes = [inner for inner in around.walk() if not inner.regions and writes_memory(inner)]
        return not any(inner in self.order.before(op) or op in self.order.before(inner) for inner in writes)

    def receive(self, op: Operation, builder: Builder, mapping: IRMapping) -> bool:
        """Receive in an agent what only the consumer computes; whether an op gives such a number."""
        given = [result for result in op.results if result in self.handed]
        for value in given:
            channel = i32(self.handed[value])
            made = nv_tileas.ReceiveValue(channel, res=value.type, location=op.location)
            mapping.values[value] = builder.insert(made).res
            assert op.parent is not None
            op.parent.insert_after(op, nv_tileas.SendValue(value, channel, location=op.location))
        return bool(given)

    def carry(self, loop: scf.For, number: int, load: Operation) -> None:
        if loop.results[number] in self.carried:
            return
        self.carried.add(loop.results[number])
        self.seen.update((loop.results[number], loop.iter_args[number]))
        self.need(loop.inits[number], load)
        self.need(loop.yielded[number], load)


def only_for_indices(ops: Sequence[Operation], brought: Container[Operation]) -> set[Operation]:
    """The ops of a block that the producer alone executes: what its indices need, where `brought` are its loads."""
    slice_, found = Slice(()), set[Operation]()
    for op in reversed(ops):
        users = {use.owner for result in op.results for use in result.uses}
        if not users or op in brought or not all(user in found or user in brought for user in users):
            continue
        number = isinstance(op, nv_tileas.TiledLoad) and is_number(op.res.type) and slice_.is_unordered(op)
        if number or (not op.regions and is_pure(op) and slice_.is_of_numbers(op)):
            found.add(op)
    return found


def is_number(type: Type) -> bool:
    """Whether a value is a number, or a tile of one element."""
    return not isinstance(type, RankedTensorType) or type.num_elements == 1
