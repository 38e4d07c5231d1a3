"""Declarative assembly formats: MLIR's notation, compiled to a grammar rule, a reader and a printer.

    "$lhs `,` $rhs attr-dict `:` type($result)"
        ─parse→ [Operand lhs, Literal ",", Operand rhs, AttrDict, Literal ":", TypeOf result]
        ─symbols()→ VALUE "," VALUE attr_dict ":" TYPE             the grammar rule (one per distinct shape)
        ─read(children)→ OpState        ─write(printer, op)→ text

Every directive says which grammar symbols it stands for, reads the children those give, and writes itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tessera_tools.ir.builtin_attributes import UNIT
from tessera_tools.opdef.attribute_kinds import UNIT_ATTR
from tessera_tools.opdef.constraints import Derived, Exactly, SameAs
from tessera_tools.opdef.directive import CustomDirective, OpState
from tessera_tools.opdef.fields import AttributeField, OperandField, RegionField, ResultField, SuccessorField

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.op import OpDefinition


class FormatError(ValueError):
    """A format that cannot be compiled; raised when an op's format is first needed."""


class Directive:
    """One element of a format."""

    children = 1
    """How many children of the light tree the directive takes."""

    def symbols(self, helpers: Helpers) -> str:
        """The grammar symbols, in Lark's notation; helper rules are added to `helpers`."""
        raise AssertionError

    def read(self, state: OpState, children: list[Any], at: int) -> None:
        """Take `self.children` children from index `at`."""

    def write(self, p: Printer, op: Any) -> None:
        raise AssertionError

    def present(self, op: Any) -> bool:
        """As an anchor: whether the optional group is printed."""
        return True


class Helpers:
    """Helper rules of one dialect's grammar, by their right-hand side, so that equal ones are one rule."""

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


_OPENING = "<({["
_NO_SPACE_BEFORE = ">)}],"


class Literal(Directive):
    """A keyword or punctuation; dropped from the tree."""

    children = 0

    def __init__(self, text: str) -> None:
        self.text = text

    def symbols(self, helpers: Helpers) -> str:
        return '"' + self.text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    def write(self, p: Printer, op: Any) -> None:
        p.literal(self.text)


class Space(Directive):
    """`` ` ` ``: one space; an empty literal: none."""

    children = 0

    def __init__(self, text: str) -> None:
        self.text = text

    def symbols(self, helpers: Helpers) -> str:
        return ""

    def write(self, p: Printer, op: Any) -> None:
        p.spacing(self.text)


class OperandRef(Directive):
    """`$operand`."""

    def __init__(self, field: OperandField) -> None:
        self.field = field

    def symbols(self, helpers: Helpers) -> str:
        return {"single": "VALUE", "optional": "optional_value", "variadic": "value_list"}[self.field.arity]

    def read(self, state: OpState, children: list[Any], at: int) -> None:
        read = children[at]
        if self.field.arity == "single":
            state.operand_tokens[self.field.name] = [read]
        else:
            state.operand_tokens[self.field.name] = read

    def write(self, p: Printer, op: Any) -> None:
        value = self.field.__get__(op)
        if isinstance(value, list):
            if value:
                p.space()
                p.write(p.names(value))
        elif value is not None:
            p.space()
            p.write(p.name(value))

    def present(self, op: Any) -> bool:
        return bool(self.field.span(op)[1])


class AllOperands(Directive):
    """`operands`: every operand, comma-separated."""

    def __init__(self, definition: OpDefinition) -> None:
        self.definition = definition

    def symbols(self, helpers: Helpers) -> str:
        return "value_list"

    def read(self, state: OpState, children: list[Any], at: int) -> None:
        tokens = list(children[at])
        fields = self.definition.operands
        spare = len(tokens) - sum(f.arity == "single" for f in fields)
        for field in fields:
            count = 1 if field.arity == "single" else max(spare, 0)
            state.operand_tokens[field.name], tokens = tokens[:count], tokens[count:]
        if tokens or spare < 0:
            raise state.error(None, f"'{self.definition.name}' expects {len(fields)} operands, found {len(children[at])}")

    def write(self, p: Printer, op: Any) -> None:
        if op.op_operands:
            p.space()
            p.write(p.names(op.operands))

    def present(self, op: Any) -> bool:
        return bool(op.op_operands)


class AttributeRef(Directive):
    """`$attribute`, as its kind is written."""

    def __init__(self, field: AttributeField) -> None:
        self.field = field
        self.unit = field.kind is UNIT_ATTR
        self.silent = False
        """A unit attribute that anchors a group with a keyword of its own: the group's presence says it all."""
        self.children = 0 if self.unit else 1

    def symbols(self, helpers: Helpers) -> str:
        if self.silent:
            return ""
        return f'"{self.field.key}"' if self.unit else self.field.kind.symbol

    def read(self, state: OpState, children: list[Any], at: int) -> None:
        if self.unit:
            state.attributes[self.field.key] = UNIT
            return
        read = children[at]
        try:
            state.attributes[self.field.key] = self.field.kind.build(read)
        except (ValueError, OverflowError) as problem:
            raise state.error(_first_token(read), str(problem)) from None

    def write(self, p: Printer, op: Any) -> None:
        if self.silent:
            return
        value = self.field.__get__(op)
        text = self.field.key if self.unit else p.kind_text(self.field.kind, value)
        p.space_unless(text, "<")
        p.write(text)

    def present(self, op: Any) -> bool:
        value = op.attributes.get(self.field.key)
        return value is not None and value is not self.field.default


def _first_token(read: Any) -> Any:
    while isinstance(read, list) and read:
        read = read[0]
    return read if isinstance(read, tuple) and len(read) == 2 else None


class RegionRef(Directive):
    """`$region`."""

    def __init__(self, field: RegionField, index: int) -> None:
        self.field = field
        self.index = index

    def symbols(self, helpers: Helpers) -> str:
        return "region_list" if self.field.arity == "variadic" else "region"

    def read(self, state: OpState, children: list[Any], at: int) -> None:
        bound = state.block_arguments if self.field.position == 0 else []
        if self.field.arity == "variadic":
            for node in children[at]:
                state.region(self.field.name, node)
        else:
            state.region(self.field.name, children[at], bound)

    def write(self, p: Printer, op: Any) -> None:
        regions = op.regions[self.field.position :] if self.field.arity == "variadic" else [op.regions[self.field.position]]
        for i, region in enumerate(regions):
            p.write(", " if i else "")
            p.space()
            p.region(region)

    def present(self, op: Any) -> bool:
        regions = op.regions[self.field.position :]
        return any(r.blocks for r in (regions if self.field.arity == "variadic" else regions[:1]))


class SuccessorRef(Directive):
    """`$successor`: a block name without operands."""

    def __init__(self, field: SuccessorField) -> None:
        self.field = field

    def symbols(self, helpers: Helpers) -> str:
        return "CARET" if self.field.arity == "single" else "caret_list"

    def read(self, state: OpState, children: list[Any], at: int) -> None:
        for token in [children[at]] if self.field.arity == "single" else children[at]:
            state.successor(self.field.name, token)

    def write(self, p: Printer, op: Any) -> None:
        blocks = op.successors[self.field.position :] if self.field.arity == "variadic" else [op.successors[self.field.position]]
        p.space()
        p.write(", ".join(p.block_name(b) for b in blocks))


class TypeOf(Directive):
    """`type($x)` of an operand or result field."""

    def __init__(self, field: OperandField | ResultField) -> None:
        self.field = field

    def symbols(self, helpers: Helpers) -> str:
        return {"single": "TYPE", "optional": "optional_type", "variadic": "type_list"}[self.field.arity]

    def read(self, state: OpState, children: list[Any], at: int) -> None:
        read = children[at]
        state.value_types[self.field.name] = [read] if self.field.arity == "single" else read

    def write(self, p: Printer, op: Any) -> None:
        value = self.field.__get__(op)
        values = value if isinstance(value, list) else [value] if value is not None else []
        if values:
            p.space()
            p.write(p.types([v.type for v in values]))

    def present(self, op: Any) -> bool:
        return bool(self.field.span(op)[1])


class TypesOfAll(Directive):
    """`type(operands)` or `type(results)`."""

    def __init__(self, fields: list[Any], noun: str) -> None:
        self.fields = fields
        self.noun = noun

    def symbols(self, helpers: Helpers) -> str:
        return "type_list"

    def read(self, state: OpState, children: list[Any], at: int) -> None:
        distribute_types(state, self.fields, children[at], self.noun)

    def write(self, p: Printer, op: Any) -> None:
        types = op.operand_types if self.noun == "operand" else op.result_types
        if types:
            p.space()
            p.write(p.types(types))

    def present(self, op: Any) -> bool:
        return bool(op.op_operands if self.noun == "operand" else op.results)


def distribute_types(state: OpState, fields: list[Any], types: list[Any], noun: str) -> None:
    """Give each field its share of a list of types; operand counts are known by then, a variadic result takes the rest."""
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

    def read(self, state: OpState, children: list[Any], at: int) -> None:
        function = children[at]
        for part, types in ((self.inputs, list(function.inputs)), (self.outputs, list(function.results))):
            if isinstance(part, TypesOfAll):
                distribute_types(state, part.fields, types, part.noun)
            elif isinstance(part, TypeOf):
                state.value_types[part.field.name] = types

    def write(self, p: Printer, op: Any) -> None:
        p.space()
        p.write(p.function_type(_types(self.inputs, op), _types(self.outputs, op)))


def _types(part: Directive, op: Any) -> list[Any]:
    if isinstance(part, TypesOfAll):
        return op.operand_types if part.noun == "operand" else op.result_types
    assert isinstance(part, TypeOf)
    value = part.field.__get__(op)
    return [v.type for v in value] if isinstance(value, list) else [] if value is None else [value.type]


class AttrDict(Directive):
    """`attr-dict`, `attr-dict-with-keyword`: the attributes that no other directive writes."""

    def __init__(self, keyword: bool) -> None:
        self.keyword = keyword
        self.elide: set[str] = set()

    def symbols(self, helpers: Helpers) -> str:
        return "attr_dict_with_keyword" if self.keyword else "attr_dict"

    def read(self, state: OpState, children: list[Any], at: int) -> None:
        for key, value in children[at].items():
            if key in state.attributes:
                raise state.error(None, f"attribute '{key}' is given twice")
            state.attributes[key] = value

    def write(self, p: Printer, op: Any) -> None:
        p.attr_dict(op, self.elide, keyword=self.keyword)


class Custom(Directive):
    """`custom<Name>(…)`."""

    def __init__(self, directive: CustomDirective) -> None:
        self.directive = directive

    def symbols(self, helpers: Helpers) -> str:
        return helpers.custom(type(self.directive))

    def read(self, state: OpState, children: list[Any], at: int) -> None:
        self.directive.read(state, children[at])

    def write(self, p: Printer, op: Any) -> None:
        self.directive.write(p, op)

    def present(self, op: Any) -> bool:
        anchored = getattr(self.directive, "present", None)
        return bool(anchored(op)) if anchored else True


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

    def read(self, state: OpState, children: list[Any], at: int) -> None:
        alias, inner = children[at]
        read_all(self.elements if alias == "present" else self.otherwise, state, inner)

    def write(self, p: Printer, op: Any) -> None:
        for directive in self.elements if self.anchor.present(op) else self.otherwise:
            directive.write(p, op)

    def present(self, op: Any) -> bool:
        return self.anchor.present(op)


def read_all(directives: list[Directive], state: OpState, children: list[Any]) -> None:
    """Let each directive read its children."""
    at = 0
    for directive in directives:
        directive.read(state, children, at)
        at += directive.children


_LEXEME = re.compile(r"\s*(?:`([^`]*)`|(\$\w+)|([a-z][\w-]*)(<\w+>)?|(\)\s*\?)|([():^,?]))")


class Format:
    """The compiled format of one op."""

    def __init__(self, definition: OpDefinition) -> None:
        self.definition = definition
        self.text = definition.op_class.assembly or ""
        self._lexemes = self._lex()
        self._at = 0
        self.directives = self._sequence(top=True)
        self._check()

    # -- compilation

    def _lex(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        at, text = 0, self.text
        while at < len(text.rstrip()):
            match = _LEXEME.match(text, at)
            if match is None:
                raise FormatError(f"{self.definition.name}: cannot read the format at '{text[at:].strip()[:20]}'")
            literal, name, word, angle, close, mark = match.groups()
            if literal is not None:
                found.append(("literal", literal))
            elif name:
                found.append(("name", name[1:]))
            elif word:
                found.append(("word", word + (angle or "")))
            elif close:
                found.append(("mark", ")?"))
            else:
                found.append(("mark", mark))
            at = match.end()
        found.append(("end", ""))
        return found

    def _peek(self) -> tuple[str, str]:
        return self._lexemes[self._at]

    def _next(self) -> tuple[str, str]:
        self._at += 1
        return self._lexemes[self._at - 1]

    def _expect(self, mark: str) -> None:
        kind, text = self._next()
        if kind != "mark" or text != mark:
            raise FormatError(f"{self.definition.name}: expected '{mark}' in the format, found '{text}'")

    def _sequence(self, top: bool = False) -> list[Directive]:
        directives: list[Directive] = []
        while True:
            kind, text = self._peek()
            if kind == "end":
                if not top:
                    raise FormatError(f"{self.definition.name}: a group is not closed")
                return directives
            if kind == "mark" and text in (")", ")?"):
                return directives
            if kind == "mark" and text == "(":
                directives.append(self._group())
            else:
                directives.append(self._element())

    def _group(self) -> Group:
        self._expect("(")
        elements: list[Directive] = []
        anchor: Directive | None = None
        while self._peek() not in (("mark", ")"), ("mark", ")?")):
            if self._peek() == ("mark", "("):
                elements.append(self._group())
            elif self._peek()[0] == "end":
                raise FormatError(f"{self.definition.name}: a group is not closed")
            else:
                elements.append(self._element())
            if self._peek() == ("mark", "^"):
                self._next()
                anchor = elements[-1]
        otherwise: list[Directive] = []
        if self._next() == ("mark", ")"):
            self._expect(":")
            self._expect("(")
            otherwise = self._sequence()
            self._expect(")?")
        if anchor is None:
            raise FormatError(f"{self.definition.name}: an optional group needs an anchor '^'")
        if isinstance(anchor, AttributeRef) and anchor.unit:
            anchor.silent = any(isinstance(e, Literal) for e in elements)
        return Group(elements, anchor, otherwise)

    def _element(self) -> Directive:
        kind, text = self._next()
        if kind == "literal":
            return Literal(text) if text.strip() else Space(text)
        if kind == "name":
            return self._reference(text)
        if kind == "word":
            return self._word(text)
        raise FormatError(f"{self.definition.name}: unexpected '{text}' in the format")

    def _field(self, name: str) -> Any:
        field = self.definition.fields.get(name)
        if field is None:
            raise FormatError(f"{self.definition.name}: the format names '${name}', which is not declared")
        return field

    def _reference(self, name: str) -> Directive:
        field = self._field(name)
        if isinstance(field, OperandField):
            return OperandRef(field)
        if isinstance(field, AttributeField):
            return AttributeRef(field)
        if isinstance(field, RegionField):
            return RegionRef(field, field.position)
        if isinstance(field, SuccessorField):
            return SuccessorRef(field)
        raise FormatError(f"{self.definition.name}: result '${name}' can stand only in type(…)")

    def _word(self, word: str) -> Directive:
        if word == "operands":
            return AllOperands(self.definition)
        if word in ("attr-dict", "attr-dict-with-keyword"):
            return AttrDict(word.endswith("keyword"))
        if word == "type":
            return self._parenthesized(lambda: self._types_argument())
        if word == "functional-type":
            self._expect("(")
            inputs = self._types_argument()
            self._expect(",")
            outputs = self._types_argument()
            self._expect(")")
            return FunctionalType(inputs, outputs)
        if word.startswith("custom<"):
            return self._custom(word[7:-1])
        raise FormatError(f"{self.definition.name}: unknown directive '{word}' in the format")

    def _parenthesized(self, read: Any) -> Any:
        self._expect("(")
        value = read()
        self._expect(")")
        return value

    def _types_argument(self) -> Directive:
        kind, text = self._next()
        if kind == "word" and text == "type":
            return self._parenthesized(self._types_argument)
        if kind == "word" and text in ("operands", "results"):
            fields: Any = self.definition.operands if text == "operands" else self.definition.results
            return TypesOfAll(fields, text[:-1])
        return TypeOf(self._field(text))

    def _custom(self, name: str) -> Custom:
        arguments: list[str] = []
        if self._peek() == ("mark", "("):
            depth = 0
            while True:
                kind, text = self._next()
                if kind == "mark" and text == "(":
                    depth += 1
                elif kind == "mark" and text in (")", ")?"):
                    depth -= 1
                    if depth == 0:
                        break
                elif kind == "name":
                    arguments.append(text)
                elif kind == "end":
                    raise FormatError(f"{self.definition.name}: custom<{name}>( is not closed")
        return Custom(CustomDirective.find(self.definition.op_class.__module__, name)(arguments))

    def _check(self) -> None:
        """Every attribute and type must be written or inferable; the attribute dictionary knows what to leave out."""
        elide = {"operandSegmentSizes", "resultSegmentSizes"}
        covered: set[str] = set()
        dictionaries: list[AttrDict] = []
        operands: set[str] = set()
        customs = False
        for directive in walk(self.directives):
            if isinstance(directive, AttributeRef):
                elide.add(directive.field.key)
            elif isinstance(directive, TypeOf):
                covered.add(directive.field.name)
            elif isinstance(directive, TypesOfAll):
                covered.update(f.name for f in directive.fields)
            elif isinstance(directive, FunctionalType):
                for part in (directive.inputs, directive.outputs):
                    fields = [part.field] if isinstance(part, TypeOf) else part.fields  # type: ignore[attr-defined]
                    covered.update(f.name for f in fields)
            elif isinstance(directive, OperandRef):
                operands.add(directive.field.name)
            elif isinstance(directive, AllOperands):
                operands.update(f.name for f in self.definition.operands)
            elif isinstance(directive, Custom):
                attributes, types = directive.directive.covers()
                customs = True
                fields = self.definition.fields
                elide.update(f.key for n in attributes if isinstance(f := fields.get(n), AttributeField))
                covered |= types
                operands |= set(directive.directive.arguments)
            elif isinstance(directive, AttrDict):
                dictionaries.append(directive)
        for dictionary in dictionaries:
            dictionary.elide = elide
        if customs:
            return
        for field in self.definition.operands:
            if field.name not in operands:
                raise FormatError(f"{self.definition.name}: the format does not name operand '${field.name}'")
        for field in self.definition.results:
            inferred = isinstance(field.constraint, SameAs | Derived | Exactly)
            related = any(
                isinstance(f.constraint, SameAs) and f.constraint.field == field.name for f in self.definition.operands
            )
            if field.name not in covered and not inferred and not related:
                raise FormatError(f"{self.definition.name}: nothing gives the type of result '{field.name}'")

    # -- use

    def symbols(self, helpers: Helpers) -> str:
        """The right-hand side of the grammar rule."""
        return " ".join(filter(None, (d.symbols(helpers) for d in self.directives)))

    def read(self, state: OpState, children: list[Any]) -> None:
        read_all(self.directives, state, children)

    def write(self, p: Printer, op: Any) -> None:
        for directive in self.directives:
            directive.write(p, op)


def walk(directives: list[Directive]) -> Any:
    """Every directive, those inside groups too."""
    for directive in directives:
        yield directive
        if isinstance(directive, Group):
            yield from walk(directive.elements)
            yield from walk(directive.otherwise)
