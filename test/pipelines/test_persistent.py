"""Persistent kernels: their results are those of the plain kernel, in any order of programs, with few CTAs and many."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import (
    assembled,
    compiled,
    empty,
    fresh_seed,
    launch,
    launch_ptx,
    random,
)
from trials import Trial, changed_lines, missed, near, without

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup

Array = np.ndarray[Any, Any]
EXAMPLES = Path(__file__).parents[2] / "examples"
CORPUS = Path(__file__).parents[1] / "corpus"
GEMM = (EXAMPLES / "gemm.mlir").read_text()
SOFTMAX = (CORPUS / "softmax_f32_1024.mlir").read_text()

COUNT = """entry @count(%counter: tile<ptr<i32>>, %out: tile<ptr<i32>>, %sizes: tile<ptr<i32>>) {
  %token = make_token : token
  %one = constant <i32: 1> : tile<i32>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %nx, %ny, %nz = get_num_tile_blocks : tile<i32>
  %n, %t = atomic_rmw_tko relaxed device %counter, add, %one token = %token : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %plane = muli %z, %ny : tile<i32>
  %row = addi %plane, %y : tile<i32>
  %begin = muli %row, %nx : tile<i32>
  %at = addi %begin, %x : tile<i32>
  %p = offset %out, %at : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %d = store_ptr_tko weak %p, %n token = %token : tile<ptr<i32>>, tile<i32> -> token
  %area = muli %nx, %ny : tile<i32>
  %volume = muli %area, %nz : tile<i32>
  %e = store_ptr_tko weak %sizes, %volume token = %token : tile<ptr<i32>>, tile<i32> -> token
  return
}
"""  # noqa: E501
"""Writes at each place of the grid, how many programs ran before."""


def arguments(*arrays: Array) -> list[Any]:
    return [v for a in arrays for v in (a, *(np.int32(n) for n in (*a.shape, a.shape[1], 1)))]


def ran(grid: tuple[int, int, int], **options: Any) -> tuple[Array, int]:
    """The order in which programs of a grid ran, by z, y and x; and the programs that they counted."""
    x, y, z = grid
    arrays, _ = launch(
        COUNT,
        np.zeros(1, np.int32),
        np.full((z, y, x), -1, np.int32),
        np.zeros(1, np.int32),
        grid=grid,
        **options,
    )
    assert arrays[0][0] == x * y * z
    return arrays[1], arrays[2][0]


# -- order


def by_rows(columns: int, rows: int) -> Iterator[tuple[int, int]]:
    return ((x, y) for y in range(rows) for x in range(columns))


def from_the_end(columns: int, rows: int, height: int) -> list[tuple[int, int]]:
    """(x, y) of the programs, in bands of `height` rows from the last column on."""
    return [
        (x, y)
        for top in range(0, rows, height)
        for x in reversed(range(columns))
        for y in range(top, min(top + height, rows))
    ]


def grouped(columns: int, rows: int, width: int) -> Iterator[tuple[int, int]]:
    for left in range(0, columns, width):
        for x, y in by_rows(min(width, columns - left), rows):
            yield left + x, y


def hilbert(columns: int, rows: int, width: int) -> Iterator[tuple[int, int]]:
    for top in range(0, rows, width):
        for left in range(0, columns, width):
            size, height = min(width, columns - left), min(width, rows - top)
            square = curve(width) if size == height == width else by_rows(size, height)
            yield from ((left + x, top + y) for x, y in square)


def curve(width: int) -> list[tuple[int, int]]:
    """A Hilbert curve, made of four half as large: turned, plain, plain, and turned back."""
    if width == 1:
        return [(0, 0)]
    half, small = width // 2, curve(width // 2)
    return [
        *((y, x) for x, y in small),
        *((x, y + half) for x, y in small),
        *((x + half, y + half) for x, y in small),
        *((width - 1 - y, half - 1 - x) for x, y in small),
    ]


def test_the_curve_of_the_reference_goes_from_neighbor_to_neighbor() -> None:
    for width in (2, 4, 8):
        found = curve(width)
        assert sorted(found) == sorted(by_rows(width, width)) and found[-1] == (width - 1, 0)
        assert all(abs(a - c) + abs(b - d) == 1 for (a, b), (c, d) in pairwise(found))


@pytest.mark.parametrize("persistent", ["static", "counter"])
@pytest.mark.parametrize("raster", ["rows", "reversed:3", "grouped:4", "hilbert:4"])
def test_one_cta_runs_the_programs_in_order(raster: str, persistent: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    columns, rows, planes = (int(n) for n in rng.integers(1, (14, 11, 3)))
    found, counted = ran((columns, rows, planes), persistent=persistent, raster=raster, resident=1)
    order = {
        "rows": by_rows(columns, rows),
        "reversed:3": from_the_end(columns, rows, 3),
        "grouped:4": grouped(columns, rows, 4),
        "hilbert:4": hilbert(columns, rows, 4),
    }[raster]
    expected = np.empty((planes, rows, columns), np.int32)
    for number, (x, y) in enumerate(order):
        expected[:, y, x] = number + columns * rows * np.arange(planes)
    np.testing.assert_array_equal(found, expected)
    assert counted == columns * rows * planes


@pytest.mark.parametrize(
    ("raster", "persistent"),
    [
        ("reversed:8", "never"),
        ("grouped:8", "never"),
        ("hilbert:8", "never"),
        ("hilbert:4", "static"),
        ("grouped:4", "counter"),
        ("hilbert:4", "cancel"),
    ],
)
def test_every_program_runs_once(raster: str, persistent: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    columns, rows, planes = rng.integers(1, (20, 20, 3)).tolist()
    x, y, z = grid = (columns, rows, planes)
    found, counted = ran(grid, target="sm_100a", persistent=persistent, raster=raster)
    assert sorted(found.flat) == list(range(x * y * z)) and counted == x * y * z, grid


def test_a_grid_of_one_axis_has_no_other_order() -> None:
    """The kernel does not ask for a second axis."""
    text = SOFTMAX
    assert compiled(text, "sm_90a", raster="hilbert:8").ptx == compiled(text, "sm_90a").ptx


# -- results


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize(
    ("target", "persistent"),
    [("sm_80", "static"), ("sm_80", "counter"), ("sm_90a", "static"), ("sm_90a", "counter"), ("sm_100a", "static"),
     ("sm_100a", "cancel"), ("sm_120a", "cancel")],
)  # fmt: skip
def test_gemm(target: str, persistent: str, mode: str) -> None:
    """Programs of a ragged product, of which each CTA runs several, or one, or none."""
    rng = np.random.default_rng(fresh_seed())
    m, n, k = int(rng.integers(65, 200)), 8 * int(rng.integers(9, 24)), 8 * int(rng.integers(1, 12))
    a, b = random("f16", (m, k), rng), random("f16", (k, n), rng)
    args, grid = arguments(a, b, empty("f16", (m, n))), (-(-m // 64), -(-n // 64))
    plain = launch(GEMM, *args, target=target, grid=grid)[0][2]
    np.testing.assert_allclose(plain.astype(np.float64), a.astype(np.float64) @ b, atol=0.05, rtol=1e-2)
    for resident in (1, 3, 100):
        options: dict[str, Any] = {"target": target, "grid": grid, "mode": mode, "resident": resident}
        found = launch(GEMM, *args, persistent=persistent, **options)[0][2]
        np.testing.assert_array_equal(found, plain)


def test_agents_stay_as_well() -> None:
    """The producer has the loop over programs, too, and loads for the next one while the consumer stores."""
    made = compiled(GEMM, "sm_90a", persistent="static")
    assert "wgmma.mma_async" in made.ptx and "cp.async.bulk.tensor" in made.ptx
    kernel = made.manifest.kernels[0]
    assert kernel.persistent is not None and kernel.persistent.scheduler == "static"
    # The hidden parameters come after the declared ones, and tensor maps after them.
    assert [p.type for p in kernel.parameters[15:]] == ["i32"] * 3 + ["tensormap"] * 3
    assembled(made.ptx, "sm_90a")


def test_tensor_memory_stays_as_well() -> None:
    """A CTA makes its barriers and takes tensor memory once, for all of its programs."""
    made = compiled(GEMM, "sm_100a", persistent="static")
    assert "tcgen05.mma" in made.ptx and "cp.async.bulk.tensor" in made.ptx
    rng = np.random.default_rng(fresh_seed())
    a, b = random("f16", (192, 64), rng), random("f16", (64, 192), rng)
    args = arguments(a, b, empty("f16", (192, 192)))
    options: dict[str, Any] = {"target": "sm_100a", "grid": (3, 3), "persistent": "static"}
    for mode in ("late", "early"):
        found = launch(GEMM, *args, **options, resident=1, mode=mode)[0][2]
        np.testing.assert_allclose(found.astype(np.float64), a.astype(np.float64) @ b, atol=0.05, rtol=1e-2)


@pytest.mark.parametrize("cluster", ["2x1", "2x2", "4x2"])
def test_gemm_with_clusters(cluster: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    text = (CORPUS / "gemm_f16_128x256x64.mlir").read_text()
    m, n, k = 136, 264, 72
    a, b = random("f16", (m, k), rng), random("f16", (k, n), rng)
    options: dict[str, Any] = {"target": "sm_90a", "grid": (2, 2), "cluster": cluster}
    plain = launch(text, *arguments(a, b, empty("f16", (m, n))), **options)[0][2]
    for mode in ("late", "early"):
        arrays, _ = launch(
            text,
            *arguments(a, b, empty("f16", (m, n))),
            **options,
            persistent="static",
            raster="grouped:4",
            resident=1,
            mode=mode,
        )
        np.testing.assert_array_equal(arrays[2], plain)


@pytest.mark.parametrize("cluster", ["1x1", "1x2", "1x8"])
def test_rows_with_an_exchange(cluster: str) -> None:
    """The parts of a row that the CTAs of a cluster exchange take the same places in each program."""
    rng = np.random.default_rng(fresh_seed())
    x = random("f32", (7, 1024), rng)
    args = arguments(x, empty("f32", x.shape))
    plain = launch(SOFTMAX, *args, target="sm_90a", grid=(7,), cluster=cluster)[0][1]
    for mode in ("late", "early"):
        for _ in range(3):
            arrays, _ = launch(
                SOFTMAX, *args, target="sm_90a", grid=(7,), cluster=cluster, persistent="static", resident=2,
                mode=mode,
            )  # fmt: skip
            np.testing.assert_array_equal(arrays[1], plain)


# -- synchronization


@pytest.mark.parametrize("persistent", ["static", "counter"])
def test_every_barrier_between_programs_is_needed(persistent: str) -> None:
    """All programs of a row use the same shared memory, and the number of the next one goes through it, too."""
    made = compiled(SOFTMAX, "sm_80", persistent=persistent)
    x = random("f32", (5, 1024), np.random.default_rng(fresh_seed()))
    args = arguments(x, empty("f32", x.shape))

    schedules = [(mode, seed) for mode in ("late", "early") for seed in range(4)]
    trial = Trial(args, "sm_80", (5,), lambda _: True, schedules, {"resident": 2})
    removed = list(changed_lines(made.ptx, without(r"bar\.sync|barrier\.sync")))
    assert len(removed) == (2 if persistent == "static" else 3)
    assert missed(made, removed, trial) == []


def test_every_synchronization_of_a_canceled_launch_is_needed() -> None:
    """The answer arrives at an mbarrier; all threads of a kernel without agents have read it before the next one."""
    made = compiled(SOFTMAX, "sm_100a", persistent="cancel")
    x = random("f32", (5, 1024), np.random.default_rng(fresh_seed()))
    shifted = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))

    schedules = [(mode, seed) for mode in ("late", "early") for seed in range(4)]
    right = near(1, shifted / shifted.sum(1, keepdims=True), 1e-5)
    trial = Trial(arguments(x, empty("f32", x.shape)), "sm_100a", (5,), right, schedules)
    names = r"mbarrier\.(init|arrive)|clusterlaunchcontrol\.(try|query_cancel\.is)|fence\.(mbarrier|proxy)|bar\.sync"
    removed = list(changed_lines(made.ptx, without(names)))
    waits = re.search(r"\t\{\n(?:(?!\t\}).*\n)*?.*mbarrier\.try_wait(?:(?!\t\}).*\n)*\t\}\n", made.ptx)
    assert waits is not None
    removed.append(("the wait", made.ptx.replace(waits[0], "")))
    assert len(removed) >= 8
    assert missed(made, removed, trial) == []
    assembled(made.ptx, "sm_100a")


# -- what is refused


def test_the_plain_interface_has_no_grid() -> None:
    options = Options(lookup("sm_90a"), until="ptx", persistent="static", plain_abi=True)
    with pytest.raises(
        DiagnosticError, match="persistent=static cannot be followed: the plain ABI has no parameters"
    ):
        compile_module(parse_module(GEMM, "gemm.mlir"), options)


def test_a_counter_excludes_clusters_without_agents() -> None:
    with pytest.raises(DiagnosticError, match="has clusters of 2 CTAs, which would each take a number"):
        compiled(SOFTMAX, "sm_90a", cluster="1x2", persistent="counter")


def test_no_launch_is_canceled_before_blackwell() -> None:
    with pytest.raises(DiagnosticError, match="sm_90, which has no cluster launch control"):
        compiled(GEMM, "sm_90a", persistent="cancel")


def test_programs_behind_one_that_returns_early_run() -> None:
    """The even ones return; each of the others stores its number."""
    text = """entry @k(%p: tile<ptr<i32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %token = make_token : token
  %last = andi %x, %one : tile<i32>
  %even = cmpi equal %last, %zero, signed : tile<i32> -> tile<i1>
  if %even {
    return
  }
  %at = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %d = store_ptr_tko weak %at, %x token = %token : tile<ptr<i32>>, tile<i32> -> token
  return
}
"""
    made = compiled(text, "sm_80", persistent="static")
    found, _ = launch_ptx(made, [np.zeros(9, np.int32)], "sm_80", (9,), file="k.ptx", resident=1)
    np.testing.assert_array_equal(found[0], [0, 1, 0, 3, 0, 5, 0, 7, 0])


def test_a_return_in_a_loop_is_refused_where_it_stands() -> None:
    text = """entry @k(%n: tile<i32>, %p: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %token = make_token : token
  loop {
    %none = cmpi equal %one, %n, signed : tile<i32> -> tile<i1>
    if %none {
      return
    }
    %d = store_ptr_tko weak %p, %n token = %token : tile<ptr<i32>>, tile<i32> -> token
    continue
  }
  return
}
"""
    with pytest.raises(DiagnosticError) as caught:
        compiled(text, "sm_80", persistent="static")
    (problem,) = caught.value.diagnostics
    assert "returns early: the kernel cannot be persistent" in problem.message
    assert "program.mlir:7:7" in str(caught.value)
