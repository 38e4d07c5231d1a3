"""mbarrier_pipeline.cu: column sums of the tiles."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    tiles = np.random.default_rng(1).integers(-8, 8, (7, 64)).astype(np.float32)
    out = launch.buffer(np.zeros(64, np.float32), "out")
    launch((1,), (96,), [launch.buffer(tiles, "in"), out, 7])
    launch.expect(out, tiles.sum(axis=0))
