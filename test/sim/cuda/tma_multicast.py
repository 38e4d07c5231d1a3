"""tma_multicast.cu: both CTAs see every row."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher

from tessera_tools import sim


def run(launch: Launcher) -> None:
    matrix = np.random.default_rng(4).integers(0, 1000, (48, 32)).astype(np.int32)
    source = launch.buffer(matrix, "matrix")
    out = launch.buffer(np.zeros((3, 2, 16, 32), np.int32), "out")
    launch((2,), (64,), [sim.tensor_map("s32", source, (32, 48), (32, 8)), out, 3])
    launch.expect(out, matrix.reshape(3, 1, 16, 32) + np.arange(2).reshape(1, 2, 1, 1))
