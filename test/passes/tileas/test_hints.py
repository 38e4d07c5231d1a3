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


def resident(product: Product, gpu: str) -> int:
    """How many CTAs a multiprocessor runs at once, by the limits that the kernel has."""
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
def test_a_remark_says_why_fewer_ctas_follow(gpu: str, product: Product, text: str) -> None:
    _, remarks = translated(product.text(), "--mlir-to-ptx", gpu=gpu)
    assert f"the hint occupancy {text}" in remarks


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90a", "sm_100a"])
def test_no_remark_on_an_occupancy_that_is_followed(gpu: str) -> None:
    assert "occupancy" not in translated(Product(occupancy=2).text(), "--mlir-to-ptx", gpu=gpu)[1]


def test_an_elementwise_kernel_that_cannot_follow_has_all_registers() -> None:
    """32 CTAs of 128 threads would have 16 registers each, fewer than ptxas accepts."""
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
    assert ".maxnreg" not in ptx
    assert "the hint occupancy = 32 is not followed: a thread needs about 24 registers" in remarks
