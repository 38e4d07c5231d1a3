"""The SASS of each line of PTX: ptxas's own account of what an instruction became.

    PTX ──one `.loc` for each instruction──▶ ptxas -lineinfo ──▶ nvdisasm ──▶ {PTX line: [(12, "LDG"), …]}, basic blocks

The line table does not change the code, so that the opcodes are those of the kernel.
"""

from __future__ import annotations

import re

from tessera_tools.emit.ptxas import Ptxas
from tessera_tools.emit.resources import Report
from tessera_tools.emit.sass import OPCODE, SOURCE_LINE, Nvdisasm
from tessera_tools.target import Target

__all__ = ["sass_by_line", "with_lines"]

_DROPPED = re.compile(r"^\s*\.(?:loc|file)\b")
_NO_INSTRUCTION = re.compile(r"^\s*(?:$|//|\.|[{}()]|[\w$%]+:\s*$)")
_LABEL = re.compile(r"^\s*\.L\w+:")
_ENDS_BLOCK = {"BRA", "BRX", "EXIT", "RET", "CALL", "JMP", "JMX"}
_SECTION = re.compile(r"^\s*\.section\s+\.debug_str\b")


def with_lines(ptx: str) -> str:
    """The PTX whose line table names the lines of `ptx` itself."""
    lines: list[str] = []
    inside = False
    skipping = False
    for number, line in enumerate(ptx.split("\n"), 1):
        if _SECTION.match(line):
            skipping = True
        if skipping:
            skipping = "}" not in line
            continue
        if _DROPPED.match(line):
            continue
        stripped = line.strip()
        if stripped.startswith("{") and not inside:
            inside = True
        starts = inside and not _NO_INSTRUCTION.match(line)
        if starts and _complete(lines):
            lines.append(f"\t.loc 1 {number} 1")
        lines.append(line)
        if stripped == "}" and line.startswith("}"):
            inside = False
    end = next((n for n, line in enumerate(lines) if line.startswith(".address_size")), None)
    if end is not None:
        lines.insert(end + 1, '.file 1 "ptx"')
    return "\n".join(lines)


def _complete(lines: list[str]) -> bool:
    """True if the statement before has ended, so that another may begin."""
    for line in reversed(lines):
        text = line.split("//")[0].strip()
        if text:
            return text[-1] in ";{}:" or text.startswith(".")
    return True


def sass_by_line(
    ptx: str, target: Target, *, ptxas: str | None = None, nvdisasm: str | None = None
) -> tuple[dict[int, list[tuple[int, str]]], list[int], Report]:
    """Places in the SASS and opcodes by PTX line, the places at which basic blocks begin, and ptxas's report.

    Raises ToolError if ptxas or nvdisasm is missing or refuses its input.
    """
    made = Ptxas.find(ptxas).assemble(with_lines(ptx), arch=target.ptx_target, lineinfo=True)
    sass = Nvdisasm.find(nvdisasm).disassemble(made.cubin, lineinfo=True)
    found: dict[int, list[tuple[int, str]]] = {}
    starts = [0]
    current = number = 0
    for line in sass.splitlines():
        if place := SOURCE_LINE.match(line):
            current = int(place[2])
        elif _LABEL.match(line):
            starts.append(number)
        elif (opcode := OPCODE.match(line)) and opcode[1] != "NOP":
            found.setdefault(current, []).append((number, opcode[1]))
            number += 1
            if opcode[1] in _ENDS_BLOCK:
                starts.append(number)
    return found, sorted(set(starts)), made.report
