"""tcgen05_mxfp4.cu against float64."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher
from sim.instructions.test_tcgen05_mma import draw, octets

from tessera_tools.sim.instruction_descriptor import encode


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    (a, left), (b, right) = draw(rng, "e2m1", (128, 128)), draw(rng, "e2m1", (32, 128))
    count = 128 // 32 // 2
    factors = [rng.integers(120, 134, (rows, 2, count)).astype(np.uint8) for rows in (128, 32)]
    images = []
    for number, values in enumerate(factors):
        image = np.zeros((2, 32, 4, 4), np.uint8)
        for row in range(len(values)):
            image[:, row % 32, row // 32, :count] = values[row]
        images.append(launch.buffer(image, f"scales {number}"))
    worth = [2.0 ** (f.astype(float) - 127) for f in factors]
    operands = [launch.buffer(octets(array, "e2m1", "mxf4"), name) for array, name in ((a, "a"), (b, "b"))]
    c = launch.buffer(np.zeros((128, 32), np.float32), "c")
    descriptor = encode("mxf4", 128, 32, "e2m1", "e2m1", scale="ue8m0")
    launch((1,), (128,), [*operands, *images, c, descriptor])
    left, right = (
        values * np.repeat(scale.reshape(len(scale), -1), 32, axis=1)
        for values, scale in zip((left, right), worth, strict=True)
    )
    launch.expect(c, left @ right.T, rtol=1e-4, atol=float((np.abs(left) @ np.abs(right).T).max()) * 2.0**-20)
