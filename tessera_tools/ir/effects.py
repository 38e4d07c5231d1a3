"""What an operation does besides computing its results, declared once, on its class.

    class TiledLoad(Op, …, traits=(MemoryEffects(read("view")),))
    class AsyncTiledCopy(Op, …, traits=(MemoryEffects(read("view"), write("buffer", by=Completion.GROUP)),))
    class AsyncWaitGroup(Op, …, traits=(MemoryEffects(wait(Completion.GROUP)),))

An effect has a kind (what is done), a resource (to what), and a completion (when it is done).  CSE, dead code
elimination, code motion, the order of memory, liveness, and the placing of barriers read the declaration, and nothing
else.  An op whose effects depend on its attributes, as those of a volatile load do, overrides `Operation.effects`; one
that may run early only with some operands, as a division, overrides `Operation.is_speculatable`.

An op without a declaration may do anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from tessera_tools.ir.effect_words import Completion, Kind, Reach, Resource
from tessera_tools.ir.traits import Leaves, Symbol, Terminator, Trait

if TYPE_CHECKING:
    from tessera_tools.ir.core import Operation, Value


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect."""

    kind: Kind
    on: str | None = None
    """The field of the op that names what is accessed; None: every operand that is memory."""
    resource: Resource | None = None
    """None: what the type of the operand says."""
    completion: Completion = Completion.AT_ONCE
    reach: Reach = Reach.TOGETHER
    pending: int = 0
    """Of a wait: how many of the latest groups may be incomplete after it."""
    through: str | None = None
    """Of what completes by an mbarrier: the field that names it."""
    phase: str = ""
    """Of what arrives or waits at a pipeline, which has several barriers: which of them."""

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
) -> Effect:
    """Reads what a field names; it has been read when `by` says."""
    return Effect(Kind.READ, on, resource, by, reach)


def write(
    on: str | None = None,
    resource: Resource | None = None,
    by: Completion = Completion.AT_ONCE,
    reach: Reach = Reach.TOGETHER,
    through: str | None = None,
    phase: str = "",
) -> Effect:
    """Writes what a field names; it is written when `by` says, at the mbarrier that `through` and `phase` name."""
    return Effect(Kind.WRITE, on, resource, by, reach, through=through, phase=phase)


def allocate(resource: Resource | None = None) -> Effect:
    """Makes what the results name."""
    return Effect(Kind.ALLOCATE, None, resource)


def free(on: str | None = None, resource: Resource | None = None) -> Effect:
    """Gives back what a field names."""
    return Effect(Kind.FREE, on, resource)


def arrive(by: Completion = Completion.AT_ONCE, on: str | None = None, phase: str = "") -> Effect:
    """Arrives at a barrier, or commits a group: what the thread did before is released to those that wait.

    By groups at an mbarrier, `on`: the arrival comes when the copies so far are complete.
    """
    return Effect(Kind.ARRIVE, on, Resource.BARRIER if on is not None else _resource(by), by, phase=phase)


def wait(
    by: Completion = Completion.AT_ONCE, on: str | None = None, pending: int = 0, phase: str = ""
) -> Effect:
    """Waits for a barrier, or for all groups but the latest `pending`: what others released is acquired."""
    return Effect(Kind.WAIT, on, _resource(by), by, pending=pending, phase=phase)


def _resource(by: Completion) -> Resource:
    return Resource.BARRIER if by in (Completion.AT_ONCE, Completion.MBARRIER) else Resource.ORDER


class MemoryEffects(Trait):
    """The effects of the op, and no others.

    recursive:     those of the ops in its regions, too
    speculatable:  it may run where the program would not have run it (with regions: if all in them may)
    """

    def __init__(self, *own: Effect, recursive: bool = False, speculatable: bool = False) -> None:
        self.own = own
        self.recursive = recursive
        self.speculatable = speculatable
        self.kinds = frozenset(effect.kind for effect in own)

    def and_also(self, *effects: Effect) -> MemoryEffects:
        """The same with more effects, which keep the op in its place."""
        return MemoryEffects(*self.own, *effects, recursive=self.recursive)

    def __str__(self) -> str:
        words = [str(effect) for effect in self.own] + ["those of its regions"] * self.recursive
        return f"MemoryEffects({', '.join(words)})"


class Pure(MemoryEffects):
    """No side effects and no undefined behavior: the op may be moved, merged, or dropped when unused."""

    def __init__(self) -> None:
        super().__init__(speculatable=True)


PURE = Pure()
NO_EFFECT = MemoryEffects()
"""No effect, but behavior that is undefined for some operands."""
RECURSIVE_MEMORY_EFFECTS = MemoryEffects(recursive=True, speculatable=True)
READ = MemoryEffects(read())
WRITE = MemoryEffects(write())
READ_WRITE = MemoryEffects(read(), write())
ALLOCATE = MemoryEffects(allocate())
UNKNOWN = MemoryEffects(read(), write(), write(resource=Resource.ORDER))
"""What an op without a declaration may do."""
IN_ORDER = MemoryEffects(write(resource=Resource.ORDER))
"""Accesses no memory, but stands where it stands: what must be met by all threads, or is seen from outside."""
SYNCHRONIZES = MemoryEffects(arrive(), wait())
"""A barrier of all threads."""

Kinds = frozenset[Kind] | None
"""Kinds of effects; None if they are not known."""
_NONE: frozenset[Kind] = frozenset()
UNNEEDED = frozenset((Kind.READ, Kind.ALLOCATE))
"""What an op may do and still go, if nothing uses its results."""

_declared: dict[type[Operation], MemoryEffects | None] = {}


def declared(kind: type[Operation]) -> MemoryEffects | None:
    """What the traits of a class declare, together; None if nothing."""
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
    """Each effect of an op with the value that names what it is on, and its resource filled in; None for what no value
    names.  An op that has no summary reads and writes every operand that is memory."""
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
    """The values that an effect is on."""
    if effect.on is not None:
        value = getattr(op, effect.on)
        return () if value is None else value if isinstance(value, Sequence) else (value,)
    values = op.results if effect.kind is Kind.ALLOCATE else op.operands
    return [v for v in values if effect.resource in (None, v.type.resource)]


class EffectsOf:
    """The effects of operations with those in their regions.  Each is looked into once, until it is forgotten."""

    def __init__(self) -> None:
        # For ops with regions: the effects, and the terminators inside that end the op too.
        self._known: dict[Operation, tuple[Kinds, list[Operation]]] = {}

    def __call__(self, op: Operation) -> Kinds:
        """The kinds of effects; None if they are not known, or if a terminator inside ends `op` too."""
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
        """The op is about to go."""
        self._known.pop(op, None)


def _own_kinds(op: Operation) -> Kinds:
    effects = op.effects()
    return None if effects is None else effects.kinds


def memory_effects(op: Operation) -> Kinds:
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


def is_needed(op: Operation, kinds: Kinds) -> bool:
    """Whether an op with effects of such kinds is needed though no result is used: it does more than read and make
    memory, or is a terminator or a symbol."""
    if kinds is None or not kinds <= UNNEEDED:
        return True
    return op.has_trait(Terminator) or (op.has_trait(Symbol) and "sym_name" in op.attributes)


def is_trivially_dead(op: Operation) -> bool:
    """Whether the operation can be erased: no result is used and nothing else would be missed."""
    return not any(r.has_uses for r in op.results) and not is_needed(op, memory_effects(op))
