"""Clusters: the arms of plan-cta, results on the simulated GPU, every synchronization removed in turn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import (
    check_tools,
    compiled,
    empty,
    fresh_seed,
    launch,
    launch_ptx,
    program,
    random,
    stopped_by_findings,
)
from trials import Trial, changed_lines, missed, near, without_synchronization_of_cluster

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import F16, F32, I32, FloatType, RankedTensorType
from tessera_tools.parser import parse_module
from tessera_tools.passes.base import PassContext
from tessera_tools.passes.tileas.cta_arms import ARMS
from tessera_tools.passes.tileas.cta_layouts import Blocks, given_blocks, with_blocks
from tessera_tools.passes.tileas.plan_cta import PlanCTA, anchors

CORPUS = Path(__file__).parents[2] / "corpus"
SOFTMAX = (CORPUS / "softmax_f32_1024.mlir").read_text()


def gemm(m: int, n: int, k: int, hint: str = "") -> str:
    """The corpus's GEMM with other tiles, and hints for sm_90."""
    text = (CORPUS / "gemm_f16_128x256x64.mlir").read_text()
    for old, new in (("128x64", f"{m}x{k}"), ("64x256", f"{k}x{n}"), ("128x256", f"{m}x{n}")):
        text = re.sub(rf"\b{old}(?=x|\))|(?<=\(){old}(?=\))", new.replace("x", "×"), text)
    return text.replace("×", "x").replace("sm_90 = {}", f"sm_90 = {{{hint}}}")


def arguments(*arrays: np.ndarray[Any, Any]) -> list[Any]:
    return [v for a in arrays for v in (a, *(np.int32(n) for n in (*a.shape, a.shape[1], 1)))]


def check_gemm(
    tile: tuple[int, int, int], grid: tuple[int, int], cluster: str, ragged: bool, **options: Any
) -> None:
    rng = np.random.default_rng(fresh_seed())
    m, n, k = grid[0] * tile[0], grid[1] * tile[1], 6 * tile[2]
    if ragged:
        m, n, k = m - int(rng.integers(1, tile[0])), n - 8 * int(rng.integers(1, tile[1] // 8)), k - 8
    a, b = random("f16", (m, k), rng), random("f16", (k, n), rng)
    arrays, _ = launch(
        gemm(*tile),
        *arguments(a, b, empty("f16", (m, n))),
        target="sm_90a",
        grid=grid,
        cluster=cluster,
        **options,
    )
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(arrays[2].astype(np.float64), expected, rtol=1e-2, atol=1e-2 * np.sqrt(k))


# -- seeds

PRODUCTS = """
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @f(%a: tensor<128x16xf16>, %b: tensor<16x128xf16>, %c: tensor<128x128xf32>,
                    %d: tensor<64x128xf16>, %e: tensor<128x64xf16>, %f: tensor<64x64xf32>)
      attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>} {
    %0 = nv_tileas.dot %a, %b, %c ATOM : tensor<128x16xf16>, tensor<16x128xf16>, tensor<128x128xf32>
    %1 = nv_tileas.dot %d, %e, %f ATOM : tensor<64x128xf16>, tensor<128x64xf16>, tensor<64x64xf32>
    nv_tileaa.return
  }
}
""".replace("ATOM", "{atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>}")


def test_parts_are_asked_for_at_the_product_with_the_most_work() -> None:
    """Not at that with the most sums: 64 x 64 x 128 multiplications are more than 128 x 128 x 16."""
    function: Any = next(op for op in parse_module(PRODUCTS).walk() if op.name == "nv_tileaa.func")
    assert [op.a.type.shape for op, _ in anchors(function)] == [(64, 128), (128, 16)]


# -- results


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize(
    ("tile", "cluster"),
    [
        ((128, 64, 64), "2x1"),
        ((64, 128, 64), "1x2"),
        ((128, 128, 64), "2x2"),
        ((256, 64, 64), "4x1"),
        ((256, 128, 64), "4x2"),
    ],
)
def test_gemm(tile: tuple[int, int, int], cluster: str, ragged: bool) -> None:
    check_gemm(tile, (1, 2), cluster, ragged, mode="late")


@pytest.mark.parametrize("mode", ["early", "late"])
def test_gemm_with_eight_schedules(mode: str) -> None:
    for _ in range(8):
        check_gemm((128, 64, 64), (3, 1), "2x1", ragged=False, mode=mode)


def test_the_result_is_that_of_one_cta() -> None:
    """Each element is the same sum, in the same order."""
    rng = np.random.default_rng(fresh_seed())
    a, b = random("f16", (128, 256), rng), random("f16", (256, 64), rng)
    given = arguments(a, b, empty("f16", (128, 64)))
    one, two = (
        launch(gemm(128, 64, 64), *given, target="sm_90a", cluster=cluster)[0][2]
        for cluster in ("auto", "2x1")
    )
    assert (one.view(np.uint16) == two.view(np.uint16)).all()


def test_attention_shares_keys_and_values() -> None:
    text = (
        (CORPUS / "attention_causal_f16_d64.mlir")
        .read_text()
        .replace("sm_90 = {}", "sm_90 = {num_cta_in_cga = 2}")
    )
    assert "nv_tileas" not in text
    rng = np.random.default_rng(fresh_seed())
    length = 128
    q, k, v = (random("f16", (1, length, 64), rng) for _ in range(3))
    scale = np.float32(np.log2(np.e) / 8)
    given = [
        x
        for a in (q, k, v, empty("f16", (1, length, 64)))
        for x in (a, *map(np.int32, a.shape), *(np.int32(s // 2) for s in a.strides))
    ]
    arrays, _ = launch(text, *given, scale, target="sm_90a", grid=(2, 1), cluster="2x1")
    q, k, v = (x[0].astype(np.float64) for x in (q, k, v))
    scores = np.where(np.tri(length, dtype=bool), q @ k.T * float(scale), -np.inf)
    weights = np.exp2(scores - scores.max(1, keepdims=True))
    expected = weights / weights.sum(1, keepdims=True) @ v
    np.testing.assert_allclose(arrays[3][0].astype(np.float64), expected, atol=2e-2)


def check_softmax(cluster: str, columns: int, **options: Any) -> None:
    rng = np.random.default_rng(fresh_seed())
    x = random("f32", (3, columns), rng)
    arrays, _ = launch(
        SOFTMAX, *arguments(x, empty("f32", x.shape)), target="sm_90a", grid=(3,), cluster=cluster, **options
    )
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(arrays[1], e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["early", "late"])
@pytest.mark.parametrize("cluster", ["1x2", "1x4", "1x8"])
def test_reductions_along_an_axis_that_the_cluster_splits(cluster: str, mode: str) -> None:
    check_softmax(cluster, 1024, mode=mode)
    check_softmax(cluster, 777, mode=mode)


@pytest.mark.parametrize("element", ["i8", "i32", "i64"])
@pytest.mark.parametrize("cluster", ["1x2", "4x1"])
def test_each_cta_stores_its_part_of_an_iota(element: str, cluster: str) -> None:
    text = program(f"%d = iota : tile<64x{element}>", {}, {"d": (element, (64,))})
    (found,), _ = launch(text, empty(element, (64,)), target="sm_90a", cluster=cluster)
    np.testing.assert_array_equal(found, np.arange(64))


@pytest.mark.parametrize("cluster", ["1x2", "1x4"])
def test_the_sum_of_an_iota_of_which_each_cta_has_a_part(cluster: str) -> None:
    body = """
  %i = iota : tile<256xi32>
  %s = reduce %i dim=0 identities=[0 : i32] : tile<256xi32> -> tile<i32> (%l: tile<i32>, %r: tile<i32>) {
    %m = addi %l, %r : tile<i32>
    yield %m : tile<i32>
  }
  %o = reshape %s : tile<i32> -> tile<1xi32>
  %t = broadcast %o : tile<1xi32> -> tile<256xi32>
  %d = addi %i, %t : tile<256xi32>"""
    text = program(body, {}, {"d": ("i32", (256,))})
    (found,), _ = launch(text, empty("i32", (256,)), target="sm_90a", cluster=cluster)
    np.testing.assert_array_equal(found, np.arange(256) + 255 * 128)


@pytest.mark.parametrize("cluster", ["4x1", "4x2"])
def test_an_iota_whose_parts_have_rows_and_columns(cluster: str) -> None:
    """A part begins where its row and its column do."""
    body = "%i = iota : tile<128xi32>\n%d = reshape %i : tile<128xi32> -> tile<4x32xi32>"
    text = program(body, {}, {"d": ("i32", (4, 32))})
    (found,), _ = launch(text, empty("i32", (4, 32)), target="sm_90a", cluster=cluster)
    np.testing.assert_array_equal(found, np.arange(128).reshape(4, 32))


# -- what the text and the manifest say


def test_the_hint_makes_a_cluster() -> None:
    text = gemm(128, 64, 64, "num_cta_in_cga = 2")
    made = compiled(text, "sm_90a")
    kernel = made.manifest.kernel()
    assert kernel.cluster == (2, 1, 1)
    assert kernel.blocks_are_clusters
    assert ".reqnctapercluster 2, 1, 1" in made.ptx
    assert ".blocksareclusters" in made.ptx
    assert ".multicast::cluster" in made.ptx
    check_tools(text, "sm_90a")


def test_the_option_decides_over_the_hint() -> None:
    made = compiled(gemm(128, 64, 64, "num_cta_in_cga = 2"), "sm_90a", cluster="1x1")
    assert ".reqnctapercluster" not in made.ptx
    assert made.ptx == compiled(gemm(128, 64, 64), "sm_90a").ptx


def test_a_target_without_clusters_ignores_the_hint() -> None:
    hinted = gemm(128, 64, 64).replace("sm_90 = {}", "default = {num_cta_in_cga = 2}")
    assert compiled(hinted, "sm_80").ptx == compiled(gemm(128, 64, 64), "sm_80").ptx


def test_a_kernel_that_cannot_follow_the_hint_is_as_without_it() -> None:
    """The prefixes of a part depend on the part before it."""
    view = "tensor_view<4096xf32, strides=[1]>"
    tiles = f"partition_view<tile=(4096), {view}>"
    text = f"""
entry @k(%p: tile<ptr<f32>>) optimization_hints=<sm_90 = {{HINT}}> {{
  %b = make_tensor_view %p, shape = [4096], strides = [1] : {view}
  %v = make_partition_view %b : {tiles}
  %i = constant <i32: 0> : tile<i32>
  %x, %t = load_view_tko weak %v[%i] : {tiles}, tile<i32> -> tile<4096xf32>, token
  %s = scan %x dim=0 reverse=false identities=[0.0 : f32] : tile<4096xf32> -> tile<4096xf32>
    (%e: tile<f32>, %a: tile<f32>) {{
    %c = addf %e, %a : tile<f32>
    yield %c : tile<f32>
  }}
  %u = store_view_tko weak %s, %v[%i] : tile<4096xf32>, {tiles}, tile<i32> -> token
}}
"""
    hinted, plain = (
        compiled(text.replace("HINT", hint), "sm_90a").ptx for hint in ("num_cta_in_cga = 2", "")
    )
    assert hinted == plain


@pytest.mark.parametrize("count", ["-1", "0", "3", "16", "9223372036854775807", "true", '"two"'])
def test_a_wrong_hint_is_ignored(count: str) -> None:
    hinted = gemm(128, 64, 64, f"num_cta_in_cga = {count}")
    assert compiled(hinted, "sm_90a").ptx == compiled(gemm(128, 64, 64), "sm_90a").ptx


def test_a_target_without_clusters_refuses_the_option() -> None:
    with pytest.raises(DiagnosticError, match="sm_80, which has no clusters"):
        compiled(gemm(128, 64, 64), "sm_80", cluster="2x1")


def test_a_kernel_by_hand_refuses_the_option() -> None:
    text = (CORPUS.parents[1] / "examples" / "gemm_tile.mlir").read_text()
    with pytest.raises(DiagnosticError, match="cluster=2x1 cannot be followed"):
        compiled(text, "sm_90a", cluster="2x1")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("vector_add_f32", "cannot be split in rows and columns"),
        ("gemm_f16_64x64x32", "expected ROWSxCOLUMNS"),
    ],
)
def test_what_is_refused(name: str, problem: str) -> None:
    cluster = "2" if "expected" in problem else "2x2"
    with pytest.raises(DiagnosticError, match=problem):
        compiled((CORPUS / f"{name}.mlir").read_text(), "sm_90a", cluster=cluster)


# -- synchronization


def test_every_synchronization_is_needed() -> None:
    """Without any one of them, the simulated GPU finds a defect in some schedule, or the result is wrong."""
    rng = np.random.default_rng(fresh_seed())
    made = compiled(gemm(128, 64, 64), "sm_90a", cluster="2x1")
    a, b = random("f16", (128, 512), rng), random("f16", (512, 64), rng)
    given = arguments(a, b, empty("f16", (128, 64)))
    expected = a.astype(np.float64) @ b.astype(np.float64)

    schedules = [(mode, seed) for mode in ("early", "late") for seed in range(4)]
    trial = Trial(given, "sm_90a", (1,), near(2, expected, 0.5), schedules, {"max_instructions": 400_000})
    last = max(i for i, line in enumerate(made.ptx.split("\n")) if "wgmma.mma_async" in line)
    # Nobody fills the stages that the end of the loop releases again.
    changed = [
        (what, ptx)
        for what, ptx in changed_lines(made.ptx, without_synchronization_of_cluster())
        if "mbarrier.arrive" not in what or int(what.partition(":")[0]) <= last
    ]
    assert len(changed) >= 6
    assert missed(made, changed, trial) == []


@stopped_by_findings()
def test_every_barrier_of_an_exchange_is_needed() -> None:
    """CTAs meet before they read what others have stored, and before they end or store again."""
    made = compiled(SOFTMAX, "sm_90a", cluster="1x2")
    x = random("f32", (1, 1024), np.random.default_rng(fresh_seed()))
    lines = made.ptx.splitlines()
    meets = [number for number, line in enumerate(lines) if "barrier.cluster.arrive" in line]
    assert len(meets) == 4
    # Nothing reuses the places of the first exchange here, as it would in a loop.
    for number in (meets[0], meets[2], meets[3]):
        # The arrival and the wait behind it.
        wait = next(n for n in range(number, len(lines)) if "barrier.cluster.wait" in lines[n])
        mutant = type(made)(
            "\n".join(line for n, line in enumerate(lines) if n not in (number, wait)), made.manifest
        )
        assert any(
            launch_ptx(
                mutant,
                arguments(x, empty("f32", x.shape)),
                "sm_90a",
                (1,),
                file="mutant.ptx",
                seed=seed,
                mode="late",
            )[1].findings
            for seed in range(8)
        ), number


# -- the arms


def _text(shape: tuple[int, ...], element: Any, blocks: Blocks) -> str:
    return str(with_blocks(RankedTensorType(shape, element), blocks))


def _backward(value: str, shape: tuple[int, ...], blocks: Blocks, element: Any = I32) -> str:
    plain = RankedTensorType(shape, element)
    return (
        f'%s = nv_tileas.convert_layout %{value} {{plancta.direction = "backward"}} : {plain} -> '
        f"{_text(shape, element, blocks)}"
    )


ROWS, COLUMNS = ((32, 0),), ((0, 16),)
LOAD = (
    "%a, %ta = nv_tileas.tiled_load %v[%z, %z], %none {atom = #cute.copy_atom<sm80_ldg_32_i32>} : "
    "!nv_tileaa.memref<64x32xi32> -> tensor<64x32xi32>, !nv_tileaa.mem_token"
)
SPLAT = "%a = nv_tileaa.splat %x : i32 -> tensor<64x32xi32>"
REDUCE = "%b = nv_tileaa.reduce %a axis = 1 identities = [0 : i32] : tensor<64x32xi32> -> tensor<64xi32>"
SCAN = "%b = nv_tileaa.scan %a axis = 1 identities = [0 : i32] : tensor<64x32xi32> -> tensor<64x32xi32>"
SUM = "{\n^bb0(%l: i32, %r: i32):\n%m = arith.addi %l, %r : i32\nnv_tileaa.yield %m : i32\n}"
POINTERS = "%q = nv_tileaa.splat %p : !llvm.ptr<1> -> tensor<64x32x!llvm.ptr<1>>"
LOOP = (
    "%b = nv_tileaa.loop (%c = %a) : (tensor<64x32xi32>) -> tensor<64x32xi32> {\nnv_tileaa.if %k {\n"
    "nv_tileaa.break %c : tensor<64x32xi32>\n}\nnv_tileaa.continue %c : tensor<64x32xi32>\n}"
)
DOT = (
    "%f = nv_tileaa.splat %h : f16 -> tensor<64x16xf16>\n%g = nv_tileaa.splat %h : f16 -> tensor<16x32xf16>\n"
    "%c = nv_tileaa.splat %y : f32 -> tensor<64x32xf32>\n"
    "%d = nv_tileas.dot %f, %g, %c {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : "
    "tensor<64x16xf16>, tensor<16x32xf16>, tensor<64x32xf32>"
)

Case = tuple[str, str, Blocks]
CASES: dict[tuple[str, str], Case] = {
    ("tiled load", "backward"): (f"{LOAD}\n{_backward('a', (64, 32), ROWS)}", "a", ROWS),
    ("constant, iota, splat", "backward"): (f"{SPLAT}\n{_backward('a', (64, 32), COLUMNS)}", "a", COLUMNS),
    ("elementwise", "backward"): (
        f"{SPLAT}\n%b = arith.addi %a, %a : tensor<64x32xi32>\n{_backward('b', (64, 32), ROWS)}", "a", ROWS,
    ),
    ("elementwise", "forward"): (
        f"{SPLAT}\n{_backward('a', (64, 32), ROWS)}\n%b = arith.addi %a, %a : tensor<64x32xi32>", "b", ROWS,
    ),
    ("sum over the cluster", "backward"): (
        f"{SPLAT}\n%b = nv_tileas.cluster_reduce_scatter %a : tensor<64x32xi32> -> tensor<64x32xi32>\n"
        f"{_backward('b', (64, 32), COLUMNS)}",
        "a", ((0, 0),),
    ),
    ("sum over the cluster", "forward"): (
        f"{SPLAT}\n%b = nv_tileas.cluster_reduce_scatter %a : tensor<64x32xi32> -> tensor<64x32xi32>\n"
        f"{_backward('b', (64, 32), ROWS)}",
        "b", ROWS,
    ),
    ("broadcast", "backward"): (
        "%a = nv_tileaa.splat %x : i32 -> tensor<64x1xi32>\n"
        f"%b = nv_tileaa.broadcast %a : tensor<64x1xi32> -> tensor<64x32xi32>\n{_backward('b', (64, 32), COLUMNS)}",
        "a", ((0, 0),),
    ),
    ("broadcast", "forward"): (
        f"{SPLAT}\n{_backward('a', (64, 32), ROWS)}\n"
        "%b = nv_tileaa.broadcast %a : tensor<64x32xi32> -> tensor<64x32xi32>", "b", ROWS,
    ),
    ("permute", "backward"): (
        f"{SPLAT}\n%b = nv_tileaa.permute %a [1, 0] : tensor<64x32xi32> -> tensor<32x64xi32>\n"
        f"{_backward('b', (32, 64), ((0, 32),))}", "a", ROWS,
    ),
    ("permute", "forward"): (
        f"{SPLAT}\n{_backward('a', (64, 32), ROWS)}\n"
        "%b = nv_tileaa.permute %a [1, 0] : tensor<64x32xi32> -> tensor<32x64xi32>", "b", ((0, 32),),
    ),
    ("reshape", "backward"): (
        f"{SPLAT}\n%b = nv_tileaa.reshape %a : tensor<64x32xi32> -> tensor<2048xi32>\n"
        f"{_backward('b', (2048,), ((1024,),))}", "a", ROWS,
    ),
    ("reshape", "forward"): (
        f"{SPLAT}\n{_backward('a', (64, 32), ROWS)}\n"
        "%b = nv_tileaa.reshape %a : tensor<64x32xi32> -> tensor<2048xi32>", "b", ((1024,),),
    ),
    ("bytes", "backward"): (
        "%w = arith.trunci %x : i32 to i8\n%a = nv_tileaa.splat %w : i8 -> tensor<2048xi8>\n"
        "%b = nv_tileaa.unpack %a : tensor<2048xi8> -> tensor<4096xf4E2M1FN>\n"
        f"{_backward('b', (4096,), ((2048,),), FloatType('f4E2M1FN'))}", "a", ((1024,),),
    ),
    ("bytes", "forward"): (
        f"{SPLAT}\n{_backward('a', (64, 32), ROWS)}\n"
        "%b = nv_tileaa.reshape %a : tensor<64x32xi32> -> tensor<2048xi32>\n"
        "%c = arith.trunci %b : tensor<2048xi32> to tensor<2048xi4>\n"
        "%d = nv_tileaa.pack %c : tensor<2048xi4> -> tensor<1024xi8>", "d", ((512,),),
    ),
    ("cat", "backward"): (
        f"{SPLAT}\n%b = nv_tileaa.cat %a, %a axis = 1 : tensor<64x32xi32>, tensor<64x32xi32> -> tensor<64x64xi32>\n"
        f"{_backward('b', (64, 64), ROWS)}", "a", ROWS,
    ),
    ("cat", "forward"): (
        f"{SPLAT}\n{_backward('a', (64, 32), ROWS)}\n"
        "%b = nv_tileaa.cat %a, %a axis = 1 : tensor<64x32xi32>, tensor<64x32xi32> -> tensor<64x64xi32>", "b", ROWS,
    ),
    ("reduce", "backward"): (
        f"{SPLAT}\n{REDUCE} {SUM}\n"
        f"{_backward('b', (64,), ((32,),))}", "a", ROWS,
    ),
    ("reduce", "forward"): (
        f"{SPLAT}\n{_backward('a', (64, 32), ROWS)}\n"
        f"{REDUCE} {SUM}",
        "b", ((32,),),
    ),
    ("scan", "backward"): (
        f"{SPLAT}\n{SCAN} {SUM}\n"
        f"{_backward('b', (64, 32), ROWS)}", "a", ROWS,
    ),
    ("scan", "forward"): (
        f"{SPLAT}\n{_backward('a', (64, 32), ROWS)}\n"
        f"{SCAN} {SUM}",
        "b", ROWS,
    ),
    ("product", "backward"): (f"{DOT}\n{_backward('d', (64, 32), ROWS, F32)}", "g", ((0, 0),)),
    ("factor", "forward"): (
        DOT.replace("%c = ", _backward("f", (64, 16), ROWS, F16) + "\n%c = "), "d", ROWS,
    ),
    ("counted loop", "backward"): (
        f"{SPLAT}\n%b = scf.for %i = %z to %x step %x iter_args(%c = %a) -> (tensor<64x32xi32>) : i32 {{\n"
        f"scf.yield %c : tensor<64x32xi32>\n}}\n{_backward('b', (64, 32), ROWS)}", "a", ROWS,
    ),
    ("counted loop", "forward"): (
        f"{SPLAT}\n{_backward('a', (64, 32), ROWS)}\n"
        "%b = scf.for %i = %z to %x step %x iter_args(%c = %a) -> (tensor<64x32xi32>) : i32 {\n"
        "scf.yield %c : tensor<64x32xi32>\n}", "b", ROWS,
    ),
    ("branch", "backward"): (
        f"{SPLAT}\n%b = scf.if %k -> (tensor<64x32xi32>) {{\nscf.yield %a : tensor<64x32xi32>\n}} else {{\n"
        f"scf.yield %a : tensor<64x32xi32>\n}}\n{_backward('b', (64, 32), ROWS)}", "a", ROWS,
    ),
    ("branch", "forward"): (
        f"{SPLAT}\n{_backward('a', (64, 32), ROWS)}\n%b = scf.if %k -> (tensor<64x32xi32>) {{\n"
        "scf.yield %a : tensor<64x32xi32>\n} else {\nscf.yield %a : tensor<64x32xi32>\n}", "b", ROWS,
    ),
    ("load through pointers", "backward"): (
        f"{POINTERS}\n%a, %ta = nv_tileaa.load %q, %none {{copy_atom = #cute.copy_atom<sm80_ldg_32_i32>}} : "
        "tensor<64x32x!llvm.ptr<1>> -> tensor<64x32xi32>, !nv_tileaa.mem_token\n"
        f"{_backward('a', (64, 32), ROWS)}", "q", ROWS,
    ),
    ("access through pointers", "forward"): (
        f"{SPLAT}\n{_backward('a', (64, 32), COLUMNS)}\n{POINTERS}\n"
        "%ta = nv_tileaa.store %q, %a, %none {copy_atom = #cute.copy_atom<sm80_stg_32_i32>} : "
        "tensor<64x32x!llvm.ptr<1>>, tensor<64x32xi32>, !nv_tileaa.mem_token", "q", COLUMNS,
    ),
    ("tiled store", "forward"): (
        f"{SPLAT}\n{_backward('a', (64, 32), COLUMNS)}\n"
        "%ta = nv_tileas.tiled_store %v[%z, %z], %a, %none {atom = #cute.copy_atom<sm80_stg_32_i32>} : "
        "tensor<64x32xi32>, !nv_tileaa.memref<64x32xi32>, !nv_tileaa.mem_token", "a", COLUMNS,
    ),
    ("slice", "backward"): (
        f"{SPLAT}\n%b = nv_tileaa.extract %a[%z, %x] : tensor<64x32xi32> -> tensor<64x8xi32>\n"
        f"{_backward('b', (64, 8), ROWS)}", "a", ROWS,
    ),
    ("slice", "forward"): (
        f"{SPLAT}\n{_backward('a', (64, 32), ROWS)}\n"
        "%b = nv_tileaa.extract %a[%z, %x] : tensor<64x32xi32> -> tensor<64x8xi32>", "b", ROWS,
    ),
    ("loop", "backward"): (
        f"{SPLAT}\n{LOOP}\n{_backward('b', (64, 32), ROWS)}", "a", ROWS,
    ),
    ("loop", "forward"): (
        f"{SPLAT}\n{_backward('a', (64, 32), ROWS)}\n{LOOP}", "b", ROWS,
    ),
}  # fmt: skip
"""(arm, direction) → (ops with a seed, a value, the parts that it then has)."""


def planned(ops: str, stop: str = "layouts") -> Operation:
    module = parse_module(
        'module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {\n'
        "nv_tileaa.func @k(%p: !llvm.ptr<1>, %x: i32, %y: f32, %h: f16, %k: i1) attributes {nv_tileaa.kernel_spec = "
        "#nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>} {\n%z = arith.constant 0 : i32\n"
        "%none = nv_tileaa.create_mem_token : !nv_tileaa.mem_token\n"
        "%v = nv_tileaa.make_memref %p, shape = [64, 32], stride = [32, 1], space = #nv_tileaa.global : "
        f"!nv_tileaa.memref<64x32xi32>\n{ops}\nnv_tileaa.return\n}}\n}}",
        "k.mlir",
    )
    PlanCTA(stop=stop).run(module, PassContext())
    return module


@pytest.mark.parametrize(("name", "direction"), CASES)
def test_an_arm(name: str, direction: str) -> None:
    ops, value, blocks = CASES[name, direction]
    found = [r for op in planned(ops).walk() for r in op.results if r.name_hint == value]
    assert [given_blocks(r, 1) for r in found] == [blocks]


def test_every_arm_has_a_case() -> None:
    assert {(arm.name, arm.direction) for arm in ARMS} == set(CASES)


def test_a_slice_along_an_axis_that_is_split() -> None:
    ops = (
        f"{SPLAT}\n{_backward('a', (64, 32), COLUMNS)}\n"
        "%b = nv_tileaa.extract %a[%z, %x] : tensor<64x32xi32> -> tensor<64x8xi32>"
    )
    with pytest.raises(DiagnosticError, match=r"takes slices along axes \[1\]"):
        planned(ops)


def test_a_wrong_direction() -> None:
    ops, _, _ = CASES["elementwise", "backward"]
    with pytest.raises(DiagnosticError, match='expected "backward" or "forward"'):
        planned(ops.replace('"backward"', '"up"'))


def test_a_value_in_two_parts() -> None:
    ops = (
        f"{SPLAT}\n{_backward('a', (64, 32), ROWS)}\n{_backward('a', (64, 32), COLUMNS).replace('%s', '%t')}"
    )
    with pytest.raises(DiagnosticError, match="needs another part"):
        planned(ops)


TWO_PARTS = (
    "%o = nv_tileaa.splat %x : i32 -> tensor<64x32xi32>\n%u = nv_tileaa.splat %x : i32 -> tensor<64x32xi32>\n"
    "%f = arith.addi %c, %o : tensor<64x32xi32>\n%g = arith.muli %c, %u : tensor<64x32xi32>\n"
    f"{_backward('f', (64, 32), ROWS)}\n{_backward('g', (64, 32), COLUMNS).replace('%s', '%t')}"
)
"""A CTA needs its rows of a tile %c, and its columns."""


def test_a_tile_of_which_two_parts_are_needed_is_made_twice() -> None:
    ops = planned(f"{SPLAT.replace('%a', '%c')}\n{TWO_PARTS}").walk()
    sums = {op.name: op.operands[0] for op in ops if op.name in ("arith.addi", "arith.muli")}
    assert given_blocks(sums["arith.addi"], 1) == ROWS
    assert given_blocks(sums["arith.muli"], 1) == COLUMNS


@pytest.mark.parametrize(
    "ops",
    [
        "%b = scf.for %i = %z to %x step %x iter_args(%c = %a) -> (tensor<64x32xi32>) : i32 {\nTWO_PARTS\n"
        "scf.yield %c : tensor<64x32xi32>\n}",
        "%c = scf.if %k -> (tensor<64x32xi32>) {\nscf.yield %a : tensor<64x32xi32>\n} else {\n"
        "scf.yield %a : tensor<64x32xi32>\n}\nTWO_PARTS",
    ],
)
def test_what_a_loop_carries_or_a_branch_gives_is_not_made_twice(ops: str) -> None:
    with pytest.raises(DiagnosticError, match="needs another part"):
        planned(f"{SPLAT}\n{ops.replace('TWO_PARTS', TWO_PARTS)}")
