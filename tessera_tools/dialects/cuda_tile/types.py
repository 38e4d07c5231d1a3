"""The types of `cuda_tile`: tiles, pointers, tensor views, tile views, tokens.

    tile<128x64xf16>   tile<ptr<f32>>   tensor_view<?x?xf16, strides=[?,1]>   token
    partition_view<tile=(128x64), padding_value = zero, tensor_view<…>, dim_map=[1, 0]>

Inside the ops of this dialect a type is written short (`short_text`); everywhere else, and at the start of a full
type, with `!cuda_tile.`.  Types nested in a type are always short.  The rules are those of the public dialect
(Types.td of NVIDIA/cuda-tile): tile dimensions are powers of two, a tile has at most 2**24 elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tessera_tools.dialects.cuda_tile.attributes import PaddingValueAttr
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import (
    BF16,
    DYNAMIC,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    TF32,
    FloatType,
    IntegerType,
    ShapedType,
)

MAX_TILE_ELEMENTS = 1 << 24
"""The most elements that a tile may have."""

I4 = IntegerType(4)
INTEGERS = (I1, I8, I16, I32, I64)
FLOATS = (F16, BF16, F32, TF32, F64, *map(FloatType, ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN")))
NUMBERS = (*FLOATS, *INTEGERS)
"""The element types of tensors in memory (and the types that a pointer points to)."""


class CudaTileType(Type):
    """The base of the types of this dialect."""

    def short_text(self) -> str:
        """The type as it is written inside the dialect's own ops, without `!cuda_tile.`."""
        raise AssertionError(f"{type(self).__name__} declares no short text")

    def text(self) -> str:
        return f"!cuda_tile.{self.short_text()}"


def short_text(type: Type) -> str:
    """A type as it is written inside the ops of this dialect."""
    return type.short_text() if isinstance(type, CudaTileType) else str(type)


class PointerType(CudaTileType, name="cuda_tile.ptr"):
    """`ptr<f32>`: the address of one element in global memory."""

    pointee: Type

    def verify(self) -> None:
        if self.pointee not in NUMBERS:
            raise ValueError(f"failed to verify 'pointeeType': {_one_of(NUMBERS)}, but got '{self.pointee}'")

    @classmethod
    def parse(cls, s: Any) -> PointerType:
        """What follows `ptr`."""
        s.expect("<")
        pointee = s.type("cuda_tile")
        s.expect(">")
        return cls(pointee)

    def short_text(self) -> str:
        return f"ptr<{short_text(self.pointee)}>"


class TileType(ShapedType, CudaTileType, name="cuda_tile.tile"):
    """`tile<128x64xf16>`: a value of static shape whose elements are numbers or pointers; `tile<i32>` is a scalar."""

    def verify(self) -> None:
        if (
            self.element not in NUMBERS
            and self.element is not I4
            and not isinstance(self.element, PointerType)
        ):
            kinds = f"{_one_of(NUMBERS)} or Pointer type or i4"
            raise ValueError(f"failed to verify 'elementType': {kinds}, but got '{self.element}'")
        if self.element is FloatType("f4E2M1FN") and all(extent % 2 for extent in self.shape):
            raise ValueError("F4E2M1FN tiles must have an even number of elements")
        verify_tile_shape(self.shape)

    @classmethod
    def parse(cls, s: Any) -> TileType:
        """What follows `tile`."""
        s.expect("<")
        shape = s.dimensions()
        element = s.type("cuda_tile")
        s.expect(">")
        return cls(tuple(shape), element)

    def short_text(self) -> str:
        return f"tile<{self.dims_text()}{short_text(self.element)}>"


def verify_tile_shape(shape: Sequence[int]) -> None:
    """ValueError unless every dimension is a power of two and there are at most `MAX_TILE_ELEMENTS` elements."""
    if DYNAMIC in shape:
        raise ValueError("expected static shape")
    if any(extent <= 0 for extent in shape):
        raise ValueError(f"all dimensions must be positive constants, got {_listed(shape)}")
    if any(extent & (extent - 1) for extent in shape):
        raise ValueError(f"all dimensions must be powers of two, got {_listed(shape)}")
    if math.prod(shape) > MAX_TILE_ELEMENTS:
        raise ValueError(f"tile would exceed the maximum of {MAX_TILE_ELEMENTS} elements")


class TensorViewType(ShapedType, CudaTileType, name="cuda_tile.tensor_view"):
    """`tensor_view<?x?xf16, strides=[?,1]>`: a tensor in global memory; strides are in elements."""

    strides: tuple[int, ...] = ()

    def verify(self) -> None:
        if self.element not in NUMBERS:
            raise ValueError(f"failed to verify 'elementType': {_one_of(NUMBERS)}, but got '{self.element}'")
        if len(self.shape) != len(self.strides):
            raise ValueError(
                f"expected shape and stride to be of same rank but got shape of rank {len(self.shape)} "
                f"and stride of rank {len(self.strides)}"
            )
        for noun, values in (("sizes", self.shape), ("strides", self.strides)):
            if any(v <= 0 and v != DYNAMIC for v in values):
                raise ValueError(
                    f"dimensions must have strictly positive constant {noun} but got [{_listed(values)}]"
                )

    @property
    def dynamic_extents(self) -> int:
        """How many extents are known only at run time."""
        return self.shape.count(DYNAMIC)

    @property
    def dynamic_strides(self) -> int:
        """How many strides are known only at run time."""
        return self.strides.count(DYNAMIC)

    @classmethod
    def parse(cls, s: Any) -> Type:
        """What follows `tensor_view`.  Without strides it is the older spelling's `LegacyTensorViewType`."""
        s.expect("<")
        shape = tuple(s.dimensions())
        element = s.type("cuda_tile")
        if s.optional(">"):
            return LegacyTensorViewType(shape, element) if shape else cls((), element, ())
        s.expect(",")
        if not shape:
            raise s.error("strides must not be provided for 0-d tiles")
        s.expect("strides")
        s.expect("=")
        strides = tuple(s.list("[", lambda: _extent(s), "]"))
        s.expect(">")
        return cls(shape, element, strides)

    def short_text(self) -> str:
        strides = ",".join("?" if v == DYNAMIC else str(v) for v in self.strides)
        return (
            f"tensor_view<{self.dims_text()}{self.element}{f', strides=[{strides}]' if self.shape else ''}>"
        )


class TileViewType(CudaTileType):
    """The base of views that cut a tensor view into tiles; loads and stores go through one."""

    @property
    def index_rank(self) -> int:
        """How many indices choose a tile."""
        raise AssertionError

    @property
    def tile_type(self) -> TileType:
        """What a load gives and a store takes."""
        raise AssertionError


class PartitionViewType(TileViewType, name="cuda_tile.partition_view"):
    """`partition_view<tile=(128x64), tensor_view<…>>`: a grid of tiles that touch and do not overlap.

    `dim_map[i]` is the dimension of the tensor view that tile dimension i runs along (identity if empty);
    `padding` is what a load gives outside the tensor (unspecified if None).
    """

    tile: tuple[int, ...]
    tensor_view: TensorViewType
    dim_map: tuple[int, ...] = ()
    padding: PaddingValueAttr | None = None

    def verify(self) -> None:
        tile, rank = self.tile, len(self.tensor_view.shape)
        if not tile:
            raise ValueError("0-dimension tile shape is not supported")
        if len(tile) != rank:
            raise ValueError(
                "expected tensor_view rank and tile rank to match, got tensor_view of rank "
                f"{rank} and tiles of rank {len(tile)}"
            )
        if len(self.dim_map) not in (0, rank):
            raise ValueError(
                f"expected dim_map to map exactly all {rank} dimensions of the tile, got {len(self.dim_map)} mappings"
            )
        if any(extent <= 0 for extent in tile):
            raise ValueError(f"tile shape dimensions must have positive length but got [{_listed(tile)}]")
        if any(extent & (extent - 1) for extent in tile):
            raise ValueError(f"tile shape dimensions must have power of two length but got [{_listed(tile)}]")
        _verify_dim_map(self.dim_map, rank)
        TileType(tile, self.tensor_view.element)
        if self.padding is not None and self.padding.value != "zero" and self.tensor_view.element in INTEGERS:
            raise ValueError(
                f"padding_value {self.padding.value} can only be used with floating point element types, "
                f"got '{self.tensor_view.element}'"
            )

    @property
    def index_rank(self) -> int:
        return len(self.tile)

    @property
    def tile_type(self) -> TileType:
        return TileType(self.tile, self.tensor_view.element)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The dimension of the tensor view for each tile dimension."""
        return self.dim_map or tuple(range(len(self.tile)))

    @classmethod
    def parse(cls, s: Any) -> Type:
        """What follows `partition_view`.  Without `tile=` it is the older spelling's `LegacyPartitionViewType`."""
        s.expect("<")
        if not s.peek("tile"):
            shape = tuple(s.dimensions())
            element = s.type("cuda_tile")
            s.expect(">")
            return LegacyPartitionViewType(shape, element)
        s.expect("tile")
        s.expect("=")
        s.expect("(")
        tile = () if s.peek(")") else (*s.dimensions(), s.integer())
        s.expect(")")
        s.expect(",")
        padding = None
        if s.optional("padding_value"):
            s.expect("=")
            padding = PaddingValueAttr(s.word())
            s.expect(",")
        view = s.type("cuda_tile")
        if not isinstance(view, TensorViewType):
            raise s.error(f"expected 'tensor_view' type, but got '{view}'")
        dim_map: tuple[int, ...] = ()
        if s.optional(","):
            s.expect("dim_map")
            s.expect("=")
            dim_map = tuple(s.list("[", s.integer, "]"))
            if dim_map == tuple(range(len(tile))):
                dim_map = ()
            elif not dim_map:
                raise s.error(
                    f"expected dim_map to map exactly all {len(tile)} dimensions of the tile, got 0 mappings"
                )
        s.expect(">")
        return cls(tile, view, dim_map, padding)

    def short_text(self) -> str:
        padding = f"padding_value = {self.padding.value}, " if self.padding is not None else ""
        dim_map = f", dim_map=[{_listed(self.dim_map)}]" if self.dim_map else ""
        tile = "x".join(map(str, self.tile))
        return f"partition_view<tile=({tile}), {padding}{self.tensor_view.short_text()}{dim_map}>"


def _verify_dim_map(dim_map: Sequence[int], rank: int) -> None:
    used: dict[int, int] = {}
    for position, target in enumerate(dim_map):
        if target < 0:
            raise ValueError(f"target dimension must not be negative, got {target}")
        if target >= rank:
            raise ValueError(
                "target dimension is outside of tensor view dimensions, "
                f"expected strictly less than {rank}, got {target}"
            )
        if target in used:
            raise ValueError(
                f"target dimension {target} mapped at least twice (for tile dimensions {used[target]} and {position})"
            )
        used[target] = position


class TokenType(CudaTileType, name="cuda_tile.token"):
    """`token`: an order between memory operations; nothing at run time."""

    @classmethod
    def parse(cls, s: Any) -> TokenType:
        """What follows `token`: nothing."""
        return cls()

    def short_text(self) -> str:
        return "token"


class LegacyTensorViewType(ShapedType, CudaTileType, name="cuda_tile.legacy_tensor_view"):
    """`tensor_view<128x64xf16>` of the older spelling, which names the shape of the tiles that are cut from it."""

    def short_text(self) -> str:
        return f"tensor_view<{self.dims_text()}{self.element}>"


class LegacyPartitionViewType(ShapedType, CudaTileType, name="cuda_tile.legacy_partition_view"):
    """`partition_view<128x64xf16>` of the older spelling: the tile's shape and element type alone."""

    def short_text(self) -> str:
        return f"partition_view<{self.dims_text()}{self.element}>"


TOKEN = TokenType()


def scalar(element: Type) -> TileType:
    """`tile<element>`, of rank 0."""
    return TileType((), element)


def i1_like(type: Type) -> TileType | None:
    """The tile of i1 of the same shape; None if the type is not a tile."""
    return TileType(type.shape, I1) if isinstance(type, TileType) else None


def _extent(s: Any) -> int:
    if s.optional("?"):
        return DYNAMIC
    value = s.integer()
    if value <= 0:
        raise s.error(f"expected strictly positive integer, got {value}")
    return value


def _listed(values: Sequence[int]) -> str:
    return ", ".join("?" if v == DYNAMIC else str(v) for v in values)


def _one_of(types: Sequence[Type]) -> str:
    return " or ".join(map(str, types))
