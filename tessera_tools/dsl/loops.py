"""Loops of a kernel: counted ones, those that are left early, and those that are unrolled."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects.cuda_tile.types import TileType, scalar
from tessera_tools.dsl import library
from tessera_tools.dsl.branches import NOTHING, Branches, Exit, Retry, State, Unrolled
from tessera_tools.dsl.expressions import Missing
from tessera_tools.dsl.liveness import assigned, leaves
from tessera_tools.dsl.source import Placed
from tessera_tools.dsl.values import (
    UNSIGNED,
    Operand,
    Runtime,
    Tile,
    as_tile,
    describe,
    is_operand,
    natural_type,
    together,
)
from tessera_tools.ir.core import Block, Region, Value
from tessera_tools.ir.types import IntegerType

__all__ = ["Break", "Continue", "Loops"]

Carried: TypeAlias = dict[str, Operand]
"""The variables that a loop carries, with their values before it."""

MOST_UNROLLED = 4096
"""How many iterations a kernel may unroll at compile time."""


class Bounds(NamedTuple):
    """The first number of a counted loop, the one behind its last, and the step, which is positive."""

    first: Tile
    last: Tile
    step: Tile
    down: bool = False
    """Whether the variable of the loop is -1 - the counter: that turns the order around, and cannot overflow."""


class Break(Exception):
    """`break` in a loop that is unrolled."""


class Continue(Exception):
    """`continue` in a loop that is unrolled."""


class Loops(Branches):
    """Compiles loops in the current frame."""

    unrolled: int = 0
    """How many iterations have been unrolled."""

    def _do_for(self, node: ast.For) -> bool:
        if node.orelse:
            raise self.refuse(node.orelse[0], "'else' of a loop is not supported")
        call = node.iter
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name | ast.Attribute):
            function = self.evaluate(call.func)
            if function is range or function is library.range:
                bounds = self._elements(call.args)
                if call.keywords or not 1 <= len(bounds) <= 3:
                    raise self.refuse(call, "range() takes 1 to 3 numbers")
                with self.at(call):
                    return self._counted(node, bounds)
        values = self.evaluate(node.iter)
        if not isinstance(values, tuple | list | range):
            raise self.refuse(
                node.iter, f"found {describe(values)}, expected range(…), static_range(…), a tuple or a list"
            )
        self.frame.exits.append(Unrolled(self.frame.branches))
        try:
            for value in values:
                self.unrolled += 1
                if self.unrolled > MOST_UNROLLED:
                    raise self.refuse(node, f"more than {MOST_UNROLLED} iterations are unrolled; use range()")
                self.bind(node.target, value)
                try:
                    if self.statements(node.body):
                        return True
                except Continue:
                    continue
                except Break:
                    break
        finally:
            self.frame.exits.pop()
        return False

    def _counted(self, node: ast.For, numbers: Sequence[object]) -> bool:
        if not isinstance(node.target, ast.Name):
            raise self.refuse(node.target, "found several variables, expected one for the numbers of range()")
        given: list[Tile | int] = []
        for bound in (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]:
            if isinstance(bound, bool | float) or not isinstance(bound, int | Tile):
                raise Refusal(f"found {describe(bound)} in range(), expected integers")
            if isinstance(bound, Tile) and (bound.shape or not isinstance(bound.element, IntegerType)):
                raise Refusal(f"found a {bound} in range(), expected integers")
            given.append(bound)
        lower, upper, step = given
        if isinstance(step, int) and step == 0:
            raise Refusal("found the step 0 in range(), expected another number")
        down = isinstance(step, int) and step < 0
        if down:
            lower, upper, step = -1 - lower, -1 - upper, -step
        first, last, each = together(lower, upper, step)
        assert isinstance(first.element, IntegerType)
        most = 1 << first.element.width - 1
        for said, number in zip(given, (lower, upper, step), strict=True):
            if isinstance(number, int) and not -most <= number < most:
                raise Refusal(f"found {said} in range() of {first.element}, expected numbers that it holds")
        bounds = Bounds(first, last, each, down)
        return (self._endless if leaves(node.body) else self._simple)(node, node.target.id, bounds)

    def _do_while(self, node: ast.While) -> bool:
        if node.orelse:
            raise self.refuse(node.orelse[0], "'else' of a loop is not supported")
        return self._endless(node, None, None)

    def _carry(self, node: ast.For | ast.While, counter: str | None) -> tuple[Carried, dict[str, object]]:
        """The variables that a loop carries, with their values before it, and those that it cannot carry."""
        live = self.frame.source.liveness.head[node]
        found: Carried = {}
        fixed: dict[str, object] = {}
        for name in assigned(node.body):
            value = self.frame.variables.get(name, NOTHING)
            if name not in live or name == counter or value is NOTHING or isinstance(value, Missing):
                continue
            if is_operand(value):
                found[name] = value
            else:
                fixed[name] = value
        return found, fixed

    def _built(
        self,
        node: ast.For | ast.While,
        counter: str | None,
        build: Callable[[Exit, list[Value], Carried], ct.For | ct.Loop],
    ) -> bool:
        """Build a loop; again if a number that it carries turns out to have another type."""
        before, fixed = self._carry(node, counter)
        names = list(before)
        keys = self.emitter.memory.keys_of(node)
        types = {name: self._first_type(before[name]) for name in names}
        adaptable = {name for name in names if not isinstance(before[name], Tile)}
        outside, unrolled = self.state(), self.unrolled
        while True:
            origins = [_origin(before[name]) for name in names]
            exit = Exit(node, names, keys, [types[name] for name in names], origins, adaptable, fixed)
            try:
                inits = [self._initial(before[name], types[name]) for name in names]
                made = build(exit, [*inits, *map(self.emitter.token, keys)], before)
            except Retry as retry:
                if retry.node is not node:
                    raise
                types[retry.name] = retry.type
                adaptable = adaptable - {retry.name}
                self.restore(outside)
                self.unrolled = unrolled
                continue
            self._after(node, made, exit, before, outside, counter)
            return False

    def _first_type(self, value: Operand) -> TileType:
        return value.type if isinstance(value, Tile) else scalar(natural_type(value))

    def _initial(self, value: Operand, kind: TileType) -> Value:
        return value.ir if isinstance(value, Tile) else self.emitter.constant(value, kind)

    def _simple(self, node: ast.For, counter: str, bounds: Bounds) -> bool:
        """A counted loop that is not left early."""

        def build(exit: Exit, inits: list[Value], before: Carried) -> ct.For:
            kinds = [value.type for value in inits]
            block = Block([bounds.first.type, *kinds], [self.emitter.location] * (1 + len(kinds)))
            self._iteration(node, block, exit, before, counter, down=bounds.down)
            first, last, step, _ = bounds
            return ct.For(first.ir, last.ir, step.ir, inits, resultValues=kinds, body=Region([block]))

        return self._built(node, counter, build)

    def _endless(self, node: ast.For | ast.While, counter: str | None, bounds: Bounds | None) -> bool:
        """A loop that ends by `break`: a `while`, or a counted one that is left early."""

        def build(exit: Exit, inits: list[Value], before: Carried) -> ct.Loop:
            kinds = [value.type for value in inits]
            first = [bounds.first.ir] if bounds is not None else []
            block = Block(
                [*(v.type for v in first), *kinds], [self.emitter.location] * (len(first) + len(kinds))
            )
            if bounds is not None:
                _, last, step, _ = bounds
                exit.next = lambda: [self._advanced(Tile(block.arguments[0]), last, step).ir]
            self._iteration(
                node,
                block,
                exit,
                before,
                counter,
                lambda: self._tested(node, exit, bounds, block),
                down=bounds is not None and bounds.down,
            )
            return ct.Loop([*first, *inits], resultValues=kinds, body=Region([block]))

        return self._built(node, counter, build)

    def _advanced(self, counter: Tile, last: Tile, step: Tile) -> Tile:
        """The counter of the next iteration: `last`, if a whole step would wrap around."""
        distance = last - counter
        # The distance is positive, but may need all bits.
        return counter + Tile(self.emitter.insert(ct.MinI(step.ir, distance.ir, UNSIGNED)).result)

    def _tested(self, node: ast.For | ast.While, exit: Exit, bounds: Bounds | None, block: Block) -> None:
        """At the head of an iteration: leave the loop if it is over."""
        if isinstance(node, ast.While):
            test = self.test(node.test)
            if not isinstance(test, Runtime):
                if not test:
                    self._leave_if(None, node, exit)
                return
            self._leave_if(self.condition(node.test, test), node, exit)
        elif bounds is not None:
            self._leave_if(Tile(block.arguments[0]) < bounds.last, node, exit)

    def _leave_if(self, stays: Tile | None, node: Placed, exit: Exit) -> None:
        condition = stays if stays is not None else as_tile(False)
        then, other = Block(), Block()
        with self.emitter.into(then):
            self.emitter.insert(ct.Yield())
        with self.emitter.into(other):
            self.emitter.insert(ct.Break(self.carried(node, exit)))
        self.emitter.insert(
            ct.If(condition.ir, outputs=[], thenRegion=Region([then]), elseRegion=Region([other]))
        )

    def _iteration(
        self,
        node: ast.For | ast.While,
        block: Block,
        exit: Exit,
        before: Carried,
        counter: str | None,
        head: Callable[[], None] | None = None,
        down: bool = False,
    ) -> None:
        """Compile the body of a loop in its block."""
        frame, emitter = self.frame, self.emitter
        arguments = list(block.arguments)
        count = arguments.pop(0) if counter is not None else None
        for name, argument in zip(exit.carried, arguments[: len(exit.carried)], strict=True):
            argument.name_hint = name
            frame.variables[name] = Tile(argument, _origin(before[name]))
        for key, argument in zip(exit.tokens, arguments[len(exit.carried) :], strict=True):
            emitter.tokens[key] = argument
        frame.exits.append(exit)
        emitter.loops.append(node)
        try:
            with emitter.into(block):
                if head is not None:
                    head()
                if counter is not None and count is not None:
                    number = -1 - Tile(count) if down else Tile(count)
                    number.ir.name_hint = counter
                    frame.variables[counter] = number
                if not self.statements(node.body):
                    self.next_iteration(node, exit)
        finally:
            emitter.loops.pop()
            frame.exits.pop()

    def _after(
        self,
        node: ast.For | ast.While,
        made: ct.For | ct.Loop,
        exit: Exit,
        before: Carried,
        outside: State,
        counter: str | None,
    ) -> None:
        """Insert a loop, and give its results to the variables."""
        inside = self.frame.variables
        self.restore(outside)
        line = node.lineno + self.frame.source.first_line
        for name in [*assigned(node.body), *([counter] if counter is not None else [])]:
            was, now = outside.variables.get(name, NOTHING), inside.get(name, NOTHING)
            if name in exit.carried or now is was:
                continue
            if name == counter:
                why = f"it counts the iterations of the loop in line {line}"
            elif was is NOTHING or isinstance(was, Missing):
                why = f"it is assigned only in the loop in line {line}; assign it before the loop, too"
            elif isinstance(was, Tile | bool | int | float):
                continue  # assigned in each iteration before it is read, and not read behind the loop
            else:
                why = f"the loop in line {line} assigns {describe(now)}; loops carry only tiles and numbers"
            self.frame.variables[name] = Missing(why)
        results = list(self.emitter.insert(made).results)
        for name, result in zip(exit.carried, results[: len(exit.carried)], strict=True):
            result.name_hint = name
            self.frame.variables[name] = Tile(result, _origin(before[name]))
        for key, result in zip(exit.tokens, results[len(exit.carried) :], strict=True):
            self.emitter.tokens[key] = result


def _origin(value: Operand) -> str | None:
    """What a variable before a loop points into. All values that an iteration gives it are united with this."""
    return value.origin if isinstance(value, Tile) else None
