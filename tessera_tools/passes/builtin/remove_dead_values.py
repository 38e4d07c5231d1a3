"""`remove-dead-values`: remove what is computed, passed or returned, but never needed.

    func.func private @f(%a, %b) -> (i32, i32)                 func.func private @f(%a) -> i32
    %r:2 = call @f(%x, %y) ; use(%r#0)                ─▶       %r = call @f(%x) ; use(%r)

A value is needed if an op with effects reads it, or an op that computes a needed value.  A value that is only passed
on (by a call, a return, a branch, a yield) is needed if the value that receives it is.  Parameters and results are
removed from functions of which every call is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, TypeVar

from tessera_tools.dialects.func import Call, Func, Return
from tessera_tools.dialects.scf.carried import Place, UnreadPlaces, places_of
from tessera_tools.dialects.ub import Poison
from tessera_tools.ir.builder import InsertionPoint
from tessera_tools.ir.builtin_attributes import ArrayAttr, DictionaryAttr, SymbolRefAttr
from tessera_tools.ir.core import Block, Operation, OpResult, Value
from tessera_tools.ir.interfaces import BranchLike, HasFlow
from tessera_tools.ir.rewriter import Rewriter
from tessera_tools.ir.symbols import symbol_name
from tessera_tools.ir.traits import Terminator
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.passes.calls import known_calls
from tessera_tools.passes.liveness import erase_dead, may_go
from tessera_tools.records import dataclass

T = TypeVar("T")


@dataclass(frozen=True)
class RemoveDeadValues(Pass):
    """Removes dead operations, and what functions, loops, conditionals and blocks take or return in vain."""

    name = "remove-dead-values"
    title = "RemoveDeadValues"
    summary = "remove dead values"
    ensures = "functions with known calls take and return only values that are needed"
    statistics: ClassVar[Mapping[str, str]] = {
        "num-parameters": "Number of parameters removed from functions",
        "num-results": "Number of results removed from functions",
        "num-ops": "Number of operations erased",
    }

    canonicalize: bool = option(
        True, "remove what loops and conditionals take or return in vain; else it is poison"
    )

    def run(self, op: Operation, context: PassContext) -> bool:
        needed = _Needed(op)
        parameters = results = 0
        for function, calls in needed.calls.items():
            dropped = [a.index for a in function.arguments if a not in needed.values]
            unread = [
                i for i in range(len(function.signature.results)) if not needed.reads_result(function, i)
            ]
            if dropped or unread:
                _shrink(function, calls, set(dropped), set(unread))
            parameters += len(dropped)
            results += len(unread)
        for inner in list(op.walk()):
            for place in places_of(inner):
                if needed.values.isdisjoint(place.targets):
                    _feed_poison(place)
        context.count("num-parameters", parameters)
        context.count("num-results", results)
        changed = bool(parameters or results)
        unread_places = UnreadPlaces()
        while True:
            erased = erase_dead(op)
            context.count("num-ops", erased["ops"])
            again = bool(erased.total())
            for inner in list(op.walk()):
                # An op around it may have been replaced since the walk.
                if self.canonicalize and isinstance(inner, HasFlow) and inner.parent is not None:
                    again |= (
                        unread_places.match_and_rewrite(inner, Rewriter(InsertionPoint(inner.parent, inner)))
                        is True
                    )
            changed |= again
            if not again:
                return changed


class _Needed:
    """The values inside `root` that are needed."""

    def __init__(self, root: Operation) -> None:
        self.calls = known_calls(root)
        self.functions = {symbol_name(function): function for function in self.calls}
        self.values: set[Value] = set()
        self._work: list[Value] = []
        self._passed_to: dict[Value, list[Value]] = {}
        """For a value that receives others from an op, a terminator or a call: the values it may receive."""
        for op in root.walk():
            self._start(op)
        while self._work:
            self._follow(self._work.pop())

    def reads_result(self, function: Func, index: int) -> bool:
        return any(call.results[index] in self.values for call in self.calls[function])

    def _mark(self, values: Iterable[Value]) -> None:
        for value in values:
            if value not in self.values:
                self.values.add(value)
                self._work.append(value)

    def _start(self, op: Operation) -> None:
        """Mark what the op needs in any case, and note what it passes on."""
        callee = self.callee(op)
        if callee is not None:
            for argument, value in zip(callee.arguments, op.operands, strict=True):
                self._passed_to.setdefault(argument, []).append(value)
            return
        if isinstance(op, Return) and op.parent_op in self.calls:
            for call in self.calls[op.parent_op]:  # type: ignore[index]
                for result, value in zip(call.results, op.operands, strict=True):
                    self._passed_to.setdefault(result, []).append(value)
            return
        passed = self._passed_by(op)
        if op.regions or op.successors or passed or not may_go(op) or _ends_region(op):
            self._mark(use.value for use in op.op_operands if use.index not in passed)

    def _passed_by(self, op: Operation) -> set[int]:
        """The operands that an op only passes to block arguments and results, which are noted."""
        if isinstance(op, BranchLike):
            total = 0
            for number, block in enumerate(op.successors):
                values = op.branch_operands(number)
                total += len(values)
                for argument, value in zip(block.arguments, values, strict=True):
                    self._passed_to.setdefault(argument, []).append(value)
            # Operands of successors are at the end (MLIR's BranchOpInterface).
            return set(range(len(op.op_operands) - total, len(op.op_operands)))
        parent = op.parent_op
        passed: set[int] = set()
        for owner in (op, parent) if _ends_region(op) and parent is not None else (op,):
            for place in places_of(owner):
                fed = [index for feeder, index in place.feeds if feeder is op]
                passed.update(fed)
                for target in place.targets:
                    self._passed_to.setdefault(target, []).extend(op.operand(index) for index in fed)
        return passed

    def callee(self, op: Operation) -> Func | None:
        return (
            self.functions.get(op.callee.root)
            if isinstance(op, Call) and isinstance(op.callee, SymbolRefAttr)
            else None
        )

    def _follow(self, value: Value) -> None:
        if value in self._passed_to:
            self._mark(self._passed_to[value])
        elif isinstance(value, OpResult) and self.callee(value.op) is None:
            self._mark(value.op.operands)


def _ends_region(op: Operation) -> bool:
    return op.has_trait(Terminator)


def _shrink(function: Func, calls: Sequence[Call], dropped: set[int], unread: set[int]) -> None:
    """Remove parameters and results of a function, from its returns and calls too.  What still uses them is dead."""
    signature = function.signature
    entry = function.body.entry
    for index in sorted(dropped, reverse=True):
        _use_poison(entry.arguments[index], entry, entry.first_op)
        entry.erase_argument(index)
    function.set_signature(_without(signature.inputs, dropped), _without(signature.results, unread))
    for block in function.body.blocks:
        if isinstance(block.last_op, Return):
            block.last_op.set_operands(_without(block.last_op.operands, unread))
    for op in (function, *calls):
        op.arg_attrs = _without_entries(op.arg_attrs, dropped)
        op.res_attrs = _without_entries(op.res_attrs, unread)
    for call in calls:
        block = call.parent
        assert block is not None
        for index in unread:
            _use_poison(call.results[index], block, call)
        kept = _without(call.results, unread)
        made = Call.create(
            _without(call.operands, dropped),
            [r.type for r in kept],
            dict(call.attributes),
            location=call.location,
        )
        block.insert_before(call, made)
        for old, new in zip(kept, made.results, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        call.erase()


def _feed_poison(place: Place) -> None:
    """Let a place that is not needed take poison, so that what computes its values is dead too."""
    for owner, index in place.feeds:
        value = owner.operand(index)
        if not (isinstance(value, OpResult) and isinstance(value.op, Poison)):
            assert owner.parent is not None
            poison = Poison(result=value.type, location=owner.location)
            owner.parent.insert_before(owner, poison)
            owner.op_operands[index].set(poison.result)


def _without(items: Sequence[T], indices: set[int]) -> list[T]:
    return [item for index, item in enumerate(items) if index not in indices]


def _without_entries(attributes: ArrayAttr | None, indices: set[int]) -> ArrayAttr | None:
    """The attributes of the parameters or results that remain; None if none is left with an attribute."""
    kept = _without(attributes.elements, indices) if attributes is not None else []
    return (
        ArrayAttr(tuple(kept))
        if any(isinstance(one, DictionaryAttr) and one.entries for one in kept)
        else None
    )


def _use_poison(value: Value, block: Block, before: Operation | None) -> None:
    """Let the dead users of a value use poison, so that the value can be removed before they are."""
    if value.has_uses:
        poison = Poison(result=value.type)
        block.insert_before(before, poison)
        value.replace_all_uses_with(poison.result)
