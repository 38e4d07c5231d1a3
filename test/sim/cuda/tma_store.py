"""tma_store.cu: two tiles below each other, clipped at the edges of the matrix, for each swizzle."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher

from tessera_tools import sim


def run(launch: Launcher) -> None:
    for swizzle, words in enumerate((16, 8, 16, 32)):
        name = ("none", "32B", "64B", "128B")[swizzle]
        tile = np.random.default_rng(swizzle).integers(0, 1 << 31, (8, words), np.uint32)
        for x, y in ((0, 0), (-2, 9)):
            target = launch.buffer(np.full((20, 36), 7, np.uint32), "matrix")
            tensor = sim.tensor_map("u32", target, (36, 20), (words, 8), swizzle=name)
            launch(
                (1,), (64,), [tensor, launch.buffer(tile, "in"), x, y, 8, swizzle], shared_bytes=8 * words * 4
            )
            padded = np.full((64, 96), 7, np.uint32)
            padded[16 + y : 24 + y, 16 + x : 16 + x + words] = tile
            padded[24 + y : 32 + y, 16 + x : 16 + x + words] = tile + 1
            launch.expect(target, padded[16:36, 16:52])
