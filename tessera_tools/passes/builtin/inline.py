"""`inline`: inline function calls.

    callees first ─▶ simplify ─▶ for each call: copy the body ─▶ simplify ─▶ erase unused private functions

    %r = call @f(%a)                         a single block: its operations, %r becomes what it returns
                                             several blocks: the block is split at the call, a return is a branch

Calls of recursive functions are not inlined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from tessera_tools.dialects.func import Call, Func, Return
from tessera_tools.ir.core import Block, IRMapping, Operation, UnregisteredOp, Value
from tessera_tools.ir.location import CallSiteLoc, Location
from tessera_tools.ir.symbols import SymbolTables, symbol_references
from tessera_tools.ir.traits import SingleBlock
from tessera_tools.opdef.dialect import find_dialect
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.records import dataclass

_LARGEST_CALLER = 2_000_000
"""The maximum number of operations of a function into which calls are inlined; nested calls can grow exponentially."""


@dataclass(frozen=True)
class Inline(Pass):
    """Inline `func.call` of `func.func`, callees before callers."""

    name = "inline"
    title = "Inliner"
    summary = "inline function calls"
    requires = "the operation is a symbol table"
    ensures = (
        "every remaining call is recursive, external, marked no_inline, or in a block that cannot be split"
    )
    statistics: ClassVar[Mapping[str, str]] = {
        "num-inlined": "Number of calls replaced by bodies",
        "num-dce'd": "Number of functions erased because they have no calls",
    }

    default_pipeline: str = option(
        "canonicalize", "passes that simplify a function before and after inlining"
    )
    inlining_threshold: int = option(
        -1, "maximum ratio of callee to caller operations, in percent; -1 for no limit"
    )

    def run(self, op: Operation, context: PassContext) -> bool:
        work = _Work(op, self, context)
        changed = False
        for function in _callees_first(work.graph):
            if not work.graph[function] and not work.called(function):
                continue
            changed |= work.simplify(function)
            if work.inline_into(function):
                work.simplify(function)
                changed = True
        work.erase_unused()
        return changed


class _Work:
    def __init__(self, root: Operation, options: Inline, context: PassContext) -> None:
        self.root = root
        self.options = options
        self.context = context
        self.tables = SymbolTables()
        self.components: dict[Func, int] = {}
        self.sizes: dict[Func, int] = {}
        self.inlined: dict[Func, None] = {}
        self.legal: dict[Func, bool] = {}
        self.graph: dict[Func, list[Func]] = {}
        functions = [op for op in (root, *root.walk()) if isinstance(op, Func) and not op.is_declaration]
        for function in functions:
            callees = (self.callee(call) for call in function.walk() if isinstance(call, Call))
            self.graph[function] = list(dict.fromkeys(c for c in callees if c is not None))
        self._called = {callee for callees in self.graph.values() for callee in callees}
        for number, component in enumerate(_components(self.graph)):
            for function in component:
                self.components[function] = number

    def callee(self, call: Call) -> Func | None:
        """The called function, if it has a body."""
        found = self.tables.lookup(call, call.callee)
        return found if isinstance(found, Func) and not found.is_declaration else None

    def called(self, function: Func) -> bool:
        return function in self._called

    def simplify(self, function: Func) -> bool:
        pipeline = self.options.default_pipeline
        changed = bool(pipeline) and self.context.run_pipeline(pipeline, function)
        self.sizes[function] = sum(1 for _ in function.walk())
        self.legal.pop(function, None)
        return changed

    def inline_into(self, caller: Func) -> int:
        count = 0
        for call in [op for op in caller.walk() if isinstance(op, Call)]:
            callee = self.callee(call)
            if callee is None or not self.may_inline(call, callee, caller):
                continue
            _inline(call, callee)
            self.sizes[caller] += self.sizes[callee]
            self.inlined[callee] = None
            count += 1
        self.context.count("num-inlined", count)
        return count

    def may_inline(self, call: Call, callee: Func, caller: Func) -> bool:
        if self.components.get(callee) == self.components[caller] or callee.no_inline is not None:
            return False
        if call.attributes.get("no_inline") is not None:
            return False
        if len(callee.body.blocks) > 1 and not _may_split(call):
            return False
        size = self.sizes[callee]
        if self.sizes[caller] + size > _LARGEST_CALLER:
            return False
        limit = self.options.inlining_threshold
        if limit >= 0 and size * 100 > limit * self.sizes[caller]:
            return False
        known = self.legal.get(callee)
        if known is None:
            known = self.legal[callee] = all(map(_is_movable, callee.walk()))
        return known

    def erase_unused(self) -> None:
        """Erase private functions whose calls have all been inlined."""
        candidates = [
            f for f in self.inlined if f.sym_visibility is not None and f.sym_visibility.value == "private"
        ]
        if not candidates:
            return
        # One walk for all of them; a function used only by dead ones is erased in the next round.
        while True:
            used: set[Operation] = set()
            for op in (self.root, *self.root.walk()):
                for attribute in op.attributes.values():
                    for reference in symbol_references(attribute):
                        found = self.tables.lookup(op, reference)
                        if found is not None and not found.is_ancestor_of(op):
                            used.add(found)
            dead = [f for f in candidates if f not in used]
            for function in dead:
                function.erase()
            self.tables.invalidate()
            self.context.count("num-dce'd", len(dead))
            candidates = [f for f in candidates if f in used]
            if not dead or not candidates:
                return


def _is_movable(op: Operation) -> bool:
    """True if the op's dialect allows moving it to another function."""
    if isinstance(op, UnregisteredOp):
        return False
    dialect = find_dialect(op.name.partition(".")[0])
    movable = True if dialect is None else dialect.inline_ok
    return movable(op) if callable(movable) else movable


def _may_split(call: Operation) -> bool:
    """True if the block of the call may be split."""
    parent = call.parent_op
    return parent is not None and not parent.has_trait(SingleBlock)


def _inline(call: Call, callee: Func) -> None:
    """Replace the call by a copy of the callee's body."""
    block = call.parent
    assert block is not None
    region = block.parent
    assert region is not None
    source = callee.body
    mapping = IRMapping()
    if len(source.blocks) == 1:
        mapping.values.update(zip(source.entry.arguments, call.call_operands, strict=True))
        returned: Sequence[Value] = ()
        for op in list(source.entry.operations):
            if isinstance(op, Return):
                returned = [mapping.value(value) for value in op.operands]
                break
            copy = op.clone(mapping)
            _relocate(copy, call)
            block.insert_before(call, copy)
        call.replace_all_uses_with(returned)
        call.erase()
        return
    from tessera_tools.dialects.cf import Branch

    tail = block.split_before(call)
    at = region.blocks.index(tail)
    copies: list[Block] = []
    for old in source.blocks:
        first = old is source.entry
        new = Block([a.type for a in old.arguments] if not first else (), [a.location for a in old.arguments])
        mapping.blocks[old] = new
        arguments = call.call_operands if first else new.arguments
        mapping.values.update(zip(old.arguments, arguments, strict=True))
        copies.append(new)
    results = [tail.add_argument(r.type, r.location) for r in call.results]
    pending: list[Operation] = []
    for old, new in zip(source.blocks, copies, strict=True):
        for op in old.operations:
            if isinstance(op, Return):
                copy: Operation = Branch(
                    [mapping.value(v) for v in op.operands], dest=tail, location=op.location
                )
            else:
                copy = op.clone(mapping)
            _relocate(copy, call)
            new.append(copy)
            pending.append(copy)
    # In the order of the blocks, a value may be used before it is copied.
    for copy in pending:
        for use in copy.op_operands:
            use.set(mapping.value(use.value))
    # The copied entry has no arguments, so it becomes the rest of the block before the call.
    entry = copies.pop(0)
    for op in list(entry.operations):
        op.detach()
        block.append(op)
    for offset, new in enumerate(copies):
        region.insert(at + offset, new)
    call.replace_all_uses_with(results)
    call.erase()


def _relocate(copy: Operation, call: Operation) -> None:
    """Add the call site to the locations of the copied operations."""
    for op in (copy, *copy.walk()) if copy.regions else (copy,):
        op.location = _through(op.location, call.location)


def _through(location: Location, call: Location) -> Location:
    """`location` with `call` as caller of its outermost frame."""
    if isinstance(location, CallSiteLoc):
        return CallSiteLoc(location.callee, _through(location.caller, call))
    return CallSiteLoc(location, call)


def _callees_first(graph: dict[Func, list[Func]]) -> Iterator[Func]:
    for component in _components(graph):
        yield from component


def _components(graph: dict[Func, list[Func]]) -> list[list[Func]]:
    """The strongly connected components, callees first (Tarjan's algorithm, with a stack of its own)."""
    index: dict[Func, int] = {}
    low: dict[Func, int] = {}
    stack: list[Func] = []
    on_stack: set[Func] = set()
    found: list[list[Func]] = []
    for start, first in graph.items():
        if start in index:
            continue
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        path = [(start, iter(first))]
        while path:
            node, callees = path[-1]
            following = next(callees, None)
            if following is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    component: list[Func] = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.append(member)
                        if member is node:
                            break
                    found.append(component[::-1])
            elif following not in graph:
                continue
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                on_stack.add(following)
                path.append((following, iter(graph[following])))
            elif following in on_stack:
                low[node] = min(low[node], index[following])
    return found
