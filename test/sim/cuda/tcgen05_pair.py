"""tcgen05_pair.cu: M of 256 over two CTAs."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher

from tessera_tools import sim
from tessera_tools.sim.instruction_descriptor import encode


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((256, 192), (64, 192)))
    maps = [
        sim.tensor_map("f16", launch.buffer(array, name), array.shape[::-1], (64, rows), swizzle="128B")
        for array, name, rows in ((a, "a", 128), (b, "b", 32))
    ]
    c = launch.buffer(np.zeros((256, 64), np.float32), "c")
    launch((2,), (128,), [*maps, c, 3, encode("f16", 256, 64, "f16", "f16")])
    launch.expect(c, a.astype(np.float64) @ b.astype(np.float64).T, atol=1e-4)
