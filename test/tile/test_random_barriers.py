"""Random kernels without barriers and waits, or with random ones: `--tile-barrier-optimization` makes them right.

A kernel is a list of statements on three buffers of 4x16 numbers, of which each of 64 threads has a place: store and
load at a permuted place, copy a block of a tensor, loop, branch.  Its meaning is that of its statements one
after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from programs import TARGETS, fresh_seed
from tile.kernels import launch, strided
from tile.test_barriers import PASS, optimized, run

from tessera_tools.analysis.hazards import Hazards
from tessera_tools.passes.tile.hazards import TileHazards

ROWS, COLUMNS, BUFFERS = 4, 16, 3
TYPE = f"memref<{ROWS}x{COLUMNS}xi32, 3>"
BLOCKS = 8
"""Blocks of the tensor that is copied from."""


@dataclass
class Statement:
    """`store`, `load`, `copy`, `loop` (so many times) or `if` (never or always)."""

    kind: str
    buffer: int = 0
    place: tuple[int, int] = (0, 0)
    """By what the thread's row and column are changed (xor)."""
    number: int = 0
    body: list[Statement] = field(default_factory=list)


def program(rng: np.random.Generator, length: int, deep: int) -> list[Statement]:
    """Random statements."""
    kinds = ["store", "load", "load", "copy"] + (["loop", "if"] if deep else [])
    found: list[Statement] = []
    for _ in range(length):
        kind = str(rng.choice(kinds))
        place = (int(rng.integers(ROWS)), int(rng.integers(COLUMNS))) if rng.random() < 0.7 else (0, 0)
        made = Statement(kind, int(rng.integers(BUFFERS)), place, int(rng.integers(BLOCKS)))
        if kind in ("loop", "if"):
            made.number = int(rng.integers(3)) if kind == "loop" else int(rng.integers(2))
            made.body = program(rng, int(rng.integers(1, 5)), deep - 1)
        found.append(made)
    return found


class Writer:
    """The text of a kernel."""

    def __init__(self, rng: np.random.Generator, noise: float) -> None:
        self.rng = rng
        self.noise = noise
        """How often a barrier or a wait stands somewhere."""
        self.lines: list[str] = []
        self.count = 0

    def value(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def place(self, place: tuple[int, int]) -> str:
        if place == (0, 0):
            return "%r, %c"
        row, column = (
            self.value(f"arith.xori {own}, %c{by} : index")
            for own, by in zip(("%r", "%c"), place, strict=True)
        )
        return f"{row}, {column}"

    def body(self, statements: list[Statement], acc: str) -> str:
        for s in statements:
            if self.rng.random() < self.noise:
                ops = ["tile.barrier", "tile.cp_wait_group 0", "tile.cp_wait_group 1", "tile.async_wait"]
                self.lines.append(str(self.rng.choice(ops)))
            if s.kind == "store":
                self.lines.append(f"tile.store_shared {acc}, %s{s.buffer}[{self.place(s.place)}] : {TYPE}")
            elif s.kind == "load":
                loaded = self.value(f"tile.load_shared %s{s.buffer}[{self.place(s.place)}] : {TYPE}")
                product = self.value(f"arith.muli {acc}, %three : i32")
                acc = self.value(f"arith.addi {product}, {loaded} : i32")
            elif s.kind == "copy":
                source = f"memref<{ROWS}x{COLUMNS}xi32>"
                slice = self.value(
                    f"tile.compute_tensor_slice %A, %c{s.number * ROWS} : memref<?x{COLUMNS}xi32>, index -> {source}"
                )
                self.lines.append(f"tile.cp_async {slice}, %s{s.buffer} : {source}, {TYPE}")
                if self.rng.random() < 0.8:
                    self.lines.append("tile.cp_commit_group")
            else:
                acc = self._nested(s, acc)
        return acc

    def _nested(self, s: Statement, acc: str) -> str:
        self.count += 1
        result, inner = f"%v{self.count}", f"%i{self.count}"
        if s.kind == "loop":
            head = f"scf.for %k{self.count} = %c0 to %l{s.number} step %c1 iter_args({inner} = {acc}) -> (i32) {{"
        else:
            head, inner = f"scf.if %b{s.number} -> (i32) {{", acc
        self.lines.append(f"{result} = {head}")
        end = self.body(s.body, inner)
        self.lines.append(f"scf.yield {end} : i32")
        self.lines.append("}" if s.kind == "loop" else f"}} else {{\nscf.yield {acc} : i32\n}}")
        return result


def text_of(statements: list[Statement], rng: np.random.Generator, noise: float) -> str:
    """The kernel."""
    writer = Writer(rng, noise)
    end = writer.body([Statement("store", n) for n in range(BUFFERS)] + statements, "%start")
    buffers = "\n".join(f"%s{n} = tile.alloc_shared : {TYPE}" for n in range(BUFFERS))
    return f"""
func.func @kernel(%A: memref<?x{COLUMNS}xi32>, %B: memref<?xi32>, %n0: i32, %n1: i32, %n2: i32)
    attributes {{tessera.kernel, tessera.threads = {ROWS * COLUMNS}}} {{
{buffers}
%three = arith.constant 3 : i32
%t = tile.thread_id : index
%r = arith.divui %t, %c{COLUMNS} : index
%c = arith.remui %t, %c{COLUMNS} : index
%b0 = arith.cmpi ne, %n0, %n0 : i32
%b1 = arith.cmpi ne, %n0, %n1 : i32
%l0 = arith.index_cast %n0 : i32 to index
%l1 = arith.index_cast %n1 : i32 to index
%l2 = arith.index_cast %n2 : i32 to index
%start = arith.index_cast %t : index to i32
{chr(10).join(writer.lines)}
tile.store_global_element {end}, %B[%t] : memref<?xi32>
return
}}
"""


def interpreted(statements: list[Statement], blocks: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What each thread has in the end."""
    rows, columns = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    acc = np.arange(ROWS * COLUMNS, dtype=np.int32)
    buffers = [acc.reshape(ROWS, COLUMNS).copy() for _ in range(BUFFERS)]

    def execute(body: list[Statement]) -> None:
        nonlocal acc
        for s in body:
            at = (rows ^ s.place[0], columns ^ s.place[1])
            if s.kind == "store":
                buffers[s.buffer][at] = acc
            elif s.kind == "load":
                acc = acc * np.int32(3) + buffers[s.buffer][at]
            elif s.kind == "copy":
                buffers[s.buffer] = blocks[s.number].copy()
            else:
                for _ in range(s.number):
                    execute(s.body)

    execute(statements)
    return acc


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("number", range(6))
def test_a_random_kernel(number: int, noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    # The level below adds nothing and takes nothing away.
    complete, reduce = Hazards.complete, Hazards.reduce
    monkeypatch.setattr(Hazards, "complete", lambda h: complete(h) if isinstance(h, TileHazards) else None)
    monkeypatch.setattr(Hazards, "reduce", lambda h: reduce(h) if isinstance(h, TileHazards) else 0)
    rng = np.random.default_rng(fresh_seed())
    statements = program(rng, 7, 2)
    text = text_of(statements, rng, noise)
    print(text)
    blocks = rng.integers(-100, 100, (BLOCKS, ROWS, COLUMNS)).astype(np.int32)
    a, b = blocks.reshape(-1, COLUMNS), np.zeros(ROWS * COLUMNS, np.int32)
    module = optimized(text)
    once = str(module)
    assert str(run(module, PASS)) == once
    target, mode = str(rng.choice(TARGETS)), str(rng.choice(["late", "early"]))
    args = [*strided(a), *strided(b), *map(np.int32, range(3))]
    arrays, result = launch(text, *args, target=target, passes=(PASS,), mode=mode)
    assert not result.findings, result.findings.text("kernel")
    np.testing.assert_array_equal(arrays[1], interpreted(statements, blocks))
