"""Hints as they reach PTX; kernels compute the same with them."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from programs import TARGETS, empty, fresh_seed, random
from tile.kernels import compiled, example, launch, strided

from oracles import require_tool
from tessera_tools.diagnostics import DiagnosticError

ANNOTATE = ("tile-performance-annotation",)
MARK = ("tile-performance-annotation{markers=true}",)

COPY = """
func.func @copy(%A: memref<?x?x{element}>, %B: memref<?x?x{element}>, %n: index)
    attributes {{tessera.kernel, tessera.threads = 32, tessera.alignment = 16 : i64}} {{
  %c1 = arith.constant 1 : index
  %t = tile.lane_id : index
  %w = arith.constant {width} : index
  %j = arith.muli %t, %w : index
  scf.for %i = %c0 to {rows} step %c1 {{
    %v = tile.load_global{vector} %A[%i, %j] {{{attributes}}} : memref<?x?x{element}>
    tile.store_global{store} %v, %B[%i, %j] {{{attributes}}} : memref<?x?x{element}>
  }}
  return
}}
"""


def copy(element: str, width: int, policy: str = "", rows: str = "%c5") -> str:
    """A kernel that copies rows of 32 · width elements, from loads and stores of `width`.

    So short a loop is unrolled as often as a large body allows if the number of its rows is `%n`, and LLVM takes a
    second for that.
    """
    said = [f"vector_width = {width}"] * (width > 1) + [f'cache_policy = "{policy}"'] * bool(policy)
    vector, store = ("_vector", "_vector") if width > 1 else ("", "_element")
    return COPY.format(
        element=element, width=width, vector=vector, store=store, attributes=", ".join(said), rows=rows
    )


@pytest.mark.parametrize(
    ("element", "width", "rows"),
    [
        ("f32", 4, "%n"),
        ("bf16", 8, "%c5"),
        ("i64", 2, "%c5"),
        ("i8", 1, "%c5"),
        ("f16", 1, "%c5"),
        ("f64", 1, "%c5"),
    ],
)
def test_what_streams_is_copied_as_it_is(element: str, width: int, rows: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    bits = {"f32": 32, "bf16": 16, "i64": 64, "i8": 8, "f16": 16, "f64": 64}[element]
    dtype = np.dtype(f"u{bits // 8}")
    a = rng.integers(0, 1 << (bits - 1), (5, 32 * width), dtype=np.uint64).astype(dtype)
    text = copy(element, width, rows=rows)
    target = str(rng.choice(TARGETS))
    arrays, result = launch(
        text, *strided(a), *strided(np.zeros_like(a)), np.int64(5), target=target, passes=ANNOTATE
    )
    assert not result.findings, result.findings.text("copy")
    np.testing.assert_array_equal(arrays[1], a)
    ptx = compiled(text, target, ANNOTATE).ptx
    assert re.search(r"ld\.global\.cs\.", ptx)
    assert re.search(r"st\.global\.cs\.", ptx)
    assert "prefetch.global.L2 [" in ptx


OPERATORS = {"": "", "cache_global": ".cg", "streaming": ".cs", "evict_last": ".L1::evict_last"}


@pytest.mark.parametrize("policy", OPERATORS)
def test_what_the_author_says_comes_first(policy: str) -> None:
    ptx = compiled(copy("f32", 4, policy), "sm_80", ANNOTATE if policy else ()).ptx
    assert f"ld.global{OPERATORS[policy]}.v4.b32" in ptx
    assert f"st.global{OPERATORS[policy]}.v4.b32" in ptx


def test_a_policy_of_the_other_direction() -> None:
    with pytest.raises(DiagnosticError) as caught:
        compiled(copy("f32", 4, "write_through"), "sm_80")
    assert 'has the cache policy "write_through"; expected one of cache_all' in str(caught.value)


def prefetches_as_loads(ptx: str) -> str:
    """Each prefetch as a load of the place, whose result nobody reads: what it may not touch is then a finding."""
    ptx = ptx.replace("{\n", "{\n\t.reg .b16 %fetched;\n", 1)
    return re.sub(r"prefetch\.global\.L2 (\[.*?\]);", r"ld.global.b8 %fetched, \1;", ptx)


@pytest.mark.parametrize("name", ["attention_causal", "gemm_tile"])
def test_examples_compute_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(fresh_seed())
    if name == "gemm_tile":
        arrays, grid = (
            [random("f16", (120, 200), rng), random("f16", (200, 88), rng), empty("f32", (120, 88))],
            (1,),
        )
    else:
        shape = (1, 1, 200, 64)
        arrays, grid = [random("bf16", shape, rng) for _ in range(3)] + [empty("bf16", shape)], (4,)
    args = [x for array in arrays for x in strided(array)]
    target = str(rng.choice(TARGETS))
    before, _ = launch(example(name), *args, target=target, grid=grid)
    made = compiled(example(name), target, ANNOTATE)
    assert '.pragma "nounroll"' in made.ptx
    assert "prefetch.global.L2 [" in made.ptx
    assert re.search(r"st\.global\.cs\.", made.ptx)
    plain = launch(example(name), *args, target=target, grid=grid, passes=ANNOTATE)
    monkeypatch.setattr("tile.kernels.compiled", lambda *_: replace(made, ptx=prefetches_as_loads(made.ptx)))
    loaded = launch(example(name), *args, target=target, grid=grid, passes=ANNOTATE)
    for after, result in (plain, loaded):
        assert not result.findings, result.findings.text(name)
        np.testing.assert_array_equal(before[-1], after[-1])


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_tools_accept_the_hints(target: str, tmp_path: Path) -> None:
    """ptxas, and upstream MLIR."""
    ptxas, mlir = require_tool("ptxas"), require_tool("mlir-opt-22")
    for text in (copy("bf16", 8), copy("i8", 1), example("attention_causal")):
        made = compiled(text, target, MARK)
        file = tmp_path / "kernel.ptx"
        file.write_text(made.ptx)
        for command, given in (
            ([ptxas, f"-arch={target}", str(file), "-o", "/dev/null"], ""),
            ([mlir], made.llvm),
        ):
            done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr


RECORD = np.dtype([("time", "<u8"), ("marker", "<u4"), ("free", "<u4")])


def test_markers_become_records() -> None:
    """Each block's row: how many records there were, and the last of them; times do not go back.  gemm_tile has markers
    0 at its entry, 1 to 4 around its two products, 5 at its exit."""
    rng = np.random.default_rng(fresh_seed())
    a, b, d = random("f16", (256, 200), rng), random("f16", (200, 88), rng), empty("f32", (256, 88))
    args = [x for array in (a, b, d) for x in strided(array)]
    room = 6
    rows = np.zeros((2, 1 + room), RECORD)
    target = str(rng.choice(TARGETS))
    arrays, result = launch(
        example("gemm_tile"),
        *args,
        rows.view(np.uint8),
        np.int32(room),
        target=target,
        grid=(2, 1),
        passes=MARK,
    )
    assert not result.findings, result.findings.text("gemm")
    np.testing.assert_allclose(arrays[2], a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-2)
    records = arrays[3].view(RECORD).reshape(rows.shape)
    expected = [0, *[1, 2, 3, 4] * 2, 5]
    for row in records:
        assert row[0]["time"] == len(expected)
        # Record i lies at i modulo the room.
        last = range(len(expected) - room, len(expected))
        found = [row[1 + i % room] for i in last]
        assert [r["marker"] for r in found] == expected[-room:]
        times = [int(r["time"]) for r in found]
        assert times == sorted(times)
        assert times[0] > 0


def test_no_room_for_records() -> None:
    rows = np.zeros(16, np.uint8)
    a = np.arange(160, dtype=np.uint32).reshape(5, 32)
    arrays, result = launch(
        copy("f32", 1), *strided(a), *strided(np.zeros_like(a)), np.int64(5), rows, np.int32(0), passes=MARK
    )
    assert not result.findings, result.findings.text("copy")
    np.testing.assert_array_equal(arrays[1], a)
    assert not arrays[2].any()


def test_without_markers_nothing_is_measured() -> None:
    made = compiled(example("gemm_tile"), "sm_80", ANNOTATE)
    assert "globaltimer" not in made.ptx
    assert "profile" not in [p.name for p in made.manifest.kernels[0].parameters]
    assert "profile" in [
        p.name for p in compiled(example("gemm_tile"), "sm_80", MARK).manifest.kernels[0].parameters
    ]
