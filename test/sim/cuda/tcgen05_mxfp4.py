"""tcgen05_mxfp4.cu against float64."""

from __future__ import annotations

from sim.cuda_kernels import Launcher
from sim.tcgen05_products import scaled_product


def run(launch: Launcher) -> None:
    scaled_product(launch, "mxf4", "e2m1", "ue8m0", k=128, block=32)
