#!/usr/bin/env python3
"""The products of the corpus by tcgen05, compiled by us and by tileiras: what their SASS has; writes docs/tcgen05.md.

    python tools/bench/tensor_memory.py [--tileiras PATH]

The counts are of instructions in the cubin, not of executed ones.  Columns of tensor memory are those of the
allocation.  A program of the corpus is the same for both: bytecode for tileiras, the text for us.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from corpus import CORPUS, registers_of
from measure import ROOT, find, tessera

PAGE = ROOT / "docs" / "tcgen05.md"
PROGRAMS = (
    "gemm_f16_64x64x32",
    "gemm_nt_bias_f16_128x128x64",
    "gemm_f16_128x256x64",
    "attention_causal_f16_d64",
    "attention_causal_bf16_d128",
    "gemm_nvfp4_128x256x256",
    "gemm_nvfp4_atoms_128x256x256",
)
OTHERS = Path(__file__).parent / "programs"
"""Programs that are not of the corpus."""
BYTECODE = "13.3"
"""The version that has all of their types."""
PAIRS = ("gemm_f16_128x256x64",)
"""Programs that are also compiled for pairs of CTAs."""
COLUMNS = {
    "products": ("UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA"),
    "copies": ("UTCCP",),
    "loads": ("LDTM",),
    "stores": ("STTM",),
    "commits": ("UTCBAR",),
    "waits": ("SYNCS.PHASECHK",),
    "TMA loads": ("UTMALDG",),
    "TMA stores": ("UTMASTG",),
    "mma.sync": ("HMMA", "IMMA", "QMMA"),
}
"""What is counted, by the beginnings of opcodes."""
LOOPS = {
    "TMA step": ("UTMALDG",),
    "MMA step": COLUMNS["products"],
    "sums step": ("LDTM",),
}
"""Loops whose instructions are counted, by what they hold."""
UNIT = 32
"""Columns of tensor memory that an allocation counts in SASS."""
HEAD = """<!-- Made by tools/bench/tensor_memory.py; do not edit. -->
# Tensor memory in the code of sm_100a

The products of the corpus, and of two more programs (tools/bench/programs), as they stand in the cubins of this
compiler and of tileiras {version}, both for sm_100. The figures are counts of instructions in SASS: products
(`UTC…MMA`), copies of scales to tensor memory (`UTCCP`), loads and stores of it (`LDTM`, `STTM`), commits (`UTCBAR`),
waits for mbarriers, TMA, and `mma.sync` beside them. `columns` are those of the allocation of tensor memory. The
products of nvfp4 have scales of e4m3 for blocks of 16, which lie by rows, or in atoms of 128 rows of four blocks.
A step is the shortest way around the innermost loop, along K or over the keys, that holds TMA loads, products, or loads
of sums: so many instructions a warp of that kind executes, and `-` is no such loop (the sums of a GEMM are read after
it). `ours, a pair` is the kernel with `--cluster=blocks:2x1`, two CTAs of which multiply together. The counts say how a
kernel is built, not how fast it is: nothing has been measured on such a GPU. Of our `instructions`, seven to thirteen
prefetch the tensor maps at the start, three for each (`UTMACCTL.PF` and its address).

`python tools/bench/tensor_memory.py` makes this page.

"""


def figures(sass: str, registers: int) -> list[str]:
    """The cells of a cubin."""
    from tessera_tools.emit.sass import opcodes

    counted = opcodes(sass, modifiers=True)
    cells = [
        str(sum(n for name, n in counted.items() if name.startswith(words))) for words in COLUMNS.values()
    ]
    return [*cells, *steps(sass), str(columns(sass)), str(sum(counted.values())), str(registers)]


def steps(sass: str) -> list[str]:
    """What a warp executes in a step of each of the loops; of several, of the one that holds most."""
    from pipelines.main_loops import main_loops

    cells: list[str] = []
    for words in LOOPS.values():
        found = [loop for loop in main_loops(sass, words) if loop.shortest is not None]
        most = max((loop.count(*words) for loop in found), default=0)
        cells.append(min((str(loop.shortest) for loop in found if loop.count(*words) == most), default="-"))
    return cells


def columns(sass: str) -> int:
    """The columns of the allocation of tensor memory; 0 without one."""
    lines = sass.split("\n")
    for number, line in enumerate(lines):
        if found := re.search(r"UTCATOMSWS(?:\.2CTA)?\.FIND_AND_SET\S* UP\d+, UR\d+, (UR\d+)", line):
            for earlier in reversed(lines[:number]):
                if set_to := re.search(rf"UMOV {found[1]}, (0x[0-9a-f]+)", earlier):
                    return UNIT * int(set_to[1], 16)
    return 0


def main() -> None:
    """Compile, count, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tileiras", help="path of tileiras (default: on PATH)")
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "test")]
    from tessera_tools.emit.sass import Nvdisasm

    tileiras, disassembler = find(options.tileiras, "tileiras"), Nvdisasm.find()
    if tileiras is None:
        raise SystemExit(
            "tileiras was not found; pip install nvidia-cuda-tileiras, or specify --tileiras=PATH"
        )
    version = subprocess.run(
        [tileiras, "--version"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    number = re.search(r"V(\d+\.\d+)|release (\d+\.\d+)", version)
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "made.cubin")
        for name in PROGRAMS:
            source = next(path for at in (CORPUS, OTHERS) if (path := at / f"{name}.mlir").exists())
            bytecode = f"{folder}/{name}.tileirbc"
            compile_ours = [*tessera("tessera-translate"), "--mlir-to-cubin", "--gpu-name=sm_100a"]
            write = [*tessera("tessera-translate"), "--mlir-to-cudatilebc", f"--bytecode-version={BYTECODE}"]
            write += [str(source), "-o", bytecode]
            subprocess.run(write, check=True, timeout=60)
            ours = [*compile_ours, str(source), "-o", str(made)]
            commands = [("ours", ours)]
            if name in PAIRS:
                commands.append(("ours, a pair", [*ours, "--cluster=blocks:2x1"]))
            commands.append(("tileiras", [tileiras, "--gpu-name=sm_100", bytecode, "-o", str(made)]))
            for who, command in commands:
                subprocess.run(command, check=True, timeout=120)
                data = made.read_bytes()
                rows.append([name, who, *figures(disassembler.disassemble(data), registers_of(data))])
    head = ["program", "by", *COLUMNS, *LOOPS, "columns", "instructions", "registers"]
    lines = [head, ["---", "---", *("--:" for _ in head[2:])], *rows]
    known = (number[1] or number[2]) if number else ""
    text = HEAD.format(version=known) + "".join(f"| {' | '.join(line)} |\n" for line in lines)
    PAGE.write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
