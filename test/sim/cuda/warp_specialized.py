"""warp_specialized.cu: the sum of the tiles."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher

from tessera_tools import sim


def run(launch: Launcher) -> None:
    tiles = np.random.default_rng(6).integers(-9, 9, (6, 8, 32)).astype(np.float32)
    source = launch.buffer(tiles, "tiles")
    out = launch.buffer(np.zeros((8, 32), np.float32), "out")
    launch((1,), (384,), [sim.tensor_map("f32", source, (32, 48), (32, 8)), out, 6])
    launch.expect(out, tiles.sum(axis=0))
