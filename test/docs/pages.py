"""Reading the documentation: fenced blocks with their marks, and the commands of console blocks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from harness import RunFailure, run_line

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^```(\w*)[ ]*([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block: language, mark (the rest of the fence's line), text, and the line where it begins."""

    language: str
    mark: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """Every fenced block of a page, in order."""
    text = page.read_text("utf-8")
    return [
        Block(m[1], m[2].strip(), m[3], text.count("\n", 0, m.start()) + 1) for m in _FENCE.finditer(text)
    ]


def commands(page: Path, *programs: str) -> list[str]:
    """The lines `$ program …` of the page's console blocks whose program is one of `programs`, without comments."""
    lines = [
        line for block in blocks(page) if block.language == "console" for line in block.text.splitlines()
    ]
    typed = [line[2:].split("  #")[0].strip() for line in lines if line.startswith("$ ")]
    return [line for line in typed if line.split()[0] in programs]


def check_command(command: str, folder: Path) -> str:
    """Run a command in a folder that has `examples/`; its stdout. Raises RunFailure when it does not succeed."""
    done = run_line(command, folder)
    if done.status:
        raise RunFailure(f"$ {command}\nended with status {done.status}\n{done.stderr.decode()}")
    return done.stdout.decode()


def missing_lines(quoted: str, printed: str) -> list[str]:
    """The quoted lines that no printed line holds; `…` stands for anything, indentation does not count."""
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    text = "\n".join(lines)
    absent: list[str] = []
    for line in quoted.splitlines():
        pieces = [re.escape(" ".join(piece.split())) for piece in line.split("…")]
        if any(pieces) and re.search(r"[^\n]*?".join(rf"[ ]*{piece}[ ]*" for piece in pieces), text) is None:
            absent.append(line.strip())
    return absent
