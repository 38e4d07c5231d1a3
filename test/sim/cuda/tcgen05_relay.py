"""tcgen05_relay.cu: A from tensor memory."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher

from tessera_tools.sim.instruction_descriptor import encode


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((128, 16), (32, 16)))
    c = launch.buffer(np.zeros((128, 32), np.float32), "c")
    launch(
        (1,), (128,), [launch.buffer(a, "a"), launch.buffer(b, "b"), c, encode("f16", 128, 32, "f16", "f16")]
    )
    launch.expect(c, a.astype(np.float64) @ b.astype(np.float64).T, atol=1e-4)
