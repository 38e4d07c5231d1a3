#!/usr/bin/env python3
"""Bytecode to cubin as whole processes, beside tileiras: alone, on the resident server, from the compile cache.

    python tools/bench/whole_process.py [--gpu-name sm_90a]... [--runs 7] [--tileiras PATH] [--programs NAME]...

The four commands of a program run in turn, and each ratio (of wall time, of processor time) is the median of the ratios
of the turns, so that other work on the machine changes all of them alike. The processor time on the server is that of
the client, the server and the command.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import ROOT, find, table, tessera

INPUTS = ROOT / "test" / "corpus" / "inputs"
TARGETS = ("sm_80", "sm_90a", "sm_100a")
WAYS = ("alone", "server", "cached")
TIMES = ("wall", "processor")
AIMS = {"alone": "mean 1.0, worst 1.5", "server": "mean 1.0, worst 1.5", "cached": "60 ms"}
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Run:
    """One run of a command: milliseconds of wall time and of processor time."""

    wall: float
    processor: float


class Place:
    """A private cache folder, and the server that belongs to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = 0
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT), "TESSERA_CACHE": str(folder / "cache")}
        # An installed package has its modules compiled.
        for name in ("PYTHONDONTWRITEBYTECODE", "TESSERA_SERVER", "TESSERA_CACHE_LIMIT"):
            self.environment.pop(name, None)

    def run(self, way: str, command: Sequence[str]) -> Run:
        """Run it once. Raises SystemExit with its words when it fails."""
        environment = dict(self.environment)
        if way in ("alone", "server"):
            environment["TESSERA_CACHE_LIMIT"] = "0"
        if way == "server":
            environment["TESSERA_SERVER"] = "1"
        served = self._server_ticks() if way == "server" else 0
        with tempfile.TemporaryFile() as words:
            begin = time.perf_counter()
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                env=environment,
                cwd=self.folder,
            )
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.perf_counter() - begin
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                words.seek(0)
                sys.exit(
                    f"{' '.join(command)}: status {process.returncode}\n{words.read().decode(errors='replace')}"
                )
        processor = usage.ru_utime + usage.ru_stime
        if way == "server":
            processor += (self._server_ticks() - served) / _TICK
        return Run(wall * 1000, processor * 1000)

    def _server_ticks(self) -> int:
        """The processor time of the server and of the commands that have ended."""
        if not self.server:
            return 0
        try:
            words = Path(f"/proc/{self.server}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            sys.exit("the server has ended, as it does when a file of the package changes; measure again")
        return sum(map(int, words[11:15]))  # utime, stime, cutime, cstime: proc(5)

    def start_server(self) -> None:
        """Start the server, and wait until it answers."""
        environment = self.environment | {"TESSERA_SERVER": "1"}
        subprocess.run(
            [*tessera("tessera-opt"), "--version"], env=environment, check=True, stdout=subprocess.DEVNULL
        )
        limit = time.monotonic() + 60
        while time.monotonic() < limit:
            said = self._tools("server-status").split()
            if said and said[-1].isdigit():
                self.server = int(said[-1])
                return
            time.sleep(0.2)
        sys.exit("the server did not start")

    def stop_server(self) -> None:
        """End the server."""
        self._tools("server-stop")

    def _tools(self, what: str) -> str:
        done = subprocess.run(
            [*tessera("tessera-tools"), what],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout


def measure(place: Place, source: Path, gpu: str, tileiras: str | None, runs: int) -> dict[str, list[Run]]:
    """The runs of each way and of tileiras, in turn. One turn before them is not counted."""
    ours = [*tessera("tessera-translate"), "--mlir-to-cubin", f"--gpu-name={gpu}", str(source), "-o"]
    commands = {way: [*ours, str(place.folder / f"{way}.cubin")] for way in WAYS}
    if tileiras:
        output = str(place.folder / "theirs.cubin")
        commands["tileiras"] = [tileiras, f"--gpu-name={gpu.rstrip('a')}", str(source), "-o", output]
    taken: dict[str, list[Run]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, command in commands.items():
            one = place.run(name, command)
            if number:
                taken[name].append(one)
    for way in ("server", "cached"):
        if (place.folder / f"{way}.cubin").read_bytes() != (place.folder / "alone.cubin").read_bytes():
            sys.exit(f"{source.name} for {gpu}: '{way}' gives another cubin")
    return taken


def ratio(ours: Sequence[Run], theirs: Sequence[Run], what: str) -> float:
    """The median of the ratios of the turns."""
    pairs = zip(ours, theirs, strict=True)
    return statistics.median(getattr(one, what) / getattr(other, what) for one, other in pairs)


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
    tileiras = find(options.tileiras, "tileiras")
    rows: list[list[str]] = []
    ratios: dict[tuple[str, str], list[float]] = {(way, time): [] for way in WAYS for time in TIMES}
    hits: list[Run] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        place.start_server()
        try:
            for gpu in options.gpu_name or TARGETS:
                for source in sorted(INPUTS.glob("*.tileirbc")):
                    if options.programs and source.stem not in options.programs:
                        continue
                    taken = measure(place, source, gpu, tileiras, options.runs)
                    row = [source.stem, gpu]
                    for name, samples in taken.items():
                        wall, processor = (
                            statistics.median(getattr(one, what) for one in samples)
                            for what in ("wall", "processor")
                        )
                        row.append(f"{wall:.0f} ({processor:.0f})")
                        if name in WAYS and tileiras:
                            found = [ratio(samples, taken["tileiras"], time) for time in TIMES]
                            for time, one in zip(TIMES, found, strict=True):
                                ratios[name, time].append(one)
                            row.append(" ".join(f"{one:.2f}" for one in found))
                    hits += taken["cached"]
                    rows.append(row)
                    print(" ".join(row), file=sys.stderr, flush=True)
        finally:
            place.stop_server()
    columns = ["program", "GPU"]
    for way in WAYS:
        columns += [way, "ratio"] if tileiras else [way]
    if tileiras:
        columns.append("tileiras")
    table(f"Bytecode to cubin: ms of wall (processor) time, median of {options.runs}", columns, rows)
    for (way, time), found in ratios.items():
        if found:
            mean = math.exp(sum(map(math.log, found)) / len(found))
            print(f"{way}, {time}: geometric mean {mean:.2f}, worst {max(found):.2f} (aim: {AIMS[way]})")
    for time in TIMES:
        print(f"cached, {time}: median {statistics.median(getattr(one, time) for one in hits):.0f} ms")


if __name__ == "__main__":
    main()
