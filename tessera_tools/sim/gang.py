"""Warps of a CTA at the same instruction, executed at once if their relative order is not observable.

    warps 4 to 7 at pc 30 ──▶ Gang(4, 8): rows of 128 lanes ──▶ add, cvt, mma, ld: once for all
                                                            ──▶ st, atom, bar: warp by warp, in a random order

A gang is one of the scheduler's choices. Instructions that use only registers, and loads without findings, commute
between warps. All others run one warp after the other. The gang ends when its warps diverge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.frame import LASTING, Lasting
from tessera_tools.sim.lanes import Lanes
from tessera_tools.sim.races import record_at
from tessera_tools.sim.warp import Warp

if TYPE_CHECKING:
    from tessera_tools.sim.counters import Counters
    from tessera_tools.sim.machine import Cta

__all__ = ["Gang", "gang_of", "form_gang"]


class _Rows(dict[int | tuple[int, ...], Array]):
    """The rows of a gang by port, created at their first use."""

    def __init__(self, gang: Gang, lasting: Lasting) -> None:
        super().__init__(lasting)
        self.gang = gang
        self.lasting = lasting

    def __missing__(self, port: int) -> Array:
        row = self[port] = self.gang.row(port)
        if self.gang.kind(port) in LASTING:
            self.lasting[port] = row
        return row


class Gang:
    """The warps `first` to `last` of a CTA, as `lanewise` instructions use a warp: `ports` are rows of all lanes."""

    def __init__(self, cta: Cta, first: int, last: int) -> None:
        self.cta = cta
        self.first, self.last = first, last
        self.warps = cta.warps[first:last]
        self.ports = _Rows(self, cta.frame.rows.setdefault((first, last), Lasting()))
        self.mask = Lanes(np.ones(32 * (last - first), np.bool_))
        self.pc = 0
        """The current instruction."""
        self.met = False
        """Whether the warps have just met at a barrier."""
        self._records: tuple[list[Array], Array] = [], np.empty(0, np.uint64)
        self._lanes: dict[int, Lanes] = {1: self.mask}

    @property
    def registers(self) -> Array:
        """The 32-bit registers of the warps, [slot, warp, lane]."""
        return self.cta.registers[32][:, self.first : self.last]

    @property
    def stats(self) -> Counters | None:
        return self.cta.stats

    def lanes(self, times: int) -> Lanes:
        """All lanes, so many times."""
        found = self._lanes.get(times)
        if found is None:
            found = self._lanes[times] = Lanes(np.ones(times * len(self.mask.array), np.bool_))
        return found

    def rows_of(self, ports: tuple[int, ...]) -> Array:
        """The rows of several ports of one kind, which is not that of registers, one after the other."""
        ports_of = self.ports
        known = ports_of.lasting if self.kind(ports[0]) in LASTING else ports_of
        found = known.get(ports)
        if found is None:
            found = known[ports] = np.concatenate([ports_of[port] for port in ports])
        return found

    def records(self) -> Array:
        """Each lane's access record (sim/races.py), by the current instruction."""
        return record_at(self.clocks(), self.pc)

    def clocks(self) -> Array:
        """Each lane's access record, without an instruction."""
        each = [warp.records for warp in self.warps]
        known, whole = self._records
        if len(known) != len(each) or any(now is not before for now, before in zip(each, known, strict=True)):
            whole = np.concatenate(each)
            self._records = each, whole
        return whole

    @property
    def limit(self) -> int:
        """The minimum of the warps' limits (sim/races.py)."""
        return min(warp.limit for warp in self.warps)

    def kind(self, port: int) -> str:
        """The key of each port (ports.Ports)."""
        return self.cta.cluster.launch.module.keys[port][0]

    def row(self, port: int) -> Array:
        """The row of a port for all lanes of the gang."""
        key = self.cta.cluster.launch.module.keys[port]
        if key[0] != "register":
            return np.concatenate([warp.ports[port] for warp in self.warps])
        _, bits, slot, dtype = key
        whole = self.cta.registers[bits][slot, self.first : self.last].reshape(-1)
        if bits == 1:
            return whole
        return whole.view(dtype)[:: bits // (8 * dtype.itemsize)]


def _is_ready(warp: Warp, pc: int) -> bool:
    """True if the whole warp is at `pc` and can run; a completed wait counts as being at the next instruction."""
    if len(warp.splits) != 1:
        return False
    split = warp.splits[0]
    if not split.mask.full or split.needed or split.stack:
        return False
    if split.wait is None:
        return split.pc == pc
    if split.pc + 1 != pc or not split.wait.ready():
        return False
    warp.wake(split)
    return True


def gang_of(cta: Cta, first: int, last: int) -> Gang:
    """The gang of the warps from `first` up to `last`."""
    known = cta.state.setdefault("gangs", {})
    found = known.get((first, last))
    if found is None:
        found = known[first, last] = Gang(cta, first, last)
    return found


def form_gang(warp: Warp, pc: int) -> Gang | None:
    """The gang of the warps adjacent to `warp` that are at `pc` too; None if there are none."""
    if not _is_ready(warp, pc):
        return None
    cta = warp.cta
    warps = cta.warps
    first = last = warp.index
    while first and _is_ready(warps[first - 1], pc):
        first -= 1
    while last + 1 < len(warps) and _is_ready(warps[last + 1], pc):
        last += 1
    if first == last:
        return None
    return gang_of(cta, first, last + 1)
