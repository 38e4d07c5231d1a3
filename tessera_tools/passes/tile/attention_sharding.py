"""The sharding of attention along a mesh.

batch, heads, queries, depth of V     each rank has its part of Q (and of K and V) and of the result
keys                                  every rank attends to its own keys; the partial results are combined:

    %o, %m, %l = tile.flash_attention %Q, %K, %V      the weighted sum of values, maxima, sums of weights
    %M = tile.allreduce %m, max                       the maximum of a row over all ranks
    %o1, %l1 = tile.attention_rescale %o, %l, %m, %M  both times exp(m - M)
    %o2, %l2: their sums, by allreduce, or by reduce_scatter if the result is needed sharded
    %O = tile.attention_divide %o2, %l2

A causal mask compares positions; if queries or keys are sharded, each rank has its part of the positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tessera_tools.analysis.sharding import Sharding, Step
from tessera_tools.dialects import tile
from tessera_tools.dialects.func import Return
from tessera_tools.ir.builtin_attributes import StringAttr
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.ir.types import F32, I32, MemRefType
from tessera_tools.passes.tile.sharding_rules import cut_by, rule_of

if TYPE_CHECKING:
    from tessera_tools.passes.tile.collective_insertion import Partition

_KEYS, _QUERIES = "s", "q"
_MAX = StringAttr("max")


def attention(partition: Partition, op: tile.FlashAttention) -> None:
    """Shard an attention op like most bytes of its operands, and combine the partial results of the ranks."""
    rule = rule_of(op)
    assert rule is not None
    chosen = partition.choose(op, rule)
    if op.causal is not None and not op.positions and {_KEYS, _QUERIES} & set(chosen):
        op = _with_positions(partition, op)
        rule = rule_of(op)
        assert rule is not None
    for number, names in enumerate(rule.operands):
        partition.need(op, number, cut_by(names, chosen))
    states = [cut_by(names, chosen) for names in rule.results]
    axis = chosen.get(_KEYS)
    if axis is None:
        for value, state in zip(op.results, states, strict=True):
            partition.give(op, value, state, "a result")
        return
    _combine(partition, op, states[0], axis)


def _with_positions(partition: Partition, op: tile.FlashAttention) -> tile.FlashAttention:
    """Add the positions of queries and keys as operands."""
    before = Builder.before(op)
    before.location = op.location
    counts = [partition.shape(operand)[-2] for operand in (op.q, op.k)]
    numbers: dict[int, Value] = {}
    for count in counts:
        if count not in numbers:
            made = before.insert(tile.Iota(res=MemRefType((count,), I32)))
            partition.give(made, made.res, Sharding.whole(1), "a result")
            numbers[count] = made.res
    places = [numbers[count] for count in counts]
    types = [value.type for value in op.results]
    new = before.insert(
        tile.FlashAttention(op.q, op.k, op.v, places, op.scale, op.causal, res=types[0], statistics=types[1:])
    )
    _replace(op, new.results)
    return new


def _combine(partition: Partition, op: tile.FlashAttention, state: Sharding, axis: str) -> None:
    """Shard the keys along an axis, and combine the partial results."""
    before = Builder.before(op)
    before.location = op.location
    rows = Sharding(state.axes[:-1])
    whole = op.res.type
    sums = MemRefType(whole.shape[:-1], F32)
    part = before.insert(
        tile.FlashAttention(
            op.q, op.k, op.v, list(op.positions), op.scale, op.causal,
            res=MemRefType(whole.shape, F32), statistics=[sums, sums],
        )
    )  # fmt: skip
    out, own, total = part.results
    for value, cut in ((out, state), (own, rows), (total, rows)):
        partition.give(part, value, cut, "a result")
    common = partition.exchange(op, own, Step("all_reduce", axis, rows), _MAX)
    rescaled = before.insert(
        tile.AttentionRescale(out, total, own, common, res=out.type, rescaled=total.type)
    )
    summands = frozenset((axis,))
    for value, cut, shape in zip(rescaled.results, (state, rows), (whole.shape, sums.shape), strict=True):
        partition.states[value] = Sharding(cut.axes, summands)
        partition.shapes[value] = shape
    if op.statistics:
        _replace(op, [rescaled.res, common, rescaled.rescaled])
        return
    divided = before.insert(tile.AttentionDivide(rescaled.res, rescaled.rescaled, res=whole))
    target = _required_sharding(partition, op.res, state, axis)
    partition.need(divided, 0, target)
    partition.need(divided, 1, Sharding(target.axes[:-1]))
    partition.give(divided, divided.res, target, "a result")
    _replace(op, [divided.res])


def _required_sharding(partition: Partition, value: Value, state: Sharding, axis: str) -> Sharding:
    """The sharding required of the result, if it is only returned, and differs only along this axis."""
    uses = list(value.uses)
    wanted = partition.wanted[uses[0].index] if len(uses) == 1 and isinstance(uses[0].owner, Return) else None
    if wanted is None or axis not in wanted.axes:
        return state
    return wanted if wanted.cut(wanted.axes.index(axis), None) == state else state


def _replace(op: Operation, values: Sequence[Value]) -> None:
    for old, new in zip(op.results, values, strict=True):
        new.name_hint = old.name_hint
    op.replace_all_uses_with(values)
    op.erase()
