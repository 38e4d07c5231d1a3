"""The lines of a program that SASS names, as nvdisasm prints them."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from pathlib import Path

from oracles import require_tool
from tessera_tools.emit.sass import OPCODE, SOURCE_LINE

Place = tuple[str, int]


def opcodes_by_line(sass: str) -> dict[Place, set[str]]:
    """File and line → the opcodes of its instructions."""
    found: dict[Place, set[str]] = defaultdict(set)
    place: Place | None = None
    for line in sass.splitlines():
        if named := SOURCE_LINE.match(line):
            place = named[1], int(named[2])
        elif (opcode := OPCODE.match(line)) and place is not None:
            found[place].add(opcode[1])
    return dict(found)


def disassembled(cubin: Path) -> str:
    """What NVIDIA's nvdisasm prints for `--print-line-info`."""
    command = [require_tool("nvdisasm"), "--print-line-info", str(cubin)]
    return subprocess.run(command, capture_output=True, check=True, text=True, timeout=60).stdout
