"""scan.cu: inclusive sums of two blocks."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    generator = np.random.default_rng(2)
    values = generator.integers(-1000, 1000, (2, 128)).astype(np.int32)
    wide = generator.integers(-(1 << 50), 1 << 50, (2, 128))
    out, wide_out = (
        launch.buffer(np.zeros_like(values), "out"),
        launch.buffer(np.zeros_like(wide), "wide_out"),
    )
    launch((2,), (128,), [launch.buffer(values, "in"), out, launch.buffer(wide, "wide_in"), wide_out])
    launch.expect(out, values.cumsum(axis=1))
    launch.expect(wide_out, wide.cumsum(axis=1))
