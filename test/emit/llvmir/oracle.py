"""LLVM IR in a form that two writers of a program share: parsed, verified and printed by LLVM, names renumbered."""

from __future__ import annotations

import re
from collections import Counter

import llvmlite.binding as llvm

_NAME = re.compile(r"%[\w.]+")
_INSTRUCTION = re.compile(r"^\s+(?:%[\w.]+ = )?(?:tail |musttail |notail )?(\w+)")
_CALLEE = re.compile(r"@(llvm\.[\w.]+)\(")


def verified(text: str) -> str:
    """The module as LLVM prints it; raises RuntimeError if LLVM's parser or verifier refuses it."""
    module = llvm.parse_assembly(text)
    module.verify()
    return str(module)


def bodies(text: str) -> dict[str, list[str]]:
    """Function name → its instructions, values numbered in order of appearance, without labels and metadata."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    names: dict[str, str] = {}
    for line in verified(text).split("\n"):
        if line.startswith("define"):
            match = re.search(r"@([\w.]+)\(", line)
            lines, names = [], {}
            found[match.group(1) if match else line] = lines
            # Parameters take the first numbers, in both writers.
            _renumbered(line, names)
        elif line.startswith("  "):
            plain = re.sub(r", !\w[\w.]* !\d+|; preds.*|#\d+", "", line).strip()
            lines.append(_renumbered(plain, names))
    return found


def _renumbered(line: str, names: dict[str, str]) -> str:
    return _NAME.sub(lambda m: names.setdefault(m.group(), f"%{len(names)}"), line)


def counts(text: str) -> Counter[str]:
    """How often each instruction and each intrinsic occurs."""
    found: Counter[str] = Counter()
    for line in verified(text).split("\n"):
        if line.startswith("  "):
            match = _INSTRUCTION.match(line)
            found[match.group(1) if match else line] += 1
            callee = _CALLEE.search(line)
            if callee:
                found[callee.group(1)] += 1
    return found
