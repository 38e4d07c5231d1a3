"""tcgen05_tf32.cu: tf32."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher
from sim.instructions.test_tcgen05_mma import draw

from tessera_tools.sim.instruction_descriptor import encode


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    (a, left), (b, right) = draw(rng, "tf32", (128, 32)), draw(rng, "tf32", (32, 32))
    c = launch.buffer(np.zeros((128, 32), np.float32), "c")
    launch(
        (1,),
        (128,),
        [launch.buffer(a, "a"), launch.buffer(b, "b"), c, encode("tf32", 128, 32, "tf32", "tf32")],
    )
    launch.expect(c, left @ right.T, atol=1e-4)
