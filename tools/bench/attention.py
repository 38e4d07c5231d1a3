#!/usr/bin/env python3
"""Compares handwritten attention with attention as tiles: `examples/attention*.mlir` (the `tile` dialect), and the
programs of the corpus, compiled by us and by tileiras.

    python tools/bench/attention.py [--gpu-name sm_90a] [--tileiras PATH]

Registers, tensor core and local accesses are counted in the cubins' SASS; shared memory and spills are ptxas's.  The
share of tensor-core instructions among those that a warp executes, and bank conflicts, are counted by the simulated GPU
on one small launch: there are none for tileiras, whose SASS cannot be simulated.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from corpus import CORPUS, counters, registers_of, static_figures
from measure import ROOT, find, table, tessera

EXAMPLES = ("attention", "attention_causal", "flash_attention_listing", "gemm_tile")
PROGRAMS = ("attention_causal_f16_d64", "attention_causal_bf16_d128")
KEYS = 256


def counted(stats: Any) -> tuple[str, str]:
    """(share of tensor-core instructions, bank conflicts) of a launch."""
    total = sum(stats.instructions.values())
    tensor = sum(n for name, n in stats.instructions.items() if name in ("mma", "wgmma", "tcgen05"))
    conflicts = sum(stats.wavefronts.values()) - sum(stats.ideal_wavefronts.values())
    return f"{100 * tensor / total:.1f} %", str(conflicts)


def counters_of_example(name: str, gpu: str) -> Any:
    """The counters of the simulated GPU for a launch of an example, on random numbers."""
    import numpy as np
    from programs import empty, random
    from tile.kernels import example, launch, strided

    rng = np.random.default_rng(0)
    if name == "gemm_tile":
        arrays = [
            random("f16", (KEYS, KEYS), rng),
            random("f16", (KEYS, KEYS), rng),
            empty("f32", (KEYS, KEYS)),
        ]
        grid = (KEYS // 128, KEYS // 128)
    else:
        shape = (1, 1, KEYS, 64)
        arrays = [*(random("bf16", shape, rng) for _ in range(3)), empty("bf16", shape)]
        grid = (KEYS // (128 if "listing" in name else 64),)
    args = [x for array in arrays for x in strided(array)]
    return launch(example(name), *args, target=gpu, grid=grid, stats=True)[1].stats


def main() -> None:
    """Compile, count and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gpu-name", default="sm_90a")
    parser.add_argument("--tileiras", help="path of tileiras (default: on PATH)")
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "test"), str(CORPUS)]
    from tessera_tools.emit.sass import Nvdisasm

    gpu, tileiras, disassembler = options.gpu_name, find(options.tileiras, "tileiras"), Nvdisasm.find()
    rows: list[list[str]] = []

    def add(label: str, cubin: Path, messages: str, dynamic: tuple[str, str]) -> None:
        data = cubin.read_bytes()
        figures = static_figures(disassembler.disassemble(data))
        rows.append(
            [
                label, str(registers_of(data)), *resources(messages), figures["instructions"], figures["tensor"],
                figures["local"], *dynamic,
            ]
        )  # fmt: skip

    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder, "ours.cubin"), Path(folder, "theirs.cubin")
        for name in (*EXAMPLES, *PROGRAMS):
            by_hand = name in EXAMPLES
            source = (ROOT / "examples" if by_hand else CORPUS) / f"{name}.mlir"
            command = [
                *tessera("tessera-translate"),
                "--mlir-to-cubin",
                f"--gpu-name={gpu}",
                "--resource-usage",
            ]
            command += ["--implicit-index-constants"] if by_hand else []
            done = subprocess.run(
                [*command, str(source), "-o", str(ours)],
                capture_output=True,
                text=True,
                check=True,
                timeout=120,
            )
            with contextlib.redirect_stdout(io.StringIO()):
                found = counters_of_example(name, gpu) if by_hand else counters(name, gpu)
            add(name, ours, done.stdout + done.stderr, counted(found))
            if by_hand or not tileiras:
                continue
            bytecode = f"{folder}/{name}.tileirbc"
            writer = [*tessera("tessera-translate"), "--mlir-to-cudatilebc", str(source), "-o", bytecode]
            subprocess.run(writer, check=True, timeout=60)
            subprocess.run(
                [tileiras, f"--gpu-name={gpu.rstrip('a')}", bytecode, "-o", str(theirs)],
                check=True,
                timeout=120,
            )
            add("  by tileiras", theirs, "", ("", ""))
    table(
        f"Attention and a GEMM for {gpu}",
        [
            "", "registers", "shared bytes", "spilled bytes", "instructions", "tensor core", "local accesses",
            "tensor core, dynamic", "bank conflicts",
        ],
        rows,
    )  # fmt: skip


def resources(messages: str) -> tuple[str, str]:
    """(shared bytes, spilled bytes) from the output of --resource-usage, if any."""
    shared = re.search(r"(\d+) bytes smem", messages)
    spilled = re.search(r"(\d+) bytes spill", messages)
    return shared[1] if shared else "", spilled[1] if spilled else ("0" if messages else "")


if __name__ == "__main__":
    main()
