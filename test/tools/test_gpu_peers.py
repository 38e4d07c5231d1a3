"""tools/bench/gpu_peers.py on torch's CPU backend: what our kernels are compared with agrees with the references."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import pytest
from docs.pages import ROOT
from programs import fresh_seed

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
sys.path.insert(0, str(ROOT / "tools" / "bench"))

import gpu_cases  # noqa: E402
import gpu_peers  # noqa: E402

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f8e4m3": torch.float8_e4m3fn}


def attention(causal: bool) -> gpu_cases.Case:
    """Attention small enough for a CPU."""
    tensors = tuple(gpu_cases.Tensor(name, "f16", (2, 128, 64), name == "o") for name in "qkvo")
    return dataclasses.replace(gpu_cases.attention(512, 64, causal), tensors=tensors)


CASES = {
    "gemm f16": gpu_cases.gemm(64, 48, 32, "gemm_f16", (128, 256), ("f16", "f16")),
    "gemm bf16": gpu_cases.gemm(64, 48, 32, "gemm_bf16", (128, 256), ("bf16", "bf16")),
    "gemm f8": gpu_cases.gemm(64, 48, 32, "gemm_f8", (128, 256), ("f8e4m3", "f16")),
    "attention": attention(False),
    "causal attention": attention(True),
    "softmax": gpu_cases.by_rows("softmax", "softmax_f32_1024", 40, 64, "f32"),
    "layer norm": gpu_cases.by_rows("layer_norm", "layer_norm_bf16_1024", 40, 64, "bf16"),
    "row sum": gpu_cases.by_rows("row_sum", "row_sum_f32_4096", 40, 64, "f32"),
    "row scan": gpu_cases.by_rows("row_scan", "row_scan_f32_1024", 40, 64, "f32"),
    "vector add": gpu_cases.vector_add(1000),
    "transpose": gpu_cases.transpose(24, 40, "f32"),
}


@pytest.mark.parametrize("name", CASES)
def test_torch_computes_what_the_reference_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, ones = CASES[name], torch.ones

    def ones_on_cpu(*shape: Any, device: str, **options: Any) -> Any:
        assert device == "cuda"
        return ones(*shape, **options)

    torch.manual_seed(fresh_seed())
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.setattr(torch, "ones", ones_on_cpu)
    tensors = {
        one.name: torch.full(one.shape, float("nan")).to(TYPES[one.type])
        if one.output
        else torch.randn(one.shape).to(TYPES[one.type])
        for one in case.tensors
    }

    def value(tensor: str) -> Any:
        return tensors[tensor].double().numpy()

    expected = gpu_cases.expected_of(case, value, 1)
    for peer, prepare in gpu_peers.peers(case, tensors).items():
        if peer == "cudnn":
            continue  # it has no CPU backend
        tensors[case.output.name].copy_(torch.full(case.output.shape, float("nan")))
        work = prepare()
        work()
        gpu_peers.deliver(work)
        error, allowed = gpu_cases.difference(case, value(case.output.name), expected)
        assert error <= allowed, peer
