"""tma_reduce.cu: sums of the tiles, and the maximum over the CTAs."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher

from tessera_tools import sim


def run(launch: Launcher) -> None:
    matrix = np.ones((12, 24), np.float32)
    target = launch.buffer(matrix, "matrix")
    largest = launch.buffer(np.full(16, 3, np.int32), "largest")
    launch((4,), (128,), [sim.tensor_map("f32", target, (24, 12), (16, 8)), largest])
    wanted = matrix.copy()
    wanted[2:10, 8:24] += (4 * np.arange(128) + 6).reshape(8, 16)
    launch.expect(target, wanted)
    launch.expect(largest, [max(3, *((n * 7 + c * 5) % 16 for c in range(4))) for n in range(16)])
