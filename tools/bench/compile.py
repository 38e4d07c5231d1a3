#!/usr/bin/env python3
"""A GEMM to cubin, whole processes: `tessera-translate` compared with `tileiras`, and the time by stage."""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path

from measure import ROOT, best, find, sample, table, tessera

TIMING = re.compile(r"^\s*(\d+\.\d+)\s+\(\s*\d+\.\d+%\)\s+(.+?)\s*$", re.MULTILINE)
"""A line of MLIR's timing report: seconds, share, what."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--input", type=Path, default=ROOT / "examples" / "gemm.mlir")
    parser.add_argument("--bytecode", type=Path, help="the same program as .tileirbc, for tileiras")
    parser.add_argument("--gpu-name", default="sm_90a")
    parser.add_argument("--tileiras", help="path of tileiras (default: on PATH)")
    parser.add_argument("--ptxas", help="path of ptxas (default: as tessera-translate finds it)")
    options = parser.parse_args()
    tileiras = find(options.tileiras, "tileiras")
    with tempfile.TemporaryDirectory() as folder:
        target = ["--mlir-to-cubin", f"--gpu-name={options.gpu_name}"]
        if options.ptxas:
            target.append(f"--ptxas={options.ptxas}")
        ours = [*tessera("tessera-translate"), *target, str(options.input), "-o", f"{folder}/ours.cubin"]
        commands = {"tessera-translate": ours}
        if tileiras and options.bytecode:
            gpu = options.gpu_name.rstrip("a")
            commands["tileiras"] = [
                tileiras, f"--gpu-name={gpu}", str(options.bytecode), "-o", f"{folder}/theirs.cubin",
            ]  # fmt: skip
        taken = best(commands, options.runs)
        timed = sample([*ours, "--mlir-timing"])
    peer = taken.get("tileiras")
    rows = [
        [name, f"{one.seconds * 1000:.0f}", f"{one.seconds / peer.seconds:.2f}" if peer else ""]
        for name, one in taken.items()
    ]
    table(
        f"{options.input.name} to cubin, best of {options.runs} (aim: ratio 1.0)", ["", "ms", "ratio"], rows
    )
    parts = [(what, float(seconds)) for seconds, what in TIMING.findall(timed.stderr)]
    inside = max((seconds for what, seconds in parts if what == "Total"), default=0.0)
    split = [[what, f"{seconds * 1000:.1f}"] for what, seconds in parts]
    split.append(["start and end of the process", f"{(timed.seconds - inside) * 1000:.1f}"])
    table(f"Time of one run of {timed.seconds * 1000:.0f} ms", ["part", "ms"], split)
    if peer is None:
        print(
            "no ratio: specify --bytecode=FILE.tileirbc, and --tileiras=PATH (pip install nvidia-cuda-tileiras)"
        )


if __name__ == "__main__":
    main()
