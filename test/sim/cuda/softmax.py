"""softmax.cu: against float64."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    values = (np.random.default_rng(5).normal(size=(3, 200)) * 5).astype(np.float32)
    out = launch.buffer(np.zeros_like(values), "out")
    launch((3,), (128,), [launch.buffer(values, "in"), out, 200])
    wanted = np.exp(values.astype(np.float64) - values.max(axis=1, keepdims=True))
    launch.expect(out, wanted / wanted.sum(axis=1, keepdims=True), rtol=2e-6, atol=1e-9)
