"""mma_scaled.cu against float64."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher
from sim.instructions.test_tcgen05_mma import draw, octets, small


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    (a, left), (b, right) = draw(rng, "e2m1", (16, 64)), draw(rng, "e2m1", (8, 64))
    factors = [rng.integers(0, 127, (rows, 4)).astype(np.uint8) for rows in (16, 8)]
    c = launch.buffer(np.zeros((16, 8), np.float32), "c")
    operands = [launch.buffer(octets(array, "e2m1", "mxf4"), name) for array, name in ((a, "a"), (b, "b"))]
    launch((1,), (64,), [*operands, *(launch.buffer(f, f"scales {i}") for i, f in enumerate(factors)), c])
    left, right = (
        values * np.repeat(small(f, "e4m3"), 16, axis=1)
        for values, f in zip((left, right), factors, strict=True)
    )
    launch.expect(c, left @ right.T, rtol=1e-5, atol=float((np.abs(left) @ np.abs(right).T).max()) * 2.0**-20)
