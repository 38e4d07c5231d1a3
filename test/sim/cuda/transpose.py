"""transpose.cu: a matrix whose sides are no multiples of the tile."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    values = np.random.default_rng(4).normal(size=(50, 41)).astype(np.float32)
    half = values.astype(np.float16)
    out = launch.buffer(np.zeros((41, 50), np.float32), "out")
    half_out = launch.buffer(np.zeros((41, 50), np.float16), "half_out")
    arguments = [launch.buffer(values, "in"), out, launch.buffer(half, "half_in"), half_out, 50, 41]
    launch((2, 2), (32, 8), arguments)
    launch.expect(out, values.T)
    launch.expect(half_out, half.T)
