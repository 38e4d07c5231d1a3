"""Frees heap memory at the end of the block that allocates it.

%p = heap_alloc; if %c { break }; use %p; continue   ─▶   %p = heap_alloc; if %c { heap_free %p; break }; use %p;
                                                          heap_free %p; continue
"""

from __future__ import annotations

from tessera_tools.dialects import nv_tileaa
from tessera_tools.dialects.nv_tileaa.control import enclosing_loop
from tessera_tools.ir.core import Builder, Operation


def free_heap(function: Operation) -> None:
    """Free heap memory at every end of the block that allocates it."""
    for alloc in function.walk():
        if isinstance(alloc, nv_tileaa.HeapAlloc):
            for end in _ends(alloc):
                Builder.before(end).insert(nv_tileaa.HeapFree(alloc.res, location=alloc.location))


def _ends(alloc: Operation) -> list[Operation]:
    """The terminators at which control leaves the block of an op after it."""
    found: list[Operation] = []
    op = alloc.next_op
    while op is not None:
        if op.next_op is None:
            found.append(op)
        found += [inner for inner in op.walk() if _leaves(inner, op)]
        op = op.next_op
    return found


def _leaves(terminator: Operation, op: Operation) -> bool:
    """True if a terminator inside an op leaves the op's block."""
    if isinstance(terminator, nv_tileaa.Return):
        return True
    if isinstance(terminator, nv_tileaa.Break | nv_tileaa.Continue):
        loop = enclosing_loop(terminator)
        return loop is not op and not op.is_ancestor_of(loop)
    return False
