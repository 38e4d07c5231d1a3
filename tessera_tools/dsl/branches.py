"""Branches of a kernel: both sides are compiled, and what they assign becomes results of an `if`.

Also the ends of loops' blocks, which a branch may hold: the values of the variables that a loop carries.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects.cuda_tile.types import TOKEN, TileType, scalar
from tessera_tools.dsl.expressions import Expressions, Missing
from tessera_tools.dsl.source import Placed
from tessera_tools.dsl.values import Operand, Runtime, Tile, describe, is_operand, natural_type, united, wrap
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Block, Region, Value
from tessera_tools.ir.types import IntegerType
from tessera_tools.records import dataclass, field

__all__ = ["NOTHING", "Branches", "Exit", "Retry", "State", "Unrolled"]

NOTHING = object()
"""The value of a variable that has none."""


@dataclass
class Exit:
    """A loop of the kernel around the current statement: where `break` and `continue` go."""

    node: Placed
    carried: list[str]
    tokens: list[str]
    types: list[TileType]
    origins: list[str | None]
    """What the carried variables point into before the loop."""
    adaptable: set[str]
    """The carried variables that are numbers of Python before the loop, whose type is not settled yet."""
    fixed: dict[str, object] = field(default_factory=dict[str, object])
    """Variables that the body assigns and that are live at its head, but that no loop can carry: views, tuples."""
    next: Callable[[], list[Value]] | None = None
    """The values of `continue` before the carried ones."""


@dataclass(frozen=True)
class Unrolled:
    """A loop that is unrolled, and how many branches are around it."""

    branches: int


class Retry(Exception):
    """A number that the loop `node` carries turned out to have another type."""

    def __init__(self, node: Placed, name: str, type: TileType) -> None:
        self.node = node
        self.name = name
        self.type = type


@dataclass
class State:
    """Variables and tokens at a point of the program."""

    variables: dict[str, object]
    tokens: dict[str, Value]


@dataclass
class _Branch:
    """One side of a branch: its block, its end, and whether the end is reached."""

    block: Block
    ends: bool = False
    """It has left by break, continue or return."""
    state: State = field(default_factory=lambda: State({}, {}))


_VALUE = "%value"
"""The name of the value of `a if condition else b`, which no variable has."""


class Branches(Expressions):
    """Compiles branches in the current frame."""

    def choose(self, node: ast.IfExp, condition: Tile) -> object:
        """The value of `a if condition else b`, of which one is computed."""
        sides = [
            self.branch(lambda part=part: self._bind_hidden(_VALUE, self.evaluate(part)))
            for part in (node.body, node.orelse)
        ]
        with self.at(node):
            self.join(node, condition, sides, [_VALUE])
            value = self.frame.variables.pop(_VALUE)
            if isinstance(value, Missing):
                raise Refusal(value.reason)
            return value

    def _bind_hidden(self, name: str, value: object) -> bool:
        self.frame.variables[name] = value
        return False

    def branch(self, run: Callable[[], bool]) -> _Branch:
        """Compile one side of a branch in a block of its own; the state before it is restored."""
        before, frame = self.state(), self.frame
        branch = _Branch(Block())
        frame.branches += 1
        try:
            with self.emitter.into(branch.block):
                branch.ends = run()
            branch.state = self.state()
        finally:
            frame.branches -= 1
            self.restore(before)
        return branch

    def state(self) -> State:
        return State(dict(self.frame.variables), dict(self.emitter.tokens))

    def restore(self, state: State) -> None:
        self.frame.variables = dict(state.variables)
        self.emitter.tokens = dict(state.tokens)

    def join(self, node: Placed, condition: Tile, sides: Sequence[_Branch], names: Sequence[str]) -> bool:
        """The `if` of two sides, which yields the variables and tokens in which they differ."""
        reached = [side for side in sides if not side.ends]
        merged: list[tuple[str, list[Runtime]]] = []
        with self.at(node):
            for name in names:
                found = self._merge(name, reached, node)
                if found is not None:
                    merged.append((name, found))
            before = self.emitter.tokens
            keys = sorted({key for side in reached for key in side.state.tokens})
            tokens: list[tuple[str, list[Value]]] = []
            for key in keys:
                values = [side.state.tokens.get(key) for side in reached]
                if any(value is not values[0] for value in values) or values[0] is not before.get(key):
                    tokens.append((key, [self._token_in(side, key) for side in reached]))
        types: list[Type] = [*(values[0].ir.type for _, values in merged), *(TOKEN for _ in tokens)]
        for number, side in enumerate(reached):
            with self.at(node), self.emitter.into(side.block):
                given = [
                    *(values[number].ir for _, values in merged),
                    *(values[number] for _, values in tokens),
                ]
                self.emitter.insert(ct.Yield(given))
        with self.at(node):
            empty = sides[1].block.first_op is sides[1].block.last_op and not sides[1].ends and not types
            other = Region() if empty else Region([sides[1].block])
            made = ct.If(condition.ir, outputs=types, thenRegion=Region([sides[0].block]), elseRegion=other)
            results = list(self.emitter.insert(made).results)
            for (name, values), result in zip(merged, results[: len(merged)], strict=True):
                result.name_hint = name if not name.startswith("%") else None
                self.frame.variables[name] = wrap(result, united(*(value.origin for value in values)))
            for (key, _), result in zip(tokens, results[len(merged) :], strict=True):
                self.emitter.tokens[key] = result
            if reached:
                return False
            # Nothing behind this runs, but the block needs an end.
            loop = next((exit for exit in reversed(self.frame.exits) if isinstance(exit, Exit)), None)
            if loop is not None:
                self.next_iteration(node, loop)
            else:
                self.emitter.insert(ct.Return())
            return True

    def _token_in(self, side: _Branch, key: str) -> Value:
        found = side.state.tokens.get(key)
        if found is None:
            with self.emitter.into(side.block):
                found = self.emitter.insert(ct.MakeToken(result=TOKEN)).result
        return found

    def _merge(self, name: str, reached: Sequence[_Branch], node: Placed) -> list[Runtime] | None:
        """The values of a variable at the end of each side, in one type; None if no `if` result is needed."""
        if not reached:
            return None
        before = self.frame.variables.get(name, NOTHING)
        values = [side.state.variables.get(name, NOTHING) for side in reached]
        line = node.lineno + self.frame.source.first_line
        if any(value is NOTHING or isinstance(value, Missing) for value in values):
            reason = f"it is assigned on only one side of the 'if' in line {line}"
            reasons = [value for value in values if isinstance(value, Missing)]
            if before is not NOTHING or any(value is not NOTHING for value in values):
                self.frame.variables[name] = reasons[0] if len(reasons) == len(values) else Missing(reason)
            return None
        first = values[0]
        if all(v is first for v in values) and (
            len(values) > 1 or first is before or not isinstance(first, Runtime)
        ):
            self.frame.variables[name] = first
            return None
        operands = [value for value in values if is_operand(value)]
        if len(operands) < len(values):
            if all(_same(v, first) for v in values):
                self.frame.variables[name] = first
                return None
            shown = " and ".join(dict.fromkeys(describe(value) for value in values))
            self.frame.variables[name] = Missing(
                f"the sides of the 'if' in line {line} assign {shown}; only tiles and numbers are merged"
            )
            return None
        if not isinstance(first, Tile) and all(_same(v, first) for v in values):
            self.frame.variables[name] = first
            return None
        return self._unified(name, operands, reached)

    def _unified(self, name: str, values: Sequence[Operand], reached: Sequence[_Branch]) -> list[Runtime]:
        tiles = [value for value in values if isinstance(value, Tile)]
        if len({tile.type for tile in tiles}) > 1:
            what = "the value" if name == _VALUE else f"'{name}'"
            raise Refusal(
                f"{what} is {describe(tiles[0])} on one side of the 'if' and {describe(tiles[1])} on the other; "
                "expected one type"
            )
        if tiles:
            kind = tiles[0].type
        else:
            kind = scalar(max((natural_type(v) for v in values if not isinstance(v, Tile)), key=_rank_of))
        made: list[Runtime] = []
        for value, side in zip(values, reached, strict=True):
            with self.emitter.into(side.block):
                made.append(value if isinstance(value, Tile) else Tile(self.emitter.constant(value, kind)))
        return made

    # -- the ends of iterations

    def next_iteration(self, node: Placed, loop: Exit) -> None:
        first = loop.next() if loop.next is not None else []
        self.emitter.insert(ct.Continue([*first, *self.carried(node, loop)]))

    def carried(self, node: Placed, loop: Exit) -> list[Value]:
        """The values of the carried variables and tokens here, in the types that the loop has for them."""
        found: list[Value] = []
        with self.at(node):
            for name, was in loop.fixed.items():
                now = self.frame.variables.get(name, was)
                if isinstance(now, Missing):
                    raise Refusal(f"'{name}' has no value at the end of the iteration: {now.reason}")
                if not _same(now, was):
                    raise Refusal(
                        f"'{name}' is {describe(was)} before the loop, which assigns {describe(now)}; "
                        "loops carry only tiles and numbers"
                    )
            for name, kind, origin in zip(loop.carried, loop.types, loop.origins, strict=True):
                value = self.frame.variables.get(name)
                if isinstance(value, Missing):
                    raise Refusal(f"'{name}' has no value at the end of the iteration: {value.reason}")
                if isinstance(value, bool | int | float):
                    natural = scalar(natural_type(value))
                    if isinstance(value, float) and isinstance(kind.element, IntegerType):
                        self._settle(name, natural, kind)
                    found.append(self.emitter.constant(value, kind))
                elif not isinstance(value, Tile):
                    raise Refusal(
                        f"'{name}' is {describe(value)} at the end of the iteration; loops carry only tiles and numbers"
                    )
                else:
                    if value.type is not kind:
                        self._settle(name, value.type, kind)
                    united(origin, value.origin)
                    found.append(value.ir)
        return [*found, *(self.emitter.token(key) for key in loop.tokens)]

    def _settle(self, name: str, found: TileType, expected: TileType) -> None:
        """A number before a loop takes the type that the body gives it; a tile keeps its type."""
        for exit in reversed(self.frame.exits):
            if isinstance(exit, Exit) and name in exit.adaptable:
                raise Retry(exit.node, name, found)
        raise Refusal(
            f"'{name}' is a {expected.short_text()} before the loop and a {found.short_text()} after an iteration; "
            "expected one type"
        )


def _same(now: object, was: object) -> bool:
    """Whether two values that are known at compile time are the same one."""
    if now is was:
        return True
    if type(now) is not type(was) or isinstance(now, Runtime):
        return False
    if isinstance(now, tuple | list) and isinstance(was, tuple | list):
        return len(now) == len(was) and all(_same(a, b) for a, b in zip(now, was, strict=True))
    return isinstance(now, bool | int | float | str | range) and now == was


def _rank_of(kind: Type) -> int:
    return [*map(str, ("i1", "i32", "i64", "f32"))].index(str(kind))
