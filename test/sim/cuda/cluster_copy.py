"""cluster_copy.cu: every row moves to the next CTA of its cluster."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    rows = np.arange(512, dtype=np.int32).reshape(2, 4, 64)
    out = launch.buffer(np.zeros((2, 4, 64), np.int32), "out")
    launch((8,), (64,), [launch.buffer(rows, "in"), out])
    launch.expect(out, np.roll(rows, 1, axis=1))
