"""tcgen05_nvfp4.cu against float64."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher
from sim.instructions.test_tcgen05_mma import draw, octets, small

from tessera_tools.sim.instruction_descriptor import encode


def run(launch: Launcher) -> None:
    rng = np.random.default_rng(launch.seed)
    (a, left), (b, right) = draw(rng, "e2m1", (128, 128)), draw(rng, "e2m1", (32, 128))
    count = 128 // 16 // 2
    factors = [rng.integers(0, 127, (rows, 2, count)).astype(np.uint8) for rows in (128, 32)]
    images = []
    for number, values in enumerate(factors):
        image = np.zeros((2, 32, 4, 4), np.uint8)
        for row in range(len(values)):
            image[:, row % 32, row // 32, :count] = values[row]
        images.append(launch.buffer(image, f"scales {number}"))
    worth = [small(f, "e4m3") for f in factors]
    operands = [
        launch.buffer(octets(array, "e2m1", "mxf4nvf4"), name) for array, name in ((a, "a"), (b, "b"))
    ]
    c = launch.buffer(np.zeros((128, 32), np.float32), "c")
    descriptor = encode("mxf4nvf4", 128, 32, "e2m1", "e2m1", scale="ue4m3")
    launch((1,), (128,), [*operands, *images, c, descriptor])
    left, right = (
        values * np.repeat(scale.reshape(len(scale), -1), 16, axis=1)
        for values, scale in zip((left, right), worth, strict=True)
    )
    launch.expect(c, left @ right.T, rtol=1e-4, atol=float((np.abs(left) @ np.abs(right).T).max()) * 2.0**-20)
