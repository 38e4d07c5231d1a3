#!/usr/bin/env python3
"""Reading, verifying and printing N `arith.addf` ops: growth of `tessera-opt`, ratio to `xdsl-opt`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from measure import best, find, table, tessera

SIZES = [1_000, 10_000, 100_000]
COMPARED = 10_000
"""The size at which both programs run."""


def write_ops(path: Path, count: int) -> None:
    """A function with `count` additions, each using the one before it."""
    lines = ["func.func @f(%v0: f32) -> f32 {"]
    lines += [f"  %v{i} = arith.addf %v{i - 1}, %v0 : f32" for i in range(1, count + 1)]
    lines += [f"  func.return %v{count} : f32", "}", ""]
    path.write_text("\n".join(lines))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--xdsl-opt", help="path of xdsl-opt (default: on PATH)")
    options = parser.parse_args()
    xdsl = find(options.xdsl_opt, "xdsl-opt")
    with tempfile.TemporaryDirectory() as folder:
        commands: dict[str, list[str]] = {}
        for count in SIZES:
            path = Path(folder) / f"{count}.mlir"
            write_ops(path, count)
            commands[f"tessera-opt, {count} ops"] = [*tessera("tessera-opt"), str(path)]
            if xdsl and count == COMPARED:
                commands[f"xdsl-opt, {count} ops"] = [xdsl, str(path)]
        taken = best(commands, options.runs)
    peer = taken.get(f"xdsl-opt, {COMPARED} ops")
    rows: list[list[str]] = []
    for name, one in taken.items():
        count = int(name.split()[1])
        ratio = f"{one.seconds / peer.seconds:.2f}" if peer and count == COMPARED else ""
        per_op = f"{one.seconds / count * 1e6:.1f}"
        rows.append([name, f"{one.seconds:.2f}", per_op, f"{one.peak_mib:.0f}", ratio])
    title = f"Read, verify, print; best of {options.runs} (aim: ratio 0.5, 400 MiB at {SIZES[-1]} ops)"
    table(title, ["command", "s", "µs an op", "peak MiB", "ratio"], rows)
    small, large = (taken[f"tessera-opt, {count} ops"] for count in SIZES[-2:])
    print(f"{SIZES[-1]} ops take {large.seconds / small.seconds:.1f} × the time of {SIZES[-2]} (linear: 10)")
    if not xdsl:
        print("no ratio: xdsl-opt was not found; pip install xdsl, or specify --xdsl-opt=PATH")


if __name__ == "__main__":
    main()
