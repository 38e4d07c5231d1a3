"""The verifier: structure, declared constraints, traits, and dominance, with MLIR's messages.

    verify(op) ──▶ [] or every error, in source order        verify_or_raise(op) ──▶ DiagnosticError

Only the first error of each operation is reported: of its declared constraints, then its traits, then its
`verify_op`, because each may rely on the previous one.  All other operations are still checked.  `verify_regions`
comes last, and only if there is no error.  Nested regions are kept on a worklist, not on the Python stack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tessera_tools.diagnostics import Diagnostic, DiagnosticError
from tessera_tools.ir.core import Block, BlockArgument, Operation, OpResult, Region, UnregisteredOp, Value
from tessera_tools.ir.dominance import DominanceInfo, is_graph_region
from tessera_tools.ir.symbols import shared_symbol_tables
from tessera_tools.ir.traits import IsolatedFromAbove, NoTerminator, Terminator, Trait

if TYPE_CHECKING:
    from tessera_tools.ir.location import Location


def verify(op: Operation) -> list[Diagnostic]:
    """Every error in `op` and its nested ops; empty if it is valid."""
    with shared_symbol_tables():
        try:
            return _Verifier().run(op)
        except Exception:
            # A check may rely on another op, such as a symbol, whose declared constraints do not hold.
            found = _declared_errors(op)
            if not found:
                raise
            return found


def verify_or_raise(op: Operation) -> None:
    """Raise a DiagnosticError with every error, if there are any."""
    found = verify(op)
    if found:
        raise DiagnosticError(*found)


def _declared_errors(root: Operation) -> list[Diagnostic]:
    """The errors of the declared constraints alone."""
    found: list[Diagnostic] = []
    for op in (root, *root.walk()):
        declared = getattr(op, "verify_declared", None)
        try:
            if declared is not None:
                declared()
        except DiagnosticError as failure:
            found += failure.diagnostics
    return found


class _Plan:
    """The checks for the operations of one class."""

    __slots__ = ("checks", "isolated", "may_end_block", "may_lack_terminator", "verifies_regions")

    def __init__(self, cls: type[Operation]) -> None:
        checks: list[Callable[[Any], object]] = []
        declared = getattr(cls, "verify_declared", None)
        if declared is not None:
            checks.append(declared)
        checks += [trait.verify for trait in cls.traits if type(trait).verify is not Trait.verify]
        if cls.verify_op is not Operation.verify_op:
            checks.append(cls.verify_op)
        self.checks = tuple(checks)
        unknown = issubclass(cls, UnregisteredOp)
        self.may_end_block = unknown or cls.has_trait(Terminator)
        self.may_lack_terminator = unknown or cls.has_trait(NoTerminator)
        self.isolated = cls.has_trait(IsolatedFromAbove)
        self.verifies_regions = cls.verify_regions is not Operation.verify_regions


_plans: dict[type[Operation], _Plan] = {}


def _plan(cls: type[Operation]) -> _Plan:
    plan = _plans.get(cls)
    if plan is None:
        plan = _plans[cls] = _Plan(cls)
    return plan


class _Verifier:
    def __init__(self) -> None:
        self.errors: list[Diagnostic] = []
        self.dominance = DominanceInfo()
        self.visible: dict[Region, dict[Region, tuple[Operation | None, Operation | None]]] = {}

    def run(self, root: Operation) -> list[Diagnostic]:
        try:
            for check in _plan(type(root)).checks:
                check(root)
        except DiagnosticError as failure:
            self.errors += failure.diagnostics
        work = [root] if root.regions else []
        deferred: list[Operation] = []
        while work:
            op = work.pop()
            if _plan(type(op)).verifies_regions:
                deferred.append(op)
            nested: list[Operation] = []
            for region in op.regions:
                if region.blocks:
                    self.check_region(op, region, nested)
            nested.reverse()
            work += nested
        if not self.errors:
            for op in deferred:
                try:
                    op.verify_regions()
                except DiagnosticError as failure:
                    self.errors += failure.diagnostics
        if len(self.errors) > 1:
            self.errors.sort(
                key=lambda d: (d.location.start() if d.location is not None else None) or ("", 0, 0)
            )
        return self.errors

    def fail(self, location: Location, message: str) -> Diagnostic:
        diagnostic = Diagnostic("error", location, message)
        self.errors.append(diagnostic)
        return diagnostic

    def check_region(self, parent: Operation, region: Region, nested: list[Operation]) -> None:
        blocks = region.blocks
        graph = is_graph_region(region)
        entry = blocks[0]
        if any(entry in b.successors for b in blocks):
            self.fail(parent.location, "entry block of region may not have predecessors")
        open_ended = len(blocks) == 1 and _plan(type(parent)).may_lack_terminator
        for block in blocks:
            self.check_operations(block, graph, nested)
            last = block.last_op
            if last is None:
                if not open_ended:
                    self.fail(parent.location, "empty block: expect at least a terminator")
                continue
            for successor in last.successors:
                if successor.parent is not region:
                    self.errors += last.error("branching to block of a different region").diagnostics
            if not open_ended and not _plan(type(last)).may_end_block:
                self.fail(last.location, f"block with no terminator, has {_shown(last)}")

    def check_operations(self, block: Block, graph: bool, nested: list[Operation]) -> None:
        """Check each operation of a block, and its operands; those with regions are added to `nested`."""
        seen: set[Operation] = set()
        reachable: bool | None = None
        last = block.last_op
        plans = _plans
        # A check changes nothing, so that the list of operations is followed without a generator's care.
        following = block.first_op
        while following is not None:
            op, following = following, following._next
            cls = type(op)
            plan = plans.get(cls) or _plan(cls)
            for use in op._operands:
                value = use.value
                if isinstance(value, OpResult):
                    if value.op in seen:
                        continue
                elif isinstance(value, BlockArgument) and value.block is block:
                    continue
                if reachable is None:
                    reachable = graph or self.dominance.is_reachable(block)
                self.check_operand(op, use.index, value, block, graph, reachable)
            seen.add(op)
            if op.regions:
                nested.append(op)
            if op.successors and op is not last:
                self.fail(op.location, "operation with block successors must terminate its parent block")
            if plan.checks:
                try:
                    for check in plan.checks:
                        check(op)
                except DiagnosticError as failure:
                    self.errors += failure.diagnostics
                    if nested and nested[-1] is op:
                        # Errors in nested ops may be a consequence of this one.
                        nested.pop()

    def check_operand(
        self, op: Operation, index: int, value: Value, block: Block, graph: bool, reachable: bool
    ) -> None:
        """Check an operand that is neither an argument of the same block nor an earlier result."""
        home = value.owner_block
        region = block.parent
        if home is None or region is None or home.parent is None:
            self.fail(op.location, f"operand #{index} does not dominate this use").note(
                "operand is no longer part of the program"
            )
            return
        if home is block and graph:
            return
        around = self.enclosing(region).get(home.parent)
        if around is not None:
            ancestor, isolated = around
            if isolated is not None:
                failure = op.error("using value defined outside the region")
                failure.diagnostics[0].note("required by region isolation constraints", isolated.location)
                self.errors += failure.diagnostics
                return
            if self.dominance.properly_dominates(value, ancestor or op):
                return
        if reachable:
            self.fail(op.location, f"operand #{index} does not dominate this use").notes.append(
                _definition_note(op, value, block, home)
            )

    def enclosing(self, region: Region) -> dict[Region, tuple[Operation | None, Operation | None]]:
        """For `region` and each enclosing region: the op in it that holds `region` (None for itself), and the innermost
        op isolated from above in between, if any."""
        known = self.visible.get(region)
        if known is None:
            known = self.visible[region] = {region: (None, None)}
            isolated: Operation | None = None
            op = region.parent
            while op is not None and op.parent is not None and op.parent.parent is not None:
                if isolated is None and _plan(type(op)).isolated:
                    isolated = op
                known[op.parent.parent] = (op, isolated)
                op = op.parent.parent.parent
        return known


def _definition_note(op: Operation, value: Value, here: Block, home: Block) -> Diagnostic:
    """The note on the definition of an operand that does not dominate its use."""
    mine, its = here.parent, home.parent
    assert mine is not None and its is not None
    definition = value.defining_op
    if mine is its:
        where = "in the same region"
    elif its.is_ancestor_of(mine):
        where = "in a parent region"
    elif mine.is_ancestor_of(its):
        where = "in a child region"
    else:
        where = "neither in a parent nor in a child region"
    if definition is not None:
        if here is home:
            where = "in the same block"
        verb = "is " if where.startswith("neither") else ""
        return Diagnostic("note", definition.location, f"operand defined here (op {verb}{where})")
    location = its.parent.location if its.parent is not None else op.location
    number = its.blocks.index(home)
    return Diagnostic("note", location, f"operand defined as a block argument (block #{number} {where})")


def _shown(op: Operation) -> str:
    """The operation in one line, for an error about the whole operation."""
    if op.regions:
        return f"'{op.name}'"
    from tessera_tools.ir.printing import op_text

    try:
        for check in _plan(type(op)).checks:
            check(op)
    except DiagnosticError:
        # The custom format can only print a valid op.
        return op_text(op, generic=True).strip()
    return str(op).strip()
