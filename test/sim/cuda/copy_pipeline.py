"""copy_pipeline.cu: each thread sums four elements of every tile."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    count = 2803
    values = np.random.default_rng(launch.seed).integers(-50, 50, count).astype(np.float32)
    tiles = np.zeros(6 * 512, np.float32)
    tiles[:count] = values
    out = launch.buffer(np.zeros(128, np.float32), "out")
    launch((1,), (128,), [launch.buffer(values, "in"), out, count])
    places = (4 * np.arange(128)[:, None] + 129 * np.arange(4)) % 512
    launch.expect(out, tiles.reshape(6, 512)[:, places].sum(axis=(0, 2)))
