"""Side effects of operations, declared once, on the class of the op.

    class TiledLoad(Op, …, traits=(MemoryEffects(read("view")),))
    class AsyncTiledCopy(Op, …, traits=(MemoryEffects(read("view"), write("buffer", by=Completion.GROUP)),))
    class AsyncWaitGroup(Op, …, traits=(MemoryEffects(wait(Completion.GROUP)),))

An effect has a kind, a resource, and a completion.  CSE, dead code elimination, code motion, memory order, liveness
and barrier insertion use this declaration only.  An op whose effects depend on its attributes, such as a volatile
load, overrides `Operation.effects`.  An op that is speculatable only for some operands, such as a division, overrides
`Operation.is_speculatable`.

The effects of an op without a declaration are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from tessera_tools.ir.effect_words import Completion, Kind, Reach, Resource
from tessera_tools.ir.traits import Leaves, Symbol, Terminator, Trait
from tessera_tools.records import dataclass, replace

if TYPE_CHECKING:
    from tessera_tools.ir.core import Operation, Value


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect."""

    kind: Kind
    on: str | None = None
    """The field of the op that is accessed; None: every operand that refers to memory."""
    resource: Resource | None = None
    """None: the resource of the operand's type."""
    completion: Completion = Completion.AT_ONCE
    reach: Reach = Reach.TOGETHER
    pending: int = 0
    """For a wait: how many of the latest groups may still be incomplete."""
    through: str | None = None
    """For completion by an mbarrier: the field that holds the mbarrier."""
    phase: str = ""
    """For an arrival or wait at a pipeline, which has several barriers: which of them."""

    def __str__(self) -> str:
        words = [self.kind.value]
        if self.resource is not None:
            words.append(self.resource.value)
        if self.on is not None:
            words.append(f"`{self.on}`")
        if self.completion is not Completion.AT_ONCE:
            words.append(f"by {self.completion.value}")
        if self.reach is not Reach.TOGETHER:
            words.append(f"({self.reach.value})")
        return " ".join(words)


def read(
    on: str | None = None,
    resource: Resource | None = None,
    by: Completion = Completion.AT_ONCE,
    reach: Reach = Reach.TOGETHER,
    through: str | None = None,
) -> Effect:
    """Reads what a field refers to; complete as `by` defines, at the mbarrier given by `through`."""
    return Effect(Kind.READ, on, resource, by, reach, through=through)


def write(
    on: str | None = None,
    resource: Resource | None = None,
    by: Completion = Completion.AT_ONCE,
    reach: Reach = Reach.TOGETHER,
    through: str | None = None,
    phase: str = "",
) -> Effect:
    """Writes what a field refers to; complete as `by` defines, at the mbarrier given by `through` and `phase`."""
    return Effect(Kind.WRITE, on, resource, by, reach, through=through, phase=phase)


def allocate(resource: Resource | None = None) -> Effect:
    """Allocates what the results refer to."""
    return Effect(Kind.ALLOCATE, None, resource)


def free(on: str | None = None, resource: Resource | None = None) -> Effect:
    """Frees what a field refers to."""
    return Effect(Kind.FREE, on, resource)


def arrive(by: Completion = Completion.AT_ONCE, on: str | None = None, phase: str = "") -> Effect:
    """Arrives at a barrier, or commits a group: releases the thread's earlier effects to the waiting threads.

    With completion by group at an mbarrier, `on`: the arrival happens when all earlier copies are complete.
    """
    return Effect(Kind.ARRIVE, on, Resource.BARRIER if on is not None else _resource(by), by, phase=phase)


def wait(
    by: Completion = Completion.AT_ONCE, on: str | None = None, pending: int = 0, phase: str = ""
) -> Effect:
    """Waits for a barrier, or for all groups except the latest `pending`: acquires what others released."""
    return Effect(Kind.WAIT, on, _resource(by), by, pending=pending, phase=phase)


def _resource(by: Completion) -> Resource:
    return Resource.BARRIER if by in (Completion.AT_ONCE, Completion.MBARRIER) else Resource.ORDER


class MemoryEffects(Trait):
    """All effects of the op.

    recursive:     the effects of the ops in its regions are added
    speculatable:  the op may be executed speculatively (with regions: if all nested ops may)
    """

    def __init__(self, *own: Effect, recursive: bool = False, speculatable: bool = False) -> None:
        self.own = own
        self.recursive = recursive
        self.speculatable = speculatable
        self.kinds = frozenset(effect.kind for effect in own)

    def and_also(self, *effects: Effect) -> MemoryEffects:
        """The same with more effects; the op is then not speculatable."""
        return MemoryEffects(*self.own, *effects, recursive=self.recursive)

    def __str__(self) -> str:
        words = [str(effect) for effect in self.own] + ["those of its regions"] * self.recursive
        return f"MemoryEffects({', '.join(words)})"


class Pure(MemoryEffects):
    """No side effects and no undefined behavior: the op may be moved, merged, or erased if unused."""

    def __init__(self) -> None:
        super().__init__(speculatable=True)


PURE = Pure()
NO_EFFECT = MemoryEffects()
"""No effect, but undefined behavior for some operands."""
RECURSIVE_MEMORY_EFFECTS = MemoryEffects(recursive=True, speculatable=True)
READ = MemoryEffects(read())
WRITE = MemoryEffects(write())
READ_WRITE = MemoryEffects(read(), write())
ALLOCATE = MemoryEffects(allocate())
UNKNOWN = MemoryEffects(read(), write(), write(resource=Resource.ORDER))
"""The effects of an op without a declaration."""
IN_ORDER = MemoryEffects(write(resource=Resource.ORDER))
"""Accesses no memory, but must not be moved: all threads must reach it, or its effect is observable."""
SYNCHRONIZES = MemoryEffects(arrive(), wait())
"""A barrier of all threads."""

Kinds = frozenset[Kind] | None
"""Kinds of effects; None if unknown."""
_NONE: frozenset[Kind] = frozenset()
UNNEEDED = frozenset((Kind.READ, Kind.ALLOCATE))
"""Effects that allow an op without uses to be erased."""

_declared: dict[type[Operation], MemoryEffects | None] = {}


def declared(kind: type[Operation]) -> MemoryEffects | None:
    """The effects that the traits of a class declare; None if there is no declaration."""
    if kind in _declared:
        return _declared[kind]
    found = [trait for trait in kind.traits if isinstance(trait, MemoryEffects)]
    together = found[0] if found else None
    if len(found) > 1:
        together = MemoryEffects(
            *dict.fromkeys(effect for trait in found for effect in trait.own),
            recursive=any(trait.recursive for trait in found),
            speculatable=all(trait.speculatable for trait in found),
        )
    _declared[kind] = together
    return together


def accesses(op: Operation, effects: MemoryEffects | None = None) -> Iterator[tuple[Effect, Value | None]]:
    """Each effect of an op with the value that it acts on (None if there is none) and its resource.
    An op without a declaration reads and writes every operand that refers to memory."""
    effects = effects or op.effects() or UNKNOWN
    for effect in effects.own:
        if effect.resource in (Resource.ORDER, Resource.BARRIER) and effect.on is None:
            yield effect, None
            continue
        for value in _named(op, effect):
            resource = effect.resource or value.type.resource
            if resource is not None:
                yield (effect if effect.resource is resource else _on_resource(effect, resource)), value


@lru_cache(maxsize=1024)
def _on_resource(effect: Effect, resource: Resource) -> Effect:
    """The effect with its resource. Few differ, and passes ask for those of every op again and again."""
    return replace(effect, resource=resource)


def _named(op: Operation, effect: Effect) -> Iterable[Value]:
    """The values that an effect acts on."""
    if effect.on is not None:
        value = getattr(op, effect.on)
        return () if value is None else value if isinstance(value, Sequence) else (value,)
    values = op.results if effect.kind is Kind.ALLOCATE else op.operands
    return [v for v in values if effect.resource in (None, v.type.resource)]


class EffectsOf:
    """Computes the effects of operations, including nested ones.  Results are cached until `forget`."""

    def __init__(self) -> None:
        # For ops with regions: the effects, and the nested terminators that also end the op.
        self._known: dict[Operation, tuple[Kinds, list[Operation]]] = {}

    def __call__(self, op: Operation) -> Kinds:
        """The kinds of effects; None if unknown, or if a nested terminator also ends `op`."""
        if not op.regions:
            return _own_kinds(op)
        stack = [op]
        while stack:
            current = stack[-1]
            own = current.effects()
            inside: list[Operation] = []
            if own is not None and own.recursive:
                inside = [inner for region in current.regions for block in region.blocks for inner in block]
            missing = [inner for inner in inside if inner.regions and inner not in self._known]
            if missing and current not in self._known:
                stack += missing
                continue
            stack.pop()
            if current not in self._known:
                self._known[current] = self._together(current, _own_kinds(current), inside)
        effects, leaving = self._known[op]
        return None if leaving else effects

    def _together(
        self, op: Operation, total: Kinds, inside: list[Operation]
    ) -> tuple[Kinds, list[Operation]]:
        leaving: list[Operation] = []
        for inner in inside:
            if inner.regions:
                effects, ends_too = self._known[inner]
                leaving += [terminator for terminator in ends_too if ends(terminator, op)]
            else:
                effects = _own_kinds(inner)
                if inner.next_op is None and inner.has_trait(Terminator):
                    effects = effects or _NONE
                    if ends(inner, op):
                        leaving.append(inner)
            total = total | effects if total is not None and effects is not None else None
        return total, leaving

    def forget(self, op: Operation) -> None:
        """Notification: the op is about to be erased."""
        self._known.pop(op, None)


def _own_kinds(op: Operation) -> Kinds:
    effects = op.effects()
    return None if effects is None else effects.kinds


def memory_effects(op: Operation) -> Kinds:
    """The kinds of effects of the operation and its nested ops; None if unknown, or if a nested terminator also ends
    the op."""
    return EffectsOf()(op)


def ends(terminator: Operation, op: Operation) -> bool:
    """True if a terminator nested in `op` also ends `op`, as a `break` in a branch ends the branch."""
    return any(isinstance(trait, Leaves) and _leaves(terminator, trait, op) for trait in terminator.traits)


def is_left_early(op: Operation) -> bool:
    """True if a nested terminator also ends the op."""
    work = [op]
    while work:
        for region in work.pop().regions:
            for block in region.blocks:
                if block.last_op is not None and ends(block.last_op, op):
                    return True
                work += [inner for inner in block if inner.regions]
    return False


def _leaves(terminator: Operation, trait: Leaves, op: Operation) -> bool:
    """True if the terminator, nested in `op`, also ends `op`."""
    parent = terminator.parent_op
    while parent is not None and parent.name in trait.names:
        if parent is op:
            return True
        parent = parent.parent_op
    return False


def is_pure(op: Operation) -> bool:
    """True if the operation has no effect, so that it may be moved and merged."""
    return memory_effects(op) == frozenset()


def is_needed(op: Operation, kinds: Kinds) -> bool:
    """True if an op with these kinds of effects is needed even if its results are unused: it does more than read and
    allocate memory, or it is a terminator or a symbol."""
    if kinds is None or not kinds <= UNNEEDED:
        return True
    return op.has_trait(Terminator) or (op.has_trait(Symbol) and "sym_name" in op.attributes)


def is_trivially_dead(op: Operation) -> bool:
    """True if the operation can be erased: its results are unused, and it has no other observable effect."""
    return not any(r.has_uses for r in op.results) and not is_needed(op, memory_effects(op))
