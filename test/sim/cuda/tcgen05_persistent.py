"""tcgen05_persistent.cu: four tiles of one product."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher

from tessera_tools.sim.instruction_descriptor import encode


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((128, 16), (4, 32, 16)))
    c = launch.buffer(np.zeros((4, 128, 32), np.float32), "c")
    arguments = [launch.buffer(a, "a"), launch.buffer(b, "b"), c, 4, encode("f16", 128, 32, "f16", "f16")]
    launch((1,), (160,), arguments)
    launch.expect(c, a.astype(np.float64) @ b.astype(np.float64).swapaxes(1, 2), atol=1e-4)
