"""`sccp`: sparse conditional constant propagation.

    each value:  not reached ─▶ a constant ─▶ overdefined         each block: not reached ─▶ reached

A branch on a constant reaches one successor, so that values which other successors would pass do not count.  Functions
that only known calls use are followed through their calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tessera_tools.dialects.func import Call, Return
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import IntegerAttr, SymbolRefAttr
from tessera_tools.ir.core import Block, Operation, OpResult, Region, UnregisteredOp, Value
from tessera_tools.ir.effects import is_trivially_dead
from tessera_tools.ir.flow import flow_of
from tessera_tools.ir.folding import ConstantFolder
from tessera_tools.ir.interfaces import BranchLike, HasFlow
from tessera_tools.ir.symbols import symbol_name
from tessera_tools.ir.traits import ConstantLike
from tessera_tools.opdef.dialect import constant_for
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.calls import known_calls


class _Overdefined:
    """Not one constant."""


OVER = _Overdefined()
Lattice = Attribute | _Overdefined | None
"""None is a value that was not reached."""


class SCCP(Pass):
    """Replaces values that are constant on every path that can be reached."""

    name = "sccp"
    title = "SCCP"
    summary = "sparse conditional constant propagation"
    ensures = "no operation that is reached has a result that is known to be constant, unless it has effects"
    statistics: ClassVar[Mapping[str, str]] = {"num-replaced": "Number of values replaced by constants"}

    def run(self, op: Operation, context: PassContext) -> bool:
        analysis = _Analysis(op)
        analysis.run()
        replaced = _rewrite(op, analysis)
        context.count("num-replaced", replaced)
        return replaced > 0


class _Analysis:
    def __init__(self, root: Operation) -> None:
        self.root = root
        self.values: dict[Value, Lattice] = {}
        self.reached: set[Block] = set()
        self.work: list[Operation | Block] = []
        self.calls: Mapping[Operation, list[Call]] = {**known_calls(root)}
        """Functions that only calls use, with these calls."""
        self.functions = {symbol_name(op): op for op in self.calls}

    def run(self) -> None:
        self.enter_regions(self.root)
        while self.work:
            item = self.work.pop()
            if isinstance(item, Block):
                for op in item:
                    self.visit(op)
            elif item.parent in self.reached:
                self.visit(item)

    # -- the lattice

    def join(self, value: Value, new: Lattice) -> None:
        old = self.values.get(value)
        if new is None or old is OVER or old is new:
            return
        self.values[value] = new if old is None else OVER
        for user in value.users:
            self.work.append(user)

    def reach(self, block: Block) -> None:
        if block not in self.reached:
            self.reached.add(block)
            self.work.append(block)

    # -- transfer

    def visit(self, op: Operation) -> None:
        if op.regions:
            self.visit_regions(op)
        elif isinstance(op, Call) and self.callee(op) is not None:
            self.visit_call(op)
        elif op.successors:
            self.visit_branch(op)
        elif op.results:
            self.visit_plain(op)
        if not op.successors and op.parent is not None and op is op.parent.last_op:
            self.visit_end(op)

    def visit_plain(self, op: Operation) -> None:
        if op.has_trait(ConstantLike) and len(op.results) == 1:
            found = op.attributes.get("value")
            self.join(op.results[0], found if found is not None else getattr(op, "value", OVER))
            return
        known = [self.values.get(value) for value in op.operands]
        if any(one is None for one in known):
            return
        constants = [None if isinstance(one, _Overdefined) else one for one in known]
        folded = None if isinstance(op, UnregisteredOp) else op.fold(constants)
        for number, result in enumerate(op.results):
            item = None if folded is None else folded[number]
            if isinstance(item, Value):
                self.join(result, self.values.get(item))
            else:
                self.join(result, OVER if item is None else item)

    def visit_branch(self, op: Operation) -> None:
        for result in op.results:
            self.join(result, OVER)
        taken = self.taken(op)
        for number, block in enumerate(op.successors):
            if taken is not None and number != taken:
                continue
            self.reach(block)
            passed = op.branch_operands(number) if isinstance(op, BranchLike) else None
            for index, argument in enumerate(block.arguments):
                self.join(argument, OVER if passed is None else self.values.get(passed[index]))

    def taken(self, op: Operation) -> int | None:
        """The only successor that a branch takes; None if there may be several, -1 if it is not known yet."""
        if op.name not in ("cf.cond_br", "llvm.cond_br", "cf.switch"):
            return None
        known = self.values.get(op.operand(0))
        if known is None:
            return -1
        if not isinstance(known, IntegerAttr):
            return None
        if op.name != "cf.switch":
            return 0 if known.value else 1
        numbers: list[int] = op.case_numbers  # type: ignore[attr-defined]
        return numbers.index(known.value) + 1 if known.value in numbers else 0

    # -- structured control flow and functions

    def visit_regions(self, op: Operation) -> None:
        if not isinstance(op, HasFlow):
            self.enter_regions(op)
            for result in op.results:
                self.join(result, OVER)
            return
        chosen = self.chosen_region(op)
        for number, region in enumerate(op.regions):
            if region.blocks and (chosen is None or chosen == number):
                self.reach(region.entry)
        flowing = flow_of(op)
        defined = {target for target, _ in flowing}
        for region in op.regions:
            for argument in region.entry.arguments if region.blocks else ():
                if argument not in defined:
                    self.join(argument, OVER)
        for result in op.results:
            if result not in defined:
                self.join(result, OVER)
        for target, values in flowing:
            if chosen is not None and isinstance(target, OpResult):
                last = op.regions[chosen].block.last_op if chosen >= 0 and op.regions[chosen].blocks else None
                values = [] if last is None else [last.operand(target.index)]
            for value in values:
                self.join(target, self.values.get(value))

    def chosen_region(self, op: Operation) -> int | None:
        """The only region that an op runs; None if it may run several, -1 if it is not known yet."""
        if op.name not in ("scf.if", "scf.index_switch", "cuda_tile.if", "nv_tileaa.if"):
            return None
        known = self.values.get(op.operand(0))
        if known is None:
            return -1
        if not isinstance(known, IntegerAttr) or not op.results:
            chosen = None
        elif op.name == "scf.index_switch":
            cases = list(op.cases.values)  # type: ignore[attr-defined]
            chosen = cases.index(known.value) + 1 if known.value in cases else 0
        else:
            chosen = 0 if known.value else 1
        return chosen

    def enter_regions(self, op: Operation) -> None:
        """Every region of an op may run, with any arguments; of a known function, with those of its calls."""
        known = op in self.calls
        for region in op.regions:
            if not region.blocks or known:
                continue
            self.reach(region.entry)
            for block in region.blocks if isinstance(op, UnregisteredOp) else region.blocks[:1]:
                for argument in block.arguments:
                    self.join(argument, OVER)

    def callee(self, op: Call) -> Operation | None:
        return self.functions.get(op.callee.root) if isinstance(op.callee, SymbolRefAttr) else None

    def visit_call(self, op: Call) -> None:
        function = self.callee(op)
        assert function is not None
        entry = function.regions[0].entry
        self.reach(entry)
        for argument, value in zip(entry.arguments, op.operands, strict=True):
            self.join(argument, self.values.get(value))
        for block in function.regions[0].blocks:
            last = block.last_op
            if block in self.reached and isinstance(last, Return):
                for result, value in zip(op.results, last.operands, strict=True):
                    self.join(result, self.values.get(value))

    def visit_end(self, op: Operation) -> None:
        """A terminator without successors: what is around it depends on its operands."""
        parent = op.parent_op
        if parent is None or parent is self.root:
            return
        if parent in self.calls:
            self.work += [call for call in self.calls[parent] if call.parent in self.reached]
        elif isinstance(parent, HasFlow):
            self.work.append(parent) if self._flow_changes(parent) else None

    def _flow_changes(self, op: Operation) -> bool:
        """Whether a value that flows into a target of the op is not joined with it yet."""
        for target, values in flow_of(op):
            old = self.values.get(target)
            if old is OVER:
                continue
            if any((new := self.values.get(value)) is not None and new is not old for value in values):
                return True
        return False


def _rewrite(root: Operation, analysis: _Analysis) -> int:
    """Replace the values that are constant; returns their number."""
    folder = ConstantFolder(constant_for)
    replaced = 0

    def replace(value: Value, near: Operation) -> bool:
        nonlocal replaced
        found = analysis.values.get(value)
        if found is None or isinstance(found, _Overdefined):
            return False
        # Constants that exist are replaced too, so that each is once at the start of its function.
        made = folder.constant(found, value.type, near)
        if made is None:
            return False
        if made is not value:
            replaced += value.has_uses
            value.replace_all_uses_with(made)
        return True

    work: list[Region] = list(root.regions)
    while work:
        region = work.pop()
        for block in region.blocks:
            for op in list(block):
                results = [replace(result, op) for result in op.results]
                if results and all(results) and is_trivially_dead(op):
                    op.erase()
                    continue
                work += op.regions
            first = block.first_op
            if first is not None:
                for argument in block.arguments:
                    replace(argument, first)
    return replaced
