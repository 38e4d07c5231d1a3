"""wmma_gemm.cu: half of A times B."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((64, 48), (48, 128)))
    c = launch.buffer(np.zeros((64, 128), np.float32), "c")
    launch((2, 1), (128,), [launch.buffer(a, "a"), launch.buffer(b, "b"), c, 128, 48])
    launch.expect(c, a.astype(np.float64) @ b.astype(np.float64) / 2, atol=1e-5)
