"""tcgen05_gemm.cu: f16 and bf16 products against float64."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher

from tessera_tools import sim
from tessera_tools.sim.instruction_descriptor import encode


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((128, 320), (32, 320)))
    maps = [
        sim.tensor_map("f16", launch.buffer(array, name), array.shape[::-1], (64, len(array)), swizzle="128B")
        for array, name in ((a, "a"), (b, "b"))
    ]
    c = launch.buffer(np.zeros((128, 32), np.float32), "c")
    launch((1,), (192,), [*maps, c, 5, encode("f16", 128, 32, "f16", "f16")])
    launch.expect(c, a.astype(np.float64) @ b.astype(np.float64).T, atol=1e-4)
