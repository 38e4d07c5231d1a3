"""tma_load.cu: a tile that hangs over two edges of the matrix, zeros outside, for each swizzle."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher

from tessera_tools import sim


def run(launch: Launcher) -> None:
    matrix = np.random.default_rng(2).integers(0, 1 << 32, (20, 44), np.uint32)
    source = launch.buffer(matrix, "matrix")
    padded = np.zeros((64, 128), np.uint32)
    padded[8 : 8 + 20, 8 : 8 + 44] = matrix
    for swizzle, words in enumerate((16, 8, 16, 32)):
        name = ("none", "32B", "64B", "128B")[swizzle]
        tensor = sim.tensor_map("u32", source, (44, 20), (words, 16), swizzle=name)
        for x, y in ((0, 0), (20, 8), (-3, -2), (40, 12)):
            out = launch.buffer(np.zeros((16, words), np.uint32), "out")
            launch((1,), (64,), [tensor, out, x, y, 16, swizzle], shared_bytes=16 * words * 4)
            launch.expect(out, padded[8 + y : 24 + y, 8 + x : 8 + x + words])
