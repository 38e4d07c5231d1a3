"""Actions that can be watched and counted: runs of passes, and rewrites.

--debug-only=greedy-rewriter              each rewrite is a line: [greedy-rewriter] 'arith.addi' (fold)
--mlir-debug-counter=pass-execution-skip=1,pass-execution-count=2
    executes the second and the third pass only, to find by bisection which one breaks something

A pass manager and a rewriter ask `executes(tag)` before an action, and call `log(kind, text)`.  Both cost one look-up
if no option is given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tessera_tools.diagnostics import closest, error
from tessera_tools.records import dataclass, field

__all__ = [
    "KINDS",
    "TAGS",
    "Counter",
    "Watch",
    "executes",
    "log",
    "logs",
    "read_counters",
    "runs",
    "watching",
]

TAGS = ("apply-pattern", "fold", "pass-execution")
"""What can be counted."""
KINDS = ("greedy-rewriter", "pass-manager")
"""What can be logged; the name of a pass stands for all that is logged while it runs."""

_ENTRY = re.compile(r"([\w-]+)-(skip|count)=(\d{1,18})")


@dataclass
class Counter:
    """Executes `count` actions after the first `skip`; all of them if `count` is negative."""

    skip: int = 0
    count: int = -1
    seen: int = 0

    def next(self) -> bool:
        """Count an action; whether to execute it."""
        number = self.seen - self.skip
        self.seen += 1
        return number >= 0 and (self.count < 0 or number < self.count)


@dataclass
class Watch:
    """What is counted, and what is logged to `write`."""

    counters: dict[str, Counter] = field(default_factory=dict[str, Counter])
    kinds: frozenset[str] = frozenset()
    write: Callable[[str], object] = lambda text: None
    running: str = ""
    """The pass that runs."""

    def report(self) -> str:
        """The counters, as `--mlir-print-debug-counter` prints them."""
        lines = [f"{tag:<32}: {{{c.seen},{c.skip},{c.count}}}\n" for tag, c in sorted(self.counters.items())]
        return "DebugCounter counters:\n" + "".join(lines)


_watch: Watch | None = None


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Count and log the actions inside the `with` block."""
    global _watch
    before, _watch = _watch, watch
    try:
        yield
    finally:
        _watch = before


def executes(tag: str) -> bool:
    """Whether the next action of that kind is executed."""
    if _watch is None:
        return True
    counter = _watch.counters.get(tag)
    return counter is None or counter.next()


def logs(kind: str) -> bool:
    """Whether lines of that kind are logged."""
    return _watch is not None and (kind in _watch.kinds or _watch.running in _watch.kinds)


def log(kind: str, text: str) -> None:
    """Log a line, if it is wanted."""
    if _watch is not None and logs(kind):
        _watch.write(f"[{kind}] {text}\n")


def runs(name: str) -> None:
    """Note which pass runs; "" for none."""
    if _watch is not None:
        _watch.running = name


def read_counters(text: str) -> dict[str, Counter]:
    """The counters of `--mlir-debug-counter`: TAG-skip=N,TAG-count=N,…. Raises DiagnosticError."""
    found: dict[str, Counter] = {}
    for entry in filter(None, text.split(",")):
        match = _ENTRY.fullmatch(entry.strip())
        if match is None:
            raise error(None, f"--mlir-debug-counter expects TAG-skip=N or TAG-count=N, found '{entry}'")
        if match[1] not in TAGS:
            close = closest(match[1], TAGS)
            hint = f"did you mean '{close}'?" if close else f"expected one of {', '.join(TAGS)}"
            raise error(None, f"--mlir-debug-counter: nothing is counted as '{match[1]}'; {hint}")
        setattr(found.setdefault(match[1], Counter()), match[2], int(match[3]))
    return found
