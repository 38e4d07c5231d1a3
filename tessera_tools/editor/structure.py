"""The structure of a document: outline, folding, semantic tokens, hints beside values, and lenses above lines."""

from __future__ import annotations

import re
from collections.abc import Callable

from tessera_tools.editor.document import Document
from tessera_tools.editor.lowered import Lowered
from tessera_tools.editor.program import TOKEN, Program
from tessera_tools.editor.runs import run_lines
from tessera_tools.editor.text import Json
from tessera_tools.ir.core import Operation
from tessera_tools.ir.symbols import symbol_name
from tessera_tools.ir.traits import SymbolTable

__all__ = ["TOKEN_MODIFIERS", "TOKEN_TYPES", "folding", "hints", "lenses", "outline", "semantic_tokens"]

# Kinds of symbols of the protocol.
_MODULE, _FUNCTION, _CONSTANT, _VARIABLE, _TYPE = 2, 12, 14, 13, 26

_BETWEEN = re.compile(r"^// -----", re.MULTILINE)


# -- outline and folding


def outline(document: Document) -> list[Json]:
    """Modules, functions, globals and aliases, nested as in the text."""
    return [symbol for program in document.programs for symbol in _symbols(document, program)]


def _symbols(document: Document, program: Program) -> list[Json]:
    found: list[tuple[int, int, Json]] = []
    for definitions in program.definitions.values():
        for one in definitions:
            end = one.start + len(one.name)
            if one.kind == "alias":
                line_end = program.text.find("\n", end)
                extent = (one.start, line_end if line_end >= 0 else len(program.text))
                kind = _TYPE if one.name.startswith("!") else _CONSTANT
                found.append(
                    (*extent, _symbol(document, program, one.name, kind, extent, (one.start, end), ""))
                )
            elif one.kind == "symbol" and one.op is not None:
                start = program.start_of(one.op)
                if start is not None:
                    extent = program.extent_of(start)
                    detail = one.op.name
                    kind = _kind(one.op)
                    entry = _symbol(document, program, one.name, kind, extent, (one.start, end), detail)
                    found.append((*extent, entry))
    found.sort(key=lambda one: (one[0], -one[1]))
    roots: list[Json] = []
    around: list[tuple[int, Json]] = []
    for _, end, entry in found:
        start = entry["range"]["start"]
        while around and _before(around[-1][1]["range"]["end"], start):
            around.pop()
        (around[-1][1].setdefault("children", []) if around else roots).append(entry)
        around.append((end, entry))
    return roots


def _before(a: Json, b: Json) -> bool:
    return (a["line"], a["character"]) <= (b["line"], b["character"])


def _kind(op: Operation) -> int:
    if op.has_trait(SymbolTable):
        return _MODULE
    return _FUNCTION if op.regions and "global" not in op.name else _VARIABLE


def _symbol(
    document: Document,
    program: Program,
    name: str,
    kind: int,
    extent: tuple[int, int],
    own: tuple[int, int],
    detail: str,
) -> Json:
    return {
        "name": name,
        "kind": kind,
        "detail": detail,
        "range": document.range(program, min(extent[0], own[0]), max(extent[1], own[1])),
        "selectionRange": document.range(program, *own),
    }


def folding(document: Document) -> list[Json]:
    """Regions of several lines, programs between lines `// -----`, and comments of several lines."""
    text = document.text
    found: list[Json] = []
    for program in document.programs:
        braces = program.indexed.braces
        for opened, closed in zip(braces.opens, braces.closes, strict=True):
            first, last = text.line_of(program.start + opened), text.line_of(program.start + closed)
            if last - 1 > first:
                found.append({"startLine": first, "endLine": last - 1})
        first = text.line_of(program.start)
        last = text.line_of(program.start + len(program.text.rstrip()))
        if len(document.programs) > 1 and last > first:
            found.append({"startLine": first, "endLine": last, "kind": "region"})
    begin: int | None = None
    for number in range(text.lines + 1):
        line = text.line(number).lstrip() if number < text.lines else ""
        if line.startswith("//") and not _BETWEEN.match(line):
            begin = number if begin is None else begin
        elif begin is not None:
            if number - 1 > begin:
                found.append({"startLine": begin, "endLine": number - 1, "kind": "comment"})
            begin = None
    return found


# -- semantic tokens

TOKEN_TYPES = (
    "comment", "string", "number", "variable", "parameter", "function", "type", "macro", "label", "operator", "keyword",
)  # fmt: skip
TOKEN_MODIFIERS = ("declaration",)
_TYPES = {name: number for number, name in enumerate(TOKEN_TYPES)}
_OF_KIND = {
    "comment": "comment",
    "string": "string",
    "number": "number",
    "symbol": "function",
    "block": "label",
    "dialect": "type",
}


def semantic_tokens(document: Document) -> list[int]:
    """The tokens in the protocol's form: five numbers each, relative to the token before."""
    data: list[int] = []
    before_line = before_column = 0
    for start, end, kind, declared in _tokens(document):
        position = document.text.position(start)
        line, column = position["line"], position["character"]
        same = line == before_line
        width = document.text.units(start, end)
        data += [
            line - before_line,
            column - before_column if same else column,
            width,
            _TYPES[kind],
            declared,
        ]
        before_line, before_column = line, column
    return data


def _tokens(document: Document) -> list[tuple[int, int, str, int]]:
    found: list[tuple[int, int, str, int]] = []
    at = 0
    for program in document.programs:
        # The line between two programs is a comment.
        if program.start > at:
            marker = document.text.text[at : program.start].rstrip("\r\n")
            lead = len(marker) - len(marker.lstrip("\r\n"))
            if marker[lead:].startswith("//"):
                found.append((at + lead, at + len(marker), "comment", 0))
        heads = {start for start, _, _ in program.indexed.operations}
        declared = {one.start for several in program.definitions.values() for one in several}
        arguments = {
            one.name for several in program.definitions.values() for one in several if one.kind == "argument"
        }
        for match in TOKEN.finditer(program.text):
            kind, start = match.lastgroup or "", match.start()
            if kind in ("word", "string") and start in heads:
                token = "keyword"
            elif kind == "word":
                continue
            elif kind == "value":
                token = "parameter" if match.group() in arguments else "variable"
            elif kind == "alias":
                token = "type" if match.group()[0] == "!" else "macro"
            else:
                token = _OF_KIND[kind]
            end = match.end() - (match.group().endswith("\r"))
            found.append((program.start + start, program.start + end, token, int(start in declared)))
        at = program.start + len(program.text)
    return found


# -- hints and lenses


def hints(
    document: Document, range: Json, lowered: Callable[[Program], Lowered], types: bool, facts: bool
) -> list[Json]:
    """Beside the definitions in a range of lines: the type, if the line does not have it, and known facts."""
    first, last = range["start"]["line"], range["end"]["line"]
    found: list[Json] = []
    for program in document.programs:
        for several in program.definitions.values():
            for one in several:
                line = document.text.line_of(program.start + one.start)
                if not first <= line <= last or one.kind not in ("value", "argument") or len(one.values) != 1:
                    continue
                value = one.values[0]
                at = document.text.position(program.start + one.start + len(one.name))
                shown = program.with_aliases(value.type).removeprefix("!cuda_tile.")
                if types and shown.rpartition(".")[2] not in document.text.line(line) and shown != "none":
                    found.append({"position": at, "label": f": {_cut(shown)}", "kind": 1})
                known = lowered(program).facts_of(value) if facts else ""
                if known and not known.startswith("always"):
                    found.append({"position": at, "label": known, "kind": 2, "paddingLeft": True})
    return found


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def lenses(document: Document) -> list[Json]:
    """Above RUN lines: run them. Above the first operation of a program without errors: show its next stages."""
    found: list[Json] = []
    for run in run_lines(document.text):
        at = {"line": run.first, "character": 0}
        found.append(
            {
                "range": {"start": at, "end": at},
                "command": {
                    "title": "Run this line",
                    "command": "tessera.runLine",
                    "arguments": [{"uri": document.uri, "line": run.first}],
                },
            }
        )
    for program in document.programs:
        if program.module is None:
            continue
        kernels = [
            (start, op) for start, _, op in program.indexed.operations if op is not None and _is_kernel(op)
        ]
        for start, _ in kernels[:1]:
            at = {"line": document.text.line_of(program.start + start), "character": 0}
            for title, stage in (("Show the next stage", "next"), ("Show the PTX", "ptx")):
                argument = {"uri": document.uri, "line": at["line"], "stage": stage}
                command = {"title": title, "command": "tessera.showStage", "arguments": [argument]}
                found.append({"range": {"start": at, "end": at}, "command": command})
    return found


def _is_kernel(op: Operation) -> bool:
    return symbol_name(op) is not None and bool(op.regions) and not op.has_trait(SymbolTable)
