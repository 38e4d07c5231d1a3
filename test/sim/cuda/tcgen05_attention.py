"""tcgen05_attention.cu: the squares of the scores weight the values."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher

from tessera_tools.sim.instruction_descriptor import encode


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    q, k, v = (rng.standard_normal(shape).astype(np.float16) for shape in ((128, 16), (32, 16), (32, 32)))
    first = encode("f16", 128, 32, "f16", "f16")
    second = encode("f16", 128, 32, "f16", "f16", transposed=(False, True))
    o = launch.buffer(np.zeros((128, 32), np.float32), "o")
    arguments = [
        *(launch.buffer(array, name) for array, name in ((q, "q"), (k, "k"), (v, "v"))),
        o,
        first,
        second,
    ]
    launch((1,), (128,), arguments)
    scores = (q.astype(np.float64) @ k.astype(np.float64).T) ** 2
    launch.expect(o, scores @ v.astype(np.float64), rtol=5e-3, atol=0.3)
