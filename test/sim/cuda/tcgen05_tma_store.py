"""tcgen05_tma_store.cu: a product with D in f16."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher

from tessera_tools import sim
from tessera_tools.sim.instruction_descriptor import encode


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((128, 16), (32, 16)))
    out = launch.buffer(np.zeros((128, 32), np.float16), "out")
    arguments = [launch.buffer(a, "a"), launch.buffer(b, "b"), encode("f16", 128, 32, "f16", "f16", "f16")]
    launch((1,), (128,), [sim.tensor_map("f16", out, (32, 128), (32, 128)), *arguments])
    launch.expect(out, a.astype(np.float64) @ b.astype(np.float64).T, rtol=2e-3, atol=2e-3)
