"""What fills the stages of a pipeline between agents, by facts: each filler has a kind, and arrivals of its own.

    BoxLoad       TMA copies boxes of a view           one thread arrives, with the number of bytes
    ThreadFill    cp.async copies vectors of a view    every thread arrives, when its copies are complete
    ThreadFill    a tile in registers is stored        every warp arrives, after a fence for the async proxy

TMA is chosen where it can copy the tile.  Otherwise the threads of the producer bring it: a view whose strides are not
multiples of 16 bytes, rows that are gathered, a tile under a mask, or one that is computed from what is loaded.  The
fillers of one product share a pipeline, whose stage is full when all of them have arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

from tessera_tools.analysis.access import contiguous_axis, storage_bits
from tessera_tools.analysis.axis import is_elementwise
from tessera_tools.analysis.concurrency import follows
from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.storage import element_bytes, padded_bits
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.arith.constants import splat_of
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.folding import constant_value
from tessera_tools.ir.traversal import enclosing
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout import LinearLayout, reshape, transpose
from tessera_tools.layout.shared import SWIZZLE_ALIGNMENT, WIDE_ATOMICITY, swizzled
from tessera_tools.passes.tileas.boxes import (
    LONGER_ROWS,
    Boxes,
    axes_of,
    boxes_of,
    boxes_of_factor,
    shortest_rows,
)
from tessera_tools.passes.tileas.memory_order import MemoryOrder, writes_memory
from tessera_tools.passes.tileas.missed import Missed, place_of
from tessera_tools.planning.accesses import MANY_ROWS
from tessera_tools.planning.shared_memory import stage_stride
from tessera_tools.records import dataclass, field
from tessera_tools.target import WARPS_OF_WARPGROUP

WORD_BYTES = 4
"""Size of the elements of tf32, which tcgen05.mma reads across K in a swizzle of another atomicity."""
REGISTER_BYTES = 2
"""Size of the elements of A, in bytes, for which A may be in registers."""
LOADS = (nv_tileas.TiledLoad, nv_tileaa.Load)
"""The ops that load a tile from global memory."""
MOST_ELEMENTS = 32
FEW_ELEMENTS = 16
"""Elements that a thread of the producer holds at a time, of a tile that may come part by part; and where what the
elements are computed from, or the sums of the consumer, takes registers, too."""
_NARROWEST_COPY = 32
"""The fewest bits that a cp.async copies."""
SIDES = ("left", "right")
OTHER_TOKEN = "give it another token if the two touch different memory"
_ALONG_K = (
    "reads an operand that is not contiguous along K, as wgmma requires unless elements have 16 bits",
    "lay the tensor out along K",
)


@dataclass(eq=False)
class BoxLoad:
    """A tile loaded by TMA: its load, the box, and the product's view of the buffer."""

    load: nv_tileas.TiledLoad
    boxes: Boxes
    steps: list[Operation]
    """The ops between the load and the product, in order; they are removed."""
    shared_by: int = 0
    """The bits of the rank in which the CTAs differ that get the tile together."""
    half: int | None = None
    """The axis along which a CTA of a pair loads half of the tile; None if it loads all of it."""
    stage_of: BoxLoad | None = None
    """The factor of another product that is the same tile, and in whose stages it is (shared_stages.py)."""
    also: dict[BoxLoad, nv_tileas.Dot] = field(default_factory=dict["BoxLoad", nv_tileas.Dot])
    """The other factors in its stages, with their products, in the order of the program."""

    def __post_init__(self) -> None:
        self.rounds = self.load.rounds

    def halve(self, axis: int) -> None:
        """Load half of the tile along an axis of the product's factor.  Raises Missed if TMA does not bring it."""
        for step in reversed(self.steps):
            if isinstance(step, nv_tileaa.Reshape):
                raise Missed(
                    self.load,
                    "reads a tile of another shape than the factor, which has no halves",
                    "load a tile of the factor's shape",
                )
            if isinstance(step, nv_tileaa.Permute):
                axis = step.permutation.values[axis]
        self.half = axis
        self.boxes = boxes_of_factor(self.load, self.type, self.boxes.order, self.boxes.atomicity)

    def share(self, among: int = ~0) -> None:
        """Let the CTAs of a cluster that need the same tile copy it together, if there are boxes for it; only those
        whose ranks differ in the bits `among`."""
        attribute = self.load.attributes.get(nv_tileas.SHARED_BY)
        bits = attribute.value & among if isinstance(attribute, IntegerAttr) else 0
        boxes = self.boxes.cut(1 << bits.bit_count()) if bits else None
        if boxes is not None:
            self.boxes, self.shared_by = boxes, bits

    @property
    def bytes(self) -> int:
        """Bytes from one stage to the next."""
        return stage_stride(self.type.num_elements * element_bytes(self.type.element))

    @property
    def type(self) -> RankedTensorType:
        """The type of what is loaded."""
        type = self.load.res.type
        assert isinstance(type, RankedTensorType)
        if self.half is None:
            return type
        shape = [size // 2 if axis == self.half else size for axis, size in enumerate(type.shape)]
        return RankedTensorType(tuple(shape), type.element)

    @property
    def tile(self) -> tuple[int, ...]:
        """The tile in the buffer."""
        return self.boxes.tile

    @property
    def memory(self) -> LinearLayout:
        """The layout of the tile in the buffer."""
        return self.boxes.layout

    @property
    def swizzle(self) -> int:
        return self.boxes.swizzle

    @property
    def seen(self) -> LinearLayout:
        """The layout of the product's operand in the buffer."""
        order = self.boxes.order
        back = tuple(sorted(range(len(order)), key=order.__getitem__))
        return _after(self.steps, transpose(self.boxes.layout, back))


@dataclass(eq=False)
class ThreadFill:
    """A tile that the threads of the producer bring: by cp.async, or through their registers."""

    load: Any
    """The op that makes the tile."""
    memory: LinearLayout
    """The layout of the tile in the buffer."""
    swizzle: int
    steps: list[Operation]
    """The ops between the tile and the product, in order; they are removed."""
    is_copied: bool
    """Whether it is loaded by cp.async; the threads compute other tiles in registers."""
    why: Missed | None
    """Why TMA does not bring it; None if an agent computes it from what TMA brings."""
    slices: list[Operation] = field(default_factory=list[Operation])
    """The ops, in order, that compute the tile from views alone, element by element: it may come part by part."""
    most: int = MOST_ELEMENTS
    """The most elements of such a part in a thread."""

    @property
    def value(self) -> Value:
        return self.load.results[0]

    def missed(self, what: str) -> Missed:
        """Why the threads do not bring it either."""
        assert self.why is not None
        text = f"makes a tile that TMA does not bring, because {self.why.because(self.load)}; {what}"
        return Missed(self.load, text, self.why.advice)

    @property
    def type(self) -> RankedTensorType:
        """The type of the tile."""
        type = self.value.type
        assert isinstance(type, RankedTensorType)
        return type

    @property
    def tile(self) -> tuple[int, ...]:
        """The tile in the buffer."""
        return self.type.shape

    @property
    def bytes(self) -> int:
        """Bytes from one stage to the next."""
        return stage_stride(prod(self.tile) * element_bytes(self.type.element))

    @property
    def loaded(self) -> int:
        """How many tiles are loaded for one that comes part by part."""
        return sum(isinstance(op, LOADS) for op in self.slices)

    @property
    def is_converted(self) -> bool:
        """Whether a tile that comes part by part is computed from one that is loaded."""
        return self.loaded == 1 < len(self.slices)

    @property
    def addresses(self) -> int:
        """Addresses in global memory that each thread of the producer keeps in registers, for a tile through
        registers: the lanes of a warp load along rows, and the elements of a row are at constant offsets. Of a part
        with many rows, those are the first one and the distance to the next, unless it is computed from several, whose
        elements take the registers."""
        parts = self.parts(WARPS_OF_WARPGROUP)
        shape, total = parts[0][1], 0
        for op in self.slices:
            type = op.results[0].type
            if not isinstance(op, LOADS) or not isinstance(type, RankedTensorType):
                continue
            along = contiguous_axis(op.view.defining_op) if isinstance(op, nv_tileas.TiledLoad) else None
            bits = padded_bits(type.element)
            wide = max(bits, op.atom.bits) if isinstance(op, nv_tileas.TiledLoad) else bits
            row = max(1, shape[along] * bits // (wide * 32)) if along is not None else 1
            rows = max(1, prod(shape) * bits // (wide * 32 * WARPS_OF_WARPGROUP * row))
            total += len(parts) * (2 if self.loaded == 1 and rows >= MANY_ROWS else rows)
        return total

    @property
    def seen(self) -> LinearLayout:
        """The layout of the product's operand in the buffer."""
        return _after(self.steps, self.memory)

    def parts(self, warps: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """(offsets, shape) of the parts of the tile of which the threads of so many warps hold one at a time."""
        shape = list(self.tile)
        if self.slices:
            width = self.swizzle // element_bytes(self.type.element)
            second = self.memory.apply({"offset": 1})
            fast = next(axis for axis in range(len(shape)) if second[f"dim{axis}"])
            for axis in sorted(range(len(shape)), key=lambda axis: axis != fast):
                least = width if axis == fast else 8
                while prod(shape) > self.most * 32 * warps and shape[axis] > least:
                    shape[axis] //= 2
        starts = product(*(range(0, n, m) for n, m in zip(self.tile, shape, strict=True)))
        return [(start, tuple(shape)) for start in starts]


Filler = BoxLoad | ThreadFill


def _after(steps: Sequence[Operation], layout: LinearLayout) -> LinearLayout:
    """The layout of a tile after ops that rename its elements."""
    for step in steps:
        if isinstance(step, nv_tileaa.Permute):
            layout = transpose(layout, step.permutation.values)
        elif isinstance(step, nv_tileaa.Reshape):
            layout = reshape(layout, step.res.type.shape)
    return layout


def read_load(
    user: Operation,
    load: nv_tileas.TiledLoad,
    facts: Facts,
    order: MemoryOrder,
    swizzles: Sequence[int] = (128, 64, 32, 0),
) -> BoxLoad:
    """A load that TMA makes to shared memory, from where the tile is read before `user`, in the first
    of the swizzles that fits it.  Missed if it cannot."""
    type = load.res.type
    assert isinstance(type, RankedTensorType)
    axes = tma_axes(load, type, facts)
    size = element_bytes(type.element)
    width = type.shape[axes[-1]] * size
    stage = type.num_elements * size
    check_order(load, user, order)
    why: Missed | None = None
    for swizzle in swizzles:
        if swizzle and (width % swizzle or stage % SWIZZLE_ALIGNMENT[swizzle]):
            continue
        try:
            return BoxLoad(load, boxes_of(load, type, axes, swizzle, "reads"), [])
        except Missed as refusal:
            why = refusal
    assert why is not None
    raise why


def tma_axes(load: nv_tileas.TiledLoad, type: RankedTensorType, facts: Facts) -> tuple[int, ...]:
    """The axes of a load's view in the order of its tensor map.  Raises Missed if TMA in a producer cannot execute the
    load."""
    if load.padding.value not in ("undef", "zero"):
        raise Missed(
            load,
            f"reads {load.padding.value} out of bounds, but TMA fills with zeros",
            "pad with zero if that makes no difference",
        )
    around = load.parent_op
    while around is not None and not isinstance(around, nv_tileaa.Func):
        if not isinstance(around, scf.For | scf.If):
            raise Missed(
                load,
                f"is nested in a '{around.name}', which a producer cannot execute in this version",
                "use a loop that counts",
            )
        around = around.parent_op
    return axes_of(load, type, facts, "reads")


def box_load(
    dot: nv_tileas.Dot,
    position: int,
    load: nv_tileas.TiledLoad,
    steps: list[Operation],
    facts: Facts,
    order: MemoryOrder,
    transposed: Sequence[int] = (REGISTER_BYTES,),
) -> BoxLoad:
    """Raises Missed if TMA cannot copy the tile of a load to a buffer that the product can read; `transposed`: bytes of
    the elements that need not be contiguous along K."""
    type = load.res.type
    assert isinstance(type, RankedTensorType)
    axes, size = tma_axes(load, type, facts), element_bytes(type.element)
    made = BoxLoad(load, boxes_of_factor(load, type, axes), steps)
    if not _is_along_k(position, made):
        if size not in transposed:
            raise Missed(load, *_ALONG_K)
        if size == WORD_BYTES:
            made.boxes = boxes_of_factor(load, type, axes, WIDE_ATOMICITY)
    check_order(load, dot, order)
    return made


def _is_along_k(position: int, made: BoxLoad) -> bool:
    """Whether an operand is contiguous along K."""
    return made.seen.apply({"offset": 1})[f"dim{1 - position}"] == 1


def check_order(load: Operation, user: Operation, order: MemoryOrder) -> None:
    """Raises Missed if tokens order a load and a write, because a producer runs ahead of the consumer.

    A write after the op that waits for the tile comes after the load by itself.
    """
    other = next((op for op in order.before(load) if not isinstance(op, LOADS)), None)
    if other is not None:
        raise Missed(
            load,
            f"is ordered by its token after '{other.name}'{place_of(other)}, and the tile would come ahead of that",
            OTHER_TOKEN,
        )
    function = enclosing(user, nv_tileaa.Func)
    assert function is not None
    for op in function.walk():
        if op.regions or not writes_memory(op) or load not in order.before(op):
            continue
        outer: Operation | None = op
        while outer is not None and not follows(user, outer):
            outer = outer.parent_op
        if outer is None:
            raise Missed(
                load,
                f"is ordered by its token before '{op.name}'{place_of(op)}, which does not follow the use of the tile",
                OTHER_TOKEN,
            )


def staged_layout(dot: nv_tileas.Dot, position: int) -> tuple[LinearLayout, int]:
    """The layout in shared memory of an operand that the consumer writes, and the bytes of its swizzle.  Raises Missed
    if wgmma cannot read it.  16-bit elements keep the program's order, others are contiguous along K."""
    type = dot.operand(position).type_as(RankedTensorType)
    size = element_bytes(type.element)
    k_axis = 1 - position
    fast = 1 if size == REGISTER_BYTES else k_axis
    width = type.shape[fast] * size
    swizzle = next((s for s in (128, 64, 32) if width % s == 0), 0)
    if not swizzle:
        raise Missed(
            dot, f"has a {SIDES[position]} operand of rows of {width} bytes; {shortest_rows()}", LONGER_ROWS
        )
    return swizzled(type.shape, 8 * size, (fast, 1 - fast), swizzle), swizzle


# -- by threads


def loaded_fill(
    dot: nv_tileas.Dot,
    position: int,
    load: nv_tileas.TiledLoad,
    steps: list[Operation],
    refusal: Missed,
    order: MemoryOrder,
    transposed: Sequence[int] = (REGISTER_BYTES,),
) -> ThreadFill:
    """A loaded tile that TMA does not copy, for the reason of `refusal`.  Raises it again if the threads of the
    producer do not either, and a Missed of their own if the product could not read the tile; `transposed`: bytes of the
    elements that need not be contiguous along K."""
    if _stands_elsewhere(load):
        raise refusal
    check_order(load, dot, order)
    type = load.res.type
    assert isinstance(type, RankedTensorType)
    along = contiguous_axis(load.view.defining_op)
    memory, swizzle, fast = _readable(position, load, steps, type, along, transposed)
    atom, element = load.atom.bits, type.element
    is_copied = (
        atom >= _NARROWEST_COPY
        and storage_bits(element) == padded_bits(element)
        and load.padding.value in ("undef", "zero")
        and load.cache is None
        and not load.rounds
        and (atom <= padded_bits(element) or fast == along)
    )
    return ThreadFill(load, memory, swizzle, steps, is_copied, refusal, [] if is_copied else [load])


def computed_fill(
    dot: nv_tileas.Dot, position: int, value: Value, signs: list[Operation], why: Missed, order: MemoryOrder
) -> ThreadFill | None:
    """A factor before some inversions of its sign, which the producer's threads compute from what they load, and not
    the consumer from what TMA loads, for the reason `why`; None if they cannot.  Raises Missed if wgmma could not
    read it."""
    root, ops = value.defining_op, ops_before(value, dot)
    between = [value, *(op.results[0] for op in signs)]
    if root is None or root.parent is not dot.parent or not all(v.has_one_use for v in between):
        return None
    loads = [op for op in ops or () if isinstance(op, LOADS)]
    if ops is None or not loads or _stands_elsewhere(root):
        return None
    try:
        for load in loads:
            check_order(load, dot, order)
    except Missed:
        return None
    memory, swizzle = staged_layout(dot, position)
    slices = ops if all(_is_sliced(op, dot) for op in ops) else []
    return ThreadFill(root, memory, swizzle, signs, False, why, slices)


def _is_sliced(op: Operation, dot: nv_tileas.Dot) -> bool:
    """Whether a part of what an op computes is computed from the same part of its operands, or from views."""
    if isinstance(op, nv_tileas.TiledLoad):
        return True
    tiles = [v for v in op.operands if isinstance(v.type, RankedTensorType)]
    shapes = {v.type.shape for v in (*tiles, *op.results) if isinstance(v.type, RankedTensorType)}
    known = all(
        splat_of(constant_value(v)) is not None
        or (v.defining_op is not None and v.defining_op.parent is dot.parent)
        for v in tiles
    )
    return is_elementwise(op) and len(shapes) == 1 and known and len(op.results) == 1


def trace_load(dot: nv_tileas.Dot, position: int) -> tuple[nv_tileas.TiledLoad, list[Operation]] | None:
    """The load of an operand and the ops in between; None if the operand is computed."""
    steps: list[Operation] = []
    value: Value = dot.operand(position)
    while isinstance(op := value.defining_op, Operation):
        if not value.has_one_use:
            return None
        if isinstance(op, nv_tileas.TiledLoad):
            return op, steps[::-1]
        if isinstance(op, nv_tileaa.Reshape):
            if not op.only_renames:
                return None
        elif not isinstance(op, nv_tileaa.Permute | arith.NegF):
            return None
        steps.append(op)
        value = op.operands[0]
    return None


def why_computed(dot: nv_tileas.Dot, position: int) -> Missed:
    """Why the consumer writes an operand to where its product reads it."""
    value, alone, moved = dot.operand(position), True, False
    while isinstance(op := value.defining_op, nv_tileaa.Permute | nv_tileaa.Reshape | arith.NegF):
        alone = alone and value.has_one_use
        if isinstance(op, nv_tileaa.Reshape):
            moved = moved or not op.only_renames
        value = op.operands[0]
    if op is None:
        return Missed(dot, f"has a {SIDES[position]} operand that a loop or branch gives")
    if isinstance(op, nv_tileaa.Load):
        return pointwise(op)
    if not isinstance(op, nv_tileas.TiledLoad):
        return Missed(op, "computes it, in the threads of the consumer")
    if not (alone and value.has_one_use):
        return Missed(op, "reads a tile that is not for the product alone", "load the tile once for each use")
    if moved:
        return Missed(
            op, "reads a tile of another shape than the operand", "load a tile of the operand's shape"
        )
    return Missed(op, *_ALONG_K)


def loads_of(dot: nv_tileas.Dot, position: int) -> list[nv_tileas.TiledLoad | nv_tileaa.Load]:
    """The loads in the block of a product from which alone an operand is computed, by ops without effects; none if it
    is computed from something else."""
    return [op for op in ops_before(dot.operand(position), dot) or () if isinstance(op, LOADS)]


def ops_before(value: Value, dot: nv_tileas.Dot) -> list[Operation] | None:
    """The ops on tiles in a product's block from which a tile is computed, in order; None if it is not computed from
    loads by ops without effects."""
    found: set[Operation] = set()
    work = [value]
    while work:
        op = work.pop().defining_op
        if op is None or op.parent is not dot.parent or op in found:
            continue
        if not isinstance(op, LOADS) and (op.regions or not is_pure(op) or isinstance(op, nv_tileas.Dot)):
            return None
        if splat_of(constant_value(op.results[0])) is None:
            found.add(op)
        work += [v for v in op.operands if isinstance(v.type, RankedTensorType)]
    assert dot.parent is not None
    return [op for op in dot.parent if op in found]


def only_for(filler: Filler) -> set[Operation]:
    """The ops before the one of a filler that compute for it alone."""
    found: set[Operation] = set()
    if isinstance(filler, BoxLoad) or filler.is_copied:
        return found
    root: Operation = filler.load
    work = [root]
    while work:
        for value in work.pop().operands:
            op = value.defining_op
            if op is None or op in found or op.parent is not root.parent or op.regions:
                continue
            tiles = [r for r in op.results if r.type is not nv_tileaa.MEM_TOKEN]
            if all(user is root or user in found for r in tiles for user in r.users):
                found.add(op)
                work.append(op)
    return found


def _stands_elsewhere(load: Operation) -> bool:
    """Whether a load stands in something else than the loops and branches that a producer executes."""
    around = load.parent_op
    while isinstance(around, scf.For | scf.If):
        around = around.parent_op
    return not isinstance(around, nv_tileaa.Func)


def _readable(
    position: int,
    load: Operation,
    steps: list[Operation],
    type: RankedTensorType,
    along: int | None,
    transposed: Sequence[int],
) -> tuple[LinearLayout, int, int]:
    """(a layout in which a product reads a tile after some steps, the bytes of its swizzle, the axis that is contiguous
    there), if possible the axis `along`.  Raises Missed if there is none."""
    size = element_bytes(type.element)
    axes = sorted(range(type.rank), key=lambda axis: (axis != along, -axis))
    why = f"has no rows that a product could read; {shortest_rows()}", LONGER_ROWS
    for fast in axes:
        width = type.shape[fast] * size
        swizzle = next((s for s in (128, 64, 32) if width % s == 0), 0)
        if not swizzle or type.num_elements * size % SWIZZLE_ALIGNMENT[swizzle]:
            continue
        others = [axis for axis in reversed(range(type.rank)) if axis != fast]
        layout = swizzled(type.shape, 8 * size, (fast, *others), swizzle)
        if size in transposed or _after(steps, layout).apply({"offset": 1})[f"dim{1 - position}"] == 1:
            return layout, swizzle, fast
        why = _ALONG_K
    raise Missed(load, *why)


def pointwise(load: nv_tileaa.Load) -> Missed:
    """Why TMA does not make a load through pointers."""
    return Missed(
        load,
        "reads each element at an address of its own, and TMA copies boxes of views",
        "load the tile through a view if its rows are evenly apart",
    )
