"""What an editor shows about the word under the pointer, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tessera_tools.editor.document import Document, Place
from tessera_tools.editor.lowered import Lowered
from tessera_tools.editor.program import TOKEN, Occurrence, Program
from tessera_tools.editor.runs import run_at
from tessera_tools.editor.text import Json
from tessera_tools.ir.core import BlockArgument, OpResult, Value
from tessera_tools.ir.symbols import enclosing_name
from tessera_tools.layout import LinearLayout
from tessera_tools.layout.pictures import picture
from tessera_tools.opdef.dialect import find_dialect, find_op
from tessera_tools.opdef.documentation import attribute_section, op_section
from tessera_tools.parser.indexing import Definition
from tessera_tools.passes.table import PASSES, find_pass

__all__ = ["hover", "op_named", "op_text", "pass_text"]

_WIDTH, _ROWS = 80, 8
"""The size of the picture of a layout, in characters and rows."""
_LONGEST = 600
"""The length at which a type or an alias is cut."""
_OPTION = re.compile(r"-{1,2}([\w-]+)")


def hover(document: Document, position: Json, lowered: Callable[[Program], Lowered]) -> Json | None:
    """The answer for a position; None if there is nothing to say. `lowered` gives the facts of a program."""
    place = document.place(position)
    program = place.program
    option = _in_run_line(document, position)
    if option is not None:
        return option
    found = program.occurrence_at(place.offset)
    if found is not None:
        text = _name(program, found, lowered)
        return _answer(document, program, found.start, found.end, text)
    operation = program.operation_at(place.offset)
    if operation is not None:
        start, name, _ = operation
        return _answer(document, program, start, start + len(program.written_name(start)), op_text(name))
    word = _word_at(place)
    if word is None:
        return None
    start, end, text = word
    return _answer(document, program, start, end, text)


def _answer(document: Document, program: Program, start: int, end: int, text: str) -> Json | None:
    if not text:
        return None
    return {
        "contents": {"kind": "markdown", "value": text},
        "range": document.range(program, start, end),
    }


def _code(text: str) -> str:
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f"```mlir\n{cut}\n```"


# -- names


def _name(program: Program, found: Occurrence, lowered: Callable[[Program], Lowered]) -> str:
    definition = program.definition_of(found)
    if definition is None:
        return ""
    if found.kind == "value":
        value = program.value_at(found)
        return _value(program, found.name, definition, value, lowered) if value is not None else ""
    if found.kind == "alias":
        line_end = program.text.find("\n", definition.start)
        text = program.text[definition.start : line_end if line_end >= 0 else len(program.text)]
        from tessera_tools.dialects.nv_tileas.base import LayoutAttr

        alias = program.aliases.get(found.name)
        shown = _picture(alias.layout) if isinstance(alias, LayoutAttr) else ""
        return "\n\n".join(filter(None, [_code(text.rstrip()), shown]))
    if found.kind == "symbol" and definition.op is not None:
        start = program.start_of(definition.op)
        return _code(_header(program, start)) if start is not None else ""
    return _block(program, definition)


def _header(program: Program, start: int) -> str:
    """An operation up to its region."""
    begin, end = program.extent_of(start)
    brace = next((one for one in program.indexed.braces.opens if start < one < end), end)
    return " ".join(program.text[begin:brace].split())


def _value(
    program: Program,
    name: str,
    definition: Definition,
    value: Value,
    lowered: Callable[[Program], Lowered],
) -> str:
    lines = [_code(f"{name} : {program.with_aliases(value.type)}")]
    if isinstance(value, OpResult):
        which = f"result {value.index} of" if len(value.op.results) > 1 else "result of"
        lines.append(f"{which} `{value.op.name}`")
    elif isinstance(value, BlockArgument):
        lines.append(f"argument {value.index} of {_around(value)}")
    uses = sum(1 for _ in value.uses)
    lines[-1] += f", {uses} use{'' if uses == 1 else 's'}"
    facts = lowered(program).facts_of(value)
    if facts:
        lines.append(f"Known: {facts}")
    layout = lowered(program).layout_of(value)
    if layout is not None:
        type, found = layout
        lines.append(f"Layout of `{type.partition(',')[0]}>`:")
        lines.append(_picture(found))
    return "\n\n".join(lines)


def _picture(layout: LinearLayout) -> str:
    return f"```text\n{picture(layout).text(width=_WIDTH, rows=_ROWS)}```"


def _around(value: BlockArgument) -> str:
    op = value.block.parent_op
    if op is None:
        return "a block"
    name = enclosing_name(op)
    return f"`{op.name}`" + (f" @{name}" if name and op.name.rpartition(".")[2] in ("entry", "func") else "")


def _block(program: Program, definition: Definition) -> str:
    line_end = program.text.find("\n", definition.start)
    return _code(program.text[definition.start : line_end if line_end >= 0 else None].rstrip())


# -- operations, types and attributes


def op_text(name: str) -> str:
    """The documentation of an operation, from its declaration, as Markdown."""
    op_class = find_op(name)
    if op_class is None:
        return f"`{name}` is not a registered operation."
    return "\n".join(op_section(op_class)).strip().replace("## `", "### `", 1)


def op_named(word: str) -> str | None:
    """The full name of an operation that a word may mean."""
    for name in (word, f"cuda_tile.{word}", f"builtin.{word}", f"func.{word}"):
        if find_op(name) is not None:
            return name
    return None


def _word_at(place: Place) -> tuple[int, int, str] | None:
    """A type, an attribute, or an operation in a statement with an error."""
    text = place.program.text
    begin = text.rfind("\n", 0, place.offset) + 1
    end = text.find("\n", place.offset)
    for match in TOKEN.finditer(text, begin, end if end >= 0 else len(text)):
        if match.start() <= place.offset <= match.end():
            kind, word = match.lastgroup, match.group()
            if kind == "dialect":
                return match.start(), match.end(), _declared(word[0], word[1:])
            if kind == "word":
                shown = _declared("!", word if "." in word else f"cuda_tile.{word}")
                name = op_named(word)
                return match.start(), match.end(), shown or (op_text(name) if name is not None else "")
            return None
    return None


def _declared(sigil: str, name: str) -> str:
    """The documentation of a type (`!`) or an attribute (`#`)."""
    prefix, _, word = name.partition(".")
    dialect = find_dialect(prefix)
    if dialect is None:
        return ""
    classes = dialect.types if sigil == "!" else dialect.attributes
    cls = classes.get(word)
    return "\n".join(attribute_section(sigil, word, cls, prefix)).strip() if cls is not None else ""


# -- RUN lines


def _in_run_line(document: Document, position: Json) -> Json | None:
    if run_at(document.text, position["line"]) is None:
        return None
    line = document.text.line(position["line"])
    at = document.text.offset(position) - document.text.start_of_line(position["line"])
    for match in _OPTION.finditer(line):
        if match.start() <= at <= match.end() and match.group(1) in PASSES:
            start = document.text.start_of_line(position["line"])
            return {
                "contents": {"kind": "markdown", "value": pass_text(match.group(1))},
                "range": document.text.range(start + match.start(), start + match.end()),
            }
    return None


def pass_text(name: str) -> str:
    """A pass and its options, as Markdown."""
    lines = [f"### `--{name}`", "", PASSES[name].summary, ""]
    cls = find_pass(name)
    options: Iterable[str] = (
        f"- `{one.name}` (default `{one.write(one.default)}`): {one.summary}"
        for one in (cls.options() if cls else ())
    )
    return "\n".join([*lines, *options]).strip()
