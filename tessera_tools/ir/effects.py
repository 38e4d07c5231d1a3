"""What an operation may do besides computing its results, read off its traits."""

from __future__ import annotations

from tessera_tools.ir.core import Operation, UnregisteredOp
from tessera_tools.ir.traits import Leaves, MemoryEffects, Pure, RecursiveMemoryEffects, Symbol, Terminator

Effects = frozenset[str] | None
"""Kinds of effects ("read", "write", "allocate", "free"); None if they are not known, as where nothing is declared."""

_NONE: frozenset[str] = frozenset()
_OWN: dict[type[Operation], tuple[Effects, bool]] = {}
_CONDITIONAL: dict[type[Operation], tuple[MemoryEffects, ...]] = {}
"""Of the classes in `_OWN`: the effects that only some of their operations have."""


def own_effects(op: Operation) -> tuple[Effects, bool]:
    """(effects, recursive): what the op itself does to memory; `recursive` adds what the ops in its regions do."""
    known = _OWN.get(type(op))
    if known is None:
        effects: Effects = None
        recursive = False
        for trait in type(op).traits:
            if isinstance(trait, Pure):
                effects = effects or _NONE
            elif isinstance(trait, MemoryEffects):
                effects = (effects or _NONE) | (trait.kinds if trait.when is None else _NONE)
            elif isinstance(trait, RecursiveMemoryEffects):
                effects, recursive = effects or _NONE, True
        known = (effects, recursive)
        if not isinstance(op, UnregisteredOp):
            _OWN[type(op)] = known
            found = tuple(t for t in type(op).traits if isinstance(t, MemoryEffects) and t.when is not None)
            if found:
                _CONDITIONAL[type(op)] = found
    for conditional in _CONDITIONAL.get(type(op), ()):
        if conditional.when is not None and conditional.when(op):
            known = ((known[0] or _NONE) | conditional.kinds, known[1])
    return known


class EffectsOf:
    """The effects of operations with those in their regions.  Each is looked into once, until it is forgotten."""

    def __init__(self) -> None:
        # For ops with regions: the effects, and the terminators inside that end the op too.
        self._known: dict[Operation, tuple[Effects, list[Operation]]] = {}

    def __call__(self, op: Operation) -> Effects:
        """The kinds of effects; None if they are not known, or if a terminator inside ends `op` too."""
        if not op.regions:
            return own_effects(op)[0]
        stack = [op]
        while stack:
            current = stack[-1]
            own, recursive = own_effects(current)
            inside: list[Operation] = []
            if own is not None and recursive:
                inside = [inner for region in current.regions for block in region.blocks for inner in block]
            missing = [inner for inner in inside if inner.regions and inner not in self._known]
            if missing and current not in self._known:
                stack += missing
                continue
            stack.pop()
            if current not in self._known:
                self._known[current] = self._together(current, own, inside)
        effects, leaving = self._known[op]
        return None if leaving else effects

    def _together(
        self, op: Operation, total: Effects, inside: list[Operation]
    ) -> tuple[Effects, list[Operation]]:
        leaving: list[Operation] = []
        for inner in inside:
            if inner.regions:
                effects, ends_too = self._known[inner]
                leaving += [terminator for terminator in ends_too if ends(terminator, op)]
            else:
                effects = own_effects(inner)[0]
                if inner.next_op is None and inner.has_trait(Terminator):
                    effects = effects or _NONE
                    if ends(inner, op):
                        leaving.append(inner)
            total = total | effects if total is not None and effects is not None else None
        return total, leaving

    def forget(self, op: Operation) -> None:
        """The op is about to go."""
        self._known.pop(op, None)


def memory_effects(op: Operation) -> Effects:
    """The kinds of effects of the operation and what is in its regions; None if they are not known, or if a terminator
    inside ends the op too."""
    return EffectsOf()(op)


def ends(terminator: Operation, op: Operation) -> bool:
    """Whether a terminator inside `op` ends `op` too, as a `break` in a branch ends the branch."""
    return any(isinstance(trait, Leaves) and _leaves(terminator, trait, op) for trait in terminator.traits)


def is_left_early(op: Operation) -> bool:
    """Whether a terminator inside of the op ends the op, too."""
    work = [op]
    while work:
        for region in work.pop().regions:
            for block in region.blocks:
                if block.last_op is not None and ends(block.last_op, op):
                    return True
                work += [inner for inner in block if inner.regions]
    return False


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
