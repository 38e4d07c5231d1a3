"""divergent.cu: thread by thread in Python."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def chosen(kind: int, value: int) -> int:
    cases = (value * 3, value // 7, value % 5 - 2, value ^ 0x55, value.bit_count(), -value, value << 3)
    return cases[kind] if kind < len(cases) else 1000


def thread(index: int, start: int) -> int:
    total, value = 0, start
    while value != 1:
        value = 3 * value + 1 if value % 2 else value // 2
        total += 1
    for inner in range(index % 7):
        if (index + inner) % 3 == 0:
            continue
        total += chosen((index + inner) % 9, start)
        if total > 5000:
            break
    if index % 2:
        kind = index % 5
        # C divides toward zero.
        if kind == 1:
            return int(total / 7)
        if kind == 2:
            return int(np.fmod(total, 5)) - 2
        return (total & 0xFFFFFFFF).bit_count() if kind == 4 else chosen(kind, total)
    return total


def run(launch: Launcher) -> None:
    values = np.random.default_rng(7).integers(1, 500, 90).astype(np.int32)
    out = launch.buffer(np.zeros(90, np.int32), "out")
    launch((2,), (64,), [launch.buffer(values, "in"), out, 90])
    launch.expect(out, [thread(index, int(value)) for index, value in enumerate(values)])
