"""What an operation may do besides computing its results, read off its traits."""

from __future__ import annotations

from tessera_tools.ir.core import Operation
from tessera_tools.ir.traits import Leaves, MemoryEffects, Pure, RecursiveMemoryEffects, Symbol, Terminator


def memory_effects(op: Operation) -> frozenset[str] | None:
    """The kinds of effects ("read", "write", "allocate", "free") of the operation and what is in its regions.

    None if they are not known, as for every op that declares nothing.
    """
    total: frozenset[str] = frozenset()
    work = [op]
    while work:
        current = work.pop()
        known = False
        for trait in current.traits:
            if isinstance(trait, Pure):
                known = True
            elif isinstance(trait, MemoryEffects):
                known = True
                total |= trait.kinds
            elif isinstance(trait, RecursiveMemoryEffects):
                known = True
                work += [inner for region in current.regions for block in region.blocks for inner in block]
            elif isinstance(trait, Leaves) and current is not op and _leaves(current, trait, op):
                return None
        if not known and not (current is not op and current.has_trait(Terminator)):
            return None
    return total


def ends(terminator: Operation, op: Operation) -> bool:
    """Whether a terminator inside `op` ends `op` too, as a `break` in a branch ends the branch."""
    return any(isinstance(trait, Leaves) and _leaves(terminator, trait, op) for trait in terminator.traits)


def _leaves(terminator: Operation, trait: Leaves, op: Operation) -> bool:
    """Whether the terminator, somewhere inside `op`, ends `op` too."""
    parent = terminator.parent_op
    while parent is not None and parent.name in trait.names:
        if parent is op:
            return True
        parent = parent.parent_op
    return False


def is_pure(op: Operation) -> bool:
    """Whether the operation has no effect at all, so that it may be moved and merged."""
    return memory_effects(op) == frozenset()


def would_be_trivially_dead(op: Operation) -> bool:
    """Whether the operation could go if no result were used: it only reads, and is no terminator or symbol."""
    if op.has_trait(Terminator) or (op.has_trait(Symbol) and "sym_name" in op.attributes):
        return False
    effects = memory_effects(op)
    return effects is not None and effects <= {"read", "allocate"}


def is_trivially_dead(op: Operation) -> bool:
    """Whether the operation can be erased: no result is used and nothing else would be missed."""
    return not any(r.has_uses for r in op.results) and would_be_trivially_dead(op)
