"""wgmma_pipeline.cu: A times B transposed, by steps of 16."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher

STEPS = 5


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    a, b = (rng.standard_normal((rows, 16 * STEPS)).astype(np.float16) for rows in (64, 16))
    tiles = [
        part[:, 16 * step + 8 * chunk :][:, :8].reshape(-1)
        for step in range(STEPS)
        for part in (a, b)
        for chunk in (0, 1)
    ]
    c = launch.buffer(np.zeros((64, 16), np.float32), "c")
    launch((1,), (160,), [launch.buffer(np.concatenate(tiles), "tiles"), c, STEPS])
    launch.expect(c, a.astype(np.float64) @ b.astype(np.float64).T, atol=2e-5)
