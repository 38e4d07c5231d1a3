"""Why an op stays as it is: the op, what is in the way, and what its author can do, as remarks and errors say it.

    refusal = Missed(load, "reads from a base that is not known to be a multiple of 16 bytes", "add an assume")

    refusal.text(load)      nv_tileas.tiled_load reads from a base …: add an assume
    refusal.text(dot)       nv_tileas.tiled_load at gemm.mlir:18:15 reads from a base …: add an assume
    refusal.because(load)   it reads from a base …
    refusal.because(dot)    nv_tileas.tiled_load at gemm.mlir:18:15 reads from a base …

A reason always goes with its own op.  Where another one follows from it, `because` tells it within the sentence about
the other op.
"""

from __future__ import annotations

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import nv_tileaa
from tessera_tools.ir.core import Operation


class Missed(Exception):
    """The reason why an op is not changed."""

    def __init__(self, op: Operation, why: str, advice: str = "") -> None:
        super().__init__(why)
        self.op = op
        self.why = why
        """What is in the way: a sentence of which the op is the subject, without it."""
        self.advice = advice
        """What the author can do, if there is something."""

    def text(self, at: Operation | None = None) -> str:
        """The sentence, and what to do.  `at`: the op at which it is told, if that is another one."""
        advice = f": {self.advice}" if self.advice else ""
        return f"{self._subject(at)} {self.why}{advice}"

    def because(self, at: Operation) -> str:
        """The sentence within one about the op `at`."""
        return f"{'it' if at is self.op else self._subject(at)} {self.why}"

    def _subject(self, at: Operation | None) -> str:
        if isinstance(self.op, nv_tileaa.Func):
            return "the kernel"
        place = place_of(self.op)
        known = at is None or at is self.op or place_of(at) == place
        return self.op.name if known else f"{self.op.name}{place}"

    def error(self, consequence: str) -> DiagnosticError:
        """An error at the op, if something requires what it is in the way of."""
        advice = f"; {self.advice}" if self.advice else ""
        return self.op.error(f"{self.why}{consequence}{advice}")


def place_of(op: Operation) -> str:
    """` at gemm.mlir:18:15`, where an op begins in the source; empty if that is not known."""
    start = op.location.start()
    return f" at {start[0]}:{start[1]}:{start[2]}" if start is not None else ""
