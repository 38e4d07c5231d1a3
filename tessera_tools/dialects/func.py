"""The `func` dialect: functions, calls and returns.

`FunctionLike` is the base of everything with a signature (`func.func`, `gpu.func`): the type, attributes of arguments
and results, and the syntax `@name(%a: i32 {x}) -> (f32 {y})`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    ArrayAttr,
    DictionaryAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    symbol_text,
)
from tessera_tools.ir.core import BlockArgument, Operation, Value
from tessera_tools.ir.symbols import lookup_symbol
from tessera_tools.ir.types import FunctionType
from tessera_tools.opdef import (
    ARRAY_ATTR,
    CONSTANT_LIKE,
    ISOLATED_FROM_ABOVE,
    PURE,
    RETURN_LIKE,
    STRING_ATTR,
    SYMBOL,
    SYMBOL_NAME,
    SYMBOL_REF,
    UNIT_ATTR,
    AttrKind,
    CustomDirective,
    Dialect,
    HasParent,
    Op,
    attribute,
    of,
    operand,
    ops_of,
    region,
    result,
    variadic_operand,
    variadic_result,
    verify_parameters,
)
from tessera_tools.opdef.directive import Token

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

FUNCTION_TYPE_ATTR: AttrKind[TypeAttr[FunctionType]] = AttrKind(
    "type attribute of function type", lambda a: isinstance(a, TypeAttr) and isinstance(a.value, FunctionType)
)

SIGNATURE_GRAMMAR = """
custom_arguments: arguments -> named | "(" custom_typed ("," custom_typed)* ")" -> typed
custom_typed: TYPE [ATTR_DICT]
custom_results: "->" TYPE -> single | "->" "(" custom_typed ("," custom_typed)* ")" -> several | "->" "(" ")" -> several
"""
"""Grammar rules for the signature of a function, for directives that read with `read_signature`."""


def read_signature(state: OpState, arguments: Node, results: Node) -> list[tuple[Token, Type]]:
    """Set `function_type`, `arg_attrs` and `res_attrs` from the nodes of SIGNATURE_GRAMMAR's rules; the named
    entry arguments with their types."""
    form, listed = arguments
    if form == "named":
        entries = listed[0]
        named = [(entry[0], entry[1]) for entry in entries]
        inputs = [(entry[1], entry[2]) for entry in entries]
        for token, _, _, location in entries:
            state.argument_location(token, location)
    else:
        named = []
        inputs = [(entry[0], entry[1]) for entry in listed]
    outputs: list[tuple[Type, Node]] = []
    if results is not None:
        form, listed = results
        outputs = [(listed[0], None)] if form == "single" else [(entry[0], entry[1]) for entry in listed]
    signature = FunctionType(tuple(t for t, _ in inputs), tuple(t for t, _ in outputs))
    state.attribute("function_type", TypeAttr(signature))
    for key, entries in (("arg_attrs", inputs), ("res_attrs", outputs)):
        if any(attributes for _, attributes in entries):
            state.attribute(
                key, ArrayAttr(tuple(DictionaryAttr.of(attributes or {}) for _, attributes in entries))
            )
    return named


def write_signature(p: Printer, op: FunctionLike, arguments: Sequence[Value], types: Sequence[Type]) -> None:
    """Write `(%a: i32 {x}) -> f32`: with the arguments' names, or only the types if there are none."""
    p.write("(")
    for i, type in enumerate(types):
        p.write(", " if i else "")
        p.write(f"{p.name(arguments[i])}: " if arguments else "")
        p.write(p.type(type))
        _write_attributes(p, op.argument_attributes(i))
        p.write(p.argument_location(arguments[i]) if arguments else "")
    p.write(")")
    outputs = op.signature.results
    if not outputs:
        return
    plain = len(outputs) == 1 and not isinstance(outputs[0], FunctionType) and not op.result_attributes(0)
    p.write(" -> " if plain else " -> (")
    for i, type in enumerate(outputs):
        p.write(", " if i else "")
        p.write(p.type(type))
        _write_attributes(p, op.result_attributes(i))
    p.write("" if plain else ")")


def _write_attributes(p: Printer, attributes: dict[str, Attribute]) -> None:
    if attributes:
        p.write(f" {DictionaryAttr.of(attributes)}")


class FunctionLike(Op):
    """The base of functions: a symbol with a function type and a body, empty for a declaration."""

    sym_name = attribute(SYMBOL_NAME)
    function_type = attribute(FUNCTION_TYPE_ATTR)
    arg_attrs = attribute(ARRAY_ATTR, optional=True)
    res_attrs = attribute(ARRAY_ATTR, optional=True)
    body = region()

    @property
    def signature(self) -> FunctionType:
        """The function's type; `() -> ()` if the attribute is not a function type, which is reported separately."""
        found = self.attributes.get("function_type")
        if isinstance(found, TypeAttr) and isinstance(found.value, FunctionType):
            return found.value
        return FunctionType((), ())

    @property
    def is_declaration(self) -> bool:
        return not self.body.blocks

    @property
    def arguments(self) -> list[BlockArgument]:
        """The entry block's arguments of the parameters; empty for a declaration."""
        return self.body.entry.arguments[: len(self.signature.inputs)] if self.body.blocks else []

    def argument_attributes(self, index: int) -> dict[str, Attribute]:
        """The attributes of parameter `index`."""
        return _entry(self.arg_attrs, index)

    def result_attributes(self, index: int) -> dict[str, Attribute]:
        """The attributes of result `index`."""
        return _entry(self.res_attrs, index)

    def set_signature(self, inputs: Sequence[Type], results: Sequence[Type]) -> None:
        """Replace the function type; the entry block is the caller's to keep in step."""
        self.function_type = TypeAttr(FunctionType(tuple(inputs), tuple(results)))

    def verify_op(self) -> None:
        for key, noun, types in (
            ("arg_attrs", "argument", self.signature.inputs),
            ("res_attrs", "result", self.signature.results),
        ):
            verify_parameters(self, key, noun, types)
            attributes = self.arg_attrs if key == "arg_attrs" else self.res_attrs
            entries = [_entry(attributes, i) for i in range(len(types))]
            # A dialect attribute is allowed under any name: `sharding = #tile.sharding<…>`. Listings of `tile` use only
            # the name of the axis, `sharding = "x"`.
            if any(
                "." not in k and k != "sharding" and v.name.startswith("builtin.")
                for entry in entries
                for k, v in entry.items()
            ):
                raise self.error(f"{noun}s may only have dialect attributes")
        if self.body.blocks:
            self.verify_entry(len(self.signature.inputs))

    def verify_entry(self, count: int) -> None:
        """Check the entry block's arguments against the signature; `count` is how many it must have."""
        arguments, inputs = self.body.entry.arguments, self.signature.inputs
        if len(arguments) != count:
            raise self.error(f"entry block must have {count} arguments to match function signature")
        for i, (argument, type) in enumerate(zip(arguments, inputs, strict=False)):
            if argument.type is not type:
                raise self.error(
                    f"type of entry block argument #{i}('{argument.type}') must match the type of the corresponding "
                    f"argument in function signature('{type}')"
                )


def _entry(attributes: ArrayAttr | None, index: int) -> dict[str, Attribute]:
    if attributes is None or index >= len(attributes):
        return {}
    entry = attributes.elements[index]
    return dict(entry.entries) if isinstance(entry, DictionaryAttr) else {}


class FunctionSyntax(CustomDirective, name="Function"):
    """`private @name(%a: i32 {x}) -> f32 attributes {…} {…}`"""

    grammar = (
        """custom: [custom_visibility] SYMBOL custom_arguments [custom_results] attr_dict_with_keyword custom_body
custom_visibility: "public" -> public | "private" -> private | "nested" -> nested
custom_body: region -> present | -> absent
"""
        + SIGNATURE_GRAMMAR
    )

    def read(self, state: OpState, node: Node) -> None:
        visibility, symbol, arguments, results, attributes, body = node
        if visibility is not None:
            state.attribute("sym_visibility", StringAttr(visibility[0]))
        state.attribute("sym_name", StringAttr(symbol[0][0]))
        for key, value in attributes.items():
            if key in ("sym_visibility", "sym_name", "function_type"):
                raise state.error(
                    None,
                    f"'{key}' is an inferred attribute and should not be specified in the explicit attribute "
                    "dictionary",
                )
            state.attribute(key, value)
        named = read_signature(state, arguments, results)
        form, children = body
        # After a syntax error, the statements of the body may be missing.
        if form == "present" and not children[0] and not state.parser.errors:
            raise state.error(None, "expected non-empty function body")
        if form == "present":
            # Without names the entry block's own label binds the arguments.
            state.region("body", children[0], named)

    def write(self, p: Printer, op: Func) -> None:
        if op.sym_visibility is not None:
            p.write(f" {op.sym_visibility.value}")
        p.write(f" {symbol_text(op.sym_name.value)}")
        write_signature(p, op, op.arguments, op.signature.inputs)
        hidden = ("sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs")
        p.attr_dict(op, hidden, keyword=True)
        if op.body.blocks:
            p.write(" ")
            p.region(op.body, arguments=False)


class Func(FunctionLike, name="func.func", traits=(ISOLATED_FROM_ABOVE, SYMBOL)):
    """A function; without a body a declaration."""

    sym_visibility = attribute(STRING_ATTR, optional=True)
    no_inline = attribute(UNIT_ATTR, optional=True)
    assembly = "custom<Function>"
    default_dialect = "func"

    def verify_op(self) -> None:
        if self.is_declaration and (self.sym_visibility is None or self.sym_visibility.value == "public"):
            raise self.error("symbol declaration cannot have public visibility")
        super().verify_op()


class Return(Op, name="func.return", traits=(RETURN_LIKE, PURE, HasParent("func.func"))):
    """Ends a function with its results."""

    operands_ = variadic_operand()
    assembly = "attr-dict ($operands^ `:` type($operands))?"

    def verify_op(self) -> None:
        function = self.parent_op
        if not isinstance(function, Func):
            return
        results, given = function.signature.results, self.operand_types
        if len(results) != len(given):
            raise self.error(
                f"has {len(given)} operands, but enclosing function (@{function.sym_name.value}) returns {len(results)}"
            )
        for i, (found, expected) in enumerate(zip(given, results, strict=True)):
            if found is not expected:
                raise self.error(
                    f"type of return operand {i} ('{found}') doesn't match function result type ('{expected}') "
                    f"in function @{function.sym_name.value}",
                    named=False,  # as upstream
                )


class Call(Op, name="func.call"):
    """A call of a function of known name."""

    callee = attribute(SYMBOL_REF)
    operands_ = variadic_operand()
    arg_attrs = attribute(ARRAY_ATTR, optional=True)
    res_attrs = attribute(ARRAY_ATTR, optional=True)
    no_inline = attribute(UNIT_ATTR, optional=True)
    results_ = variadic_result()
    assembly = "$callee `(` $operands `)` attr-dict `:` functional-type($operands, $results)"

    @property
    def call_operands(self) -> list[Value]:
        """The values that become the callee's arguments, in order."""
        return self.operands

    def verify_op(self) -> None:
        callee = lookup_symbol(self, self.callee)
        if not isinstance(callee, Func):
            raise self.error(f"'{_bare(self.callee)}' does not reference a valid function")
        signature, given, outputs = callee.signature, self.operand_types, self.result_types
        if len(signature.inputs) != len(given):
            raise self.error("incorrect number of operands for callee")
        for i, (expected, found) in enumerate(zip(signature.inputs, given, strict=True)):
            if expected is not found:
                raise self.error(
                    f"operand type mismatch: expected operand type '{expected}', but provided '{found}' "
                    f"for operand number {i}"
                )
        if len(signature.results) != len(outputs):
            raise self.error("incorrect number of results for callee")
        for i, (expected, found) in enumerate(zip(signature.results, outputs, strict=True)):
            if expected is not found:
                failure = self.error(f"result type mismatch at index {i}")
                failure.diagnostics[0].note(f"op result types: {_types(outputs)}")
                failure.diagnostics[0].note(f"function result types: {_types(signature.results)}")
                raise failure


def _bare(reference: SymbolRefAttr) -> str:
    return "::".join((reference.root, *reference.nested))


def _types(types: Sequence[Type]) -> str:
    return ", ".join(f"'{t}'" for t in types)


class CallIndirect(Op, name="func.call_indirect"):
    """A call of a function value."""

    callee = operand(of(FunctionType, summary="function type"))
    callee_operands = variadic_operand()
    arg_attrs = attribute(ARRAY_ATTR, optional=True)
    res_attrs = attribute(ARRAY_ATTR, optional=True)
    results_ = variadic_result()
    assembly = (
        "$callee `(` $callee_operands `)` attr-dict "
        "`:` custom<CalleeType>(type($callee), type($callee_operands), type($results))"
    )

    @property
    def call_operands(self) -> list[Value]:
        """The values that become the callee's arguments, in order."""
        return self.callee_operands

    def verify_op(self) -> None:
        signature = self.callee.type
        if list(signature.inputs) != [v.type for v in self.callee_operands]:
            raise self.error("failed to verify that callee input types match argument types")
        if list(signature.results) != self.result_types:
            raise self.error("failed to verify that callee result types match result types")


class CalleeType(CustomDirective, name="CalleeType"):
    """The type of the callee of an indirect call."""

    grammar = "custom: FUNCTION_TYPE"

    def read(self, state: OpState, node: Node) -> None:
        (function,) = node
        state.types("callee", [function])
        state.types("callee_operands", list(function.inputs))
        state.types("results", list(function.results))

    def write(self, p: Printer, op: CallIndirect) -> None:
        p.write(" ")
        p.write(p.type(op.callee.type))


class Constant(Op, name="func.constant", traits=(PURE, CONSTANT_LIKE)):
    """A function as a value."""

    value = attribute(SYMBOL_REF)
    result = result(of(FunctionType, summary="function type"))
    assembly = "attr-dict $value `:` type($result)"

    def verify_op(self) -> None:
        function: Operation | None = lookup_symbol(self, self.value)
        if not isinstance(function, FunctionLike):
            raise self.error(f"reference to undefined function '{_bare(self.value)}'")
        if function.signature is not self.result.type:
            raise self.error("reference to function with mismatched type")

    def fold(self, operands: Sequence[Attribute | None]) -> Sequence[Attribute | Value] | None:
        return [self.value]


def make_constant(value: Attribute, type: Type) -> Operation | None:
    """`func.constant` for a symbol of function type."""
    if isinstance(value, SymbolRefAttr) and isinstance(type, FunctionType):
        return Constant(value, result=type)
    return None


DIALECT = Dialect("func", "functions", ops_of(globals()), make_constant=make_constant, is_complete=True)
