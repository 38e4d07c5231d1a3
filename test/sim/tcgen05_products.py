"""Launches of the kernels that multiply A[128][k] with B[32][k]^T (cuda/tcgen05_*product.inc), against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from sim.cuda_kernels import Launcher
from sim.instructions.test_tcgen05_mma import draw, octets, small

from tessera_tools.sim.instruction_descriptor import encode


def product(launch: Launcher, kind: str, a: str, b: str, k: int, d: str = "f32", **tolerance: float) -> None:
    """A product of elements of type `a` and `b`."""
    rng = np.random.default_rng(launch.seed)
    (left_bits, left), (right_bits, right) = draw(rng, a, (128, k)), draw(rng, b, (32, k))
    c = launch.buffer(np.zeros((128, 32), {"f32": np.float32, "s32": np.int32}[d]), "c")
    operands = [launch.buffer(left_bits, "a"), launch.buffer(right_bits, "b")]
    launch((1,), (128,), [*operands, c, encode(kind, 128, 32, a, b, d)])
    launch.expect(c, left @ right.T, **tolerance)


def scaled_product(launch: Launcher, kind: str, element: str, scale: str, *, k: int, block: int) -> None:
    """A product of two steps along k, with one scale of type `scale` for each block of terms of a row."""
    rng = np.random.default_rng(launch.seed)
    (a, left), (b, right) = draw(rng, element, (128, k)), draw(rng, element, (32, k))
    count = k // block // 2
    least, most = (120, 134) if scale == "ue8m0" else (0, 127)
    factors = [rng.integers(least, most, (rows, 2, count)).astype(np.uint8) for rows in (128, 32)]
    images: list[Any] = []
    for number, values in enumerate(factors):
        image = np.zeros((2, 32, 4, 4), np.uint8)
        for row in range(len(values)):
            image[:, row % 32, row // 32, :count] = values[row]
        images.append(launch.buffer(image, f"scales {number}"))
    worth = [2.0 ** (f.astype(float) - 127) if scale == "ue8m0" else small(f, "e4m3") for f in factors]
    operands = [launch.buffer(octets(array, element, kind), name) for array, name in ((a, "a"), (b, "b"))]
    c = launch.buffer(np.zeros((128, 32), np.float32), "c")
    launch((1,), (128,), [*operands, *images, c, encode(kind, 128, 32, element, element, scale=scale)])
    left, right = (
        values * np.repeat(scales.reshape(len(scales), -1), block, axis=1)
        for values, scales in zip((left, right), worth, strict=True)
    )
    launch.expect(c, left @ right.T, rtol=1e-4, atol=float((np.abs(left) @ np.abs(right).T).max()) * 2.0**-20)
