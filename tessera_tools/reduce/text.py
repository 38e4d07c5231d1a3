"""Reduction of text, such as PTX, or MLIR that does not parse: by lines, by statements, then by words.

text ──split──▶ parts ──search.remove_parts──▶ the parts without which the rest does not fail
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tessera_tools.reduce.search import Budget, remove_parts

__all__ = ["reduce_ptx", "reduce_text"]

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_WORDS = re.compile(r"\s*(?:\"(?:[^\"\\\n]|\\.)*\"|[\w.$%@#!^-]+|[^\s\w])|\s+")
_ENDS = re.compile(r"[{}]|;[ \t\r\f\v]*\n")
_STATEMENT = re.compile(r"\s*(?:[^;{}\n]*;|[^;{}\n]*[{}]|[^\n]*\n|[^\n]+)")


def reduce_text(text: str, budget: Budget) -> str:
    """The smallest text of any kind that is still interesting, by lines and by words."""
    while True:
        changed, text = _without(text, _LINES.findall, budget)
        fewer, text = _without(text, _WORDS.findall, budget)
        if not (changed or fewer):
            return text


def reduce_ptx(text: str, budget: Budget) -> str:
    """The smallest PTX that is still interesting, by functions and blocks, by lines, and by statements."""
    while True:
        fewer, text = _without(text, _bodies, budget)
        changed, text = _without(text, _LINES.findall, budget)
        shorter, text = _without(text, _STATEMENT.findall, budget)
        if not (fewer or changed or shorter):
            return text


def _without(text: str, split: Callable[[str], list[str]], budget: Budget) -> tuple[bool, str]:
    """Whether parts of the text could be removed, and what is left."""
    parts = split(text)

    def attempt(begin: int, end: int) -> int | None:
        nonlocal parts
        rest = parts[:begin] + parts[end:]
        if not budget.interesting("".join(rest).encode("utf-8", "surrogateescape")):
            return None
        parts = rest
        return len(parts)

    return remove_parts(len(parts), attempt), "".join(parts)


def _bodies(text: str) -> list[str]:
    """The text cut before and after each outermost pair of braces, with the directive in front of it."""
    parts: list[str] = []
    start = depth = 0
    for match in _ENDS.finditer(text):
        char = match[0][0]
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
        if depth <= 0 and char in "};":
            parts.append(text[start : match.end()])
            start, depth = match.end(), 0
    return [*parts, text[start:]] if text[start:] else parts
