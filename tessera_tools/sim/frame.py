"""The registers of a CTA and the rows that instructions use, allocated once and reused by successive CTAs.

    Frame.registers[32][slot, warp, lane] ──views──▶ ports of each warp: 32 lanes ──▶ rows of a gang: 32 lanes a warp

Otherwise a launch of many small CTAs would spend its time on creating views. Only ports that differ between CTAs are
created again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera_tools.sim.types import UNSIGNED

if TYPE_CHECKING:
    from tessera_tools.sim.launch import Launch
    from tessera_tools.sim.warp import Warp

__all__ = ["LASTING", "Frame"]

LASTING = ("register", "constant", "symbol")
"""Kinds of ports whose rows are the same for every CTA of a launch that has the same rank in its cluster."""


class Frame:
    """Registers by width, [slot, warp, lane]; the ports of each warp; the rows of its gangs by first and last warp."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        warps = -(-launch.threads // 32)
        self.registers: dict[int, Any] = {}
        for bits, count in launch.module.program.register_counts.items():
            dtype = np.bool_ if bits == 1 else UNSIGNED.get(bits, np.uint64)
            shape = (count, warps, 32, 2) if bits == 128 else (count, warps, 32)
            self.registers[bits] = np.zeros(shape, dtype)
        self.ports: list[list[Any]] = []
        self.rows: dict[tuple[int, int], dict[Any, Any]] = {}

    def bind(self, warps: list[Warp]) -> None:
        """Assign ports to the warps of a CTA; registers are zero."""
        launch = self.launch
        if self.ports:
            for rows in self.registers.values():
                rows.fill(0)
            for warp, ports in zip(warps, self.ports, strict=True):
                warp.ports = ports
                for port, binder in launch.varying:
                    ports[port] = binder(warp)
            return
        for warp in warps:
            warp.ports = [None] * len(launch.module.keys)
            for base, binders in launch.binders:
                warp.ports[base : base + len(binders)] = [bind(warp) for bind in binders]
        self.ports = [warp.ports for warp in warps]
