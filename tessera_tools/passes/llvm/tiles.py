"""The per-thread form of nv_tileas values.

tensor<…, #linear>   → Tile: one value per register of the layout, or 32-bit words of packed elements
!nv_tileaa.memref    → View: base pointer, extents and strides
!nv_tileas.smem      → Buffer: byte offset within the kernel's shared memory
token                → None (order is the order of the code)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import llvm
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.dialects.nv_tileas import SmemType, layout_of
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import FloatAttr, IntegerAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import (
    F32,
    I1,
    I8,
    I16,
    I32,
    I64,
    TF32,
    FloatType,
    IndexType,
    IntegerType,
    RankedTensorType,
    bit_width,
)
from tessera_tools.layout import LinearLayout
from tessera_tools.planning.shared_memory import stage_bytes, stage_stride
from tessera_tools.records import dataclass

if TYPE_CHECKING:
    from tessera_tools.passes.llvm.emitter import Emitter, Int


def converted(type: Type) -> Type:
    """The llvm type of a scalar or an element of a tile.  Raises Refusal for other types.

    index is i64.  A tf32 is an f32 whose low 13 bits are ignored.  Floats of at most 8 bits, and integers of 2 to 7
    bits, are i8 with zeros in the unused high bits.
    """
    if isinstance(type, IndexType):
        return I64
    if isinstance(type, FloatType):
        if type is TF32:
            return F32
        return I8 if type.width <= 8 else type
    if isinstance(type, IntegerType | PointerType):
        return I8 if is_sub_byte(type) else type
    raise Refusal(f"type {type} has no counterpart in llvm")


def is_sub_byte(type: Type) -> bool:
    """True if a type is narrower than its i8 representation; an i1 is an i1."""
    return isinstance(type, IntegerType | FloatType) and 1 < type.width < 8


def without_high_bits(e: Emitter, value: Value, element: Type) -> Value:
    """The value of an i8 register with its unused bits set to 0."""
    return e.constant(e.and_(value, (1 << bit_width(element)) - 1, I8), I8) if is_sub_byte(element) else value


def stored(type: Type) -> Type:
    """The llvm type of an element in memory: whole bytes, so an i1 is an i8 of 0 or 1; for a pointer, its
    address."""
    register = converted(type)
    if isinstance(register, PointerType):
        return I64
    return I8 if isinstance(register, IntegerType) and register.width < 8 else register


def scalar_attribute(attribute: Attribute) -> Attribute:
    """A constant of an element type as one of its llvm type."""
    assert isinstance(attribute, IntegerAttr | FloatAttr)
    type = converted(attribute.type)
    if type is attribute.type:
        return attribute
    if isinstance(type, FloatType):
        assert isinstance(attribute, FloatAttr)
        return FloatAttr(attribute.bits << bit_width(F32) - bit_width(TF32), type)
    bits = attribute.bits if isinstance(attribute, FloatAttr) else attribute.value
    return IntegerAttr.wrap(bits & (1 << bit_width(attribute.type)) - 1, type)


def into_memory(e: Emitter, value: Value, element: Type) -> Value:
    """An element in memory form."""
    in_memory = stored(element)
    if isinstance(value.type, PointerType):
        return e.pure("ptrtoint", (value,), lambda: llvm.PtrToInt(value, res=I64))
    return value if value.type is in_memory else e.resized(value, in_memory)  # type: ignore[arg-type]


def from_memory(e: Emitter, value: Value, element: Type) -> Value:
    """An element in register form; a nonzero byte is a true i1."""
    register = converted(element)
    if value.type is register:
        return value
    if isinstance(register, PointerType):
        return e.pure(("inttoptr", register), (value,), lambda: llvm.IntToPtr(value, res=register))
    return e.icmp("ne", value, 0, value.type) if register is I1 else e.resized(value, register)  # type: ignore[arg-type]


class Tile:
    """The elements of a tile that one thread holds, in the order of the layout's registers.

    Elements narrower than 32 bits may be held packed in 32-bit words, register 0 in the low bits; each form is computed
    from the other on demand.
    """

    __slots__ = ("_elements", "_words", "element", "layout")

    def __init__(
        self, type: RankedTensorType, elements: list[Value] | None = None, words: list[Value] | None = None
    ):
        self.layout: LinearLayout = layout_of(type)
        self.element: Type = converted(type.element)
        self._elements = elements
        self._words = words

    @classmethod
    def splat(cls, type: RankedTensorType, value: Value) -> Tile:
        """A tile whose registers all hold one value."""
        return cls(type, [value] * layout_of(type).in_size("register"))

    def renamed(self, type: RankedTensorType) -> Tile:
        """The same registers as a tile of another type."""
        return Tile(type, self._elements, self._words)

    def elements(self, e: Emitter) -> list[Value]:
        """One value per register."""
        if self._elements is None:
            assert self._words is not None
            self._elements = [v for word in self._words for v in e.unpacked(word, self.element)]
        return self._elements

    def words(self, e: Emitter) -> list[Value]:
        """32-bit words of neighboring registers; the registers must fill whole words."""
        if self._words is None:
            assert self._elements is not None
            element, parts = self.element, self._elements
            halves = _halves(parts) if element is I8 else None
            if halves is not None:
                element, parts = I16, halves
            per = 32 // bit_width(element)
            self._words = [
                e.bitcast(e.vector(parts[i : i + per], element), I32) for i in range(0, len(parts), per)
            ]
        return self._words


def _halves(parts: list[Value]) -> list[Value] | None:
    """The 16 bits of each two bytes, if these were taken from them, as by the conversion of two numbers."""
    found: list[Value] = []
    for low, high in zip(parts[::2], parts[1::2], strict=True):
        first, second = low.defining_op, high.defining_op
        if (
            not isinstance(first, llvm.Trunc)
            or not isinstance(second, llvm.Trunc)
            or first.arg.type is not I16
        ):
            return None
        moved = second.arg.defining_op
        if not isinstance(moved, llvm.LShr) or moved.operands[0] is not first.arg:
            return None
        shift = moved.operands[1].defining_op
        value = shift.attributes.get("value") if isinstance(shift, llvm.Constant) else None
        if not isinstance(value, IntegerAttr) or value.value != bit_width(I8):
            return None
        found.append(first.arg)
    return found


@dataclass(slots=True)
class View:
    """A view of global memory: extents (none negative) and strides, in elements, are numbers or values."""

    base: Value
    extents: list[Int]
    strides: list[Int]
    element: Type


@dataclass(slots=True)
class Buffer:
    """Stages of a tile at a byte offset of the kernel's shared memory."""

    offset: int
    type: SmemType
    slot: Value | None = None
    """The number of the stage, if it is a stage of another buffer, whose offset it has."""

    @property
    def layout(self) -> LinearLayout:
        """Offset in elements → coordinates of the tile.  Raises Refusal if the type has none."""
        if self.type.layout is None:
            raise Refusal(f"{self.type} has no layout")
        return self.type.layout.layout

    @property
    def stage_bytes(self) -> int:
        """Bytes from one stage to the next; of a buffer that has one, its bytes."""
        size = stage_bytes(self.type)
        return size if self.slot is None else stage_stride(size)
