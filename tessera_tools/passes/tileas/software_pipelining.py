"""Software pipelining of a counted loop: iterations overlap according to the cycles of a modulo schedule.

    interval 100, cycles A 0, B 120        if lower < upper {
    for i { A(i); B(i) }            ──▶      A(lower)                                         prologue
                                             for i = lower + step … { A(i); B(i - step) }     kernel
                                             B(last)                                          epilogue
                                           } else { initial values }

An op with cycle c runs in stage c // interval, at slot c % interval of the kernel.  *Instance* n of the kernel runs the
ops of stage s for iteration n - s.  Instances 0 … S-2 are the prologue, where only stages up to n run.  The S-1
instances after the last one are the epilogue, where only the later stages run.  A value that is used Δ instances after
its definition is carried by Δ values of the loop.  Pure ops without a cycle (scalars, views, shapes) are recomputed
at their uses, so that no register carries them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from tessera_tools.analysis.counting import may_pass, may_wrap
from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import arith, scf
from tessera_tools.ir.core import Block, BlockArgument, Builder, IRMapping, Operation, OpResult, Region, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.traversal import values_taken
from tessera_tools.records import dataclass, field

__all__ = ["Pipelined", "Placement", "pipelined"]


@dataclass(frozen=True, slots=True)
class Placement:
    """The start cycle of each op, and the interval; `order` has pairs of ops of one iteration that must keep their
    order without a use of a value."""

    interval: int
    cycles: Mapping[Operation, int]
    order: Sequence[tuple[Operation, Operation]] = ()


@dataclass(eq=False)
class Pipelined:
    """A pipelined loop: the copies of its ops, by part."""

    stages: int
    stage: Mapping[Operation, int]
    prologue: list[list[tuple[Operation, Operation]]] = field(default_factory=list)
    """(op, its copy) of each instance, in order."""
    kernel: list[tuple[Operation, Operation]] = field(default_factory=list)
    epilogue: list[list[tuple[Operation, Operation]]] = field(default_factory=list)

    def played(self, instances: int) -> Iterator[tuple[Operation, Operation, int]]:
        """(op, copy, iteration) in execution order, for the given number of instances of the kernel."""
        parts = [*self.prologue, *([self.kernel] * instances), *self.epilogue]
        for number, part in enumerate(parts):
            for op, copy in part:
                yield op, copy, number - self.stage[op]


Finish = Callable[[Value, Value, Builder], Value]
"""(yielded value, its value after the last iteration, builder) → the result."""


def pipelined(loop: scf.For, placement: Placement, finish: Finish) -> Pipelined | None:
    """Replace a loop by its pipelined form, after a check of the placement.  Returns None and does not change the loop
    if that is not possible: an op with effects has no cycle, a yielded value is not computed in the loop, or the first
    values of the induction variable may not fit its type."""
    made = _Pipeliner(loop, placement, finish)
    return made.run() if made.is_possible() else None


class _Pipeliner:
    def __init__(self, loop: scf.For, placement: Placement, finish: Finish) -> None:
        self.loop, self.placement, self.finish = loop, placement, finish
        self.block = loop.body.entry
        end = self.block.last_op
        assert isinstance(end, scf.Yield)
        self.end = end
        self.ops = [op for op in self.block if op is not self.end]
        self.numbers = {op: number for number, op in enumerate(self.ops)}
        self.cycles = dict(placement.cycles)
        self._place_yielded()
        first = min(self.cycles.values(), default=0)
        self.stage = {op: (cycle - first) // placement.interval for op, cycle in self.cycles.items()}
        self.slot = {op: (cycle - first) % placement.interval for op, cycle in self.cycles.items()}
        self.stages = max(self.stage.values(), default=0) + 1
        self.depths: dict[Value, int] = {}
        """Value, or the carried argument with another initial value → its live range in instances."""

    # -- legality

    def is_possible(self) -> bool:
        """See `pipelined`."""
        if any(op not in self.cycles and not is_pure(op) for op in self.ops):
            return False
        for argument, value in zip(self.loop.iter_args, self.end.operands, strict=True):
            if value is not argument and not (isinstance(value, OpResult) and value.op in self.stage):
                return False
        if any(self._distance(op, value) < 0 for op in self.cycles for value in self._sources(op)):
            return False
        return self.stages == 1 or self._starts_within_type()

    def _starts_within_type(self) -> bool:
        """True if lower + (stages - 1) · step fits the type of the induction variable, if the loop runs at all."""
        loop, facts, ahead = self.loop, Facts(), self.stages - 1
        if (loop.trip_count or 0) > ahead:
            return True
        unsigned = loop.unsigned_cmp is not None
        if not may_pass(loop.lower, loop.step, unsigned, facts, ahead):
            return True
        return ahead == 1 and not may_wrap(loop.upper, loop.step, unsigned, facts, ahead)

    def _runs(self) -> bool:
        """True if the loop is known to have enough iterations for the prologue."""
        trips = self.loop.trip_count
        return trips is not None and trips >= self.stages - 1

    def _place_yielded(self) -> None:
        """Give ops without a cycle whose results are carried the earliest cycle that their operands allow."""
        yielded = [v.op for v in self.end.operands if isinstance(v, OpResult) and v.op in self.numbers]
        for op in yielded:
            if op not in self.cycles and is_pure(op):
                self.cycles[op] = self._earliest(op, set())

    def _earliest(self, op: Operation, seen: set[Operation]) -> int:
        if op in self.cycles:
            return self.cycles[op]
        if op in seen:
            return min(self.cycles.values(), default=0)
        seen.add(op)
        found = [min(self.cycles.values(), default=0)]
        for value in values_taken(op):
            if isinstance(value, OpResult) and value.op in self.numbers:
                found.append(self._earliest(value.op, seen))
            elif self._is_carried(value):
                source = self.end.operands[value.index - 1]  # type: ignore[attr-defined]
                if isinstance(source, OpResult) and source.op in self.numbers:
                    found.append(self._earliest(source.op, seen) - self.placement.interval)
        return max(found)

    # -- values and distances

    def _is_carried(self, value: Value) -> bool:
        return isinstance(value, BlockArgument) and value.block is self.block and value.index > 0

    def _sources(self, op: Operation) -> Iterator[Value]:
        """The values of the loop that an op uses: results of ops with a cycle, the induction variable and carried
        values, also through recomputed ops."""
        for value in values_taken(op):
            if isinstance(value, OpResult):
                if value.op in self.stage:
                    yield value
                elif value.op in self.numbers:
                    yield from self._sources(value.op)
            elif isinstance(value, BlockArgument) and value.block is self.block:
                yield value

    def _made(self, value: Value) -> Value | None:
        """The value that the previous iteration yields for a carried value; None if it never changes."""
        source = self.end.operands[value.index - 1]  # type: ignore[attr-defined]
        return None if source is value else source

    def _source(self, value: Value) -> Value:
        """The value that an instance defines: of a carried one, what the previous iteration yields."""
        source = self._made(value) if self._is_carried(value) else value
        assert source is not None
        return source

    def _instances_since(self, stage: int, value: Value) -> int:
        """The number of instances between the definition of a value and a user in `stage`."""
        if self._is_carried(value):
            source = self._made(value)
            return stage + 1 - self.stage[source.op] if isinstance(source, OpResult) else 0
        return stage - (self.stage[value.op] if isinstance(value, OpResult) else 0)

    def _distance(self, op: Operation, value: Value) -> int:
        return self._instances_since(self.stage[op], value)

    def _key(self, value: Value, distance: int) -> Value:
        """The value that the loop carries for a use: the carried value itself if it has its initial value when the
        kernel begins, otherwise the value that the previous iteration yields."""
        if not self._is_carried(value):
            return value
        source = self._source(value)
        assert isinstance(source, OpResult)
        return value if self.stages - self.stage[source.op] - distance == 0 else source

    def _kernel_order(self) -> list[Operation]:
        """The ops by slot, each after those of its instance that it uses."""
        before: dict[Operation, set[Operation]] = {op: set() for op in self.cycles}
        for op in self.cycles:
            for value in self._sources(op):
                source = self._made(value) if self._is_carried(value) else value
                if isinstance(source, OpResult) and self._distance(op, value) == 0 and source.op is not op:
                    before[op].add(source.op)
        for first, then in self.placement.order:
            if self.stage[first] == self.stage[then]:
                before[then].add(first)
        after: dict[Operation, list[Operation]] = {op: [] for op in before}
        for op, sources in before.items():
            for source in sources:
                after[source].append(op)
        left = {op: len(sources) for op, sources in before.items()}
        ready = [(self.slot[op], self.numbers[op], op) for op, count in left.items() if not count]
        heapify(ready)
        order: list[Operation] = []
        while ready:
            *_, op = heappop(ready)
            order.append(op)
            for user in after[op]:
                left[user] -= 1
                if not left[user]:
                    heappush(ready, (self.slot[user], self.numbers[user], user))
        assert len(order) == len(self.cycles), "the schedule orders ops in a cycle"
        return order

    # -- code

    def run(self) -> Pipelined:
        """Replace the loop."""
        loop = self.loop
        order = self._kernel_order()
        for op in order:
            for value in self._sources(op):
                self._carry(self.stage[op], value)
        found = Pipelined(self.stages, self.stage)
        builder = Builder.before(loop)
        if self.stages == 1 or self._runs():
            results = self._code(builder, order, found)
        else:
            results = self._guarded(builder, order, found)
        for old, new, value in zip(loop.results, results, self.end.operands, strict=True):
            old.replace_all_uses_with(self.finish(value, new, builder))
        if loop.parent is not None and loop.parent.parent is not None and not self._is_unchanged():
            loop.erase()
        return found

    def _is_unchanged(self) -> bool:
        return self.stages > 2 and not self._runs()

    def _carry(self, stage: int, value: Value) -> None:
        if self._is_carried(value) and self._made(value) is None:
            return
        distance = self._instances_since(stage, value)
        if distance:
            key = self._key(value, distance)
            self.depths[key] = max(self.depths.get(key, 0), distance)

    def _guarded(self, builder: Builder, order: list[Operation], found: Pipelined) -> list[Value]:
        """The code for loops that may have too few iterations for the prologue: the original loop runs in that case."""
        loop = self.loop
        last = self._moved(loop.lower, self.stages - 2, builder)
        runs = builder.insert(arith.CmpI.of(loop.less_than, last, loop.upper, loop.location)).result
        then, otherwise = Block(), Block()
        made = scf.If(
            runs, results=loop.result_types, then=Region([then]), otherwise=Region([otherwise]), location=loop.location
        )  # fmt: skip
        builder.insert(made)
        inside = Builder.at_end(then, loop.location)
        results = self._code(inside, order, found)
        inside.insert(scf.Yield(results))
        other = Builder.at_end(otherwise, loop.location)
        values = list(loop.inits)
        if self._is_unchanged():
            copy = loop.clone()
            other.insert(copy)
            values = list(copy.results)
        other.insert(scf.Yield(values))
        return list(made.results)

    def _moved(self, value: Value, steps: int, builder: Builder) -> Value:
        """value + steps · step."""
        for _ in range(steps):
            value = builder.insert(arith.AddI(value, self.loop.step, location=self.loop.location)).result
        return value

    def _code(self, builder: Builder, order: list[Operation], found: Pipelined) -> list[Value]:
        """Prologue, kernel and epilogue; the results of the loop."""
        loop, ahead = self.loop, self.stages - 1
        made: list[dict[Value, Value]] = []
        for n in range(ahead):
            env: dict[Value, Value] = {loop.induction[0]: self._moved(loop.lower, n, builder)}
            made.append(env)

            def before(value: Value, stage: int, n: int = n) -> Value:
                return self._prologue_value(value, stage, n, made)

            ops = [op for op in order if self.stage[op] <= n]
            found.prologue.append(self._instance(ops, env, before, builder))
        keys = [(key, distance) for key, depth in self.depths.items() for distance in range(1, depth + 1)]
        for number, value in enumerate(self.end.operands):
            extra = self._result_key(number, value)
            if extra is not None and extra not in keys:
                keys.append(extra)
        inits = [self._initial(key, distance, made) for key, distance in keys]
        kernel = scf.For(
            self._moved(loop.lower, ahead, builder), loop.upper, loop.step, inits,
            results=[v.type for v in inits], location=loop.location,
        )  # fmt: skip
        kernel.attributes.update({k: v for k, v in loop.attributes.items() if k not in kernel.attributes})
        block = Block([loop.lower.type, *(v.type for v in inits)], [loop.location] * (len(inits) + 1))
        kernel.body.append(block)
        builder.insert(kernel)
        env_k: dict[Value, Value] = {loop.induction[0]: block.arguments[0]}
        arguments = dict(zip(keys, block.arguments[1:], strict=True))
        inside = Builder.at_end(block, loop.location)

        def carried(value: Value, stage: int) -> Value:
            distance = self._instances_since(stage, value)
            if distance:
                return arguments[self._key(value, distance), distance]
            return env_k[self._source(value)]

        found.kernel = self._instance(order, env_k, carried, inside)
        following = []
        for key, distance in keys:
            if distance > 1:
                following.append(arguments[key, distance - 1])
            else:
                following.append(env_k[self._source(key)])
        inside.insert(scf.Yield(following))
        left = dict(zip(keys, kernel.results, strict=True))
        after_last: list[dict[Value, Value]] = []
        for e in range(ahead):
            env_e: dict[Value, Value] = {}
            after_last.append(env_e)

            def after(value: Value, stage: int, e: int = e) -> Value:
                distance = self._instances_since(stage, value)
                if distance > e:
                    return left[self._key(value, distance), distance - e]
                return after_last[e - distance][self._source(value)]

            ops = [op for op in order if self.stage[op] > e]
            found.epilogue.append(self._instance(ops, env_e, after, builder))
        return [self._result(number, left, after_last) for number in range(len(self.end.operands))]

    def _prologue_value(self, value: Value, stage: int, n: int, made: list[dict[Value, Value]]) -> Value:
        if self._is_carried(value) and n == stage:
            return self.loop.inits[value.index - 1]  # type: ignore[attr-defined]
        return made[n - self._instances_since(stage, value)][self._source(value)]

    def _initial(self, key: Value, distance: int, made: list[dict[Value, Value]]) -> Value:
        """The initial value of a carried value of the kernel."""
        if self._is_carried(key):
            iteration = self.stages - self.stage[self._made(key).op] - distance  # type: ignore[union-attr]
            if iteration <= 0:
                return self.loop.inits[key.index - 1]  # type: ignore[attr-defined]
            return made[self.stages - 1 - distance][self._made(key)]  # type: ignore[index]
        return made[self.stages - 1 - distance][key]

    def _result_key(self, number: int, value: Value) -> tuple[Value, int] | None:
        """The value that the kernel must carry for a result that its last instance computes."""
        if self._is_carried(value) or self.stage[value.op]:  # type: ignore[attr-defined]
            return None
        return (value, 1) if self.stages > 1 else (self.loop.iter_args[number], 1)

    def _result(
        self, number: int, left: Mapping[tuple[Value, int], Value], after_last: list[dict[Value, Value]]
    ) -> Value:
        value = self.end.operands[number]
        if self._is_carried(value):
            return self.loop.inits[number]
        key = self._result_key(number, value)
        if key is not None:
            return left[key]
        assert isinstance(value, OpResult)
        return after_last[self.stage[value.op] - 1][value]

    def _instance(
        self,
        ops: Sequence[Operation],
        env: dict[Value, Value],
        find: Callable[[Value, int], Value],
        builder: Builder,
    ) -> list[tuple[Operation, Operation]]:
        """Copy ops, each with the recomputed ops that it uses; the results are added to `env`."""
        again: dict[tuple[Value, int], Value] = {}
        found: list[tuple[Operation, Operation]] = []

        def value_of(value: Value, stage: int) -> Value:
            if isinstance(value, OpResult):
                if value.op in self.stage:
                    return find(value, stage)
                if value.op not in self.numbers:
                    return value
                if (value, stage) not in again:
                    copy = copied(value.op, stage)
                    again.update(
                        {(old, stage): new for old, new in zip(value.op.results, copy.results, strict=True)}
                    )
                return again[value, stage]
            if not isinstance(value, BlockArgument) or value.block is not self.block:
                return value
            if self._is_carried(value) and self._made(value) is None:
                return self.loop.inits[value.index - 1]
            return find(value, stage)

        def copied(op: Operation, stage: int) -> Operation:
            mapping = IRMapping()
            for value in values_taken(op):
                mapping.values[value] = value_of(value, stage)
            return builder.insert(op.clone(mapping))

        for op in ops:
            copy = copied(op, self.stage[op])
            env.update(zip(op.results, copy.results, strict=True))
            found.append((op, copy))
        return found
