"""tcgen05_i8.cu: signed times unsigned, bit for bit."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher
from sim.instructions.test_tcgen05_mma import draw

from tessera_tools.sim.instruction_descriptor import encode


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    (a, left), (b, right) = draw(rng, "s8", (128, 128)), draw(rng, "u8", (32, 128))
    c = launch.buffer(np.zeros((128, 32), np.int32), "c")
    launch(
        (1,),
        (128,),
        [launch.buffer(a, "a"), launch.buffer(b, "b"), c, encode("i8", 128, 32, "s8", "u8", "s32")],
    )
    launch.expect(c, left @ right.T)
