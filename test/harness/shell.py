"""The part of the shell's language that runs without a shell: command line → lists of pipelines.

`parse_command_line` accepts words with quotes, `|`, `&&`, `||`, `<`, `>`, `>>`, `2>`, `2>>`, `2>&1`, `>&2`
and `&>`. All else that the shell gives a meaning (variables, globs, `;`, `&`, subshells, assignments) raises
NeedsShell, and the whole line goes to bash: never a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

OPERATOR = re.compile(r"&&|\|\||\||2>&1|1?>&2|&>|2>>|2>|>>|>|<")
SPECIAL = frozenset("$`;&()*?[]{}~#!\n")
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
OWN_STREAMS = re.compile(r"/dev/(stdin|stdout|stderr|fd/)|/proc/self/")


class NeedsShell(Exception):
    """The line uses something only a real shell does; the message says what."""


@dataclass(frozen=True)
class Redirection:
    """`operator` as written; `target` is a path, empty for the two operators that join streams."""

    operator: str
    target: str = ""


@dataclass
class Stage:
    """One command of a pipeline."""

    argv: list[str] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)


@dataclass
class Pipeline:
    """Stages joined by `|`; `joined_by` is the `&&` or `||` before them, empty for the first."""

    joined_by: str = ""
    stages: list[Stage] = field(default_factory=lambda: [Stage()])


def tokenize(text: str) -> list[tuple[str, bool]]:
    """`text` as (token, is_operator) pairs, quotes removed. Raises NeedsShell."""
    tokens: list[tuple[str, bool]] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        operator = OPERATOR.match(text, at)
        if operator:
            tokens.append((operator.group(), True))
            at = operator.end()
            continue
        word, at = _word(text, at)
        tokens.append((word, False))
    return tokens


def _word(text: str, at: int) -> tuple[str, int]:
    out: list[str] = []
    start = at
    while at < len(text):
        char = text[at]
        if char.isspace() or char in "<>|" or text.startswith("&&", at):
            break
        if char == "'":
            end = text.find("'", at + 1)
            if end < 0:
                raise NeedsShell("unfinished quote")
            out.append(text[at + 1 : end])
            at = end + 1
        elif char == '"':
            part, at = _double_quoted(text, at + 1)
            out.append(part)
        elif char == "\\":
            if at + 1 == len(text):
                raise NeedsShell("backslash at the end")
            out.append(text[at + 1])
            at += 2
        elif char in SPECIAL:
            raise NeedsShell(f"'{char}' outside quotes")
        else:
            out.append(char)
            at += 1
    if text[start:at].isdigit() and at < len(text) and text[at] in "<>":
        raise NeedsShell(f"redirection of file descriptor {text[start:at]}")
    return "".join(out), at


def _double_quoted(text: str, at: int) -> tuple[str, int]:
    out: list[str] = []
    while at < len(text):
        char = text[at]
        if char == '"':
            return "".join(out), at + 1
        if char in "$`":
            raise NeedsShell(f"'{char}' in double quotes")
        if char == "\\" and at + 1 < len(text) and text[at + 1] in '"\\$`':
            at += 1
            char = text[at]
        out.append(char)
        at += 1
    raise NeedsShell("unfinished quote")


def parse_command_line(text: str) -> list[Pipeline]:
    """Parse `text`. Raises NeedsShell for what the module does not cover, bad syntax included."""
    pipelines = [Pipeline()]
    tokens = iter(tokenize(text))
    for token, is_operator in tokens:
        stage = pipelines[-1].stages[-1]
        if not is_operator:
            if not stage.argv and ASSIGNMENT.match(token):
                raise NeedsShell("assignment before a command")
            if OWN_STREAMS.match(token):
                raise NeedsShell("a path that names the process's own streams")
            stage.argv.append(token)
        elif token == "|":
            pipelines[-1].stages.append(Stage())
        elif token in ("&&", "||"):
            pipelines.append(Pipeline(token))
        elif token in ("2>&1", ">&2", "1>&2"):
            stage.redirections.append(Redirection(token))
        else:
            target, target_is_operator = next(tokens, ("", True))
            if target_is_operator or OWN_STREAMS.match(target):
                raise NeedsShell(f"'{token}' without a plain file name")
            stage.redirections.append(Redirection(token, target))
    if any(not stage.argv for pipeline in pipelines for stage in pipeline.stages):
        raise NeedsShell("an empty command")
    return pipelines
