"""Work on tiles that is seldom needed, behind a branch that a whole warp takes or does not.

    exp2 x        ex2.approx.ftz; if the result of any lane may be subnormal: ex2.approx, which scales by itself
    x · factor    if any lane has a factor other than 1: mul

Both paths give the same bits. ptxas makes four instructions of an ex2.approx: it scales arguments below -126 and
squares the result. Agents compute while products run, and the products wait for them if they execute too many
instructions. Other kernels keep the straight code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tessera_tools.dialects import llvm, nv_tileaa, scf
from tessera_tools.dialects.llvm.attributes import FCMP_PREDICATES
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import BlockArgument, Operation, Value
from tessera_tools.ir.types import F32, I1, I32, I64, RankedTensorType
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.instructions import fastmath_of, guarded, in_any_lane, intrinsic, place
from tessera_tools.passes.llvm.lowering import Lowering
from tessera_tools.passes.llvm.tiles import Tile

__all__ = ["RARE_PATHS"]

CHUNK = 32
"""The number of exponentials behind one branch. Their arguments stay in registers until the branch. With 64, attention
of depth 128 spills; with 16, ptxas 13.5 stops using uniform registers in it."""
LARGE = 64
"""The number of registers of a tile above which few others are left, so that a branch is for a quarter as many: with 16
or 32, attention with 128 scores a thread spills."""
LEAST = 16
"""The number of registers of a tile from which on a branch saves more than it costs."""
FACTORS = 8
"""Products for each factor that is compared with 1."""
_POWERS = ("math.exp2", "math.exp", "nv_tileaa.exp2", "nv_tileaa.exp")
_NOT_EQUAL = IntegerAttr(FCMP_PREDICATES.index("une"), I64)
_EXPONENT_BIT = 1 << 29
"""The bit of an f32 that is set in all numbers from 2^-63 to 2: between 2^-126 and 2^-63 the straight code runs too."""


def _exp2_of_tile(low: Lowering, op: Operation) -> bool:
    """Lower an exp2 of many f32 in an agent; False, and nothing done, for others."""
    result: Any = op.results[0]
    if not _is_worth_a_branch(low, op):
        return False
    e = low.e
    arguments = low.tile(op.operands[0]).elements(e)
    made: list[Value] = []
    size = CHUNK if len(arguments) <= LARGE else CHUNK // 4
    for first in range(0, len(arguments), size):
        made += _exp2(e, arguments[first : first + size])
    low.define(result, Tile(result.type, made))
    return True


def _exp2(e: Emitter, arguments: Sequence[Value]) -> list[Value]:
    fast = [intrinsic(e, "llvm.nvvm.ex2.approx.ftz.f32", [x], F32) for x in arguments]
    common = e.constant(_EXPONENT_BIT)
    for value in fast:
        common = e.constant(e.and_(common, e.bitcast(value, I32)))
    small = e.icmp("eq", common, 0)
    return guarded(
        e,
        in_any_lane(e, small),
        fast,
        lambda: [intrinsic(e, "llvm.nvvm.ex2.approx.f32", [x], F32) for x in arguments],
    )


def _product_with_factor(low: Lowering, op: Operation) -> bool:
    """Lower a product of a tile with a few powers, often 1, in an agent: the sums of attention, whose maximum stays."""
    result: Any = op.results[0]
    if not _is_worth_a_branch(low, op):
        return False
    e = low.e
    position = next((i for i, v in enumerate(op.operands) if _is_power(v)), None)
    if position is None:
        return False
    factors = low.tile(op.operands[position]).elements(e)
    values = low.tile(op.operands[1 - position]).elements(e)
    distinct = list(dict.fromkeys(factors))
    if len(distinct) * FACTORS > len(values):
        return False
    one = e.constant(1.0, F32)
    changes = [e.emit(llvm.FCmp(_NOT_EQUAL, factor, one, res=I1)).results[0] for factor in distinct]
    changed = changes[0]
    for other in changes[1:]:
        changed = e.emit(llvm.Or(changed, other)).results[0]
    made = guarded(
        e,
        in_any_lane(e, changed),
        values,
        lambda: [
            place(e, llvm.FMul, pair if position else pair[::-1], F32, fastmath_of(op))
            for pair in zip(values, factors, strict=True)
        ],
    )
    low.define(result, Tile(result.type, made))
    return True


def _is_power(value: Value) -> bool:
    """Whether a tile is the broadcast of exponentials, perhaps of the iteration before."""
    op = value.defining_op
    if not isinstance(op, nv_tileaa.Broadcast):
        return False
    seen: set[Value] = set()
    while value not in seen:
        seen.add(value)
        loop = value.owner_block.parent_op if isinstance(value, BlockArgument) else value.defining_op
        if isinstance(loop, scf.For):
            number = value.index - isinstance(value, BlockArgument)  # type: ignore[attr-defined]
            if number < 0:
                return False
            value = loop.yielded[number]
        elif isinstance(loop, nv_tileaa.Broadcast | nv_tileaa.Reshape):
            value = loop.source
        else:
            return isinstance(loop, Operation) and loop.name in _POWERS
    return False


def _is_worth_a_branch(low: Lowering, op: Operation) -> bool:
    value = op.results[0]
    return (
        low.e.is_agent
        and isinstance(op.parent_op, scf.For)
        and isinstance(value.type, RankedTensorType)
        and value.type.element is F32
        and len(low.types_of(value)) >= LEAST
    )


RARE_PATHS: Mapping[str, Callable[[Lowering, Operation], bool]] = {
    "math.exp2": _exp2_of_tile,
    "arith.mulf": _product_with_factor,
}
"""Op → its lowering, which returns whether it has lowered the op."""
