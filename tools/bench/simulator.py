#!/usr/bin/env python3
"""The simulated GPU: a CTA and a whole f16 GEMM, and how the cost grows; the GEMM is `examples/gemm.mlir`'s."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measure import ROOT, table

sys.path.insert(0, str(ROOT))
from tessera_tools.cli.run_input import load_input
from tessera_tools.diagnostics import Sources
from tessera_tools.emit.manifest import Manifest
from tessera_tools.runtime import device
from tessera_tools.runtime.workers import wanted_processes

TILE = 64
DEPTHS = (128, 256, 512, 1024)


@dataclass(frozen=True)
class Run:
    """One launch: warp instructions, seconds, and processes that shared it."""

    instructions: int
    seconds: float
    processes: int

    @property
    def rate(self) -> float:
        return self.instructions / self.seconds


def compile_gemm(source: Path, target: str) -> tuple[str, Manifest]:
    """The PTX of the GEMM for `target`, and its manifest. Raises DiagnosticError."""
    options = {"input": str(source), "gpu_name": target, "device": "sim", "manifest": None}
    loaded = load_input(options, Sources())
    assert isinstance(loaded.code, str) and loaded.manifest is not None
    return loaded.code, loaded.manifest


def multiply(code: tuple[str, Manifest], rows: int, columns: int, depth: int, processes: int) -> Run:
    """Run it once on random matrices; exits if the product is wrong or there is a finding."""
    rng = np.random.default_rng(0)
    left = rng.uniform(-1, 1, (rows, depth)).astype(np.float16)
    right = rng.uniform(-1, 1, (depth, columns)).astype(np.float16)
    gpu = device("sim", processes=processes)
    a, b, d = (gpu.buffer(x) for x in (left, right, np.zeros((rows, columns), np.float16)))
    args = [value for x in (a, b, d) for value in (x, x.shape[0], x.shape[1], x.shape[1], 1)]
    kernel = gpu.load(*code).kernel("gemm")
    result = kernel.launch((-(-rows // TILE), -(-columns // TILE)), args)
    exact = left.astype(np.float64) @ right.astype(np.float64)
    error = np.abs(d.values() - exact).max() / np.abs(exact).max()
    if result.findings or error > 2**-10:
        sys.exit(f"wrong: error {error:.3g}\n{result.findings.text()}")
    return Run(result.instructions, result.seconds, result.processes)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", type=Path, default=ROOT / "examples" / "gemm.mlir")
    parser.add_argument("--gpu-name", default="sm_80")
    parser.add_argument("--size", type=int, default=512, help="M, N and K of the large product (512)")
    parser.add_argument("--processes", type=int, default=wanted_processes())
    options = parser.parse_args()
    code = compile_gemm(options.input, options.gpu_name)
    multiply(code, TILE, TILE, 64, 1)  # imports and caches are warm afterwards
    size = options.size
    runs = {
        f"128x128, K = 512, {(128 // TILE) ** 2} CTAs, 1 process (aim: 10 s)": multiply(
            code, 128, 128, 512, 1
        )
    }
    for processes in sorted({1, options.processes}):
        runs[f"{size}x{size}, K = {size}, {processes} processes"] = multiply(
            code, size, size, size, processes
        )
    rows = [[name, f"{r.instructions:,}", f"{r.seconds:.2f}", f"{r.rate:,.0f}"] for name, r in runs.items()]
    title = f"{options.input.name} for {options.gpu_name} on the simulated GPU, a product each"
    table(title, ["", "warp instructions", "s", "a second"], rows)
    grown = {depth: multiply(code, TILE, TILE, depth, 1) for depth in DEPTHS}
    rows = [
        [str(depth), f"{r.instructions:,}", f"{r.seconds:.3f}", f"{1e6 * r.seconds / r.instructions:.1f}"]
        for depth, r in grown.items()
    ]
    table("One CTA of 64x64, by K: the cost is linear", ["K", "warp instructions", "s", "µs each"], rows)


if __name__ == "__main__":
    main()
