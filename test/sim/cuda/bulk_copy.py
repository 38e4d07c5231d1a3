"""bulk_copy.cu: everything doubled, twice."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    rows = np.random.default_rng(7).standard_normal((3, 256)).astype(np.float32)
    out, check = (launch.buffer(np.zeros((3, 256), np.float32), name) for name in ("out", "check"))
    launch((3,), (128,), [launch.buffer(rows, "in"), out, check])
    launch.expect(out, 2 * rows)
    launch.expect(check, 2 * rows)
