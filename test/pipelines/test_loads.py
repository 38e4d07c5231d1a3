"""Tiles that TMA loads in kernels without products: right on the simulated GPU for every type, rank and order, each
synchronization needed, never more instructions than the checks of bounds take without, and loops in less time."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory.view_programs import Case
from programs import compiled, fresh_seed, launch, worker
from trials import mutants

sys.path.insert(0, str(Path(__file__).parent))


from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import scf
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.emit.kernels import kernels_of_module
from tessera_tools.emit.manifest import Manifest
from tessera_tools.ir.builtin_attributes import UNIT
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import parse_pipeline
from tessera_tools.passes.table import pipeline_for
from tessera_tools.passes.tileas.scf_for_loop_splitting import REMAINDER
from tessera_tools.runtime import device
from tessera_tools.target import lookup

Array = np.ndarray[Any, Any]
LOAD = re.compile(r"cp\.async\.bulk\.tensor\.(\d)d\.shared::cta\.global")
ELEMENTS = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f16": np.float16,
    "bf16": np.uint16, "f32": np.float32, "tf32": np.float32, "f64": np.float64, "f8E4M3FN": np.uint8,
    "f8E5M2": np.uint8,
}  # fmt: skip
SHAPES = {1: (4096,), 2: (32, 64), 3: (4, 16, 32), 4: (2, 4, 8, 32), 5: (2, 2, 4, 4, 32)}


@dataclass(frozen=True)
class Copy:
    """Copies tiles of a tensor whose extents nobody knows: where the tile comes from and goes to, as axes of the tile.

    order_in, order_out: the axis of the tile for each axis of the tensor; the last is the one of stride 1.
    steps: 0 without a loop, else a loop over the tiles of the last axis of the tensor that is read.
    """

    element: str
    tile: tuple[int, ...]
    order_in: tuple[int, ...] = ()
    order_out: tuple[int, ...] = ()
    loop: bool = False

    @property
    def rank(self) -> int:
        return len(self.tile)

    def axes(self, word: str) -> tuple[int, ...]:
        return getattr(self, f"order_{word}") or tuple(range(self.rank))

    def view(self, name: str, word: str) -> tuple[list[str], str]:
        """The lines that make a view of parts, and its type."""
        rank, e, axes = self.rank, self.element, self.axes(word)
        div = max(1, 16 // np.dtype(ELEMENTS[e]).itemsize)
        lines = [f"%{name}B = assume div_by<16>, %{name} : tile<ptr<{e}>>"]
        strides: list[str] = []
        for d in range(rank - 1):
            lines.append(f"%{name}t{d} = assume div_by<{div}>, %{name}s{d} : tile<i32>")
            strides.append(f"%{name}t{d}")
        shape = ", ".join(f"%{name}e{d}" for d in range(rank))
        tensor = f"tensor_view<{'?x' * rank}{e}, strides=[{'?,' * (rank - 1)}1]>"
        lines.append(
            f"%{name}T = make_tensor_view %{name}B, shape = [{shape}], strides = [{', '.join([*strides, '1'])}] : "
            f"tile<i32> -> {tensor}"
        )
        place = [axes.index(d) for d in range(rank)]
        turned = "" if axes == tuple(range(rank)) else f", dim_map={place}"
        tile = "x".join(map(str, self.tile))
        parts = f"partition_view<tile=({tile}), padding_value = zero, {tensor}{turned}>"
        lines.append(f"%{name}V = make_partition_view %{name}T : {parts}")
        return lines, parts

    def text(self) -> str:
        parameters: list[str] = []
        lines = ["%token = make_token : token", "%x, %y, %z = get_tile_block_id : tile<i32>"]
        lines += ["%c0 = constant <i32: 0> : tile<i32>", "%c1 = constant <i32: 1> : tile<i32>"]
        types = {}
        for name, word in (("p", "in"), ("q", "out")):
            parameters.append(f"%{name}: tile<ptr<{self.element}>>")
            parameters += [f"%{name}e{d}: tile<i32>" for d in range(self.rank)]
            parameters += [f"%{name}s{d}: tile<i32>" for d in range(self.rank - 1)]
            made, types[name] = self.view(name, word)
            lines += made
        kind = f"tile<{'x'.join(map(str, self.tile))}x{self.element}>"
        first = "%k" if self.loop else "%x"
        index = ", ".join([first, *["%y", "%z", "%c0", "%c0"][: self.rank - 1]])
        body = [
            f"%t, %m = load_view_tko weak %pV[{index}] token = %token : {types['p']}, tile<i32> -> {kind}, token",
            f"%n = store_view_tko weak %t, %qV[{index}] token = %token : {kind}, {types['q']}, tile<i32> -> token",
        ]
        if self.loop:
            body = [
                f"%size = constant <i32: {self.tile[0]}> : tile<i32>",
                f"%many = divi %pe{self.axes('in').index(0)}, %size unsigned rounding<positive_inf> : tile<i32>",
                "for %k in (%c0 to %many, step %c1) : tile<i32> {", *body, "continue", "}",
            ]  # fmt: skip
        inside = "\n  ".join([*lines, *body, "return"])
        return f"entry @copy({', '.join(parameters)}) {{\n  {inside}\n}}\n"

    def tensors(
        self, rng: np.random.Generator, whole: bool = False
    ) -> tuple[list[Array], list[Any], tuple[int, int, int]]:
        """(the two tensors as the tile sees them, the arguments, the grid), of ragged extents or of whole tiles."""
        extents = [int(rng.integers(n // 2 + 1, 2 * n + 2)) for n in self.tile]
        if self.loop:
            # Each stage is filled more than once.
            extents[0] = 9 * self.tile[0] - int(rng.integers(self.tile[0]))
        if self.rank > 3:
            extents[3:] = [min(n, m) for n, m in zip(extents[3:], self.tile[3:], strict=True)]
        if whole:
            extents = [-(-n // m) * m for n, m in zip(extents, self.tile, strict=True)]
        kind = np.dtype(ELEMENTS[self.element])
        div = max(1, 16 // kind.itemsize)
        arrays: list[Array] = []
        args: list[Any] = []
        for word in ("in", "out"):
            stored = [extents[axis] for axis in self.axes(word)]
            strides, step = [1] * self.rank, 1
            for d in reversed(range(self.rank)):
                strides[d] = step
                step = -(-step * stored[d] // div) * div + div * int(rng.integers(2))
            flat = np.zeros(step, kind)
            if word == "in":
                flat = rng.integers(0, 256, step * kind.itemsize, dtype=np.uint8).view(kind)
                if kind.kind == "b":
                    flat = flat.view(np.uint8) % 2 == 1
                if kind.kind == "f":
                    flat = np.nan_to_num(flat, posinf=1, neginf=1)
            args += [flat, *map(np.int32, stored), *map(np.int32, strides[:-1])]
            seen = np.lib.stride_tricks.as_strided(flat, stored, [s * kind.itemsize for s in strides])
            arrays.append(seen.transpose([self.axes(word).index(d) for d in range(self.rank)]))
        counts = [-(-n // m) for n, m in zip(extents, self.tile, strict=True)]
        blocks = [*counts, 1, 1]
        return arrays, args, (1 if self.loop else blocks[0], blocks[1], blocks[2])

    def run(self, mode: str, rng: np.random.Generator) -> None:
        (a, b), args, grid = self.tensors(rng)
        out = 1 + 2 * self.rank - 1
        found = launch(self.text(), *args, target="sm_90a", grid=grid, mode=mode)[0]
        got = np.lib.stride_tricks.as_strided(
            found[1],
            tuple(args[out + 1 : out + 1 + self.rank]),
            [int(s) * found[1].itemsize for s in (*args[out + 1 + self.rank :], 1)],
        ).transpose([self.axes("out").index(d) for d in range(self.rank)])
        assert np.array_equal(got.view(f"V{got.itemsize}"), a.view(f"V{a.itemsize}"))
        assert b.shape == got.shape


def boxes(text: str) -> int:
    """Boxes that a program loads by TMA."""
    return len(LOAD.findall(compiled(text, "sm_90a").ptx))


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("loop", [False, True], ids=["once", "loop"])
def test_every_type(element: str, loop: bool) -> None:
    case = Copy(element, (16, 128), loop=loop)
    assert boxes(case.text()) > 0
    rng = np.random.default_rng(fresh_seed())
    case.run(str(rng.choice(["late", "early"])), rng)


@pytest.mark.parametrize("rank", SHAPES)
@pytest.mark.parametrize("element", ["f16", "f32"])
def test_every_rank_in_any_order(rank: int, element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    shape = tuple(n * (1 + (element == "f16" and d == rank - 1)) for d, n in enumerate(SHAPES[rank]))
    orders = [tuple(int(i) for i in rng.permutation(rank)) for _ in range(2)]
    # The axis of stride 1 has at least 16 bytes.
    case = Copy(element, shape, (*[a for a in orders[0] if a != rank - 1], rank - 1), orders[1])
    print(case)
    assert f"tensor.{rank}d.shared::cta" in compiled(case.text(), "sm_90a").ptx
    case.run(str(rng.choice(["late", "early"])), rng)


TWO = """
entry @two(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>, %s: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %l = assume div_by<4>, %s : tile<i32>
  %pB = assume div_by<16>, %p : tile<ptr<f32>>
  %pT = make_tensor_view %pB, shape = [%m, %n], strides = [%l, 1] : tile<i32> -> TENSOR
  %pV = make_partition_view %pT : PARTS
  %a, %t = load_view_tko weak %pV[%x, %y] : PARTS, tile<i32> -> tile<32x64xf32>, token
  %qB = assume div_by<16>, %q : tile<ptr<f32>>
  %qT = make_tensor_view %qB, shape = [%m, %n], strides = [%l, 1] : tile<i32> -> TENSOR
  %qV = make_partition_view %qT : PARTS
  %k = addi %x, %one : tile<i32>
  %b, %u = load_view_tko weak %pV[%k, %y] : PARTS, tile<i32> -> tile<32x64xf32>, token
  %c = addf %a, %b : tile<32x64xf32>
  %d = store_view_tko weak %c, %qV[%x, %y] : tile<32x64xf32>, PARTS, tile<i32> -> token
  return
}
""".replace("PARTS", "partition_view<tile=(32x64), padding_value = zero, TENSOR>").replace(
    "TENSOR", "tensor_view<?x?xf32, strides=[?,1]>"
)


def test_an_index_that_is_computed_between_two_loads() -> None:
    assert boxes(TWO) == 2
    rng = np.random.default_rng(fresh_seed())
    m, n = (int(rng.integers(33, 96)), 4 * int(rng.integers(9, 33)))
    a = rng.standard_normal((m, n)).astype(np.float32)
    sizes = (np.int32(m), np.int32(n), np.int32(n))
    found = launch(TWO, a, np.zeros_like(a), *sizes, target="sm_90a", grid=(-(-m // 32), -(-n // 64)))[0]
    below = np.vstack([a, np.zeros((32, n), np.float32)])[32:]
    np.testing.assert_array_equal(found[1], a + below)


def test_a_tile_of_more_than_256_elements_is_several_boxes() -> None:
    case = Copy("f32", (2, 1024))
    assert boxes(case.text()) == 8
    case.run("late", np.random.default_rng(fresh_seed()))


def test_a_view_whose_tiles_overlap_or_leave_gaps() -> None:
    """The distance of tiles is in the coordinates of a box, not in its tensor map."""
    rng = np.random.default_rng(fresh_seed())
    distance = (int(rng.integers(1, 200)), 4 * int(rng.integers(1, 50)))
    case = Case((272, 272), (288, 1), (64, 64), "strided", distance, padding="zero", aligned=True)
    assert boxes(case.program(store=False)) == 1
    case.check_load((1, 1), rng, "sm_90a")


def test_gathered_rows_stay_as_they_are() -> None:
    case = Case((272, 272), (288, 1), (64, 64), "gather", padding="zero", aligned=True)
    assert boxes(case.program(store=False)) == 0


def launched(text: str, args: Sequence[Any], grid: tuple[int, int, int], way: str) -> tuple[int, float]:
    """The instructions that the warps of a launch execute together, and its cycles by the clock. The way: `tma`;
    `plain`, which is without TMA; or `checked`, which is without TMA and splits no loop, so that every iteration checks
    the bounds that TMA checks.

    The clock does not interrupt warps. Other launches do, at random, and the halves of a diverged warp may then execute
    the same instructions one after the other: the count varies by 10 % with the seed of that order."""
    module, gpu = parse_module(text, "program.mlir"), lookup("sm_90a")
    if way == "checked":
        steps = [step.text for step in pipeline_for("sm_90") if step.stage in ("cuda_tile", "nv_tileaa")]
        PassManager(parse_pipeline(f"builtin.module({','.join(steps)})")).run(module)
        for loop in [op for op in module.walk() if isinstance(op, scf.For)]:
            loop.attributes[REMAINDER] = UNIT
    options = Options(gpu, until="ptx", plain_abi=way != "tma")
    ptx = compile_module(module, options, worker=worker()).text("ptx")
    version = re.search(r"^\.version (\S+)", ptx, re.MULTILINE)
    assert version is not None
    manifest = Manifest(gpu.cpu, version[1], tuple(kernels_of_module(module)))
    sim = device("sim", gpu_name="sm_90a", processes=1)
    given = [sim.buffer(v) if isinstance(v, np.ndarray) and v.ndim else v for v in args]
    kernel = sim.load(ptx, manifest, file="program.ptx").kernel()
    result = kernel.launch(grid, given, stats=True, timing=True)
    assert result.stats is not None and result.estimate is not None and not result.findings
    # Of more than 16 CTAs, the clock runs some: those that the number of CTAs determines.
    return sum(result.stats.instructions.values()), result.estimate.cycles


@pytest.mark.parametrize(
    "case",
    [
        Copy("f32", (64, 64)),
        Copy("f32", (64, 64), order_out=(1, 0)),
        Copy("f16", (32, 128)),
        Copy("f16", (64, 64), order_out=(1, 0)),
        Copy("f32", (16, 128), loop=True),
        Copy("f16", (16, 256), loop=True),
        Copy("i8", (32, 256), loop=True),
        Copy("i8", (8, 128), loop=True),
    ],
    ids=str,
)
def test_fewer_instructions_than_without(case: Copy) -> None:
    assert boxes(case.text()) > 0
    _, args, grid = case.tensors(np.random.default_rng(fresh_seed()))
    assert launched(case.text(), args, grid, "tma")[0] < launched(case.text(), args, grid, "checked")[0]


@pytest.mark.parametrize("whole", [False, True], ids=["ragged", "whole"])
@pytest.mark.parametrize(
    "case",
    [
        Copy("f32", (16, 128), loop=True),
        Copy("f16", (16, 256), loop=True),
        Copy("i8", (8, 128), loop=True),
    ],
    ids=str,
)
def test_a_loop_takes_less_time_than_a_split_one(case: Copy, whole: bool) -> None:
    """Without TMA, a loop is split, and most iterations check nothing. They may take fewer instructions, but each one
    waits for memory."""
    _, args, grid = case.tensors(np.random.default_rng(fresh_seed()), whole)
    assert launched(case.text(), args, grid, "tma")[1] < launched(case.text(), args, grid, "plain")[1]


@pytest.mark.parametrize("case", [Copy("f32", (8, 8)), Copy("f32", (4, 64), loop=True)], ids=["once", "loop"])
def test_small_tiles_stay_as_they_are(case: Copy) -> None:
    assert boxes(case.text()) == 0


@pytest.mark.parametrize("loop", [False, True], ids=["once", "loop"])
def test_every_synchronization_is_needed(loop: bool) -> None:
    """Without it, the simulated GPU finds a race or an endless wait, or the result is wrong."""
    case = Copy("f32", (16, 128), loop=loop)
    made = compiled(case.text(), "sm_90a")
    rng = np.random.default_rng(fresh_seed())
    (a, _), args, grid = case.tensors(rng)
    left = []
    for change, ptx in mutants(made.ptx):
        for mode in ("late", "early"):
            sim = device("sim", gpu_name="sm_90a", processes=1)
            buffers = {4 * n: sim.buffer(args[4 * n]) for n in (0, 1)}
            given = [buffers.get(n, v) for n, v in enumerate(args)]
            kernel = sim.load(ptx, made.manifest, file="k.ptx").kernel()
            try:
                result = kernel.launch(grid, given, mode=mode, max_instructions=50_000)
            except DiagnosticError:
                break
            rows, pitch = int(args[5]), int(args[7])
            got = buffers[4].array().reshape(-1)[: rows * pitch]
            wrong = not np.array_equal(np.lib.stride_tricks.as_strided(got, a.shape, (4 * pitch, 4)), a)
            if result.findings or wrong:
                break
        else:
            left.append(change)
    assert left == []


def test_a_launch_refuses_what_the_driver_would() -> None:
    """The arguments break what the program assumes of them."""
    case = Copy("f32", (16, 128))
    _, args, grid = case.tensors(np.random.default_rng(fresh_seed()))
    args[3] = np.int32(130)
    with pytest.raises(DiagnosticError, match="a stride of 520 bytes; expected a multiple of 16"):
        launch(case.text(), *args, target="sm_90a", grid=grid)


def test_the_plain_interface_has_no_tensor_maps() -> None:
    text = Copy("f32", (16, 128), loop=True).text()
    module = parse_module(text, "program.mlir")
    ptx = compile_module(
        module, Options(lookup("sm_90a"), until="ptx", plain_abi=True), worker=worker()
    ).text("ptx")
    assert "cp.async.bulk" not in ptx and "tensormap" not in ptx
    assert all(not kernel.tensor_maps for kernel in kernels_of_module(module))


def random_copy(rng: np.random.Generator) -> Copy:
    """A copy of any type and tile, from and to any order, in a loop or not."""
    rank, element = int(rng.integers(1, 4)), str(rng.choice(list(ELEMENTS)))
    outer = tuple(1 << int(rng.integers(0, 5)) for _ in range(rank - 1))
    inner = max((1 << int(rng.integers(9, 14))) // int(np.prod(outer)), 16)
    orders = [
        tuple(int(i) for i in rng.permutation(rank)) if rng.integers(2) else tuple(range(rank)) for _ in "io"
    ]
    return Copy(element, (*outer, min(inner, 1024)), *orders, loop=rank < 3 and bool(rng.integers(2)))


@pytest.mark.parametrize("number", range(8))
def test_a_random_copy(number: int) -> None:
    """It is right, and where TMA is used, it takes no more instructions than without."""
    rng = np.random.default_rng(fresh_seed(f"copy {number}"))
    case = random_copy(rng)
    print(case)
    case.run(str(rng.choice(["late", "early"])), rng)
    if boxes(case.text()):
        _, args, grid = case.tensors(rng)
        assert launched(case.text(), args, grid, "tma")[0] <= launched(case.text(), args, grid, "checked")[0]
