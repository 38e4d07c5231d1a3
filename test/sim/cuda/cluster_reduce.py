"""cluster_reduce.cu: sums and histograms of two clusters."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    values = np.random.default_rng(5).integers(0, 100, (2, 4, 64)).astype(np.int32)
    sums = launch.buffer(np.zeros((2, 64), np.int32), "sums")
    histogram = launch.buffer(np.zeros((2, 8), np.int32), "histogram")
    launch((8,), (64,), [launch.buffer(values, "in"), sums, histogram])
    launch.expect(sums, values.sum(axis=1))
    launch.expect(histogram, [np.bincount(part.reshape(-1) & 7, minlength=8) for part in values])
