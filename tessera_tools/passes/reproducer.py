"""Reproducers: an input with its failing pipeline, in MLIR's format.

module { … }
{-#
  external_resources: {
    mlir_reproducer: { pipeline: "builtin.module(cse)", disable_threading: true, verify_each: true }
  }
#-}
"""

from __future__ import annotations

import re

from tessera_tools.diagnostics import Position, error
from tessera_tools.ir.builtin_attributes import quote
from tessera_tools.parser.metadata import METADATA
from tessera_tools.records import dataclass

__all__ = ["ENTRY", "Reproducer", "find_reproducer", "with_reproducer"]

ENTRY = "mlir_reproducer"
"""The tool of a reproducer among the external resources of a file."""
_START = re.compile(rf"\b{ENTRY}\s*:\s*\{{")
_FIELD = re.compile(
    r'\b(pipeline|verify_each|disable_threading)\s*:\s*("(?:[^"\\]|\\.)*"|true|false)', re.DOTALL
)
_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{2})|(.))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reproducer:
    """The settings of a reproducer."""

    pipeline: str
    verify_each: bool = True


def with_reproducer(ir: str, reproducer: Reproducer) -> str:
    """The text of a reproducer file."""
    verify = str(reproducer.verify_each).lower()
    section = (
        "  external_resources: {\n    mlir_reproducer: {\n"
        f"      pipeline: {quote(reproducer.pipeline)},\n"
        f"      disable_threading: true,\n      verify_each: {verify}\n"
        "    }\n  }\n#-}\n"
    )
    body = ir.rstrip()
    end = "\n#-}"
    if body.endswith(end):
        return f"{body.removesuffix(end)},\n{section}"
    return f"{body}\n\n{{-#\n{section}"


def find_reproducer(text: str, file: str) -> Reproducer | None:
    """The reproducer in the `{-# … #-}` sections of a file.

    Raises DiagnosticError for a reproducer without a pipeline.
    """
    if ENTRY not in text:
        return None
    found: Reproducer | None = None
    for section in METADATA.finditer(text):
        entry = _START.search(section[0])
        if entry is None:
            continue
        fields = dict(_FIELD.findall(section[0][entry.end() :]))
        if "pipeline" not in fields:
            line = text.count("\n", 0, section.start() + entry.start()) + 1
            raise error(Position(file, line, 1), 'this reproducer has no pipeline; expected `pipeline: "…"`')
        pipeline = _ESCAPE.sub(_unescape, fields["pipeline"][1:-1])
        found = Reproducer(pipeline, fields.get("verify_each", "true") == "true")
    return found


def _unescape(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return {"n": "\n", "t": "\t"}.get(match[2], match[2])
