"""tcgen05_alloc.cu: what each thread has stored in its columns."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    c = launch.buffer(np.zeros((3, 64, 8), np.uint32), "c")
    launch((2,), (64,), [c])
    launch.expect(c, 1000 * np.arange(3)[:, None, None] + np.arange(512).reshape(64, 8))
