"""tcgen05_f8.cu: e4m3 times e5m2."""

from __future__ import annotations

from sim.cuda_kernels import Launcher
from sim.tcgen05_products import product


def run(launch: Launcher) -> None:
    product(launch, "f8f6f4", "e4m3", "e5m2", 128, rtol=1e-5, atol=0.5)
