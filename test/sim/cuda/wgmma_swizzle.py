"""wgmma_swizzle.cu: A times B transposed, the same in each mode."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((64, 128), (16, 128)))
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    for swizzle in (0, 32, 64, 128):
        c = launch.buffer(np.zeros((64, 16), np.float32), f"c of swizzle {swizzle}")
        launch((1,), (128,), [launch.buffer(a, "a"), launch.buffer(b, "b"), c, 128, swizzle])
        launch.expect(c, expected, atol=2e-5)
