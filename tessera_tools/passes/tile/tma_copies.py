"""Which copies of `tile` are TMA, by which boxes, and the mbarriers of their groups.

    tile.tma_load %a_slice, %a                      box_copy        to the mbarrier of the group that is committed next
    tile.cp_commit_group                            box_commit      one arrival
    scf.for … {                                     groups in flight: as many at the end of an iteration as at its begin
      tile.cp_wait_group 0                          box_wait        for the oldest group, as often as groups are left
      tile.barrier                                  barrier phases  before the mbarrier has its next phase

TMA copies whole boxes of a parameter.  The number of groups in flight must be known at each commit and wait, because
each group has an mbarrier.  Where a loop begins with more groups in flight than it ends with, it is preceded by waits
for the oldest ones.  `boxes_of` decides for tile-intrinsic-lowering, tile-analyze and convert-tile-to-tileas.
"""

from __future__ import annotations

from math import prod

from tessera_tools.analysis.storage import storage_bits
from tessera_tools.analysis.tensor_maps import element_word
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import scf, tile
from tessera_tools.dialects.tile.asynchronous import CopyLike, WaitLike
from tessera_tools.ir.core import Block, BlockArgument, Operation
from tessera_tools.ir.types import FloatType, IntegerType
from tessera_tools.layout.shared import SWIZZLE_ALIGNMENT
from tessera_tools.passes.tile.alignment import alignment_of
from tessera_tools.passes.tile.rings import ring_of
from tessera_tools.passes.tile.slices import slice_of
from tessera_tools.passes.tile.swizzles import buffer_of, swizzle_of
from tessera_tools.planning.boxes import MOST_AXES, TMA_ALIGNMENT, box_of
from tessera_tools.records import dataclass, field, replace
from tessera_tools.target import Feature, Target

Box = tuple[int, ...]
MOST_WAITED = 8
"""Groups that may have been waited for since the last barrier, unless one stands before each commit."""
MOST_STARTED = 16
"""Iterations of a loop that only starts copies."""
_COPIES = (tile.CpAsync, tile.TmaLoad)
"""Copies that may be TMA; tile.cp_async_cg names another instruction."""
_WAITS = (WaitLike, tile.AsyncWait)
_ON_GROUPS = (*_WAITS, tile.CpCommitGroup)


@dataclass(eq=False)
class Groups:
    """The copies of a kernel by TMA, and its groups that have such copies."""

    boxes: dict[Operation, Box] = field(default_factory=dict["Operation", Box])
    """The extents of a box of each copy by TMA, along the axes of its destination."""
    missed: dict[Operation, str] = field(default_factory=dict["Operation", str])
    """Why each other copy is not TMA."""
    slots: int = 1
    """The number of mbarriers."""
    commits: set[Operation] = field(default_factory=set["Operation"])
    """Ops that commit a group with boxes; the kernel itself if its end does."""
    waits: dict[Operation, list[int]] = field(default_factory=dict["Operation", list[int]])
    """For each group that an op waits for, how many may be in flight afterwards.  A loop waits behind it, the kernel at
    its end."""
    before: dict[Operation, list[int]] = field(default_factory=dict["Operation", list[int]])
    """The same before a loop."""
    barriers: set[Operation] = field(default_factory=set["Operation"])
    """Barriers that keep a thread from missing a phase of an mbarrier."""
    added: set[Operation] = field(default_factory=set["Operation"])
    """Commits before which such a barrier is missing."""

    def advances(self, loop: Operation) -> tuple[bool, bool]:
        """Whether a loop commits groups; whether it waits for some."""
        inner = list(loop.walk())
        waited = any(self.waits.get(op) or self.before.get(op) for op in inner)
        return any(op in self.commits for op in inner), waited


def boxes_of(function: Operation, target: Target) -> Groups:
    """The copies of a function by TMA on a target, with the reasons for the others."""
    found = Groups()
    alignment = alignment_of(function)
    for op in function.walk():
        if isinstance(op, CopyLike):
            box = box_or_reason(op, alignment) if has_boxes(target) else f"{target.name} has no TMA"
            if isinstance(box, str):
                found.missed[op] = box
            else:
                found.boxes[op] = box
    if not found.boxes:
        return found
    even = ordered = False
    while True:
        try:
            plan = replace(found, slots=1)
            _Walk(plan, even, ordered).kernel(function)
            return plan
        except _Uneven:
            even = True
        except _Unordered:
            ordered = True
        except _Unknown as problem:
            missed = {**found.missed, **dict.fromkeys(found.boxes, str(problem))}
            return Groups(missed=missed)


def has_boxes(target: Target) -> bool:
    """Whether a target has TMA, and mbarriers to wait for it."""
    return target.has(Feature.TMA) and target.has(Feature.MBARRIER_TRY_WAIT)


def box_or_reason(op: Operation, alignment: int, *, named: bool = True) -> Box | str:
    """The box by which TMA copies a slice to shared memory, or why it cannot.

    A tensor map requires an address and strides that are multiples of 16 bytes; rows of a swizzled box are as wide as
    the swizzle.  PTX ISA, "Tensors".

    named: take the box that the program names, if that can be copied.
    """
    if not isinstance(op, _COPIES):
        return f"{op.name} names another instruction"
    found = slice_of(op.source)
    type = op.dest.type
    if found is None or not isinstance(found.tensor, BlockArgument):
        return "its source is not a slice of a parameter"
    rank = found.tensor.type.rank  # type: ignore[attr-defined]
    if rank > MOST_AXES:
        return f"its tensor has {rank} dimensions, and TMA copies at most {MOST_AXES}"
    if alignment % TMA_ALIGNMENT:
        return f"tessera.alignment is {alignment}, and TMA needs multiples of {TMA_ALIGNMENT} bytes"
    if any(found.ends_within(type.shape)):
        return "its slice may end inside the tensor, whose bounds are those that TMA checks"
    if not type.is_static or not isinstance(type.element, IntegerType | FloatType):
        return f"TMA does not copy {type}"
    if element_word(type.element) is None:
        return f"TMA has no elements of type {type.element}"
    size = storage_bits(type.element) // 8
    swizzle = swizzle_of(op.dest) or 0
    if swizzle not in SWIZZLE_ALIGNMENT:
        return f"there is no swizzle of {swizzle} bytes"  # The buffer itself is refused.
    box = box_of(type.shape, size, swizzle)
    if box is None:
        bytes = f"a swizzle of {swizzle}" if swizzle else f"{TMA_ALIGNMENT}"
        return f"rows of {type.shape[-1] * size} bytes are no whole boxes of {bytes} bytes"
    buffer = buffer_of(op.dest)
    try:
        stages = ring_of(buffer).stages if buffer is not None else 1
    except DiagnosticError:
        return "its destination is no stage of its buffer"
    whole = prod(type.shape) * size
    if stages > 1 and whole % SWIZZLE_ALIGNMENT[swizzle]:
        return f"stages of {whole} bytes do not begin at multiples of {SWIZZLE_ALIGNMENT[swizzle]} bytes"
    if (
        named
        and isinstance(op, tile.TmaLoad)
        and op.tile_size is not None
        and _is_part(op.box, box, size, swizzle)
    ):
        return op.box
    return box


def _is_part(own: Box, box: Box, size: int, swizzle: int) -> bool:
    """Whether boxes that the program names can be copied: as wide as `box`, and each where a pattern begins."""
    if len(own) == 1:
        return own == box
    (rows, *rest), (most, *others) = own, box
    return rest == others and most % rows == 0 and prod(own) * size % SWIZZLE_ALIGNMENT[swizzle] == 0


class _Uneven(Exception):
    """Groups with and without boxes meet: all are counted."""


class _Unordered(Exception):
    """No barrier stands between waits and later groups: one is needed before each commit."""


class _Unknown(Exception):
    """Why the number of groups in flight is not known."""


@dataclass(frozen=True, slots=True)
class _State:
    queue: tuple[bool, ...] = ()
    """The groups in flight, the oldest first: whether they have boxes."""
    open: bool = False
    """Whether boxes may have been started since the last commit."""
    waited: int = 0
    """Groups that have been waited for since the last barrier."""

    @property
    def flying(self) -> int:
        return sum(self.queue)


class _Walk:
    """Follows the groups of one kernel."""

    def __init__(self, plan: Groups, even: bool, ordered: bool) -> None:
        self.plan = plan
        self.even = even
        """Every group counts, also one without boxes."""
        self.ordered = ordered
        """A barrier stands before each commit behind a wait."""
        plan.commits, plan.waits, plan.before = set(), {}, {}
        plan.barriers, plan.added = set(), set()

    def kernel(self, function: Operation) -> None:
        """The body; nothing is in flight behind it."""
        state = _State()
        for region in function.regions:
            for block in region.blocks:
                state = self.block(block, state)
        if state.open:
            state = self.commit(function, state)
        self.retire(function, state, 0, self.plan.waits)

    def block(self, block: Block, state: _State) -> _State:
        for op in block:
            state = self.op(op, state)
        return state

    def op(self, op: Operation, state: _State) -> _State:
        if op in self.plan.boxes:
            return replace(state, open=True)
        if isinstance(op, tile.CpCommitGroup):
            return self.commit(op, state)
        if isinstance(op, tile.AsyncWait):
            return self.retire(op, self.commit(op, state), 0, self.plan.waits)
        if isinstance(op, WaitLike):
            return self.retire(op, state, op.pending.value, self.plan.waits)
        if isinstance(op, tile.Barrier):
            if state.waited:
                self.plan.barriers.add(op)
            return replace(state, waited=0)
        if op.regions and any(isinstance(inner, (*_ON_GROUPS, *_COPIES)) for inner in op.walk()):
            return self.loop(op, state) if isinstance(op, scf.For) else self.branch(op, state)
        return state

    def commit(self, op: Operation, state: _State) -> _State:
        """One more group in flight.  Its mbarrier has no phase for which a thread may still have to wait."""
        has_boxes = state.open or self.even
        if has_boxes:
            self.plan.commits.add(op)
            if self.ordered and state.waited:
                self.plan.added.add(op)
                state = replace(state, waited=0)
            self.plan.slots = max(self.plan.slots, state.flying + state.waited + 1)
        else:
            self.plan.commits.discard(op)
        return replace(state, queue=(*state.queue, has_boxes), open=False)

    def retire(self, op: Operation, state: _State, most: int, waits: dict[Operation, list[int]]) -> _State:
        """Wait until at most so many groups are in flight."""
        waits[op] = []
        while len(state.queue) > most:
            first, *rest = state.queue
            state = replace(state, queue=tuple(rest), waited=state.waited + first)
            if first:
                waits[op].append(state.flying)
        # With a barrier before each commit behind a wait, these are no more groups than were in flight at once.
        if state.waited > MOST_WAITED and not self.ordered:
            raise _Unordered
        return state

    def branch(self, op: Operation, state: _State) -> _State:
        """Copies may be under a condition; groups may not, because their number would depend on it."""
        for inner in op.walk():
            if isinstance(inner, _ON_GROUPS):
                raise _Unknown(f"the kernel has {inner.name} under a condition (line {_line(inner)})")
        if any(isinstance(inner, scf.For) and self.has_boxes(inner) for inner in op.walk()):
            raise _Unknown("the kernel has copies in a loop under a condition")
        return replace(state, open=state.open or self.has_boxes(op))

    def has_boxes(self, op: Operation) -> bool:
        return any(inner in self.plan.boxes for inner in op.walk())

    def loop(self, op: scf.For, state: _State) -> _State:
        """Each iteration begins and ends with the same groups in flight."""
        early: list[int] = []
        while True:
            end = self.block(op.body.entry, state)
            if len(end.queue) > len(state.queue):
                if _trips(op) is not None and not any(isinstance(inner, _WAITS) for inner in op.walk()):
                    return self.prologue(op, state)
                raise _Unknown(
                    f"each iteration of the loop in line {_line(op)} leaves one more group in flight"
                )
            if len(end.queue) < len(state.queue):
                state = self.retire(op, state, len(end.queue), self.plan.before)
                early += self.plan.before[op]
            elif end.queue != state.queue:
                raise _Uneven
            elif end.open > state.open or end.waited > state.waited:
                state = replace(state, open=state.open or end.open, waited=max(state.waited, end.waited))
            else:
                break
        self.plan.before[op] = early
        state = replace(state, open=state.open or end.open, waited=max(state.waited, end.waited))
        if any(isinstance(inner, _WAITS) for inner in op.walk()):
            # A loop without iterations does not wait, and later ops may use the bytes again.
            return self.retire(op, state, 0, self.plan.waits)
        return state

    def prologue(self, op: scf.For, state: _State) -> _State:
        """A loop that only starts copies, a known number of times."""
        count = _trips(op) or 0
        added: set[tuple[bool, ...]] = set()
        for _ in range(count):
            end = self.block(op.body.entry, state)
            added.add(end.queue[len(state.queue) :])
            state = end
        if len(added) > 1:
            raise _Uneven
        return state


def _trips(op: scf.For) -> int | None:
    """The number of iterations of a loop, if it is a constant for which groups are counted."""
    count = op.trip_count
    return count if count is not None and 1 <= count <= MOST_STARTED else None


def _line(op: Operation) -> int:
    start = op.location.start()
    return start[1] if start is not None else 0
