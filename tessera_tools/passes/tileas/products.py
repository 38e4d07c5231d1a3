"""Which products run asynchronously, and how their operands reach shared memory: decided from facts.

    tiled_load ─▶ [reshape] ─▶ [permute] ─▶ dot      a: by TMA, or computed in registers;  b: by TMA

Every product of a kernel must be one that wgmma does, and every tile that it reads from memory one that TMA copies, or
the kernel stays as it is; `Refusal` says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tessera_tools.analysis.concurrency import follows
from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.storage import element_bytes
from tessera_tools.analysis.tensor_maps import describe, element_word
from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.atoms import MMA, PRODUCTS, WGMMA
from tessera_tools.dialects.cute import CuteMmaAtomAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout import LinearLayout, reshape, transpose
from tessera_tools.layout.shared import SWIZZLE_ALIGNMENT, swizzled
from tessera_tools.passes.tileas.memory_order import MemoryOrder, writes_memory
from tessera_tools.passes.tileas.warps import hint

TMA_ALIGNMENT = 16
"""Bytes that base and strides of a tensor are multiples of (CUDA driver API, `cuTensorMapEncodeTiled`)."""
MOST_ACCUMULATOR = 128
"""Registers of a thread that the sums of one product may take."""
_WARPGROUPS = ((1, 96), (2, MOST_ACCUMULATOR), (4, MOST_ACCUMULATOR))
"""Warpgroups, and the registers up to which so few serve: an epilogue of 128 sums spills in a kernel of two groups of
threads, which have 255 registers, and does not in one of three, where the consumers have 232."""


class Refusal(Exception):
    """Why a kernel stays as it is: the op, and what is wrong with it."""

    def __init__(self, op: Operation, why: str) -> None:
        super().__init__(why)
        self.op, self.why = op, why


@dataclass(eq=False)
class BoxLoad:
    """A tile that TMA brings: its load, the box, and how the product sees the buffer."""

    load: nv_tileas.TiledLoad
    box: tuple[int, ...]
    swizzle: int
    steps: list[Operation]
    """The ops between the load and the product, in order: nothing of them is left."""
    order: tuple[int, ...]
    """The axes of the view as the tensor map has them: the one whose neighbors lie side by side last."""

    @property
    def tile(self) -> tuple[int, ...]:
        """The tile, its axes in the order of the tensor map."""
        shape = self.load.res.type.shape
        return tuple(shape[axis] for axis in self.order)

    @property
    def bytes(self) -> int:
        """Bytes of one stage."""
        type = self.load.res.type
        return type.num_elements * element_bytes(type.element)

    @property
    def layout(self) -> LinearLayout:
        """How the boxes of a tile lie in the buffer."""
        return swizzled(self.tile, 8 * element_bytes(self.load.res.type.element), None, self.swizzle)

    @property
    def seen(self) -> LinearLayout:
        """How the product's operand lies in the buffer."""
        back = tuple(sorted(range(len(self.order)), key=self.order.__getitem__))
        layout = transpose(self.layout, back)
        for step in self.steps:
            if isinstance(step, nv_tileaa.Permute):
                layout = transpose(layout, step.permutation.values)
            elif isinstance(step, nv_tileaa.Reshape):
                layout = reshape(layout, step.res.type.shape)
        return layout


@dataclass(eq=False)
class AsyncProduct:
    """A product by wgmma: where its factors come from."""

    dot: nv_tileas.Dot
    atom_n: int
    grid: tuple[int, int]
    a: BoxLoad | None
    """None where A is computed, in registers."""
    b: BoxLoad

    @property
    def loads(self) -> list[BoxLoad]:
        return [self.b] if self.a is None else [self.a, self.b]

    def atom(self) -> CuteMmaAtomAttr:
        """The instruction."""
        old = self.dot.atom
        k = 32 // element_bytes(self.dot.a.type.element)
        return CuteMmaAtomAttr(WGMMA, 90, (64, self.atom_n, k), old.a, old.b, old.accumulator)


@dataclass(eq=False)
class Choice:
    """The asynchronous products of a kernel, and the warpgroups that compute them."""

    products: list[AsyncProduct] = field(default_factory=list[AsyncProduct])
    groups: int = 1


def choose(function: nv_tileaa.Func) -> Choice:
    """The asynchronous products of a kernel.  Refusal where one is not, and where there is none."""
    dots = [op for op in function.walk() if isinstance(op, nv_tileas.Dot)]
    if not dots:
        raise Refusal(function, "has no product")
    for op in function.walk():
        if isinstance(op, nv_tileaa.Return) and op.parent_op is not function:
            raise Refusal(op, "exits the kernel early, which an agent cannot do")
    facts, order = Facts(), MemoryOrder()
    choice = Choice()
    found = [_operands(dot, facts, order) for dot in dots]
    chained = any(a is None for a, _ in found)
    choice.groups = _warpgroups(dots, chained)
    for dot, (a, b) in zip(dots, found, strict=True):
        choice.products.append(AsyncProduct(dot, *_grid(dot, choice.groups, chained), a, b))
    return choice


# -- products


def _operands(dot: nv_tileas.Dot, facts: Facts, order: MemoryOrder) -> tuple[BoxLoad | None, BoxLoad]:
    """A, if it comes from memory, and B.  Refusal unless the product is one of wgmma's."""
    types = [v.type.element for v in (dot.a, dot.b, dot.c)]
    if dot.scales:
        raise Refusal(dot, "has scales, which wgmma does not support")
    if dot.c.type.rank != 2:
        raise Refusal(dot, "multiplies batches of matrices, which wgmma does not support")
    rows = [r for r in PRODUCTS if r.primitive == WGMMA and types[0] in r.operands and types[1] in r.operands]
    if dot.atom.primitive != MMA or not any(types[2] in r.accumulators for r in rows):
        raise Refusal(
            dot,
            f"multiplies {types[0]} by {types[1]} into {types[2]}, which wgmma does not support",
        )
    around = dot.parent_op
    while around is not None and not isinstance(around, nv_tileaa.Func):
        if not isinstance(around, scf.For):
            raise Refusal(
                dot, f"stands in a '{around.name}', which the consumer does not support in this version"
            )
        around = around.parent_op
    (m, k), n = dot.a.type.shape, dot.b.type.shape[1]
    if m % 64 or n < 8 or k % rows[0].k:
        raise Refusal(
            dot, f"multiplies {m}x{n}x{k}; wgmma has 64 rows, at least 8 columns and {rows[0].k} terms"
        )
    traced = _trace(dot, 0)
    a = None
    if isinstance(traced, tuple):
        a = _box_load(dot, 0, *traced, facts, order)
    elif element_bytes(types[0]) != 2:
        raise Refusal(
            dot, f"has a left operand of {types[0]} that is computed; only f16 and bf16 are supported there"
        )
    traced = _trace(dot, 1)
    if not isinstance(traced, tuple):
        raise Refusal(dot, "has a right operand that is not loaded directly from memory")
    return a, _box_load(dot, 1, *traced, facts, order)


def _trace(dot: nv_tileas.Dot, position: int) -> tuple[Any, list[Operation]] | None:
    """The load of an operand and the steps between; None where something else makes it."""
    steps: list[Operation] = []
    value: Value = dot.operand(position)
    while isinstance(op := value.defining_op, Operation):
        if not value.has_one_use:
            return None
        if isinstance(op, nv_tileas.TiledLoad):
            return op, steps[::-1]
        if isinstance(op, nv_tileaa.Reshape):
            old, new = op.source.type.shape, op.res.type.shape
            if [n for n in old if n != 1] != [n for n in new if n != 1]:
                return None
        elif not isinstance(op, nv_tileaa.Permute):
            return None
        steps.append(op)
        value = op.operands[0]
    return None


def _warpgroups(dots: list[nv_tileas.Dot], chained: bool) -> int:
    """The fewest warpgroups whose threads can hold the sums of each product; those that the author hints at, if so."""
    function: Any = dots[0]
    while not isinstance(function, nv_tileaa.Func):
        function = function.parent_op
    wanted = hint(function, "num_worker_warps_per_cta")
    for groups, most in _WARPGROUPS:
        if wanted in (None, 4 * groups) and all(_fits(dot, groups, chained, most) for dot in dots):
            return groups
    if wanted is not None:
        raise Refusal(
            function,
            f"asks for {wanted} worker warps, which cannot be divided into warpgroups for its products",
        )
    raise Refusal(dots[0], f"has accumulators of more than {MOST_ACCUMULATOR} registers per thread")


def _fits(dot: nv_tileas.Dot, groups: int, chained: bool, most: int) -> bool:
    m, n = dot.c.type.shape
    bits = 8 * element_bytes(dot.c.type.element)
    if m * n * bits // 32 > most * 128 * groups:
        return False
    along_m = min(groups, m // 64)
    return along_m == groups or (not chained and n // (groups // along_m) >= 8)


def _grid(dot: nv_tileas.Dot, groups: int, chained: bool) -> tuple[int, tuple[int, int]]:
    """(n of the instruction, the grid of warps): all warpgroups along M as far as it goes, then along N."""
    m, n = dot.c.type.shape
    along_m = min(groups, m // 64)
    along_n = groups // along_m
    return min(256, n // along_n), (4 * along_m, along_n)


# -- loads


def _box_load(
    dot: nv_tileas.Dot,
    position: int,
    load: nv_tileas.TiledLoad,
    steps: list[Operation],
    facts: Facts,
    order: MemoryOrder,
) -> BoxLoad:
    """Refusal unless TMA can copy the tile of a load to where wgmma reads it."""
    view = load.view.defining_op
    if not isinstance(view, nv_tileaa.MakeMemRef):
        raise Refusal(load, "reads a view that is not created in the kernel")
    type = load.res.type
    assert isinstance(type, RankedTensorType)
    if not 1 <= type.rank <= 5 or element_word(type.element) is None:
        raise Refusal(load, f"reads a tile of {type}, which TMA does not support")
    if load.padding.value not in ("undef", "zero"):
        raise Refusal(load, f"reads {load.padding.value} out of bounds, but TMA fills with zeros")
    if load.cache is not None:
        raise Refusal(load, "names a cache operator, which TMA does not have")
    fast = [axis for axis, stride in enumerate(view.strides()) if stride == 1]
    if not fast:
        raise Refusal(load, "reads a view without a dimension of known unit stride")
    last = fast[-1]
    axes = (*(axis for axis in range(type.rank) if axis != last), last)
    size = element_bytes(type.element)
    if facts.divisor(view.base) % TMA_ALIGNMENT:
        raise Refusal(
            load,
            f"reads from a base that is not known to be a multiple of {TMA_ALIGNMENT} bytes: add an assume",
        )
    for axis in axes[:-1]:
        stride = view.strides()[axis]
        known = stride if isinstance(stride, int) else facts.divisor(stride)
        if known * size % TMA_ALIGNMENT:
            raise Refusal(
                load,
                f"reads a view whose stride of dimension {axis} is not known to be a multiple of {TMA_ALIGNMENT} "
                "bytes: add an assume",
            )
    width = type.shape[last] * size
    swizzle = next((s for s in (128, 64, 32) if width % s == 0), 0)
    if not swizzle:
        raise Refusal(load, f"reads rows of {width} bytes; wgmma swizzles need at least 32")
    stage = type.num_elements * size
    if stage % SWIZZLE_ALIGNMENT[swizzle]:
        raise Refusal(
            load,
            f"reads a tile of {stage} bytes, no multiple of the {SWIZZLE_ALIGNMENT[swizzle]} of its swizzle",
        )
    tile = tuple(type.shape[axis] for axis in axes)
    box = (*(min(n, nv_tileas.MOST_EXTENT) for n in tile[:-1]), swizzle // size)
    problem = describe(_permuted(view, axes), box, swizzle)
    if isinstance(problem, str):
        raise Refusal(load, problem.replace("describes", "reads"))
    made = BoxLoad(load, box, swizzle, steps, axes)
    _check_major(dot, position, made, size)
    _check_order(load, dot, order)
    around = load.parent_op
    while around is not None and not isinstance(around, nv_tileaa.Func):
        if not isinstance(around, scf.For):
            raise Refusal(
                load, f"stands in a '{around.name}', which a producer cannot execute in this version"
            )
        around = around.parent_op
    return made


@dataclass(frozen=True, slots=True)
class _Permuted:
    """A view with its axes in another order, as `describe` reads one."""

    op: nv_tileaa.MakeMemRef
    axes: tuple[int, ...]
    name = "nv_tileaa.make_memref"

    @property
    def defining_op(self) -> Any:
        return self

    @property
    def base(self) -> Value:
        return self.op.base

    @property
    def res(self) -> Value:
        return self.op.res

    def extents(self) -> list[Any]:
        return [self.op.extents()[axis] for axis in self.axes]

    def strides(self) -> list[Any]:
        return [self.op.strides()[axis] for axis in self.axes]


def _permuted(view: nv_tileaa.MakeMemRef, axes: tuple[int, ...]) -> Any:
    return _Permuted(view, axes)


def _check_major(dot: nv_tileas.Dot, position: int, made: BoxLoad, size: int) -> None:
    """Refusal where the operand does not lie along K, and wgmma wants it so."""
    k_axis = 1 - position
    first = made.seen.apply({"offset": 1})
    if first[f"dim{k_axis}"] != 1 and size != 2:
        raise Refusal(
            made.load,
            "reads an operand whose neighbors do not lie along K; wgmma requires that unless elements have 16 bits",
        )


def _check_order(load: nv_tileas.TiledLoad, dot: nv_tileas.Dot, order: MemoryOrder) -> None:
    """Refusal where tokens order a load and a write, which a producer that runs ahead would not keep.

    A write behind the product comes after the load by itself: the consumer has waited for the tile.
    """
    if any(not isinstance(op, nv_tileas.TiledLoad) for op in order.before(load)):
        raise Refusal(load, "is ordered by its token after an op that is not a load of a tile")
    function: Any = dot.parent_op
    while not isinstance(function, nv_tileaa.Func):
        function = function.parent_op
    for op in function.walk():
        if op.regions or not writes_memory(op) or load not in order.before(op):
            continue
        outer: Operation | None = op
        while outer is not None and not follows(dot, outer):
            outer = outer.parent_op
        if outer is None:
            raise Refusal(
                load, f"is ordered by its token before '{op.name}', which does not follow the product"
            )
