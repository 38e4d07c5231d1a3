#!/usr/bin/env python3
"""The programs of the corpus: the contents of our cubins compared with those of tileiras. For times: whole_process.py.

    python tools/bench/corpus.py [--gpu-name sm_90a] [--tileiras PATH]

Static figures of both cubins come from SASS: instructions, registers, bytes an access of global memory, tensor core and
shared-memory instructions, barriers. Shared memory and spills of ours are ptxas's; bank conflicts and sectors a request
are counted by the simulated GPU on a launch of one or a few tile blocks.
"""

from __future__ import annotations

import argparse
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measure import ROOT, find, sample, table, tessera

CORPUS = ROOT / "test" / "corpus"


def sections(cubin: bytes) -> Iterator[tuple[str, int, int]]:
    """Name, start and length of each section of the cubin's ELF."""
    offset = struct.unpack_from("<Q", cubin, 40)[0]
    size, count, names_index = struct.unpack_from("<HHH", cubin, 58)
    names = struct.unpack_from("<Q", cubin, offset + size * names_index + 24)[0]
    for index in range(count):
        name, _, _, _, start, length = struct.unpack_from("<IIQQQQ", cubin, offset + size * index)
        yield cubin[names + name : cubin.index(0, names + name)].decode(), start, length


def registers_of(cubin: bytes) -> int:
    """Registers a thread: the greatest EIATTR_REGCOUNT (0x2f) in the section `.nv.info` of the cubin's ELF."""
    found = [0]
    for name, start, length in sections(cubin):
        if name != ".nv.info":
            continue
        at = start
        while at < start + length:
            form, attribute, value = struct.unpack_from("<BBH", cubin, at)
            at += 4
            if form == 4:  # a length, followed by that many bytes
                if attribute == 0x2F:
                    found.append(struct.unpack_from("<II", cubin, at)[1])
                at += value
    return max(found)


def static_shared_of(cubin: bytes) -> int:
    """Bytes of shared memory that a kernel declares, with the 1 KiB that the system reserves from sm_90 on.

    The largest section `.nv.shared.` of the cubin's ELF.
    """
    return max(
        (length for name, _, length in sections(cubin) if name.startswith(".nv.shared.")),
        default=0,
    )


def static_figures(sass: str) -> dict[str, str]:
    """Counts of instructions in the SASS of one kernel."""
    from tessera_tools.emit.sass import opcodes

    plain, full = opcodes(sass), opcodes(sass, modifiers=True)
    accesses: Counter[int] = Counter()
    for name, number in full.items():
        if name.split(".")[0] in ("LDG", "STG", "LDGSTS"):
            width = re.search(r"\.(64|128)(\.|$)", name)
            small = re.search(r"\.[US](8|16)(\.|$)", name)
            bits = int(width[1]) if width else int(small[1]) if small else 32
            accesses[bits // 8] += number
    total = sum(accesses.values())
    mean = sum(size * number for size, number in accesses.items()) / total if total else 0.0
    tensor = sum(
        n for name, n in plain.items() if name in ("HMMA", "IMMA", "DMMA", "QMMA", "HGMMA", "UTCHMMA")
    )
    shared = sum(n for name, n in plain.items() if name in ("LDS", "STS", "LDSM", "STSM"))
    tma = sum(n for name, n in plain.items() if name.startswith(("UTMA", "UBLKCP")))
    return {
        "instructions": str(sum(plain.values())),
        "tensor": str(tensor),
        "global": f"{total} of {mean:.1f} B" + (f", {tma} TMA" if tma else ""),
        "shared": str(shared),
        "barriers": str(plain.get("BAR", 0)),
        "local": str(plain.get("LDL", 0) + plain.get("STL", 0)),
    }


def counters(name: str, gpu: str) -> Any:
    """The counters of the simulated GPU for a small launch of a program of the corpus."""
    sys.path[:0] = [str(ROOT / "test"), str(ROOT / "test" / "corpus")]
    import contextlib
    import io

    import numpy as np
    import test_results  # pyright: ignore[reportMissingImports]
    from programs import launch

    args, grid, _, _ = test_results.CASES[name](np.random.default_rng(0), False)
    with contextlib.redirect_stdout(io.StringIO()):
        text = (CORPUS / f"{name}.mlir").read_text()
        _, result = launch(text, *args, target=gpu, grid=grid, stats=True)
    return result.stats


def simulated(name: str, gpu: str) -> tuple[str, str]:
    """(bank conflicts, sectors a request) of a small launch."""
    stats = counters(name, gpu)
    conflicts = sum(stats.wavefronts.values()) - sum(stats.ideal_wavefronts.values())
    requests = sum(stats.requests.values())
    return str(conflicts), f"{sum(stats.sectors.values()) / requests:.1f}" if requests else "-"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gpu-name", default="sm_90a")
    parser.add_argument("--tileiras", help="path of tileiras (default: on PATH)")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from tessera_tools.emit.sass import Nvdisasm

    tileiras = find(options.tileiras, "tileiras")
    disassembler = Nvdisasm.find()
    gpu = options.gpu_name
    figures: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(CORPUS.glob("*.mlir")):
            name = path.stem
            bytecode = f"{folder}/{name}.tileirbc"
            writer = [*tessera("tessera-translate"), "--mlir-to-cudatilebc", str(path), "-o", bytecode]
            subprocess.run(writer, check=True, timeout=60)
            ours = [
                *tessera("tessera-translate"), "--mlir-to-cubin", f"--gpu-name={gpu}", bytecode,
                "-o", f"{folder}/ours.cubin",
            ]  # fmt: skip
            commands = {"ours": ours}
            if tileiras:
                commands["theirs"] = [
                    tileiras, f"--gpu-name={gpu.rstrip('a')}", bytecode, "-o", f"{folder}/theirs.cubin",
                ]  # fmt: skip
            for command in commands.values():
                sample(command)
            conflicts, sectors = simulated(name, gpu)
            for who in commands:
                cubin = Path(f"{folder}/{who}.cubin").read_bytes()
                row = static_figures(disassembler.disassemble(cubin))
                own = who == "ours"
                figures.append(
                    [
                        name if own else "  by tileiras", str(registers_of(cubin)), *row.values(),
                        conflicts if own else "", sectors if own else "",
                    ]
                )  # fmt: skip
    table(
        f"Contents of the cubins for {gpu}",
        [
            "", "registers", "instructions", "tensor core", "global accesses", "shared accesses", "barriers",
            "local accesses", "bank conflicts", "sectors a request",
        ],
        figures,
    )  # fmt: skip


if __name__ == "__main__":
    main()
