"""Memory order by tokens.

store %t, view, %tok ──▶ %tok2; load view, %tok2      the load comes after the store, in every thread

A token represents the access that produced it and all earlier ones.  Accesses without a token between them may run in
any order, and loads need no order among each other.  The same holds for accesses to disjoint addresses, and for two
accesses in which each thread accesses the same elements: the instructions of a thread stay in order.
"""

from __future__ import annotations

from collections.abc import KeysView

from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.nv_tileaa import MEM_TOKEN
from tessera_tools.ir.core import Block, BlockArgument, Operation, Value
from tessera_tools.ir.effects import Kind, Resource, accesses
from tessera_tools.ir.flow import sources
from tessera_tools.ir.interfaces import LoopLike

ORDERS_OTHERS = (nv_tileas.ClusterOrder, nv_tileas.OrderArrive)
"""Where threads wait until accesses before a token are complete, for others that come after."""


def is_ordered(op: Operation) -> bool:
    """True if an op is in a chain of tokens."""
    return not op.regions and any(v.type is MEM_TOKEN for v in (*op.operands, *op.results))


def is_access(op: Operation) -> bool:
    """True if an op in a chain of tokens accesses memory, or is ordered like an access.

    An op with unknown effects is treated as an access.  Where CTAs meet, or give a turn, they access nothing.
    """
    effects = op.effects()
    own = effects is None or bool(effects.own)
    return own and is_ordered(op) and not isinstance(op, ORDERS_OTHERS)


def writes_memory(op: Operation) -> bool:
    """True if an op in a chain of tokens, or a nested one, may modify global memory."""
    return any(_writes(inner) for inner in (op, *op.walk()) if is_ordered(inner))


def _writes(op: Operation) -> bool:
    return op.effects() is None or any(
        effect.kind is not Kind.READ and effect.resource is not Resource.SHARED for effect, _ in accesses(op)
    )


class MemoryOrder:
    """The accesses before each access of one function, cached."""

    def __init__(self) -> None:
        self._before: dict[tuple[Operation, bool, Block | None], KeysView[Operation]] = {}
        self._facts = Facts()

    def concerns_others(self, earlier: Operation, later: Operation, again: bool = True) -> bool:
        """True if tokens order two accesses, and different threads may access the same address.

        `again`: the first access may be of an earlier iteration of an enclosing loop.
        """
        return earlier in self.before(later, again) and not _are_independent(earlier, later, self._facts)

    def has_places(self, access: Operation) -> bool:
        """Whether each address is known to have one place in the tiles of an access, in all iterations."""
        return _is_in_grid(access, self._facts)

    def before(self, op: Operation, again: bool = True, within: Block | None = None) -> KeysView[Operation]:
        """The accesses before an op in token order, listed alike in every run.  Includes the op itself if a loop
        carries its token and `again` is set.

        `within`: only those of the same execution of this block.
        """
        key = (op, again, within)
        known = self._before.get(key)
        if known is None:
            known = self._before[key] = self._find_before(*key)
        return known

    def _find_before(self, op: Operation, again: bool, within: Block | None) -> KeysView[Operation]:
        found: dict[Operation, None] = {}
        seen: set[Value] = set()
        work = [v for v in op.operands if v.type is MEM_TOKEN]
        while work:
            value = work.pop()
            if value in seen:
                continue
            seen.add(value)
            if within is not None and not _is_in(value, within):
                continue
            source = value.defining_op
            if source is None or source.regions:
                first = None if again else _at_first(value, op)
                work += _sources(value) if first is None else [first]
                continue
            if is_access(source):
                found[source] = None
            # Accesses before an op of the same block are the same for both: they have the same enclosing loops.
            known = self._before.get((source, again, within)) if source.parent is op.parent else None
            if known is not None:
                found.update(dict.fromkeys(known))
            else:
                work += [v for v in source.operands if v.type is MEM_TOKEN]
        return found.keys()


def _is_in(value: Value, block: Block) -> bool:
    """Whether a value is defined by an op in a block, or in a region of one."""
    around = value.owner_block
    if isinstance(value, BlockArgument) and around is block:
        return False
    while around is not None and around is not block:
        outer = around.parent_op
        around = outer.parent if outer is not None else None
    return around is block


def _at_first(token: Value, op: Operation) -> Value | None:
    """The initial value of a token that an enclosing loop of `op` carries."""
    loop = token.owner_block.parent_op if isinstance(token, BlockArgument) else None
    if not isinstance(loop, LoopLike) or not loop.is_ancestor_of(op):
        return None
    carried = [i for i, argument in enumerate(loop.iter_args) if argument is token]
    return loop.inits[carried[0]] if carried else None


def _sources(token: Value) -> list[Value]:
    """The tokens that may flow into a carried token or the result of a loop or branch."""
    found = sources(token)
    return (
        found
        if found is not None
        else _all_tokens(
            token.owner_block.parent_op if isinstance(token, BlockArgument) else token.defining_op
        )
    )


def _all_tokens(op: Operation | None) -> list[Value]:
    """Every token operand of an op or of its terminators: the possible sources of the op's results without further
    information."""
    if op is None or isinstance(op, nv_tileaa.Func):
        return []
    ends = [block.last_op for inner in op.walk() for region in inner.regions for block in region.blocks]
    values = [*op.operands, *(value for end in ends if end is not None for value in end.operands)]
    return [value for value in values if value.type is MEM_TOKEN]


def _are_independent(a: Operation, b: Operation, facts: Facts) -> bool:
    """True if no address is accessed by one thread in one access and by another thread in the other.

    This holds for accesses of one injective view if the tiles are disjoint, or if they are parts of the same grid with
    the same layout, in which one thread holds each element.
    """
    kinds = (nv_tileas.TiledLoad, nv_tileas.TiledStore)
    if not isinstance(a, kinds) or not isinstance(b, kinds) or a.view is not b.view:
        return False
    if not _is_injective(a.view.defining_op):
        return False
    tile, other = a.moved.type, b.moved.type
    for first, second, mine, its in zip(a.indices, b.indices, tile.shape, other.shape, strict=True):
        if _ends_before(first, mine, second, facts) or _ends_before(second, its, first, facts):
            return True
    if tile is not other or tile.encoding is None:
        return False
    repeated = nv_tileas.layout_of(tile).free_variable_masks()
    if repeated.get("lane") or repeated.get("warp"):
        return False
    return _is_in_grid(a, facts) and _is_in_grid(b, facts)


def _is_in_grid(op: Operation, facts: Facts) -> bool:
    """True if the tiles of an access are those of one grid over an injective view: their indices are multiples of their
    extents."""
    return (
        isinstance(op, nv_tileas.TiledLoad | nv_tileas.TiledStore)
        and _is_injective(op.view.defining_op)
        and all(
            extent == 1 or facts.divisor(index) % extent == 0
            for index, extent in zip(op.indices, op.moved.type.shape, strict=True)
        )
    )


def _ends_before(start: Value, extent: int, other: Value, facts: Facts) -> bool:
    """True if `extent` elements from one index are known to end before another index."""
    last, first = facts.upper(start), facts.lower(other)
    return last is not None and first is not None and last + extent <= first


def _is_injective(view: Operation | None) -> bool:
    """True if the elements of a view are known to have distinct addresses: each stride exceeds the span of the axes
    with smaller strides."""
    if not isinstance(view, nv_tileaa.MakeMemRef):
        return False
    reached = 0
    if any(isinstance(stride, Value) for stride in view.strides()):
        return False
    axes = list(zip(view.static_stride.values, view.extents(), strict=True))
    for place, (stride, extent) in enumerate(sorted(axes, key=lambda axis: abs(axis[0]))):
        if abs(stride) <= reached:
            return False
        if not isinstance(extent, int):
            return place == len(axes) - 1
        reached += abs(stride) * max(0, extent - 1)
    return True
