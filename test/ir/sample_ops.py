"""Small operations and helpers for the tests of the IR core."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tessera_tools.ir import effects, traits
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import IntegerAttr, StringAttr
from tessera_tools.ir.core import Block, Operation, OpOperand, OpResult, Region, Value
from tessera_tools.ir.location import UNKNOWN, FileLineColLoc, Location
from tessera_tools.ir.types import I32


class Module(Operation):
    """A graph region that holds symbols; upstream's module."""

    __slots__ = ()
    name = "builtin.module"
    traits = (traits.NO_TERMINATOR, traits.SINGLE_BLOCK, traits.ISOLATED_FROM_ABOVE, traits.SYMBOL_TABLE)


class Func(Operation):
    __slots__ = ()
    name = "t.func"
    traits = (traits.ISOLATED_FROM_ABOVE, traits.SYMBOL)


class Loop(Operation):
    """A region that sees what is around it."""

    __slots__ = ()
    name = "t.loop"
    traits = (effects.RECURSIVE_MEMORY_EFFECTS,)


class Const(Operation):
    __slots__ = ()
    name = "t.const"
    traits = (effects.PURE, traits.CONSTANT_LIKE)


class Add(Operation):
    __slots__ = ()
    name = "t.add"
    traits = (effects.PURE, traits.COMMUTATIVE)

    def fold(self, operands: Sequence[Attribute | None]) -> Sequence[Attribute | Value] | None:
        left, right = operands
        if isinstance(right, IntegerAttr) and right.value == 0:
            return [self.operand(0)]
        if isinstance(left, IntegerAttr) and isinstance(right, IntegerAttr):
            return [IntegerAttr.wrap(left.value + right.value, left.type)]
        return None


class Sub(Operation):
    __slots__ = ()
    name = "t.sub"
    traits = (effects.PURE,)


class Store(Operation):
    __slots__ = ()
    name = "t.store"
    traits = (effects.WRITE,)


class Branch(Operation):
    __slots__ = ()
    name = "t.br"
    traits = (traits.TERMINATOR,)


class Return(Operation):
    __slots__ = ()
    name = "t.return"
    traits = (traits.RETURN_LIKE,)


def const(value: int, type: Type = I32, location: Location = UNKNOWN) -> Const:
    return Const.create((), [type], {"value": IntegerAttr(value, type)}, location=location)


def make_const(op: Operation, attr: Attribute, type: Type) -> Operation | None:
    """A constant of the dialect `t`."""
    return Const.create((), [type], {"value": attr}) if isinstance(attr, IntegerAttr) else None


def add(left: Value, right: Value, type: Type = I32) -> Add:
    return Add.create([left, right], [type])


def func(*blocks: Block, name: str = "f") -> Func:
    return Func.create((), (), {"sym_name": StringAttr(name)}, [Region(blocks)])


def module(*ops: Operation, name: str | None = None) -> Module:
    body = Block()
    for op in ops:
        body.append(op)
    return Module.create((), (), {"sym_name": StringAttr(name)} if name else None, [Region([body])])


def block(*ops: Operation, types: Sequence[Type] = ()) -> Block:
    made = Block(types)
    for op in ops:
        made.append(op)
    return made


def at(line: int, column: int = 1) -> Location:
    return FileLineColLoc("in.mlir", line, column)


def shape(op: Operation) -> list[str]:
    """The names of the operations inside, in order."""
    return [inner.name for inner in op.walk()]


def dump(op: Operation) -> str:
    """The whole structure as text, independent of the printer: names, operands and types by number."""
    numbers: dict[object, int] = {}

    def number(item: object) -> int:
        return numbers.setdefault(item, len(numbers))

    lines: list[str] = []

    def visit(current: Operation, depth: int) -> None:
        results = " ".join(f"%{number(r)}:{r.type}" for r in current.results)
        operands = " ".join(f"%{number(v)}" for v in current.operands)
        attributes = " ".join(f"{k}={v}" for k, v in current.attributes.items())
        targets = " ".join(f"^{number(b)}" for b in current.successors)
        lines.append(
            f"{'  ' * depth}{results} = {current.name} {operands} {attributes} {targets} {current.location}"
        )
        for region in current.regions:
            for inner in region.blocks:
                arguments = " ".join(f"%{number(a)}:{a.type}" for a in inner.arguments)
                lines.append(f"{'  ' * depth}^{number(inner)} {arguments}")
                for child in inner:
                    visit(child, depth + 1)

    visit(op, 0)
    return "\n".join(lines)


def check_structure(root: Operation) -> None:
    """Assert that every link inside `root` holds in both directions."""
    uses: dict[Value, set[OpOperand]] = {}
    values: list[Value] = []
    for op in [root, *root.walk()]:
        values += op.results
        for i, use in enumerate(op.op_operands):
            assert use.owner is op and use.index == i
            uses.setdefault(use.value, set()).add(use)
        for i, result in enumerate(op.results):
            assert isinstance(result, OpResult) and result.op is op and result.index == i
        for region in op.regions:
            assert region.parent is op
            for inner in region.blocks:
                assert inner.parent is region
                values += inner.arguments
                assert [a.index for a in inner.arguments] == list(range(len(inner.arguments)))
                forward = list(inner)
                assert forward == list(reversed(inner))[::-1]
                assert all(child.parent is inner for child in forward)
                assert (inner.first_op, inner.last_op) == (
                    (forward[0], forward[-1]) if forward else (None, None)
                )
                assert all(a.is_before_in_block(b) for a, b in pairwise(forward))
    for value in values:
        seen = list(value.uses)
        assert len(seen) == len(set(seen))
        assert set(seen) == uses.get(value, set())
