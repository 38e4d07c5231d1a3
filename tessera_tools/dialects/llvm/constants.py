"""Values without an instruction: constants and addresses of symbols."""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects.llvm.attributes import UndefAttr, ZeroAttr
from tessera_tools.dialects.llvm.base import ANY, POINTER, Emitter, LLVMOp
from tessera_tools.dialects.llvm.types import ArrayType, StructType, TargetExtensionType, TokenType
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    ArrayAttr,
    DenseElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    SparseElementsAttr,
    StringAttr,
    SymbolRefAttr,
    element_bytes,
)
from tessera_tools.ir.core import Operation
from tessera_tools.ir.symbols import lookup_symbol, nearest_symbol_table
from tessera_tools.ir.types import I8, ComplexType, FloatType, IntegerType, VectorType
from tessera_tools.opdef import ANY_ATTR, CONSTANT_LIKE, PURE, SYMBOL_REF, attribute, of, result

__all__ = ["AddressOf", "Constant", "NoneToken", "Poison", "Undef", "Zero", "make_constant"]


class Constant(LLVMOp, name="llvm.mlir.constant", traits=(PURE, CONSTANT_LIKE)):
    """A constant: a number, a vector or array of numbers, a string, or a struct of them."""

    value = attribute(ANY_ATTR)
    res = result(ANY)
    assembly = "`(` $value `)` attr-dict `:` type($res)"

    def llvm_ir(self, e: Emitter) -> None:
        target = self.results[0]
        e.constant(target, e.constant_text(self.attributes["value"], target.type, self))

    def fold(self, operands: Sequence[Attribute | None]) -> Sequence[Attribute] | None:
        return [self.value]

    def verify_op(self) -> None:
        problem = mismatch(self.value, self.results[0].type)
        if problem:
            raise self.error(problem)


def mismatch(value: Attribute, type: Type) -> str | None:
    """Why the attribute cannot be a constant of the type, in upstream's words."""
    if isinstance(value, StringAttr):
        size = len(value.value.encode("utf-8", "surrogateescape"))
        if not isinstance(type, ArrayType) or type.count != size or type.element is not I8:
            return f"expected array type of {size} i8 elements for the string constant, but got '{type}'"
        return None
    if isinstance(type, StructType):
        return _struct_mismatch(value, type)
    if isinstance(value, ArrayAttr):
        if not isinstance(type, ArrayType):
            return f"expected array or struct type for array attribute, but got '{type}'"
        return _array_mismatch(value, type, 0)
    if isinstance(value, SparseElementsAttr):
        # Only the type of the whole matters.
        value = DenseElementsAttr(value.type, bytes(element_bytes(value.values.shaped.element)))
    if isinstance(value, DenseElementsAttr):
        if not isinstance(type, VectorType | ArrayType):
            return f"expected vector or array type, but got '{type}'"
        if isinstance(type, VectorType) and any(type.scalable) and not value.is_splat:
            return "scalable vector type requires a splat attribute"
        wanted, found = _element_count(type), value.shaped.num_elements
        if wanted != found:
            return f"type and attribute have a different number of elements: {wanted} vs. {found}"
        leaf: Type = type
        while isinstance(leaf, ArrayType | VectorType):
            leaf = leaf.element
        element = value.shaped.element
        if isinstance(element, ComplexType):
            fields = leaf.types if isinstance(leaf, StructType) else None
            if fields != (element.element, element.element):
                return f"expected a struct of two '{element.element}' for complex elements, but got '{leaf}'"
            return None
        return _number_mismatch(element, leaf, " element", "integer elements")
    if isinstance(value, IntegerAttr | FloatAttr):
        return _number_mismatch(value.type, type, "", "integer")
    if isinstance(value, DenseResourceAttr):
        return None
    return "only supports integer, float, string or elements attributes"


def _array_mismatch(value: ArrayAttr, type: ArrayType, dimension: int) -> str | None:
    """Why an array of arrays, with structs in the innermost ones, is not a constant of `type`."""
    if len(value) != type.count:
        sizes = f"{len(value)} vs. {type.count}"
        return f"array attribute size does not match array type size in dimension {dimension}: {sizes}"
    element = type.element
    if not isinstance(element, ArrayType | StructType):
        return "for array with an array attribute must have a struct element type"
    nested = "struct element" if isinstance(element, StructType) else f"sub-array in dimension {dimension}"
    for index, inner in enumerate(value):
        if isinstance(inner, ZeroAttr | UndefAttr):
            continue
        if not isinstance(inner, ArrayAttr):
            return (
                f"nested attribute for {nested} at index {index} must be a zero, or undef, or array attribute"
            )
        if isinstance(element, ArrayType):
            problem = _array_mismatch(inner, element, dimension + 1)
            if problem is not None:
                return problem
        elif len(inner) != len(element.types or ()):
            sizes = f"{len(inner)} vs. {len(element.types or ())}"
            return f"nested array attribute size for struct element at index {index} must match struct size: {sizes}"
    return None


def _number_mismatch(given: Type, type: Type, noun: str, attribute: str) -> str | None:
    """Why numbers of the type `given` are no constants of `type`. Integers take the width of `type`."""
    if isinstance(given, FloatType):
        if isinstance(type, FloatType):
            return (
                None
                if given is type
                else f"attribute and type have different float semantics: {given} and {type}"
            )
        if isinstance(type, IntegerType):
            return None if given.width == type.width else f"expected integer type of width {given.width}"
        return f"expected float type, but got '{type}'"
    if (
        isinstance(type, FloatType)
        and isinstance(given, IntegerType)
        and given.width == type.width
        and not noun
    ):
        return None
    return None if isinstance(type, IntegerType) else f"expected integer{noun} type for {attribute} attribute"


def _struct_mismatch(value: Attribute, type: StructType) -> str | None:
    if not isinstance(value, ArrayAttr):
        return "expected array attribute for struct type"
    types = type.types or ()
    if len(types) != len(value):
        return f"expected array attribute of size {len(types)}"
    for i, (element, wanted) in enumerate(zip(value, types, strict=True)):
        if not isinstance(wanted, IntegerType | FloatType):
            return "expected struct element types to be floating point type or integer type"
        if not isinstance(element, IntegerAttr | FloatAttr):
            return "expected element of array attribute to be floating point or integer"
        if element.type is not wanted:
            return f"struct element at index {i} is of wrong type"
    return None


def _element_count(type: Type) -> int:
    count = 1
    while isinstance(type, ArrayType):
        count *= type.count
        type = type.element
    return count * type.num_elements if isinstance(type, VectorType) else count


class _Fixed(LLVMOp):
    """A constant that is determined by its type."""

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

    def verify_op(self) -> None:
        type = self.results[0].type
        if isinstance(type, TargetExtensionType) and not type.has_zero:
            raise self.error("target extension type does not support zero-initializer")


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
    """The poison value."""

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

    def verify_op(self) -> None:
        if nearest_symbol_table(self) is None:
            return
        found = lookup_symbol(self, self.global_name)
        if found is None or found.name not in (
            "llvm.mlir.global",
            "llvm.func",
            "llvm.mlir.alias",
            "llvm.mlir.ifunc",
        ):
            raise self.error(
                "must reference a global defined by 'llvm.mlir.global', 'llvm.mlir.alias' or 'llvm.func' or "
                "'llvm.mlir.ifunc'"
            )
        space = found.attributes.get("addr_space")
        wanted = space.value if isinstance(space, IntegerAttr) else 0
        if found.name == "llvm.mlir.global" and self.res.type.address_space != wanted:
            raise self.error(
                "pointer address space must match address space of the referenced global or alias"
            )

    def llvm_ir(self, e: Emitter) -> None:
        reference = self.attributes["global_name"]
        assert isinstance(reference, SymbolRefAttr)
        e.constant(self.results[0], e.symbol(reference.root))


def make_constant(value: Attribute, type: Type) -> Operation | None:
    """A constant op for a folded value; None if the dialect has none."""
    if mismatch(value, type) is not None or not isinstance(
        value, IntegerAttr | FloatAttr | DenseElementsAttr
    ):
        return None
    return Constant(value, res=type)
