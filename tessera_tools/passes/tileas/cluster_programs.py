"""Clusters of several programs: which loads their CTAs share, and the place of each program in its cluster.

    cluster_programs = [2, 1]            CTA 0 runs program (2x, y), CTA 1 program (2x + 1, y)
        %a = tiled_load %v[%x, %k]       each CTA its own
        %b = tiled_load %w[%k, %y]  ──▶  shared_by = 1: the same tile in both, of which each CTA loads a half for both

A load is shared by CTAs whose programs execute it equally often, with the same indices.  Whatever follows from an axis
of the grid along which a cluster has several programs may differ between its CTAs, and so may whatever a load gives.
A cluster at the end of the grid may have fewer programs than CTAs.  The CTAs without a program take part in the shared
loads, as if they ran the last one along the axis.  They store, count and print nothing, and do not read what it stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from tessera_tools.analysis.persistent import CLUSTER_PROGRAMS, ROWS_FIRST
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.arith.constants import constant
from tessera_tools.ir.builtin_attributes import UNIT, DenseArrayAttr, IntegerAttr, i64
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.flow import flow_of
from tessera_tools.ir.folding import constant_value
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.passes.tileas.memory_order import MemoryOrder, writes_memory
from tessera_tools.passes.tileas.raster import Numbers


def programs_of(function: nv_tileaa.Func) -> tuple[int, int] | None:
    """The programs of a cluster along the axes 0 and 1 of the grid; None if a cluster runs one."""
    given = function.attributes.get(CLUSTER_PROGRAMS)
    if not isinstance(given, DenseArrayAttr):
        return None
    columns, rows = given.values
    return columns, rows


def rank_bits(programs: tuple[int, int], rows_first: bool = False) -> tuple[int, int]:
    """The bits of the rank that are a CTA's place in its cluster along each axis: the low ones along the first axis, or
    along the second one."""
    first, second = reversed(programs) if rows_first else programs
    low, high = first - 1, prod(programs) - first if second > 1 else 0
    return (high, low) if rows_first else (low, high)


def share_loads(function: nv_tileaa.Func, programs: tuple[int, int], rows_first: bool = False) -> int:
    """Mark the loads that CTAs of a cluster share, and the products that they execute in step; returns how many loads
    they are."""
    found = shared_by(function, programs, rows_first)
    for op, bits in found.items():
        op.attributes[nv_tileas.SHARED_BY] = i64(bits)
    for op, bits in in_step(function, programs, rows_first).items():
        op.attributes[nv_tileas.IN_STEP] = i64(bits)
    if rows_first:
        function.attributes[ROWS_FIRST] = UNIT
    return len(found)


def in_step(
    function: nv_tileaa.Func, programs: tuple[int, int], rows_first: bool = False
) -> dict[nv_tileas.Dot, int]:
    """The products that CTAs of a cluster execute equally often, with the bits in which the ranks of these CTAs
    differ."""
    varying = _Varying.of_ranks(function, programs, rows_first)
    every = prod(programs) - 1
    found = {op: every & ~varying.around(op) for op in function.walk() if isinstance(op, nv_tileas.Dot)}
    return {op: bits for op, bits in found.items() if bits}


def shared_by(
    function: nv_tileaa.Func, programs: tuple[int, int], rows_first: bool = False
) -> dict[nv_tileas.TiledLoad, int]:
    """The loads that CTAs of a cluster may share, with the bits in which the ranks of these CTAs differ."""
    varying = _Varying.of_ranks(function, programs, rows_first)
    order = MemoryOrder()
    every = prod(programs) - 1
    shared: dict[nv_tileas.TiledLoad, int] = {}
    for op in function.walk():
        if not isinstance(op, nv_tileas.TiledLoad):
            continue
        bits = every & ~varying.of_use(op)
        # A load behind a store of the program would have to wait for the stores of the other ones.
        if bits and not any(writes_memory(before) for before in order.before(op)):
            shared[op] = bits
    return shared


def uneven(function: nv_tileaa.Func) -> list[Operation]:
    """The products and loads of tiles that some programs of the grid execute more often than others, or may."""
    varying = _Varying(function, (1, 2, 4))
    return [op for op in function.walk() if isinstance(op, _MOVES) and varying.around(op)]


_MOVES = (nv_tileas.Dot, nv_tileas.TiledLoad, nv_tileaa.Load)


class _Varying:
    """The bits on which each value may depend: uniformity analysis over programs.

    axes: the bits of a coordinate of the grid.  Of the rank in a cluster, or one for each axis.
    rounded: the programs of a cluster along the first two axes, to whose first one a coordinate may be rounded down.
    """

    def __init__(
        self, function: nv_tileaa.Func, axes: tuple[int, int, int], rounded: tuple[int, int] | None = None
    ) -> None:
        self.rounded = rounded
        self.axes = axes
        self.every = axes[0] | axes[1] | axes[2]
        self.bits: dict[Value, int] = {}
        self.changed = True
        while self.changed:
            self.changed = False
            for op in function.walk():
                self.visit(op)

    @staticmethod
    def of_ranks(function: nv_tileaa.Func, programs: tuple[int, int], rows_first: bool) -> _Varying:
        """Over the CTAs of a cluster."""
        return _Varying(function, (*rank_bits(programs, rows_first), 0), programs)

    def of(self, value: Value) -> int:
        return self.bits.get(value, 0)

    def of_all(self, values: Iterable[Value]) -> int:
        found = 0
        for value in values:
            found |= self.of(value)
        return found

    def of_use(self, op: Operation) -> int:
        """The bits on which it depends with which operands an op is executed, and how often."""
        return self.of_all(op.operands) | self.around(op)

    def around(self, op: Operation) -> int:
        """The bits on which it depends how often an op is executed."""
        found, parent = 0, op.parent_op
        while parent is not None:
            found |= self.of_control(parent)
            parent = parent.parent_op
        return found

    def of_control(self, op: Operation) -> int:
        """The bits on which it depends how often the regions of an op are executed."""
        if isinstance(op, scf.For):
            return self.of_all((op.lower, op.upper, op.step))
        if isinstance(op, scf.If | nv_tileaa.If):
            return self.of(op.condition)
        if isinstance(op, scf.While | nv_tileaa.Loop):
            # A loop may end at any branch inside.
            branches = (scf.If, nv_tileaa.If, scf.Condition)
            return self.of_all(inner.condition for inner in op.walk() if isinstance(inner, branches))
        if isinstance(op, nv_tileaa.Func):
            # An early return ends the program.
            ends = (one for one in op.walk() if isinstance(one, nv_tileaa.Return) and one.parent_op is not op)
            found = 0
            for one in ends:
                parent = one.parent_op
                while parent is not None and parent is not op:
                    found |= self.of_control(parent)
                    parent = parent.parent_op
            return found
        return 0

    def visit(self, op: Operation) -> None:
        if isinstance(op, nv_tileaa.GetProgramId):
            self.add(op.res, self.axes[op.axis.value])
            return
        if not op.regions:
            bits = self.of_all(op.operands) if is_pure(op) else self.every
            if isinstance(op, arith.AndI):
                bits &= ~self.of_cluster(op)
            for value in op.results:
                self.add(value, bits)
            return
        control = self.of_control(op)
        carried = {target: self.of_all(found) for target, found in flow_of(op)}
        inside = [value for region in op.regions for block in region.blocks for value in block.arguments]
        for value in (*op.results, *inside):
            if value in carried:
                self.add(value, carried[value] | control)
            elif isinstance(op, scf.For) and value is op.body.entry.arguments[0]:
                self.add(value, control)
            elif isinstance(op, nv_tileaa.Func):
                continue
            else:
                self.add(value, self.every)

    def of_cluster(self, op: arith.AndI) -> int:
        """The bits on which the place of a program depends, if the op rounds it down to that of its cluster's first
        program; otherwise 0."""
        place, mask = op.operands[0].defining_op, constant_value(op.operands[1])
        if (
            self.rounded is None
            or not isinstance(place, nv_tileaa.GetProgramId)
            or place.program is not None
            or place.axis.value > 1
        ):
            return 0
        bits = self.axes[place.axis.value]
        cleared = ~mask.value & (self.rounded[place.axis.value] - 1) if isinstance(mask, IntegerAttr) else 0
        return bits if cleared == self.rounded[place.axis.value] - 1 else 0

    def add(self, value: Value, bits: int) -> None:
        if bits & ~self.of(value):
            self.bits[value] = self.of(value) | bits
            self.changed = True


def own_place(
    builder: Builder,
    at: tuple[Value, Value],
    programs: tuple[int, int],
    extents: tuple[Value, Value],
    rows_first: bool = False,
) -> tuple[Value, Value, Value]:
    """(x, y) of the program of a CTA, for the place of its cluster among clusters; and whether there is such a program.
    If not, x and y are those of the last one."""
    n = Numbers(builder)
    rank = builder.insert(nv_tileas.CtaRank()).res
    found: list[Value] = []
    exists: Value | None = None
    for place, count, extent, bits in zip(
        at, programs, extents, rank_bits(programs, rows_first), strict=True
    ):
        if count == 1:
            found.append(place)
            continue
        shift = (bits & -bits).bit_length() - 1
        own = n.both(n.shr(rank, shift) if shift else rank, n.constant(count - 1))
        program = n.add(n.mul(place, n.constant(count)), own)
        inside = n.less(program, extent)
        exists = inside if exists is None else n.both(exists, inside)
        found.append(n.min(program, n.sub(extent, n.constant(1))))
    assert exists is not None
    return found[0], found[1], exists


OF_A_PROGRAM = (nv_tileaa.AtomicRmw, nv_tileaa.AtomicCas, nv_tileaa.Print)
"""Ops with effects that each program has once: a CTA without a program has none."""


def store_only_if(loop: Operation, exists: Value) -> None:
    """Put a branch around each store, atomic operation and print of a loop, and around loads of what it stores."""
    stores = [
        op for op in loop.walk() if isinstance(op, (nv_tileas.TiledStore, nv_tileaa.Store, *OF_A_PROGRAM))
    ]
    for op in (*stores, *_loads_of_stored(loop, stores)):
        guard(op, exists)


def _loads_of_stored(loop: Operation, stores: Sequence[Operation]) -> list[Operation]:
    """The loads from buffers that a loop stores to. The program that a CTA without one would follow may store what
    they read. Factors of products are loaded by all CTAs, and pointers too, because there is no zero of their type."""
    buffers = {_buffer(op) for op in stores if isinstance(op, nv_tileas.TiledStore | nv_tileaa.Store)}
    loops = _loops_of_products(loop)
    return [
        op
        for op in loop.walk()
        if isinstance(op, nv_tileas.TiledLoad | nv_tileaa.Load)
        and _buffer(op) in buffers
        and not _is_with_products(op, loops)
        and constant(op.results[0].type, [0]) is not None
    ]


def _buffer(op: Operation) -> Value:
    """The pointer that the address of an access is computed from."""
    value = op.operands[0]
    while (maker := value.defining_op) is not None and is_pure(maker) and maker.operands:
        value = maker.operands[0]
    return value


def _loops_of_products(scope: Operation) -> set[Operation]:
    """The innermost loops around products, with the branches between."""
    found: set[Operation] = set()
    for op in scope.walk():
        outer = op.parent_op if isinstance(op, nv_tileas.Dot) else None
        while outer is not None and outer is not scope:
            found.add(outer)
            outer = None if isinstance(outer, LoopLike) else outer.parent_op
    return found


def _is_with_products(load: Operation, loops: set[Operation]) -> bool:
    """Whether a load is shared, or in a loop of products."""
    parent = load.parent_op
    while parent is not None and parent not in loops:
        parent = parent.parent_op
    return parent is not None or nv_tileas.SHARED_BY in load.attributes


def guard(op: Operation, condition: Value) -> None:
    """Execute an op only if a condition holds; otherwise its results are zeros, and its token is the one before."""
    before = Builder.before(op)
    results: list[Value] = [value for value in op.results if value.has_uses]
    regions = [Region([Block()]), Region([Block()])]
    branch = scf.If.create([condition], [r.type for r in results], {}, regions, location=op.location)
    before.insert(branch)
    for old, new in zip(results, branch.results, strict=True):
        old.replace_all_uses_with(new)
    op.detach()
    inside = Builder.at_end(branch.regions[0].entry, op.location)
    inside.insert(op)
    inside.insert(scf.Yield(results))
    otherwise = Builder.at_end(branch.regions[1].entry, op.location)
    before_it = next((v for v in op.operands if isinstance(v.type, nv_tileaa.MemTokenType)), None)
    given = [
        before_it
        if before_it is not None and isinstance(r.type, nv_tileaa.MemTokenType)
        else _zero(r, otherwise)
        for r in results
    ]
    otherwise.insert(scf.Yield(given))


def _zero(value: Value, builder: Builder) -> Value:
    """A zero of the type of a value, a number or a tile of numbers."""
    zero = constant(value.type, [0])
    assert zero is not None
    return builder.insert(arith.Constant(zero)).results[0]
