"""Programmatic dependent launch: a kernel that starts while the preceding kernel still runs.

    with sim.unfinished(buffer): module.launch(…)      reads of `buffer` before griddepcontrol.wait are findings

Source: PTX ISA, "griddepcontrol"; CUDA C++ Programming Guide, "Programmatic Dependent Launch".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tessera_tools.sim.memory import EARLIER, Buffer

__all__ = ["unfinished"]


@contextmanager
def unfinished(*buffers: Buffer) -> Iterator[None]:
    """Launches inside the context depend on a kernel that may still write these buffers when they start."""
    for buffer in buffers:
        state = buffer.flags()
        state[: buffer.size] |= np.uint8(EARLIER)
    try:
        yield
    finally:
        for buffer in buffers:
            state = buffer.flags()
            state &= ~np.uint8(EARLIER)
