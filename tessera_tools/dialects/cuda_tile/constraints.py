"""Which types the operands and results of `cuda_tile` ops take, in the reference's words, and shared checks."""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects.cuda_tile.types import (
    F8E5M3FNU,
    FLOATS,
    I4,
    INTEGERS,
    CudaTileType,
    PartitionViewType,
    PointerType,
    TensorViewType,
    TileType,
    TileViewType,
    TokenType,
    i1_like,
)
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import (
    BF16,
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
    ShapedType,
    element_type,
)
from tessera_tools.opdef import Op, TypeConstraint, derived, of

F8E4M3FN, F8E5M2, F8E8M0FNU, F4E2M1FN = map(FloatType, ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN"))


def tile_of(
    elements: Sequence[Type], noun: str = "tile", rank: int | None = None
) -> TypeConstraint[TileType]:
    """A tile whose elements are of one of the types (no types: pointers), of one rank if that is given."""
    noun = noun if rank is None else f"{rank}D {noun}"
    kinds = " or ".join(map(str, elements)) or "Pointer type"

    def accepts(type: Type) -> bool:
        if not isinstance(type, TileType) or (rank is not None and len(type.shape) != rank):
            return False
        element = type.element
        if not elements:
            return isinstance(element, PointerType)
        return element in elements or (element is F8E5M3FNU and F8E8M0FNU in elements)

    return TypeConstraint(f"{noun} of {kinds} values", accepts)


_BASE_FLOATS = (F16, BF16, F32, F64)
_ALL_FLOATS = (*_BASE_FLOATS, TF32, F8E4M3FN, F8E5M2, F8E8M0FNU, F4E2M1FN)

INT_TILE = tile_of(INTEGERS)
ANY_INT_TILE = tile_of((*INTEGERS, I4))
EXPONENT_TILE = tile_of((I1, I8, I16, I32))
I1_TILE = tile_of((I1,))
I8_TILE = tile_of((I8,))
I64_TILE = tile_of((I64,))
FLOAT_TILE = tile_of(_BASE_FLOATS)
ANY_FLOAT_TILE = tile_of(_ALL_FLOATS)
NUMBER_TILE = tile_of((*INTEGERS, *_ALL_FLOATS))
PACKABLE_TILE = tile_of((*INTEGERS, *_ALL_FLOATS, I4))
POINTER_TILE = tile_of(())
SCALAR_I1 = tile_of((I1,), rank=0)
SCALAR_I32 = tile_of((I32,), rank=0)
SCALAR_INT = tile_of(INTEGERS, rank=0)
SCALAR_POINTER = tile_of((), rank=0)
MMAF_OPERAND = tile_of((*_BASE_FLOATS, TF32, F8E4M3FN, F8E5M2), "mmaf operand tile type")
MMAF_RESULT = tile_of((F16, F32, F64), "mmaf acc/result tile type")
MMAF_SCALED_OPERAND = tile_of((F8E4M3FN, F8E5M2, F4E2M1FN), "mmaf_scaled operand tile type")
MMAF_SCALED_SCALE = tile_of((F8E4M3FN, F8E8M0FNU), "mmaf_scaled scale tile type")
MMAF_SCALED_RESULT = tile_of((F32,), "mmaf_scaled result tile type")
MMAI_OPERAND = tile_of((I8,), "mmai operand tile type")
MMAI_RESULT = tile_of((I32,), "mmai acc tile type")
ANY_TILE = of(TileType, summary="CUDA tile type")
TENSOR_VIEW = of(TensorViewType, summary="tensor_view with strides")
PARTITION_VIEW = of(PartitionViewType, summary="partition view type")
TILE_VIEW = of(TileViewType, summary="TileView instance")
TOKEN_TYPE = of(TokenType, summary="cuda tile token type")
ANY_CUDA_TILE = TypeConstraint(
    "CUDA tile type or number", lambda t: isinstance(t, CudaTileType) or t in INTEGERS or t in FLOATS
)


COMPARISON_RESULT = derived(
    "a tile of i1 of the operands' shape",
    i1_like,
    "lhs",
    base=I1_TILE,
    rule="Result type has i1 element type and same shape as operands",
)
SAME_POINTERS = derived(
    "the type of the pointers",
    lambda t: t,
    "ptr",
    base=POINTER_TILE,
    rule="all of {result, ptr} have same type",
)


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape of a tile value."""
    return value.type.shape if isinstance(value.type, ShapedType) else ()


def pointee_of(value: Value[TileType]) -> Type:
    """The type of what the pointers of a tile point to."""
    assert isinstance(value.type.element, PointerType)
    return value.type.element.pointee


def shape_text(shape: Sequence[int]) -> str:
    """`4, 8`."""
    return ", ".join(map(str, shape))


def types_text(types: Sequence[Type]) -> str:
    """`'!cuda_tile.tile<f32>', 'i32'`."""
    return ", ".join(f"'{type}'" for type in types)


def _values(op: Op, names: Sequence[str]) -> list[Value]:
    return [value for name in names for value in op.values_of(name.rstrip("_"))]


def check_same_shape(op: Op, *names: str) -> None:
    """The values of the fields (those present) have one shape."""
    if len({shape_of(value) for value in _values(op, names)}) > 1:
        raise op.error(f"failed to verify that all of {{{_names(names)}}} have same shape")


def check_same_rank(op: Op, *names: str) -> None:
    """The values of the fields have one rank."""
    if len({len(shape_of(value)) for value in _values(op, names)}) > 1:
        raise op.error(f"failed to verify that all of {{{_names(names)}}} have same rank")


def check_same_element(op: Op, *names: str) -> None:
    """The values of the fields have one element type."""
    if len({element_type(value.type) for value in _values(op, names)}) > 1:
        raise op.error(f"failed to verify that all of {{{_names(names)}}} have the same element type")


def check_element_kept(op: Operation) -> None:
    """Operands and results have one element type."""
    if len({element_type(value.type) for value in (*op.operands, *op.results)}) > 1:
        raise op.error("requires the same element type for all operands and results")


def _names(names: Sequence[str]) -> str:
    return ", ".join(name.rstrip("_") for name in names)
