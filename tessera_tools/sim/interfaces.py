"""Interfaces of the simulated GPU: what instructions take where several classes will do.

    HasPorts ◀── Warp, Gang, Batch        HasLanes ◀── Mask, Lanes        Warps ◀── Gang, Batch

An instruction that only has rows of registers takes HasPorts and HasLanes; one that also uses memory, for the lanes
of several warps, takes Warps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tessera_tools.sim.arrays import Array

if TYPE_CHECKING:
    from tessera_tools.sim.counters import Counters
    from tessera_tools.sim.lanes import Mask
    from tessera_tools.sim.machine import Cta
    from tessera_tools.sim.warp import Warp

__all__ = ["HasLanes", "HasPorts", "Rows", "StateSpace", "Warps"]


class Rows(Protocol):
    """Rows of values, by port."""

    def __getitem__(self, port: int, /) -> Array: ...
    def __setitem__(self, port: int, row: Array, /) -> None: ...


class HasPorts(Protocol):
    """A warp, several warps, or rows of values that represent registers."""

    @property
    def ports(self) -> Rows: ...


class HasLanes(Protocol):
    """A set of lanes, of one or of several warps."""

    @property
    def array(self) -> Array:
        """A boolean for each lane."""
        ...

    @property
    def full(self) -> bool:
        """Whether all lanes are in the set."""
        ...


class Warps(HasPorts, Protocol):
    """Warps of a CTA that run one instruction, or equal ones, at once: a gang (sim/gang.py) or a batch of it."""

    @property
    def cta(self) -> Cta: ...
    @property
    def warps(self) -> list[Warp]: ...
    @property
    def stats(self) -> Counters | None: ...
    @property
    def limit(self) -> int: ...
    def records(self) -> Array: ...


class StateSpace(Protocol):
    """The memory of a state space, as the lanes of a warp access it."""

    def load(
        self, warp: Warp, mask: Mask, addresses: Array, width: int, strong: bool = False, /
    ) -> Array: ...
    def store(
        self, warp: Warp, mask: Mask, addresses: Array, width: int, values: Array, strong: bool = False, /
    ) -> None: ...
