"""Hints and options constrain the schedule, and a remark or an error says what was done with them."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "pipelines"))

from programs import compiled
from programs_of_attention import Attention
from programs_of_products import Product

from tessera_tools.cli.opt import run as run_opt
from tessera_tools.cli.translate import run
from tessera_tools.target import lookup, occupancy

GEMM = (Path(__file__).parents[2] / "corpus/gemm_nt_bias_f16_128x128x64.mlir").read_text()


def hinted(text: str, what: str) -> str:
    """The program with a hint on each load of its loop."""
    start = text.index(" for ") if " for " in text else 0
    return text[:start] + re.sub(
        r"(load_view_tko weak %\S+\[[^]]*\] token = %\S+) :",
        rf"\1 optimization_hints = <default = {{{what}}}> :",
        text[start:],
    )


def translated(text: str, *flags: str, gpu: str = "sm_90a") -> tuple[str, str]:
    """(PTX or MLIR, remarks and errors)."""
    result: Any = run(
        [f"--gpu-name={gpu}", "--cache=off", "--remarks=text", *flags, "-o", "-"], text.encode(), None
    )
    return result.stdout.decode(), result.stderr.decode()


def stages(text: str) -> list[int]:
    _, remarks = translated(text, "--mlir-to-ptx")
    return [int(n) for n in re.findall(r"pipeline of (\d+) stages", remarks)]


def test_a_longer_latency_keeps_more_loads_in_flight() -> None:
    program = Product(k=32, n=32).text()
    few, usual, many = (stages(hinted(program, f"latency = {n}")) for n in (1, 5, 10))
    assert usual == stages(program)
    assert few < usual < many


def test_a_remark_names_the_latency_of_the_schedule() -> None:
    _, remarks = translated(hinted(Product().text(), "latency = 10"), "--mlir-to-ptx")
    assert re.search(r"scheduled for data after 1\d\d\d cycles, as the hint latency = 10 says", remarks)
    assert "not followed" not in remarks


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90a"])
def test_a_latency_that_is_not_followed_is_reported(gpu: str) -> None:
    """Products of f32 have no wgmma, so that nothing is scheduled."""
    text = hinted(Product("f32", "f32").text(), "latency = 3")
    assert "the hint latency is not followed" in translated(text, "--mlir-to-ptx", gpu=gpu)[1]


def test_a_hint_forbids_tma() -> None:
    ptx, remarks = translated(hinted(Product().text(), "allow_tma = false"), "--mlir-to-ptx")
    assert "cp.async.bulk.tensor.2d.shared" not in ptx
    assert "has the hint allow_tma = false" in remarks


@pytest.mark.parametrize("groups", [2, 4])
def test_the_option_gives_the_consumers(groups: int) -> None:
    ptx, remarks = translated(GEMM, "--mlir-to-ptx", f"--num-consumer-warpgroups={groups}")
    assert f".reqntid {128 * (groups + 1)}" in ptx
    assert f"a warp that loads and {groups} consumer warpgroups: as num-consumer-warpgroups says" in remarks


def test_a_hint_gives_the_consumers() -> None:
    _, remarks = translated(Product(m=128, warps=8).text(), "--mlir-to-ptx")
    assert "2 consumer warpgroups: as the hint num_worker_warps_per_cta = 8 says" in remarks


@pytest.mark.parametrize(
    ("text", "flags", "message"),
    [
        (GEMM, ["--num-consumer-warpgroups=1"], "128 registers of a thread, of at most 96"),
        (Product(n=16).text(), ["--num-consumer-warpgroups=4"], "each takes 64 rows and at least 8 columns"),
        (Product("f32", "f32").text(), ["--num-consumer-warpgroups=1"], "its kernel has no consumer warpgroups"),
        (GEMM, ["--num-consumer-warpgroups=2", "--num-warps=4"], "2 consumer warpgroups cannot be had: without agents"),
        (GEMM, ["--num-consumer-warpgroups=2", "--abi=plain"], "2 consumer warpgroups cannot be had: without agents"),
    ],
    ids=["registers", "columns", "no wgmma", "warps", "plain"],
)  # fmt: skip
def test_an_option_that_cannot_be_followed_is_an_error(text: str, flags: list[str], message: str) -> None:
    ptx, errors = translated(text, "--mlir-to-ptx", *flags)
    assert not ptx and message in errors
    assert "Traceback" not in errors


def test_a_number_that_is_no_power_of_two_is_an_error() -> None:
    path = Path(__file__).parent / "overlap.mlir"
    result: Any = run_opt([str(path), "--tileas-schedule=num-consumer-warpgroups=3", "-o", "-"], b"", None)
    assert result.exit_code == 1
    assert "requests 3 consumer warpgroups; expected 1, 2, 4" in result.stderr.decode()


@pytest.mark.parametrize("gpu", ["sm_80", "sm_100a"])
def test_a_target_without_a_producer_has_no_consumers(gpu: str) -> None:
    """Those of tensor memory are chosen from the products alone."""
    _, errors = translated(GEMM, "--mlir-to-ptx", "--num-consumer-warpgroups=2", gpu=gpu)
    assert "has no producer beside consumers; that requires sm_90a" in errors


# -- occupancy

ATTENTION = Attention(128, 64, 64, occupancy=4)
"""It takes 64 KB of shared memory on sm_80."""


def resident(product: Product | Attention, gpu: str) -> int:
    """How many CTAs a multiprocessor runs at once, by threads, registers and shared memory."""
    made = compiled(product.text(), gpu)
    (kernel,) = made.manifest.kernels
    (threads,) = re.findall(r"\.reqntid (\d+)", made.ptx)
    registers = re.findall(r"\.maxnreg (\d+)", made.ptx) or [255]
    shared = kernel.static_shared + kernel.dynamic_shared
    return occupancy(lookup(gpu), threads=int(threads), registers=int(registers[0]), shared=shared).blocks


@pytest.mark.parametrize(("gpu", "instruction"), [("sm_90a", "wgmma.mma_async"), ("sm_100a", "tcgen05.mma")])
@pytest.mark.parametrize("ctas", [1, 2, 4])
def test_an_occupancy_leaves_a_kernel_its_agents(ctas: int, gpu: str, instruction: str) -> None:
    for n in (64, 128):
        assert instruction in compiled(Product(m=128, n=n, occupancy=ctas).text(), gpu).ptx


@pytest.mark.parametrize(
    ("gpu", "product", "ctas"),
    [
        ("sm_80", Product(), 3),
        ("sm_90a", Product(), 2),
        ("sm_90a", Product(n=32, k=32), 4),
        ("sm_100a", Product(m=128), 2),
        ("sm_100a", Product(), 4),
    ],
)
def test_as_many_ctas_as_the_hint_says_fit_on_a_multiprocessor(gpu: str, product: Product, ctas: int) -> None:
    assert resident(replace(product, occupancy=ctas), gpu) == ctas


def test_tensor_memory_holds_factors_too() -> None:
    """Sums take 256 columns of 512, and the left factor of the second product others."""
    product = Attention(64, 64, 128, occupancy=2)
    assert ".maxnreg" not in compiled(product.text(), "sm_100a").ptx
    _, remarks = translated(product.text(), "--mlir-to-ptx", gpu="sm_100a")
    assert "= 2 is not followed: its tiles take 512 of 512 columns of tensor memory" in remarks


@pytest.mark.parametrize("gpu", ["sm_90a", "sm_100a"])
def test_one_cta_has_the_shared_memory_of_all(gpu: str) -> None:
    assert resident(Product(m=128, occupancy=2), gpu) == 2
    assert resident(Product(m=128, occupancy=1), gpu) == 1


@pytest.mark.parametrize(
    ("gpu", "product", "text"),
    [
        (
            "sm_80",
            Product(m=128, n=128, occupancy=3),
            "= 3 is followed by 2 CTAs: a thread needs about 112 registers",
        ),
        ("sm_80", Product(occupancy=12), "= 12 is followed by 6 CTAs: a thread needs about 80 registers"),
        ("sm_80", ATTENTION, "= 4 is followed by 2 CTAs: a thread needs about 113 registers"),
        (
            "sm_80",
            Attention(64, 64, 64, occupancy=4),
            "= 4 is followed by 2 CTAs: a CTA takes 65536 bytes of shared memory",
        ),
        (
            "sm_80",
            Product(m=128, n=256, occupancy=2),
            "= 2 is followed by 1 CTA: a thread needs about 176 registers",
        ),
        (
            "sm_90a",
            Product(m=128, occupancy=4),
            "= 4 is followed by 2 CTAs: its pipelines take 73728 bytes of shared memory, and a CTA would have 43584",
        ),
        (
            "sm_90a",
            Product(m=128, n=128, occupancy=2),
            "= 2 is not followed: its pipelines take 98304 bytes of shared memory, and a CTA would have 87168",
        ),
        (
            "sm_90a",
            Product("f8E4M3FN", m=128, occupancy=2),
            "= 2 is not followed: agents beside its consumer compute",
        ),
        (
            "sm_100a",
            Product(m=128, occupancy=3),
            "= 3 is followed by 2 CTAs: a thread of its consumer needs more registers than it would have",
        ),
    ],
)
def test_a_remark_says_why_fewer_ctas_follow(gpu: str, product: Product | Attention, text: str) -> None:
    _, remarks = translated(product.text(), "--mlir-to-ptx", gpu=gpu)
    assert f"the hint occupancy {text}" in remarks
    assert remarks.count("the hint occupancy") == 1


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90a", "sm_100a"])
def test_no_remark_on_an_occupancy_that_is_followed(gpu: str) -> None:
    assert "occupancy" not in translated(Product(occupancy=2).text(), "--mlir-to-ptx", gpu=gpu)[1]


def test_no_more_ctas_follow_than_have_threads() -> None:
    text = """
entry @add(%p: tile<ptr<f32>>) optimization_hints=<default = {occupancy = 32}> {
  %i = iota : tile<1024xi32>
  %q = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %r = broadcast %q : tile<1xptr<f32>> -> tile<1024xptr<f32>>
  %s = offset %r, %i : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
  %x, %t = load_ptr_tko weak %s : tile<1024xptr<f32>> -> tile<1024xf32>, token
  %y = addf %x, %x : tile<1024xf32>
  %u = store_ptr_tko weak %s, %y token = %t : tile<1024xptr<f32>>, tile<1024xf32> -> token
  return
}
"""
    ptx, remarks = translated(text, "--mlir-to-ptx", gpu="sm_80")
    assert ".maxnreg 32" in ptx
    assert "the hint occupancy = 32 is followed by 16 CTAs: a CTA has 128 threads" in remarks


def sums(occupancy: int) -> str:
    """Sums of columns, whose tiles of 16 KB a producer brings."""
    x = "tensor_view<4096x4096xf32, strides=[4096,1]>"
    tiles, tile = f"partition_view<tile=(64x64), {x}>", "tile<64x64xf32>"
    return f"""
entry @sums(%p: tile<ptr<f32>>, %n: tile<i32>) optimization_hints=<default = {{occupancy = {occupancy}}}> {{
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %v = make_tensor_view %a, shape = [4096, 4096], strides = [4096, 1] : {x}
  %w = make_partition_view %v : {tiles}
  %none = constant <f32: 0.0> : {tile}
  %s = for %k in (%c0 to %n, step %c1) : tile<i32> iter_values(%o = %none) -> ({tile}) {{
    %t, %u = load_view_tko weak %w[%c0, %k] : {tiles}, tile<i32> -> {tile}, token
    %e = addf %o, %t : {tile}
    continue %e : {tile}
  }}
  %d = store_view_tko weak %s, %w[%c1, %c0] : {tile}, {tiles}, tile<i32> -> token
  return
}}
"""


@pytest.mark.parametrize("ctas", [1, 4])
def test_a_producer_without_products_follows_the_hint(ctas: int) -> None:
    ptx, remarks = translated(sums(ctas), "--mlir-to-ptx", "--agents=producer")
    assert "cp.async.bulk.tensor" in ptx
    assert (".maxnreg 64" in ptx) is (ctas == 4)
    assert "the hint occupancy" not in remarks


def test_a_producer_needs_registers_too() -> None:
    """Where it may be, but need not, there is none, and as many CTAs as the hint says."""
    _, errors = translated(sums(12), "--mlir-to-ptx", "--agents=producer")
    assert (
        "would have fewer than 24 registers for each thread with 12 CTAs, as the hint occupancy says"
        in errors
    )
    ptx, _ = translated(sums(12), "--mlir-to-ptx")
    assert ".reqntid 128" in ptx and ".maxnreg 40" in ptx


def test_a_hint_may_leave_no_room_for_a_producer() -> None:
    _, errors = translated(sums(8), "--mlir-to-ptx", "--agents=producer")
    assert "two of them do not fit in shared memory with 8 CTAs, as the hint occupancy says" in errors
