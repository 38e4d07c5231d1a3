"""tcgen05_stationary.cu: lane 32 g + r, column n is row r, column 32 g + n of the product."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher

from tessera_tools.sim.instruction_descriptor import encode


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((32, 32), (128, 32)))
    c = launch.buffer(np.zeros((4, 32, 32), np.float32), "c")
    launch(
        (1,), (128,), [launch.buffer(a, "a"), launch.buffer(b, "b"), c, encode("f16", 32, 128, "f16", "f16")]
    )
    product = a.astype(np.float64) @ b.astype(np.float64).T
    launch.expect(c, product.reshape(32, 4, 32).swapaxes(0, 1), atol=1e-4)
