"""What tokens say: which accesses of memory come before which.

store %t, view, %tok ──▶ %tok2; load view, %tok2      the load comes after the store, in every thread

A token stands for the accesses that made it and for all that came before those.  Accesses that no token orders may run
in any order, and loads need no order among themselves.  Nor need two accesses that are known to be of different places,
or of which each thread reaches by one only places that it reaches by the other: the order of its own instructions is
kept.
"""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.nv_tileaa import MEM_TOKEN
from tessera_tools.ir.core import BlockArgument, Operation, Value
from tessera_tools.ir.effects import Kind, Resource, accesses
from tessera_tools.ir.flow import sources
from tessera_tools.ir.interfaces import LoopLike


def is_ordered(op: Operation) -> bool:
    """True if an op stands in a chain of tokens."""
    return not op.regions and any(v.type is MEM_TOKEN for v in (*op.operands, *op.results))


def is_access(op: Operation) -> bool:
    """True if an op in a chain of tokens accesses memory, or keeps its place among those that do.

    An op that has no summary is taken to.
    """
    effects = op.effects()
    return is_ordered(op) and (effects is None or bool(effects.own))


def writes_memory(op: Operation) -> bool:
    """True if an op in a chain of tokens, or one inside it, does more to global memory than read it."""
    return any(_writes(inner) for inner in (op, *op.walk()) if is_ordered(inner))


def _writes(op: Operation) -> bool:
    return op.effects() is None or any(
        effect.kind is not Kind.READ and effect.resource is not Resource.SHARED for effect, _ in accesses(op)
    )


class MemoryOrder:
    """The accesses before each access of one function, looked up once each."""

    def __init__(self) -> None:
        self._before: dict[tuple[Operation, bool], frozenset[Operation]] = {}
        self._facts = Facts()

    def concerns_others(self, earlier: Operation, later: Operation, again: bool = True) -> bool:
        """True if tokens order two accesses, and they may be of one place by different threads.

        `again`: whether the first may be that of an earlier iteration of a loop around both.
        """
        return earlier in self.before(later, again) and not _are_apart(earlier, later, self._facts)

    def before(self, op: Operation, again: bool = True) -> frozenset[Operation]:
        """The accesses that come before an op by its tokens: itself among them where a loop carries its token, unless
        earlier iterations do not count."""
        known = self._before.get((op, again))
        if known is None:
            known = self._before[op, again] = self._find_before(op, again)
        return known

    def _find_before(self, op: Operation, again: bool) -> frozenset[Operation]:
        found: set[Operation] = set()
        seen: set[Value] = set()
        work = [v for v in op.operands if v.type is MEM_TOKEN]
        while work:
            value = work.pop()
            if value in seen:
                continue
            seen.add(value)
            source = value.defining_op
            if source is None or source.regions:
                first = None if again else _at_first(value, op)
                work += _sources(value) if first is None else [first]
                continue
            if is_access(source):
                found.add(source)
            # What comes before an op of the same block is the same for both: it is in the same loops.
            known = self._before.get((source, again)) if source.parent is op.parent else None
            if known is not None:
                found |= known
            else:
                work += [v for v in source.operands if v.type is MEM_TOKEN]
        return frozenset(found)


def _at_first(token: Value, op: Operation) -> Value | None:
    """What a token is in the first iteration, if a loop around `op` carries it."""
    loop = token.owner_block.parent_op if isinstance(token, BlockArgument) else None
    if not isinstance(loop, LoopLike) or not loop.is_ancestor_of(op):
        return None
    carried = [i for i, argument in enumerate(loop.iter_args) if argument is token]
    return loop.inits[carried[0]] if carried else None


def _sources(token: Value) -> list[Value]:
    """The tokens that a token may be which a loop carries, or which a loop or branch gives."""
    found = sources(token)
    return (
        found
        if found is not None
        else _all_tokens(
            token.owner_block.parent_op if isinstance(token, BlockArgument) else token.defining_op
        )
    )


def _all_tokens(op: Operation | None) -> list[Value]:
    """Every token that goes into an op or ends a part of one: what may come out of an op that says no more."""
    if op is None or isinstance(op, nv_tileaa.Func):
        return []
    ends = [block.last_op for inner in op.walk() for region in inner.regions for block in region.blocks]
    values = [*op.operands, *(value for end in ends if end is not None for value in end.operands)]
    return [value for value in values if value.type is MEM_TOKEN]


def _are_apart(a: Any, b: Any, facts: Facts) -> bool:
    """True if no place in memory is reached by one thread through one access and by another through the other.

    So it is for accesses of one view whose elements have places of their own, if the tiles do not meet, or are parts of
    one grid and have one layout, in which each element has one holder.
    """
    kinds = (nv_tileas.TiledLoad, nv_tileas.TiledStore)
    if not isinstance(a, kinds) or not isinstance(b, kinds) or a.view is not b.view:
        return False
    if not _is_injective(a.view.defining_op):
        return False
    tile, other = (op.res.type if isinstance(op, nv_tileas.TiledLoad) else op.value.type for op in (a, b))
    for first, second, mine, its in zip(a.indices, b.indices, tile.shape, other.shape, strict=True):
        if _ends_before(first, mine, second, facts) or _ends_before(second, its, first, facts):
            return True
    if tile is not other or tile.encoding is None:
        return False
    repeated = nv_tileas.layout_of(tile).free_variable_masks()
    if repeated.get("lane") or repeated.get("warp"):
        return False
    return all(
        extent == 1 or facts.divisor(index) % extent == 0
        for op in (a, b)
        for index, extent in zip(op.indices, tile.shape, strict=True)
    )


def _ends_before(start: Value, extent: int, other: Value, facts: Facts) -> bool:
    """True if `extent` places from one index on lie before another index, as far as both are known."""
    last, first = facts.upper(start), facts.lower(other)
    return last is not None and first is not None and last + extent <= first


def _is_injective(view: Operation | None) -> bool:
    """True if the elements of a view are known to be in different places: each stride is beyond what the axes of
    smaller strides reach."""
    if not isinstance(view, nv_tileaa.MakeMemRef):
        return False
    reached = 0
    axes = list(zip(view.strides(), view.extents(), strict=True))
    if not all(isinstance(stride, int) for stride, _ in axes):
        return False
    for place, (stride, extent) in enumerate(sorted(axes, key=lambda axis: abs(axis[0]))):
        if abs(stride) <= reached:
            return False
        if not isinstance(extent, int):
            return place == len(axes) - 1
        reached += abs(stride) * max(0, extent - 1)
    return True
