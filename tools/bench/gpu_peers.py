"""What our kernels are compared with on a GPU: torch (cuBLASLt, cuDNN, FlashAttention) and Triton.

case, torch tensors by name ──peers()──▶ name → a function that enqueues the work; it writes the case's output

Part of the pack of gpu_pack.py. torch and Triton are no dependencies of the project.
"""
# pyright: reportMissingImports=false, reportOptionalMemberAccess=false, reportInvalidTypeForm=false
# pyright: reportUnknownMemberType=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpu_cases import Case, is_causal, plain_attention

Work = Callable[[], Any]


def peers(case: Case, tensors: Mapping[str, Any]) -> dict[str, Callable[[], Work]]:
    """Name → a function that prepares a peer, and may raise what torch or Triton raises."""
    import torch

    found: dict[str, Callable[[], Work]] = _torch(torch, case, tensors)
    try:
        import triton  # noqa: F401
    except ImportError:
        return found
    from gpu_triton import triton_peer

    prepare = triton_peer(case, tensors)
    if prepare is not None:
        found["triton"] = prepare
    return found


def _torch(torch: Any, case: Case, t: Mapping[str, Any]) -> dict[str, Callable[[], Work]]:
    functional = torch.nn.functional
    family = case.family

    def into(output: Any, compute: Work) -> Work:
        """Keep the result where checks look for it; measured is the computation alone."""

        def work() -> None:
            work.result = compute()  # type: ignore[attr-defined]

        work.output = output  # type: ignore[attr-defined]
        return work

    if family.startswith("gemm") and hasattr(torch.backends.cuda, "preferred_blas_library"):
        torch.backends.cuda.preferred_blas_library("cublaslt")
    if family == "gemm":
        return {"torch": lambda: lambda: torch.matmul(t["a"], t["b"], out=t["d"])}
    if family == "gemm_tn":
        return {"torch": lambda: lambda: torch.matmul(t["a"].t(), t["b"], out=t["d"])}
    if family == "gemm_nt" and case.tensors[0].type == "f8e4m3":
        one = torch.ones((), device="cuda", dtype=torch.float32)

        def scaled(fast: bool) -> Callable[[], Work]:
            return lambda: into(
                t["d"],
                lambda: torch._scaled_mm(
                    t["a"], t["b"].t(), scale_a=one, scale_b=one, out_dtype=torch.float16, use_fast_accum=fast
                ),
            )

        return {"torch": scaled(False), "torch, fast sums": scaled(True)}
    if family == "gemm_nt":
        # For f32, with torch.backends.cuda.matmul.allow_tf32.
        torch.backends.cuda.matmul.allow_tf32 = True
        return {"torch": lambda: lambda: torch.matmul(t["a"], t["b"].t(), out=t["d"])}
    if family == "attention" and plain_attention(case):
        q, k, v = (t[name][None] for name in "qkv")
        causal = is_causal(case)

        def attend(backend: str) -> Callable[[], Work]:
            def prepare() -> Work:
                from torch.nn.attention import SDPBackend, sdpa_kernel

                def compute() -> Any:
                    with sdpa_kernel(getattr(SDPBackend, backend)):
                        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)[0]

                return into(t["o"], compute)

            return prepare

        return {"cudnn": attend("CUDNN_ATTENTION"), "flash": attend("FLASH_ATTENTION")}
    single: dict[str, Work] = {
        "softmax": lambda: torch.softmax(t["x"], dim=1, out=t["y"]),
        "layer_norm": into(
            t.get("y"), lambda: functional.layer_norm(t["x"], t["x"].shape[1:], t["w"], t["b"], 1e-5)
        ),
        "rms_norm": into(
            t.get("y"), lambda: functional.rms_norm(t["x"], t["x"].shape[1:], t["w"], case.scalars[0])
        ),
        "cross_entropy": into(
            t.get("y"), lambda: functional.cross_entropy(t["x"].float(), t["labels"].long(), reduction="none")
        ),
        "gather_rows": lambda: torch.index_select(t["x"], 0, t["index"], out=t["y"]),
        "column_sum": lambda: torch.sum(t["x"], dim=0, out=t["y"]),
        "copy": lambda: t["y"].copy_(t["x"]),
        "row_sum": lambda: torch.sum(t["x"], dim=1, out=t["y"]),
        "row_scan": lambda: torch.cumsum(t["x"], dim=1, out=t["y"]),
        "vector_add": lambda: torch.add(t["a"], t["b"], out=t["c"]),
        "transpose": lambda: t["y"].copy_(t["x"].t()),
    }
    return {"torch": lambda: single[family]} if family in single else {}


def deliver(work: Work) -> None:
    """Copy a result that is not yet in the case's output."""
    if hasattr(work, "output"):
        work.output.copy_(work.result)  # type: ignore[attr-defined]
