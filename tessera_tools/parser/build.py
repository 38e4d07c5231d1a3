"""From the light tree to IR, top-down: scopes, forward references, type inference, block labels.

    Statement ──format.read──▶ OpState ──types resolved──▶ operands, result types ──▶ Operation

An error in one operation is recorded and its results become unknown values, whose users are skipped in silence, so
that every independent error of a file is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tessera_tools.diagnostics import Diagnostic, DiagnosticError
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.core import Block, Operation, Region, UnregisteredOp, Value
from tessera_tools.ir.location import Location
from tessera_tools.ir.traits import IsolatedFromAbove, NoTerminator
from tessera_tools.ir.types import I32, NONE
from tessera_tools.opdef.dialect import find_op
from tessera_tools.opdef.directive import OpState, RegionState, SuccessorState, Token
from tessera_tools.parser.rules import Statement
from tessera_tools.parser.source import Source


class _Forward(Value):
    """Stands for a value used before its definition."""

    __slots__ = ("resolved", "start", "untyped")

    def __init__(self, type: Type, start: int) -> None:
        super().__init__(type)
        self.start = start
        self.untyped = False
        self.resolved = False


class _Unknown(Value):
    """Stands for a value whose definition is in error."""

    __slots__ = ()


class _Skip(Exception):
    """An operation that uses an unknown value: nothing more is to be said about it."""


class _Scope:
    """The names visible in one isolated region."""

    __slots__ = ("forward", "starts", "values")

    def __init__(self) -> None:
        self.values: dict[str, list[Value]] = {}
        self.starts: dict[str, int] = {}
        self.forward: dict[str, _Forward] = {}


class Builder:
    """Builds the operations of one file."""

    def __init__(
        self, source: Source, *, allow_unregistered: bool = False, implicit_index_constants: bool = False
    ) -> None:
        self.source = source
        self.allow_unregistered = allow_unregistered
        self.implicit_index_constants = implicit_index_constants
        self.errors: list[Diagnostic] = []
        self.scope = _Scope()
        self.block: Block | None = None
        self.labels: list[dict[str, Block]] = []

    def error_at(self, start: int, message: str) -> DiagnosticError:
        """An error at a character offset (the interface that `OpState` uses)."""
        return self.source.error(start, message)

    def build(self, statements: list[Statement]) -> Block:
        """A block with the file's top-level operations; raises DiagnosticError with all errors."""
        block = Block()
        self._statements(statements, block, None)
        self._close_scope(self.scope)
        if self.errors:
            self.errors.sort(key=lambda d: d.location.start() or ("", 0, 0) if d.location else ("", 0, 0))
            raise DiagnosticError(*self.errors)
        return block

    # -- scopes and values

    def _close_scope(self, scope: _Scope) -> None:
        for name, forward in scope.forward.items():
            message = f"use of undeclared SSA value name '{name}'"
            if name[1:].startswith("c") and name[2:].isdigit():
                message += f"; define it ('{name} = arith.constant {name[2:]} : index') or pass --implicit-index-constants"
            self.errors.append(self.source.diagnostic(forward.start, message))

    def value(self, token: Token, type: Type | None) -> Value:
        """The value a token names.  `type` is what the use expects; None takes the value's own."""
        name, _, number = token.text.partition("#")
        found = self.scope.values.get(name)
        if found is None:
            return self._forward_value(token, type)
        index = int(number) if number else 0
        if index >= len(found):
            raise self.error_at(
                token.start, f"reference to invalid result number: '{name}' has {len(found)} results"
            )
        value = found[index]
        if value.__class__ is _Unknown:
            raise _Skip
        if type is not None and value.type is not type:
            failure = self.error_at(
                token.start,
                f"use of value '{token.text}' expects different type than prior uses: '{type}' vs '{value.type}'",
            )
            prior = self.scope.starts.get(name)
            if prior is not None:
                failure.diagnostics[0].note("prior use here", self.source.position(prior))
            raise failure
        return value

    def _forward_value(self, token: Token, type: Type | None) -> Value:
        forward = self.scope.forward.get(token.text)
        if forward is not None:
            if forward.untyped:
                raise _Skip
            if type is not None and forward.type is not type:
                raise self.error_at(
                    token.start,
                    f"use of value '{token.text}' expects different type than prior uses: '{type}' vs '{forward.type}'",
                )
            return forward
        if self.implicit_index_constants and token.text.startswith("%c") and token.text[2:].isdigit():
            constant = self._implicit_constant(token)
            if constant is not None:
                return constant
        forward = _Forward(type or NONE, token.start)
        forward.untyped = type is None
        self.scope.forward[token.text] = forward
        if type is None:
            # Without a type there is nothing to build; what is wrong is known when the scope closes.
            raise _Skip
        return forward

    def _implicit_constant(self, token: Token) -> Value | None:
        from tessera_tools.diagnostics import emit
        from tessera_tools.ir.builtin_attributes import index

        constant_class: Any = find_op("arith.constant")
        assert self.block is not None
        top = self.block
        while (
            top.parent_op is not None
            and not top.parent_op.has_trait(IsolatedFromAbove)
            and top.parent_op.parent
        ):
            top = top.parent_op.parent
        op = constant_class(index(int(token.text[2:])), location=self.source.location(token.start))
        top.insert_before(top.first_op, op)
        self.scope.values[token.text] = [op.results[0]]
        op.results[0].name_hint = token.text[1:]
        emit(
            Diagnostic(
                "warning",
                self.source.position(token.start),
                f"undefined '{token.text}' is taken as an index constant",
            )
        )
        return op.results[0]

    def define(self, name: str, values: list[Value], start: int, names: list[str]) -> None:
        """Bind a name; `names` gathers the names to unbind when the region ends."""
        scope = self.scope
        if name in scope.values:
            failure = self.error_at(start, f"redefinition of SSA value '{name}'")
            failure.diagnostics[0].note(
                "previously defined here", self.source.position(scope.starts.get(name, start))
            )
            self.errors += failure.diagnostics
            return
        scope.values[name] = values
        scope.starts[name] = start
        names.append(name)
        if scope.forward:
            self._resolve_forward(name, values, start)

    def _resolve_forward(self, name: str, values: list[Value], start: int) -> None:
        forwards = self.scope.forward
        for i, value in enumerate(values):
            for key in (f"{name}#{i}", name) if i == 0 else (f"{name}#{i}",):
                forward = forwards.pop(key, None)
                if forward is None:
                    continue
                if forward.untyped:
                    self.errors.append(
                        self.source.diagnostic(
                            forward.start,
                            f"'{key}' is used before its definition, where its type is not yet known",
                        )
                    )
                elif forward.has_uses and forward.type is not value.type and value.__class__ is not _Unknown:
                    failure = self.error_at(
                        forward.start,
                        f"use of value '{key}' expects different type than its definition: '{forward.type}' vs '{value.type}'",
                    )
                    failure.diagnostics[0].note("defined here", self.source.position(start))
                    self.errors += failure.diagnostics
                forward.resolved = True
                forward.replace_all_uses_with(value)

    # -- statements

    def _statements(self, statements: list[Statement], block: Block, names: list[str] | None) -> None:
        if names is None:
            names = []
        outer, self.block = self.block, block
        for statement in statements:
            try:
                op = self._statement(statement)
                block.append(op)
                self._define_results(statement, op, names)
            except DiagnosticError as failure:
                self.errors += failure.diagnostics
                self._define_unknown(statement, names)
            except _Skip:
                self._define_unknown(statement, names)
        self.block = outer

    def _define_results(self, statement: Statement, op: Operation, names: list[str]) -> None:
        results = op.results
        token = statement.results
        if token is None:
            return
        text = token.text
        if len(results) == 1 and ":" not in text and "," not in text:
            name = text[:-1].rstrip()
            if not name[1].isdigit():
                results[0].name_hint = name[1:]
            self.define(name, [results[0]], token.start, names)
            return
        groups = _result_groups(text)
        total = sum(count for _, count in groups)
        if total != len(results):
            if not results:
                raise self.error_at(token.start, "cannot name an operation with no results")
            raise self.error_at(
                token.start, f"operation defines {len(results)} results but was provided {total} to bind"
            )
        at = 0
        for name, count in groups:
            if count == 0:
                raise self.error_at(token.start, "expected named operation to have at least 1 result")
            if not name[1].isdigit():
                results[at].name_hint = name[1:]
            self.define(name, list(results[at : at + count]), token.start, names)
            at += count

    def _define_unknown(self, statement: Statement, names: list[str]) -> None:
        if statement.results is None:
            return
        for name, count in _result_groups(statement.results.text):
            if name not in self.scope.values:
                self.define(
                    name, [_Unknown(NONE) for _ in range(min(count, 4096))], statement.results.start, names
                )

    def _statement(self, statement: Statement) -> Operation:
        location: Location = statement.location or self.source.location(statement.start)
        if statement.children is None:
            if statement.generic is None:
                raise _Skip  # a syntax error, already told
            return self._generic(statement, location)
        op_class = find_op(statement.name)
        assert op_class is not None
        state = OpState(op_class.definition, self, statement.start)
        op_class.definition.format.read(state, statement.children)
        try:
            return self._finish(state.definition.op_class, state, location)
        except (ValueError, OverflowError) as problem:
            raise self.error_at(statement.start, f"'{statement.name}' op {problem}") from None

    # -- the custom form

    def _finish(self, op_class: Any, state: OpState, location: Location) -> Operation:
        definition = op_class.definition
        attributes = state.attributes
        known = state.known
        for field in definition.attributes:
            value = attributes.get(field.key)
            known[field.name] = value if value is not None else field.default
            if value is not None and value is field.default:
                del attributes[field.key]
        explicit = state.value_types
        for name, types in explicit.items():
            arity = definition.fields[name].arity
            known[name] = types if arity == "variadic" else (types[0] if types else None)
        operands, sizes = self._operands(definition, state, known)
        if definition.operand_segments:
            attributes["operandSegmentSizes"] = DenseArrayAttr(I32, tuple(sizes))
        result_types: list[Type] = []
        result_sizes: list[int] = []
        for field in definition.results:
            types = explicit.get(field.name)
            if types is None:
                types = []
                if field.arity == "single":
                    inferred = definition.infer(field, known)
                    if inferred is None:
                        raise self.error_at(
                            state.start,
                            f"'{op_class.name}' op: the type of result '{field.name}' cannot be inferred",
                        )
                    types = [inferred]
                    known[field.name] = inferred
            result_types += types
            result_sizes.append(len(types))
        if definition.result_segments:
            attributes["resultSegmentSizes"] = DenseArrayAttr(I32, tuple(result_sizes))
        regions = self._regions(op_class, definition, state)
        self._check_operands(operands)
        successors: list[Block] = []
        for field in definition.successors:
            for successor in state.successors.get(field.name, ()):
                successors.append(self._successor(successor))
        return op_class.create(operands, result_types, attributes, regions, successors, location)

    def _operands(
        self, definition: Any, state: OpState, known: dict[str, Any]
    ) -> tuple[list[Value], list[int]]:
        explicit = state.value_types
        resolved: dict[str, list[Value]] = {}
        waiting: list[Any] = []
        # Explicit types first; then values already defined bring their own; what is left is inferred from those.
        for field in definition.operands:
            tokens = state.operand_tokens.get(field.name, ())
            types = explicit.get(field.name)
            if types is not None and len(types) != len(tokens):
                raise self.error_at(
                    state.start,
                    f"{len(tokens)} operands present for '{field.name}', but expected {len(types)}",
                )
            if types is not None:
                resolved[field.name] = [self.value(t, type) for t, type in zip(tokens, types, strict=True)]
            elif not tokens and field.arity != "single":
                resolved[field.name] = []
                known.setdefault(field.name, [] if field.arity == "variadic" else None)
            else:
                waiting.append(field)
        while waiting:
            expected = None
            for field in waiting:
                expected = definition.infer(field, known)
                if expected is not None:
                    break
            else:
                field = waiting[0]
            waiting.remove(field)
            tokens = state.operand_tokens.get(field.name, [])
            if field.arity == "single" and len(tokens) != 1:
                raise self.error_at(
                    state.start,
                    f"'{definition.name}' op expects one operand '{field.name}', found {len(tokens)}",
                )
            values = [self.value(token, expected) for token in tokens]
            resolved[field.name] = values
            types = [v.type for v in values]
            known[field.name] = types if field.arity == "variadic" else (types[0] if types else None)
        operands: list[Value] = []
        sizes: list[int] = []
        for field in definition.operands:
            operands += resolved[field.name]
            sizes.append(len(resolved[field.name]))
        return operands, sizes

    def _check_operands(self, operands: list[Value]) -> None:
        """Refuse an operand whose only definition stands inside the operation's own regions."""
        for value in operands:
            if value.__class__ is _Forward and value.resolved:  # type: ignore[attr-defined]
                start = value.start  # type: ignore[attr-defined]
                raise self.error_at(
                    start,
                    "use of undeclared SSA value name: it is defined only inside the operation's regions",
                )

    def _regions(self, op_class: Any, definition: Any, state: OpState) -> list[Region]:
        regions: list[Region] = []
        for field in definition.regions:
            given = state.regions.get(field.name, ())
            if not given and field.arity == "single":
                regions.append(Region())
            for region_state in given:
                arguments = region_state.arguments
                if arguments and any(type is None for _, type in arguments):
                    supplier = getattr(op_class, "entry_types", None)
                    if supplier is None:
                        raise self.error_at(
                            arguments[0][0].start, f"the type of '{arguments[0][0].text}' is not given"
                        )
                    supplied = supplier(state)
                    if len(supplied) != len(arguments):
                        raise self.error_at(
                            state.start,
                            f"'{op_class.name}' op binds {len(arguments)} region arguments, expected {len(supplied)}",
                        )
                    region_state = RegionState(
                        region_state.node,
                        [
                            (token, type or other)
                            for (token, type), other in zip(arguments, supplied, strict=True)
                        ],
                    )
                region = self._region(
                    region_state.node,
                    region_state.arguments,
                    op_class.has_trait(IsolatedFromAbove),
                    state.argument_locations,
                )
                if not region.blocks and (
                    op_class.has_trait(NoTerminator) or hasattr(op_class, "ensure_terminators")
                ):
                    region.append(Block())
                regions.append(region)
        ensure = getattr(op_class, "ensure_terminators", None)
        if ensure is not None:
            ensure(regions, self.source.location(state.start))
        return regions

    def _successor(self, state: SuccessorState) -> Block:
        if state.operands:
            raise self.error_at(state.token.start, "this op's format passes no operands to a successor")
        return self._label(state.token)

    def branch(self, successor: SuccessorState) -> tuple[Block, list[Value]]:
        """The block and operand values of a successor with operands."""
        values = [self.value(t, type) for t, type in zip(successor.operands, successor.types, strict=True)]
        return self._label(successor.token), values

    # -- the generic form

    def _generic(self, statement: Statement, location: Location) -> Operation:
        tokens, successors_node, props, regions_node, attributes, function_type = statement.generic or ()
        op_class = find_op(statement.name)
        if op_class is None and not self.allow_unregistered:
            from tessera_tools.opdef.registry import DIALECT_MODULES

            dialect = statement.name.partition(".")[0]
            what = (
                f"unknown op '{statement.name}'"
                if dialect in DIALECT_MODULES
                else f"op '{statement.name}' has unregistered dialect '{dialect}'"
            )
            raise self.error_at(statement.start, f"{what}; use --allow-unregistered-dialect to let it pass")
        if len(tokens) != len(function_type.inputs):
            raise self.error_at(
                statement.start, f"expected {len(tokens)} operand types but had {len(function_type.inputs)}"
            )
        operands = [self.value(t, type) for t, type in zip(tokens, function_type.inputs, strict=True)]
        isolated = op_class is not None and op_class.has_trait(IsolatedFromAbove)
        regions = [self._region(node, [], isolated) for node in (regions_node or [])]
        self._check_operands(operands)
        successors = []
        for token, extra in successors_node or []:
            if extra is not None:
                raise self.error_at(
                    token.start, "successor operands are operands of the operation in the generic form"
                )
            successors.append(self._label(token))
        merged: dict[str, Attribute] = dict(attributes or {})
        if op_class is None:
            return UnregisteredOp.named(
                statement.name,
                operands,
                function_type.results,
                merged,
                regions,
                successors,
                location,
                properties=dict(props or {}),
            )
        for key, value in (props or {}).items():
            if key in merged:
                raise self.error_at(statement.start, f"'{key}' is given both as property and attribute")
            merged[key] = value
        for field in op_class.definition.attributes:
            if field.default is not None and merged.get(field.key) is field.default:
                del merged[field.key]
        for key, fields in (
            ("operandSegmentSizes", op_class.definition.operands),
            ("resultSegmentSizes", op_class.definition.results),
        ):
            sizes = merged.get(key)
            if (
                key in op_class.inherent_attributes
                and isinstance(sizes, DenseArrayAttr)
                and len(sizes) != len(fields)
            ):
                raise self.error_at(
                    statement.start, f"'{key}' must have {len(fields)} elements, found {len(sizes)}"
                )
        return op_class.create(operands, function_type.results, merged, regions, successors, location)

    # -- regions and blocks

    def _region(
        self,
        node: Any,
        bound: list[tuple[Token, Type | None]],
        isolated: bool,
        locations: Mapping[int, Location] = MappingProxyType({}),
    ) -> Region:
        """Declare all blocks, then fill them.  `bound` are entry arguments that the op's own syntax binds."""
        plan = _split_region(node, bool(bound))
        region = Region()
        outer_scope = self.scope
        if isolated:
            self.scope = _Scope()
        names: list[str] = []
        labels: dict[str, Block] = {}
        self.labels.append(labels)
        try:
            for i, (label, arguments, _) in enumerate(plan):
                block = region.append(Block())
                if label is not None:
                    block.label = label.text[1:]
                    if label.text in labels:
                        raise self.error_at(label.start, f"redefinition of block '{label.text}'")
                    labels[label.text] = block
                if i == 0 and bound:
                    if arguments:
                        raise self.error_at(
                            label.start, "the entry block's arguments are already bound by the operation"
                        )
                    self._bind_arguments(block, bound, names, locations)
                for token, type, _, location in arguments or ():
                    block.add_argument(type, location or self.source.location(token.start))
            for block, (_, arguments, statements) in zip(region.blocks, plan, strict=True):
                for argument, (token, *_) in zip(block.arguments, arguments or (), strict=False):
                    self._name(argument, token, names)
                self._statements(statements, block, names)
        finally:
            self.labels.pop()
            if isolated:
                self._close_scope(self.scope)
                self.scope = outer_scope
            else:
                for name in names:
                    del self.scope.values[name]
        return region

    def _bind_arguments(
        self,
        block: Block,
        arguments: list[tuple[Token, Type | None]],
        names: list[str],
        locations: Mapping[int, Location],
    ) -> None:
        for token, type in arguments:
            assert type is not None
            location = locations.get(token.start) or self.source.location(token.start)
            argument = block.add_argument(type, location)
            self._name(argument, token, names)

    def _name(self, argument: Value, token: Token, names: list[str]) -> None:
        if not token.text[1].isdigit():
            argument.name_hint = token.text[1:]
        self.define(token.text, [argument], token.start, names)

    def _label(self, token: Token) -> Block:
        """The block of this region with that name; blocks are all declared before any is filled."""
        block = self.labels[-1].get(token.text) if self.labels else None
        if block is None:
            raise self.error_at(token.start, f"reference to an undefined block '{token.text}'")
        return block


_Plan = tuple[Token | None, Any, list[Statement]]


def _split_region(node: list[Any], bound: bool) -> list[_Plan]:
    """The region's blocks as (label, argument nodes, statements).  Statements before the first label are the entry block;
    with `bound` arguments there is an entry block in any case."""
    statements: list[Statement] = []
    blocks: list[_Plan] = []
    for child in node:
        if isinstance(child, Statement):
            statements.append(child)
        else:
            blocks.append((child[0], child[1], child[2:]))
    if statements or (bound and not blocks):
        blocks.insert(0, (None, None, statements))
    return blocks


def _result_groups(text: str) -> list[tuple[str, int]]:
    """`%a, %b:2 =` → [("%a", 1), ("%b", 2)]."""
    groups: list[tuple[str, int]] = []
    for part in text.rstrip("= \t\r\n").split(","):
        name, _, count = part.partition(":")
        groups.append((name.strip(), int(count) if count else 1))
    return groups
