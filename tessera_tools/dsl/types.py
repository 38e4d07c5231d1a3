"""The types of the DSL, as Python spells them.

    f16  i32  ptr[f16]  tile[128, 64, f16]  array[f16, 2]  constexpr  "tile<128x64xf16>"

An annotation of a parameter is one of them, or the same type as MLIR text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tessera_tools.diagnostics import DiagnosticError, Refusal
from tessera_tools.dialects.cuda_tile.types import FLOATS, INTEGERS, NUMBERS, PointerType, TileType, scalar
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import DYNAMIC, FloatType, bit_width
from tessera_tools.records import dataclass, replace

if TYPE_CHECKING:
    from tessera_tools.dsl.values import Tile

__all__ = [
    "ArrayType",
    "Constexpr",
    "Dtype",
    "Facts",
    "Parameter",
    "TypeLike",
    "array",
    "constexpr",
    "dtypes",
    "parameter_type",
    "ptr",
    "tile",
]


@dataclass(frozen=True)
class Facts:
    """What the caller of a kernel guarantees about an argument."""

    alignment: int = 0
    """Multiples of this many bytes: the address, and each row of an array. 0: nothing is known."""
    divisor: int = 0
    """A number is a multiple of it. 0: nothing is known."""


@dataclass(frozen=True)
class Dtype:
    """An element type: `f16`, `i32`. As an annotation, a number; called, the conversion of a tile to it."""

    ir: Type

    def __str__(self) -> str:
        return str(self.ir)

    __repr__ = __str__

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return isinstance(self.ir, FloatType)

    @property
    def width(self) -> int:
        """The number of bits of an element."""
        return bit_width(self.ir)

    def multiple_of(self, divisor: int) -> Parameter:
        """The annotation of a number that the caller guarantees to be a multiple of `divisor`, a power of two."""
        return Parameter(scalar(self.ir), Facts(divisor=divisor))


dtypes: dict[str, Dtype] = {
    {"f8E4M3FN": "f8e4m3", "f8E5M2": "f8e5m2", "f8E8M0FNU": "f8e8m0", "f4E2M1FN": "f4e2m1"}.get(
        str(type), str(type)
    ): Dtype(type)
    for type in (*INTEGERS, *FLOATS)
    if str(type) != "fnv8E5M3FNU"
}
"""Every element type by its name in the DSL."""


@dataclass(frozen=True)
class Parameter:
    """The type of a kernel's parameter, and what its caller guarantees."""

    type: TileType
    facts: Facts = Facts()

    def aligned(self, alignment: int) -> Parameter:
        """A pointer whose address is a multiple of `alignment` bytes."""
        if not isinstance(self.type.element, PointerType):
            raise TypeError(f"only pointers and arrays are aligned; found {self.type.short_text()}")
        return replace(self, facts=Facts(alignment=alignment))

    def __str__(self) -> str:
        return self.type.short_text()


@dataclass(frozen=True)
class ArrayType:
    """`array[f16, 2]`: a pointer, extents and strides. The stride of the last dimension is 1, unless `strided`."""

    element: Type
    rank: int
    strides: tuple[int, ...]
    facts: Facts = Facts()

    def aligned(self, alignment: int) -> ArrayType:
        """Address, rows and last extent are multiples of `alignment` bytes."""
        return replace(self, facts=Facts(alignment=alignment))

    @property
    def strided(self) -> ArrayType:
        """The same array type, of any strides."""
        return replace(self, strides=(DYNAMIC,) * self.rank)

    def __str__(self) -> str:
        return f"array[{self.element}, {self.rank}]"


TypeLike: TypeAlias = "Dtype | Parameter | Type | str | type[Tile]"
"""A type as a kernel may spell it; text is that of MLIR. In the stub of the language, types are classes of tiles."""


class _Pointers:
    """`ptr[f16]`: the address of elements in global memory."""

    def __getitem__(self, element: Dtype) -> Parameter:
        if not isinstance(element, Dtype):
            raise TypeError(f"expected an element type, as in ptr[f16]; found {element!r}")
        return Parameter(scalar(PointerType(element.ir)))


class _Tiles:
    """`tile[128, 64, f16]`: a tile of 128 by 64 elements; `tile[f16]`: one element."""

    def __getitem__(self, parts: Dtype | Parameter | tuple[int | Dtype | Parameter, ...]) -> TileType:
        *shape, element = parts if isinstance(parts, tuple) else (parts,)
        if not isinstance(element, Dtype | Parameter):
            raise TypeError(
                f"expected an element type at the end, as in tile[128, 64, f16]; found {element!r}"
            )
        extents = tuple(n for n in shape if isinstance(n, int) and not isinstance(n, bool))
        if len(extents) != len(shape):
            raise TypeError(f"the extents of a tile are numbers, as in tile[128, 64, f16]; found {shape!r}")
        return TileType(extents, element.ir if isinstance(element, Dtype) else element.type.element)


class _Arrays:
    """`array[f16, 2]`: a matrix, passed as a pointer, two extents and two strides."""

    def __getitem__(self, parts: Dtype | tuple[Dtype, int]) -> ArrayType:
        element, rank = parts if isinstance(parts, tuple) and len(parts) == 2 else (parts, 1)
        if not isinstance(element, Dtype) or isinstance(rank, bool) or not isinstance(rank, int):
            raise TypeError(
                f"expected an element type and a number of dimensions, as in array[f16, 2]; found {parts!r}"
            )
        if not 1 <= rank <= 8:
            raise TypeError(f"an array has 1 to 8 dimensions; found {rank}")
        return ArrayType(element.ir, rank, (*(DYNAMIC,) * (rank - 1), 1))


class Constexpr:
    """The annotation of a parameter whose value is known when the kernel is compiled."""

    def __repr__(self) -> str:
        return "constexpr"


ptr = _Pointers()
tile = _Tiles()
array = _Arrays()
constexpr = Constexpr()


def parameter_type(annotation: object) -> Parameter | ArrayType | Constexpr:
    """What an annotation says. Raises Refusal for one that is no type of the DSL."""
    if isinstance(annotation, Parameter | ArrayType | Constexpr):
        return annotation
    if isinstance(annotation, Dtype):
        return Parameter(scalar(annotation.ir))
    if isinstance(annotation, TileType) and not annotation.shape:
        return Parameter(annotation)
    if isinstance(annotation, str):
        return parameter_type(type_of(annotation))
    if isinstance(annotation, PointerType) or (isinstance(annotation, Type) and annotation in NUMBERS):
        return Parameter(scalar(annotation))
    raise Refusal(f"found {annotation!r}, expected a type such as ptr[f16], i32, array[f16, 2] or constexpr")


def type_of(value: object) -> Type:
    """The IR type of a type of the DSL, or of MLIR text. Raises Refusal."""
    if isinstance(value, Dtype):
        return value.ir
    if isinstance(value, Parameter):
        return value.type
    if isinstance(value, Type):
        return value
    if isinstance(value, str):
        from tessera_tools.parser import parse_type

        if value in dtypes:
            return dtypes[value].ir
        try:
            return parse_type(value if value.startswith("!") else f"!cuda_tile.{value}")
        except DiagnosticError as failure:
            raise Refusal(f"'{value}' is not a type: {failure.diagnostics[0].message}") from None
    raise Refusal(f"found {value!r}, expected a type such as f16 or tile[128, 64, f16]")
