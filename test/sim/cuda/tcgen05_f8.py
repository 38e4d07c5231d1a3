"""tcgen05_f8.cu: e4m3 times e5m2."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher
from sim.instructions.test_tcgen05_mma import draw

from tessera_tools.sim.instruction_descriptor import encode


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    (a, left), (b, right) = draw(rng, "e4m3", (128, 128)), draw(rng, "e5m2", (32, 128))
    c = launch.buffer(np.zeros((128, 32), np.float32), "c")
    launch(
        (1,),
        (128,),
        [launch.buffer(a, "a"), launch.buffer(b, "b"), c, encode("f8f6f4", 128, 32, "e4m3", "e5m2")],
    )
    launch.expect(c, left @ right.T, rtol=1e-5, atol=0.5)
