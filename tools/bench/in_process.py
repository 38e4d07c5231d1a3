#!/usr/bin/env python3
"""Bytecode to cubin in one process with a warm LLVM worker, beside tileiras as a process of its own.

    python tools/bench/in_process.py [--gpu-name sm_90a]... [--runs 7] [--tileiras PATH] [--programs NAME]...

The compilation is `compile(…, cache=False).cubin` of the Python interface. Its processor time is that of this process,
of the LLVM worker and of ptxas; the table has it by part. The two run in turn, and a ratio is the median of the ratios
of the turns, so that other work on the machine changes both alike.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from measure import ROOT, find, table

INPUTS = ROOT / "test" / "corpus" / "inputs"
TARGETS = ("sm_80", "sm_90a", "sm_100a")
AIM = 0.5


class Run(NamedTuple):
    """Milliseconds: wall time, and the processor time of this process, of LLVM and of child processes that ended."""

    wall: float
    own: float
    llvm: float
    children: float

    @property
    def processor(self) -> float:
        return self.own + self.llvm + self.children


def _process_time(pid: int) -> float:
    """The processor time of a process so far, in ms: the scheduler counts nanoseconds, and `stat` 10 ms."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1000


def ours(source: bytes, gpu: str) -> Run:
    """Compile once."""
    from tessera_tools.api.compiling import compile
    from tessera_tools.emit.worker import warm

    worker = warm()._pid
    llvm, children, own, wall = _process_time(worker), _children(), time.process_time(), time.perf_counter()
    made = compile(source, gpu, cache=False)
    assert made.cubin
    wall, own = time.perf_counter() - wall, time.process_time() - own
    return Run(wall * 1000, own * 1000, _process_time(worker) - llvm, _children() - children)


def theirs(command: list[str]) -> Run:
    """Run tileiras once. Raises SystemExit with its words when it fails."""
    begin, wall = _children(), time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - wall
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    return Run(wall * 1000, 0.0, 0.0, _children() - begin)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gpu-name", action="append")
    parser.add_argument("--programs", action="append", help="a program of the corpus; all by default")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--tileiras", help="path of tileiras (default: on PATH)")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    tileiras = find(options.tileiras, "tileiras")
    rows: list[list[str]] = []
    ratios: dict[str, list[float]] = {"wall": [], "processor": []}
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "theirs.cubin")
        for gpu in options.gpu_name or TARGETS:
            for path in sorted(INPUTS.glob("*.tileirbc")):
                if options.programs and path.stem not in options.programs:
                    continue
                source = path.read_bytes()
                command = [tileiras or "", f"--gpu-name={gpu.rstrip('a')}", str(path), "-o", output]
                taken: list[tuple[Run, Run]] = []
                for number in range(options.runs + 1):
                    one = ours(source, gpu), theirs(command) if tileiras else Run(0.0, 0.0, 0.0, 0.0)
                    if number:  # the first one loads modules
                        taken.append(one)
                row = [path.stem, gpu]
                mine = [one for one, _ in taken]
                for name in ("wall", "processor", "own", "llvm", "children"):
                    row.append(f"{statistics.median(getattr(one, name) for one in mine):.0f}")
                if tileiras:
                    for what, found in ratios.items():
                        row.append(f"{statistics.median(getattr(other, what) for _, other in taken):.0f}")
                        found.append(statistics.median(getattr(a, what) / getattr(b, what) for a, b in taken))
                        row.append(f"{found[-1]:.2f}")
                rows.append(row)
                print(" ".join(row), file=sys.stderr, flush=True)
    columns = ["program", "GPU", "wall", "processor", "Python", "LLVM", "ptxas"]
    if tileiras:
        columns += ["tileiras, wall", "ratio", "processor", "ratio"]
    table(f"Bytecode to cubin in process: ms, median of {options.runs}", columns, rows)
    for what, found in ratios.items():
        if found:
            mean = math.exp(sum(map(math.log, found)) / len(found))
            print(f"{what}: geometric mean {mean:.2f}, worst {max(found):.2f} (aim: {AIM})")


if __name__ == "__main__":
    main()
