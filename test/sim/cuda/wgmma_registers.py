"""wgmma_registers.cu: A times B."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((64, 128), (128, 16)))
    c = launch.buffer(np.zeros((64, 16), np.float32), "c")
    launch((1,), (128,), [launch.buffer(a, "a"), launch.buffer(b, "b"), c, 128])
    launch.expect(c, a.astype(np.float64) @ b.astype(np.float64), atol=2e-5)
