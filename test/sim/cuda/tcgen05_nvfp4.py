"""tcgen05_nvfp4.cu against float64."""

from __future__ import annotations

from sim.cuda_kernels import Launcher
from sim.tcgen05_products import scaled_product


def run(launch: Launcher) -> None:
    scaled_product(launch, "mxf4nvf4", "e2m1", "ue4m3", k=128, block=16)
