"""The builtin types, written as MLIR writes them.

i32  si8  ui16  f16  bf16  tf32  f8E4M3FN  index  none  complex<f32>  tuple<i1, f32>
(i32, f32) -> i1      vector<4x[8]xf16>      tensor<?x4xf32, #enc>   tensor<*xf32>
memref<8x?xf32, strided<[?, 1], offset: 4>, 3>   memref<*xf32>   !other.type<body>
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.effect_words import Resource

if TYPE_CHECKING:
    from typing import Self

    from tessera_tools.ir.scanner import Scanner

DYNAMIC = -1
"""The extent of a dimension known only at run time; printed as `?`."""
DYNAMIC_INDEX = -(1 << 63)
"""An offset, size or stride known only at run time, in lists that may hold negative numbers."""


class IntegerType(Type, name="builtin.integer"):
    """`iN`, `siN` or `uiN`, with 0 ≤ N < 2**24."""

    width: int
    signedness: str = "signless"

    def verify(self) -> None:
        if not 0 <= self.width < 1 << 24:
            raise ValueError(f"integer bitwidth is limited to 16777215 bits, got {self.width}")
        if self.signedness not in _SIGN_PREFIX:
            raise ValueError(f"unknown signedness '{self.signedness}'")

    def text(self) -> str:
        return f"{_SIGN_PREFIX[self.signedness]}{self.width}"


_SIGN_PREFIX = {"signless": "i", "signed": "si", "unsigned": "ui"}


class IndexType(Type, name="builtin.index"):
    """`index`: an integer of the target's pointer width; 64 bits here."""

    def text(self) -> str:
        return "index"


class NoneType(Type, name="builtin.none"):
    """`none`, the unit type."""

    def text(self) -> str:
        return "none"


class FloatType(Type, name="builtin.float"):
    """A floating-point type, by its keyword: `f32`, `bf16`, `f8E4M3FN`, …"""

    keyword: str

    def verify(self) -> None:
        if self.keyword not in FLOAT_WIDTHS:
            raise ValueError(f"unknown floating-point type '{self.keyword}'")

    @property
    def width(self) -> int:
        """Storage width in bits."""
        return FLOAT_WIDTHS[self.keyword]

    def text(self) -> str:
        return self.keyword


FLOAT_WIDTHS = {
    "f16": 16, "bf16": 16, "f32": 32, "tf32": 19, "f64": 64, "f80": 80, "f128": 128,
    "f4E2M1FN": 4, "f6E2M3FN": 6, "f6E3M2FN": 6, "f8E5M2": 8, "f8E4M3": 8, "f8E4M3FN": 8,
    "f8E5M2FNUZ": 8, "f8E4M3FNUZ": 8, "f8E4M3B11FNUZ": 8, "f8E3M4": 8, "f8E8M0FNU": 8,
    "fnv8E5M3FNU": 8,
}  # fmt: skip
"""Widths in bits of the builtin floating-point types (MLIR's BuiltinTypes.td), and of one type that cuda_tile adds."""


class ComplexType(Type, name="builtin.complex"):
    """`complex<T>` over an integer or floating-point type."""

    element: Type

    def text(self) -> str:
        return f"complex<{self.element}>"


class TupleType(Type, name="builtin.tuple"):
    """`tuple<T, …>`."""

    types: tuple[Type, ...]

    def text(self) -> str:
        return f"tuple<{', '.join(map(str, self.types))}>"


class FunctionType(Type, name="builtin.function"):
    """`(inputs) -> results`."""

    inputs: tuple[Type, ...]
    results: tuple[Type, ...]

    def text(self) -> str:
        outputs = ", ".join(map(str, self.results))
        if len(self.results) != 1 or isinstance(self.results[0], FunctionType):
            outputs = f"({outputs})"
        return f"({', '.join(map(str, self.inputs))}) -> {outputs}"


class ShapedType(Type):
    """The base of types with a shape (a tuple of extents, `DYNAMIC` for `?`) and an element type."""

    shape: tuple[int, ...]
    element: Type
    minimum_extent: ClassVar[int] = 0

    def verify(self) -> None:
        for extent in self.shape:
            if extent < self.minimum_extent and extent != DYNAMIC:
                raise ValueError(
                    f"'{self.name}' dimensions must be at least {self.minimum_extent}, got {extent}"
                )

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        return DYNAMIC not in self.shape

    @property
    def num_elements(self) -> int:
        """The number of elements; requires a static shape."""
        if not self.is_static:
            raise ValueError(f"{self} has no static shape")
        return math.prod(self.shape)

    def dims_text(self) -> str:
        """`4x?x` – each extent followed by an `x`."""
        return "".join("?x" if d == DYNAMIC else f"{d}x" for d in self.shape)


class PlainShapedType(ShapedType):
    """The base of types of dialects with a shape, an element type and nothing else: `!d.view<4x?xf32>`."""

    @classmethod
    def parse(cls, s: Scanner, /) -> Self:
        """Reads `<4x?xf32>`."""
        s.expect("<")
        shape = s.dimensions()
        element = s.type()
        s.expect(">")
        return cls(shape, element)

    def text(self) -> str:
        return f"!{self.name}<{self.dims_text()}{self.element}>"


class VectorType(ShapedType, name="builtin.vector"):
    """`vector<4x[8]xf32>`; `scalable` marks the bracketed dimensions."""

    scalable: tuple[bool, ...] = ()
    minimum_extent = 1

    def verify(self) -> None:
        super().verify()
        if DYNAMIC in self.shape:
            raise ValueError("vector types must have static shapes")
        if self.scalable and len(self.scalable) != len(self.shape):
            raise ValueError("the number of scalable flags must match the number of dimensions")

    def text(self) -> str:
        flags = self.scalable or (False,) * len(self.shape)
        dims = "".join(f"[{d}]x" if s else f"{d}x" for d, s in zip(self.shape, flags, strict=True))
        return f"vector<{dims}{self.element}>"


class RankedTensorType(ShapedType, name="builtin.tensor"):
    """`tensor<4x?xf32, #encoding>`."""

    encoding: Attribute | None = None

    def verify(self) -> None:
        super().verify()
        if self.encoding is not None:
            self.encoding.verify_encoding(self.shape, self.element)

    @property
    def resource(self) -> Resource | None:
        return self.element.resource

    def text(self) -> str:
        suffix = f", {self.encoding}" if self.encoding is not None else ""
        return f"tensor<{self.dims_text()}{self.element}{suffix}>"


class UnrankedTensorType(Type, name="builtin.unranked_tensor"):
    """`tensor<*xf32>`."""

    element: Type

    def text(self) -> str:
        return f"tensor<*x{self.element}>"


class MemRefType(ShapedType, name="builtin.memref"):
    """`memref<4x?xf32, layout, memory space>`; no layout means row-major and contiguous."""

    layout: Attribute | None = None
    memory_space: Attribute | None = None

    @property
    def resource(self) -> Resource:
        return resource_of_space(self.memory_space)

    def verify(self) -> None:
        super().verify()
        if self.layout is not None:
            self.layout.verify_layout(self.rank)

    def text(self) -> str:
        parts = [f"{self.dims_text()}{self.element}"]
        if self.layout is not None:
            parts.append(str(self.layout))
        if self.memory_space is not None:
            parts.append(self.memory_space.memory_space_text())
        return f"memref<{', '.join(parts)}>"


class UnrankedMemRefType(Type, name="builtin.unranked_memref"):
    """`memref<*xf32, memory space>`."""

    element: Type
    memory_space: Attribute | None = None

    @property
    def resource(self) -> Resource:
        return resource_of_space(self.memory_space)

    def text(self) -> str:
        suffix = f", {self.memory_space.memory_space_text()}" if self.memory_space is not None else ""
        return f"memref<*x{self.element}{suffix}>"


def resource_of_space(space: Attribute | None) -> Resource:
    """The kind of memory of a memory space: 0 (or none) and 1 are global, 3 is shared, 5 is registers."""
    number = 0 if space is None else space.memory_space_number
    return _SPACES.get(number, Resource.MEMORY)


_SPACES: dict[int | None, Resource] = {
    0: Resource.GLOBAL,
    1: Resource.GLOBAL,
    3: Resource.SHARED,
    5: Resource.REGISTERS,
}


class OpaqueType(Type, name="builtin.opaque"):
    """`!dialect.body` or `!dialect<body>` of a dialect that is not registered; kept as text, brackets included."""

    dialect: str
    body: str

    def text(self) -> str:
        return f"!{self.dialect}{'' if self.body.startswith('<') else '.'}{self.body}"


I1, I8, I16, I32, I64 = (IntegerType(w) for w in (1, 8, 16, 32, 64))
F16, BF16, F32, F64 = (FloatType(k) for k in ("f16", "bf16", "f32", "f64"))
TF32 = FloatType("tf32")
INDEX = IndexType()
NONE = NoneType()


def stored_bits(number: Type) -> int:
    """The size of a number in memory, in bits: an i1 takes 8, a tf32 takes 32."""
    if isinstance(number, FloatType):
        return 32 if number.keyword == "tf32" else number.width
    assert isinstance(number, IntegerType)
    return 8 if number.width == 1 else number.width


def bit_width(type: Type) -> int:
    """The width of a scalar type in bits (index is 64).  Raises ValueError for other types."""
    if isinstance(type, IntegerType | FloatType):
        return type.width
    if isinstance(type, IndexType):
        return 64
    raise ValueError(f"{type} has no fixed bit width")


def element_type(type: Type) -> Type:
    """The element type of a shaped type, or the type itself."""
    return getattr(type, "element", type) if not isinstance(type, ComplexType) else type


def width_of(type: Type) -> int:
    """The width in bits of a scalar or of an element; `index` has 64."""
    return bit_width(element_type(type))


def have_same_shape(first: Type, second: Type) -> bool:
    """True if two types are of one kind and have the same extents, including scalable ones."""
    if not isinstance(first, ShapedType | UnrankedTensorType | UnrankedMemRefType):
        return not isinstance(second, ShapedType | UnrankedTensorType | UnrankedMemRefType)
    if type(first) is not type(second):
        return False
    return all(getattr(first, key, None) == getattr(second, key, None) for key in ("shape", "scalable"))


def with_element(type: Type, element: Type) -> Type:
    """The same shape with another element type; a scalar becomes `element` itself."""
    if isinstance(type, VectorType):
        return VectorType(type.shape, element, type.scalable)
    if isinstance(type, RankedTensorType):
        return RankedTensorType(type.shape, element, type.encoding)
    if isinstance(type, MemRefType):
        return MemRefType(type.shape, element, type.layout, type.memory_space)
    if isinstance(type, UnrankedTensorType):
        return UnrankedTensorType(element)
    return element
