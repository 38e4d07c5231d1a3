"""Which agents a kernel has by the option `agents`: each choice computes the same, is another kernel, or is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import decode, fresh_seed, random

import tessera_tools as tt
from tessera_tools.api.compiling import Kernel

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
ATTENTION = "attention_causal_bf16_d128"
SUMS = """\
cuda_tile.module @m {{
  entry @sums(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %n: tile<i32>) {{
    {assumes}
    %from = make_tensor_view %base, shape = [{rows}, %m], strides = [%m, 1] : tile<i32> -> tensor_view<{rows}x?xf32, strides=[?,1]>
    %part = make_partition_view %from : partition_view<tile=({rows}x{width}), tensor_view<{rows}x?xf32, strides=[?,1]>>
    %to = make_tensor_view %y, shape = [{rows}, {width}], strides = [{width}, 1] : tensor_view<{rows}x{width}xf32, strides=[{width},1]>
    %out = make_partition_view %to : partition_view<tile=({rows}x{width}), tensor_view<{rows}x{width}xf32, strides=[{width},1]>>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %steps = constant <i32: 4> : tile<i32>
    %none = constant <f32: 0.0> : tile<{rows}x{width}xf32>
    %sum = for %i in (%zero to %steps, step %one) : tile<i32> iter_values(%s = %none) -> (tile<{rows}x{width}xf32>) {{
      %t, %token = load_view_tko weak %part[%zero, %i] : partition_view<tile=({rows}x{width}), tensor_view<{rows}x?xf32, strides=[?,1]>>, tile<i32> -> tile<{rows}x{width}xf32>, token
      %a = addf %s, %t : tile<{rows}x{width}xf32>
      continue %a : tile<{rows}x{width}xf32>
    }}
    %done = store_view_tko weak %sum, %out[%zero, %zero] : tile<{rows}x{width}xf32>, partition_view<tile=({rows}x{width}), tensor_view<{rows}x{width}xf32, strides=[{width},1]>>, tile<i32> -> token
    return
  }}
}}
"""  # noqa: E501
"""The sum of 4 neighboring tiles.  TMA takes fewer instructions for large tiles, and more for small ones."""


ALIGNED = "%base = assume div_by<16>, %x : tile<ptr<f32>> %m = assume div_by<4>, %n : tile<i32>"
UNKNOWN = "%base = assume div_by<4>, %x : tile<ptr<f32>> %m = assume div_by<4>, %n : tile<i32>"


def corpus(name: str, target: str, agents: str) -> Kernel:
    return tt.compile(str(CORPUS / f"{name}.mlir"), target, agents=agents)


def attention_error(kernel: Kernel, element: str, block: int, width: int, mode: str) -> float:
    """The greatest error of causal attention of two and a half blocks, in float64."""
    rng = np.random.default_rng(fresh_seed())
    length = 2 * block + block // 2
    q, k, v, o = (random(element, (1, length, width), rng) for _ in range(4))
    scale = float(np.log2(np.e) / np.sqrt(width))
    kernel[-(-length // block), 1](q, k, v, o, scale, mode=mode)
    q, k, v, o = (decode(element, one)[0] for one in (q, k, v, o))
    scores = np.where(np.tri(length, dtype=bool), q @ k.T * scale, -np.inf)
    weights = np.exp2(scores - scores.max(1, keepdims=True))
    return float(np.abs(weights / weights.sum(1, keepdims=True) @ v - o).max())


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize(
    ("target", "agents"),
    [("sm_90a", "none"), ("sm_90a", "producer"), ("sm_100a", "none"), ("sm_100a", "multipliers"),
     ("sm_100a", "correction")],
)  # fmt: skip
def test_attention_is_right_with_any_agents(target: str, agents: str, mode: str) -> None:
    assert attention_error(corpus(ATTENTION, target, agents), "bf16", 128, 128, mode) < 2e-2


@pytest.mark.parametrize("mode", ["late", "early"])
def test_a_correction_that_costs_more_is_right(mode: str) -> None:
    """The price leaves sums of 64 columns to the consumer."""
    name = "attention_causal_f16_d64"
    assert corpus(name, "sm_100a", "auto").ptx == corpus(name, "sm_100a", "multipliers").ptx
    kernel = corpus(name, "sm_100a", "correction")
    assert kernel.ptx != corpus(name, "sm_100a", "auto").ptx
    assert attention_error(kernel, "f16", 64, 64, mode) < 2e-2


@pytest.mark.parametrize(
    ("target", "without"),
    [("sm_90a", r"wgmma|setmaxnreg|mbarrier"), ("sm_100a", r"tcgen05|setmaxnreg|mbarrier")],
)
def test_without_agents_all_warps_run_the_program(target: str, without: str) -> None:
    assert re.search(without, corpus("gemm_f16_128x256x64", target, "auto").ptx)
    assert not re.search(without, corpus("gemm_f16_128x256x64", target, "none").ptx)


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("agents", ["auto", "none", "producer"])
def test_a_producer_of_small_tiles(agents: str, mode: str) -> None:
    """By price, a kernel without products has one only where that takes fewer instructions."""
    rows, width = 4, 32
    kernel = tt.compile(SUMS.format(rows=rows, width=width, assumes=ALIGNED), "sm_90a", agents=agents)
    assert ("cp.async.bulk.tensor" in kernel.ptx) == (agents == "producer")
    x = np.random.default_rng(fresh_seed()).standard_normal((rows, 4 * width)).astype(np.float32)
    y = np.zeros((rows, width), np.float32)
    kernel[1](x, y, 4 * width, mode=mode)
    assert np.allclose(y, x.reshape(rows, 4, width).sum(1), atol=1e-5)


def test_a_producer_by_price_is_the_one_of_the_option() -> None:
    name = "gemm_f16_64x64x32"
    auto, none, producer = (corpus(name, "sm_90a", one).ptx for one in ("auto", "none", "producer"))
    assert auto == producer != none


@pytest.mark.parametrize(
    ("name", "target", "options", "why"),
    [
        ("gemm_f16_64x64x32", "sm_80", {"agents": "producer"}, "sm_80 has none such; expected none$"),
        ("gemm_f16_64x64x32", "sm_90a", {"agents": "correction"}, "expected none or producer$"),
        ("gemm_f16_64x64x32", "sm_100a", {"agents": "producer"}, "expected none, multipliers or correction$"),
        ("gemm_f16_64x64x32", "sm_100a", {"agents": "correction"}, "adds up no sums that a loop changes"),
        ("gemm_f16_128x256x64", "sm_100a", {"agents": "correction"}, "needs more warpgroups of consumers"),
        ("gemm_f16_64x64x32", "sm_90a", {"agents": "none", "ping_pong": "always"}, "options for consumers are given"),
        ("gemm_f16_64x64x32", "sm_90a", {"agents": "producer", "num_warps": 4}, "a number of warps exclude agents"),
        ("gemm_f16_64x64x32", "sm_90a", {"agents": "many"}, "agents is 'many'; expected one of auto, none"),
    ],
)  # fmt: skip
def test_agents_that_cannot_be_had_are_refused(
    name: str, target: str, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(tt.DiagnosticError, match=rf"(?m){why}"):
        tt.compile(str(CORPUS / f"{name}.mlir"), target, **options)


def test_a_kernel_that_cannot_have_a_producer_is_refused() -> None:
    with pytest.raises(
        tt.DiagnosticError, match="not known to be a multiple of 16 bytes.* no producer, for which"
    ):
        tt.compile(SUMS.format(rows=4, width=32, assumes=UNKNOWN), "sm_90a", agents="producer")
