"""Findings of the simulator: one per cause, with the PTX lines where it occurs and the number of occurrences.

warp.report("out-of-bounds", "…", lanes) ──▶ Findings.add ──▶ Finding ──▶ text, JSON

An `error` is incorrect on hardware. A `warning` is behavior that PTX does not guarantee but common programs rely on.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tessera_tools.records import Json

__all__ = ["KINDS", "POLICIES", "SEVERITIES", "Finding", "Findings", "as_dict"]

SEVERITIES = ("error", "warning")
POLICIES = ("errors", "warnings", "strict")
"""Which findings to report: errors only; errors and warnings, which do not fail a run; or warnings as errors."""

KINDS = (
    "out-of-bounds",
    "misaligned",
    "uninitialized",
    "in-flight",
    "race",
    "proxy",
    "deadlock",
    "barrier",
    "mbarrier",
    "divergence",
    "asynchronous",
    "trap",
    "assert",
    "limit",
    "illegal",
)
"""Every kind of finding. `in-flight`: memory or registers used before the wait that an asynchronous operation
requires; `proxy`: a missing proxy fence; `limit`: the instruction limit; `illegal`: an instruction whose
operands the PTX ISA leaves undefined."""


_LINES = 8
"""Maximum number of additional PTX lines in the text of a finding."""


@dataclass(slots=True)
class Finding:
    """One defect. `line` is the PTX line; `cta` and `thread` are the x, y, z of the first thread that showed it."""

    kind: str
    message: str
    line: int
    instruction: str
    location: str = ""
    """`file:line:column` of `.loc`; empty without line information."""
    entry: str = ""
    cta: tuple[int, int, int] = (0, 0, 0)
    thread: tuple[int, int, int] = (0, 0, 0)
    notes: list[str] = field(default_factory=list[str])
    count: int = 1
    severity: str = "error"
    callers: list[str] = field(default_factory=list[str])
    """The calls through which the instruction was inlined, innermost first, as `file:line:column`."""
    lines: list[int] = field(default_factory=list[int])
    """Other PTX lines with the same cause."""
    cause: Hashable = None
    """Findings of the same kind and cause are merged. None: the source location, or else the PTX line."""

    def text(self, file: str = "") -> str:
        """`file:line: severity: kind: message`, then the source location, the thread, and the notes."""
        lines = [f"{file or '<ptx>'}:{self.line}: {self.severity}: {self.kind}: {self.message}"]
        lines.append(
            f"  instruction: {self.instruction}" + (f"  at {self.location}" if self.location else "")
        )
        lines += [f"    inlined at {caller}" for caller in self.callers]
        times = f", {self.count} occurrences" if self.count > 1 else ""
        lines.append(f"  CTA {self.cta} thread {self.thread}{times}")
        if self.lines:
            more = f" and {len(self.lines) - _LINES} more" if len(self.lines) > _LINES else ""
            lines.append(f"  also at PTX lines {', '.join(map(str, self.lines[:_LINES]))}{more}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines) + "\n"

    def key(self) -> Hashable:
        """The key by which findings are merged."""
        place = (self.location, *self.callers) if self.location else self.line
        return self.kind, self.severity, self.entry, place if self.cause is None else self.cause


def as_dict(finding: Finding) -> dict[str, Json]:
    """The finding as a JSON object."""
    found = asdict(finding)
    del found["cause"]
    return found


class Findings:
    """The findings of a launch, merged by cause."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Finding] = {}

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"<Findings: {self.summary()}>"

    def __bool__(self) -> bool:
        return bool(self._found)

    def kinds(self) -> set[str]:
        return {finding.kind for finding in self}

    def of(self, severity: str) -> list[Finding]:
        """The findings of one severity."""
        return [finding for finding in self if finding.severity == severity]

    def under(self, policy: str) -> Findings:
        """The findings that the policy reports, with the severities that it assigns."""
        found = Findings()
        for finding in self:
            if policy == "strict":
                found.add(replace(finding, severity="error"))
            elif policy == "warnings" or finding.severity == "error":
                found.add(finding)
        return found

    def summary(self, others: int = 0) -> str:
        """The number of findings as text; `others` is the number of further errors."""
        errors, warnings = len(self.of("error")) + others, len(self.of("warning"))
        parts = [
            f"{n} {word}{'s' if n != 1 else ''}"
            for n, word in ((errors, "finding"), (warnings, "warning"))
            if n
        ]
        return " and ".join(parts) or "no findings"

    def add(self, finding: Finding) -> None:
        """Add the finding, or count it if a finding of the same cause exists."""
        if finding.kind not in KINDS:
            raise ValueError(f"unknown kind of finding '{finding.kind}'; expected one of {', '.join(KINDS)}")
        if finding.severity not in SEVERITIES:
            raise ValueError(f"unknown severity '{finding.severity}'; expected error or warning")
        earlier = self._found.setdefault(finding.key(), finding)
        if earlier is not finding:
            earlier.count += finding.count
            for line in (finding.line, *finding.lines):
                if line != earlier.line and line not in earlier.lines:
                    earlier.lines = [*earlier.lines, line]

    def merge(self, other: Findings) -> None:
        for finding in other:
            self.add(finding)

    def text(self, file: str = "") -> str:
        return "".join(finding.text(file) for finding in self)

    def to_json(self) -> str:
        return json.dumps([as_dict(finding) for finding in self], indent=2) + "\n"
