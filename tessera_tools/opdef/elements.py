"""The elements of an assembly format.  Each defines its grammar symbols, parses their children,
and prints itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import UNIT
from tessera_tools.ir.core import Operation
from tessera_tools.opdef.attribute_kinds import UNIT_ATTR
from tessera_tools.opdef.directive import CustomDirective, OpState, Token
from tessera_tools.opdef.fields import AttributeField, OperandField, RegionField, ResultField, SuccessorField

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node
    from tessera_tools.opdef.op import Op, OpDefinition


class Directive:
    """One element of a format."""

    children = 1
    """The number of children of the directive in the light tree."""

    def symbols(self, helpers: Helpers) -> str:
        """The grammar symbols, in Lark's notation; helper rules are added to `helpers`."""
        raise AssertionError

    def read(self, state: OpState, children: list[Node], at: int) -> None:
        """Parse `self.children` children from index `at`."""

    def write(self, p: Printer, op: Op) -> None:
        raise AssertionError

    def present(self, op: Operation) -> bool:
        """As an anchor: true if the optional group is printed."""
        return True


class Helpers:
    """Helper rules of one dialect's grammar, by right-hand side, so that equal ones are shared."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.rules: dict[str, str] = {}
        self.fragments: dict[str, str] = {}

    def rule(self, body: str) -> str:
        """The name of the rule with this right-hand side."""
        if body not in self.rules:
            self.rules[body] = f"{self.prefix}_group_{len(self.rules)}"
        return self.rules[body]

    def custom(self, directive: type[CustomDirective]) -> str:
        """The name of a custom directive's rule; its fragment is added once."""
        snake = re.sub(r"(?<!^)(?=[A-Z])", "_", directive.name).lower()
        name = f"{self.prefix}_{snake}"
        if name not in self.fragments:
            text = re.sub(r"\bcustom(?=[:_\s])", name, directive.grammar.strip())
            self.fragments[name] = re.sub(r"(?m)^\s*(?=[a-z?_!]+\w*\s*:)", "", text)
        return name


class Literal(Directive):
    """A keyword or punctuation; dropped from the tree."""

    children = 0

    def __init__(self, text: str) -> None:
        self.text = text

    def symbols(self, helpers: Helpers) -> str:
        return '"' + self.text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    def write(self, p: Printer, op: Op) -> None:
        p.literal(self.text)


class Space(Directive):
    """`` ` ` ``: one space; an empty literal: none."""

    children = 0

    def __init__(self, text: str) -> None:
        self.text = text

    def symbols(self, helpers: Helpers) -> str:
        return ""

    def write(self, p: Printer, op: Op) -> None:
        p.spacing(self.text)


class OperandRef(Directive):
    """`$operand`."""

    def __init__(self, field: OperandField) -> None:
        self.field = field

    def symbols(self, helpers: Helpers) -> str:
        return {"single": "VALUE", "optional": "optional_value", "variadic": "value_list"}[self.field.arity]

    def read(self, state: OpState, children: list[Node], at: int) -> None:
        read = children[at]
        if self.field.arity == "single":
            state.operand_tokens[self.field.name] = [read]
        else:
            state.operand_tokens[self.field.name] = read

    def write(self, p: Printer, op: Op) -> None:
        value = self.field.read(op)
        if isinstance(value, list):
            if value:
                p.space()
                p.write(p.names(value))
        elif value is not None:
            p.space()
            p.write(p.name(value))

    def present(self, op: Operation) -> bool:
        return bool(self.field.span(op)[1])


class AllOperands(Directive):
    """`operands`: every operand, comma-separated."""

    def __init__(self, definition: OpDefinition) -> None:
        self.definition = definition

    def symbols(self, helpers: Helpers) -> str:
        return "value_list"

    def read(self, state: OpState, children: list[Node], at: int) -> None:
        tokens = list(children[at])
        fields = self.definition.operands
        spare = len(tokens) - sum(f.arity == "single" for f in fields)
        for field in fields:
            count = 1 if field.arity == "single" else max(spare, 0)
            state.operand_tokens[field.name], tokens = tokens[:count], tokens[count:]
        if tokens or spare < 0:
            raise state.error(
                None, f"'{self.definition.name}' expects {len(fields)} operands, found {len(children[at])}"
            )

    def write(self, p: Printer, op: Op) -> None:
        if op.op_operands:
            p.space()
            p.write(p.names(op.operands))

    def present(self, op: Operation) -> bool:
        return bool(op.op_operands)


class AttributeRef(Directive):
    """`$attribute`, in the form of its kind."""

    def __init__(self, field: AttributeField) -> None:
        self.field = field
        self.unit = field.kind is UNIT_ATTR
        self.silent = False
        """A unit attribute that anchors a group with a keyword: it is set if the group is present."""
        self.children = 0 if self.unit else 1

    def symbols(self, helpers: Helpers) -> str:
        if self.silent:
            return ""
        return f'"{self.field.key}"' if self.unit else self.field.kind.symbol

    def read(self, state: OpState, children: list[Node], at: int) -> None:
        if self.unit:
            state.attributes[self.field.key] = UNIT
            return
        read = children[at]
        try:
            state.attributes[self.field.key] = self.field.kind.build(read)
        except (ValueError, OverflowError) as problem:
            cases, token = self.field.kind.detail, _first_token(read)
            message = str(problem)
            if isinstance(cases, dict) and token is not None:
                message = (
                    "expected string or keyword containing one of the following enum values for attribute "
                    f"'{self.field.key}' [{', '.join(cases)}], found '{token.text}'"
                )
            raise state.error(token, message) from None

    def write(self, p: Printer, op: Op) -> None:
        if self.silent:
            return
        value = self.field.__get__(op)
        text = self.field.key if self.unit else p.kind_text(self.field.kind, value)
        p.space()
        p.write(text)

    def present(self, op: Operation) -> bool:
        value = op.attributes.get(self.field.key)
        return value is not None and value is not self.field.default


def _first_token(read: Node) -> Token | None:
    while isinstance(read, list) and read:
        read = read[0]
    return read if isinstance(read, Token) else None


class RegionRef(Directive):
    """`$region`."""

    def __init__(self, field: RegionField, index: int) -> None:
        self.field = field
        self.index = index

    def symbols(self, helpers: Helpers) -> str:
        return "region_list" if self.field.arity == "variadic" else "region"

    def read(self, state: OpState, children: list[Node], at: int) -> None:
        bound = state.block_arguments if self.field.position == 0 else []
        if self.field.arity == "variadic":
            for node in children[at]:
                state.region(self.field.name, node)
        else:
            state.region(self.field.name, children[at], bound)

    def write(self, p: Printer, op: Op) -> None:
        regions = (
            op.regions[self.field.position :]
            if self.field.arity == "variadic"
            else [op.regions[self.field.position]]
        )
        for i, region in enumerate(regions):
            p.write(", " if i else "")
            p.space()
            p.region(region)

    def present(self, op: Operation) -> bool:
        regions = op.regions[self.field.position :]
        return any(r.blocks for r in (regions if self.field.arity == "variadic" else regions[:1]))


class SuccessorRef(Directive):
    """`$successor`: a block name without operands."""

    def __init__(self, field: SuccessorField) -> None:
        self.field = field

    def symbols(self, helpers: Helpers) -> str:
        return "CARET" if self.field.arity == "single" else "caret_list"

    def read(self, state: OpState, children: list[Node], at: int) -> None:
        for token in [children[at]] if self.field.arity == "single" else children[at]:
            state.successor(self.field.name, token)

    def write(self, p: Printer, op: Op) -> None:
        blocks = (
            op.successors[self.field.position :]
            if self.field.arity == "variadic"
            else [op.successors[self.field.position]]
        )
        p.space()
        p.write(", ".join(p.block_name(b) for b in blocks))


class TypeOf(Directive):
    """`type($x)` of an operand or result field."""

    def __init__(self, field: OperandField | ResultField) -> None:
        self.field = field

    def symbols(self, helpers: Helpers) -> str:
        return {"single": "TYPE", "optional": "optional_type", "variadic": "type_list"}[self.field.arity]

    def read(self, state: OpState, children: list[Node], at: int) -> None:
        read = children[at]
        state.value_types[self.field.name] = [read] if self.field.arity == "single" else read

    def write(self, p: Printer, op: Op) -> None:
        value = self.field.read(op)
        values = value if isinstance(value, list) else [value] if value is not None else []
        if values:
            p.space()
            p.write(p.types([v.type for v in values]))

    def present(self, op: Operation) -> bool:
        return bool(self.field.span(op)[1])


class TypesOfAll(Directive):
    """`type(operands)` or `type(results)`."""

    def __init__(self, fields: Sequence[OperandField] | Sequence[ResultField], noun: str) -> None:
        self.fields = fields
        self.noun = noun

    def symbols(self, helpers: Helpers) -> str:
        return "type_list"

    def read(self, state: OpState, children: list[Node], at: int) -> None:
        distribute_types(state, self.fields, children[at], self.noun)

    def write(self, p: Printer, op: Op) -> None:
        types = op.operand_types if self.noun == "operand" else op.result_types
        if types:
            p.space()
            p.write(p.types(types))

    def present(self, op: Operation) -> bool:
        return bool(op.op_operands if self.noun == "operand" else op.results)


def distribute_types(
    state: OpState, fields: Sequence[OperandField] | Sequence[ResultField], types: list[Type], noun: str
) -> None:
    """Distribute a list of types over fields; the number of operands is already known, a variadic result gets the
    rest."""
    rest = list(types)
    spare = len(rest) - sum(f.arity == "single" for f in fields)
    for field in fields:
        if noun == "operand":
            count = len(state.operand_tokens.get(field.name, ()))
        else:
            count = 1 if field.arity == "single" else max(spare, 0)
        state.value_types[field.name], rest = rest[:count], rest[count:]
        if len(state.value_types[field.name]) < count:
            raise state.error(None, f"expected a type for each {noun}, found {len(types)}")
    if rest:
        raise state.error(None, f"found {len(types)} {noun} types, expected {len(types) - len(rest)}")


class FunctionalType(Directive):
    """`functional-type(inputs, outputs)`."""

    def __init__(self, inputs: Directive, outputs: Directive) -> None:
        self.inputs = inputs
        self.outputs = outputs

    def symbols(self, helpers: Helpers) -> str:
        return "FUNCTION_TYPE"

    def read(self, state: OpState, children: list[Node], at: int) -> None:
        function = children[at]
        for part, types in ((self.inputs, list(function.inputs)), (self.outputs, list(function.results))):
            if isinstance(part, TypesOfAll):
                distribute_types(state, part.fields, types, part.noun)
            elif isinstance(part, TypeOf) and isinstance(part.field, ResultField):
                distribute_types(state, (part.field,), types, "result")
            elif isinstance(part, TypeOf):
                state.value_types[part.field.name] = types

    def write(self, p: Printer, op: Op) -> None:
        p.space()
        p.write(p.function_type(_types(self.inputs, op), _types(self.outputs, op)))


def _types(part: Directive, op: Operation) -> list[Type]:
    if isinstance(part, TypesOfAll):
        return op.operand_types if part.noun == "operand" else op.result_types
    assert isinstance(part, TypeOf)
    value = part.field.read(op)
    return [v.type for v in value] if isinstance(value, list) else [] if value is None else [value.type]


class AttrDict(Directive):
    """`attr-dict`, `attr-dict-with-keyword`: the attributes that no other directive writes."""

    def __init__(self, keyword: bool) -> None:
        self.keyword = keyword
        self.elide: set[str] = set()

    def symbols(self, helpers: Helpers) -> str:
        return "attr_dict_with_keyword" if self.keyword else "attr_dict"

    def read(self, state: OpState, children: list[Node], at: int) -> None:
        for key, value in children[at].items():
            if key in state.attributes:
                raise state.error(None, f"attribute '{key}' is given twice")
            state.attributes[key] = value

    def write(self, p: Printer, op: Op) -> None:
        p.attr_dict(op, self.elide, keyword=self.keyword)


class Custom(Directive):
    """`custom<Name>(…)`."""

    def __init__(self, directive: CustomDirective) -> None:
        self.directive = directive

    def symbols(self, helpers: Helpers) -> str:
        return helpers.custom(type(self.directive))

    def read(self, state: OpState, children: list[Node], at: int) -> None:
        self.directive.read(state, children[at])

    def write(self, p: Printer, op: Op) -> None:
        self.directive.write(p, op)

    def present(self, op: Operation) -> bool:
        return self.directive.present(op)


class Group(Directive):
    """`( … $anchor^ … )?` with an optional else part."""

    def __init__(self, elements: list[Directive], anchor: Directive, otherwise: list[Directive]) -> None:
        self.elements = elements
        self.anchor = anchor
        self.otherwise = otherwise

    def symbols(self, helpers: Helpers) -> str:
        body = " ".join(filter(None, (d.symbols(helpers) for d in self.elements)))
        other = " ".join(filter(None, (d.symbols(helpers) for d in self.otherwise)))
        return helpers.rule(f"{body} -> present | {other} -> absent")

    def read(self, state: OpState, children: list[Node], at: int) -> None:
        alias, inner = children[at]
        read_all(self.elements if alias == "present" else self.otherwise, state, inner)

    def write(self, p: Printer, op: Op) -> None:
        for directive in self.elements if self.anchor.present(op) else self.otherwise:
            directive.write(p, op)

    def present(self, op: Operation) -> bool:
        return self.anchor.present(op)


def read_all(directives: list[Directive], state: OpState, children: list[Node]) -> None:
    """Parse the children of each directive."""
    at = 0
    for directive in directives:
        directive.read(state, children, at)
        at += directive.children


def walk(directives: list[Directive]) -> Iterator[Directive]:
    """Every directive, including those inside groups."""
    for directive in directives:
        yield directive
        if isinstance(directive, Group):
            yield from walk(directive.elements)
            yield from walk(directive.otherwise)
