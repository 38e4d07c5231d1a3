"""Forward data-flow analyses of values: from facts of operands to facts of results.

operands ──transfer──▶ result        branches: join        loops: the initial fact, widened to a fixed point
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Generic, TypeVar

from tessera_tools.dialects import scf
from tessera_tools.ir.core import BlockArgument, Operation, OpResult, Value
from tessera_tools.ir.flow import flow_of
from tessera_tools.ir.interfaces import LoopLike

if TYPE_CHECKING:
    from typing_extensions import TypeIs


_DEEPEST_LOOP = 4
"""The maximum depth of nested loops whose carried values are analyzed; each level multiplies the work."""
_MOST_ROUNDS = 8
"""The maximum number of iterations to a fixed point of a loop's carried values; then nothing is known of them."""


Known = TypeVar("Known")
"""The type of a fact."""


class Forward(Generic[Known]):
    """The base of such analyses.  Results are cached: create a new object after a change."""

    def __init__(self) -> None:
        self._known: dict[Value, Known] = {}
        self._assumed: list[dict[Value, Known]] = []
        self._flows: dict[Operation, dict[Value, list[Value]]] = {}

    # -- what an analysis defines

    def tracks(self, value: Value) -> bool:
        """Returns true if the analysis tracks values of this type."""
        raise NotImplementedError

    def unknown(self, value: Value) -> Known:
        """Returns the facts that hold for every value of this type."""
        raise NotImplementedError

    def has_rule(self, op: Operation) -> bool:
        """True if `transfer` knows the op."""
        raise NotImplementedError

    def needs(self, op: Operation) -> Sequence[Value]:
        """Returns the operands that the op's rule needs."""
        return op.operands

    def transfer(self, value: Value, op: Operation, operands: Sequence[Known | None]) -> Known | None:
        """The fact of a result of an op with a rule.  An operand that is not in `needs` is None."""
        raise NotImplementedError

    def join(self, a: Known, b: Known) -> Known:
        """Returns the facts that hold for both of two values."""
        raise NotImplementedError

    def widen(self, claim: Known, found: Known, value: Value) -> Known:
        """The fact of a carried value, widened to what the loop's body preserves; must converge quickly."""
        return self.join(claim, found)

    def counted(self, loop: scf.For, value: Value) -> Known:
        """The fact of the induction variable of an scf.for."""
        return self.unknown(value)

    # -- looking up

    def of(self, value: Value) -> Known:
        """The fact of a value."""
        found = self._look_up(value)
        if found is None:
            self._evaluate(value)
            found = self._look_up(value)
            assert found is not None
        return found

    def _look_up(self, value: Value) -> Known | None:
        for layer in reversed(self._assumed):
            found = layer.get(value)
            if found is not None:
                return found
        return self._known.get(value)

    def _record(self, value: Value, found: Known) -> None:
        # Facts that depend on a failed assumption are discarded with it.
        layer = self._assumed[-1] if self._assumed else self._known
        layer[value] = found

    def _evaluate(self, start: Value) -> None:
        """Depth-first, with an explicit stack, because chains of 100,000 operations occur."""
        stack = [start]
        entered: set[Value] = set()
        while stack:
            value = stack[-1]
            if self._look_up(value) is not None:
                stack.pop()
                continue
            if not self.tracks(value):
                self._record(value, self.unknown(value))
                stack.pop()
                continue
            missing = [v for v in self._dependencies(value) if self._look_up(v) is None]
            if missing and value not in entered:
                entered.add(value)
                stack += missing
                continue
            self._record(value, self._compute(value))
            stack.pop()

    # -- dependences of a value

    def _dependencies(self, value: Value) -> Iterable[Value]:
        if isinstance(value, OpResult):
            op = value.op
            return self.needs(op) if self.has_rule(op) else self._sources(value, op)
        assert isinstance(value, BlockArgument)
        holder = value.block.parent_op
        if _counts(holder) and value.index == 0:
            return (holder.lower, holder.upper, holder.step)
        return [found[0] for found in self._carried(holder).values()] or self._sources(value, holder)

    def _sources(self, value: Value, holder: Operation | None) -> list[Value]:
        """The values that may flow into one of the op's results or block arguments; empty if unknown."""
        if holder is None:
            return []
        flow = self._flows.get(holder)
        if flow is None:
            flow = self._flows[holder] = dict(flow_of(holder))
        return flow.get(value, [])

    def _carried(self, holder: Operation | None) -> dict[Value, list[Value]]:
        """For a loop, the values that may flow into each carried value, the initial value first; otherwise nothing."""
        arguments = holder.iter_args if isinstance(holder, LoopLike) else ()
        return {argument: found for argument in arguments if (found := self._sources(argument, holder))}

    def _compute(self, value: Value) -> Known:
        if isinstance(value, OpResult):
            op = value.op
            if not self.has_rule(op):
                return self._of_sources(value, op)
            found = self.transfer(value, op, [self._look_up(v) for v in op.operands])
            return self.unknown(value) if found is None else found
        assert isinstance(value, BlockArgument)
        holder = value.block.parent_op
        if _counts(holder) and value.index == 0:
            return self.counted(holder, value)
        carried = self._carried(holder)
        if value in carried:
            self._settle(carried)
            found = self._look_up(value)
            return self.unknown(value) if found is None else found
        return self._of_sources(value, holder)

    def _of_sources(self, value: Value, holder: Operation | None) -> Known:
        found = [self.of(source) for source in self._sources(value, holder)]
        return reduce(self.join, found) if found else self.unknown(value)

    # -- loops

    def _settle(self, carried: dict[Value, list[Value]]) -> None:
        """Find facts of a loop's carried values that hold on entry and are preserved by the body.

        The facts of the initial values are assumed first.  Facts that the body does not preserve are widened until all
        are preserved.
        """
        if len(self._assumed) >= _DEEPEST_LOOP:
            for argument in carried:
                self._record(argument, self.unknown(argument))
            return
        claims = {argument: self.of(sources[0]) for argument, sources in carried.items()}
        for _ in range(_MOST_ROUNDS):
            self._assumed.append(dict(claims))
            after = {argument: [self.of(v) for v in sources[1:]] for argument, sources in carried.items()}
            layer = self._assumed.pop()
            wider = {
                argument: reduce(lambda x, y, a=argument: self.widen(x, y, a), after[argument], claim)
                for argument, claim in claims.items()
            }
            if wider == claims:
                for value, found in layer.items():
                    self._record(value, found)
                return
            claims = wider
        for argument in carried:
            self._record(argument, self.unknown(argument))


def _counts(holder: Operation | None) -> TypeIs[scf.For]:
    """True if the op's first block argument counts from `lower` to below `upper` by `step`."""
    return isinstance(holder, scf.For)
