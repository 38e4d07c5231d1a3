"""mma_int8.cu: exact."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    a, b = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((64, 96), (8, 96)))
    c = launch.buffer(np.zeros((64, 8), np.int32), "c")
    launch((1,), (128,), [launch.buffer(a, "a"), launch.buffer(b, "b"), c, 24])
    launch.expect(c, a.astype(np.int32) @ b.T.astype(np.int32))
