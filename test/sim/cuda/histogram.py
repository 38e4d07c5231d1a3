"""histogram.cu: bytes that cluster around a few values."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    values = np.clip(np.random.default_rng(3).normal(100, 9, 3000), 0, 255).astype(np.uint8)
    bins = launch.buffer(np.zeros(256, np.uint32), "bins")
    launch((2,), (256,), [launch.buffer(values, "in"), bins, len(values)])
    launch.expect(bins, np.bincount(values, minlength=256))
