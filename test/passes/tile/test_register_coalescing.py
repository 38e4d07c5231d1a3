"""Programs compute the same before and after: random ones as interpreted here, kernels on the simulated GPU."""

from __future__ import annotations

import itertools
import random as numbers
from typing import Any

import numpy as np
import pytest
from programs import TARGETS, empty, fresh_seed, random
from tile.kernels import compiled, example, launch, strided

from tessera_tools.dialects import arith, scf, tile
from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass

COALESCE = ("tile-register-coalescing",)
FRAGMENT = "memref<4x8xf32, 5>"


STATEMENTS = ["fill", "copy", "copy", "copy", "op", "op", "new", "new", "scale", "sum", "for", "if", "out"]
WITHOUT_RESULTS = ("tile.alloc_shared", "tile.cp_async", "tile.async_wait", "tile.barrier", "func.return")


def body(rng: numbers.Random, known: list[str], depth: int, indent: str) -> list[str]:
    """Random statements on fragments that have a value."""
    lines: list[str] = []
    known = list(known)
    for _ in range(rng.randint(2, 6)):
        fresh = f"%v{rng.getrandbits(40)}"
        a, b = rng.choice(known), rng.choice(known)
        match rng.choice(
            ["fill", "copy", "copy", "copy", "op", "op", "new", "new", "scale", "sum", "for", "if", "out"]
        ):
            case "fill":
                lines.append(f"tile.fill {a}, %x : {FRAGMENT}")
            case "copy":
                lines.append(f"tile.copy {a}, {b} : {FRAGMENT}")
            case "op":
                op = rng.choice(["add", "sub", "element_max"])
                lines.append(f"{fresh} = tile.{op} {a}, {b} : {FRAGMENT}, {FRAGMENT} -> {FRAGMENT}")
                known.append(fresh)
            case "new":
                lines.append(f"{fresh} = tile.alloc_register : {FRAGMENT}")
                lines.append(f"tile.copy {a}, {fresh} : {FRAGMENT}")
                known.append(fresh)
            case "scale":
                lines.append(f"tile.scale_tensor {a}, %y : {FRAGMENT}, f32")
            case "sum":
                lines.append(f"tile.accumulate {a}, {b} : {FRAGMENT}, {FRAGMENT}")
            case "out":
                lines.append(f"tile.store_global {a}, %D{rng.randint(0, 1)} : {FRAGMENT}, memref<?x?xf32>")
            case "for" if depth:
                lines.append(f"scf.for %i{fresh[2:]} = %c0 to %n step %c1 {{")
                lines += body(rng, known, depth - 1, "  ")
                lines.append("}")
            case "if" if depth:
                lines.append(f"scf.if %b{rng.randint(0, 1)} {{")
                lines += body(rng, known, depth - 1, "  ")
                if rng.random() < 0.5:
                    lines.append("} else {")
                    lines += body(rng, known, depth - 1, "  ")
                lines.append("}")
    return [indent + line for line in lines]


def program(seed: int) -> str:
    """A random kernel of four fragments, of which two are stored."""
    rng = numbers.Random(seed)
    names = [f"%a{i}" for i in range(4)]
    lines = [
        "func.func @kernel(%D0: memref<?x?xf32>, %D1: memref<?x?xf32>, %A: memref<64x64xf16>, %x: f32, %y: f32,",
        "    %n: index, %b0: i1, %b1: i1) attributes {tessera.kernel} {",
        "  %c0 = arith.constant 0 : index",
        "  %c1 = arith.constant 1 : index",
        "  %s = tile.alloc_shared : memref<64x64xf16, 3>",
        "  tile.cp_async %A, %s : memref<64x64xf16>, memref<64x64xf16, 3>",
        "  tile.async_wait",
        "  tile.barrier",
        *(f"  {name} = tile.alloc_register : {FRAGMENT}" for name in names),
        *(f"  tile.fill {name}, {rng.choice(['%x', '%y'])} : {FRAGMENT}" for name in names),
        f"  %p = tile.mma %s, %s : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> {FRAGMENT}",
        *(f"  tile.accumulate {name}, %p : {FRAGMENT}, {FRAGMENT}" for name in names),
        *body(rng, [*names, "%p"], 2, "  "),
        f"  %u = tile.mma %s, %s : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> {FRAGMENT}",
        f"  tile.accumulate {names[2]}, %u : {FRAGMENT}, {FRAGMENT}",
        *body(rng, [*names, "%p"], 2, "  "),
        *(f"  tile.store_global {rng.choice(names)}, %D{i} : {FRAGMENT}, memref<?x?xf32>" for i in range(2)),
        "  return",
        "}",
    ]
    return "\n".join(lines)


class Interpreter:
    """The statements of `program` in NumPy: fragments of four numbers, what is stored as a list."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.named = values
        self.values: dict[Any, Any] = {}
        self.stored: list[tuple[str, bytes]] = []

    def get(self, value: Any) -> Any:
        return self.values[value] if value in self.values else self.named[value.name_hint]

    def run(self, ops: Any) -> None:
        for op in ops:
            self.op(op)

    def op(self, op: Any) -> None:
        f = self.values
        with np.errstate(all="ignore"):
            match op:
                case tile.AllocRegister():
                    f[op.res] = np.full(4, np.nan, np.float32)
                case tile.Mma():
                    f[op.res] = np.array([5, 7, 11, 13], np.float32)
                case tile.Fill():
                    f[op.dest] = np.full(4, self.get(op.value), np.float32)
                case tile.Copy():
                    f[op.dest] = self.get(op.source).copy()
                case tile.ElementAdd() | tile.ElementSub() | tile.ElementMax():
                    combine = {"add": np.add, "sub": np.subtract, "element_max": np.maximum}[op.name[5:]]
                    f[op.res] = combine(self.get(op.lhs), self.get(op.rhs))
                case tile.ScaleTensor():
                    f[op.dest] = self.get(op.dest) * np.float32(self.get(op.factor))
                case tile.Accumulate():
                    f[op.dest] = self.get(op.dest) + self.get(op.update)
                case tile.StoreGlobal():
                    self.stored.append((op.dest.name_hint, self.get(op.value).tobytes()))
                case scf.For():
                    for _ in range(self.named["n"]):
                        self.run(op.body.entry)
                case scf.If():
                    region = op.then if self.get(op.condition) else op.otherwise
                    if region.blocks:
                        self.run(region.entry)
                case arith.Constant() | scf.Yield():
                    pass
                case _:
                    assert op.name in (
                        "tile.alloc_shared",
                        "tile.cp_async",
                        "tile.async_wait",
                        "tile.barrier",
                        "func.return",
                    )


def test_random_programs() -> None:
    """What is stored, in its order, whichever way the branches go and however often the loops run."""
    seed = fresh_seed()
    removed = 0
    for number in range(150):
        text = program(seed + number)
        before = parse_module(text)
        after = before.clone()
        PassManager(Pipeline("builtin.module", [parse_pass(COALESCE[0])])).run(after)
        count = [sum(isinstance(op, tile.Copy) for op in module.walk()) for module in (before, after)]
        removed += count[0] - count[1]
        # Numbers that a program does not read need no second value.
        trips, first, second = (
            choices if name in text else choices[:1]
            for name, choices in (
                ("scf.for", (0, 1, 2)),
                ("scf.if %b0", (False, True)),
                ("scf.if %b1", (False, True)),
            )
        )
        for n, b0, b1 in itertools.product(trips, first, second):
            given = {"x": 1.5, "y": -0.75, "n": n, "b0": b0, "b1": b1}
            runs = [Interpreter(given) for _ in range(2)]
            for run, module in zip(runs, (before, after), strict=True):
                run.run(next(iter(module.regions[0].entry)).body.entry)  # type: ignore[attr-defined]
            assert runs[0].stored == runs[1].stored, (
                f"seed {seed + number}, {given}:\n{text}\n{print_op(after)}"
            )
        again = print_op(after)
        PassManager(Pipeline("builtin.module", [parse_pass(COALESCE[0])])).run(after)
        assert print_op(after) == again, text
    assert removed > 100


@pytest.mark.parametrize("number", range(3))
def test_random_kernels_on_the_simulated_gpu(number: int) -> None:
    seed = fresh_seed() + number
    rng = np.random.default_rng(seed)
    arrays = [empty("f32", (64, 64)), empty("f32", (64, 64)), random("f16", (64, 64), rng)]
    flags = [np.bool_(v) for v in rng.integers(0, 2, 2)]
    args = [x for a in arrays for x in strided(a)] + [np.float32(1.5), np.float32(-0.75), np.int64(2), *flags]
    target = str(rng.choice(TARGETS))
    before, _ = launch(program(seed), *args, target=target)
    after, result = launch(program(seed), *args, target=target, passes=COALESCE)
    assert not result.findings, result.findings.text("kernel")
    for a, b in zip(before[:2], after[:2], strict=True):
        np.testing.assert_array_equal(a.view(np.uint32), b.view(np.uint32))


@pytest.mark.parametrize("name", ["attention_causal", "gemm_tile"])
def test_examples_are_compiled_to_the_same(name: str) -> None:
    assert compiled(example(name), "sm_80").ptx == compiled(example(name), "sm_80", COALESCE).ptx


NEIGHBORS = """
func.func @reverse(%A: memref<?x?x{element}>, %B: memref<?x?x{element}>)
    attributes {{tessera.kernel, tessera.threads = 32}} {{
  %row = tile.block_id : index
  %t = tile.lane_id : index
  %w = arith.constant {width} : index
  %i = arith.muli %t, %w : index
{loads}
{stores}
  return
}}
"""


@pytest.mark.parametrize(("element", "width"), [("f32", 4), ("bf16", 8), ("i64", 2), ("i8", 16), ("f16", 2)])
def test_neighbors_move_together(element: str, width: int) -> None:
    """Each thread turns its elements round."""
    rng = np.random.default_rng(fresh_seed())
    order = [int(k) for k in rng.permutation(width)]
    loads, stores = [], []
    for k in order:
        loads.append(f"  %k{k} = arith.constant {k} : index\n  %i{k} = arith.addi %i, %k{k} : index")
    for k in order:
        loads.append(f"  %v{k} = tile.load_global %A[%row, %i{k}] : memref<?x?x{element}>")
        stores.append(
            f"  tile.store_global_element %v{width - 1 - k}, %B[%row, %i{k}] : memref<?x?x{element}>"
        )
    text = NEIGHBORS.format(element=element, width=width, loads="\n".join(loads), stores="\n".join(stores))
    bits = {"f32": 32, "bf16": 16, "i64": 64, "i8": 8, "f16": 16}[element]
    a = rng.integers(0, 1 << (bits - 1), (3, 32 * width), dtype=np.uint64).astype(f"u{bits // 8}")
    target = str(rng.choice(TARGETS))
    arrays, result = launch(
        text, *strided(a), *strided(np.zeros_like(a)), target=target, grid=(3,), passes=COALESCE
    )
    assert not result.findings, result.findings.text("reverse")
    np.testing.assert_array_equal(arrays[1], a.reshape(3, 32, width)[:, :, ::-1].reshape(3, -1))
    ptx = compiled(text, target, COALESCE).ptx
    assert ptx.count("ld.global.") == ptx.count("st.global.") == 1
