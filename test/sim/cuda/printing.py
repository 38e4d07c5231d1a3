"""printing.cu: the text, whose lines may come in any order of warps (here there is one)."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher


def run(launch: Launcher) -> None:
    values = np.arange(32, dtype=np.int32)
    out = launch.buffer(np.zeros(32, np.int32), "out")
    launch((1,), (32,), [launch.buffer(values, "in"), out])
    lines = [
        "thread 0:  0.00 text a ff 1099511627776 %",
        "thread 1:  0.25 text b ff 1099511627776 %",
        "plain",
        "42    |+7|1.235e+04",
    ]
    if sorted(launch.output.splitlines()) != sorted(lines):
        launch.wrong.append(f"it printed {launch.output!r}")
    launch.expect(out, values + (values != 3))
