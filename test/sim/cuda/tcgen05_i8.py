"""tcgen05_i8.cu: signed times unsigned, bit for bit."""

from __future__ import annotations

from sim.cuda_kernels import Launcher
from sim.tcgen05_products import product


def run(launch: Launcher) -> None:
    product(launch, "i8", "s8", "u8", 128, "s32")
