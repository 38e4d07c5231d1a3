"""Test files: text with `RUN:`, `REQUIRES:`, `UNSUPPORTED:` and `XFAIL:` comments → `RunFile`.

The keywords and the substitutions are lit's, so that a reader who knows LLVM's tests knows these.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

DIRECTIVE = re.compile(r"\b(RUN|REQUIRES|UNSUPPORTED|XFAIL):(.*)$")
SUBSTITUTION = re.compile(r"%(%|\{root\}|s|S|t|T)(?![A-Za-z0-9_])|%%")

ROOT = Path(__file__).resolve().parents[2]
"""The checkout: what `%{root}` stands for."""


class BadTestFile(Exception):
    """A test file that cannot be run as it stands: no RUN line, an unfinished one, an unknown name."""


@dataclass(frozen=True)
class RunLine:
    """One command line, continuation lines joined, with the 1-based line number where it begins."""

    text: str
    line: int


@dataclass(frozen=True)
class RunFile:
    """What a test file asks for. `xfail` and `unsupported` hold feature names, or `*` for always."""

    path: Path
    runs: tuple[RunLine, ...]
    requires: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    xfail: tuple[str, ...] = ()


def parse_run_file(path: Path) -> RunFile:
    """Read the directives of `path`; invalid UTF-8 elsewhere in the file is allowed, tests need it.

    Raises BadTestFile without any RUN line, or when the last one ends in a continuation `\\`.
    """
    runs: list[RunLine] = []
    lists: dict[str, list[str]] = {"REQUIRES": [], "UNSUPPORTED": [], "XFAIL": []}
    pending: RunLine | None = None
    for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), start=1):
        found = DIRECTIVE.search(line)
        if found is None:
            continue
        keyword, rest = found.group(1), found.group(2).strip()
        if keyword != "RUN":
            lists[keyword] += [name for name in re.split(r"[,\s]+", rest) if name]
            continue
        text = f"{pending.text} {rest}" if pending else rest
        start = pending.line if pending else number
        if text.endswith("\\"):
            pending = RunLine(text[:-1].rstrip(), start)
            continue
        if not text:
            raise BadTestFile(f"{path}:{number}: empty RUN line")
        pending = None
        runs.append(RunLine(text, start))
    if pending:
        raise BadTestFile(f"{path}:{pending.line}: RUN line ends in a continuation '\\'")
    if not runs:
        raise BadTestFile(
            f"{path}: no RUN line; write `// RUN: tessera-opt %s | filecheck %s`, "
            "or move a file that another test reads into a folder named `inputs`"
        )
    return RunFile(
        path,
        tuple(runs),
        tuple(lists["REQUIRES"]),
        tuple(lists["UNSUPPORTED"]),
        tuple(lists["XFAIL"]),
    )


def substitute(text: str, path: Path, folder: Path) -> str:
    """Replace `%s` (the file), `%S` (its folder), `%t` (a path of this test's own in `folder`), `%T`
    (`folder`), `%{root}` (the checkout) and `%%` (a percent sign).

    A path is quoted as its place in the command line needs, so a checkout with a space in its name works.
    """
    values = {
        "s": str(path),
        "S": str(path.parent),
        "t": str(folder / f"{path.name}.tmp"),
        "T": str(folder),
        "{root}": str(ROOT),
    }
    out: list[str] = []
    quote = ""
    at = 0
    while at < len(text):
        char = text[at]
        found = SUBSTITUTION.match(text, at) if char == "%" else None
        if found:
            key = found.group(1)
            out.append("%" if key in (None, "%") else _quoted(values[key], quote))
            at = found.end()
            continue
        if char == "\\" and quote != "'" and at + 1 < len(text):
            out.append(text[at : at + 2])
            at += 2
            continue
        if char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        out.append(char)
        at += 1
    return "".join(out)


def _quoted(value: str, quote: str) -> str:
    if quote == "'":
        return value.replace("'", "'\\''")
    if quote == '"':
        return re.sub(r'(["$`\\])', r"\\\1", value)
    return shlex.quote(value)
