"""Tokens, and memory operations of `cuda_tile` through tiles of pointers: loads, stores and atomics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.cuda_tile.accesses import (
    TAIL_GRAMMAR,
    OrderedAccess,
    check_ordering,
    ordering_text,
    read_tail,
)
from tessera_tools.dialects.cuda_tile.attributes import MEMORY_ORDERING, MEMORY_SCOPE, OptimizationHintsAttr
from tessera_tools.dialects.cuda_tile.constraints import (
    ANY_TILE,
    I1_TILE,
    NUMBER_TILE,
    POINTER_TILE,
    TOKEN_TYPE,
    check_same_shape,
    pointee_of,
    shape_of,
)
from tessera_tools.dialects.cuda_tile.formats import (
    HasOrderings,
    read_keywords,
    short_types,
    value_types,
    wrong_keyword,
)
from tessera_tools.dialects.cuda_tile.types import NUMBERS, TileType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import BF16, F16, F32, F64, I1, I32, I64, FloatType, IntegerType, bit_width
from tessera_tools.opdef import (
    PURE,
    READ_WRITE,
    CustomDirective,
    MemoryEffects,
    Op,
    attribute,
    integer_enum,
    of_class,
    operand,
    optional_operand,
    read,
    same_as,
    variadic_operand,
    write,
)
from tessera_tools.opdef import result as output

if TYPE_CHECKING:
    from tessera_tools.dialects.cuda_tile.accesses import PointerAccess
    from tessera_tools.dialects.cuda_tile.view_atomics import AtomicRedViewTko
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

ATOMIC_MODE = integer_enum(
    "atomic mode",
    {"and": 0, "or": 1, "xor": 2, "add": 3, "addf": 4, "max": 5, "min": 6, "umax": 7, "umin": 8, "xchg": 9},
    I32,
)


SCOPES = ("tl_blk", "device", "sys")
_ORDERINGS = ("weak", "relaxed", "acquire", "release", "acq_rel")


class MakeToken(Op, name="cuda_tile.make_token", traits=(PURE,)):
    """A token that waits for nothing."""

    result = output(TOKEN_TYPE)
    assembly = "attr-dict `:` type($result)"


class JoinTokens(Op, name="cuda_tile.join_tokens", traits=(PURE,)):
    """A token that waits for all of several."""

    tokens = variadic_operand(TOKEN_TYPE)
    result = output(TOKEN_TYPE)
    assembly = "$tokens attr-dict `:` type($result)"

    def verify_op(self) -> None:
        if len(self.tokens) < 2:
            raise self.error("expect two or more tokens")


class PointerSyntax(CustomDirective, name="PointerSyntax"):
    """`weak %ptrs, %mask, %padding token=%t : types -> types`; the arguments name the operand fields in order."""

    grammar = (
        """
    custom: KEYWORD [KEYWORD] values custom_tail ":" types "->" types
    """
        + TAIL_GRAMMAR
    )

    def read(self, state: OpState, node: Node) -> None:
        ordering, scope, values, tail, types, results = node
        if scope is not None and scope.text not in SCOPES:
            raise state.error(
                scope, f"expected SSA operand, or one of the scopes {', '.join(SCOPES)}; found '{scope.text}'"
            )
        read_keywords(state, ordering, scope)
        fields = state.definition.operands[:-1]
        least = sum(field.arity == "single" for field in fields)
        if not least <= len(values) <= len(fields):
            raise state.error(
                values[0],
                f"takes {least} to {len(fields)} operands, found {len(values)}",
            )
        if len(types) != len(values):
            raise state.error(values[0], f"{len(values)} operands present, but expected {len(types)}")
        if len(values) == 2 and fields[1].arity == "optional" and not _may_mask(types[1]):
            fields = [fields[0], fields[2]]  # a padding value without a mask: the element types decide
        for field, token, kind in zip(fields[: len(values)], values, types, strict=True):
            state.operand(field.name, token)
            state.types(field.name, [kind])
        read_tail(state, tail)
        outputs = state.definition.results
        if len(results) != len(outputs):
            raise state.error(None, f"expected the types of {len(outputs)} results, found {len(results)}")
        for field, kind in zip(outputs, results, strict=True):
            state.types(field.name, [kind])

    def write(self, p: Printer, op: LoadPtrTko | StorePtrTko) -> None:
        values = op.operands if op.token is None else op.operands[:-1]
        p.write(f"{ordering_text(op)} ")
        p.write(p.names(values))
        write_pointer_tail(p, op, keyword=True)
        p.write(f" : {short_types(value_types(values))} -> {short_types(op.result_types)}")


def _may_mask(kind: Type) -> bool:
    return not isinstance(kind, TileType) or kind.element is I1 or kind.element not in NUMBERS


def write_pointer_tail(p: Printer, op: PointerAccess, *, keyword: bool) -> None:
    """Token, hints and other attributes, as the ops on pointers have them; loads and stores with the keyword."""
    if op.token is not None:
        p.write(f" token={p.name(op.token)}")
    hints = op.attributes.get("optimization_hints")
    if isinstance(hints, OptimizationHintsAttr):
        p.write(f" optimization_hints = {hints.body()}")
    p.attr_dict(op, elide=_KEYS, keyword=keyword)


_KEYS = ("memory_ordering_semantics", "memory_scope", "mode", "optimization_hints", "operandSegmentSizes")


def _check_pointee(op: Operation, pointers: Value[TileType], element: Type, noun: str) -> None:
    pointee = pointee_of(pointers)
    if pointee is not element:
        raise op.error(f"expected pointee type ('{pointee}') to match element type of '{noun}' ('{element}')")


class LoadPtrTko(
    HasOrderings, OrderedAccess, name="cuda_tile.load_ptr_tko", traits=(MemoryEffects(read("source")),)
):
    """Gathers elements from a tile of pointers; if the mask is false, the padding value (or an unspecified one)."""

    memory_ordering_semantics = attribute(MEMORY_ORDERING)
    memory_scope = attribute(MEMORY_SCOPE, optional=True)
    source = operand(POINTER_TILE)
    mask = optional_operand(I1_TILE)
    paddingValue = optional_operand(NUMBER_TILE)
    token = optional_operand(TOKEN_TYPE)
    optimization_hints = attribute(of_class(OptimizationHintsAttr), optional=True)
    result = output(ANY_TILE)
    result_token = output(TOKEN_TYPE)
    orderings = _ORDERINGS
    assembly = "custom<PointerSyntax>"

    def verify_op(self) -> None:
        found = self.result.type
        if shape_of(self.source) != found.shape or pointee_of(self.source) is not found.element:
            raise self.error(
                "failed to verify that `source` type is expected a pointer type of `result` type"
            )
        if self.mask is not None and shape_of(self.mask) != shape_of(self.source):
            raise self.error("failed to verify that shape of 'mask' must match the shape of 'source'")
        if self.paddingValue is not None and self.paddingValue.type is not found:
            raise self.error("failed to verify that type of 'paddingValue' must match the type of 'result'")
        check_ordering(self, "load", "acquire")


class StorePtrTko(
    HasOrderings, OrderedAccess, name="cuda_tile.store_ptr_tko", traits=(MemoryEffects(write("destination")),)
):
    """Scatters elements to a tile of pointers, if the mask is true."""

    memory_ordering_semantics = attribute(MEMORY_ORDERING)
    memory_scope = attribute(MEMORY_SCOPE, optional=True)
    destination = operand(POINTER_TILE)
    value = operand(ANY_TILE)
    mask = optional_operand(I1_TILE)
    token = optional_operand(TOKEN_TYPE)
    optimization_hints = attribute(of_class(OptimizationHintsAttr), optional=True)
    result_token = output(TOKEN_TYPE)
    orderings = _ORDERINGS
    assembly = "custom<PointerSyntax>"

    def verify_op(self) -> None:
        found = self.value.type
        if shape_of(self.destination) != found.shape or pointee_of(self.destination) is not found.element:
            raise self.error(
                "failed to verify that `destination` type is expected a pointer type of `value` type"
            )
        if self.mask is not None and shape_of(self.mask) != shape_of(self.destination):
            raise self.error("failed to verify that shape of 'destination' must match the shape of 'mask'")
        check_ordering(self, "store", "release")


class AtomicSyntax(CustomDirective, name="AtomicSyntax"):
    """`relaxed device %ptrs, add, %value, %mask token=%t : types -> types`; `atomic_cas_tko` has no mode."""

    grammar = """
    custom: KEYWORD [KEYWORD] VALUE "," [custom_mode] values ["token" "=" VALUE] attr_dict ":" types "->" TYPE "," TYPE
    custom_mode: KEYWORD ","
    """

    def read(self, state: OpState, node: Node) -> None:
        ordering, scope, pointers, mode, values, token, attributes, types, found, result_token = node
        read_keywords(state, ordering, scope)
        if scope is None:
            raise wrong_keyword(state, pointers, "memory_scope", SCOPES)
        compare = "cmp" in state.definition.fields
        if compare and mode is not None:
            raise state.error(mode[0], "takes no mode")
        if not compare:
            if mode is None:
                raise state.error(values[0], f"expected one of the modes {', '.join(_MODES)}")
            try:
                state.attribute("mode", ATOMIC_MODE.build(mode[0]))
            except ValueError:
                raise wrong_keyword(state, mode[0], "mode", _MODES) from None
        plain = ["cmp", "val"] if compare else ["arg"]
        if len(values) not in (len(plain), len(plain) + 1):
            raise state.error(
                values[0], f"expected {' and '.join(plain)}, and perhaps a mask; found {len(values)} values"
            )
        if len(types) != len(values) + 1 - compare:
            raise state.error(
                values[0], "expected the types of the pointers, of the value, and of the mask if there is one"
            )
        state.operand("pointers", pointers)
        state.types("pointers", types[:1])
        for name, value in zip([*plain, "mask"][: len(values)], values, strict=True):
            state.operand(name, value)
            state.types(name, types[2:] if name == "mask" else types[1:2])
        if token is not None:
            state.operand("token", token)
        for key, value in attributes.items():
            state.attribute(key, value)
        state.types("result", [found])
        state.types("result_token", [result_token])

    def write(self, p: Printer, op: AtomicCasTko | AtomicRmwTko) -> None:
        values = [v for v in op.operands if v is not op.token]
        mode = f", {ATOMIC_MODE.text(op.mode)}" if isinstance(op, AtomicRmwTko) else ""
        p.write(f"{ordering_text(op)} {p.name(values[0])}{mode}, ")
        p.write(p.names(values[1:]))
        write_pointer_tail(p, op, keyword=False)
        spelled = [op.pointers, values[2 if not mode else 1], *([op.mask] if op.mask is not None else [])]
        p.write(f" : {short_types(value_types(spelled))} -> {short_types(op.result_types)}")


_MODES = ("and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg")


def _check_atomic_order(op: AtomicRmwTko | AtomicCasTko) -> None:
    if MEMORY_ORDERING.text(op.memory_ordering_semantics) == "weak":
        raise op.error("memory ordering semantics must be one of: relaxed, acquire, release, acq_rel")


def check_atomic_mode(op: AtomicRmwTko | AtomicRedViewTko, element: Type) -> None:
    """The mode is one that the element type has."""
    mode = ATOMIC_MODE.text(op.mode)
    if mode == "addf":
        if element not in (F16, BF16, F32, F64):
            raise op.error("'addf' works only with floats f16, bf16, f32, and f64")
    elif mode == "xchg":
        if bit_width(element) not in (32, 64):
            raise op.error("'xchg' works only with integers or float of 32 or 64 bitwidth")
    elif element not in (I32, I64):
        raise op.error(f"'{mode}' works only with integers i32 and i64")


class AtomicRmwTko(HasOrderings, Op, name="cuda_tile.atomic_rmw_tko", traits=(READ_WRITE,)):
    """Reads, modifies and writes elements in one step each; the result is what was there before."""

    memory_ordering_semantics = attribute(MEMORY_ORDERING)
    memory_scope = attribute(MEMORY_SCOPE)
    pointers = operand(POINTER_TILE)
    mode = attribute(ATOMIC_MODE)
    arg = operand(ANY_TILE)
    mask = optional_operand(I1_TILE)
    token = optional_operand(TOKEN_TYPE)
    result = output(same_as("arg"))
    result_token = output(TOKEN_TYPE)
    orderings = _ORDERINGS
    assembly = "custom<AtomicSyntax>"

    def verify_op(self) -> None:
        check_same_shape(self, "pointers", "arg", "result")
        element = self.arg.type.element
        _check_pointee(self, self.pointers, element, "arg")
        check_same_shape(self, "pointers", "arg", "mask")
        check_atomic_mode(self, element)
        _check_atomic_order(self)


class AtomicCasTko(HasOrderings, Op, name="cuda_tile.atomic_cas_tko", traits=(READ_WRITE,)):
    """Atomically writes `val` to each element equal to `cmp`; the result is the previous value."""

    memory_ordering_semantics = attribute(MEMORY_ORDERING)
    memory_scope = attribute(MEMORY_SCOPE)
    pointers = operand(POINTER_TILE)
    cmp = operand(ANY_TILE)
    val = operand(same_as("cmp"))
    mask = optional_operand(I1_TILE)
    token = optional_operand(TOKEN_TYPE)
    result = output(same_as("cmp"))
    result_token = output(TOKEN_TYPE)
    orderings = _ORDERINGS
    assembly = "custom<AtomicSyntax>"

    def verify_op(self) -> None:
        check_same_shape(self, "pointers", "cmp", "val", "result")
        element = self.val.type.element
        _check_pointee(self, self.pointers, element, "val")
        if not isinstance(element, IntegerType | FloatType) or bit_width(element) not in (32, 64):
            raise self.error("expect only float or integer types with 32 or 64 bit")
        if self.mask is not None and shape_of(self.mask) != shape_of(self.val):
            raise self.error("failed to verify that all of {pointers, val, cmp and mask} have same shape")
        _check_atomic_order(self)
