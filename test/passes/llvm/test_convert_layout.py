"""Tiles come from any layout into any other: by renaming, by shuffles, through shared memory at once or in parts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from programs import check_tools, empty, fresh_seed, worker
from programs import program as tile_program
from programs import random as random_tile
from programs import run as run_program

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.emit.kernels import kernels_of_module
from tessera_tools.emit.manifest import Manifest
from tessera_tools.layout import (
    LaneShuffle,
    LinearLayout,
    PartedRoundTrip,
    RegisterMove,
    SharedRoundTrip,
    blocked,
    coalesced,
    mma_m16n8_accumulator,
    most_parts,
    plan_conversion,
    to_text,
    transpose,
)
from tessera_tools.parser import parse_module
from tessera_tools.passes.base import PassContext
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.tileas.insert_barriers import InsertBarriers
from tessera_tools.planning.shared_memory import allocate, conversion_plan
from tessera_tools.runtime import device
from tessera_tools.target import lookup, targets

DTYPES = {"i1": np.uint8, "i8": np.uint8, "f16": np.float16, "i32": np.uint32, "f64": np.float64}


def program(shape: tuple[int, ...], element: str, src: LinearLayout, dst: LinearLayout, warps: int) -> str:
    """out = in, through both layouts, twice in a loop so that the scratch is used again."""
    spelled = "x".join(map(str, shape))
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    tiles = [
        f"tensor<{spelled}x{element}, #nv_tileas.linear<{{{to_text(layout)}}}>>" for layout in (src, dst)
    ]
    memref = f"!nv_tileaa.memref<{spelled}x{element}>"
    bits = max(8, int(element[1:]))
    zeros = ", ".join(["%c0"] * len(shape))
    views = "".join(
        f"  %v{p} = nv_tileaa.make_memref %{p}, shape = {list(shape)}, stride = {strides}, "
        f"space = #nv_tileaa.global : {memref}\n"
        for p in "ab"
    )
    spec = f"#nv_tileaa.kernel_spec<num_warps = {warps}, cluster = [1, 1, 1]>"
    load, store = (f"#cute.copy_atom<sm80_{name}_{bits}_{element}>" for name in ("ldg", "stg"))
    return f"""
module attributes {{nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"}} {{
nv_tileaa.func @k(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>) attributes {{nv_tileaa.kernel_spec = {spec}}} {{
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
{views}  scf.for %i = %c0 to %c2 step %c1 : i32 {{
    %x, %l = nv_tileas.tiled_load %va[{zeros}], %t {{atom = {load}}} :
      {memref} -> {tiles[0]}, !nv_tileaa.mem_token
    %y = nv_tileas.convert_layout %x : {tiles[0]} -> {tiles[1]}
    %s = nv_tileas.tiled_store %vb[{zeros}], %y, %t {{atom = {store}}} :
      {tiles[1]}, {memref}, !nv_tileaa.mem_token
  }}
  nv_tileaa.return
}}
}}
"""


def random_layout(
    rng: np.random.Generator, shape: tuple[int, ...], registers: int, warps: int
) -> LinearLayout:
    """Every element somewhere, by random bases; what is left over repeats elements."""
    sizes = [s.bit_length() - 1 for s in shape]
    total = sum(sizes)
    counts = {"register": registers, "lane": 5, "warp": warps, "block": 0}
    wanted = sum(counts.values())
    while True:
        columns = [int(rng.integers(0, 1 << total)) for _ in range(wanted)]
        layout = LinearLayout.from_columns(
            [(name, 1 << count) for name, count in counts.items()],
            [(f"dim{d}", s) for d, s in enumerate(shape)],
            columns,
        )
        if layout.is_surjective():
            return layout


def run(text: str, element: str, count: int, room: int | None = None) -> type:
    """Run a program of `program` with so much shared memory (None: sm_80's); the kind of its conversion's plan."""
    rng = np.random.default_rng(fresh_seed())
    target = lookup("sm_80")
    limited = target if room is None else dataclasses.replace(target, max_shared_per_block=room)
    module = parse_module(text, "conversion.mlir")
    kernel = next(op for op in module.walk() if isinstance(op, nv_tileaa.Func))
    InsertBarriers().run_on_kernel(kernel, limited, PassContext())
    conversion = next(op for op in kernel.walk() if isinstance(op, nv_tileas.ConvertLayout))
    kind = type(conversion_plan(conversion, target))
    pipeline = Pipeline("builtin.module")
    for name in ("convert-nv-tile-func-to-llvm", "convert-tileas-to-llvm"):
        pipeline.add(parse_pass(name))
    PassManager(pipeline).run(module)
    ptx = compile_module(module, Options(target, until="ptx"), worker=worker()).text("ptx")
    gpu = device("sim", gpu_name="sm_80", processes=1)
    version = ptx.partition(".version ")[2].split()[0]
    loaded = gpu.load(ptx, Manifest(target.cpu, version, tuple(kernels_of_module(module))), file="k.ptx")
    dtype = DTYPES[element]
    source = rng.integers(
        0, 2 if element == "i1" else 256, count * np.dtype(dtype).itemsize, dtype=np.uint8
    ).view(dtype)
    a, b = gpu.buffer(source, "a"), gpu.buffer(np.zeros_like(source), "b")
    result = loaded.kernel(None).launch((1,), [a, b], seed=int(rng.integers(1 << 30)))
    assert not result.findings, result.findings.text("conversion")
    assert b.array().tobytes() == source.tobytes()
    return kind


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize(
    ("shape", "registers", "warps"), [((8, 16), 3, 1), ((4, 8, 8), 3, 2), ((32,), 1, 1), ((64, 32), 5, 2)]
)
def test_random_layouts(shape: tuple[int, ...], registers: int, warps: int, element: str) -> None:
    rng = np.random.default_rng(fresh_seed("layouts"))
    src, dst = (random_layout(rng, shape, registers, warps) for _ in range(2))
    kind = run(program(shape, element, src, dst, 1 << warps), element, int(np.prod(shape)))
    assert kind in (SharedRoundTrip, LaneShuffle, RegisterMove)


ROWS = blocked((64, 64), (1, 4), (2, 16), (4, 1), (1, 0))
COLUMNS = blocked((64, 64), (4, 1), (16, 2), (1, 4), (0, 1))
ACCUMULATOR = mma_m16n8_accumulator((64, 64), (2, 2))


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize(
    ("src", "dst"), [(ROWS, ACCUMULATOR), (ACCUMULATOR, ROWS)], ids=["to mma", "from mma"]
)
def test_a_conversion_in_parts(src: LinearLayout, dst: LinearLayout, parts: int, element: str) -> None:
    whole = 64 * 64 * np.dtype(DTYPES[element]).itemsize
    kind = run(program((64, 64), element, src, dst, 4), element, 64 * 64, room=whole // parts)
    assert kind is (SharedRoundTrip if parts == 1 else PartedRoundTrip)


def test_a_conversion_that_has_no_room_in_any_parts_is_refused() -> None:
    module = parse_module(program((64, 64), "f64", ROWS, COLUMNS, 4), "conversion.mlir")
    kernel = next(op for op in module.walk() if isinstance(op, nv_tileaa.Func))
    with pytest.raises(DiagnosticError, match="bytes of shared memory.* for a conversion of tile 64x64xf64"):
        allocate(kernel, dataclasses.replace(lookup("sm_80"), max_shared_per_block=512))


@pytest.mark.parametrize(
    ("target", "element", "shape"), [("sm_120a", "f32", (128, 256)), ("sm_80", "f64", (256, 128))]
)
def test_a_tile_that_is_larger_than_shared_memory_is_transposed(
    target: str, element: str, shape: tuple[int, int]
) -> None:
    rows, columns = shape
    tile, turned = f"tile<{rows}x{columns}x{element}>", f"tile<{columns}x{rows}x{element}>"
    text = tile_program(
        f"%y = permute %x [1, 0] : {tile} -> {turned}", {"x": (element, shape)}, {"y": (element, shape[::-1])}
    )
    x = random_tile(element, shape, np.random.default_rng(fresh_seed()))
    [_, y] = run_program(text, x, empty(element, shape[::-1]), target=target)
    assert np.array_equal(y, x.T)
    check_tools(text, target)


@pytest.mark.parametrize("element_bytes", [4, 8])
def test_every_transposition_fits_the_smallest_shared_memory(element_bytes: int) -> None:
    room = min(target.max_shared_per_block for target in targets())
    vector = 16 // element_bytes
    for rows_bits in range(18):
        shape = (1 << rows_bits, 1 << 17 - rows_bits)
        source = blocked_rows(shape, vector)
        wanted = transpose(blocked_rows(shape[::-1], vector), (1, 0))
        plan = plan_conversion(source, wanted, 8 * element_bytes)
        if isinstance(plan, SharedRoundTrip):
            assert plan.scratch_bytes // most_parts(source, wanted) <= room


def blocked_rows(shape: tuple[int, int], vector: int) -> LinearLayout:
    """A tile of 16 warps, vectors along its rows."""
    return coalesced(shape, vector, 16)


def test_pointers_go_through_shared_memory() -> None:
    n = 64
    body = f"""%one = reshape %base : tile<ptr<f32>> -> tile<1x1xptr<f32>>
  %all = broadcast %one : tile<1x1xptr<f32>> -> tile<{n}x{n}xptr<f32>>
  %moved = offset %all, %x : tile<{n}x{n}xptr<f32>>, tile<{n}x{n}xi32> -> tile<{n}x{n}xptr<f32>>
  %turned = permute %moved [1, 0] : tile<{n}x{n}xptr<f32>> -> tile<{n}x{n}xptr<f32>>
  %y, %last = load_ptr_tko weak %turned : tile<{n}x{n}xptr<f32>> -> tile<{n}x{n}xf32>, token"""
    text = tile_program(body, {"x": ("i32", (n, n))}, {"y": ("f32", (n, n))}, {"base": "ptr<f32>"})
    rng = np.random.default_rng(fresh_seed())
    places = rng.permutation(n * n).astype(np.int32).reshape(n, n)
    data = rng.standard_normal(n * n).astype(np.float32)
    [_, y, _] = run_program(text, places, empty("f32", (n, n)), data)
    assert np.array_equal(y, data[places.T])
    check_tools(text, "sm_90a")
