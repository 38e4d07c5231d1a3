#!/usr/bin/env python3
"""The simulated GPU: a CTA and a whole f16 GEMM, and how the cost grows; the GEMM is `examples/gemm.mlir`'s.

    python tools/bench/simulator.py --against=../old-checkout

With `--against`, it runs the kernels of `test/corpus` and a ragged softmax on this tree's simulator and on that of
another checkout, in turn, and prints the ratio of the processor time. Both run the same PTX on the same memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def strided(*arrays: Any) -> list[Any]:
    """The parameters of cuTile arrays: addresses, extents, strides in elements."""
    return [
        value
        for array in arrays
        for value in (array, *array.shape, *(stride // array.itemsize for stride in array.strides))
    ]


def workloads() -> dict[str, tuple[Path, str, list[Any], tuple[int, ...]]]:
    """Name → the source, the target, the arguments and the grid."""
    rng = np.random.default_rng(0)

    def random(dtype: Any, *shape: int) -> Any:
        return rng.standard_normal(shape).astype(dtype)

    half, single, corpus = np.float16, np.float32, ROOT / "test" / "corpus"
    products = [
        strided(random(half, m, k), random(half, k, n), np.zeros((m, n), half))
        for m, n, k in ((256, 512, 512), (256, 256, 256))
    ]
    bias = strided(
        random(half, 256, 128), random(half, 256, 128), random(single, 256, 256), np.zeros((256, 256), single)
    )
    attention = strided(*(random(half, 1, 256, 64) for _ in range(3)), np.zeros((1, 256, 64), half))
    softmax = strided(random(single, 64, 1024), np.zeros((64, 1024), single))
    ragged = strided(random(single, 125, 437), np.zeros((125, 437), single))
    add = strided(random(single, 1 << 17), random(single, 1 << 17), np.zeros(1 << 17, single))
    scale = float(np.log2(np.e) / 8)
    return {
        "row softmax, sm_80": (corpus / "softmax_f32_1024.mlir", "sm_80", softmax, (64,)),
        "ragged softmax, tile dialect, sm_80": (ROOT / "examples" / "softmax.mlir", "sm_80", ragged, (16,)),
        "vector add, sm_80": (corpus / "vector_add_f32.mlir", "sm_80", add, (128,)),
        "attention, cp.async, sm_80": (
            corpus / "attention_causal_f16_d64.mlir",
            "sm_80",
            [*attention, scale],
            (4, 1),
        ),
        "attention, sm_90a": (
            corpus / "attention_causal_f16_d64.mlir",
            "sm_90a",
            [*attention, scale],
            (4, 1),
        ),
        "GEMM 64x64, sm_80": (corpus / "gemm_f16_64x64x32.mlir", "sm_80", products[1], (4, 4)),
        "GEMM 128x128 with bias, sm_120a": (
            corpus / "gemm_nt_bias_f16_128x128x64.mlir",
            "sm_120a",
            bias,
            (2, 2),
        ),
        "GEMM 128x256, TMA and wgmma, sm_90a": (
            corpus / "gemm_f16_128x256x64.mlir",
            "sm_90a",
            products[0],
            (2, 2),
        ),
    }


def record(folder: Path, source: Path, target: str, args: Sequence[Any], grid: tuple[int, ...]) -> None:
    """Compile and launch a kernel once, and write its PTX, its memory and its arguments for `REPLAY`."""
    code, manifest = compile_gemm(source, target)
    gpu = device("sim")
    kernel = gpu.load(code, manifest).kernel(manifest.kernels[0].name)
    launch: dict[str, Any] = {}

    def watch(found: Any) -> None:
        block = found.parameter_block
        launch.update(
            entry=found.entry.name,
            grid=found.grid,
            block=found.block,
            cluster=None if tuple(found.cluster) == (1, 1, 1) else found.cluster,
            shared_bytes=found.dynamic_shared,
            args=[bytes(block.data[p.offset : p.offset + p.size]).hex() for p in found.entry.parameters],
            bases=[region.base for region in found.memory.regions],
        )
        np.savez(folder / "memory.npz", *[region.bytes.copy() for region in found.memory.regions])

    result = kernel.launch(
        grid, [gpu.buffer(x) if isinstance(x, np.ndarray) else x for x in args], watch=watch
    )
    if result.findings:
        sys.exit(f"{source}:\n{result.findings.text()}")
    (folder / "kernel.ptx").write_text(code)
    (folder / "launch.json").write_text(json.dumps(launch))


REPLAY = """
import json, sys, time
import numpy as np
from tessera_tools import sim

for folder in sys.argv[1:]:
    launch, memory = json.load(open(f"{folder}/launch.json")), np.load(f"{folder}/memory.npz")
    entry, bases, args = launch.pop("entry"), launch.pop("bases"), [bytes.fromhex(x) for x in launch.pop("args")]
    taken = []
    for _ in range(3):
        space = sim.Memory()
        if [space.allocate(memory[name]).base for name in memory.files] != bases:
            sys.exit("the other checkout places allocations differently")
        module = sim.load(open(f"{folder}/kernel.ptx").read(), memory=space)
        begin = time.process_time()
        result = module.launch(entry, args=args, **launch)
        taken.append(time.process_time() - begin)
        if result.findings:
            sys.exit(result.findings.text())
    print(min(taken), result.instructions)
"""
"""A program that runs recorded launches and prints the seconds and the instructions of each; it uses only `sim`."""


def compare(other: Path, rounds: int) -> None:
    """Print the time of each workload on this tree and on another checkout."""
    made = workloads()
    with tempfile.TemporaryDirectory() as place:
        folders = [Path(place) / str(number) for number in range(len(made))]
        for folder, workload in zip(folders, made.values(), strict=True):
            folder.mkdir()
            record(folder, *workload)
        best: dict[Path, list[float]] = {}
        counts: list[int] = []
        for _ in range(rounds):
            for tree in (other, ROOT):
                command = [sys.executable, "-c", REPLAY, *map(str, folders)]
                environment = {**os.environ, "PYTHONPATH": str(tree.resolve())}
                done = subprocess.run(
                    command, check=False, env=environment, cwd=tree, capture_output=True, text=True
                )
                if done.returncode:
                    sys.exit(f"{tree}: {done.stderr}")
                lines = [line.split() for line in done.stdout.splitlines()]
                seconds = [float(line[0]) for line in lines]
                counts = [int(line[1]) for line in lines]
                best[tree] = [min(pair) for pair in zip(best.get(tree, seconds), seconds, strict=True)]
    rows = [
        [name, f"{count:,}", f"{1000 * before:.0f}", f"{1000 * now:.0f}", f"{before / now:.1f}"]
        for name, count, before, now in zip(made, counts, best[other], best[ROOT], strict=True)
    ]
    table(
        f"Processor time of a launch, best of {3 * rounds}",
        ["", "warp instructions", f"ms, {other.name}", "ms, this tree", "ratio"],
        rows,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", type=Path, default=ROOT / "examples" / "gemm.mlir")
    parser.add_argument("--gpu-name", default="sm_80")
    parser.add_argument("--size", type=int, default=512, help="M, N and K of the large product (512)")
    parser.add_argument("--processes", type=int, default=wanted_processes())
    parser.add_argument(
        "--against", type=Path, help="another checkout, whose simulator runs the same launches"
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the comparison (3)")
    options = parser.parse_args()
    if options.against is not None:
        compare(options.against, options.rounds)
        return
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
