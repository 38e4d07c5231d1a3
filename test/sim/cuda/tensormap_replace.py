"""tensormap_replace.cu: the other matrix, with fewer rows."""

from __future__ import annotations

import numpy as np
from sim.cuda_kernels import Launcher

from tessera_tools import sim


def run(launch: Launcher) -> None:
    first = launch.buffer(np.full((8, 16), -1, np.int32), "first")
    matrix = np.arange(96, dtype=np.int32).reshape(6, 16)
    second = launch.buffer(matrix, "second")
    workspace = launch.buffer(np.zeros(128, np.uint8), "workspace")
    out = launch.buffer(np.zeros((8, 16), np.int32), "out")
    launch((1,), (32,), [sim.tensor_map("s32", first, (16, 8), (16, 8)), workspace, second, out, 6])
    launch.expect(out, np.pad(matrix, ((0, 2), (0, 0))))
