"""What may be typed at a position: names that are visible, and what the grammar allows.

The text before the word is parsed. The state of the parser says whether a statement, a type, an attribute, a value, or
which keywords may follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from tessera_tools.editor.document import Document
from tessera_tools.editor.program import Program
from tessera_tools.editor.runs import PROGRAMS, run_at
from tessera_tools.editor.text import Json
from tessera_tools.opdef.dialect import all_dialects, find_dialect
from tessera_tools.opdef.documentation import own_ops, template
from tessera_tools.parser.indexing import expected_at_end
from tessera_tools.passes.table import PASSES, find_pass
from tessera_tools.records import dataclass

__all__ = ["CommandOptions", "completion", "resolved"]

# Kinds of items of the protocol.
_FUNCTION, _VARIABLE, _CLASS, _KEYWORD, _ENUM, _REFERENCE, _PROPERTY, _VALUE = 3, 6, 7, 14, 20, 18, 10, 12

_WORD = re.compile(r"[%^@#!]?[\w$.]*$")
_TYPES = ("i1", "i8", "i16", "i32", "i64", "index", "f16", "bf16", "tf32", "f32", "f64", "f8E4M3FN", "f8E5M2")
_COMPOSITE = ("tensor", "vector", "memref")
_PASS_OPTIONS = re.compile(r"""--([\w-]+)=(['"])([^'"]*)$""")
_OPTION_VALUE = re.compile(r"--?([\w-]+)=([\w-]*)$")


@dataclass(frozen=True)
class CommandOptions:
    """The options of a command: its help by option, with the words that may be values."""

    options: Mapping[str, str]
    words: Mapping[str, tuple[str, ...]]
    has_passes: bool


def completion(document: Document, position: Json, commands: Mapping[str, CommandOptions]) -> list[Json]:
    """The items for a position. commands: the options of each command, for RUN lines."""
    line = document.text.line(min(position["line"], document.text.lines - 1))
    offset = document.text.offset(position)
    before = line[: offset - document.text.start_of_line(document.text.line_of(offset))]
    if run_at(document.text, position["line"]) is not None:
        return _items(document, position, before, _in_run_line(before, commands))
    if "//" in before:
        return []
    place = document.place(position)
    word = _WORD.search(before)
    assert word is not None
    return _items(document, position, before, _in_program(place.program, place.offset, word.group()))


Item = tuple[str, int, str, str]
"""Text, kind, detail, what it replaces."""


def _items(document: Document, position: Json, before: str, found: Iterable[Item]) -> list[Json]:
    offset = document.text.offset(position)
    items: list[Json] = []
    for text, kind, detail, replaced in found:
        start = offset - len(replaced)
        edit = {"range": document.text.range(start, offset), "newText": text}
        items.append({"label": text, "kind": kind, "detail": detail, "filterText": text, "textEdit": edit})
    return items


def _in_program(program: Program, offset: int, word: str) -> Iterator[Item]:
    sigil = word[:1] if word[:1] in tuple("%^@#!") else ""
    if sigil == "%":
        yield from _values(program, offset, word)
        return
    if sigil == "^":
        yield from ((one.name, _REFERENCE, "block", word) for one in program.visible_at(offset, "block"))
        return
    if sigil == "@":
        for one in program.visible_at(offset, "symbol"):
            yield one.name, _FUNCTION, one.op.name if one.op is not None else "", word
        return
    if sigil:
        for one in program.visible_at(offset, "alias"):
            if one.name[0] == sigil:
                yield one.name, _CLASS if sigil == "!" else _ENUM, "alias", word
        yield from _declared(sigil, word)
        return
    yield from _by_grammar(program, offset, word)


def _values(program: Program, offset: int, word: str) -> Iterator[Item]:
    """The values that are defined before the line."""
    line = program.text.rfind("\n", 0, offset) + 1
    for one in program.visible_at(offset, "value", "argument"):
        if one.kind == "argument" or one.start < line:
            yield one.name, _VARIABLE, str(one.values[0].type) if one.values else "", word


def _declared(sigil: str, word: str) -> Iterator[Item]:
    """Types (`!`) or attributes (`#`) of the dialects."""
    for dialect in all_dialects():
        for name in dialect.types if sigil == "!" else dialect.attributes:
            yield f"{sigil}{dialect.name}.{name}", _CLASS if sigil == "!" else _ENUM, dialect.summary, word


def _by_grammar(program: Program, offset: int, word: str) -> Iterator[Item]:
    expected = expected_at_end(program.text[: offset - len(word)], program.file)
    for text in expected.words:
        if text[0].isalpha() and "RESULTS" not in expected.terminals:
            yield text, _KEYWORD, "", word
    if "RESULTS" in expected.terminals or "GENERIC" in expected.terminals:
        yield from _ops(expected.default, word)
    if "VALUE" in expected.terminals and not word:
        yield from _values(program, offset, word)
    if "CARET" in expected.terminals:
        yield from ((one.name, _REFERENCE, "block", word) for one in program.visible_at(offset, "block"))
    if "SYMBOL" in expected.terminals:
        for one in program.visible_at(offset, "symbol"):
            yield one.name, _FUNCTION, one.op.name if one.op is not None else "", word
    if "TYPE" in expected.terminals:
        yield from (
            (one.name, _CLASS, "alias", word)
            for one in program.visible_at(offset, "alias")
            if one.name[0] == "!"
        )
        yield from ((name, _CLASS, "type", word) for name in (*_TYPES, *_COMPOSITE))
        tiles = find_dialect("cuda_tile")
        if tiles is not None and expected.default in ("", "cuda_tile"):
            yield from ((name, _CLASS, "type of cuda_tile", word) for name in tiles.types)
        yield from _declared("!", word)


_SHORT = ("builtin", "cuda_tile", "func")
"""Dialects whose prefix may always be omitted."""


def _ops(default: str, word: str) -> Iterator[Item]:
    """Operations, without the prefix where it may be omitted."""
    prefix, dot, _ = word.partition(".")
    for dialect in all_dialects():
        if dot and dialect.name != prefix:
            continue
        short = not dot and dialect.name in (default, *_SHORT)
        for name, op_class in own_ops(dialect).items():
            yield name.partition(".")[2] if short else name, _FUNCTION, _template(op_class), word


def _template(op_class: type) -> str:
    if op_class not in _templates:
        _templates[op_class] = template(op_class) or "generic form only"
    return _templates[op_class]


_templates: dict[type, str] = {}


def resolved(item: Json) -> Json:
    """An item with the documentation of what it names."""
    from tessera_tools.editor.hover import op_named, op_text, pass_text

    label = item.get("label", "")
    if item.get("kind") == _FUNCTION and not label.startswith("@"):
        name = op_named(label)
        text = op_text(name) if name is not None else ""
    elif item.get("kind") == _PROPERTY and label.lstrip("-") in PASSES:
        text = pass_text(label.lstrip("-"))
    else:
        return item
    return {**item, "documentation": {"kind": "markdown", "value": text}}


# -- RUN lines


def _in_run_line(before: str, commands: Mapping[str, CommandOptions]) -> Iterator[Item]:
    start = before.find("RUN:")
    if start < 0:
        # A continuation line begins with RUN:, too; in front of it there is nothing to complete.
        return
    piece = before[start + 4 :].rpartition("|")[2]
    words = piece.split()
    at_word = "" if piece[-1:].isspace() or not words else words[-1]
    named = next((word for word in words if word in PROGRAMS and word != "not"), None)
    inside = _PASS_OPTIONS.search(before)
    if inside is not None and inside.group(1) in PASSES:
        current = inside.group(3).rpartition(" ")[2]
        yield from _pass_options(inside.group(1), current)
        return
    if named is None or (named == at_word and len(words) == 1):
        yield from ((name, _FUNCTION, "program", at_word) for name in PROGRAMS)
        return
    command = commands.get(named)
    if command is None:
        return
    value = _OPTION_VALUE.search(at_word)
    if value is not None:
        for text in command.words.get(value.group(1), ()):
            yield text, _VALUE, "", value.group(2)
        return
    for name, text in command.options.items():
        yield ("-" if len(name) == 1 else "--") + name, _PROPERTY, text, at_word
    if command.has_passes:
        yield from ((f"--{name}", _PROPERTY, row.summary, at_word) for name, row in PASSES.items())


def _pass_options(name: str, current: str) -> Iterator[Item]:
    cls = find_pass(name)
    if cls is None:
        return
    key, equals, typed = current.partition("=")
    for option in cls.options():
        if equals and option.name == key:
            words = option.choices or (("true", "false") if isinstance(option.default, bool) else ())
            yield from ((str(word), _VALUE, option.summary, typed) for word in words)
        elif not equals:
            yield f"{option.name}=", _PROPERTY, option.summary, current
