"""Reproducers: an input with the pipeline that failed on it, in MLIR's format.

module { … }
{-#
  external_resources: {
    mlir_reproducer: { pipeline: "builtin.module(cse)", disable_threading: true, verify_each: true }
  }
#-}
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tessera_tools.diagnostics import Position, error
from tessera_tools.ir.builtin_attributes import quote

__all__ = ["Reproducer", "strip_resources", "with_reproducer"]

_SECTION = re.compile(r"^\{-#.*?^#-\}[ \t]*\n?|\{-#.*?#-\}", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"\bmlir_reproducer\s*:\s*\{", re.DOTALL)
_FIELD = re.compile(
    r'\b(pipeline|verify_each|disable_threading)\s*:\s*("(?:[^"\\]|\\.)*"|true|false)', re.DOTALL
)
_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{2})|(.))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reproducer:
    """What a reproducer says beside its IR."""

    pipeline: str
    verify_each: bool = True


def with_reproducer(ir: str, reproducer: Reproducer) -> str:
    """The text of a reproducer file."""
    verify = str(reproducer.verify_each).lower()
    return (
        f"{ir.rstrip()}\n\n"
        "{-#\n  external_resources: {\n    mlir_reproducer: {\n"
        f"      pipeline: {quote(reproducer.pipeline)},\n"
        f"      disable_threading: true,\n      verify_each: {verify}\n"
        "    }\n  }\n#-}\n"
    )


def strip_resources(text: str, file: str) -> tuple[str, Reproducer | None]:
    """The IR with its `{-# … #-}` sections blanked (line numbers stay), and the reproducer that they hold.

    Raises DiagnosticError for a reproducer without a pipeline.
    """
    if "mlir_reproducer" not in text:
        return text, None
    found: Reproducer | None = None
    for section in _SECTION.finditer(text):
        entry = _ENTRY.search(section[0])
        if entry is None:
            continue
        fields = dict(_FIELD.findall(section[0][entry.end() :]))
        if "pipeline" not in fields:
            line = text.count("\n", 0, section.start() + entry.start()) + 1
            raise error(Position(file, line, 1), 'this reproducer has no pipeline; expected `pipeline: "…"`')
        pipeline = _ESCAPE.sub(_unescape, fields["pipeline"][1:-1])
        found = Reproducer(pipeline, fields.get("verify_each", "true") == "true")
    if found is None:
        return text, None
    return _SECTION.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text), found


def _unescape(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return {"n": "\n", "t": "\t"}.get(match[2], match[2])
