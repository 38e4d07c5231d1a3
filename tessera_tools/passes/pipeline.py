"""Parsing and printing of pass pipelines, with MLIR's nesting.

    "builtin.module(func.func(canonicalize,cse),symbol-dce)"
        ──parse_pipeline()──▶ Pipeline("builtin.module", [Pipeline("func.func", [Canonicalize(), CSE()]), SymbolDCE()])
        ◀──text()──

A nested pipeline runs on every op with its name directly inside the op of its parent; `any(…)` runs on
every registered op that is isolated from above.
"""

from __future__ import annotations

from collections.abc import Iterator

from tessera_tools.diagnostics import Diagnostic, DiagnosticError, Position, closest
from tessera_tools.passes.base import OptionError, Pass
from tessera_tools.passes.table import PASSES, find_pass
from tessera_tools.records import dataclass, field

__all__ = ["ANY", "SOURCE", "Pipeline", "make_pass", "parse_options", "parse_pass", "parse_pipeline"]

ANY = "any"
SOURCE = "<pass-pipeline>"
"""The file name in the positions of errors about a pipeline's text."""

_CLOSING = {"{": "}", "(": ")", "[": "]"}
_DEEPEST = 200


@dataclass(slots=True)
class Pipeline:
    """A list of passes and nested pipelines that run on ops named `anchor` (or `any`)."""

    anchor: str
    items: list[Pass | Pipeline] = field(default_factory=list["Pass | Pipeline"])

    def text(self) -> str:
        """One line, which `parse_pipeline` parses."""
        return f"{self.anchor}({','.join(item.text() for item in self.items)})"

    def pretty(self, indent: int = 0) -> str:
        """The output of `--dump-pass-pipeline`: one pass per line."""
        if not self.items:
            return f"{' ' * indent}{self.anchor}()"
        lines = [
            item.pretty(indent + 2) if isinstance(item, Pipeline) else f"{' ' * (indent + 2)}{item.text()}"
            for item in self.items
        ]
        return f"{' ' * indent}{self.anchor}(\n" + ",\n".join(lines) + f"\n{' ' * indent})"

    def passes(self) -> Iterator[Pass]:
        """Every pass, those of nested pipelines included, in the order of the text."""
        for item in self.items:
            if isinstance(item, Pipeline):
                yield from item.passes()
            else:
                yield item

    def add(self, pass_: Pass) -> None:
        """Append a pass, in a nested pipeline for its op if that differs from this one's op.

        Consecutive passes on the same op share a nested pipeline, as `--a --b` on the command line.
        """
        if pass_.anchor is None or pass_.anchor == self.anchor:
            self.items.append(pass_)
            return
        last = self.items[-1] if self.items else None
        if isinstance(last, Pipeline) and last.anchor == pass_.anchor:
            last.items.append(pass_)
        else:
            self.items.append(Pipeline(pass_.anchor, [pass_]))


def _error(column: int, message: str, *notes: str) -> DiagnosticError:
    diagnostic = Diagnostic("error", Position(SOURCE, 1, column + 1), message)
    for note in notes:
        diagnostic.note(note)
    return DiagnosticError(diagnostic)


def parse_pipeline(text: str) -> Pipeline:
    """Read a pipeline such as `builtin.module(cse)`.

    Raises DiagnosticError, positioned in `SOURCE` (line 1, columns from 1), for bad syntax, unknown passes and
    options, and a pass nested under an op that it does not run on.
    """
    reader = _Reader(text)
    reader.skip()
    start = reader.at
    name = reader.word()
    reader.skip()
    if not name or not reader.take("("):
        raise _error(
            start, "expected the pipeline to begin with the op that it runs on, as in 'builtin.module(cse)'"
        )
    pipeline = reader.items(name, 1, reader.at - 1)
    reader.skip()
    if reader.at < len(text):
        what = "unmatched ')'" if text[reader.at] == ")" else "expected nothing after the pipeline"
        raise _error(reader.at, what)
    return pipeline


class _Reader:
    """A cursor in the text of a pipeline."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def take(self, char: str) -> bool:
        if self.text.startswith(char, self.at):
            self.at += 1
            return True
        return False

    def word(self) -> str:
        start = self.at
        while self.at < len(self.text) and (self.text[self.at].isalnum() or self.text[self.at] in "-_.$"):
            self.at += 1
        return self.text[start : self.at]

    def items(self, anchor: str, depth: int, opened: int) -> Pipeline:
        """The items between `(`, already consumed at `opened`, and its `)`."""
        if depth > _DEEPEST:
            raise _error(self.at, f"pipelines are nested more than {_DEEPEST} deep")
        pipeline = Pipeline(anchor)
        self.skip()
        if self.take(")"):
            return pipeline
        while True:
            self.skip()
            start = self.at
            name = self.word()
            if not name:
                found = f"'{self.text[start]}'" if start < len(self.text) else "the end"
                raise _error(start, f"expected the name of a pass or of an op, found {found}")
            self.skip()
            if self.text.startswith("(", self.at):
                inside = self.at
                self.at += 1
                pipeline.items.append(self.items(name, depth + 1, inside))
            else:
                pipeline.items.append(self._pass(name, start, anchor))
            self.skip()
            if self.take(","):
                continue
            if self.take(")"):
                return pipeline
            if self.at == len(self.text):
                raise _error(opened, "unmatched '('")
            raise _error(self.at, f"expected ',' or ')', found '{self.text[self.at]}'")

    def _pass(self, name: str, start: int, anchor: str) -> Pass:
        options: dict[str, str] = {}
        if self.text.startswith("{", self.at):
            end = _matching(self.text, self.at)
            if end is None:
                raise _error(self.at, "unmatched '{'")
            inside, self.at = self.text[self.at + 1 : end], end + 1
            try:
                options = parse_options(inside)
            except OptionError as failure:
                raise _error(start, f"in the options of '{name}': {failure}") from None
        try:
            made = make_pass(name, options)
        except OptionError as failure:
            raise _error(start, str(failure)) from None
        if made is None:
            raise _error(start, f"'{name}' is not a registered pass", _suggest_pass(name))
        if made.anchor is not None and made.anchor != anchor:
            raise _error(
                start,
                f"pass '{name}' runs on '{made.anchor}', but is in a pipeline on '{anchor}'",
                f"nest it: '{made.anchor}({name})'",
            )
        return made


def parse_pass(text: str) -> Pass:
    """One pass from `name` or `name{options}`. Raises DiagnosticError or OptionError."""
    name, brace, rest = text.partition("{")
    made = make_pass(name.strip(), parse_options(rest.rstrip().removesuffix("}")) if brace else {})
    if made is None:
        raise _error(0, f"'{name}' is not a registered pass", _suggest_pass(name))
    return made


def make_pass(name: str, options: dict[str, str]) -> Pass | None:
    """The pass with that name; None if there is none. Raises OptionError for invalid options."""
    cls = find_pass(name)
    return None if cls is None else cls.with_options(options)


def _suggest_pass(name: str) -> str:
    close = closest(name, PASSES)
    return f"did you mean '{close}'?" if close else "--list-passes shows every pass"


def _matching(text: str, start: int) -> int | None:
    """The index of the bracket that closes the one at `start`; None if there is none. Skips quoted text."""
    waiting: list[str] = []
    at = start
    while at < len(text):
        char = text[at]
        if char in "\"'":
            at = text.find(char, at + 1)
            if at < 0:
                return None
        elif char in _CLOSING:
            waiting.append(_CLOSING[char])
        elif waiting and char == waiting[-1]:
            waiting.pop()
            if not waiting:
                return at
        at += 1
    return None


def parse_options(text: str) -> dict[str, str]:
    """`a=1 b={x y} c="z" d` → {"a": "1", "b": "x y", "c": "z", "d": ""}. Raises OptionError."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        start = at
        while at < len(text) and not text[at].isspace() and text[at] != "=":
            at += 1
        name, value = text[start:at], ""
        if not name:
            raise OptionError(f"expected name=value, found '{text[start:].split(maxsplit=1)[0]}'")
        if at < len(text) and text[at] == "=":
            at += 1
            start = at
            while at < len(text) and not text[at].isspace():
                if text[at] in _CLOSING:
                    end = _matching(text, at)
                elif text[at] in "\"'":
                    end = text.find(text[at], at + 1)
                    end = end if end >= 0 else None
                else:
                    end = at
                if end is None:
                    raise OptionError(f"'{text[at]}' is never closed in the value of '{name}'", name)
                at = end + 1
            value = text[start:at]
            if len(value) >= 2 and value[0] + value[-1] in ('""', "''", "{}"):
                value = value[1:-1]
        if name in found:
            raise OptionError(f"option '{name}' is given twice", name)
        found[name] = value
    return found
