"""dependent_launch.cu: the product, where `in` is what an earlier kernel may still write."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher

from tessera_tools import sim


def run(launch: Launcher) -> None:
    values, weights = np.random.default_rng(8).standard_normal((2, 128)).astype(np.float32)
    source = launch.buffer(values, "in")
    out = launch.buffer(np.zeros(128, np.float32), "out")
    with sim.unfinished(source):
        launch((2,), (64,), [source, launch.buffer(weights, "weights"), out])
    launch.expect(out, values * weights)
