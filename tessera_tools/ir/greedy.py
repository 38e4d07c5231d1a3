"""The greedy driver: apply patterns, folds and dead code removal until nothing changes.

ops inside root ──▶ worklist ──▶ dead? erase ─ constant? hoist ─ folds? replace ─ else patterns, best first
                        ▲                                                             │
                        └──────── new ops, users and operands of what changed ◀───────┘
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tessera_tools.ir.actions import executes, log
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.core import Block, InsertionPoint, Operation, Value
from tessera_tools.ir.dominance import unreachable_blocks
from tessera_tools.ir.effects import is_trivially_dead
from tessera_tools.ir.folding import ConstantFolder, ConstantMaker, constant_value
from tessera_tools.ir.rewriter import Listener, PatternSet, RewritePattern, Rewriter
from tessera_tools.ir.traits import Commutative, ConstantLike
from tessera_tools.records import dataclass, field

MAX_ITERATIONS = 10
"""Sweeps over the whole program before the driver gives up, as upstream."""


@dataclass(slots=True)
class GreedyResult:
    """What the driver did."""

    converged: bool = True
    """False if a limit was hit before nothing more changed."""
    changed: bool = False
    rewrites: Counter[str] = field(default_factory=Counter[str])
    """How often each pattern was applied, by name; folds and removals as "(fold)", "(dead)", "(constant)"."""


class _Worklist(Listener):
    """Operations to visit, each once; the last one added comes first."""

    def __init__(self) -> None:
        self._stack: list[Operation | None] = []
        self._place: dict[Operation, int] = {}

    def push(self, op: Operation) -> None:
        if op not in self._place:
            self._place[op] = len(self._stack)
            self._stack.append(op)

    def pop(self) -> Operation | None:
        while self._stack:
            op = self._stack.pop()
            if op is not None:
                del self._place[op]
                return op
        return None

    def drop(self, op: Operation) -> None:
        place = self._place.pop(op, None)
        if place is not None:
            self._stack[place] = None


CHECKS_CLAIMS = False
"""Whether it is an error that a pattern changes the IR and says that it did not apply, or the reverse. Tests set it."""


class _Driver(Listener):
    def __init__(
        self,
        root: Operation,
        patterns: Sequence[RewritePattern],
        make_constant: ConstantMaker,
        max_rewrites: int | None,
    ) -> None:
        self.root = root
        self.patterns = PatternSet(patterns)
        self.max_rewrites = max_rewrites
        self.worklist = _Worklist()
        self.make_constant = make_constant
        self.folder = ConstantFolder(make_constant)
        self.result = GreedyResult()
        self.count = 0
        self.unreachable: set[Block] = set()
        """Unreachable blocks, and those nested in them.  An operation there may be its own operand."""
        self.notified = False
        """Whether the pattern that is tried has changed the IR."""

    # -- notifications

    def op_inserted(self, op: Operation) -> None:
        self.notified = True
        self.worklist.push(op)

    def op_modified(self, op: Operation) -> None:
        self.notified = True
        self.worklist.push(op)

    def op_erased(self, op: Operation) -> None:
        self.notified = True
        for value in op.operands:
            # An op with no use left may be dead; one with a single use left may match a pattern that requires it.
            if value.defining_op is not None:
                self.worklist.push(value.defining_op)
        self.worklist.drop(op)
        self.folder.forget(op)

    # -- the work

    def run(self, top_down: bool, max_iterations: int) -> GreedyResult:
        for _ in range(max_iterations):
            self.collect(top_down)
            before = self.count
            if not self.drain():
                self.result.converged = False
                return self.result
            if self.count == before:
                return self.result
        self.result.converged = False
        return self.result

    def collect(self, top_down: bool) -> None:
        self.folder = ConstantFolder(self.make_constant)
        self.unreachable = unreachable_blocks(self.root)
        ops: list[Operation] = []
        # A list, because the walk would continue where the constant is moved to.
        for op in list(self.root.walk(post_order=not top_down)):
            if op.parent in self.unreachable:
                continue
            if not op.has_trait(ConstantLike):
                ops.append(op)
            elif self.unify(op):
                self.result.changed = True
        self.result.changed |= self.folder.has_moved
        if top_down:
            ops.reverse()
        for op in ops:
            self.worklist.push(op)

    def unify(self, op: Operation) -> bool:
        """Unique a constant; True if an older one replaced it."""
        older = self.folder.add(op)
        if older is op:
            return False
        for user in op.results[0].users:
            self.worklist.push(user)
        op.replace_all_uses_with(older.results)
        self.worklist.drop(op)
        op.erase()
        return True

    def drain(self) -> bool:
        """Empty the worklist; False if the limit of rewrites was hit."""
        while (op := self.worklist.pop()) is not None:
            if self.max_rewrites is not None and self.count >= self.max_rewrites:
                return False
            kind = op.name
            name = self.visit(op)
            if name is not None:
                log("greedy-rewriter", f"'{kind}' {name}")
                self.count += 1
                self.result.changed = True
                self.result.rewrites[name] += 1
        return True

    def visit(self, op: Operation) -> str | None:
        """Change `op` once, and return the kind of change; None if nothing applies."""
        if op.parent is None or op is self.root or op.parent in self.unreachable:
            return None
        rewriter = Rewriter(InsertionPoint(op.parent, op), op.location)
        rewriter.listeners.append(self)
        if is_trivially_dead(op):
            rewriter.erase_op(op)
            return "(dead)"
        if op.has_trait(ConstantLike):
            if self.unify(op):
                return "(constant)"
        elif executes("fold") and self.fold(op, rewriter):
            return "(fold)"
        for pattern in self.patterns.for_op(op):
            assert isinstance(pattern, RewritePattern)
            if not executes("apply-pattern"):
                continue
            rewriter.set_before(op)
            self.notified = False
            applied = pattern.match_and_rewrite(op, rewriter) is True
            if CHECKS_CLAIMS and applied != self.notified:
                what = "applied, but changed nothing" if applied else "did not apply, but changed the IR"
                raise ValueError(f"the pattern {pattern.name} says that it {what} through its rewriter")
            if applied:
                return pattern.name
        return None

    def fold(self, op: Operation, rewriter: Rewriter) -> bool:
        constants = [constant_value(v) for v in op.operands]
        if (
            len(constants) == 2
            and constants[0] is not None
            and constants[1] is None
            and op.has_trait(Commutative)
        ):
            # c ∘ x = x ∘ c: patterns then need to match constants on the right only.
            with rewriter.modify(op):
                op.set_operands(op.operands[::-1])
            return True
        if type(op).fold is Operation.fold:
            return False
        folded = op.fold(constants)
        if folded is None or not op.results:
            return False
        values = self.values_of(op, folded)
        if values is None:
            return False
        rewriter.replace_op(op, values)
        return True

    def values_of(self, op: Operation, folded: Sequence[Attribute | Value]) -> list[Value] | None:
        values: list[Value] = []
        for result, item in zip(op.results, folded, strict=True):
            value = item if isinstance(item, Value) else self.folder.constant(item, result.type, op)
            if value is None or value is result:
                return None
            values.append(value)
        return values


def apply_greedily(
    root: Operation,
    patterns: Sequence[RewritePattern] = (),
    *,
    make_constant: ConstantMaker = lambda op, value, type: None,
    top_down: bool = True,
    max_iterations: int = MAX_ITERATIONS,
    max_rewrites: int | None = None,
) -> GreedyResult:
    """Fold, remove dead code and apply `patterns` to the operations inside `root` until nothing changes.

    `make_constant` materializes the constants to which ops fold; without it, ops only fold to existing values.
    `top_down` visits operations before their users, and outer ones before inner ones, at first.  Stops after
    `max_iterations` sweeps or `max_rewrites` changes; the result then says that it did not converge.
    """
    return _Driver(root, patterns, make_constant, max_rewrites).run(top_down, max_iterations)
