"""warp_compact.cu: one block of four warps."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    values = np.random.default_rng(8).integers(-100, 100, 128).astype(np.int32)
    kept, count = (
        launch.buffer(np.zeros(128, np.int32), "kept"),
        launch.buffer(np.zeros(1, np.int32), "count"),
    )
    keys, least = (
        launch.buffer(np.zeros(9, np.int32), "keys"),
        launch.buffer(np.zeros(128, np.int32), "least"),
    )
    eights = launch.buffer(np.zeros(16, np.int32), "eights")
    launch((1,), (128,), [launch.buffer(values, "in"), kept, count, keys, least, eights])
    positive = values[values > 0]
    launch.expect(count, [len(positive)])
    if sorted(kept.array()[: len(positive)].tolist()) != sorted(positive.tolist()):
        launch.wrong.append("other values were kept")
    groups = values.reshape(16, 8)
    largest = max([0, *groups[(groups == 77).any(axis=1)].reshape(-1).tolist()])
    launch.expect(keys, [*np.bincount(values & 7, minlength=8), largest])
    launch.expect(least, np.repeat(values.reshape(4, 32).min(axis=1), 32))
    launch.expect(eights, groups.sum(axis=1))
