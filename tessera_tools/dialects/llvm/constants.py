"""Values without an instruction: constants and addresses of symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.dialects.llvm.base import ANY, POINTER, Emitter, LLVMOp
from tessera_tools.dialects.llvm.types import ArrayType, StructType, TokenType
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    ArrayAttr,
    DenseElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
)
from tessera_tools.ir.core import Builder, Operation
from tessera_tools.ir.types import FloatType, IndexType, IntegerType, VectorType
from tessera_tools.opdef import ANY_ATTR, CONSTANT_LIKE, PURE, SYMBOL_REF, attribute, of, result

__all__ = ["AddressOf", "Constant", "NoneToken", "Poison", "Undef", "Zero", "materialize"]


class Constant(LLVMOp, name="llvm.mlir.constant", traits=(PURE, CONSTANT_LIKE)):
    """A constant: a number, a vector or array of numbers, a string, or a struct of them."""

    value = attribute(ANY_ATTR)
    res = result(ANY)
    assembly = "`(` $value `)` attr-dict `:` type($res)"

    def llvm_ir(self, e: Emitter) -> None:
        target = self.results[0]
        e.constant(target, e.constant_text(self.attributes["value"], target.type, self))

    def fold(self, operands: Sequence[Attribute | None]) -> Sequence[Any] | None:
        return [self.value]

    def verify_op(self) -> None:
        problem = _mismatch(self.value, self.results[0].type)
        if problem:
            raise self.error(problem)


def _mismatch(value: Attribute, type: Type) -> str | None:
    """Why the attribute cannot be a constant of the type."""
    if isinstance(value, IntegerAttr):
        if isinstance(type, FloatType):
            return (
                None
                if isinstance(value.type, IntegerType) and value.type.width == type.width
                else (f"expected an integer attribute of {type.width} bits for type '{type}'")
            )
        if not isinstance(type, IntegerType):
            return f"expected integer type, but got '{type}'"
        if isinstance(value.type, IndexType):
            return None if type.width == 64 else f"an index constant needs the type i64, but got '{type}'"
        if isinstance(value.type, IntegerType) and value.type.width != type.width:
            return f"attribute has type '{value.type}', but the constant '{type}'"
    elif isinstance(value, FloatAttr):
        if not isinstance(type, FloatType | IntegerType):
            return f"expected float type, but got '{type}'"
        if isinstance(value.type, FloatType) and value.type.width != type.width:
            return f"attribute and type have different float widths: {value.type.width} and {type.width}"
    elif isinstance(value, DenseElementsAttr):
        found = value.shaped.num_elements
        wanted = _element_count(type)
        if wanted is None:
            return f"expected vector or array type, but got '{type}'"
        if wanted != found:
            return f"type and attribute have a different number of elements: {wanted} vs. {found}"
    elif isinstance(value, StringAttr):
        if not isinstance(type, ArrayType) or type.count != len(
            value.value.encode("utf-8", "surrogateescape")
        ):
            return f"expected array type of {len(value.value)} i8 elements for the string constant, but got '{type}'"
    elif isinstance(value, ArrayAttr) and not isinstance(type, StructType | ArrayType | VectorType):
        return f"expected array or struct type for the array attribute, but got '{type}'"
    return None


def _element_count(type: Type) -> int | None:
    if isinstance(type, VectorType):
        return type.num_elements
    count = 1
    while isinstance(type, ArrayType):
        count *= type.count
        type = type.element
    if isinstance(type, VectorType):
        return count * type.num_elements
    return count if count != 1 or isinstance(type, IntegerType | FloatType) else None


class _Fixed(LLVMOp):
    """A constant that its type gives."""

    res = result(ANY)
    assembly = "attr-dict `:` type($res)"
    text = ""

    def llvm_ir(self, e: Emitter) -> None:
        e.constant(self.results[0], self.text)


class Zero(_Fixed, name="llvm.mlir.zero", traits=(PURE, CONSTANT_LIKE)):
    """All bits zero; the null pointer."""

    text = "zeroinitializer"

    def llvm_ir(self, e: Emitter) -> None:
        e.constant(self.results[0], zero_text(self.results[0].type))


def zero_text(type: Type) -> str:
    """LLVM's zero of a type."""
    from tessera_tools.dialects.llvm.types import PointerType

    if isinstance(type, PointerType):
        return "null"
    if isinstance(type, IntegerType):
        return "0" if type.width > 1 else "false"
    if isinstance(type, FloatType) and type.keyword in ("f32", "f64"):
        return "0.0"
    return "zeroinitializer"


class Undef(_Fixed, name="llvm.mlir.undef", traits=(PURE, CONSTANT_LIKE)):
    """Any value, each time another."""

    text = "undef"


class Poison(_Fixed, name="llvm.mlir.poison", traits=(PURE, CONSTANT_LIKE)):
    """A value that makes everything computed from it undefined."""

    text = "poison"


class NoneToken(LLVMOp, name="llvm.mlir.none", traits=(PURE,)):
    """The empty token."""

    res = result(of(TokenType, summary="LLVM token type"))
    assembly = "attr-dict `:` type($res)"

    def llvm_ir(self, e: Emitter) -> None:
        e.constant(self.results[0], "none")


class AddressOf(LLVMOp, name="llvm.mlir.addressof", traits=(PURE,)):
    """The address of a function or a global."""

    global_name = attribute(SYMBOL_REF)
    res = result(POINTER)
    assembly = "$global_name attr-dict `:` type($res)"

    def llvm_ir(self, e: Emitter) -> None:
        reference = self.attributes["global_name"]
        assert isinstance(reference, SymbolRefAttr)
        e.constant(self.results[0], e.symbol(reference.root))


def materialize(builder: Builder, value: Attribute, type: Type) -> Operation | None:
    """A constant op for a folded value; None where the dialect has none."""
    if _mismatch(value, type) is not None or not isinstance(
        value, IntegerAttr | FloatAttr | DenseElementsAttr
    ):
        return None
    return builder.insert(Constant(value, res=type))
