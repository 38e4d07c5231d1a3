"""Split-K (--split-k=N): the CTAs of a cluster share the iterations of a loop, and add their sums in a fixed order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import compiled, empty, fresh_seed, launch, random, worker
from trials import Trial, changed_lines, missed, near, without_synchronization_of_cluster

import tessera_tools as tt
from tessera_tools.diagnostics import DiagnosticError, collect
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup

CORPUS = Path(__file__).parents[1] / "corpus"
GEMM = (CORPUS / "gemm_f16_64x64x32.mlir").read_text()
BIAS = (CORPUS / "gemm_nt_bias_f16_128x128x64.mlir").read_text()


def arguments(*arrays: np.ndarray[Any, Any]) -> list[Any]:
    return [v for a in arrays for v in (a, *(np.int32(n) for n in (*a.shape, a.shape[1], 1)))]


def factors(m: int, n: int, k: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(fresh_seed())
    return random("f16", (m, k), rng), random("f16", (k, n), rng)


@pytest.mark.parametrize("target", ["sm_90a", "sm_90", "sm_100a", "sm_120a"])
@pytest.mark.parametrize("parts", [2, 4, 8])
def test_the_product_is_that_of_numpy(target: str, parts: int) -> None:
    """On ragged products of several tile blocks, also if there are fewer iterations than CTAs."""
    rng = np.random.default_rng(fresh_seed())
    m, n = 64 + int(rng.integers(1, 64)), 64 + 8 * int(rng.integers(1, 8))
    a, b = factors(m, n, 8 * int(rng.integers(1, 60)))
    mode = str(rng.choice(["late", "early"]))
    given = arguments(a, b, empty("f16", (m, n)))
    found = launch(GEMM, *given, target=target, grid=(2, 2), split_k=parts, mode=mode)[0][2]
    np.testing.assert_allclose(found.astype(np.float64), a.astype(np.float64) @ b, atol=0.05, rtol=1e-2)


def test_agents_multiply() -> None:
    """The consumers of a cluster meet at an mbarrier; the producer does not wait for them."""
    ptx = compiled(GEMM, "sm_90a", split_k=4).ptx
    assert "wgmma.mma_async" in ptx and ".reqnctapercluster 4" in ptx
    assert len(re.findall(r"barrier\.cluster\.wait", ptx)) == 1
    assert "multicast" not in ptx


@pytest.mark.parametrize("target", ["sm_90a", "sm_90"])
def test_the_result_does_not_depend_on_the_schedule(target: str) -> None:
    a, b = factors(64, 64, 32 * 11)
    given = arguments(a, b, empty("f16", (64, 64)))
    found = {
        launch(GEMM, *given, target=target, split_k=4, mode=mode)[0][2].tobytes()
        for mode in ("late", "early")
        for _ in range(4)
    }
    assert len(found) == 1


def with_bias(
    a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], bias: np.ndarray[Any, Any], **options: Any
) -> np.ndarray[Any, Any]:
    """a · bᵀ + bias in f32, by one tile block of 128x128x64."""
    given = arguments(a, b, bias, empty("f32", (128, 128)))
    return launch(BIAS, *given, target="sm_90a", **options)[0][3]


@pytest.mark.parametrize("parts", [2, 4])
def test_the_sums_are_added_in_the_order_of_ranks(parts: int) -> None:
    """Each CTA has one product that is not zero, so that its sum is exact, and the order of the sums shows: a CTA
    begins with its own, and adds those of the ranks that differ by 1, 2, …"""
    rng = np.random.default_rng(fresh_seed())
    steps = int(rng.integers(parts, 3 * parts))
    counts = [steps // parts + (rank < steps % parts) for rank in range(parts)]
    starts = [64 * sum(counts[:rank]) for rank in range(parts)]
    a, b = np.zeros((128, 64 * steps), np.float16), np.zeros((128, 64 * steps), np.float16)
    a[:, starts] = rng.integers(1, 2000, (128, parts))
    b[:, starts] = rng.choice([2.0**-14, 1.0, 2.0**13], (128, parts)) * rng.integers(1, 4, (128, parts))
    sums = [a[:, s, None].astype(np.float32) * b[:, s].astype(np.float32) for s in starts]
    expected = np.zeros((128, 128), np.float32)
    for rank in range(parts):
        columns = slice(128 // parts * rank, 128 // parts * (rank + 1))
        for other in range(parts):
            expected[:, columns] += sums[rank ^ other][:, columns]
    found = with_bias(a, b, empty("f32", (128, 128)), split_k=parts)
    np.testing.assert_array_equal(found, expected)


def test_each_cta_has_a_part_of_the_epilogue() -> None:
    """What is added to the sums is loaded where they are."""
    rng = np.random.default_rng(fresh_seed())
    a, b = random("f16", (128, 320), rng), random("f16", (128, 320), rng)
    bias = random("f32", (128, 128), rng)
    expected = a.astype(np.float64) @ b.astype(np.float64).T + bias
    for parts in (2, 8):
        np.testing.assert_allclose(with_bias(a, b, bias, split_k=parts), expected, atol=1e-3)


def test_what_the_loop_starts_from_is_added_once() -> None:
    """By the CTA that gets the sum, after the others."""
    zero = "constant <f32: 0.000000e+00> : tile<64x64xf32>"
    assert GEMM.count(zero) == 1
    text = GEMM.replace(zero, "constant <f32: 1.000000e+03> : tile<64x64xf32>")
    a, b = factors(64, 64, 32 * 5)
    found = launch(text, *arguments(a, b, empty("f16", (64, 64))), target="sm_90a", split_k=2)[0][2]
    np.testing.assert_allclose(found, a.astype(np.float64) @ b + 1000, atol=1)


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_ctas_that_stay_exchange_for_each_program(target: str) -> None:
    a, b = factors(192, 128, 32 * 7)
    given = arguments(a, b, empty("f16", (192, 128)))
    found = launch(
        GEMM, *given, target=target, grid=(3, 2), split_k=2, persistent="static", resident=2, mode="late"
    )[0][2]
    np.testing.assert_allclose(found.astype(np.float64), a.astype(np.float64) @ b, atol=0.05, rtol=1e-2)


@pytest.mark.parametrize("parts", [2, 8])
def test_a_loop_may_begin_anywhere_and_take_long_steps(parts: int) -> None:
    """Each iteration is that of one CTA, also if the last step leads beyond the end, or there is no iteration."""
    rng = np.random.default_rng(fresh_seed())
    end, step = int(rng.integers(9, 40)), int(rng.integers(2, 5))
    bounds = "(%cst_0_i32 to %1#1, step %cst_1_i32_28)"
    assert GEMM.count(bounds) == 1
    a, b = factors(64, 64, 32 * end)
    for begin in (int(rng.integers(1, 9)), end + 1):
        own = f"%first = constant <i32: {begin}> : tile<i32>\n  %step = constant <i32: {step}> : tile<i32>\n  %for ="
        text = GEMM.replace("%for =", own).replace(bounds, "(%first to %1#1, step %step)")
        given = arguments(a, b, empty("f16", (64, 64)))
        found = launch(text, *given, target="sm_90a", split_k=parts)[0][2]
        terms = [32 * i + n for i in range(begin, end, step) for n in range(32)]
        expected = a[:, terms].astype(np.float64) @ b[terms]
        np.testing.assert_allclose(found.astype(np.float64), expected, atol=0.05, rtol=1e-2)


def counting_in(width: int, text: str = GEMM, above: str = "") -> str:
    """The GEMM, whose loop counts in integers of another width; `above`: its upper bound, if it is another one."""
    (loop,) = re.findall(r"^ *%for = for .*$", text, re.MULTILINE)
    made = re.fullmatch(r" *%for = for (%\w+) in \((%\w+) to (%\S+), step (%\w+)\) : tile<i32> (.*)", loop)
    assert made is not None
    counter, *bounds, rest = made.groups()
    cast = "trunci" if width < 32 else "exti"
    sign = "" if width < 32 else " signed"
    lines = [f"%as{n} = {cast} {bound}{sign} : tile<i32> -> tile<i{width}>" for n, bound in enumerate(bounds)]
    lines.append(f"%low = assume bounded<0, ?>, %as0 : tile<i{width}>")
    if above:
        lines.append(f"%above = constant <i{width}: {above}> : tile<i{width}>")
    lines.append(
        f"%for = for %n in (%low to {'%above' if above else '%as1'}, step %as2) : tile<i{width}> {rest}"
    )
    back = "exti" if width < 32 else "trunci"
    sign = " signed" if width < 32 else ""
    lines.append(f"{counter} = {back} %n{sign} : tile<i{width}> -> tile<i32>")
    return text.replace(loop, "\n".join(lines))


@pytest.mark.parametrize("width", [8, 16, 64])
def test_counters_of_any_width(width: int) -> None:
    a, b = factors(64, 64, 32 * 5)
    given = arguments(a, b, empty("f16", (64, 64)))
    found = launch(counting_in(width), *given, target="sm_90a", split_k=2)[0][2]
    np.testing.assert_allclose(found.astype(np.float64), a.astype(np.float64) @ b, atol=0.05, rtol=1e-2)


def test_a_loop_that_ends_far_below_its_start_has_no_iterations() -> None:
    """The difference of its bounds is not a number of their type."""
    text = counting_in(8, above="-128").replace("bounded<0, ?>, %as0", "bounded<0, ?>, %as1")
    a, b = factors(64, 64, 32 * 5)
    given = arguments(a, b, empty("f16", (64, 64)))
    assert not launch(text, *given, target="sm_90a", split_k=2)[0][2].any()


# -- synchronization


def test_every_synchronization_is_needed() -> None:
    """Without any one of them, the simulated GPU finds a defect in some schedule, or the result is wrong."""
    a, b = factors(64, 64, 32 * 5)
    made = compiled(GEMM, "sm_90a", split_k=2)
    given = arguments(a, b, empty("f16", (64, 64)))
    expected = a.astype(np.float64) @ b.astype(np.float64)

    schedules = [(mode, seed) for mode in ("late", "early") for seed in range(6)]
    trial = Trial(given, "sm_90a", (1,), near(2, expected, 0.5), schedules, {"max_instructions": 200_000})
    change = without_synchronization_of_cluster(r"barrier\.cluster|mbarrier\.arrive.*cluster")
    changed = list(changed_lines(made.ptx, change))
    assert len(changed) == 6
    assert missed(made, changed, trial) == []


# -- by price


@pytest.mark.parametrize(
    ("blocks", "terms", "ctas"), [(1, 8192, 8), (40, 8192, 2), (1, 128, 1), (130, 8192, 1), (0, 8192, 1)]
)
def test_the_price_decides_for_a_known_launch(blocks: int, terms: int, ctas: int) -> None:
    """Long loops of few tile blocks are split, among so many CTAs as there are SMs."""
    text = (CORPUS / "gemm_f16_128x256x64.mlir").read_text()
    numbers = ("?", "4096", str(terms), str(terms), "1") * 3
    options = Options(lookup("sm_90a"), until="ptx", tile_blocks=blocks, arguments=numbers)
    ptx = compile_module(parse_module(text, "program.mlir"), options, worker=worker()).text("ptx")
    found = re.search(r"\.reqnctapercluster (\d+)", ptx)
    assert (int(found[1]) if found is not None else 1) == ctas


def test_a_kernel_that_cannot_be_split_is_left_alone_with_a_remark() -> None:
    text = (CORPUS / "attention_causal_f16_d64.mlir").read_text()
    options = Options(lookup("sm_90a"), until="ptx", tile_blocks=1, arguments=("?",), explains=True)
    with collect() as found:
        compile_module(parse_module(text, "program.mlir"), options, worker=worker())
    assert any("no loop is split among several CTAs" in remark.message for remark in found)


# -- what is refused


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("attention_causal_f16_d64", "multiplies outside|carries a tile|second loop|that is not a sum"),
    ],
)
def test_what_is_refused(name: str, problem: str) -> None:
    with pytest.raises(DiagnosticError, match=problem) as refusal:
        compiled((CORPUS / f"{name}.mlir").read_text(), "sm_90a", split_k=2)
    assert "program.mlir:" in str(refusal.value)


def test_targets_without_clusters_cannot_split() -> None:
    with pytest.raises(DiagnosticError, match="sm_80, which has no clusters"):
        compiled(GEMM, "sm_80", split_k=2)


def test_a_cluster_for_something_else_is_not_split() -> None:
    with pytest.raises(DiagnosticError, match="cannot be had with cluster=2x1"):
        compiled(GEMM, "sm_90a", split_k=2, cluster="2x1")


def test_kernels_without_products_stay_as_they_are() -> None:
    softmax = (CORPUS / "softmax_f32_1024.mlir").read_text()
    assert compiled(softmax, "sm_90a", split_k=2).ptx == compiled(softmax, "sm_90a").ptx
    (remark,) = [r for r in tt.compile(softmax, "sm_90a", split_k=2).remarks if r.rule == "split-k"]
    assert (
        remark.kind == "failed"
        and remark.message == "the option split-k=2 has no effect: the kernel has no products"
    )


SEVERAL = """
entry @kernel(%aP: tile<ptr<f16>>, %dP: tile<ptr<f32>>, %rP: tile<ptr<f32>>) {
  %aT = make_tensor_view %aP, shape = [64, 256], strides = [256, 1] : tensor_view<64x256xf16, strides=[256,1]>
  %dT = make_tensor_view %dP, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %rT = make_tensor_view %rP, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %aV = make_partition_view %aT : partition_view<tile=(64x32), tensor_view<64x256xf16, strides=[256,1]>>
  %dV = make_partition_view %dT : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
  %rV = make_partition_view %rT : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c8 = constant <i32: 8> : tile<i32>
  %noProduct = constant <f32: 0.0> : tile<64x64xf32>
  %noSum = constant <f32: 0.0> : tile<64xf32>
  RESULTS = for %k in (%c0 to %c8, step %c1) : tile<i32> iter_values(CARRIED) -> (TYPES) {
    %a, %at = load_view_tko weak %aV[%c0, %k] : partition_view<tile=(64x32), tensor_view<64x256xf16, strides=[256,1]>>, tile<i32> -> tile<64x32xf16>, token
    %b = permute %a [1, 0] : tile<64x32xf16> -> tile<32x64xf16>
    %nd = mmaf %a, %b, %cd : tile<64x32xf16>, tile<32x64xf16>, tile<64x64xf32>
    %f = ftof %a : tile<64x32xf16> -> tile<64x32xf32>
    %row = reduce %f dim=1 identities=[0.0 : f32] : tile<64x32xf32> -> tile<64xf32> (%x: tile<f32>, %y: tile<f32>) {
      %z = addf %x, %y : tile<f32>
      yield %z : tile<f32>
    }
    %nr = addf %cr, %row : tile<64xf32>
    continue NEXT : TYPES
  }
  EPILOGUE
  %ds = store_view_tko weak %o, %dV[%c0, %c0] : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  %rs = store_view_tko weak %r, %rV[%c0] : tile<64xf32>, partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token
  return
}
"""  # noqa: E501
"""a · aᵀ and the sums of the rows of a."""
BY_ROWS = """%r1 = reshape %r : tile<64xf32> -> tile<64x1xf32>
  %r2 = broadcast %r1 : tile<64x1xf32> -> tile<64x64xf32>"""
BY_COLUMNS = """%r3 = reshape %r : tile<64xf32> -> tile<1x64xf32>
  %r4 = broadcast %r3 : tile<1x64xf32> -> tile<64x64xf32>"""
EPILOGUES = {
    "alone": "%o = negf %d : tile<64x64xf32>",
    "rows": f"{BY_ROWS}\n  %o = subf %r2, %d : tile<64x64xf32>",
    "columns": f"{BY_COLUMNS}\n  %o = subf %r4, %d : tile<64x64xf32>",
}


def several(order: str, epilogue: str) -> str:
    """The kernel, whose loop carries the product (d) and the sums (r) in this order."""
    types = {"d": "tile<64x64xf32>", "r": "tile<64xf32>"}
    starts = {"d": "%noProduct", "r": "%noSum"}
    text = SEVERAL.replace("RESULTS", ", ".join(f"%{n}" for n in order))
    text = text.replace("CARRIED", ", ".join(f"%c{n} = {starts[n]}" for n in order))
    text = text.replace("NEXT", ", ".join(f"%n{n}" for n in order))
    return text.replace("TYPES", ", ".join(types[n] for n in order)).replace("EPILOGUE", epilogue)


@pytest.mark.parametrize("order", ["dr", "rd"])
@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_several_sums_are_each_added(epilogue: str, order: str) -> None:
    """Each CTA gets a part of all of them, also if nothing follows from two of them."""
    rng = np.random.default_rng(fresh_seed())
    target, parts = str(rng.choice(["sm_90a", "sm_90", "sm_100a", "sm_120a"])), int(rng.choice([2, 4, 8]))
    a = rng.integers(-3, 4, (64, 256)).astype(np.float16)
    rows = a.astype(np.float64).sum(1)
    added = {"alone": 0.0, "rows": rows[:, None], "columns": rows[None]}[epilogue]
    text = several(order, EPILOGUES[epilogue])
    found = launch(text, a, empty("f32", (64, 64)), empty("f32", (64,)), target=target, split_k=parts)[0]
    np.testing.assert_array_equal(found[1], added - a.astype(np.float64) @ a.T.astype(np.float64))
    np.testing.assert_array_equal(found[2], rows)


def test_sums_that_all_ctas_need_whole_are_refused() -> None:
    """Of rows and of columns: a CTA has a part of one of them."""
    both = (
        f"{BY_ROWS}\n{BY_COLUMNS}\n%p = addf %r2, %r4 : tile<64x64xf32>\n%o = subf %p, %d : tile<64x64xf32>"
    )
    for order in ("dr", "rd"):
        with pytest.raises(DiagnosticError, match="needs another part .* the kernel cannot be split along K"):
            compiled(several(order, both), "sm_90a", split_k=2)
