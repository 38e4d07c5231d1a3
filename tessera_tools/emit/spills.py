"""Locations of spills: ptxas counts the bytes of each kernel; SASS with line information shows the loops.

.L_x_1:                               ◀─────────┐
    //## File "gemm.mlir", line 59              │ innermost loop around the STL
    STL [R1+0x10], R7 ;                         │
    //## File "gemm.mlir", line 53              │ the line of the loop
    @!P1 BRA `(.L_x_1) ;              ──────────┘

SASS names lines only. `SourceOps` adds the column, where the .loc directives of the PTX have one for the line, and the
op of the input there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from tessera_tools.diagnostics import HasStart, Position, Remark
from tessera_tools.emit.resources import Report
from tessera_tools.emit.sass import OPCODE, SOURCE_LINE
from tessera_tools.records import dataclass, field

__all__ = ["SourceOps", "SpillPlace", "explain_spills", "spill_places"]

_MOST_LINES = 3
"""Lines that a remark names as the ones whose values are spilled."""


@dataclass(frozen=True, slots=True)
class SpillPlace:
    """The spill instructions of a kernel in one innermost loop, or outside all loops."""

    kernel: str
    loop: Position | None
    """The line of the loop; None outside loops, and if the SASS has no line."""
    in_loop: bool
    stores: int
    loads: int
    lines: tuple[tuple[Position, int], ...] = ()
    """The lines of the input with the most spill instructions, and how many each has."""


@dataclass(frozen=True, slots=True)
class SourceOps:
    """The columns and ops of source lines."""

    columns: Mapping[tuple[str, int], frozenset[int]] = field(default_factory=dict)
    """(file, line) → the columns of its .loc directives."""
    ops: Mapping[tuple[str, int, int], str] = field(default_factory=dict)
    """(file, line, column) → the op of the input."""

    @classmethod
    def of(cls, ptx: str, ops: Mapping[tuple[str, int, int], str]) -> SourceOps:
        """The lines of a PTX text with .loc directives."""
        names = dict(_PTX_FILE.findall(ptx))
        columns: dict[tuple[str, int], frozenset[int]] = {}
        for number, line, column in _PTX_LOC.findall(ptx):
            if number in names and int(line):
                key = (names[number], int(line))
                columns[key] = columns.get(key, frozenset()) | {max(1, int(column))}
        return cls(columns, ops)

    def place(self, line: Position) -> Position:
        """A line with its column; as it is if the PTX has no single column for it."""
        columns = self.columns.get((line.file, line.line), frozenset())
        return Position(line.file, line.line, min(columns)) if len(columns) == 1 else line

    def name(self, place: Position) -> str:
        """`'cuda_tile.for' at gemm.mlir:59:10`."""
        at = f"{place.file}:{place.line}:{place.column}"
        op = self.ops.get((place.file, place.line, place.column))
        return at if op is None else f"'{op}' at {at}"


_FUNCTION = re.compile(r"^\s*\.section\s+\.text\.([^,\s]+)")
_LABEL = re.compile(r"^(\.L_x_\d+):")
_TARGET = re.compile(r"`\((\.L_x_\d+)\)")
_PTX_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"(.*?)"', re.MULTILINE)
_PTX_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)", re.MULTILINE)


def spill_places(sass: str) -> list[SpillPlace]:
    """The spills of each function in SASS that nvdisasm printed with line information.

    A loop is the code between a label and a later branch to it. ptxas unrolls and splits loops. The parts have the same
    line, and parts of the same line are reported as one loop.
    """
    kernel, line = "", None
    labels: dict[str, int] = {}
    spills: list[tuple[int, bool, Position | None]] = []
    loops: list[tuple[int, int, Position | None]] = []
    places: list[SpillPlace] = []

    def finish() -> None:
        counts: dict[tuple[Position | None, bool], list[int]] = {}
        lines: dict[tuple[Position | None, bool], Counter[Position]] = {}
        for place, is_store, at in spills:
            around = [loop for loop in loops if loop[0] <= place <= loop[1]]
            innermost = min(around, key=lambda loop: loop[1] - loop[0], default=None)
            key = (innermost[2], True) if innermost is not None else (None, False)
            counts.setdefault(key, [0, 0])[0 if is_store else 1] += 1
            if at is not None:
                lines.setdefault(key, Counter())[at] += 1
        places.extend(
            SpillPlace(kernel, *key, stores, loads, tuple(lines.get(key, Counter()).most_common(_MOST_LINES)))
            for key, (stores, loads) in counts.items()
        )

    for number, text in enumerate(sass.splitlines()):
        if found := _FUNCTION.match(text):
            finish()
            kernel, line = found[1], None
            labels, spills, loops = {}, [], []
        elif found := _LABEL.match(text):
            labels[found[1]] = number
        elif found := SOURCE_LINE.match(text):
            line = Position(found[1], int(found[2]), 1)
        elif found := OPCODE.match(text):
            if found[1] in ("STL", "LDL"):
                spills.append((number, found[1] == "STL", line))
            elif found[1] == "BRA" and (target := _TARGET.search(text)) and target[1] in labels:
                loops.append((labels[target[1]], number, line))
    finish()
    return places


def explain_spills(
    report: Report,
    places: list[SpillPlace],
    locations: Mapping[str, HasStart],
    sources: SourceOps | None = None,
) -> list[Remark]:
    """A remark for each kernel that spills, and one for each place, with the ops whose values are spilled.

    locations: of kernels, by name.
    """
    sources = sources or SourceOps()
    remarks: list[Remark] = []

    def add_remark(
        kernel: str, location: HasStart | None, message: str, notes: list[tuple[str, Position]]
    ) -> None:
        remark = Remark("remark", location or locations.get(kernel), message)
        remark.source, remark.rule, remark.category = "ptxas", "spills", "resources"
        remark.function, remark.kind, remark.on_request = kernel, "failed", True
        for text, place in notes:
            remark.note(text, place)
        remarks.append(remark)

    for kernel, used in report.entries.items():
        if not used.spills:
            continue
        add_remark(
            kernel,
            None,
            f"kernel '{kernel}' spills {used.spill_stores} bytes and reloads {used.spill_loads} bytes per thread, at "
            f"{used.registers} registers: use a smaller tile or more warps",
            [],
        )
        for place in places:
            if place.kernel == kernel:
                where = "in the loop" if place.in_loop else "outside loops"
                text = f"{place.stores} spill stores and {place.loads} reloads of '{kernel}' {where}"
                loop = sources.place(place.loop) if place.loop is not None else None
                lines = [(sources.place(line), count) for line, count in place.lines]
                add_remark(
                    kernel,
                    loop,
                    text,
                    [(f"{count} of them for {sources.name(at)}", at) for at, count in lines],
                )
    return remarks
