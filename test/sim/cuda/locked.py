"""locked.cu: two blocks of four warps."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    values = np.random.default_rng(6).normal(size=256).astype(np.float32)
    least, ticket = (
        launch.buffer(np.array([9], np.float32), "least"),
        launch.buffer(np.zeros(1, np.uint32), "ticket"),
    )
    seen, lock = launch.buffer(np.zeros(256, np.uint32), "seen"), launch.buffer(np.zeros(1, np.int32), "lock")
    total = launch.buffer(np.zeros(2, np.int32), "sum")
    launch((2,), (128,), [launch.buffer(values, "in"), least, ticket, seen, lock, total])
    launch.expect(least, [values.min()])
    launch.expect(ticket, [256])
    launch.expect(total, [sum(range(0, 256, 32)), 8])
    if sorted(seen.array().tolist()) != list(range(256)):
        launch.wrong.append("not every thread has a ticket of its own")
