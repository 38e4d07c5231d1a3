"""block_reduce.cu: sums of small integers, which float32 adds exactly in any order."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    values = np.random.default_rng(1).integers(-50, 50, 700).astype(np.float32)
    blocks = launch.buffer(np.zeros(3, np.float32), "blocks")
    total = launch.buffer(np.zeros(1, np.int32), "total")
    launch((3,), (256,), [launch.buffer(values, "in"), blocks, total, len(values)])
    launch.expect(blocks, np.pad(values, (0, 68)).reshape(3, 256).sum(axis=1))
    launch.expect(total, [values.sum()])
