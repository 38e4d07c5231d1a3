"""Clusters of several programs: which loads their CTAs share, and the place of each program in its cluster.

    cluster_programs = [2, 1]            CTA 0 runs program (2x, y), CTA 1 program (2x + 1, y)
        %a = tiled_load %v[%x, %k]       each CTA its own
        %b = tiled_load %w[%k, %y]  ──▶  shared_by = 1: the same tile in both, of which each CTA loads a half for both

A load is shared by CTAs whose programs execute it equally often, with the same indices.  Whatever follows from an axis
of the grid along which a cluster has several programs may differ between its CTAs, and so may whatever a load gives.
A cluster at the end of the grid may have fewer programs than CTAs.  The CTAs without a program take part in the shared
loads, as if they ran the last one along the axis, and store nothing.
"""

from __future__ import annotations

from math import prod
from typing import Any

from tessera_tools.analysis.persistent import CLUSTER_PROGRAMS
from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, i64
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.flow import flow_of
from tessera_tools.passes.tileas.memory_order import MemoryOrder, writes_memory
from tessera_tools.passes.tileas.raster import Numbers


def programs_of(function: nv_tileaa.Func) -> tuple[int, int] | None:
    """The programs of a cluster along the axes 0 and 1 of the grid; None if a cluster runs one."""
    given = function.attributes.get(CLUSTER_PROGRAMS)
    if not isinstance(given, DenseArrayAttr):
        return None
    columns, rows = given.values
    return columns, rows


def rank_bits(programs: tuple[int, int]) -> tuple[int, int]:
    """The bits of the rank that are a CTA's place in its cluster along each axis."""
    columns, rows = programs
    return columns - 1, prod(programs) - columns if rows > 1 else 0


def share_loads(function: nv_tileaa.Func, programs: tuple[int, int]) -> int:
    """Mark the loads that CTAs of a cluster share, and the products that they execute in step; returns how many loads
    they are."""
    found = shared_by(function, programs)
    for op, bits in found.items():
        op.attributes[nv_tileas.SHARED_BY] = i64(bits)
    for op, bits in in_step(function, programs).items():
        op.attributes[nv_tileas.IN_STEP] = i64(bits)
    return len(found)


def in_step(function: nv_tileaa.Func, programs: tuple[int, int]) -> dict[nv_tileas.Dot, int]:
    """The products that CTAs of a cluster execute equally often, with the bits in which the ranks of these CTAs
    differ."""
    varying = _Varying(function, rank_bits(programs))
    every = prod(programs) - 1
    found = {op: every & ~varying.around(op) for op in function.walk() if isinstance(op, nv_tileas.Dot)}
    return {op: bits for op, bits in found.items() if bits}


def shared_by(function: nv_tileaa.Func, programs: tuple[int, int]) -> dict[nv_tileas.TiledLoad, int]:
    """The loads that CTAs of a cluster may share, with the bits in which the ranks of these CTAs differ."""
    varying = _Varying(function, rank_bits(programs))
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


class _Varying:
    """The bits of the rank on which each value may depend: uniformity analysis over the CTAs of a cluster."""

    def __init__(self, function: nv_tileaa.Func, axes: tuple[int, int]) -> None:
        self.axes = axes
        self.every = axes[0] | axes[1]
        self.bits: dict[Value, int] = {}
        self.changed = True
        while self.changed:
            self.changed = False
            for op in function.walk():
                self.visit(op)

    def of(self, value: Value) -> int:
        return self.bits.get(value, 0)

    def of_all(self, values: Any) -> int:
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
            self.add(op.res, self.axes[op.axis.value] if op.axis.value < 2 else 0)
            return
        if not op.regions:
            bits = self.of_all(op.operands) if is_pure(op) else self.every
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

    def add(self, value: Value, bits: int) -> None:
        if bits & ~self.of(value):
            self.bits[value] = self.of(value) | bits
            self.changed = True


def own_place(
    builder: Builder, at: tuple[Value, Value], programs: tuple[int, int], extents: tuple[Value, Value]
) -> tuple[Value, Value, Value]:
    """(x, y) of the program of a CTA, for the place of its cluster among clusters; and whether there is such a program.
    If not, x and y are those of the last one."""
    n = Numbers(builder)
    rank = builder.insert(nv_tileas.CtaRank()).res
    found: list[Value] = []
    exists: Value | None = None
    shift = 0
    for place, count, extent in zip(at, programs, extents, strict=True):
        if count == 1:
            found.append(place)
            continue
        own = n.both(n.shr(rank, shift) if shift else rank, n.constant(count - 1))
        shift += count.bit_length() - 1
        program = n.add(n.mul(place, n.constant(count)), own)
        inside = n.less(program, extent)
        exists = inside if exists is None else n.both(exists, inside)
        found.append(n.min(program, n.sub(extent, n.constant(1))))
    assert exists is not None
    return found[0], found[1], exists


def store_only_if(loop: Operation, exists: Value) -> None:
    """Put a branch around each store of a loop."""
    for op in list(loop.walk()):
        if isinstance(op, nv_tileas.TiledStore | nv_tileaa.Store):
            guard(op, exists)


def guard(op: Any, condition: Value) -> None:
    """Store only if a condition holds."""
    before = Builder.before(op)
    token = op.results[0]
    regions = [Region([Block()]), Region([Block()])]
    branch = scf.If.create([condition], [token.type], {}, regions, location=op.location)
    before.insert(branch)
    token.replace_all_uses_with(branch.results[0])
    op.detach()
    inside = Builder.at_end(branch.regions[0].entry, op.location)
    inside.insert(op)
    inside.insert(scf.Yield([token]))
    Builder.at_end(branch.regions[1].entry, op.location).insert(scf.Yield([op.token]))
