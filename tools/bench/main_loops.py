#!/usr/bin/env python3
"""The loop of products of the corpus in SASS, compiled by us and by tileiras: what a warp has of it.

    python tools/bench/main_loops.py [--gpu-name sm_90a] [--tileiras PATH]

Instructions are those of the shortest way round, past what is seldom needed, and in parentheses all of the loop where
that differs.  Waits are those for products, barrier operations those of mbarriers and named barriers.  Registers are
those of a thread at launch; shared memory is what the launch requests, in bytes; of tileiras, what its
cubin declares, with the 1 KiB that the system reserves.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from corpus import CORPUS, registers_of, static_shared_of
from measure import ROOT, find, table, tessera

COLUMNS = (
    "", "instructions", "tensor core", "waits per product", "barrier operations", "local accesses", "registers",
    "shared memory",
)  # fmt: skip
TENSOR = ("HGMMA", "HMMA", "IMMA", "QMMA", "IGMMA", "QGMMA")


def row(name: str, cubin: Path) -> list[str] | None:
    """The figures of the loop with the most products; None if the kernel has none."""
    from pipelines.main_loops import main_loops

    from tessera_tools.emit.sass import Nvdisasm

    content = cubin.read_bytes()
    loops = main_loops(Nvdisasm.find().disassemble(content), TENSOR)
    if not loops:
        return None
    # A branch back from where a wait tries again looks like the end of a longer loop, which no way goes around.
    loop = max(loops, key=lambda one: (one.shortest is not None, one.count(*TENSOR), -one.length))
    products = loop.count(*TENSOR)
    executed = loop.shortest or loop.length
    waits = loop.count("WARPGROUP.DEPBAR")
    return [
        name,
        str(executed) + (f" ({loop.length})" if loop.length != executed else ""),
        str(products),
        f"{waits / products:.2f}",
        str(loop.count("SYNCS", "BAR")),
        str(loop.count("LDL", "STL")),
        str(registers_of(content)),
        shared(cubin),
    ]


def shared(cubin: Path) -> str:
    """The bytes of shared memory of a launch, static and dynamic; of a cubin without a manifest, what it declares."""
    manifest = cubin.with_suffix(".json")
    if not manifest.is_file():
        return str(static_shared_of(cubin.read_bytes()))
    kernels = json.loads(manifest.read_text())["kernels"]
    return str(max(kernel["static_shared"] + kernel["dynamic_shared"] for kernel in kernels))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gpu-name", default="sm_90a")
    parser.add_argument("--tileiras", help="path of tileiras (default: on PATH)")
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "test")]
    tileiras, gpu = find(options.tileiras, "tileiras"), options.gpu_name
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(CORPUS.glob("*.mlir")):
            bytecode, ours, theirs = (
                Path(folder, name) for name in ("in.tileirbc", "ours.cubin", "theirs.cubin")
            )
            command = [*tessera("tessera-translate"), "--mlir-to-cudatilebc", str(path), "-o", str(bytecode)]
            subprocess.run(command, check=True, timeout=60)
            command = [*tessera("tessera-translate"), "--mlir-to-cubin", f"--gpu-name={gpu}", str(bytecode)]
            subprocess.run([*command, "-o", str(ours)], check=True, timeout=300)
            found = [row(path.stem, ours)]
            if tileiras:
                command = [tileiras, f"--gpu-name={gpu.rstrip('a')}", str(bytecode), "-o", str(theirs)]
                subprocess.run(command, check=True, timeout=300)
                found.append(row("  by tileiras", theirs))
            rows += [one for one in found if one is not None]
    table(f"The loop of products for {gpu}, for one warp", list(COLUMNS), rows)


if __name__ == "__main__":
    main()
