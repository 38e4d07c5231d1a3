"""Programs with one synchronization less: which of them the simulated GPU says to be wrong.

    trial = Trial(args, "sm_90a", (1,), near(2, expected, 0.1))
    assert missed(made, mutants(made.ptx), trial) == []

`missed` runs the unchanged program first, which must be right in every trial.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from programs import Array, Compiled, decode, launch_ptx, stopped_by_findings

from tessera_tools.diagnostics import DiagnosticError

Changed = Iterable[tuple[str, str]]
"""What was changed, and the PTX with the change."""

# -- changes

_WAIT = re.compile(r"\t\{\n(?:(?!\t\}).*\n)*?.*mbarrier\.try_wait(?:(?!\t\}).*\n)*\t\}\n")
_CLUSTER_WAIT = re.compile(r"mbarrier\.try_wait\.parity\.acquire\.cluster\S* (%p\d+)")
_ONE = (
    "mbarrier.init.shared", "fence.mbarrier_init", "bar.sync", "mbarrier.arrive.shared",
    "mbarrier.arrive.expect_tx", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group", "fence.proxy",
    "cp.async.bulk.commit_group", "cp.async.bulk.wait_group", "tcgen05.alloc", "tcgen05.dealloc", "tcgen05.fence",
    "tcgen05.commit", "tcgen05.wait",
)  # fmt: skip
_COUNTED = re.compile(r"(mov\.b32 \t(%r\d+), )(\d+)(;\n\tmbarrier\.arrive\.expect_tx\S+ \S+ \S+ )")


def mutants(ptx: str, only: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Each wait, arrival, fence and count, one at a time; `only` those of such names.

    A program without tcgen05.relinquish_alloc_permit is as correct: the instruction makes later allocations of the CTA
    illegal, and nothing waits for it (PTX ISA, "Tensor Memory Allocation and Management").
    """
    for number, found in enumerate(() if only else _WAIT.finditer(ptx)):
        yield f"wait {number} removed", ptx[: found.start()] + ptx[found.end() :]
    lines = ptx.split("\n")
    fences = [number for number, line in enumerate(lines) if "wgmma.fence" in line]
    for number, line in enumerate(lines):
        words = line.split()
        if number in fences[1:]:
            # Products that add to the same sums need no fence between them (PTX ISA); ptxas 13.0 asks for one (C7519).
            continue
        if (
            any(line.strip().startswith(name) for name in only)
            if only
            else any(word.startswith(_ONE) for word in words[:2])
        ):
            yield f"{line.strip()} removed", "\n".join([*lines[:number], *lines[number + 1 :]])
    for found in () if only else _COUNTED.finditer(ptx):
        for count in (int(found[3]) - 16, int(found[3]) + 16):
            changed = f"{found[1]}{count}{found[4]}"
            yield f"expect_tx of {count} bytes", ptx[: found.start()] + changed + ptx[found.end() :]


_INIT = re.compile(r"(mbarrier\.init\.shared\S*\s+\[[^]]+\], )(%r\d+);")
_GROUPS = re.compile(r"((?:wgmma|cp\.async\.bulk)\.wait_group\S*\s+)(\d+);")
_PHASE = re.compile(r"(mbarrier\.try_wait\.parity\S*\s+\S+ \[[^]]+\], )(%r\d+)")


def changed_numbers(ptx: str) -> Iterator[tuple[str, str]]:
    """Each number that a synchronization depends on, one at a time: an mbarrier expects one arrival more or less, and a
    wait leaves one group more in flight, or is for the other phase."""
    values = dict(re.findall(r"mov\.b32\s+(%r\d+), (\d+);", ptx))
    lines = ptx.split("\n")
    for number, line in enumerate(lines):
        instead: list[str] = []
        if (found := _INIT.search(line)) and found[2] in values:
            count = int(values[found[2]])
            counts = [one for one in (count - 1, count + 1) if one]
            instead = [line.replace(found[0], f"{found[1]}{one};") for one in counts]
        elif found := _GROUPS.search(line):
            instead = [line.replace(found[0], f"{found[1]}{int(found[2]) + 1};")]
        elif found := _PHASE.search(line):
            other = f"{{ .reg .b32 other; xor.b32 other, {found[2]}, 1;"
            instead = [f"{other} {line.replace(found[0], f'{found[1]}other')} }}"]
        for changed in instead:
            yield f"{number}: {changed.strip()}", "\n".join([*lines[:number], changed, *lines[number + 1 :]])


def changed_lines(ptx: str, change: Callable[[str], list[str] | None]) -> Iterator[tuple[str, str]]:
    """One line at a time: `change` gives the lines in its place, or None if it stays."""
    lines = ptx.split("\n")
    for number, line in enumerate(lines):
        if (instead := change(line.strip())) is not None:
            yield f"{number}: {line.strip()}", "\n".join([*lines[:number], *instead, *lines[number + 1 :]])


def without(names: str) -> Callable[[str], list[str] | None]:
    """A change that removes lines whose start matches a pattern."""
    return lambda text: [] if re.match(names, text) else None


def without_synchronization_of_cluster(
    names: str = r"barrier\.cluster|fence\.mbarrier_init|mbarrier\.arrive.*cluster",
) -> Callable[[str], list[str] | None]:
    """A change that makes waits for other CTAs always true, and removes lines that match a pattern."""

    def change(text: str) -> list[str] | None:
        wait = _CLUSTER_WAIT.match(text)
        return [f"setp.eq.u32 {wait[1]}, 0, 0;"] if wait else without(names)(text)

    return change


# -- trials

Schedules = Sequence[tuple[str, int]]
"""Mode and seed of each launch."""


@dataclass(frozen=True)
class Trial:
    """Launches of a program, one under each schedule, and which arrays are right afterwards."""

    args: Sequence[Any]
    target: str
    grid: Sequence[int]
    is_right: Callable[[list[Array]], bool]
    schedules: Schedules = (("late", 0), ("early", 0))
    options: Mapping[str, Any] = field(default_factory=dict)
    """Those of the launches: the maximum number of instructions is 60,000 without another one."""

    @stopped_by_findings()
    def finds(self, made: Compiled) -> bool:
        """Whether a launch has a finding, does not end, or has a wrong result."""
        options: dict[str, Any] = {"max_instructions": 60_000, **self.options}
        for mode, seed in self.schedules:
            try:
                arrays, result = launch_ptx(
                    made,
                    self.args,
                    self.target,
                    self.grid,
                    file="mutant.ptx",
                    mode=mode,
                    seed=seed,
                    **options,
                )
            except DiagnosticError:
                return True
            if result.findings or not self.is_right(arrays):
                return True
        return False


def near(place: int, expected: Array, distance: float, element: str = "") -> Callable[[list[Array]], bool]:
    """Whether no element of an array is farther from float64 than `distance`; `element` for types that NumPy lacks."""

    def is_right(arrays: list[Array]) -> bool:
        found = decode(element, arrays[place]) if element else arrays[place].astype(np.float64)
        return bool(np.abs(found.reshape(expected.shape) - expected).max() < distance)

    return is_right


def missed(made: Compiled, changed: Changed, *trials: Trial) -> list[str]:
    """The changes with which every trial says that all is well. A program that two changes make is tried once."""
    assert not any(trial.finds(made) for trial in trials), "the program itself is wrong"
    named = {ptx: what for what, ptx in changed}
    programs = ((what, replace(made, ptx=ptx)) for ptx, what in named.items())
    return [what for what, program in programs if not any(trial.finds(program) for trial in trials)]
