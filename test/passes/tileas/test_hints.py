"""Hints and options constrain the schedule, and a remark or an error says what was done with them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "pipelines"))

from programs_of_products import Product

from tessera_tools.cli.opt import run as run_opt
from tessera_tools.cli.translate import run

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
