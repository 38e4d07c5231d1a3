"""The rows that instructions use, by number: how each is created for a warp, and what tells it from others."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Literal

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.straight import port_kind
from tessera_tools.sim.warp import Warp

__all__ = ["Binder", "Ports", "register_row"]

PortKey = (
    tuple[Literal["register"], int, int, np.dtype]
    | tuple[Literal["constant"], type[np.generic], bytes]
    | tuple[Literal["special"], str, np.dtype]
    | tuple[Literal["symbol"], str, str, int, int, np.dtype]
    | tuple[Literal["scratch"], str, int]
    | tuple[Literal["CC.CF"]]
)
"""What tells a port from others: the width, slot and dtype of a register; the dtype and bytes of a constant; the name
and dtype of a special register; the name, function, line, offset and dtype of a symbol; the type and pc of a scratch
row; the carry flag."""
Binder = Callable[[Warp], Array]


class Ports:
    """The rows that one function's instructions use, without duplicates: how to create each row for a warp."""

    def __init__(self, base: int = 0) -> None:
        self.base = base
        """The number of the first port. Ports are numbered through the whole module."""
        self.binders: list[Binder] = []
        self.keys: list[PortKey] = []
        """The key of each port: its kind, then what distinguishes it from other ports of that kind."""
        self.kinds: list[Hashable] = []
        """The kind and the dtype of each port."""
        self.lanewise: list[bool] = []
        """Whether a gang provides the row of a port: not a scratch row, not a 128-bit value."""
        self.used: list[int] = []
        """The ports requested since this list was last cleared, in order."""
        self._known: dict[PortKey, int] = {}

    def add(self, key: PortKey, binder: Binder) -> int:
        """The port of `key`, created by `binder` when a warp starts. Equal keys share a port."""
        port = self._known.get(key)
        if port is None:
            port = self._known[key] = self.base + len(self.binders)
            self.binders.append(binder)
            self.keys.append(key)
            self.kinds.append(port_kind(key))
            self.lanewise.append(
                key[0] in ("constant", "special", "symbol") or (key[0] == "register" and key[1] != 128)
            )
        self.used.append(port)
        return port

    def copy(self) -> Ports:
        """The same ports, to which others are added."""
        made = Ports(self.base)
        made.binders, made.keys = list(self.binders), list(self.keys)
        made.kinds, made.lanewise = list(self.kinds), list(self.lanewise)
        made._known = dict(self._known)
        return made


def register_row(bits: int, slot: int, dtype: np.dtype) -> Binder:
    """A view of a register as `dtype`; a narrower type sees the low end of each lane (little endian)."""
    wanted = np.dtype(dtype)

    def bind(warp: Warp) -> Array:
        row = warp.registers[bits][slot]
        if bits in (1, 128) or wanted.itemsize * 8 == bits:
            return row.view(wanted) if bits != 1 else row
        return row.view(wanted)[:: bits // (8 * wanted.itemsize)]

    return bind
