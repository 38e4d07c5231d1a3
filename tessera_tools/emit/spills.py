"""Locations of spills: ptxas counts the bytes of each kernel; SASS with line information shows the loops.

.L_x_1:                               ◀─────────┐
    //## File "gemm.mlir", line 59              │ innermost loop around the STL
    STL [R1+0x10], R7 ;                         │
    //## File "gemm.mlir", line 53              │ the line of the loop
    @!P1 BRA `(.L_x_1) ;              ──────────┘
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tessera_tools.diagnostics import HasStart, Position, Remark
from tessera_tools.emit.resources import Report

__all__ = ["SpillPlace", "explain_spills", "spill_places"]


@dataclass(frozen=True, slots=True)
class SpillPlace:
    """The spill instructions of a kernel in one innermost loop, or outside all loops."""

    kernel: str
    loop: Position | None
    """The line of the loop; None outside loops, and if the SASS has no line."""
    in_loop: bool
    stores: int
    loads: int


_FUNCTION = re.compile(r"^\s*\.section\s+\.text\.([^,\s]+)")
_LABEL = re.compile(r"^(\.L_x_\d+):")
_LINE = re.compile(r'^\s*//## File "(.+)", line (\d+)')
_OPCODE = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P[T0-9]+\s+)?([A-Z]+)")
_TARGET = re.compile(r"`\((\.L_x_\d+)\)")


def spill_places(sass: str) -> list[SpillPlace]:
    """The spills of each function in SASS that nvdisasm printed with line information.

    A loop is the code between a label and a later branch to it. ptxas unrolls and splits loops. The parts have the same
    line, and parts of the same line are reported as one loop.
    """
    kernel, line = "", None
    labels: dict[str, int] = {}
    spills: list[tuple[int, bool]] = []
    loops: list[tuple[int, int, Position | None]] = []
    places: list[SpillPlace] = []

    def finish() -> None:
        counts: dict[tuple[Position | None, bool], list[int]] = {}
        for place, is_store in spills:
            around = [loop for loop in loops if loop[0] <= place <= loop[1]]
            innermost = min(around, key=lambda loop: loop[1] - loop[0], default=None)
            key = (innermost[2], True) if innermost is not None else (None, False)
            counts.setdefault(key, [0, 0])[0 if is_store else 1] += 1
        places.extend(SpillPlace(kernel, *key, *count) for key, count in counts.items())

    for number, text in enumerate(sass.splitlines()):
        if found := _FUNCTION.match(text):
            finish()
            kernel, line = found[1], None
            labels, spills, loops = {}, [], []
        elif found := _LABEL.match(text):
            labels[found[1]] = number
        elif found := _LINE.match(text):
            line = Position(found[1], int(found[2]), 1)
        elif found := _OPCODE.match(text):
            if found[1] in ("STL", "LDL"):
                spills.append((number, found[1] == "STL"))
            elif found[1] == "BRA" and (target := _TARGET.search(text)) and target[1] in labels:
                loops.append((labels[target[1]], number, line))
    finish()
    return places


def explain_spills(
    report: Report, places: list[SpillPlace], locations: Mapping[str, HasStart]
) -> list[Remark]:
    """Emit a remark for each kernel that spills, and one for each loop. `locations` has the kernels' locations, by
    name."""
    remarks: list[Remark] = []

    def add_remark(kernel: str, location: HasStart | None, message: str) -> None:
        remark = Remark("remark", location or locations.get(kernel), message)
        remark.source, remark.rule, remark.category = "ptxas", "spills", "resources"
        remark.function, remark.kind = kernel, "missed"
        remarks.append(remark)

    for kernel, used in report.entries.items():
        if not used.spills:
            continue
        add_remark(
            kernel,
            None,
            f"kernel '{kernel}' spills {used.spill_stores} bytes and reloads {used.spill_loads} bytes per thread, at "
            f"{used.registers} registers: use a smaller tile or more warps",
        )
        for place in places:
            if place.kernel == kernel:
                where = "in the loop" if place.in_loop else "outside loops"
                text = f"{place.stores} spill stores and {place.loads} reloads of '{kernel}' {where}"
                add_remark(kernel, place.loop, text)
    return remarks
