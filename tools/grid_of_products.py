#!/usr/bin/env python3
"""Products of every type over a grid of tiles, compiled for sm_90a: which use wgmma, why not, what they spill.

    python tools/grid_of_products.py [--gpu-name sm_90a] [--only WORDS] [--sizes 64,128,256] [--depths 32,64,128]
                                     [--jobs 1]

A row is one kernel: its types, the tile as m x n x k, the order of B in memory, the instruction, the warpgroups of
consumers, registers, bytes of spills, and, if it does not use wgmma, the remark that says why.  `--only` keeps the rows
whose name contains each of the words.  The exit status is 1 if a kernel spills, if ptxas serializes its products, or
if no remark says why it does not use wgmma.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

from pipelines.programs_of_products import Product  # noqa: E402

from tessera_tools.diagnostics import DiagnosticError, collect  # noqa: E402
from tessera_tools.emit.driver import Options, compile_module, compile_text  # noqa: E402
from tessera_tools.emit.worker import Worker  # noqa: E402
from tessera_tools.parser import parse_module  # noqa: E402
from tessera_tools.target import lookup  # noqa: E402

TYPES = (
    ("f16", "f32", False),
    ("f16", "f16", False),
    ("bf16", "f32", False),
    ("tf32", "f32", False),
    ("f8E4M3FN", "f32", False),
    ("f8E4M3FN", "f32", True),
    ("f8E4M3FN", "f16", False),
    ("f8E5M2", "f32", False),
    ("i8", "i32", False),
)
"""(element, accumulator, fast_acc)."""
SERIALIZED = ("C7507", "C7510", "C7511", "C7512", "C7513", "C7514")


@dataclass(frozen=True)
class Row:
    """What became of one product."""

    name: str
    instruction: str
    groups: str
    registers: int
    spills: int
    serialized: str
    why: str

    @property
    def is_wrong(self) -> bool:
        """Whether it spills, is serialized, or is slow without a reason."""
        return bool(self.spills or self.serialized or (self.instruction != "wgmma" and not self.why))


def grid(sizes: list[int], depths: list[int]) -> Iterator[tuple[str, Product]]:
    """(name, program) of every product."""
    for (element, accumulator, fast), b_t, m, n, k in product(TYPES, ("", "view"), sizes, sizes, depths):
        if b_t and element in ("f16", "bf16") and (element, accumulator) != ("f16", "f32"):
            continue
        order = "K-major" if b_t else "N-major"
        words = f"{element} {accumulator}{' fast_acc' * fast} {m}x{n}x{k} {order}"
        yield words, Product(element, accumulator, m, n, k, b_t=b_t, fast_acc=fast, d_assumed=True)


@functools.cache
def worker() -> Worker:
    """One LLVM process for all kernels of this process."""
    made = Worker.start()
    atexit.register(made.close)
    return made


def measured(case: tuple[str, Product], gpu: str = "sm_90a") -> Row:
    """Compile one product and read what ptxas and the remarks say."""
    name, program = case
    target = lookup(gpu)
    try:
        with collect() as remarks:
            options = Options(target, until="ptx", explains=True)
            module = parse_module(program.text(), "product.mlir")
            ptx = compile_module(module, options, worker=worker()).text("ptx")
        made = compile_text(ptx, "ptx", Options(target, until="cubin"))
    except DiagnosticError as refusal:
        return Row(name, "refused", "-", 0, 0, "", str(refusal).splitlines()[0])
    assert made.report is not None
    (used,) = made.report.entries.values()
    found = [remark.message for remark in remarks]
    instruction = "wgmma" if "wgmma.mma_async" in ptx else "mma" if "mma.sync" in ptx else "fma"
    groups = next(
        (m.split(" consumer warpgroup")[0].split()[-1] for m in found if "consumer warpgroup" in m), "-"
    )
    serialized = next((code for code in SERIALIZED for w in made.warnings if code in w), "")
    why = next((m for m in found if "wgmma" in m and "not used" in m), "")
    return Row(
        name, instruction, groups, used.registers, used.spill_stores + used.spill_loads, serialized, why
    )


def main() -> int:
    """Compile, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gpu-name", default="sm_90a")
    parser.add_argument("--only", default="", help="words of the names of the rows to compile")
    parser.add_argument("--sizes", default="64,128,256", help="extents of the tiles along M and N")
    parser.add_argument("--depths", default="32,64,128", help="extents of the tiles along K")
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile")
    options = parser.parse_args()
    sizes, depths = ([int(word) for word in text.split(",")] for text in (options.sizes, options.depths))
    cases = [case for case in grid(sizes, depths) if all(word in case[0] for word in options.only.split())]
    wrong = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in pool.map(functools.partial(measured, gpu=options.gpu_name), cases):
            wrong += row.is_wrong
            mark = "!" if row.is_wrong else " "
            print(
                f"{mark} {row.name:40} {row.instruction:7} groups {row.groups:2} registers {row.registers:3} "
                f"spills {row.spills:5} {row.serialized} {row.why}",
                flush=True,
            )
    print(f"{len(cases)} products, {wrong} of them wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
