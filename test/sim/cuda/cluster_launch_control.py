"""cluster_launch_control.cu: every tile is computed once."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    counts = launch.buffer(np.zeros((3, 5, 64), np.int32), "counts")
    sums = launch.buffer(np.zeros((3, 5, 64), np.int32), "sums")
    launch((5, 3), (64,), [counts, sums])
    launch.expect(counts, np.ones((3, 5, 64)))
    launch.expect(sums, np.broadcast_to((10 * np.arange(3)[:, None] + np.arange(5))[..., None], (3, 5, 64)))
