"""stmatrix_epilogue.cu: A times B, rows in reverse."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((32, 16), (16, 32)))
    c = launch.buffer(np.zeros((32, 32), np.float16), "c")
    launch((1,), (64,), [launch.buffer(a, "a"), launch.buffer(b, "b"), c])
    launch.expect(c, (a.astype(np.float64) @ b.astype(np.float64))[::-1], rtol=2e-3, atol=1e-3)
