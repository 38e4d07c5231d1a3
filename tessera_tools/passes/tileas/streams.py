"""Which loads of a kernel without products come by TMA, by price: both ways are counted in instructions of a warp.

    as it is      one access for each vector of a thread, each behind a check of the bounds
    by TMA        one access of shared memory for each, and what a stage takes: its wait, its release, its boxes

TMA checks the bounds by itself.  So it pays for tiles of which each thread holds many vectors, where the program does
not say that they lie inside, and never where the count of instructions would be higher.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tessera_tools.analysis.access import contiguous_axis, in_bounds
from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout.shared import SWIZZLE_ALIGNMENT
from tessera_tools.passes.tileas.boxes import ENOUGH_BLOCKS
from tessera_tools.passes.tileas.fills import BoxLoad, read_load
from tessera_tools.passes.tileas.memory_order import MemoryOrder
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.products import MOST_STAGES, Choice, check_exits, loops_around
from tessera_tools.planning.shared_memory import pipeline_room
from tessera_tools.target import Target
from tessera_tools.target.occupancy import occupancy

CHECK = 1
"""Instructions of an access behind a check: the padding; and for each axis that is checked, one for its predicate and
its part of the address."""
ONCE = 20
"""Instructions of a warp for a stage that is filled once: its barrier made and waited for, the choice of a thread, the
bytes announced."""
AGAIN = 16
"""Instructions of a consumer's warp for a stage of a pipeline: a wait, a release, the number of the next stage."""
FILL = 24
"""Instructions of the producer's warp for a stage, which the consumer's warps share."""
_OTHER_REGISTERS = 24
"""Registers of a thread for what is not a tile, at least."""


class NoRoom(Missed):
    """The buffer of a load does not fit."""


def _turns(op: Operation) -> bool:
    """Whether the neighbors of a tile change: it is permuted, or stored to a view of which other neighbors adjoin."""
    if isinstance(op, nv_tileas.TiledLoad | nv_tileas.TiledStore):
        view = op.view.defining_op
        return isinstance(view, nv_tileaa.MakeMemRef) and contiguous_axis(view) != op.view.type.rank - 1
    return isinstance(op, nv_tileaa.Permute)


class Streams:
    """The loads of one kernel that TMA brings."""

    def __init__(self, function: nv_tileaa.Func, target: Target, by_price: bool = True) -> None:
        self.function, self.target, self.by_price = function, target, by_price
        self.facts, self.order = Facts(), MemoryOrder()
        spec = function.kernel_spec
        assert spec is not None
        self.warps = spec.num_warps
        self.chosen: list[BoxLoad] = []
        # Rows that are read as they lie take the fewest boxes without a swizzle; columns would meet in the same banks.
        turned = any(map(_turns, function.walk()))
        self.swizzles = (128, 64, 32, 0) if turned else (0,)

    def add(self, load: nv_tileas.TiledLoad, stages: int = 1) -> BoxLoad:
        """A load by TMA, through so many stages.  Missed if there is none, if the load as it is costs less, or if its
        buffer does not fit beside those of the loads before."""
        made = read_load(load, load, self.facts, self.order, self.swizzles)
        if self.by_price:
            self._check_price(made)
        self._check_room([*self.chosen, made], stages)
        self.chosen.append(made)
        return made

    def _check_price(self, made: BoxLoad) -> None:
        load = made.load
        type = load.res.type
        assert isinstance(type, RankedTensorType)
        vector = max(1, load.atom.bits // storage_bits(type.element))
        count = max(1, -(-type.num_elements // (32 * self.warps * vector)))
        checked = in_bounds(load.view.defining_op, load.indices, type.shape, self.facts).count(False)
        direct = count * (1 + CHECK + checked if checked else 1)
        again = AGAIN + (FILL + made.boxes.count) // self.warps
        price = count + (again if loops_around(load) else ONCE + made.boxes.count)
        if price >= direct:
            raise Missed(
                load,
                f"takes about {direct} instructions of a warp as it is, and {price} through shared memory",
            )

    def _check_room(self, loads: Sequence[BoxLoad], stages: int) -> None:
        """Missed unless the buffers of the loads fit, without fewer CTAs at a time than are enough."""
        last = loads[-1]
        total = sum(
            load.bytes * (stages if loops_around(load.load) else 1) + SWIZZLE_ALIGNMENT[load.boxes.swizzle]
            for load in loads
        )
        threads = 32 * self.warps
        held = max(load.bytes for load in loads) // (4 * threads) + _OTHER_REGISTERS
        registers = min(self.target.max_registers_per_thread, -(-held // 8) * 8)

        def blocks(shared: int) -> int:
            return occupancy(self.target, threads=threads, registers=registers, shared=shared).blocks

        fits, least = total <= pipeline_room(self.target), min(ENOUGH_BLOCKS, blocks(0))
        if not fits or blocks(total) < least:
            raise NoRoom(
                last.load,
                f"would take {stages * last.bytes} bytes of shared memory, with which "
                + (f"fewer than {least} CTAs run at a time" if fits else "the kernel does not fit"),
                "" if fits else "use smaller tiles",
            )


def has_loads_in_loops(function: nv_tileaa.Func) -> bool:
    """Whether there is something that a producer could bring ahead."""
    return any(isinstance(op, nv_tileas.TiledLoad) and loops_around(op) for op in function.walk())


FEWEST_STAGES = 2
"""Tiles of a load in a loop that are in flight: one is brought while another is read."""


def choose_streams(
    function: nv_tileaa.Func, target: Target, banned: Mapping[Operation, Missed], by_price: bool = True
) -> Choice:
    """The loads that a producer brings to a kernel without products, but with loads in loops: those that cost less so,
    or all that it can, and some in a loop.  Missed if there are none, or if the kernel cannot become agents."""
    loads = [op for op in function.walk() if isinstance(op, nv_tileas.TiledLoad)]
    check_exits(function)
    stages = MOST_STAGES
    streams, refused = _with_stages(function, target, loads, banned, stages, by_price)
    while stages > FEWEST_STAGES and any(isinstance(refusal, NoRoom) for refusal in refused.values()):
        stages -= 1
        streams, refused = _with_stages(function, target, loads, banned, stages, by_price)
    if not any(loops_around(made.load) for made in streams.chosen):
        raise next(refusal for load, refusal in refused.items() if loops_around(load))
    order = {load: number for number, load in enumerate(loads)}
    streams.chosen.sort(key=lambda made: order[made.load])
    return Choice(streams=streams.chosen, stages=stages, refused=refused)


def _with_stages(
    function: nv_tileaa.Func,
    target: Target,
    loads: list[nv_tileas.TiledLoad],
    banned: Mapping[Operation, Missed],
    stages: int,
    by_price: bool,
) -> tuple[Streams, dict[Operation, Missed]]:
    """The loads by TMA with so many stages in loops, and why others are not."""
    streams = Streams(function, target, by_price)
    refused: dict[Operation, Missed] = {}
    # What is in no loop comes along.
    for load in sorted(loads, key=lambda load: not loops_around(load)):
        try:
            if load in banned:
                raise banned[load]
            streams.add(load, stages)
        except Missed as refusal:
            refused[load] = refusal
    return streams, refused
