"""copy_mbarrier.cu: column sums of the tiles, in reverse."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    tiles = np.random.default_rng(launch.seed).integers(-99, 99, (5, 96)).astype(np.int32)
    out = launch.buffer(np.zeros(96, np.int32), "out")
    launch((1,), (128,), [launch.buffer(tiles, "in"), out, 5])
    launch.expect(out, tiles.sum(axis=0)[::-1])
