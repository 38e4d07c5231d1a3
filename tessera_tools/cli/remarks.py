"""`--remarks=FORMAT[:FILE]`: the remarks of passes as text, JSON or YAML, for people or for programs.

remark ──take()──▶ kept ──write()──▶ text: as diagnostics; json: one array; yaml: documents in LLVM's remark format
          └ `--remarks-filter=REGEX`, `--remarks-filter-KIND=REGEX`: only those whose category, rule or pass matches
            as a whole, as in mlir-opt, whose filters match the category
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tessera_tools.cli.common import write_stderr
from tessera_tools.diagnostics import Diagnostic, Remark, Sources, error, render
from tessera_tools.records import Json

if TYPE_CHECKING:
    from tessera_tools.cli.command_line import OptionValues

__all__ = ["FORMATS", "KINDS", "Remarks"]

FORMATS = ("text", "json", "yaml")
KINDS = ("passed", "missed", "failed", "analysis")
"""The kinds of remarks that have a filter of their own."""
_TAGS = {"failed": "Failure"}
"""LLVM's name of a kind, where it is another."""


class Remarks:
    """Collects the remarks of one run. `spec` is the option's value; if None, remarks are ordinary diagnostics.

    filters: regular expressions, by kind; "" for those of every kind. A remark is kept if the one for every kind or
        the one of its kind matches its whole category, rule or pass. Without filters, every remark is kept.
    Raises DiagnosticError for a format that does not exist, and for an invalid regular expression.
    """

    @classmethod
    def of(cls, options: OptionValues) -> Remarks:
        """By the options of a command (`REMARK_OPTIONS`). A filter alone asks for remarks as text."""
        given = {
            kind: options[f"remarks_filter_{kind}" if kind else "remarks_filter"] for kind in ("", *KINDS)
        }
        filters = {kind: text for kind, text in given.items() if text is not None}
        spec = options["remarks"]
        return cls("text" if spec is None and filters else spec, filters)

    def __init__(self, spec: str | None, filters: Mapping[str, str] = {}) -> None:
        self.format, _, self.file = (spec or "").partition(":")
        self.kept: list[Remark] = []
        if spec is not None and self.format not in FORMATS:
            raise error(None, f"--remarks expects {', '.join(FORMATS)}, found '{self.format}'")
        if spec is not None and ":" in spec and not self.file:
            raise error(None, f"--remarks={self.format}: names no file")
        self._filters: dict[str, re.Pattern[str]] = {}
        for kind, text in filters.items():
            try:
                self._filters[kind] = re.compile(text)
            except (re.error, RecursionError, OverflowError) as problem:
                option = f"--remarks-filter-{kind}" if kind else "--remarks-filter"
                raise error(None, f"{option}: '{text}' is not a regular expression: {problem}") from None

    @property
    def wanted(self) -> bool:
        """Whether passes are to say why they decide as they do."""
        return bool(self.format)

    def take(self, diagnostic: Diagnostic) -> bool:
        """Collect a remark; False if the diagnostic is shown as usual."""
        if not self.format or not isinstance(diagnostic, Remark):
            return False
        if self._matches(diagnostic):
            self.kept.append(diagnostic)
        return True

    def _matches(self, remark: Remark) -> bool:
        if not self._filters:
            return True
        patterns = [self._filters[kind] for kind in ("", remark.kind) if kind in self._filters]
        words = (remark.category, remark.rule, remark.source)
        return any(pattern.fullmatch(word) for pattern in patterns for word in words if word)

    def write(self, sources: Sources) -> None:
        """Write the collected remarks in program order; a file is written atomically."""
        if not self.format:
            return
        self.kept.sort(key=_place)
        if self.format == "text":
            text = "".join(render(remark, sources) for remark in self.kept)
        elif self.format == "json":
            text = json.dumps([_record(remark) for remark in self.kept], indent=2) + "\n"
        else:
            text = "".join(map(_yaml, self.kept))
        if self.file:
            from tessera_tools.emit.files import write_output

            write_output(self.file, text)
        else:
            write_stderr(text)


def _place(remark: Remark) -> tuple[str, int, int]:
    """The sort key of a remark's position; remarks without position are first."""
    place = remark.location.start() if remark.location is not None else None
    return place if place is not None else ("", 0, 0)


def _record(remark: Remark) -> dict[str, Json]:
    place = remark.location.start() if remark.location is not None else None
    file, line, column = place if place is not None else (None, None, None)
    return {
        "pass": remark.source,
        "name": remark.rule,
        "kind": remark.kind,
        "category": remark.category,
        "function": remark.function,
        "file": file,
        "line": line,
        "column": column,
        "message": remark.message,
        "notes": [note.message for note in remark.notes],
    }


def _yaml(remark: Remark) -> str:
    """One document in the format of LLVM's optimization remarks."""
    place = remark.location.start() if remark.location is not None else None
    lines = [
        f"--- !{_TAGS.get(remark.kind, remark.kind.capitalize())}",
        f"Pass:            {_quoted(remark.source)}",
        f"Name:            {_quoted(remark.rule)}",
    ]
    if place is not None:
        lines.append(
            f"DebugLoc:        {{ File: {_quoted(place[0])}, Line: {place[1]}, Column: {place[2]} }}"
        )
    lines += [
        f"Function:        {_quoted(remark.function)}",
        "Args:",
        f"  - Category:        {_quoted(remark.category)}",
    ]
    lines.append(f"  - String:          {_quoted(remark.message)}")
    lines += [f"  - Note:            {_quoted(note.message)}" for note in remark.notes]
    return "\n".join([*lines, "...", ""])


def _quoted(text: str) -> str:
    """A YAML scalar in single quotes, or in double quotes if it contains characters that need escapes."""
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text)
