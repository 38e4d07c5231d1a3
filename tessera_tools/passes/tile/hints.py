"""Lowering of the hints of tile-performance-annotation: cache operators, and prefetches for the next iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tessera_tools.dialects import arith, scf
from tessera_tools.ir.builtin_attributes import TRUE, StringAttr
from tessera_tools.ir.core import Block, Builder, IRMapping, Operation, Region, Value
from tessera_tools.passes.tile.lowering import Lowering

CACHE, PREFETCH, WRITE = "tessera.cache_hint", "tessera.prefetch", "tessera.write_policy"
"""Attributes: the cache level of a load; prefetch for the next iteration; the write policy of a store."""
_LOADS = {
    "cache_all": "ca", "cache_global": "cg", "streaming": "cs", "evict_last": "L1::evict_last", "L1": "ca", "L2": "cg",
}  # fmt: skip
_STORES = {
    "write_back": "wb", "write_through": "wt", "cache_global": "cg", "streaming": "cs", "evict_last": "L1::evict_last",
}  # fmt: skip
"""The PTX operators for the values of `cache_policy`, `tessera.cache_hint` and `tessera.write_policy`."""


def load_operator(op: Operation) -> StringAttr | None:
    """The cache operator of a load; None for the default."""
    return _operator(op, CACHE, _LOADS, "load")


def store_operator(op: Operation) -> StringAttr | None:
    """The cache operator of a store; None for the default."""
    return _operator(op, WRITE, _STORES, "store")


def _operator(op: Any, hint: str, words: dict[str, str], what: str) -> StringAttr | None:
    word = op.cache_policy if op.cache_policy is not None else op.attributes.get(hint)
    if word is None:
        return None
    found = words.get(word.value) if isinstance(word, StringAttr) else None
    if found is None:
        raise op.error(f"has the cache policy {word}; expected one of {', '.join(words)} for a {what}")
    return StringAttr(found) if found not in ("ca", "wb") else None


def prefetch(
    low: Lowering, op: Operation, values: Sequence[Value], make: Callable[[list[Value]], Any]
) -> None:
    """Prefetch for an op, if requested: `make(values)` with the values of the next iteration, if there is one.

    The op must be in the body of an scf.for; its operands must be computed from the induction variable by pure ops,
    which are repeated for the next value.
    """
    if op.attributes.get(PREFETCH) is not TRUE:
        return
    loop = low.builder.point.block.parent_op
    if not isinstance(loop, scf.For):
        raise op.error(f"has {PREFETCH}, but is not in the body of a loop")
    counter = loop.induction[0]
    following = low.insert(arith.AddI(counter, loop.step)).result
    more = low.insert(arith.CmpI.of(loop.less_than, following, loop.upper)).result
    block = Block()
    saved, low.builder = low.builder, Builder.at_end(block, op.location)
    mapping: dict[Value, Value] = {counter: following}
    made = [_at(low, op, value, counter.block, mapping) for value in values]
    low.insert(make(made))
    low.insert(scf.Yield([]))
    low.builder = saved
    low.insert(scf.If(more, results=[], then=Region([block]), otherwise=Region(), location=op.location))


def _at(low: Lowering, op: Operation, value: Value, body: Block, mapping: dict[Value, Value]) -> Value:
    """A value of the loop's body in the next iteration."""
    if value in mapping:
        return mapping[value]
    maker = value.defining_op
    if maker is None and value.owner_block is body:
        raise op.error(f"has {PREFETCH}, but its address depends on a loop-carried value")
    if maker is None or maker.parent is not body:
        return value
    operands = [_at(low, op, v, body, mapping) for v in maker.operands]
    if all(new is old for new, old in zip(operands, maker.operands, strict=True)):
        mapping[value] = value
        return value
    if maker.regions or not maker.name.startswith(("arith.", "nv_tileaa.")):
        raise op.error(
            f"has {PREFETCH}, but its address depends on {maker.name}; expected arithmetic on the induction variable"
        )
    copy = low.insert(maker.clone(IRMapping(dict(zip(maker.operands, operands, strict=True)))))
    mapping.update(zip(maker.results, copy.results, strict=True))
    return mapping[value]
