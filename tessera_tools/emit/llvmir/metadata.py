"""Metadata nodes: numbered, uniqued by their text, or distinct."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects.llvm.aliasing import (
    AccessGroupAttr,
    AliasScopeAttr,
    AliasScopeDomainAttr,
    TBAARootAttr,
    TBAATagAttr,
    TBAATypeDescriptorAttr,
)
from tessera_tools.dialects.llvm.loops import Form, LoopAnnotationAttr
from tessera_tools.dialects.llvm.records import Record
from tessera_tools.emit.llvmir import names as ll
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import FALSE, TRUE, ArrayAttr, IntegerAttr, StringAttr
from tessera_tools.ir.core import Operation

_ACCESSES = (
    ("access_groups", "llvm.access.group"),
    ("alias_scopes", "alias.scope"),
    ("noalias_scopes", "noalias"),
    ("tbaa", "tbaa"),
)
"""The attributes of accesses that say what they alias, and their metadata."""


class Metadata:
    """The module's numbered nodes."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._unique: dict[str, str] = {}
        self._of_attributes: dict[Attribute, str] = {}

    def node(self, text: str) -> str:
        """The number of the uniqued node with that text: `!7`."""
        number = self._unique.get(text)
        if number is None:
            number = self._unique[text] = self.distinct(text)
        return number

    def distinct(self, text: str) -> str:
        """A new distinct node."""
        number = f"!{len(self.lines)}"
        self.lines.append(f"{number} = {text}")
        return number

    def list_of(self, nodes: list[str]) -> str:
        """`!{!1, !2}`"""
        return self.node(f"!{{{', '.join(nodes)}}}")

    def access(self, op: Operation) -> str:
        """What an access may not alias, each with a comma before it: `, !alias.scope !3, !tbaa !5`."""
        text = ""
        for key, word in _ACCESSES:
            value = op.attributes.get(key)
            if not isinstance(value, ArrayAttr) or key not in op.inherent_attributes or not value.elements:
                continue
            nodes = [self.of(element) for element in value]
            if key == "tbaa":
                if len(nodes) > 1:
                    raise Refusal(f"has {len(nodes)} TBAA tags, of which LLVM IR has one; leave one of them")
                number = nodes[0]
            elif key == "access_groups" and len(nodes) == 1:
                number = nodes[0]
            else:
                number = self.list_of(nodes)
            text += f", !{word} {number}"
        return text

    def of(self, attribute: Attribute) -> str:
        """The number of an attribute's node; branches with the same loop annotation share a loop, as upstream."""
        number = self._of_attributes.get(attribute)
        if number is None:
            number = self._of_attributes[attribute] = self._made(attribute)
        return number

    def _made(self, attribute: Attribute) -> str:
        match attribute:
            case AccessGroupAttr():
                return self.distinct("distinct !{}")
            case AliasScopeDomainAttr():
                return self._identified(attribute, [])
            case AliasScopeAttr():
                return self._identified(attribute, [self.of(attribute.domain)])
            case TBAARootAttr():
                if attribute.id is None:
                    return self._with_itself([])
                return self.node(f"!{{!{ll.quoted(attribute.id.value)}}}")
            case TBAATypeDescriptorAttr():
                parts = [f"!{ll.quoted(attribute.id)}"]
                for member in attribute.members:
                    parts += [self.of(member.type_desc), f"i64 {member.offset}"]
                return self.node(f"!{{{', '.join(parts)}}}")
            case TBAATagAttr():
                parts = [
                    self.of(attribute.base_type),
                    self.of(attribute.access_type),
                    f"i64 {attribute.offset}",
                ]
                parts += ["i64 1"] if attribute.constant else []
                return self.node(f"!{{{', '.join(parts)}}}")
            case LoopAnnotationAttr():
                return self._with_itself([self.node(text) for text in _loop_properties(attribute, self.of)])
        raise Refusal(f"has the attribute '{attribute}', which has no metadata in LLVM IR")

    def _identified(self, attribute: AliasScopeAttr | AliasScopeDomainAttr, parts: list[str]) -> str:
        if attribute.description is not None:
            parts.append(f"!{ll.quoted(attribute.description.value)}")
        if isinstance(attribute.id, StringAttr):
            return self.node(f"!{{{', '.join([f'!{ll.quoted(attribute.id.value)}', *parts])}}}")
        return self._with_itself(parts)

    def _with_itself(self, parts: list[str]) -> str:
        """A distinct node whose first entry is the node itself."""
        number = f"!{len(self.lines)}"
        return self.distinct(f"distinct !{{{', '.join([number, *parts])}}}")


def _loop_properties(annotation: Record, of: Callable[[Attribute], str]) -> list[str]:
    """The nodes of a loop annotation: `!{!"llvm.loop.unroll.count", i32 4}`."""
    found: list[str] = []
    forms: dict[str, tuple[Form, str]] = annotation.metadata  # type: ignore[attr-defined]
    for key in annotation.parameters_as:
        value = getattr(annotation, key)
        if key not in forms:
            if isinstance(value, Record):
                found += _loop_properties(value, of)
        elif value not in (None, ()):
            form, name = forms[key]
            text = _property(form, name, value, of)
            found += [text] if text is not None else []
    return found


def _property(
    form: Form, name: str, value: Attribute | Sequence[Attribute], of: Callable[[Attribute], str]
) -> str | None:
    match form:
        case Form.UNIT:
            return f'!{{!"{name}"}}' if value is TRUE else None
        case Form.TRUTH:
            rest = f"i1 {value}"
        case Form.NEGATED:
            rest = f"i1 {FALSE if value is TRUE else TRUE}"
        case Form.DISABLE:
            return f'!{{!"{name}.{"disable" if value is TRUE else "enable"}"}}'
        case Form.TRUTH_I32:
            rest = f"i32 {int(value is TRUE)}"
        case Form.NUMBER:
            if not isinstance(value, IntegerAttr):
                raise Refusal(f"has '{value}' as {name}; expected an integer")
            rest = f"{value.type} {value.value}"
        case Form.LOOP:
            assert isinstance(value, Attribute)
            rest = of(value)
        case Form.GROUPS:
            assert not isinstance(value, Attribute)
            rest = ", ".join(map(of, value))
    return f'!{{!"{name}", {rest}}}'
