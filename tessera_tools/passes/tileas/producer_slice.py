"""The slice of a kernel that the producer must compute: the addresses of its loads.

for %k { %r = muli %k, %c; load %v[%r, %z]; … }      ──▶  ops {muli}, loops {for}; or a Refusal
for %k { %p = load %table[%k]; load %v[%p, %z]; … }  ──▶  ops {load}: the producer reads the table, too
"""

from __future__ import annotations

from collections.abc import Iterable

from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.ir.core import BlockArgument, Operation, OpResult, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.passes.tileas.boxes import Refusal
from tessera_tools.passes.tileas.memory_order import MemoryOrder, writes_memory


class Slice:
    """The ops, the enclosing loops of the loads, and the carried values that the producer must compute.

    Raises Refusal if a load depends on an op that only the consumer executes.
    """

    def __init__(self, loads: Iterable[nv_tileas.TiledLoad]) -> None:
        self.ops: set[Operation] = set()
        self.loops: set[Operation] = set()
        self.carried: set[Value] = set()
        self.seen: set[Value] = set()
        self.numbers: list[nv_tileaa.Load] = []
        """Loads of single numbers."""
        self.order = MemoryOrder()
        for load in loads:
            self.around(load, load)
            for index in load.indices:
                self.need(index, load)

    def around(self, op: Operation, load: Operation) -> None:
        """Add the enclosing loops of an op."""
        outer = op.parent_op
        while isinstance(outer, scf.For):
            if outer not in self.loops:
                self.loops.add(outer)
                for bound in (outer.lower, outer.upper, outer.step):
                    self.need(bound, load)
            outer = outer.parent_op
        if not isinstance(outer, nv_tileaa.Func):
            raise Refusal(
                load,
                "has an index that depends on a branch, which a producer cannot execute in this version",
            )

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
        if isinstance(op, nv_tileaa.Load) and value is op.res and self.is_number(op):
            self.around(op, load)
            self.numbers.append(op)
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
        if op.regions or not is_pure(op) or isinstance(value.type, RankedTensorType):
            raise Refusal(
                load,
                f"has an index or a bound that depends on '{op.name}', which only the consumer executes",
            )
        self.around(op, load)
        self.ops.add(op)
        for operand in op.operands:
            self.need(operand, load)

    def is_number(self, op: nv_tileaa.Load) -> bool:
        """True if a load gives one number, which is the same for whoever loads it whenever: tokens order nothing
        that writes before or after it."""
        if isinstance(op.res.type, RankedTensorType) or op.mask is not None:
            return False
        around: Operation = op
        while (outer := around.parent_op) is not None and not isinstance(around, nv_tileaa.Func):
            around = outer
        writes = [inner for inner in around.walk() if not inner.regions and writes_memory(inner)]
        return not any(inner in self.order.before(op) or op in self.order.before(inner) for inner in writes)

    def carry(self, loop: scf.For, number: int, load: Operation) -> None:
        if loop.results[number] in self.carried:
            return
        self.carried.add(loop.results[number])
        self.seen.update((loop.results[number], loop.iter_args[number]))
        self.need(loop.inits[number], load)
        self.need(loop.yielded[number], load)
