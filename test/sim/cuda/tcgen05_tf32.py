"""tcgen05_tf32.cu: tf32."""

from __future__ import annotations

from sim.cuda_kernels import Launcher
from sim.tcgen05_products import product


def run(launch: Launcher) -> None:
    product(launch, "tf32", "tf32", "tf32", 32, atol=1e-4)
