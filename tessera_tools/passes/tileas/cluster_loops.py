"""Loops of different lengths in the CTAs of a cluster that multiply together: all of them run the longest one.

    %n = f(%x); for %j = 0 to %n { …; yield %new }
      ──▶  %m = max(f(first %x of the cluster), f(its next one), …)
           for %j = 0 to %m { …; yield select(%j < %n, %new, %old) }

An iteration behind the end of a program's own loop changes nothing: each carried value keeps what it was, and nothing
is stored.  What the program promises holds there, too: a load that is declared to be in bounds is one that another
program of the cluster makes, and no other op is undefined.  With a causal mask, two neighboring blocks of queries end
at different blocks of keys; both CTAs of a pair then multiply equally often.
"""

from __future__ import annotations

from math import prod

from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.ir.builtin_attributes import i32
from tessera_tools.ir.core import BlockArgument, Builder, IRMapping, Operation, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import I32, FloatType, IntegerType, RankedTensorType

_MOST_OPS = 32
"""Ops of a bound that are computed for each program of a cluster."""


def even_out(function: nv_tileaa.Func, programs: tuple[int, int]) -> list[scf.For]:
    """Let the two CTAs of a cluster run loops with products equally often; returns the loops that have changed."""
    loops = [op for op in function.walk() if isinstance(op, scf.For)]
    axes = [axis for axis, count in enumerate(programs) if count > 1]
    if prod(programs) != 2 or len(axes) != 1:
        return []
    changed: list[scf.For] = []
    for loop in loops:
        found = _bound(loop, axes[0])
        if found is not None and _is_supported(loop) and _keeps_promises(loop, axes[0]):
            _lengthen(loop, found, axes[0], programs[axes[0]])
            changed.append(loop)
    return changed


def _bound(loop: scf.For, axis: int) -> list[Operation] | None:
    """The ops that compute the end of a loop, operands first, if it is computed from the place of the program along an
    axis, and from what is the same for all; None otherwise."""
    found: list[Operation] = []
    own = False

    def visit(value: Value) -> bool:
        nonlocal own
        op = value.defining_op
        if op is None:
            block = value.owner_block
            return block is not None and isinstance(block.parent_op, nv_tileaa.Func)
        if op in found:
            return True
        if (
            op.regions
            or not is_pure(op)
            or isinstance(value.type, RankedTensorType)
            or len(found) >= _MOST_OPS
        ):
            return False
        if isinstance(op, nv_tileaa.GetProgramId):
            own = own or op.axis.value == axis
            if op.program is not None:
                return False
        elif not all(visit(operand) for operand in op.operands):
            return False
        found.append(op)
        return True

    return found if visit(loop.upper) and own else None


def _is_supported(loop: scf.For) -> bool:
    """Whether a loop has products whose factors follow from other products, goes on by one, and does nothing but
    compute."""
    if constant_integer(loop.step) != 1 or loop.unsigned_cmp or loop.upper.type is not I32:
        return False
    if not all(isinstance(v.type, RankedTensorType | IntegerType | FloatType) for v in loop.iter_args):
        return False
    products = [op for op in loop.body.entry if isinstance(op, nv_tileas.Dot)]
    inner = [op for op in loop.walk() if isinstance(op, nv_tileas.Dot)]
    if not products or len(products) != len(inner):
        return False
    if any(isinstance(dot.c, BlockArgument) and dot.c.owner_block is loop.body.entry for dot in products):
        # Nothing could keep such sums as they were.
        return False
    return all(is_pure(op) or isinstance(op, nv_tileas.TiledLoad) or op.regions for op in loop.walk())


def _keeps_promises(loop: scf.For, axis: int) -> bool:
    """Whether an iteration of another program of the cluster is defined in this one: it ends, no op in it is undefined
    for some operands, and what is declared to be in bounds is the same for the programs along an axis."""
    for op in loop.walk():
        if isinstance(op, nv_tileas.TiledLoad):
            if not _is_checked(op) and not _is_alike([op.view, *op.indices], loop, axis):
                return False
        elif isinstance(op, nv_tileaa.Assume) and (op.lower is not None or op.upper is not None):
            if not _is_alike([op.source], loop, axis):
                return False
        elif isinstance(op, LoopLike):
            if not isinstance(op, scf.For):
                return False
        elif not (op.regions or isinstance(op, Terminator) or op.is_speculatable()):
            return False
    return True


def _is_checked(load: nv_tileas.TiledLoad) -> bool:
    """Whether no index of a load is in bounds by promise."""
    view = load.view.defining_op
    return isinstance(view, nv_tileaa.MakeMemRef) and not any(view.promised())


def _is_alike(values: list[Value], loop: scf.For, axis: int) -> bool:
    """Whether numbers follow from the counter of a loop, and from what is the same for all programs along an axis."""
    left, seen = list(values), set[Value]()
    while left:
        value = left.pop()
        if value in seen or value is loop.induction[0]:
            continue
        seen.add(value)
        op, block = value.defining_op, value.owner_block
        if op is None:
            if block is None or not isinstance(block.parent_op, nv_tileaa.Func):
                return False
        elif op.regions or not is_pure(op):
            return False
        elif isinstance(op, nv_tileaa.GetProgramId):
            if op.axis.value == axis or op.program is not None:
                return False
        else:
            left += op.operands
    return True


def _lengthen(loop: scf.For, ops: list[Operation], axis: int, count: int) -> None:
    before = Builder.before(loop)
    own = loop.upper

    def number(value: int) -> Value:
        return before.insert(arith.Constant(i32(value), location=loop.location)).results[0]

    place = before.insert(nv_tileaa.GetProgramId(i32(axis), res=I32)).res
    begin = before.insert(arith.AndI(place, number(-count), location=loop.location)).results[0]
    programs = before.insert(nv_tileaa.GetNumPrograms(i32(axis), res=I32)).res
    last = before.insert(arith.SubI(programs, number(1), location=loop.location)).results[0]
    longest: Value | None = None
    for other in range(count):
        at = begin
        if other:
            at = before.insert(arith.AddI(begin, number(other), location=loop.location)).results[0]
            at = before.insert(arith.MinSI(at, last, location=loop.location)).results[0]
        mapping = IRMapping()
        for op in ops:
            if isinstance(op, nv_tileaa.GetProgramId) and op.axis.value == axis:
                mapping.values[op.res] = at
            else:
                before.insert(op.clone(mapping))
        bound = mapping.value(own)
        if longest is None:
            longest = bound
        else:
            longest = before.insert(arith.MaxSI(longest, bound, location=loop.location)).results[0]
    assert longest is not None
    loop.set_operand(1, longest)
    end = loop.body.entry.last_op
    assert end is not None
    inside = Builder.before(end)
    runs = inside.insert(arith.CmpI.of("slt", loop.induction[0], own)).results[0]
    kept = [
        inside.insert(arith.Select(runs, new, old, location=loop.location)).results[0]
        for new, old in zip(end.operands, loop.iter_args, strict=True)
    ]
    end.set_operands(kept)
