"""From the light tree to IR, top-down: scopes, forward references, type inference, block labels.

    Statement ──format.read──▶ OpState ──types resolved──▶ operands, result types ──▶ Operation

An error in one operation is recorded, and its results become unknown values, whose users are skipped without errors, so
that all independent errors of a file are reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.core import Block, Operation, Region, UnregisteredOp, Value
from tessera_tools.ir.location import Location
from tessera_tools.ir.traits import IsolatedFromAbove, NoTerminator, SingleBlock, implicit_terminator
from tessera_tools.ir.types import I32, NONE
from tessera_tools.lalr import Node
from tessera_tools.opdef import Op
from tessera_tools.opdef.dialect import find_dialect, find_op
from tessera_tools.opdef.directive import Known, OpState, Token
from tessera_tools.opdef.fields import OperandField
from tessera_tools.parser.rules import Assigned, Statement
from tessera_tools.parser.scopes import Forward, Scope, Scopes, Skip, Unknown
from tessera_tools.parser.source import Source

if TYPE_CHECKING:
    from tessera_tools.opdef.op import OpDefinition


class Builder(Scopes):
    """Builds the operations of one file."""

    def __init__(
        self, source: Source, *, allow_unregistered: bool = False, implicit_index_constants: bool = False
    ) -> None:
        super().__init__(source, implicit_index_constants)
        self.allow_unregistered = allow_unregistered
        self.labels: list[dict[str, Block]] = []
        """The block names of each open region."""

    def build(self, statements: list[Statement]) -> Block:
        """A block with the file's top-level operations; raises DiagnosticError with all errors."""
        block = Block()
        self._statements(statements, block, None)
        self.close_scope(self.scope)
        if self.errors:
            self.errors.sort(key=lambda d: d.location.start() or ("", 0, 0) if d.location else ("", 0, 0))
            raise DiagnosticError(*self.errors)
        return block

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
            except Skip:
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
                    name, [Unknown(NONE) for _ in range(min(count, 4096))], statement.results.start, names
                )

    def _statement(self, statement: Statement) -> Operation:
        location: Location = statement.location or self.source.location(statement.start)
        if statement.children is None:
            if statement.generic is None:
                raise Skip  # a syntax error that was already reported
            return self._generic(statement, location)
        op_class = find_op(statement.name)
        assert op_class is not None
        state = OpState(op_class.definition, self, statement.start)
        if statement.children and isinstance(first := statement.children[0], Assigned):
            _read_assigned(state, first)
        else:
            format = op_class.definition.format
            assert format is not None
            format.read(state, statement.children)
        try:
            return self._finish(state.definition.op_class, state, location)
        except (ValueError, OverflowError) as problem:
            raise self.error_at(statement.start, f"'{statement.name}' op {problem}") from None

    # -- the custom form

    def _finish(self, op_class: type[Op], state: OpState, location: Location) -> Operation:
        definition = op_class.definition
        attributes = state.attributes
        known: dict[str, Known] = {}
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
        from_regions = None
        for field in definition.results:
            types = explicit.get(field.name)
            if types is None:
                types = []
                if field.arity == "variadic":
                    from_regions = getattr(op_class, "types_of_regions", None)
                elif field.arity == "single":
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
        if from_regions is not None:
            result_types += from_regions(regions)
        self._check_operands(operands)
        successors: list[Block] = []
        for field in definition.successors:
            for successor in state.successors.get(field.name, ()):
                successors.append(self._label(successor))
        return op_class.create(operands, result_types, attributes, regions, successors, location)

    def _operands(
        self, definition: OpDefinition, state: OpState, known: dict[str, Known]
    ) -> tuple[list[Value], list[int]]:
        explicit = state.value_types
        resolved: dict[str, list[Value]] = {}
        waiting: list[OperandField[object]] = []
        # Explicit types first, then the types of defined values; other types are inferred from those.
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
        """Reject an operand whose only definition is inside the operation's own regions."""
        for value in operands:
            if value.__class__ is Forward and value.resolved:  # type: ignore[attr-defined]
                start = value.start  # type: ignore[attr-defined]
                raise self.error_at(
                    start,
                    "use of undeclared SSA value name: it is defined only inside the operation's regions",
                )

    def _regions(self, op_class: type[Op], definition: OpDefinition, state: OpState) -> list[Region]:
        regions: list[Region] = []
        implicit = implicit_terminator(op_class)
        for field in definition.regions:
            given = state.regions.get(field.name, ())
            if not given and field.arity == "single":
                regions.append(Region())
            for region_state in given:
                arguments = region_state.arguments
                for token, type in arguments:
                    if type is None:
                        raise self.error_at(token.start, f"the type of '{token.text}' is not given")
                region = self._region(
                    region_state.node,
                    region_state.arguments,
                    op_class.has_trait(IsolatedFromAbove),
                    state.argument_locations,
                )
                if not region.blocks and (op_class.has_trait(NoTerminator) or implicit is not None):
                    region.append(Block())
                regions.append(region)
        if implicit is not None:
            implicit.complete(regions, self.source.location(state.start))
        return regions

    # -- the generic form

    def _generic(self, statement: Statement, location: Location) -> Operation:
        assert statement.generic is not None
        tokens, successors_node, props, regions_node, attributes, function_type = statement.generic
        op_class = find_op(statement.name)
        if not statement.name:
            raise self.error_at(statement.start, "empty operation name is invalid")
        if op_class is None:
            self._check_unregistered(statement)
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
        if op_class.has_trait(SingleBlock) and op_class.has_trait(NoTerminator):
            for region in regions:
                if not region.blocks:
                    region.append(Block())
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

    def nested_op(self, name: Token, operands: list[Token]) -> Token:
        """Build an op that is written in place of an operand, before the op that uses it; returns a token for its
        result.

        The op may only have operands of known types, and results whose types follow from them.
        """
        op_class = find_op(name.text)
        if op_class is None:
            raise self.error_at(name.start, f"unknown op '{name.text}'")
        definition = op_class.definition
        if len(definition.results) != 1:
            raise self.error_at(
                name.start,
                f"'{name.text}' has {len(definition.results)} results; expected an op with one in place of an "
                "operand",
            )
        if len(definition.operands) != len(operands):
            raise self.error_at(
                name.start,
                f"'{name.text}' takes {len(definition.operands)} operands here, found {len(operands)}",
            )
        state = OpState(definition, self, name.start)
        for field, token in zip(definition.operands, operands, strict=True):
            state.operand(field.name, token)
        op = self._finish(op_class, state, self.source.location(name.start))
        assert self.block is not None
        self.block.append(op)
        result = f"%nested at {name.start}"
        self.scope.values[result] = [op.results[0]]
        return Token(result, name.start)

    def _check_unregistered(self, statement: Statement) -> None:
        """Reject an unregistered op unless such ops are allowed."""
        name = statement.name
        dialect = find_dialect(name.partition(".")[0])
        advice = "use --allow-unregistered-dialect to allow it"
        if dialect is None:
            problem = f"op '{name}' has unregistered dialect '{name.partition('.')[0]}'; {advice}"
        elif not dialect.is_complete:
            problem = f"unknown op '{name}'; {advice}"
        else:
            problem = (
                f"unregistered operation '{name}' found in dialect ('{dialect.name}') that does not allow unknown "
                "operations"
            )
            raise self.error_at(statement.start, problem)
        if not self.allow_unregistered:
            raise self.error_at(statement.start, problem)

    # -- regions and blocks

    def _region(
        self,
        node: list[Node],
        bound: Sequence[tuple[Token, Type | None]],
        isolated: bool,
        locations: Mapping[int, Location] = MappingProxyType({}),
    ) -> Region:
        """Declare all blocks, then fill them.  `bound` are entry arguments that the op's syntax binds."""
        plan = _split_region(node, bool(bound))
        region = Region()
        outer_scope = self.scope
        if isolated:
            self.scope = Scope(outer_scope)
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
                    if arguments and label is not None:
                        raise self.error_at(
                            label.start, "the entry block's arguments are already bound by the operation"
                        )
                    self._bind_arguments(block, bound, names, locations)
                for token, type, _, location in arguments or ():
                    block.add_argument(type, location or self.source.location(token.start))
            if self.scope.top is None and region.blocks:
                self.scope.top = region.entry
            for block, (_, arguments, statements) in zip(region.blocks, plan, strict=True):
                for argument, written in zip(block.arguments, arguments or (), strict=False):
                    self._name(argument, written[0], names)
                self._statements(statements, block, names)
        finally:
            self.labels.pop()
            if isolated:
                self.close_scope(self.scope)
                self.scope = outer_scope
            else:
                for name in names:
                    del self.scope.values[name]
        return region

    def _bind_arguments(
        self,
        block: Block,
        arguments: Sequence[tuple[Token, Type | None]],
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
        """The block of this region with that name; all blocks are declared before any is filled."""
        block = self.labels[-1].get(token.text) if self.labels else None
        if block is None:
            raise self.error_at(token.start, f"reference to an undefined block '{token.text}'")
        return block


def _read_assigned(state: OpState, written: Assigned) -> None:
    """`%dest = %source : type` as the operands of a copy."""
    if written.dest is written.source or "," in written.dest.text or ":" in written.dest.text:
        raise state.error(written.source, "expected an operation, or '%buffer = %buffer : type' for a copy")
    state.operand("source", written.source)
    state.operand("dest", written.dest)
    state.types("dest", [written.type])


_Plan: TypeAlias = tuple[Token | None, Node, list[Statement]]


def _split_region(node: list[Node], bound: bool) -> list[_Plan]:
    """The region's blocks as (label, argument nodes, statements).  Statements before the first label are the entry
    block; with `bound` arguments there is always one."""
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
    """`%a, %b:2 =` → [("%a", 1), ("%b", 2)]; a count has fewer than ten digits."""
    groups: list[tuple[str, int]] = []
    for part in text.rstrip("= \t\r\n").split(","):
        name, _, count = part.partition(":")
        digits = count.strip()
        groups.append((name.strip(), int(digits[:10]) if digits else 1))
    return groups
