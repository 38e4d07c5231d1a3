"""Declarative assembly formats: MLIR's notation, compiled to a grammar rule, a reader and a printer.

    "$lhs `,` $rhs attr-dict `:` type($result)"
        ─parse→ [Operand lhs, Literal ",", Operand rhs, AttrDict, Literal ":", TypeOf result]
        ─symbols()→ VALUE "," VALUE attr_dict ":" TYPE             the grammar rule (one per distinct shape)
        ─read(children)→ OpState        ─write(printer, op)→ text

Every directive defines its grammar symbols, parses their children, and prints itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from tessera_tools.opdef.constraints import Derived, Exactly, SameAs
from tessera_tools.opdef.directive import CustomDirective, OpState
from tessera_tools.opdef.elements import (
    AllOperands,
    AttrDict,
    AttributeRef,
    Custom,
    Directive,
    FunctionalType,
    Group,
    Helpers,
    Literal,
    OperandRef,
    RegionRef,
    Space,
    SuccessorRef,
    TypeOf,
    TypesOfAll,
    read_all,
    walk,
)
from tessera_tools.opdef.fields import (
    AttributeField,
    Field,
    OperandField,
    RegionField,
    ResultField,
    SuccessorField,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node
    from tessera_tools.opdef.op import Op, OpDefinition


ElementT = TypeVar("ElementT", bound=Directive)


class FormatError(ValueError):
    """A format that cannot be compiled; raised on the first use of an op's format."""


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
                raise FormatError(
                    f"{self.definition.name}: cannot read the format at '{text[at:].strip()[:20]}'"
                )
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

    def _field(self, name: str) -> Field:
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
        raise FormatError(f"{self.definition.name}: result '${name}' is only allowed in type(…)")

    def _word(self, word: str) -> Directive:
        if word == "operands":
            return AllOperands(self.definition)
        if word in ("attr-dict", "attr-dict-with-keyword"):
            return AttrDict(word.endswith("keyword"))
        if word == "type":
            return self._parenthesized(self._types_argument)
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

    def _parenthesized(self, read: Callable[[], ElementT]) -> ElementT:
        self._expect("(")
        value = read()
        self._expect(")")
        return value

    def _types_argument(self) -> Directive:
        kind, text = self._next()
        if kind == "word" and text == "type":
            return self._parenthesized(self._types_argument)
        if kind == "word" and text in ("operands", "results"):
            fields = self.definition.operands if text == "operands" else self.definition.results
            return TypesOfAll(fields, text[:-1])
        field = self._field(text)
        if not isinstance(field, OperandField | ResultField):
            raise FormatError(f"{self.definition.name}: '{text}' in type(…) is no operand or result")
        return TypeOf(field)

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
        try:
            found = CustomDirective.find(self.definition.op_class.__module__, name)
        except ValueError as problem:
            raise FormatError(f"{self.definition.name}: {problem}") from None
        return Custom(found(arguments))

    def _check(self) -> None:
        """Check that every attribute and type is printed or can be inferred; set the attributes that the dictionary
        omits."""
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
        self._check_lists(self.directives)
        if customs:
            return
        for field in self.definition.operands:
            if field.name not in operands:
                raise FormatError(f"{self.definition.name}: the format does not name operand '${field.name}'")
        for field in self.definition.results:
            inferred = isinstance(field.constraint, SameAs | Derived | Exactly)
            related = any(
                isinstance(f.constraint, SameAs) and f.constraint.field == field.name
                for f in self.definition.operands
            )
            if field.name not in covered and not inferred and not related:
                raise FormatError(
                    f"{self.definition.name}: the type of result '{field.name}' cannot be inferred"
                )

    def _check_lists(self, directives: list[Directive]) -> None:
        """Reject consecutive lists if the end of the first one is ambiguous."""
        shown = [d for d in directives if not isinstance(d, Space)]
        for index, directive in enumerate(shown):
            if isinstance(directive, Group):
                self._check_lists(directive.elements)
                self._check_lists(directive.otherwise)
            if not isinstance(directive, OperandRef | TypeOf) or directive.field.arity == "single":
                continue
            following = shown[index + 1 : index + 3]
            comma = bool(following) and isinstance(following[0], Literal) and following[0].text == ","
            if comma and directive.field.arity == "variadic":
                following = following[1:]
            if following and isinstance(following[0], type(directive)):
                raise FormatError(
                    f"{self.definition.name}: where '${directive.field.name}' ends and "
                    f"'${following[0].field.name}' begins is ambiguous; put other punctuation between them"
                )

    # -- use

    def symbols(self, helpers: Helpers) -> str:
        """The right-hand side of the grammar rule."""
        return " ".join(filter(None, (d.symbols(helpers) for d in self.directives)))

    def read(self, state: OpState, children: list[Node]) -> None:
        read_all(self.directives, state, children)

    def write(self, p: Printer, op: Op) -> None:
        for directive in self.directives:
            directive.write(p, op)
