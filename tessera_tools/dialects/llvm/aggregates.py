"""Parts of structs, arrays and vectors."""

from __future__ import annotations

from tessera_tools.dialects.llvm.base import INTEGER, VECTOR, Emitter, LLVMOp
from tessera_tools.dialects.llvm.syntax import element_at, shuffled
from tessera_tools.dialects.llvm.types import ArrayType, StructType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.types import VectorType
from tessera_tools.opdef import I32_ARRAY, I64_ARRAY, PURE, attribute, derived, of, operand, result, same_as

AGGREGATE = of(StructType, ArrayType, summary="LLVM aggregate type")


def _at(container: Type | None, position: DenseArrayAttr | None) -> Type | None:
    return None if position is None else element_at(container, position.values)


def _element(vector: VectorType) -> Type | None:
    return vector.element if isinstance(vector, VectorType) else None


class ExtractValue(LLVMOp, name="llvm.extractvalue", traits=(PURE,)):
    """A field of a struct or an element of an array."""

    container = operand(AGGREGATE)
    position = attribute(I64_ARRAY)
    res = result(derived("type at the position in the container", _at, "container", "position"))
    assembly = "$container custom<Position>($position) attr-dict `:` type($container) custom<TrailingSpace>"

    def llvm_ir(self, e: Emitter) -> None:
        where = "".join([f", {i}" for i in self.position.values])
        e.define(self, f"extractvalue {e.operand(self.operand(0))}{where}")


class InsertValue(LLVMOp, name="llvm.insertvalue", traits=(PURE,)):
    """The aggregate with one part replaced."""

    container = operand(AGGREGATE)
    value = operand(derived("type at the position in the container", _at, "container", "position"))
    position = attribute(I64_ARRAY)
    res = result(same_as("container"))
    assembly = "$value `,` $container custom<Position>($position) attr-dict `:` type($container) custom<TrailingSpace>"

    def llvm_ir(self, e: Emitter) -> None:
        container, value = self.operands
        where = "".join([f", {i}" for i in self.position.values])
        e.define(self, f"insertvalue {e.operand(container)}, {e.operand(value)}{where}")


class ExtractElement(LLVMOp, name="llvm.extractelement", traits=(PURE,)):
    """An element of a vector."""

    vector = operand(VECTOR)
    position = operand(INTEGER)
    res = result(derived("element type of the vector", _element, "vector"))
    assembly = "$vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)"

    def llvm_ir(self, e: Emitter) -> None:
        vector, position = self.operands
        e.define(self, f"extractelement {e.operand(vector)}, {e.operand(position)}")


class InsertElement(LLVMOp, name="llvm.insertelement", traits=(PURE,)):
    """The vector with one element replaced."""

    vector = operand(VECTOR)
    value = operand(derived("element type of the vector", _element, "vector"))
    position = operand(INTEGER)
    res = result(same_as("vector"))
    assembly = "$value `,` $vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)"

    def llvm_ir(self, e: Emitter) -> None:
        vector, value, position = self.operands
        e.define(self, f"insertelement {e.operand(vector)}, {e.operand(value)}, {e.operand(position)}")


class ShuffleVector(LLVMOp, name="llvm.shufflevector", traits=(PURE,)):
    """Elements of two vectors, chosen by `mask` (-1: any value)."""

    v1 = operand(VECTOR)
    v2 = operand(same_as("v1"))
    mask = attribute(I32_ARRAY)
    res = result(derived("vector of the mask's length", shuffled, "v1", "mask"))
    assembly = "$v1 `,` $v2 custom<Mask>($mask) attr-dict `:` type($v1) custom<TrailingSpace>"

    def llvm_ir(self, e: Emitter) -> None:
        first, second = self.operands
        mask = ", ".join(["i32 poison" if i < 0 else f"i32 {i}" for i in self.mask.values])
        e.define(
            self, f"shufflevector {e.operand(first)}, {e.operand(second)}, <{len(self.mask)} x i32> <{mask}>"
        )

    def verify_op(self) -> None:
        vector = self.operand(0).type
        if isinstance(vector, VectorType) and any(vector.scalable) and any(self.mask.values):
            raise self.error("expected a splat operation for scalable vectors")
        bound = 2 * vector.num_elements if isinstance(vector, VectorType) else 0
        for index in self.mask.values:
            if not -1 <= index < bound:
                raise self.error(f"mask value {index} is out of range [-1, {bound})")
