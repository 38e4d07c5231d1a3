"""RUN lines: the commands that a test file begins with, as `// RUN: tessera-opt %s --cse | FileCheck %s`."""

from __future__ import annotations

import re
import shlex

from tessera_tools.editor.text import Refused, Text
from tessera_tools.records import dataclass

__all__ = ["PROGRAMS", "RunLine", "run_at", "run_lines"]

PROGRAMS = ("tessera-opt", "tessera-translate", "tessera-run", "FileCheck", "not")
"""The programs that are run; RUN lines with others are refused."""

_RUN = re.compile(r"^\s*//\s*RUN:(.*)$")


@dataclass(frozen=True, slots=True)
class RunLine:
    """A RUN line with its continuation lines."""

    first: int
    """Lines of the document, from 0."""
    last: int
    text: str

    def commands(self, substitutions: dict[str, str]) -> list[list[str]]:
        """The words of each command of the pipeline, with `%s` and the others replaced.

        Raises Refused for programs that are not run and for shell syntax.
        """
        pieces: list[list[str]] = [[]]
        try:
            lexer = shlex.shlex(self.text, posix=True, punctuation_chars="|&;<>()")
            lexer.whitespace_split = True
            lexer.commenters = ""
            words = list(lexer)
        except ValueError as problem:
            raise Refused(f"the line cannot be read: {problem}") from None
        for word in words:
            if word == "|":
                pieces.append([])
            elif word and set(word) <= set("|&;<>()"):
                raise Refused(f"the line has '{word}'; only commands joined by '|' are run here")
            else:
                pieces[-1].append(re.sub(r"%(%|[a-z]|S)", lambda m: substitutions.get(m[0], m[0]), word))
        for piece in pieces:
            program = next((word for word in piece if word != "not"), "")
            if program not in PROGRAMS:
                raise Refused(f"'{program}' is not run here; expected one of {', '.join(PROGRAMS[:-1])}")
        return pieces


def run_lines(text: Text) -> list[RunLine]:
    """The RUN lines of a document."""
    found: list[RunLine] = []
    number = 0
    while number < text.lines:
        match = _RUN.match(text.line(number))
        if match is None:
            number += 1
            continue
        first, body = number, match.group(1).strip()
        while body.endswith("\\") and number + 1 < text.lines:
            following = _RUN.match(text.line(number + 1))
            if following is None:
                break
            number += 1
            body = f"{body[:-1]} {following.group(1).strip()}"
        found.append(RunLine(first, number, body))
        number += 1
    return found


def run_at(text: Text, line: int) -> RunLine | None:
    """The RUN line that a line is a part of."""
    return next((run for run in run_lines(text) if run.first <= line <= run.last), None)
