"""The registers of a CTA and the rows that instructions use, allocated once and reused by successive CTAs.

    Frame.registers[32][slot, warp, lane] ──views──▶ ports of each warp: 32 lanes ──▶ rows of a gang: 32 lanes a warp

Otherwise a launch of many small CTAs would spend its time on creating views. A warp's row of a port is created at its
first use, because most instructions run for a gang. Only ports that differ between CTAs are created again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.types import UNSIGNED

if TYPE_CHECKING:
    from tessera_tools.sim.launch import Launch
    from tessera_tools.sim.ports import Binder
    from tessera_tools.sim.warp import Warp

__all__ = ["LASTING", "Frame", "Lasting"]

LASTING = ("register", "constant", "symbol")
"""Kinds of ports whose rows are the same for every CTA of a launch that has the same rank in its cluster."""


class _Ports(dict[int, Array]):
    """The rows of a warp by port."""

    __slots__ = ("binders", "warp")

    def __init__(self, binders: dict[int, Binder]) -> None:
        super().__init__()
        self.binders = binders
        self.warp: Warp | None = None

    def __missing__(self, port: int) -> Array:
        assert self.warp is not None
        row = self[port] = self.binders[port](self.warp)
        return row


class Lasting(dict[int | tuple[int, ...], Array]):
    """The rows of gangs of the same warps that are the same for successive CTAs, by port or ports."""

    def __init__(self) -> None:
        super().__init__()
        self.parameters: dict[int, list[Array]] = {}
        """The values that the load of a parameter reads, by its pc."""


class Frame:
    """Registers by width, [slot, warp, lane]; the ports of each warp; the rows of its gangs by first and last warp."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        warps = -(-launch.threads // 32)
        self.registers: dict[int, Array] = {}
        for bits, count in launch.module.program.register_counts.items():
            dtype = np.bool_ if bits == 1 else UNSIGNED.get(bits, np.uint64)
            shape = (count, warps, 32, 2) if bits == 128 else (count, warps, 32)
            self.registers[bits] = np.zeros(shape, dtype)
        self.ports = [_Ports(launch.binders) for _ in range(warps)]
        self.rows: dict[tuple[int, int], Lasting] = {}
        self.is_new = True

    def bind(self, warps: list[Warp]) -> None:
        """Assign ports to the warps of a CTA; registers are zero."""
        if not self.is_new:
            for rows in self.registers.values():
                rows.fill(0)
        for warp, ports in zip(warps, self.ports, strict=True):
            for port in self.launch.varying & ports.keys():
                del ports[port]
            warp.ports, ports.warp = ports, warp
            for port in self.launch.bound_first:
                ports[port]
        self.is_new = False

    def release(self) -> None:
        """The CTA has ended: its warps are not kept."""
        for ports in self.ports:
            ports.warp = None
