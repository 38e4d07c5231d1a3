"""tools/bench/published.py: the list of published figures, and how the clock is judged by them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles import require_tool
from tessera_tools import sim

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "bench"))

import published

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


def test_a_kernel_with_several_figures_is_an_entry_for_each_size(tmp_path: Path) -> None:
    text = (
        '[[kernel]]\nname = "k"\nfigures = { 512 = 3, 1024 = 4 }\nwork = [2, "size"]\nargs = ["Q", "size"]\n'
    )
    (tmp_path / "list.toml").write_text(text)
    made = [
        (one["name"], one["figure"], one["work"], one["args"])
        for one in published.entries(tmp_path / "list.toml")
    ]
    assert made == [("k, 512", 3, [2, 512], ["Q", 512]), ("k, 1024", 4, [2, 1024], ["Q", 1024])]


LAUNCHES = """\
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cstdlib>
#include "kernel.h"
int main(int, char **argv) {
  auto *x = reinterpret_cast<float *>(std::strtoull(argv[1], nullptr, 0));
  CUtensorMap map;
  cuuint64_t dims[] = {64, 32}, strides[] = {128};
  cuuint32_t box[] = {64, 8}, steps[] = {1, 1};
  cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, x, dims, strides, box, steps,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  int sms;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  scale<WIDTH><<<sms, 32, 1024>>>(x, map, 3);
}
"""
KERNEL = """\
#include <cuda.h>
template <int n> __global__ void scale(float *x, const __grid_constant__ CUtensorMap map, int by) {
  x[blockIdx.x * n + threadIdx.x] *= by;
}
"""


def test_a_launcher_s_launch_is_recorded_and_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library's template, which its own code launches on as many CTAs as the GPU has SMs."""
    monkeypatch.setenv("PATH", str(Path(require_tool("nvcc")).parent), prepend=os.pathsep)
    (tmp_path / "k.cu").write_text(LAUNCHES)
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "kernel.h").write_text(KERNEL)
    for name in ("record.cpp", "torch"):
        (tmp_path / name).symlink_to(published.LAUNCHERS / name)
    monkeypatch.setattr(published, "LAUNCHERS", tmp_path)
    kernel = {
        "name": "k", "gpu": "H100 SXM", "target": "sm_90a", "launcher": "k.cu", "include": ["library"],
        "defines": {"WIDTH": 32}, "figure": 1, "unit": "GB/s", "work": [8, 132, 32], "source": "https://example.org",
        "buffers": {"x": "f4:132x32"}, "args": ["x"],
    }  # fmt: skip
    row = published.row_of(kernel, {"library": tmp_path / "library"}, "", tmp_path / "build")
    assert 0 < row.estimated < 1000
    (built,) = (tmp_path / "build").iterdir()
    program = published.Launch(kernel, (built / "kernel.ptx").read_text())
    (entry,) = program.module.kernels
    assert [one.size for one in entry.signature.parameters] == [8, 128, 4]
    environment = {**os.environ, "LAUNCH_PARAMETERS": str(built / "parameters.txt"), "GPU_SMS": "132"}
    told = subprocess.run(
        [built / "launch", "0x1000"], env=environment, capture_output=True, check=True, text=True
    )
    launch = json.loads(told.stdout)
    assert (launch["grid"], launch["block"], launch["shared"]) == ([132, 1, 1], [32, 1, 1], 1024)
    pointer, encoded, by = map(bytes.fromhex, launch["args"])
    assert (int.from_bytes(pointer, "little"), int.from_bytes(by, "little")) == (0x1000, 3)
    assert encoded == sim.tensor_map("bf16", 0x1000, (64, 32), (64, 8), strides=(128,), swizzle="128B")


def test_the_names_are_unique() -> None:
    names = [kernel["name"] for kernel in KERNELS]
    assert len(names) == len(set(names))
