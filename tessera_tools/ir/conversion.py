"""Dialect conversion: rewrite until every operation is one that the target allows, or change nothing at all.

    ConversionTarget: what is legal ─┐
    TypeConverter: what types become ├─▶ apply_partial_conversion / apply_full_conversion
    ConversionPattern: op + adaptor ─┘

Operations are visited outside in and in order, so that definitions come before uses.  When a result changes its type,
an unrealized cast from the new values to the old type stands in for it until its users are converted too; their
patterns see the new values through the adaptor.  At the end casts that undo each other cancel; what remains is
replaced by the converter's materializations where it has them.

A conversion that fails puts back the program that it found, from a copy that it made at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tessera_tools.diagnostics import Diagnostic, DiagnosticError
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.casts import UnrealizedConversionCast, reconcile
from tessera_tools.ir.core import Block, Builder, InsertionPoint, Operation, Region, Value
from tessera_tools.ir.rewriter import Listener, Pattern, PatternSet, RewritePattern, Rewriter
from tessera_tools.ir.type_converter import SignatureConversion, TypeConverter

Predicate = Callable[[Any], bool]
OpName = str | type[Operation]


class ConversionTarget:
    """Which operations may remain.  What is said of an op beats what is said of its dialect; the last word counts."""

    def __init__(self) -> None:
        self._ops: dict[str, bool | Predicate] = {}
        self._dialects: dict[str, bool | Predicate] = {}
        self._unknown: Predicate | None = None
        self._recursive: dict[str, Predicate | None] = {}

    def add_legal_op(self, *ops: OpName) -> None:
        self._ops.update(dict.fromkeys(map(_name, ops), True))

    def add_illegal_op(self, *ops: OpName) -> None:
        self._ops.update(dict.fromkeys(map(_name, ops), False))

    def add_dynamically_legal_op(self, *ops: OpName, predicate: Predicate) -> None:
        """Legal where `predicate(op)` holds, else illegal."""
        self._ops.update(dict.fromkeys(map(_name, ops), predicate))

    def add_legal_dialect(self, *dialects: str) -> None:
        self._dialects.update(dict.fromkeys(dialects, True))

    def add_illegal_dialect(self, *dialects: str) -> None:
        self._dialects.update(dict.fromkeys(dialects, False))

    def add_dynamically_legal_dialect(self, *dialects: str, predicate: Predicate) -> None:
        """All ops of the dialects are legal where `predicate(op)` holds, else illegal."""
        self._dialects.update(dict.fromkeys(dialects, predicate))

    def mark_unknown_op_dynamically_legal(self, predicate: Predicate = lambda op: True) -> None:
        """Ops of which nothing else is said are legal where `predicate(op)` holds, else illegal."""
        self._unknown = predicate

    def mark_op_recursively_legal(self, *ops: OpName, predicate: Predicate | None = None) -> None:
        """Where such an op is legal (and `predicate(op)` holds), so is everything inside it."""
        self._recursive.update(dict.fromkeys(map(_name, ops), predicate))

    def is_legal(self, op: Operation) -> bool | None:
        """True, False, or None if nothing is said of the op."""
        rule: bool | Predicate | None = self._ops.get(op.name)
        if rule is None:
            rule = self._dialects.get(op.name.partition(".")[0])
        if rule is None:
            rule = self._unknown
        return rule if rule is None or isinstance(rule, bool) else bool(rule(op))

    def is_recursively_legal(self, op: Operation) -> bool:
        """Whether a legal op makes legal what is inside it."""
        if op.name not in self._recursive:
            return False
        predicate = self._recursive[op.name]
        return predicate is None or bool(predicate(op))


def _name(op: OpName) -> str:
    return op if isinstance(op, str) else op.name


class Adaptor:
    """An operation's operands as converted.

    `adaptor.operands` has one value an operand, `adaptor.one_to_n` a list of values for each, and a field of the op
    (`adaptor.lhs`) is what the op has there, converted.
    """

    def __init__(self, op: Operation, values: Sequence[Sequence[Value]]) -> None:
        self._op = op
        self.one_to_n = values

    @property
    def operands(self) -> list[Value]:
        """The converted operands.  `PatternFailure` if one became none or several."""
        return [self._single(i) for i in range(len(self.one_to_n))]

    @property
    def flat(self) -> list[Value]:
        """All values of all operands, in order: what a branch or a return passes on."""
        return [value for values in self.one_to_n for value in values]

    def _single(self, index: int) -> Value:
        values = self.one_to_n[index]
        if len(values) != 1:
            raise PatternFailure(f"operand #{index} became {len(values)} values")
        return values[0]

    def of(self, value: Value) -> Sequence[Value]:
        """The values that an operand of the op became."""
        for use in self._op.op_operands:
            if use.value is value:
                return self.one_to_n[use.index]
        raise ValueError(f"the value is no operand of '{self._op.name}'")

    def __getattr__(self, field: str) -> Any:
        if field.startswith("__"):
            raise AttributeError(field)
        return self._convert(getattr(self._op, field))

    def _convert(self, item: Any) -> Any:
        if isinstance(item, Value):
            values = self.of(item)
            if len(values) != 1:
                raise PatternFailure(f"an operand became {len(values)} values")
            return values[0]
        if isinstance(item, list | tuple):
            return [self._convert(inner) for inner in item]
        return item


class PatternFailure(Exception):
    """Says, from inside a pattern that has not changed anything yet, that it does not apply, and why."""


class ConversionPattern(Pattern):
    """A rewrite of one operation in a conversion, with its operands converted by `converter` (if there is one)."""

    converter: TypeConverter | None = None
    unchanged_operands: ClassVar[bool] = False
    """Give the adaptor the operands in the types that they have, whatever the converter says."""

    def __init__(self, converter: TypeConverter | None = None) -> None:
        self.converter = converter

    def match_and_rewrite(self, op: Any, adaptor: Any, rewriter: ConversionRewriter) -> bool | str | None:
        """As `RewritePattern.match_and_rewrite`."""
        raise AssertionError(f"pattern {self.name} has no match_and_rewrite")


class _Changes(Listener):
    """What one pattern did."""

    def __init__(self) -> None:
        self.erased: set[Operation] = set()
        self.touched: dict[Operation, None] = {}
        self.any = False

    def op_inserted(self, op: Operation) -> None:
        self.any = True
        self.touched[op] = None

    def op_modified(self, op: Operation) -> None:
        self.any = True
        self.touched[op] = None

    def op_erased(self, op: Operation) -> None:
        self.any = True
        self.erased.add(op)
        self.touched.pop(op, None)


class ConversionRewriter(Rewriter):
    """The rewriter of a conversion: values may be replaced by values of other types, one by several."""

    __slots__ = ("casts", "changes", "converted", "converter")

    def __init__(self, point: InsertionPoint) -> None:
        super().__init__(point)
        self.changes = _Changes()
        self.listeners.append(self.changes)
        self.casts: dict[UnrealizedConversionCast, TypeConverter | None] = {}
        self.converted: dict[Value, Sequence[Value]] = {}
        self.converter: TypeConverter | None = None

    def replace_all_uses(self, old: Value, new: Value) -> None:
        """Make every use of `old` refer to `new`, which may have another type."""
        # Users are not told: that their operands changed is what the walk is about to look at anyway.
        if new.type is not old.type and old.has_uses:
            home, definition = new.owner_block, new.defining_op
            assert home is not None
            new = self._stand_in(old, [new], home, definition.next_op if definition else home.first_op)
        old.replace_all_uses_with(new)

    def replace_op(self, op: Operation, new: Operation | Sequence[Value | Sequence[Value]]) -> None:
        """Replace each result by a value, or by a list of values, of whatever types, and erase the operation."""
        items: Sequence[Value | Sequence[Value]] = new.results if isinstance(new, Operation) else new
        if len(items) != len(op.results):
            raise ValueError(f"'{op.name}' has {len(op.results)} results, replaced by {len(items)} values")
        for result, item in zip(op.results, items, strict=True):
            values = [item] if isinstance(item, Value) else list(item)
            if result.has_uses:
                assert op.parent is not None
                result.replace_all_uses_with(self._stand_in(result, values, op.parent, op))
        self.erase_op(op)

    def _stand_in(self, old: Value, values: Sequence[Value], block: Block, before: Operation | None) -> Value:
        """A value of the old type that stands for `values`."""
        if len(values) == 1 and values[0].type is old.type:
            return values[0]
        if len(values) == 1:
            values[0].name_hint = values[0].name_hint or old.name_hint
        cast = UnrealizedConversionCast.make(values, [old.type], old.location)
        block.insert_before(before, cast)
        self.casts[cast] = self.converter
        self.converted[cast.results[0]] = values
        return cast.results[0]

    def convert_block(self, block: Block, signature: SignatureConversion) -> Block:
        """Give a block converted arguments in place; branches to it are for their own patterns to convert."""
        old = list(block.arguments)
        if len(old) != len(signature.groups):
            raise ValueError(f"the block has {len(old)} arguments, the conversion {len(signature.groups)}")
        self.changes.any = True
        first = block.first_op
        for argument, types in zip(old, signature.groups, strict=True):
            if types == (argument.type,):
                fresh = [block.add_argument(argument.type, argument.location)]
                fresh[0].name_hint = argument.name_hint
            else:
                fresh = [block.add_argument(type, argument.location) for type in types]
            if argument.has_uses:
                argument.replace_all_uses_with(self._stand_in(argument, fresh, block, first))
        for _ in old:
            block.erase_argument(0)
        return block

    def convert_region_types(
        self, region: Region, converter: TypeConverter, entry: SignatureConversion | None = None
    ) -> bool:
        """Convert the arguments of every block (the entry's by `entry` if given); False, and nothing done, if a type
        cannot be converted."""
        signatures: list[SignatureConversion] = []
        for block in region.blocks:
            signature = converter.convert_signature([a.type for a in block.arguments])
            if entry is not None and block is region.entry:
                signature = entry
            if signature is None:
                return False
            signatures.append(signature)
        for block, signature in zip(region.blocks, signatures, strict=True):
            self.convert_block(block, signature)
        return True

    def remapped(self, value: Value, types: Sequence[Type], before: Operation) -> Sequence[Value]:
        """`value` as values of `types`: those that it was replaced by, or a cast inserted before an operation."""
        known = self.converted.get(value)
        if known is not None and [v.type for v in known] == list(types):
            return known
        if len(types) == 1 and value.type is types[0]:
            return [value]
        if not types:
            return []
        assert before.parent is not None
        cast = UnrealizedConversionCast.make([value], types, value.location)
        before.parent.insert_before(before, cast)
        self.casts[cast] = self.converter
        return cast.results


_MAX_DEPTH = 64
"""Patterns applied to what patterns made, before that is taken for a loop."""


class _Conversion:
    def __init__(
        self, root: Operation, target: ConversionTarget, patterns: Sequence[Pattern], full: bool
    ) -> None:
        self.root = root
        self.target = target
        self.patterns = PatternSet(patterns)
        self.full = full
        self.rewriter = ConversionRewriter(InsertionPoint(Block()))
        self.allowed: set[Operation] = set()

    def run(self) -> None:
        erased = self.rewriter.changes.erased
        for op in list(self.root.walk()):
            if op in erased:
                continue
            if self.allowed and op.parent_op in self.allowed:
                self.allowed.add(op)
                continue
            self.legalize(op)
        self.settle_casts()

    def legalize(self, start: Operation) -> None:
        work = [(start, 0)]
        changes = self.rewriter.changes
        while work:
            op, depth = work.pop()
            if op in changes.erased or op.parent is None:
                continue
            legal = self.target.is_legal(op)
            if legal:
                if op.regions and self.target.is_recursively_legal(op):
                    self.allowed.add(op)
                continue
            reasons: list[str] = []
            if depth <= _MAX_DEPTH and self.apply_pattern(op, reasons):
                new = [(inner, depth + 1) for inner in changes.touched]
                work += reversed(new)
            elif legal is False or self.full:
                raise self.failure(op, legal, reasons, depth)

    def failure(self, op: Operation, legal: bool | None, reasons: list[str], depth: int) -> DiagnosticError:
        why = " that was explicitly marked illegal" if legal is False else ""
        diagnostic = Diagnostic("error", op.location, f"failed to legalize operation '{op.name}'{why}")
        if depth > _MAX_DEPTH:
            diagnostic.note(f"patterns made illegal operations of one another {_MAX_DEPTH} times")
        for reason in reasons:
            diagnostic.note(reason)
        return DiagnosticError(diagnostic)

    def apply_pattern(self, op: Operation, reasons: list[str]) -> bool:
        rewriter, changes = self.rewriter, self.rewriter.changes
        for pattern in self.patterns.for_op(op):
            rewriter.set_before(op)
            changes.any = False
            changes.touched.clear()
            rewriter.converter = getattr(pattern, "converter", None)
            casts = len(rewriter.casts)
            outcome = self.try_pattern(pattern, op)
            if outcome is True:
                return True
            if changes.any:
                raise AssertionError(f"pattern {pattern.name} changed '{op.name}' and then gave up")
            if len(rewriter.casts) > casts:
                self.drop_casts(len(rewriter.casts) - casts)
            reasons.append(f"pattern {pattern.name} does not apply" + (f": {outcome}" if outcome else ""))
        return False

    def try_pattern(self, pattern: Pattern, op: Operation) -> bool | str | None:
        if isinstance(pattern, RewritePattern):
            return pattern.match_and_rewrite(op, self.rewriter)
        assert isinstance(pattern, ConversionPattern)
        converter = pattern.converter
        values: list[Sequence[Value]] = []
        for use in op.op_operands:
            if converter is None or pattern.unchanged_operands:
                values.append([use.value])
                continue
            types = converter.convert(use.value.type)
            if types is None:
                return f"the type {use.value.type} of operand #{use.index} cannot be converted"
            values.append(self.rewriter.remapped(use.value, types, op))
        try:
            return pattern.match_and_rewrite(op, Adaptor(op, values), self.rewriter)
        except PatternFailure as failure:
            return str(failure)

    def drop_casts(self, count: int) -> None:
        """Take back the last casts, made for a pattern that then did not apply."""
        for _ in range(count):
            cast, _converter = self.rewriter.casts.popitem()
            cast.erase()

    def settle_casts(self) -> None:
        """Cancel casts, and let the converters make what they can of those that remain."""
        casts = self.rewriter.casts
        erased = self.rewriter.changes.erased
        remaining = reconcile(cast for cast in casts if cast not in erased)
        for cast in remaining:
            converter = casts[cast]
            made = self.materialize(cast, converter) if converter is not None else None
            if made is not None:
                cast.replace_all_uses_with(made)
                cast.erase()
            elif not self.target.is_legal(cast) and (self.full or self.target.is_legal(cast) is False):
                old = ", ".join(f"'{t}'" for t in cast.operand_types)
                new = ", ".join(f"'{t}'" for t in cast.result_types)
                diagnostic = Diagnostic(
                    "error",
                    cast.location,
                    f"failed to legalize unresolved materialization from ({old}) to ({new}) "
                    "that remained live after conversion",
                )
                user = next((u for r in cast.results for u in r.users), None)
                if user is not None:
                    diagnostic.note(f"see existing live user here: '{user.name}'", user.location)
                raise DiagnosticError(diagnostic)

    def materialize(self, cast: UnrealizedConversionCast, converter: TypeConverter) -> Sequence[Value] | None:
        builder = Builder.before(cast)
        if cast.results[0] in self.rewriter.converted:
            value = converter.materialize_source(builder, cast.results[0].type, cast.operands)
            return None if value is None else [value]
        return converter.materialize_target(builder, cast.result_types, cast.operand(0))


def _convert(root: Operation, target: ConversionTarget, patterns: Sequence[Pattern], full: bool) -> None:
    snapshot = root.clone()
    try:
        _Conversion(root, target, patterns, full).run()
    except BaseException:
        root.attributes = snapshot.attributes
        for region, before in zip(root.regions, snapshot.regions, strict=True):
            for op in [op for block in region.blocks for op in block]:
                op.drop_all_references()
            for block in region.blocks:
                block.parent = None
            region.blocks = []
            region.take_blocks(before)
        raise
    snapshot.drop_all_references()


def apply_partial_conversion(root: Operation, target: ConversionTarget, patterns: Sequence[Pattern]) -> None:
    """Convert the operations inside `root` until none is illegal; ops of which the target says nothing may stay.

    On failure `root` prints as before (its body is a copy: operations in it are other objects), and a DiagnosticError
    names the op that could not be legalized.
    """
    _convert(root, target, patterns, full=False)


def apply_full_conversion(root: Operation, target: ConversionTarget, patterns: Sequence[Pattern]) -> None:
    """As `apply_partial_conversion`, but every operation must be legal in the end, casts included."""
    _convert(root, target, patterns, full=True)
