#!/usr/bin/env python3
"""Measures a pack of gpu_pack.py on this machine's GPU, and compares it with tileiras, torch and Triton.

    python FOLDER/gpu_run.py [--output results.json] [--only REGEX] [--seconds 0.3] [--resume]

Every result is checked before it is timed: rows of each tile against float64, and everything against torch where it is
installed. The contenders of a case then run in turn, each with a cold L2 cache. The file of results has every time; it
is written after each case. A kernel that crashes takes the process with it: --resume goes on behind it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if (HERE / "tessera_tools.zip").exists():
    sys.path.insert(0, str(HERE / "tessera_tools.zip"))
sys.path.insert(0, str(HERE))
if importlib.util.find_spec("numpy") is None:
    sys.exit("error: gpu_run.py needs NumPy, which torch does not always install: pip install numpy")

from gpu_cases import CASES, Array, Case, Index, difference, expected_of  # noqa: E402
from gpu_device import Gpu, Memory, check_test, median, optional  # noqa: E402

CRASHED = 3
"""Exit status: a kernel crashed, and --resume goes on."""
OURS, THEIRS = "ours", "tileiras"
COPY = "copy"
"""The driver's copy of as many bytes."""
FOLDERS = {OURS: "ours", THEIRS: "theirs"}
BANDWIDTH = (
    "softmax", "layer_norm", "rms_norm", "cross_entropy", "gather_rows", "column_sum", "row_sum", "row_scan",
    "copy", "vector_add", "transpose",
)  # fmt: skip
"""Families whose limit is the memory."""


class Crash(Exception):
    """A contender left the GPU unusable for this process."""


class Session:
    """One run: the pack, the GPU, the results so far."""

    def __init__(self, folder: Path, output: Path, seconds: float, seed: int, resume: bool) -> None:
        self.folder = folder
        self.output = output
        self.seconds = seconds
        self.seed = seed
        self.pack = json.loads((folder / "pack.json").read_text())
        self.gpu = Gpu()
        self.results: dict[str, Any] = self._head()
        if resume and output.exists():
            earlier = json.loads(output.read_text())
            self.results["cases"], self.results["tests"] = earlier["cases"], earlier["tests"]

    def _head(self) -> dict[str, Any]:
        torch, triton = self.gpu.torch, optional("triton")
        return {
            "format": 1,
            "device": self.gpu.name,
            "capability": self.gpu.capability,
            "driver": self.gpu.driver_version,
            "date": datetime.now(UTC).date().isoformat(),
            "torch": getattr(torch, "__version__", ""),
            "triton": getattr(triton, "__version__", ""),
            "pack": {name: self.pack[name] for name in ("gpu", "commit", "tileiras")},
            "seed": self.seed,
            "cases": {},
            "tests": {},
        }

    def fits(self) -> str:
        """Why the pack is not for this GPU; empty if it is."""
        wanted = int("".join(c for c in self.pack["gpu"] if c.isdigit()))
        if wanted == self.gpu.capability:
            return ""
        return (
            f"the pack is for {self.pack['gpu']}, and this GPU, {self.gpu.name}, is sm_{self.gpu.capability}"
        )

    def save(self) -> None:
        """Write the results: completely, or not at all."""
        part = self.output.with_suffix(".part")
        part.write_text(json.dumps(self.results, indent=1))
        os.replace(part, self.output)

    # -- one case

    def case(self, case: Case) -> None:
        """Check and measure the contenders of a case."""
        record: dict[str, Any] = self.results["cases"].setdefault(case.name, {"contenders": {}})
        if record.get("done"):
            return
        record |= {"family": case.family, "flops": case.flops, "bytes": case.nbytes}
        if case.name in self.pack["estimates"]:
            record["estimate"] = self.pack["estimates"][case.name]
        memory = Memory.of(self.gpu, case, self.seed)
        expected = expected_of(case, memory.float64, self.seed)
        works: dict[str, Callable[[], Any]] = {}
        for name, prepare in self._contenders(case, memory).items():
            found = record["contenders"].get(name, {})
            if found.get("outcome") == "crashed":
                continue
            record["contenders"][name] = {"outcome": "crashed"}
            self.save()  # so that --resume knows, if the next line ends the process
            record["contenders"][name], work = self._checked(case, memory, prepare, expected)
            if work is not None:
                works[name] = work
        if case.family in BANDWIDTH:
            works[COPY] = self.gpu.copy_work(case.nbytes)
            record["contenders"][COPY] = {"outcome": "measured"}
        if works:
            before = self.gpu.clocks()
            for name, times in self.gpu.times(works, self.seconds).items():
                record["contenders"][name]["times_us"] = times
            record["clocks"] = [before, self.gpu.clocks()]
        record["done"] = True
        self.save()

    def _contenders(self, case: Case, memory: Memory) -> dict[str, Callable[[], Callable[[], Any]]]:
        """Name → what prepares it."""

        def own(who: str) -> Callable[[], Callable[[], Any]]:
            def prepare() -> Callable[[], Any]:
                kernel = self.gpu.kernel(self.folder / FOLDERS[who], case.program)
                return kernel.prepare(case.grid, case.arguments(memory.address))

            return prepare

        made = self.pack["programs"].get(case.program, {})
        found = {who: own(who) for who, folder in FOLDERS.items() if made.get(folder) == ""}
        if self.gpu.torch is not None:
            from gpu_peers import peers

            found |= peers(case, memory.tensors)
        return found

    def _checked(
        self,
        case: Case,
        memory: Memory,
        prepare: Callable[[], Callable[[], Any]],
        expected: tuple[Index, Array],
    ) -> tuple[dict[str, Any], Callable[[], Any] | None]:
        """The outcome of one launch, and what is to be timed if it is right."""
        output = case.output.name
        memory.spoil(output)
        try:
            work = prepare()
            work()
            if self.gpu.torch is not None:
                from gpu_peers import deliver

                deliver(work)
            self.gpu.synchronize()
            error, allowed = difference(case, memory.float64(output), expected)
        except Exception as failure:
            what = " ".join(str(failure).split())[:300] or type(failure).__name__
            if not self.gpu.works():
                raise Crash(what) from None
            return {"outcome": "refused", "why": what}, None
        found: dict[str, Any] = {"outcome": "measured", "error": error, "allowed": allowed}
        if not error <= allowed:
            return {**found, "outcome": "wrong"}, None
        apart = self._apart(case, memory)
        if apart is not None:
            found["from_torch"] = apart
            if not apart <= 2 * allowed + 1e-30:
                return {**found, "outcome": "wrong"}, None
        return found, work

    def _apart(self, case: Case, memory: Memory) -> float | None:
        """The greatest difference of the whole output from torch's, computed once for a case; None without torch."""
        if self.gpu.torch is None:
            return None
        from gpu_peers import deliver, peers

        output = memory.tensors[case.output.name]
        key = f"torch's {case.output.name}"
        found = output.clone()
        if key not in memory.tensors:
            for prepare in peers(case, memory.tensors).values():
                try:
                    work = prepare()
                    work()
                    deliver(work)
                except Exception:  # a backend that this machine lacks
                    continue
                memory.tensors[key] = output.clone()
                break
            output.copy_(found)
        if key not in memory.tensors:
            return None
        apart = (found.float() - memory.tensors[key].float()).abs().max().item()
        return math.inf if math.isnan(apart) else apart

    # -- tests

    def test(self, name: str) -> None:
        """A kernel of test/corpus or test/cutile, by both compilers: checked, then timed in turn."""
        record: dict[str, Any] = self.results["tests"].setdefault(name, {})
        if record.get("clocks"):
            return
        works: dict[str, Callable[[], Any]] = {}
        for who, folder in FOLDERS.items():
            why = self.pack["programs"].get(f"test_{name}", {}).get(folder, "it is not in the pack")
            if record.get(who, {}).get("outcome") == "crashed":
                continue
            if why:
                record[who] = {"outcome": "refused", "why": why}
                continue
            record[who] = {"outcome": "crashed"}
            self.save()
            try:
                record[who], work = check_test(self.gpu, self.folder, folder, name)
                if work is not None:
                    works[who] = work
            except Exception as failure:
                what = " ".join(str(failure).split())[:300] or type(failure).__name__
                if not self.gpu.works():
                    raise Crash(what) from None
                record[who] = {"outcome": "refused", "why": what}
        before = self.gpu.clocks()
        for who, times in (self.gpu.times(works, 0.02 * len(works)) if works else {}).items():
            record[who]["times_us"] = times
        record["clocks"] = [before, self.gpu.clocks()]
        self.save()


# -- the table


def rate(record: Mapping[str, Any], microseconds: float) -> str:
    """TFLOP/s, or the share of the bandwidth of a copy."""
    if record["flops"]:
        return f"{record['flops'] / microseconds / 1e6:.0f} TFLOP/s"
    copied = record["contenders"].get(COPY, {}).get("times_us")
    if not copied:
        return f"{record['bytes'] / microseconds / 1e3:.0f} GB/s"
    return f"{median(copied) / microseconds:.0%} of a copy"


def rows(results: Mapping[str, Any]) -> list[list[str]]:
    """Case, our time and rate, the time of each other contender relative to ours, the clock's estimate."""
    found: list[list[str]] = []
    for name, record in results["cases"].items():
        ours = record["contenders"].get(OURS, {})
        mine = median(ours["times_us"]) if ours.get("times_us") else None
        others: list[str] = []
        for other, one in record["contenders"].items():
            if other in (OURS, COPY):
                continue
            if one.get("times_us") and mine:
                others.append(f"{other} {median(one['times_us']) / mine:.2f}")
            elif one.get("times_us"):
                others.append(f"{other} {median(one['times_us']):.1f} µs")
            else:
                others.append(f"{other} {one['outcome']}")
        estimate = record.get("estimate", {}).get("us")
        clock = f"{estimate:.1f}" if estimate else "–"
        if estimate and mine:
            clock += f" ({estimate / mine - 1:+.0%})"
        found.append(
            [
                name,
                f"{mine:.1f}" if mine else ours.get("outcome", "missing"),
                rate(record, mine) if mine else "",
                ", ".join(others),
                clock,
            ]
        )
    return found


HEADS = ("case", "ours, µs", "rate", "time of others / ours", "clock, µs (error)")


def test_counts(results: Mapping[str, Any]) -> str:
    """One sentence on the test kernels."""
    tests = results["tests"]
    ratios: list[float] = []
    for one in tests.values():
        times = [one.get(who, {}).get("times_us") for who in FOLDERS]
        if all(times):
            ratios.append(median(times[1]) / median(times[0]))
    right = {
        who: sum(one.get(who, {}).get("outcome") == "measured" for one in tests.values()) for who in FOLDERS
    }
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 0.0
    told = f"{len(tests)} test kernels: {right[OURS]} of ours and {right[THEIRS]} of tileiras's are right"
    return f"{told}; geometric mean of tileiras's time / ours: {mean:.2f}" if ratios else told


TEST_HEADS = ("test kernel", "ours, µs", "time of tileiras / ours")


def test_rows(results: Mapping[str, Any]) -> list[list[str]]:
    """Test kernel, our time, that of tileiras relative to ours."""
    found: list[list[str]] = []
    for name, record in results["tests"].items():
        ours, theirs = (record.get(who, {"outcome": "missing"}) for who in FOLDERS)
        mine = median(ours["times_us"]) if ours.get("times_us") else None
        other = theirs["outcome"]
        if theirs.get("times_us"):
            other = (
                f"{median(theirs['times_us']) / mine:.2f}" if mine else f"{median(theirs['times_us']):.1f} µs"
            )
        found.append([name, f"{mine:.1f}" if mine else ours["outcome"], other])
    return found


def show(results: Mapping[str, Any]) -> None:
    """Print the tables."""
    print(f"{results['device']}, {results['date']}, medians with a cold L2 cache")
    for heads, found in ((HEADS, rows(results)), (TEST_HEADS, test_rows(results))):
        table = [list(heads), *found]
        widths = [max(len(row[column]) for row in table) for column in range(len(heads))]
        for row in table if found else ():
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if results["tests"]:
        print(test_counts(results))


def main(argv: list[str] | None = None) -> int:
    """Measure, and print a table; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=HERE, help="the pack (the script's folder)")
    parser.add_argument("--output", type=Path, default=Path("results.json"), help="the file of results")
    parser.add_argument(
        "--only", default="", help="measure the cases and tests whose name contains this regex"
    )
    parser.add_argument("--seconds", type=float, default=0.3, help="GPU time for each case (0.3)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the inputs")
    parser.add_argument("--resume", action="store_true", help="go on with the file of results")
    options = parser.parse_args(argv)
    if not (options.folder / "pack.json").exists():
        parser.error(f"{options.folder} is not a pack: it has no pack.json; make one with gpu_pack.py")
    try:
        wanted = re.compile(options.only).search
    except re.error as failure:
        parser.error(f"--only: {failure}")
    from tessera_tools.diagnostics import DiagnosticError

    try:
        session = Session(options.folder, options.output, options.seconds, options.seed, options.resume)
    except DiagnosticError as failure:
        print(f"nothing is measured: {failure.diagnostics[0].message}")
        return 0
    if why := session.fits():
        print(f"error: {why}", file=sys.stderr)
        return 1
    known = set(session.pack["cases"])
    try:
        for case in CASES:
            if case.name in known and wanted(case.name):
                print(f"{case.name} …", file=sys.stderr, flush=True)
                session.case(case)
        for name, why in session.pack["tests"].items():
            if not why and wanted(f"test {name}"):
                session.test(name)
    except Crash as crash:
        session.save()
        print(f"error: a kernel crashed: {crash}; run again with --resume to go on", file=sys.stderr)
        return CRASHED
    session.save()
    show(session.results)
    print(f"written to {options.output}")
    bad = [name for name, one in session.results["cases"].items() if wrong(one)]
    bad += [name for name, one in session.results["tests"].items() if wrong({"contenders": one})]
    for name in bad:
        print(f"error: ours is wrong or crashes: {name}", file=sys.stderr)
    return 1 if bad else 0


def wrong(record: Mapping[str, Any]) -> bool:
    """Whether our kernel gave a wrong result, or none."""
    return record["contenders"].get(OURS, {}).get("outcome") in ("wrong", "crashed")


if __name__ == "__main__":
    sys.exit(main())
