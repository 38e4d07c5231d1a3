"""The order that tokens ask for, as barriers: one tile's accesses are made by many threads.

store %t, view, %tok ──▶ %tok2; load view, %tok2      a thread may load what another one stored: a barrier between

Loads need no order among themselves.  A barrier stands as far out as the token allows: before the loop that holds the
access, where the token comes from before that loop.
"""

from __future__ import annotations

from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.ir.core import BlockArgument, Builder, Operation, OpResult, Value


def order_memory(function: Operation) -> int:
    """Insert the barriers of a function; how many."""
    accesses = [op for op in function.walk() if isinstance(op, nv_tileas.TiledLoad | nv_tileas.TiledStore)]
    if not any(isinstance(op, nv_tileas.TiledStore) for op in accesses):
        return 0
    ordered: set[Operation] = set()
    for op in accesses:
        before = _accesses_before(op.token)
        if nv_tileas.TiledStore in before or (before and isinstance(op, nv_tileas.TiledStore)):
            place = _outermost(op)
            if place not in ordered:
                ordered.add(place)
                Builder.before(place).insert(nv_tileas.Barrier(location=op.location))
    return len(ordered)


def _accesses_before(token: Value) -> set[type[Operation]]:
    """The kinds of access that come right before a token; whatever they waited for has a barrier before them."""
    found: set[type[Operation]] = set()
    seen = {token}
    work = [token]
    while work:
        value = work.pop()
        op = value.defining_op
        if isinstance(op, nv_tileas.TiledStore | nv_tileas.TiledLoad):
            found.add(type(op))
        else:
            for source in _sources(value):
                if source not in seen:
                    seen.add(source)
                    work.append(source)
    return found


def _sources(token: Value) -> list[Value]:
    """The tokens that a token which no access makes may be."""
    if isinstance(token, BlockArgument):
        holder, at = token.owner_block.parent_op, token.index - 1
    else:
        assert isinstance(token, OpResult)
        holder, at = token.op, token.index
    if holder is None or isinstance(holder, nv_tileaa.CreateMemToken):
        return []
    if isinstance(holder, scf.For):
        return [holder.inits[at], holder.yielded[at]]
    ends = [block.last_op for region in holder.regions for block in region.blocks]
    if isinstance(holder, scf.If):
        return [end.operands[at] for end in ends if end is not None]
    values = [*holder.operands, *(value for end in ends if end is not None for value in end.operands)]
    return [value for value in values if value.type is token.type]


def _outermost(op: nv_tileas.TiledLoad | nv_tileas.TiledStore) -> Operation:
    """The op, or what holds it, in the block where its token comes from."""
    block = op.token.owner_block
    place: Operation = op
    while place.parent is not block and place.parent_op is not None:
        place = place.parent_op
    return place
