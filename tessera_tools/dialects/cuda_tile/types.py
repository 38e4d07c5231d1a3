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
from typing import TYPE_CHECKING

from tessera_tools.dialects.cuda_tile.attributes import PaddingValueAttr, PtrAttr
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.effects import Resource
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

if TYPE_CHECKING:
    from tessera_tools.ir.scanner import Scanner

MAX_TILE_ELEMENTS = 1 << 24
"""The most elements that a tile may have."""

I4 = IntegerType(4)
INTEGERS = (I1, I8, I16, I32, I64)
F8E5M3FNU = FloatType("fnv8E5M3FNU")
"""An unsigned scale factor, of later tools; messages, which list the types, are those of the open dialect."""
FLOATS = (
    F16, BF16, F32, TF32, F64, *map(FloatType, ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN")), F8E5M3FNU,
)  # fmt: skip
NUMBERS = (*FLOATS, *INTEGERS)
"""The element types of tensors in memory (and the types that a pointer points to)."""
_NAMED = tuple(type for type in NUMBERS if type is not F8E5M3FNU)
"""Those that messages name, as the reference's do."""


class CudaTileType(Type):
    """The base of the types of this dialect."""

    def short_text(self) -> str:
        """The type as printed inside the dialect's own ops, without `!cuda_tile.`."""
        raise AssertionError(f"{type(self).__name__} declares no short text")

    def text(self) -> str:
        return f"!cuda_tile.{self.short_text()}"


def short_text(type: Type) -> str:
    """A type as printed inside the ops of this dialect."""
    return type.short_text() if isinstance(type, CudaTileType) else str(type)


class PointerType(CudaTileType, name="cuda_tile.ptr"):
    """`ptr<f32>`: the address of one element in global memory; `ptr<f32, <multicast>>` also specifies the kind of
    memory."""

    pointee: Type
    kind: PtrAttr | None = None

    @property
    def resource(self) -> Resource:
        return Resource.GLOBAL

    def verify(self) -> None:
        if self.pointee not in NUMBERS:
            raise ValueError(f"failed to verify 'pointeeType': {_one_of(_NAMED)}, but got '{self.pointee}'")

    @classmethod
    def parse(cls, s: Scanner) -> PointerType:
        """What follows `ptr`."""
        s.expect("<")
        pointee = s.type("cuda_tile")
        kind = _ptr_attr(s) if s.optional(",") else None
        s.expect(">")
        return cls(pointee, kind)

    def short_text(self) -> str:
        kind = f", <{self.kind.value}>" if self.kind is not None else ""
        return f"ptr<{short_text(self.pointee)}{kind}>"


def _ptr_attr(s: Scanner) -> PtrAttr:
    """`<multicast>`, or `#cuda_tile.ptr_attr<multicast>`."""
    if s.peek("#"):
        found = s.attribute()
        if not isinstance(found, PtrAttr):
            raise s.error(f"expected a ptr_attr, found '{found}'")
        return found
    return PtrAttr.parse(s)  # type: ignore[return-value]


class TileType(ShapedType, CudaTileType, name="cuda_tile.tile"):
    """`tile<128x64xf16>`: a value of static shape whose elements are numbers or pointers; `tile<i32>` is a scalar."""

    @property
    def resource(self) -> Resource | None:
        return self.element.resource

    def verify(self) -> None:
        if (
            self.element not in NUMBERS
            and self.element is not I4
            and not isinstance(self.element, PointerType)
        ):
            kinds = f"{_one_of(_NAMED)} or Pointer type or i4"
            raise ValueError(f"failed to verify 'elementType': {kinds}, but got '{self.element}'")
        if self.element is FloatType("f4E2M1FN") and all(extent % 2 for extent in self.shape):
            raise ValueError("F4E2M1FN tiles must have an even number of elements")
        verify_tile_shape(self.shape)

    @classmethod
    def parse(cls, s: Scanner) -> TileType:
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
    kind: PtrAttr | None = None

    @property
    def resource(self) -> Resource:
        return Resource.GLOBAL

    def verify(self) -> None:
        if self.element not in NUMBERS:
            raise ValueError(f"failed to verify 'elementType': {_one_of(_NAMED)}, but got '{self.element}'")
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
        """The number of dynamic extents."""
        return self.shape.count(DYNAMIC)

    @property
    def dynamic_strides(self) -> int:
        """The number of dynamic strides."""
        return self.strides.count(DYNAMIC)

    @classmethod
    def parse(cls, s: Scanner) -> Type:
        """What follows `tensor_view`.  Without strides it is the older spelling's `LegacyTensorViewType`."""
        s.expect("<")
        shape = tuple(s.dimensions())
        element = s.type("cuda_tile")
        if s.optional(">"):
            return LegacyTensorViewType(shape, element) if shape else cls((), element, ())
        s.expect(",")
        if not shape:
            if s.peek("strides"):
                raise s.error("strides must not be provided for 0-d tiles")
            raise s.error("expected token after element type in 0-d tensor_view to be '>'")
        s.expect("strides")
        s.expect("=")
        strides = tuple(s.list("[", lambda: _extent(s), "]"))
        kind = _ptr_attr(s) if s.optional(",") else None
        s.expect(">")
        return cls(shape, element, strides, kind)

    def short_text(self) -> str:
        strides = ",".join("?" if v == DYNAMIC else str(v) for v in self.strides)
        stated = f", strides=[{strides}]" if self.shape else ""
        kind = f", {self.kind}" if self.kind is not None else ""
        return f"tensor_view<{self.dims_text()}{self.element}{stated}{kind}>"


class TileViewType(CudaTileType):
    """The base of views that partition a tensor view into tiles, for loads and stores."""

    @property
    def resource(self) -> Resource:
        return Resource.GLOBAL

    @property
    def index_rank(self) -> int:
        """The number of indices of a tile."""
        raise AssertionError

    @property
    def tile_type(self) -> TileType:
        """The type of a loaded or stored tile."""
        raise AssertionError


class PartitionViewType(TileViewType, name="cuda_tile.partition_view"):
    """`partition_view<tile=(128x64), tensor_view<…>>`: a grid of tiles that touch and do not overlap.

    `dim_map[i]` is the dimension of the tensor view that tile dimension i runs along (identity if empty);
    `padding` is the value of elements out of bounds in a load (unspecified if None).
    """

    tile: tuple[int, ...]
    tensor_view: TensorViewType
    dim_map: tuple[int, ...] = ()
    padding: PaddingValueAttr | None = None

    def verify(self) -> None:
        _verify_tiled(self.tile, self.tensor_view, self.padding, self.dim_map)

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
    def parse(cls, s: Scanner) -> Type:
        """What follows `partition_view`.  Without `tile=` it is the older spelling's `LegacyPartitionViewType`."""
        s.expect("<")
        if not s.peek("tile"):
            shape = tuple(s.dimensions())
            element = s.type("cuda_tile")
            s.expect(">")
            return LegacyPartitionViewType(shape, element)
        tile = _tile_extents(s)
        padding = _padding(s)
        view = _tensor_view(s)
        dim_map = _dim_map(s, tile)
        s.expect(">")
        return cls(tile, view, dim_map, padding)

    def short_text(self) -> str:
        view = self.tensor_view.short_text() + _dim_map_text(self.dim_map)
        return f"partition_view<{_tile_text(self.tile)}{_padding_text(self.padding)}{view}>"


class StridedViewType(TileViewType, name="cuda_tile.strided_view"):
    """`strided_view<tile=(8x16), traversal_strides=[4,3], tensor_view<…>>`: tiles at distances `traversal_strides`
    elements apart, and so may overlap or leave gaps."""

    tile: tuple[int, ...]
    traversal_strides: tuple[int, ...]
    tensor_view: TensorViewType
    dim_map: tuple[int, ...] = ()
    padding: PaddingValueAttr | None = None

    def verify(self) -> None:
        _verify_tiled(self.tile, self.tensor_view, self.padding, self.dim_map)
        strides = self.traversal_strides
        if len(self.tile) != len(strides):
            raise ValueError(f"expected {len(self.tile)} traversal strides, got {len(strides)}")
        if any(stride <= 0 for stride in strides):
            raise ValueError(
                f"traversal strides must be strictly positive but got [{', '.join(map(str, strides))}]"
            )

    @property
    def index_rank(self) -> int:
        return len(self.tile)

    @property
    def tile_type(self) -> TileType:
        return TileType(self.tile, self.tensor_view.element)

    @classmethod
    def parse(cls, s: Scanner) -> StridedViewType:
        """What follows `strided_view`."""
        s.expect("<")
        tile = _tile_extents(s)
        s.expect("traversal_strides")
        s.expect("=")
        strides = tuple(s.list("[", s.integer, "]"))
        s.expect(",")
        padding = _padding(s)
        view = _tensor_view(s)
        dim_map = _dim_map(s, tile)
        s.expect(">")
        return cls(tile, strides, view, dim_map, padding)

    def short_text(self) -> str:
        strides = ",".join(map(str, self.traversal_strides))
        head = f"{_tile_text(self.tile)}traversal_strides=[{strides}], {_padding_text(self.padding)}"
        return f"strided_view<{head}{self.tensor_view.short_text()}{_dim_map_text(self.dim_map)}>"


class GatherScatterViewType(TileViewType, name="cuda_tile.gather_scatter_view"):
    """`gather_scatter_view<tile=(8x16), tensor_view<…>, sparse_dim=0>`: tiles whose places along `sparse_dim` are
    given individually; that index is a tile of rank one, the others are scalars."""

    tile: tuple[int, ...]
    tensor_view: TensorViewType
    sparse_dim: int
    padding: PaddingValueAttr | None = None

    def verify(self) -> None:
        rank = len(self.tensor_view.shape)
        _verify_tile_of_view(self.tile, rank)
        if not 0 <= self.sparse_dim < rank:
            raise ValueError(
                "gather dimension is outside of tensor view dimensions, "
                f"expected strictly less than {rank}, got {self.sparse_dim}"
            )
        TileType(self.tile, self.tensor_view.element)
        _verify_padding(self.padding, self.tensor_view.element)

    @property
    def index_rank(self) -> int:
        return len(self.tile)

    @property
    def tile_type(self) -> TileType:
        return TileType(self.tile, self.tensor_view.element)

    @classmethod
    def parse(cls, s: Scanner) -> GatherScatterViewType:
        """What follows `gather_scatter_view`."""
        s.expect("<")
        tile = _tile_extents(s)
        padding = _padding(s)
        view = _tensor_view(s)
        s.expect(",")
        s.expect("sparse_dim")
        s.expect("=")
        sparse_dim = s.integer()
        s.expect(">")
        return cls(tile, view, sparse_dim, padding)

    def short_text(self) -> str:
        head = f"{_tile_text(self.tile)}{_padding_text(self.padding)}{self.tensor_view.short_text()}"
        return f"gather_scatter_view<{head}, sparse_dim={self.sparse_dim}>"


# -- what the views have in common


def _tile_extents(s: Scanner) -> tuple[int, ...]:
    """`tile=(8x16),`."""
    s.expect("tile")
    s.expect("=")
    s.expect("(")
    tile = () if s.peek(")") else (*s.dimensions(), s.integer())
    s.expect(")")
    s.expect(",")
    return tile


def _padding(s: Scanner) -> PaddingValueAttr | None:
    """`padding_value = zero,`, or nothing."""
    if not s.optional("padding_value"):
        return None
    s.expect("=")
    padding = PaddingValueAttr(s.word())
    s.expect(",")
    return padding


def _tensor_view(s: Scanner) -> TensorViewType:
    view = s.type("cuda_tile")
    if not isinstance(view, TensorViewType):
        raise s.error(f"expected 'tensor_view' type, but got '{view}'")
    return view


def _dim_map(s: Scanner, tile: tuple[int, ...]) -> tuple[int, ...]:
    """`, dim_map=[1, 0]`, or nothing; empty where dimensions keep their order."""
    if not s.optional(","):
        return ()
    s.expect("dim_map")
    s.expect("=")
    dim_map = tuple(s.list("[", s.integer, "]"))
    if not dim_map:
        raise s.error(
            f"expected dim_map to map exactly all {len(tile)} dimensions of the tile, got 0 mappings"
        )
    return () if dim_map == tuple(range(len(tile))) else dim_map


def _tile_text(tile: tuple[int, ...]) -> str:
    return f"tile=({'x'.join(map(str, tile))}), "


def _padding_text(padding: PaddingValueAttr | None) -> str:
    return f"padding_value = {padding.value}, " if padding is not None else ""


def _dim_map_text(dim_map: tuple[int, ...]) -> str:
    return f", dim_map=[{_listed(dim_map)}]" if dim_map else ""


def _verify_tiled(
    tile: tuple[int, ...], view: TensorViewType, padding: PaddingValueAttr | None, dim_map: tuple[int, ...]
) -> None:
    rank = len(view.shape)
    if not tile:
        raise ValueError("0-dimension tile shape is not supported")
    if len(tile) == rank and len(dim_map) not in (0, rank):
        raise ValueError(
            f"expected dim_map to map exactly all {rank} dimensions of the tile, got {len(dim_map)} mappings"
        )
    _verify_tile_of_view(tile, rank)
    _verify_dim_map(dim_map, rank)
    TileType(tile, view.element)
    _verify_padding(padding, view.element)


def _verify_tile_of_view(tile: tuple[int, ...], rank: int) -> None:
    if not tile:
        raise ValueError("0-dimension tile shape is not supported")
    if len(tile) != rank:
        raise ValueError(
            "expected tensor_view rank and tile rank to match, got tensor_view of rank "
            f"{rank} and tiles of rank {len(tile)}"
        )
    for i, extent in enumerate(tile):
        if extent > 0x7FFFFFFF:
            raise ValueError(
                f"tile dimension {i} exceeds i32 limitations (got {extent}, expected strictly positive and less than "
                "or equal to 2147483647)"
            )
    if any(extent <= 0 for extent in tile):
        raise ValueError(f"tile shape dimensions must have positive length but got [{_listed(tile)}]")
    if any(extent & (extent - 1) for extent in tile):
        raise ValueError(f"tile shape dimensions must have power of two length but got [{_listed(tile)}]")


def _verify_padding(padding: PaddingValueAttr | None, element: Type) -> None:
    if padding is not None and padding.value != "zero" and element in INTEGERS:
        raise ValueError(
            f"padding_value {padding.value} can only be used with floating point element types, got '{element}'"
        )


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
    def parse(cls, s: Scanner) -> TokenType:
        """What follows `token`: nothing."""
        return cls()

    def short_text(self) -> str:
        return "token"


class LegacyTensorViewType(ShapedType, CudaTileType, name="cuda_tile.legacy_tensor_view"):
    """`tensor_view<128x64xf16>` of the older spelling, which names the shape of the tiles that are cut from it."""

    def short_text(self) -> str:
        return f"tensor_view<{self.dims_text()}{self.element}>"


class LegacyPartitionViewType(ShapedType, CudaTileType, name="cuda_tile.legacy_partition_view"):
    """`partition_view<128x64xf16>` of the older spelling: only the tile's shape and element type."""

    def short_text(self) -> str:
        return f"partition_view<{self.dims_text()}{self.element}>"


TOKEN = TokenType()


def scalar(element: Type) -> TileType:
    """`tile<element>`, of rank 0."""
    return TileType((), element)


def i1_like(type: Type) -> TileType | None:
    """The tile of i1 of the same shape; None if the type is not a tile."""
    return TileType(type.shape, I1) if isinstance(type, TileType) else None


def _extent(s: Scanner) -> int:
    if s.optional("?"):
        return DYNAMIC
    value = s.optional_integer()
    if value is None:
        raise s.error(f"expected either 64-bit integer or question mark, found {s.found()}")
    if value <= 0:
        raise s.error(f"expected strictly positive integer, got {value}")
    return value


def _listed(values: Sequence[int]) -> str:
    return ", ".join("?" if v == DYNAMIC else str(v) for v in values)


def _one_of(types: Sequence[Type]) -> str:
    return " or ".join(map(str, types))
