"""Remarks in the two formats of tileiras: blocks by kernel and category for people, YAML documents for programs.

The categories `memory` and `tensorcore` are spelled as tileiras spells them. Ours has more (`schedule`, `layout`, …),
which `all` selects. The names and texts are those of our own passes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from tessera_tools.diagnostics import Remark

__all__ = ["CATEGORIES", "KINDS", "as_blocks", "as_yaml", "select"]

KINDS = ("passed", "missed", "failed", "analysis")
CATEGORIES = ("none", "all", "memory", "tensorcore")

_TITLES = {"memory": "Memory", "tensorcore": "Tensor-core"}


def select(remarks: Iterable[Remark], wanted: Mapping[str, str]) -> list[Remark]:
    """The remarks whose kind and category are wanted, in program order. wanted: kind → one of CATEGORIES."""
    chosen = [remark for remark in remarks if wanted.get(remark.kind, "none") in ("all", remark.category)]
    return sorted(chosen, key=lambda remark: (remark.function, _place(remark)))


def as_blocks(remarks: Sequence[Remark]) -> str:
    """The format `command-line`."""
    lines: list[str] = []
    for function in dict.fromkeys(remark.function for remark in remarks):
        lines += [f"in function: {function}:", ""]
        own = [remark for remark in remarks if remark.function == function]
        for category in dict.fromkeys(remark.category for remark in own):
            lines.append(f"  category: {_title(category)}")
            for remark in own:
                if remark.category == category:
                    lines += [*_block(remark), ""]
            lines.append("")
    return "".join(f"{line}\n" for line in lines)


def _block(remark: Remark) -> list[str]:
    lines = [f"    remark[{remark.kind}]: {remark.message}"]
    file, line, column = _place(remark)
    if file:
        lines.append(f"      --> {json.dumps(file, ensure_ascii=False)}:{line}:{column}")
    lines += ["       |", f"       = name: {remark.rule}", f"       = note: pass = {remark.source}"]
    return lines + [f"       = note: {note.message}" for note in remark.notes]


def as_yaml(remarks: Sequence[Remark]) -> str:
    """The format `yaml`: LLVM's optimization remarks."""
    lines: list[str] = []
    for number, remark in enumerate(remarks, 1):
        lines += [
            f"--- !{remark.kind.capitalize()}",
            f"Pass:            {_scalar(_title(remark.category))}",
            f"Name:            {_scalar(remark.rule)}",
        ]
        file, line, column = _place(remark)
        if file:
            lines.append(f"DebugLoc:        {{ File: {_scalar(file)}, Line: {line}, Column: {column} }}")
        lines += [
            f"Function:        {_scalar(remark.function)}",
            "Args:",
            f"  - RemarkId:    {number}",
            f"  - Remark:      {_scalar(remark.message)}",
            f"  - Source:      {_scalar(remark.source)}",
        ]
        lines += [f"  - Note:        {_scalar(note.message)}" for note in remark.notes]
        lines.append("...")
    return "".join(f"{line}\n" for line in lines)


def _title(category: str) -> str:
    return _TITLES.get(category, category.capitalize())


def _place(remark: Remark) -> tuple[str, int, int]:
    place = remark.location.start() if remark.location is not None else None
    return place if place is not None else ("", 0, 0)


def _scalar(text: str) -> str:
    """A YAML scalar in single quotes, or in double quotes if it contains characters that need escapes."""
    return "'" + text.replace("'", "''") + "'" if text.isprintable() else json.dumps(text)
