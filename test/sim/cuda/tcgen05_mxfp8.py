"""tcgen05_mxfp8.cu against float64."""

from __future__ import annotations

from sim.cuda_kernels import Launcher
from sim.tcgen05_products import scaled_product


def run(launch: Launcher) -> None:
    scaled_product(launch, "mxf8f6f4", "e4m3", "ue8m0", k=64, block=32)
