"""Clusters of several tile blocks (--cluster=blocks:XxY): the loads that their CTAs share, and their results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import assembled, compiled, empty, fresh_seed, launch, random
from trials import Trial, changed_lines, missed, near, without_synchronization_of_cluster

from tessera_tools.cli.run_input import fills
from tessera_tools.diagnostics import DiagnosticError, collect
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup

CORPUS = Path(__file__).parents[1] / "corpus"
GEMM = (CORPUS / "gemm_f16_64x64x32.mlir").read_text()
SOFTMAX = (CORPUS / "softmax_f32_1024.mlir").read_text()
SHAPES = ("blocks:2x1", "blocks:1x2", "blocks:2x2", "blocks:4x1", "blocks:1x4")


def arguments(*arrays: np.ndarray[Any, Any]) -> list[Any]:
    return [v for a in arrays for v in (a, *(np.int32(n) for n in (*a.shape, a.shape[1], 1)))]


def multicasts(text: str, **options: Any) -> int:
    """How many of the copies by TMA in the PTX are multicast."""
    ptx = compiled(text, "sm_90a", **options).ptx
    return len(re.findall(r"cp\.async\.bulk\.tensor\S*\.multicast::cluster", ptx))


# -- results


@pytest.mark.parametrize("persistent", ["never", "static"])
@pytest.mark.parametrize("cluster", SHAPES)
def test_the_result_is_that_of_the_plain_kernel(cluster: str, persistent: str) -> None:
    """On ragged products, whose grids are no multiples of the cluster, in both modes, to the bit."""
    rng = np.random.default_rng(fresh_seed())
    columns, rows = (int(n) for n in rng.integers(1, 4, 2))
    m, n = 64 * columns - int(rng.integers(0, 60)), 64 * rows - 8 * int(rng.integers(0, 8))
    k = 8 * int(rng.integers(1, 30))
    a, b = random("f16", (m, k), rng), random("f16", (k, n), rng)
    args, grid = arguments(a, b, empty("f16", (m, n))), (columns, rows)
    plain = launch(GEMM, *args, target="sm_90a", grid=grid)[0][2]
    np.testing.assert_allclose(plain.astype(np.float64), a.astype(np.float64) @ b, atol=0.05, rtol=1e-2)
    raster = str(rng.choice(["rows", "grouped:4", "hilbert:4"]))
    for mode in ("late", "early"):
        options: dict[str, Any] = {
            "cluster": cluster,
            "persistent": persistent,
            "mode": mode,
            "raster": raster,
        }
        if persistent == "static":
            options["resident"] = int(rng.integers(1, 4))
        found = launch(GEMM, *args, target="sm_90a", grid=grid, **options)[0][2]
        np.testing.assert_array_equal(found, plain, err_msg=str(options))


@pytest.mark.parametrize("cluster", ["blocks:2x1", "blocks:2x2"])
def test_a_cta_without_a_program_stores_nothing(cluster: str) -> None:
    """The grid covers less than the tensor, so that the store of a further program would be within bounds."""
    rng = np.random.default_rng(fresh_seed())
    a, b = random("f16", (256, 64), rng), random("f16", (64, 256), rng)
    given = np.full((256, 256), 7, np.float16)
    for persistent in ("never", "static"):
        found = launch(
            GEMM,
            *arguments(a, b, given),
            target="sm_90a",
            grid=(3, 3),
            cluster=cluster,
            persistent=persistent,
        )[0][2]
        assert (found[192:] == 7).all() and (found[:, 192:] == 7).all()
        assert not (found[:192, :192] == 7).all()


IN_PLACE = """entry @k(%p: tile<ptr<f32>>) {
  %t = make_token : token
  %x, %y, %z = get_tile_block_id : tile<i32>
  %one = constant <f32: 1.0> : tile<64xf32>
  %v = make_tensor_view %p, shape = [192], strides = [1] : tensor_view<192xf32, strides=[1]>
  %w = make_partition_view %v : VIEW
  LOAD
  %b = addf %a, %one : tile<64xf32>
  %d = store_view_tko weak %b, %w[%x] token = %u : tile<64xf32>, VIEW, tile<i32> -> token
  return
}
"""
VIEW = "partition_view<tile=(64), tensor_view<192xf32, strides=[1]>>"
BY_VIEW = "%a, %u = load_view_tko weak %w[%x] token = %t : VIEW, tile<i32> -> tile<64xf32>, token"
BY_POINTER = """%width = constant <i32: 64> : tile<i32>
  %from = muli %x, %width : tile<i32>
  %first = offset %p, %from : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %ps = reshape %first : tile<ptr<f32>> -> tile<1xptr<f32>>
  %pb = broadcast %ps : tile<1xptr<f32>> -> tile<64xptr<f32>>
  %lane = iota : tile<64xi32>
  %at = offset %pb, %lane : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
  %a, %u = load_ptr_tko weak %at token = %t : tile<64xptr<f32>> -> tile<64xf32>, token"""


@pytest.mark.parametrize("persistent", ["never", "static"])
@pytest.mark.parametrize("load", [BY_VIEW, BY_POINTER], ids=["view", "pointer"])
def test_a_cta_without_a_program_reads_nothing_that_others_store(load: str, persistent: str) -> None:
    """Where programs change a buffer in place, it would race with the program that it follows."""
    given = np.random.default_rng(fresh_seed()).random(192, np.float32)
    for mode in ("late", "early"):
        found = launch(
            IN_PLACE.replace("LOAD", load).replace("VIEW", VIEW),
            given,
            target="sm_90a",
            grid=(3,),
            cluster="blocks:2x1",
            persistent=persistent,
            mode=mode,
        )[0][0]
        np.testing.assert_array_equal(found, given + 1)


def test_each_program_has_its_own_number_and_the_grid_of_the_caller() -> None:
    text = """entry @k(%out: tile<ptr<i32>>, %sizes: tile<ptr<i32>>) {
  %token = make_token : token
  %x, %y, %z = get_tile_block_id : tile<i32>
  %nx, %ny, %nz = get_num_tile_blocks : tile<i32>
  %plane = muli %z, %ny : tile<i32>
  %row = addi %plane, %y : tile<i32>
  %begin = muli %row, %nx : tile<i32>
  %at = addi %begin, %x : tile<i32>
  %p = offset %out, %at : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %d = store_ptr_tko weak %p, %at token = %token : tile<ptr<i32>>, tile<i32> -> token
  %area = muli %nx, %ny : tile<i32>
  %volume = muli %area, %nz : tile<i32>
  %q = offset %sizes, %at : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %e = store_ptr_tko weak %q, %volume token = %token : tile<ptr<i32>>, tile<i32> -> token
  return
}
"""
    rng = np.random.default_rng(fresh_seed())
    x, y, z = (int(n) for n in rng.integers(1, (6, 5, 3)))
    for cluster in SHAPES:
        arrays, _ = launch(
            text, np.full(256, -1, np.int32), np.zeros(256, np.int32), target="sm_90a", grid=(x, y, z), cluster=cluster
        )  # fmt: skip
        count = x * y * z
        np.testing.assert_array_equal(arrays[0], [*range(count), *[-1] * (256 - count)], err_msg=cluster)
        np.testing.assert_array_equal(arrays[1], [count] * count + [0] * (256 - count), err_msg=cluster)


def test_results_on_other_targets_with_clusters() -> None:
    rng = np.random.default_rng(fresh_seed())
    a, b = random("f16", (136, 72), rng), random("f16", (72, 136), rng)
    args = arguments(a, b, empty("f16", (136, 136)))
    for target in ("sm_100a", "sm_120a"):
        found = launch(GEMM, *args, target=target, grid=(3, 3), cluster="blocks:2x1")[0][2]
        np.testing.assert_allclose(found.astype(np.float64), a.astype(np.float64) @ b, atol=0.05, rtol=1e-2)


# -- what is shared


def test_ctas_share_the_operand_that_does_not_depend_on_their_axis() -> None:
    boxes = multicasts(GEMM)
    assert boxes == 0
    across, along, both = (multicasts(GEMM, cluster=f"blocks:{shape}") for shape in ("2x1", "1x2", "2x2"))
    assert across > 0 and along > 0 and both == across + along


def test_loads_of_different_rows_are_not_shared() -> None:
    assert multicasts(SOFTMAX, cluster="blocks:2x1") == 0


@pytest.mark.parametrize(("bound", "shared"), [("%n", True), ("%x", False)])
def test_a_loop_that_is_not_equally_long_in_all_ctas_shares_nothing(bound: str, shared: bool) -> None:
    """CTAs that left the loop would not load their part for the others."""
    view = "tensor_view<128x128xf16, strides=[128,1]>"
    part = f"partition_view<tile=(64x64), {view}>"
    text = f"""entry @k(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f16>>, %n: tile<i32>) {{
  %t = make_token : token
  %x, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %sums = constant <f32: 0.0> : tile<64x64xf32>
  %pa = assume div_by<16>, %a : tile<ptr<f16>>
  %pb = assume div_by<16>, %b : tile<ptr<f16>>
  %pc = assume div_by<16>, %c : tile<ptr<f16>>
  %va = make_tensor_view %pa, shape = [128, 128], strides = [128, 1] : {view}
  %vb = make_tensor_view %pb, shape = [128, 128], strides = [128, 1] : {view}
  %vc = make_tensor_view %pc, shape = [128, 128], strides = [128, 1] : {view}
  %wa = make_partition_view %va : {part}
  %wb = make_partition_view %vb : {part}
  %wc = make_partition_view %vc : {part}
  %r = for %k in (%zero to {bound}, step %one) : tile<i32> iter_values(%acc = %sums) -> (tile<64x64xf32>) {{
    %ta, %t1 = load_view_tko weak %wa[%x, %k] token = %t : {part}, tile<i32> -> tile<64x64xf16>, token
    %tb, %t2 = load_view_tko weak %wb[%k, %y] token = %t : {part}, tile<i32> -> tile<64x64xf16>, token
    %m = mmaf %ta, %tb, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %m : tile<64x64xf32>
  }}
  %h = ftof %r : tile<64x64xf32> -> tile<64x64xf16>
  %s = store_view_tko weak %h, %wc[%x, %y] token = %t : tile<64x64xf16>, {part}, tile<i32> -> token
  return
}}
"""
    made = compiled(text, "sm_90a", cluster="blocks:2x1")
    assert "cp.async.bulk.tensor" in made.ptx and (".multicast::cluster" in made.ptx) == shared
    rng = np.random.default_rng(fresh_seed())
    a, b = random("f16", (128, 128), rng), random("f16", (128, 128), rng)
    c = launch(
        text, a, b, empty("f16", (128, 128)), np.int32(2), target="sm_90a", grid=(2, 2), cluster="blocks:2x1"
    )
    sums = a.astype(np.float64) @ b
    if not shared:
        sums = np.concatenate([0 * sums[:64], a[64:, :64].astype(np.float64) @ b[:64]])
    np.testing.assert_allclose(c[0][2].astype(np.float64), sums, atol=0.05, rtol=1e-2)


# -- the choice by price


def remarks(text: str, **options: Any) -> list[str]:
    """What the compiler says about clusters."""
    with collect() as told:
        made = Options(lookup("sm_90a"), until="llvm", explains=True, launches="large", **options)
        compile_module(parse_module(text, "program.mlir"), made)
    return [one.message for one in told if "cluster" in one.message]


def test_a_product_that_l2_bounds_gets_clusters_for_large_launches() -> None:
    """A step reads 8 KiB, for which L2 takes 190 cycles, and 6 KiB with clusters."""
    found = remarks(GEMM)
    assert any(
        "142 cycles a step with clusters of 2 x 1 tile blocks, whose CTAs stay" in one for one in found
    )
    assert any("190 without" in one for one in found) and any("share 1 of the tiles" in one for one in found)
    persistent = compiled(GEMM, "sm_90a", launches="large").manifest.kernels[0].persistent
    assert persistent is not None and persistent.scheduler == "static"
    assert compiled(GEMM, "sm_90a").manifest.kernels[0].persistent is None


@pytest.mark.parametrize("mode", ["late", "early"])
def test_large_launches_have_the_same_results(mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    a, b = random("f16", (200, 96), rng), random("f16", (96, 136), rng)
    args = arguments(a, b, empty("f16", (200, 136)))
    options: dict[str, Any] = {"target": "sm_90a", "grid": (4, 3), "mode": mode}
    plain, large = (launch(GEMM, *args, **options, launches=which)[0][2] for which in ("any", "large"))
    np.testing.assert_array_equal(plain, large)


def test_kernels_that_l2_does_not_bound_get_no_clusters() -> None:
    """Causal attention has loops of different lengths in the CTAs of a cluster, and a softmax has no product.  Where
    several CTAs are on a multiprocessor, they end with their programs."""
    attention = (CORPUS / "attention_causal_f16_d64.mlir").read_text()
    for text, options in ((attention, {"raster": "reversed:8"}), (SOFTMAX, dict[str, Any]())):
        assert compiled(text, "sm_90a", launches="large").ptx == compiled(text, "sm_90a", **options).ptx


def test_kernels_without_multicast_stay_as_they_are() -> None:
    """TMA cannot load rows whose starts are no multiples of 16 bytes."""
    odd = re.sub(r"assume div_by<(8|16)>", "assume div_by<1>", GEMM)
    assert odd != GEMM
    assert compiled(odd, "sm_90a", launches="large").ptx == compiled(odd, "sm_90a").ptx


def test_options_decide_over_the_price() -> None:
    assert compiled(GEMM, "sm_90a", launches="large", cluster="1x1").manifest.kernels[0].cluster == (1, 1, 1)
    kernel = compiled(GEMM, "sm_90a", launches="large", persistent="never").manifest.kernels[0]
    assert kernel.cluster == (2, 1, 1) and kernel.persistent is not None
    assert kernel.persistent.scheduler == "never"
    assert compiled(GEMM, "sm_90a", launches="large", persistent="counter").manifest.kernels[0].cluster == (
        1,
        1,
        1,
    )


@pytest.mark.parametrize(
    ("grid", "large"), [("263", False), ("132,2", True), ("4,4,20", True), (None, False)]
)
def test_tessera_run_knows_how_large_its_launch_is(grid: str | None, large: bool) -> None:
    """An H100 has 132 SMs."""
    assert fills(grid, lookup("sm_90a")) == large
    assert not fills(grid, lookup("sm_120a")), "the clock does not know it"


# -- synchronization


def test_every_synchronization_is_needed() -> None:
    """Without any one of them, the simulated GPU finds a defect in some schedule, or the result is wrong."""
    rng = np.random.default_rng(fresh_seed())
    made = compiled(GEMM, "sm_90a", cluster="blocks:2x1", persistent="static")
    m, n, k = 192, 128, 256
    a, b = random("f16", (m, k), rng), random("f16", (k, n), rng)
    given = arguments(a, b, empty("f16", (m, n)))
    expected = a.astype(np.float64) @ b.astype(np.float64)

    schedules = [(mode, seed) for mode in ("early", "late") for seed in range(4)]
    trial = Trial(
        given, "sm_90a", (3, 2), near(2, expected, 0.5), schedules,
        {"max_instructions": 400_000, "resident": 1},
    )  # fmt: skip
    changed = list(changed_lines(made.ptx, without_synchronization_of_cluster()))
    assert len(changed) >= 6
    assert missed(made, changed, trial) == []


# -- what the launcher knows, and what is refused


def test_the_manifest_has_the_tile_blocks_of_a_cluster() -> None:
    made = compiled(GEMM, "sm_90a", cluster="blocks:2x1")
    (kernel,) = made.manifest.kernels
    assert kernel.cluster == (2, 1, 1) and kernel.persistent is not None
    assert (kernel.persistent.scheduler, kernel.persistent.blocks) == ("never", (2, 1))
    assert kernel.persistent.clusters((5, 3, 2)) == (3, 3, 2)
    assembled(made.ptx, "sm_90a")


@pytest.mark.parametrize(
    ("persistent", "done"), [("counter", "take a number from the counter"), ("cancel", "cancel a launch")]
)
def test_clusters_without_agents_take_their_tile_blocks_with_a_stride(persistent: str, done: str) -> None:
    with pytest.raises(
        DiagnosticError, match=f"has clusters of 2 CTAs, which would each {done}, and no agents"
    ):
        compiled(COUNT, "sm_100a", cluster="blocks:2x1", persistent=persistent)


def test_the_plain_interface_has_no_grid() -> None:
    options = Options(lookup("sm_90a"), until="ptx", cluster="blocks:2x1", plain_abi=True)
    with pytest.raises(DiagnosticError, match="cluster=blocks:2x1 cannot be followed: the plain ABI"):
        compile_module(parse_module(GEMM, "gemm.mlir"), options)


def test_a_target_without_clusters_refuses_them() -> None:
    with pytest.raises(DiagnosticError, match="is compiled for sm_80, which has no clusters"):
        compiled(GEMM, "sm_80", cluster="blocks:2x1")


COUNT = """entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %t = make_token : token
  %x, %y, %z = get_tile_block_id : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %n, %u = atomic_rmw_tko relaxed device %p, add, %one token = %t : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %at = offset %q, %n : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %d = store_ptr_tko weak %at, %x token = %u : tile<ptr<i32>>, tile<i32> -> token
  %v = print_tko "program %d\\n", %x token = %d : tile<i32> -> token
  return
}
"""
"""Each program takes a number, writes its own there, and prints it."""


@pytest.mark.parametrize("persistent", ["never", "static"])
@pytest.mark.parametrize("cluster", ["blocks:2x1", "blocks:4x1"])
def test_each_program_counts_and_prints_once(cluster: str, persistent: str) -> None:
    """The CTAs without a program do neither."""
    count = int(np.random.default_rng(fresh_seed()).integers(1, 8))
    arrays, result = launch(
        COUNT, np.zeros(1, np.int32), np.full(16, -1, np.int32), target="sm_90a", grid=(count,), cluster=cluster,
        persistent=persistent,
    )  # fmt: skip
    assert arrays[0] == [count]
    assert sorted(arrays[1][:count]) == list(range(count)) and (arrays[1][count:] == -1).all()
    assert sorted(result.output.split("\n")) == sorted(["", *(f"program {n}" for n in range(count))])


def test_a_loop_that_waits_for_an_atomic_operation_is_refused() -> None:
    """A CTA without a program would wait forever."""
    text = """entry @k(%p: tile<ptr<i32>>) {
  %t = make_token : token
  %one = constant <i32: 1> : tile<i32>
  loop {
    %n, %u = atomic_rmw_tko relaxed device %p, add, %one token = %t : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %done = cmpi equal %n, %one, signed : tile<i32> -> tile<i1>
    if %done {
      break
    }
    continue
  }
  return
}
"""
    with pytest.raises(DiagnosticError, match="is in a loop that may wait for it"):
        compiled(text, "sm_90a", cluster="blocks:2x1")
