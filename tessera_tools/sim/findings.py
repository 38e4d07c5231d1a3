"""What the simulator reports: one finding per kind and PTX line, with how often it was seen.

warp.report("out-of-bounds", "…", lanes) ──▶ Findings.add ──▶ Finding ──▶ text, JSON
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

__all__ = ["KINDS", "Finding", "Findings"]

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


@dataclass(slots=True)
class Finding:
    """One thing that is wrong. `line` is the PTX line; `cta` and `thread` are x, y, z of the first who saw it."""

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

    def text(self, file: str = "") -> str:
        """`file:line: finding: kind: message`, then where in the source, who, and the notes."""
        lines = [f"{file or '<ptx>'}:{self.line}: finding: {self.kind}: {self.message}"]
        lines.append(
            f"  instruction: {self.instruction}" + (f"  at {self.location}" if self.location else "")
        )
        times = f", seen {self.count} times" if self.count > 1 else ""
        lines.append(f"  CTA {self.cta} thread {self.thread}{times}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines) + "\n"


class Findings:
    """The findings of a launch, equal ones counted once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], Finding] = {}

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)

    def __bool__(self) -> bool:
        return bool(self._found)

    def kinds(self) -> set[str]:
        return {finding.kind for finding in self}

    def add(self, finding: Finding) -> None:
        """Keep the finding, or count it if the same kind was found at the same PTX line."""
        if finding.kind not in KINDS:
            raise ValueError(f"unknown kind of finding '{finding.kind}'; expected one of {', '.join(KINDS)}")
        earlier = self._found.setdefault((finding.kind, finding.line), finding)
        if earlier is not finding:
            earlier.count += finding.count

    def merge(self, other: Findings) -> None:
        for finding in other:
            self.add(finding)

    def text(self, file: str = "") -> str:
        return "".join(finding.text(file) for finding in self)

    def to_json(self) -> str:
        return json.dumps([asdict(finding) for finding in self], indent=2) + "\n"
