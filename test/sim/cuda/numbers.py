"""numbers.cu: Python's integers, NumPy's float64, and float32 step by step."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from sim.cuda_kernels import Launcher
from sim.ieee import F32


def integers(thread: int, p: int, q: int) -> list[int]:
    word = (1 << 32) - 1

    def signed(v: int) -> int:
        return v - (1 << 32) if v >> 31 else v

    def parts(v: int, width: int) -> list[int]:
        return [v >> at & (1 << width) - 1 for at in range(0, 32, width)]

    pool = (q << 32 | p).to_bytes(8, "little")
    wide = p << 32 | q
    whole = wide * (wide ^ 0x123456789ABCDEF) + wide
    odd, above = q | 1, q << 32 | p
    quotient = abs(signed(p)) // abs(signed(odd)) * (1 if (signed(p) < 0) == (signed(odd) < 0) else -1)
    sums = sum(
        (x + y & 0xFFFF) << 16 * n for n, (x, y) in enumerate(zip(parts(p, 16), parts(q, 16), strict=True))
    )
    largest = sum(max(x, y) << 8 * n for n, (x, y) in enumerate(zip(parts(p, 8), parts(q, 8), strict=True)))
    return [
        5 + sum(x * y for x, y in zip(parts(p, 8), parts(q, 8), strict=True)) & word,
        int.from_bytes(bytes(pool[n] for n in (5, 1, 7, 3)), "little"),
        above << thread % 32 >> 32 & word,
        int(f"{p:032b}"[::-1], 2),
        32 - p.bit_length() + (q & -q).bit_length(),
        p * q >> 32,
        p // odd + p % odd & word,
        quotient & word,
        wide // (q % 1000 + 1) & word,
        whole >> 96 & word,
        whole >> 40 & word,
        sums ^ largest,
    ]


def rounded(value: Fraction, mode: str) -> np.float32:
    return np.float32(F32.value(F32.pattern(value, mode)))


def floats(value: float) -> list[float]:
    single = np.float32(value)
    half = np.float16(single)
    fused = np.float16(float(half) * 1.5 + 0.25)
    bits = np.array([single]).view(np.uint32)[0]
    brain = np.array([int(bits) + 0x7FFF + (int(bits) >> 16 & 1) & 0xFFFF0000], np.uint32).view(np.float32)[0]
    low, high = np.float16(half + np.float16(0.5)), np.float16(np.float16(2) + half)
    exact = Fraction(float(single))
    directed = rounded(exact / 3, "rz") + rounded(exact * exact + Fraction(float(np.float32(0.1))), "rm")
    last = np.float32(np.rint(single * np.float32(8))) + rounded(Fraction(value), "rp")
    smooth = math.sin(single) + math.exp(single) + math.log(abs(single) + 1)
    return [
        fused,
        brain,
        np.float32(low) - np.float32(high),
        smooth,
        directed,
        last + np.trunc(single * np.float32(5)),
    ]


def run(launch: Launcher) -> None:
    generator = np.random.default_rng(10)
    a, b = (generator.integers(0, 1 << 32, 64, np.uint32) for _ in range(2))
    x = generator.normal(size=64)
    words = launch.buffer(np.zeros((64, 12), np.uint32), "integers")
    doubles, singles = (
        launch.buffer(np.zeros((64, 6)), "doubles"),
        launch.buffer(np.zeros((64, 6), np.float32), "floats"),
    )
    launch((1,), (64,), [launch.buffer(a), launch.buffer(b), words, launch.buffer(x), doubles, singles])
    launch.expect(words, [integers(n, int(p), int(q)) for n, (p, q) in enumerate(zip(a, b, strict=True))])
    size = np.abs(x)
    columns = [np.exp(x), np.sin(x * 10), np.log(size + 0.5), size**1.7, 1 / np.sqrt(size + 1) + x / 3]
    columns.append(x * x - 1 + np.floor(x) + np.rint(x * 4))
    launch.expect(doubles, np.stack(columns, axis=1), rtol=1e-14, atol=1e-14)
    launch.expect(singles, [floats(float(value)) for value in x], rtol=2e-6)
