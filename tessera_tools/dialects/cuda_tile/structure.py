"""Modules, entries (kernels) and globals of `cuda_tile`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.cuda_tile.attributes import OptimizationHintsAttr, SymbolVisibilityAttr
from tessera_tools.dialects.cuda_tile.constraints import ANY_CUDA_TILE, SCALAR_POINTER, pointee_of
from tessera_tools.dialects.cuda_tile.core_ops import TILE_ELEMENTS
from tessera_tools.dialects.cuda_tile.debug_checks import check_function, check_module
from tessera_tools.dialects.cuda_tile.formats import HINTS_GRAMMAR, read_hints
from tessera_tools.dialects.cuda_tile.types import TileType, short_text
from tessera_tools.ir.builtin_attributes import (
    ArrayAttr,
    DictionaryAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    i64,
    symbol_text,
)
from tessera_tools.ir.symbols import symbol_name
from tessera_tools.ir.traits import Leaves
from tessera_tools.ir.types import FunctionType
from tessera_tools.opdef import (
    ARRAY_ATTR,
    I64_ATTR,
    ISOLATED_FROM_ABOVE,
    NO_TERMINATOR,
    PURE,
    RETURN_LIKE,
    SINGLE_BLOCK,
    STRING_ATTR,
    SYMBOL,
    SYMBOL_NAME,
    SYMBOL_TABLE,
    UNIT_ATTR,
    AttrKind,
    CustomDirective,
    HasParent,
    ImplicitTerminator,
    Op,
    attribute,
    enum,
    of_class,
    region,
    result,
    variadic_operand,
)

if TYPE_CHECKING:
    from tessera_tools.dialects.cuda_tile.testing import TestFunc
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

LEAVES_IF = Leaves("cuda_tile.if")
"""Of `break` and `continue`, which end the `if` around them too."""
DEFAULT_MODULE_NAME = "kernels"
"""What a module of the older spelling, which has no name, is called."""

FUNCTION_TYPE_ATTR: AttrKind[TypeAttr[FunctionType]] = AttrKind(
    "type attribute of function type", lambda a: isinstance(a, TypeAttr) and isinstance(a.value, FunctionType)
)
GLOBAL_REF: AttrKind[SymbolRefAttr] = AttrKind(
    "flat symbol reference attribute",
    lambda a: isinstance(a, SymbolRefAttr) and not a.nested,
    "SYMBOL",
    lambda token: SymbolRefAttr(token[0][0], tuple(token[0][1:])),
)


class ModuleName(CustomDirective, name="ModuleName"):
    """`@name`; absent in the older spelling."""

    grammar = "custom: [SYMBOL]"

    def read(self, state: OpState, node: Node) -> None:
        (symbol,) = node
        state.attribute("sym_name", StringAttr(symbol[0][0] if symbol else DEFAULT_MODULE_NAME))

    def write(self, p: Printer, op: Module) -> None:
        p.write(f" {symbol_text(op.sym_name.value)}")


class Module(
    Op,
    name="cuda_tile.module",
    traits=(ISOLATED_FROM_ABOVE, NO_TERMINATOR, SINGLE_BLOCK, SYMBOL_TABLE),
):
    """Holds the kernels and globals of one program."""

    sym_name = attribute(SYMBOL_NAME)
    producer = attribute(STRING_ATTR, optional=True)
    body = region()
    default_dialect = "cuda_tile"
    assembly = "custom<ModuleName>($sym_name) attr-dict-with-keyword $body"

    def verify_op(self) -> None:
        check_module(self)


class EntrySyntax(CustomDirective, name="EntrySyntax"):
    """`@name(%a: tile<ptr<f32>>, …) optimization_hints=<sm_90 = {}> { … }`."""

    grammar = (
        """
    custom: SYMBOL arguments ["->" custom_results] ["optimization_hints" "=" custom_hints] region attr_dict
    custom_results: TYPE | "(" types ")" -> several
    """
        + HINTS_GRAMMAR
    )

    def read(self, state: OpState, node: Node) -> None:
        symbol, arguments, results, hints, body, attributes = node
        state.attribute("sym_name", StringAttr(symbol[0][0]))
        outputs = ()
        if results is not None:
            outputs = results[1][0] if isinstance(results, tuple) else results
        inputs = tuple(entry[1] for entry in arguments)
        state.attribute("function_type", TypeAttr(FunctionType(inputs, tuple(outputs))))
        if any(entry[2] for entry in arguments):
            state.attribute(
                "arg_attrs", ArrayAttr(tuple(DictionaryAttr.of(entry[2] or {}) for entry in arguments))
            )
        if hints is not None:
            state.attribute("optimization_hints", read_hints(state, hints))
        for key, value in attributes.items():
            state.attribute(key, value)
        for token, _, _, location in arguments:
            state.argument_location(token, location)
        state.region("body", body, [(entry[0], entry[1]) for entry in arguments])

    def write(self, p: Printer, op: Entry | TestFunc) -> None:
        p.write(f" {symbol_text(op.sym_name.value)}(")
        attributes = op.arg_attrs.elements if op.arg_attrs is not None else ()
        for i, argument in enumerate(op.body.entry.arguments):
            entry = attributes[i] if i < len(attributes) else None
            braced = f" {entry}" if isinstance(entry, DictionaryAttr) and entry.entries else ""
            place = p.argument_location(argument)
            p.write(f"{', ' if i else ''}{p.name(argument)}: {short_text(argument.type)}{braced}{place}")
        p.write(")")
        outputs = op.function_type.value.results
        if outputs:
            text = ", ".join(map(short_text, outputs))
            p.write(f" -> {text}" if len(outputs) == 1 else f" -> ({text})")
        hints = op.attributes.get("optimization_hints")
        if isinstance(hints, OptimizationHintsAttr) and hints.value.entries:
            p.write(f" optimization_hints={hints.body()}")
        p.write(" ")
        p.region(op.body, arguments=False)
        p.attr_dict(op, elide=_ENTRY_KEYS)


_ENTRY_KEYS = ("sym_name", "function_type", "arg_attrs", "res_attrs", "optimization_hints")


class Return(
    Op,
    name="cuda_tile.return",
    traits=(
        RETURN_LIKE,
        Leaves("cuda_tile.if", "cuda_tile.loop"),
        HasParent("cuda_tile.entry", "cuda_tile.if", "cuda_tile.loop", "cuda_tile.testing$func"),
    ),
):
    """Ends the kernel for this tile block, also from inside of ifs and loops; a kernel returns nothing.

    A `for` has a known number of iterations, so that nothing leaves it.
    """

    values = variadic_operand(ANY_CUDA_TILE)
    assembly = "attr-dict ($values^ `:` type($values))?"

    def verify_op(self) -> None:
        parent = self.parent_op
        while parent is not None and parent.name in ("cuda_tile.if", "cuda_tile.loop"):
            parent = parent.parent_op
        signature = parent.attributes.get("function_type") if parent is not None else None
        if (
            parent is None
            or not isinstance(signature, TypeAttr)
            or not isinstance(signature.value, FunctionType)
        ):
            raise self.error(
                "must be used within a cuda_tile.entry, cuda_tile.if, or cuda_tile.loop operation"
            )
        count, results, name = len(self.values), signature.value.results, symbol_name(parent)
        if count != len(results):
            raise self.error(f"has {count} operands, but enclosing function (@{name}) returns {len(results)}")
        for index, (value, expected) in enumerate(zip(self.values, results, strict=True)):
            if value.type is not expected:
                raise self.error(
                    f"type of return operand {index} ('{value.type}') doesn't match function result type "
                    f"('{expected}') in function @{name}"
                )


def check_argument_attributes(op: Entry | TestFunc) -> None:
    """Attributes of arguments are those of dialects, as `x.name`. Raises DiagnosticError."""
    for entry in op.arg_attrs.elements if op.arg_attrs is not None else ():
        if isinstance(entry, DictionaryAttr) and any("." not in key for key, _ in entry.entries):
            raise op.error("arguments may only have dialect attributes")


class Entry(
    Op,
    name="cuda_tile.entry",
    traits=(ISOLATED_FROM_ABOVE, SINGLE_BLOCK, SYMBOL, ImplicitTerminator(Return)),
):
    """A kernel; its arguments are scalar tiles, of numbers or pointers."""

    sym_name = attribute(SYMBOL_NAME)
    function_type = attribute(FUNCTION_TYPE_ATTR)
    arg_attrs = attribute(ARRAY_ATTR, optional=True)
    res_attrs = attribute(ARRAY_ATTR, optional=True)
    optimization_hints = attribute(of_class(OptimizationHintsAttr), optional=True)
    body = region()
    default_dialect = "cuda_tile"
    assembly = "custom<EntrySyntax>"

    def verify_op(self) -> None:
        check_function(self)
        signature = self.function_type.value
        check_argument_attributes(self)
        if signature.results:
            raise self.error("entry op must not return values")
        if any(isinstance(t, TileType) and t.shape for t in signature.inputs):
            raise self.error("entry op must have scalar types (rank 0 !cuda_tile.tile)")
        if not self.body.blocks:
            raise self.error("region #0 ('body') failed to verify constraint: region with 1 blocks")
        if tuple(a.type for a in self.body.entry.arguments) != signature.inputs:
            raise self.error("entry block arguments must match the function type")


class Visibility(CustomDirective, name="Visibility"):
    """`private`, or nothing for a public global (but a space, as the reference leaves one)."""

    grammar = """
    custom: [custom_word]
    custom_word: "public" -> public | "private" -> private
    """

    def read(self, state: OpState, node: Node) -> None:
        (word,) = node
        if word is not None and word[0] == "private":
            state.attribute("symbol_visibility", SymbolVisibilityAttr("private"))

    def write(self, p: Printer, op: Global) -> None:
        p.write(" private" if op.symbol_visibility.value == "private" else "")
        p.write(" ")
        p.space()


class Global(Op, name="cuda_tile.global", traits=(SYMBOL,)):
    """Elements in global memory, with their initial values; alignment in bytes, 0 for the natural one."""

    sym_name = attribute(SYMBOL_NAME)
    value = attribute(TILE_ELEMENTS)
    alignment = attribute(I64_ATTR, default=i64(0))
    constant = attribute(UNIT_ATTR, optional=True)
    symbol_visibility = attribute(enum(SymbolVisibilityAttr), default=SymbolVisibilityAttr("public"))
    assembly = (
        "custom<Visibility>($symbol_visibility) ($constant^)? $sym_name (`alignment` `=` $alignment^)? "
        "attr-dict custom<Elements>($value)"
    )

    def verify_op(self) -> None:
        if self.value.shaped.rank != 1:
            raise self.error("type must have rank 1")


class GetGlobal(Op, name="cuda_tile.get_global", traits=(PURE,)):
    """The address of a global."""

    name_ = attribute(GLOBAL_REF, key="name")
    result = result(SCALAR_POINTER)
    assembly = "$name attr-dict `:` type($result)"

    def verify_op(self) -> None:
        name = self.name_.root
        table = self.parent_op
        while table is not None and not table.has_trait(SYMBOL_TABLE):
            table = table.parent_op
        found = None
        if table is not None:
            blocks = table.regions[0].blocks
            found = next(
                (g for b in blocks for g in b if isinstance(g, Global) and g.sym_name.value == name), None
            )
        if found is None:
            raise self.error(f"'{name}' does not reference a valid global")
        pointer, element = self.result.type.element, found.value.shaped.element
        if pointee_of(self.result) is not element:
            raise self.error(
                f"pointee type of result type '{pointer}' does not match type '{element}' of the global @{name}"
            )
