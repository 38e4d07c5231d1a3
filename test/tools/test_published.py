"""tools/bench/published.py: the list of published figures, and how the clock is judged by them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "tools" / "bench"


def _loaded() -> Any:
    spec = importlib.util.spec_from_file_location("published", BENCH / "published.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["published"] = module
    spec.loader.exec_module(module)
    return module


published = _loaded()
KERNELS = list(published.entries())


def row(figure: float, estimated: float, gpu: str = "H100 SXM", unit: str = "GB/s") -> Any:
    return published.Row("k", gpu, unit, figure, estimated, "https://example.org")


def test_a_pair_is_right_if_the_clock_has_the_published_order() -> None:
    assert published.ranking([row(100, 90), row(200, 80), row(300, 400)]) == (2, 3)


def test_figures_within_ten_percent_are_no_pair() -> None:
    assert published.ranking([row(100, 90), row(109, 80)]) == (0, 0)


@pytest.mark.parametrize("other", [{"gpu": "A100"}, {"unit": "TFLOP/s"}])
def test_different_gpus_and_units_are_not_compared(other: dict[str, str]) -> None:
    assert published.ranking([row(100, 90), row(200, 80, **other)]) == (0, 0)


def test_the_error_is_relative_to_the_published_figure() -> None:
    assert row(200, 150).error == pytest.approx(-0.25)


def test_the_hilbert_curve_visits_every_tile_once_and_steps_to_a_neighbor() -> None:
    (order,) = published.hilbert(8, 8, 1, 64)
    places = np.stack([order >> 16, order & 0xFFFF])
    assert len({tuple(place) for place in places.T.tolist()}) == 64
    assert (np.abs(np.diff(places)).sum(0) == 1).all()


TUTORIAL = """
import torch
from triton.language.extra import rsqrt
_ONE: int = 1
_LLAMA = tl.constexpr(0)
configs = [triton.Config({"N": 64})]

@triton.jit
def inner(x):
    # A comment.
    return rsqrt(x)

@triton.autotune(configs, key=["N"])
@triton.jit
def kernel(x, N: tl.constexpr):
    return inner(x)

def reference(x):
    return torch.rsqrt(x)

kernel.run()
"""


def test_only_kernels_and_their_constants_are_compiled_for_triton() -> None:
    assert published.triton_source(TUTORIAL, ["from libdevice import rsqrt"]).splitlines() == [
        "import triton",
        "import triton.language as tl",
        "from libdevice import rsqrt",
        "_LLAMA = tl.constexpr(0)",
        "@triton.jit",
        "def inner(x):",
        "    # A comment.",
        "    return rsqrt(x)",
        "@triton.jit",
        "def kernel(x, N: tl.constexpr):",
        "    return inner(x)",
    ]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel["name"])
def test_every_entry_says_who_published_the_figure_and_how_the_kernel_is_launched(
    kernel: dict[str, Any],
) -> None:
    assert kernel["source"].startswith("https://")
    assert kernel["figure"] > 0
    assert kernel["unit"] in ("TFLOP/s", "GB/s")
    names = {one.split()[1] if " " in one else one for one in kernel["args"] if isinstance(one, str)}
    assert names <= kernel["buffers"].keys()


def test_the_names_are_unique() -> None:
    names = [kernel["name"] for kernel in KERNELS]
    assert len(names) == len(set(names))
