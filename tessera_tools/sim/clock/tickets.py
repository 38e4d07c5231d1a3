"""Tickets: the numbers of the tiles that clusters take in turn, from a counter in memory or by canceling a cluster.

counter, cancellation ──▶ what each cluster gets for the n-th time
loads of a warp ──observe()──▶ is that what it sees?  ──value()──▶ what it will see

Of a sample, each cluster gets what it would get if all that run at once took tickets in turn. One warp takes a ticket,
and the others load it from shared memory. If a load has given the tickets of its cluster one after the other so far,
maybe with a constant added, the further ones are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.arrays import Array, some
from tessera_tools.sim.clock.cost import Register
from tessera_tools.sim.lanes import mask_of

if TYPE_CHECKING:
    from tessera_tools.sim.clock.record import Trace
    from tessera_tools.sim.lanes import Mask
    from tessera_tools.sim.warp import Warp

__all__ = ["Load", "Tickets"]

Load = tuple[int, int, int]
"""A load of a warp: CTA, warp and instruction."""
_CANCELED = -1
"""In place of the address of a counter: the responses to cancellations."""


@dataclass(slots=True)
class _Seen:
    """What a load of a warp has given."""

    cluster: int
    bits: int
    constants: dict[int, int]
    """By counter: what is added to its tickets. Empty if the load gives something else."""
    count: int = 0
    """Executions, with those that were skipped."""
    moved: bool = False
    """Some were skipped."""


@dataclass(slots=True)
class Tickets:
    """What the clusters of a sample get, and which loads give it."""

    clusters: int
    """Of the grid."""
    loads: dict[int, tuple[Register, ...]] = field(default_factory=dict[int, tuple[Register, ...]])
    """The instructions that may load a ticket, with the registers that they write."""
    guards: dict[int, tuple[int, int, bool]] = field(default_factory=dict[int, tuple[int, int, bool]])
    """By such an instruction: the register of its predicate, and whether it is negated."""
    takes: frozenset[int] = frozenset()
    """The instructions that take one."""
    response: Callable[[int, int], int] | None = None
    """To the n-th cancellation of a cluster."""
    first: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """By address of a counter: its first value, and what is added to it."""
    counts: Counter[tuple[int, int]] = field(default_factory=Counter[tuple[int, int]])
    """By address of a counter and cluster: how often the cluster has counted."""
    canceled: Counter[int] = field(default_factory=Counter[int])
    """By cluster: how many it has tried to cancel."""
    seen: dict[Load, _Seen] = field(default_factory=dict[Load, _Seen])

    def counted(self, cluster: int, place: int, seen: Array, amount: Array) -> Array:
        """What an atomic addition returns."""
        first, added = self.first.setdefault(place, (int(seen[0]), int(amount[0])))
        if added != int(amount[0]):
            # Tickets of different sizes are not foreseen.
            self.first[place] = first, 0
        before = self.counts[place, cluster] * self.clusters + cluster
        self.counts[place, cluster] += 1
        return seen.dtype.type(first) + amount * amount.dtype.type(before)

    def _of(self, source: int, cluster: int, number: int) -> int:
        if source == _CANCELED:
            assert self.response is not None
            return self.response(cluster, number + 1)
        first, added = self.first[source]
        return first + added * (number * self.clusters + cluster)

    def loaded(self, warp: Warp, mask: Mask, pc: int, trace: Trace) -> None:
        """A warp has executed one of the `loads`: after laps were skipped, it gets what it would get after all."""
        load = trace.cta, trace.warp, pc
        seen = self.seen.get(load)
        guard = self.guards.get(pc)
        if guard is not None:
            chosen = mask_of(warp.registers[guard[0]][guard[1]]).bits
            mask = mask_of(mask.bits & (~chosen if guard[2] else chosen))
            if not mask.bits:
                return
        if seen is not None and not seen.constants:
            return
        if seen is not None and seen.moved:
            self.give(warp, mask, load, seen.count)
            seen.count += 1
            return
        value, bits = 0, 0
        for register in self.loads[pc]:
            row = warp.registers[register[0]][register[1]][mask.array]
            if some(row != row[0]):
                self.seen[load] = _Seen(trace.cluster, 0, {})
                return
            value |= int.from_bytes(row[0].tobytes(), "little") << bits
            bits += register[0]
        if seen is None:
            sources = [place for place, (_, added) in self.first.items() if added]
            if self.response is not None and bits == 128:
                sources.append(_CANCELED)
            seen = self.seen[load] = _Seen(trace.cluster, bits, dict.fromkeys(sources, 0))
            for source in sources:
                seen.constants[source] = (value - self._of(source, trace.cluster, 0)) % (1 << bits)
            if seen.constants.get(_CANCELED):
                del seen.constants[_CANCELED]
        for source, constant in [*seen.constants.items()]:
            if (value - constant - self._of(source, trace.cluster, seen.count)) % (1 << bits):
                del seen.constants[source]
        seen.count += 1

    def known(self, load: Load) -> bool:
        """Whether a load gives tickets, as far as it has been seen."""
        seen = self.seen.get(load)
        return seen is not None and any(
            seen.count > 1 or not constant for constant in seen.constants.values()
        )

    def count(self, load: Load) -> int:
        return self.seen[load].count

    def give(self, warp: Warp, mask: Mask, load: Load, number: int) -> None:
        """Write what a load gives for the n-th time to its registers."""
        seen = self.seen[load]
        source, constant = next(iter(seen.constants.items()))
        value = (self._of(source, seen.cluster, number) + constant) % (1 << seen.bits)
        for register in self.loads[load[2]]:
            row = warp.registers[register[0]][register[1]]
            part = value & ((1 << register[0]) - 1)
            row[mask.array] = np.frombuffer(part.to_bytes(register[0] // 8, "little"), row.dtype)
            value >>= register[0]

    def skip(self, load: Load, count: int) -> None:
        """A warp has skipped executions of a load."""
        self.seen[load].count += count
        self.seen[load].moved = True

    def take(self, cluster: int, count: int) -> None:
        """A cluster has skipped instructions that take tickets."""
        if self.response is not None:
            self.canceled[cluster] += count
        elif len(self.first) == 1:
            self.counts[next(iter(self.first)), cluster] += count
