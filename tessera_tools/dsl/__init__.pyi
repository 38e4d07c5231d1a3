"""Kernels in Python: docs/dsl.md."""

# Generated from the declarations of the ops by `python -m tessera_tools.dsl.stubs`.

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, SupportsAbs, TypeAlias, TypeVar, overload

from tessera_tools.dsl.function import Function as Function
from tessera_tools.dsl.function import kernel as kernel
from tessera_tools.dsl.library import Array as Array
from tessera_tools.dsl.library import arange as arange
from tessera_tools.dsl.library import assume as assume
from tessera_tools.dsl.library import atomic as atomic
from tessera_tools.dsl.library import cdiv as cdiv
from tessera_tools.dsl.library import constant as constant
from tessera_tools.dsl.library import dot as dot
from tessera_tools.dsl.library import full as full
from tessera_tools.dsl.library import gather as gather
from tessera_tools.dsl.library import load as load
from tessera_tools.dsl.library import make_gather_scatter_view as make_gather_scatter_view
from tessera_tools.dsl.library import make_partition_view as make_partition_view
from tessera_tools.dsl.library import make_strided_view as make_strided_view
from tessera_tools.dsl.library import make_tensor_view as make_tensor_view
from tessera_tools.dsl.library import maximum as maximum
from tessera_tools.dsl.library import minimum as minimum
from tessera_tools.dsl.library import mmaf as mmaf
from tessera_tools.dsl.library import num_programs as num_programs
from tessera_tools.dsl.library import num_tiles as num_tiles
from tessera_tools.dsl.library import ones as ones
from tessera_tools.dsl.library import program_id as program_id
from tessera_tools.dsl.library import reshape as reshape
from tessera_tools.dsl.library import static_range as static_range
from tessera_tools.dsl.library import store as store
from tessera_tools.dsl.library import transpose as transpose
from tessera_tools.dsl.library import where as where
from tessera_tools.dsl.library import zeros as zeros
from tessera_tools.dsl.reductions import reduce as reduce
from tessera_tools.dsl.reductions import scan as scan
from tessera_tools.dsl.reductions import softmax as softmax
from tessera_tools.dsl.types import TypeLike as _TypeLike
from tessera_tools.dsl.values import Tile as Tile
from tessera_tools.dsl.values import Token as _Token
from tessera_tools.dsl.values import View as View

# An operand of an op: a number is a constant of the type of the other operands.
_Number: TypeAlias = bool | int | float
# The type of a result: a type, an element type, a shape, or MLIR text.
_Type: TypeAlias = _TypeLike | Sequence[int]
_T = TypeVar("_T")
_RoundingMode: TypeAlias = Literal[
    "nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero", "nearest_away"
]
_ComparisonPredicate: TypeAlias = Literal[
    "equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"
]
_ComparisonOrdering: TypeAlias = Literal[
    "unordered", "ordered"
]
_Overflow: TypeAlias = Literal[
    "none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap"
]
_Signedness: TypeAlias = Literal[
    "unsigned", "signed"
]
_MemoryOrderingSemantics: TypeAlias = Literal[
    "weak", "relaxed", "acquire", "release", "acq_rel"
]
_MemoryScope: TypeAlias = Literal[
    "tl_blk", "device", "sys"
]
_Mode: TypeAlias = Literal[
    "and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg"
]
_Reduction: TypeAlias = Literal[
    "add", "min", "max", "and", "or", "xor", "umin", "umax"
]

__all__ = [
    "Array",
    "Function",
    "Tile",
    "View",
    "abs",
    "absf",
    "absi",
    "addf",
    "addi",
    "alloca",
    "andi",
    "arange",
    "array",
    "assert_",
    "assume",
    "atan2",
    "atomic",
    "atomic_cas_tko",
    "atomic_red_view_tko",
    "atomic_rmw_tko",
    "bf16",
    "bitcast",
    "broadcast",
    "cat",
    "cdiv",
    "ceil",
    "cmpf",
    "cmpi",
    "constant",
    "constexpr",
    "cos",
    "cosh",
    "divf",
    "divi",
    "dot",
    "exp",
    "exp2",
    "exti",
    "extract",
    "f16",
    "f32",
    "f4e2m1",
    "f64",
    "f8e4m3",
    "f8e5m2",
    "f8e8m0",
    "floor",
    "fma",
    "fpowf",
    "fpowi",
    "ftof",
    "ftoi",
    "full",
    "gather",
    "gdc_launch_dependents_tko",
    "gdc_wait_tko",
    "get_global",
    "get_index_space_shape",
    "get_num_tile_blocks",
    "get_tensor_shape",
    "get_tile_block_id",
    "i1",
    "i16",
    "i32",
    "i64",
    "i8",
    "insert",
    "int_to_ptr",
    "iota",
    "itof",
    "join_tokens",
    "kernel",
    "load",
    "load_ptr_tko",
    "load_view_tko",
    "log",
    "log2",
    "make_gather_scatter_view",
    "make_partition_view",
    "make_strided_view",
    "make_tensor_view",
    "make_token",
    "max",
    "maxf",
    "maxi",
    "maximum",
    "memory_fence_alias_tko",
    "min",
    "minf",
    "mini",
    "minimum",
    "mmaf",
    "mmaf_scaled",
    "mmai",
    "mulf",
    "mulhii",
    "muli",
    "multimem_load_reduce_view_tko",
    "multimem_reduce_view_tko",
    "multimem_store_view_tko",
    "negf",
    "negi",
    "num_programs",
    "num_tiles",
    "offset",
    "ones",
    "ori",
    "pack",
    "permute",
    "pow",
    "print_tko",
    "program_id",
    "ptr",
    "ptr_to_int",
    "ptr_to_ptr",
    "range",
    "reduce",
    "remf",
    "remi",
    "reshape",
    "rsqrt",
    "scan",
    "select",
    "shli",
    "shri",
    "sin",
    "sinh",
    "softmax",
    "sqrt",
    "static_range",
    "store",
    "store_ptr_tko",
    "store_view_tko",
    "subf",
    "subi",
    "sum",
    "tan",
    "tanh",
    "tf32",
    "tile",
    "transpose",
    "trunci",
    "unpack",
    "where",
    "xori",
    "zeros",
]

class _Scalar(Tile):
    """An element type: as an annotation, a number; called, the conversion of a tile to it."""

    def __init__(self, value: Tile | _Number = ...) -> None: ...
    @staticmethod
    def multiple_of(divisor: int) -> type[_Scalar]:
        """The annotation of a number that the caller guarantees to be a multiple of `divisor`, a power of two."""

class i1(_Scalar): ...
class i8(_Scalar): ...
class i16(_Scalar): ...
class i32(_Scalar): ...
class i64(_Scalar): ...
class f16(_Scalar): ...
class bf16(_Scalar): ...
class f32(_Scalar): ...
class tf32(_Scalar): ...
class f64(_Scalar): ...
class f8e4m3(_Scalar): ...
class f8e5m2(_Scalar): ...
class f8e8m0(_Scalar): ...
class f4e2m1(_Scalar): ...

class ptr(Tile):
    """`ptr[f16]`: the address of elements in global memory."""

    def __class_getitem__(cls, element: type[_Scalar]) -> type[ptr]: ...
    @staticmethod
    def aligned(alignment: int) -> type[ptr]:
        """A pointer whose address is a multiple of `alignment` bytes."""

class tile(Tile):
    """`tile[128, 64, f16]`: a tile of 128 by 64 elements; `tile[f16]`: one element."""

    def __class_getitem__(cls, parts: type[Tile] | tuple[int | type[Tile], ...]) -> type[tile]: ...

class array(Array):
    """`array[f16, 2]`: a matrix, passed as a pointer, two extents and two strides."""

    def __class_getitem__(cls, parts: type[_Scalar] | tuple[type[_Scalar], int]) -> type[array]: ...
    @staticmethod
    def aligned(alignment: int) -> type[array]:
        """Address, rows and last extent are multiples of `alignment` bytes."""
    class strided(Array):
        """The same array type, of any strides."""

        @staticmethod
        def aligned(alignment: int) -> type[array]: ...

# The annotation of a parameter whose value is known when the kernel is compiled.
constexpr: TypeAlias = Any

# In a kernel, these names of Python are functions of the language.

@overload
def abs(x: Tile, /) -> Tile: ...
@overload
def abs(x: SupportsAbs[_T], /) -> _T: ...
@overload
def max(x: Tile, *, axis: int | None = ..., keep_dims: bool = ...) -> Tile:
    """The greatest element along an axis, or of all."""
@overload
def max(x: Tile | _Number, y: Tile, /, *others: Tile | _Number) -> Tile: ...
@overload
def max(x: Tile, y: _Number, /, *others: Tile | _Number) -> Tile: ...
@overload
def max(x: Iterable[_T], /, *, key: Callable[[_T], object] | None = ..., default: _T = ...) -> _T: ...
@overload
def max(x: _T, y: _T, /, *others: _T, key: Callable[[_T], object] | None = ...) -> _T: ...
@overload
def min(x: Tile, *, axis: int | None = ..., keep_dims: bool = ...) -> Tile:
    """The least element along an axis, or of all."""
@overload
def min(x: Tile | _Number, y: Tile, /, *others: Tile | _Number) -> Tile: ...
@overload
def min(x: Tile, y: _Number, /, *others: Tile | _Number) -> Tile: ...
@overload
def min(x: Iterable[_T], /, *, key: Callable[[_T], object] | None = ..., default: _T = ...) -> _T: ...
@overload
def min(x: _T, y: _T, /, *others: _T, key: Callable[[_T], object] | None = ...) -> _T: ...
@overload
def sum(x: Tile, axis: int | None = ..., keep_dims: bool = ...) -> Tile:
    """The sum of the elements along an axis, or of all. keep_dims: the axis stays, with extent 1."""
@overload
def sum(x: Iterable[_T], /, start: _T = ...) -> _T: ...
@overload
def range(stop: int, /) -> Sequence[int]: ...
@overload
def range(start: int, stop: int, step: int = ..., /) -> Sequence[int]: ...
@overload
def range(stop: Tile, /) -> Sequence[Tile]: ...
@overload
def range(start: Tile, stop: Tile | int, step: Tile | int = ..., /) -> Sequence[Tile]: ...
@overload
def range(start: Tile | int, stop: Tile, step: Tile | int = ..., /) -> Sequence[Tile]: ...
@overload
def range(start: Tile | int, stop: Tile | int, step: Tile, /) -> Sequence[Tile]:
    """The numbers of a loop of the kernel, as Python's `range`; the step is positive."""

# The ops of cuda_tile.

def get_global(name: str, result: _Type = ...) -> Tile:
    """The address of a global."""

def iota(result: _Type = ...) -> Tile:
    """0, 1, 2, … as a tile of rank one."""

def broadcast(source: Tile | _Number, result: _Type = ...) -> Tile:
    """Dimensions of extent one repeated; the rank stays."""

def permute(source: Tile | _Number, permutation: Sequence[int], result: _Type = ...) -> Tile:
    """Dimensions in another order: result dimension i is source dimension `permutation[i]`."""

def cat(lhs: Tile | _Number, rhs: Tile | _Number, dim: int, result: _Type = ...) -> Tile:
    """The concatenation of two tiles along dimension `dim`."""

def extract(
    source: Tile | _Number,
    indices: Tile | _Number | Sequence[Tile | _Number] | None = ...,
    result: _Type = ...,
) -> Tile:
    """The part of a tile at an index, counted in parts."""

def insert(
    source: Tile | _Number,
    destination: Tile | _Number,
    indices: Tile | _Number | Sequence[Tile | _Number] | None = ...,
    result: _Type = ...,
) -> Tile:
    """The tile with one part replaced by another tile; the index is in units of parts."""

def select(
    cond: Tile | _Number,
    val_if_true: Tile | _Number,
    val_if_false: Tile | _Number,
    result: _Type = ...,
) -> Tile:
    """Elements of one tile or another, by a condition tile."""

def offset(ptr: Tile | _Number, offset: Tile | _Number, result: _Type = ...) -> Tile:
    """Pointers moved by a number of elements each; the offset is signed."""

def get_tile_block_id(result: _Type = ...) -> tuple[Tile, Tile, Tile]:
    """The coordinates of this tile block in the grid."""

def get_num_tile_blocks(result: _Type = ...) -> tuple[Tile, Tile, Tile]:
    """The extents of the grid, in tile blocks."""

@overload
def print_tko(args: Tile | _Number | Sequence[Tile | _Number], str: str) -> None:
    """Prints tiles by a format in the manner of printf."""
@overload
def print_tko(args: Tile | _Number | Sequence[Tile | _Number], str: str, *, token: _Token) -> _Token: ...

def alloca(num_elem: int, alignment: int, result: _Type = ..., *, global_: bool | None = ...) -> Tile:
    """Memory for `num_elem` elements, until the end of the op's block; `alignment` is in bytes."""

@overload
def gdc_wait_tko() -> None:
    """Waits until the kernels that this one depends on have finished, and their writes are seen."""
@overload
def gdc_wait_tko(*, token: _Token) -> _Token: ...

@overload
def gdc_launch_dependents_tko() -> None:
    """Lets the kernels that depend on this one begin."""
@overload
def gdc_launch_dependents_tko(*, token: _Token) -> _Token: ...

@overload
def memory_fence_alias_tko() -> None:
    """Orders accesses to the same memory through different addresses of it."""
@overload
def memory_fence_alias_tko(*, token: _Token) -> _Token: ...

def addf(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    result: _Type = ...,
    *,
    rounding_mode: _RoundingMode | None = ...,
    flush_to_zero: bool | None = ...,
) -> Tile:
    """Floating-point sum, elementwise."""

def subf(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    result: _Type = ...,
    *,
    rounding_mode: _RoundingMode | None = ...,
    flush_to_zero: bool | None = ...,
) -> Tile:
    """Floating-point difference, elementwise."""

def mulf(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    result: _Type = ...,
    *,
    rounding_mode: _RoundingMode | None = ...,
    flush_to_zero: bool | None = ...,
) -> Tile:
    """Floating-point product, elementwise."""

def divf(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    result: _Type = ...,
    *,
    rounding_mode: _RoundingMode | None = ...,
    flush_to_zero: bool | None = ...,
) -> Tile:
    """Floating-point quotient, elementwise; `approx` and `full` are the faster divisions of f32."""

def remf(lhs: Tile | _Number, rhs: Tile | _Number, result: _Type = ...) -> Tile:
    """Remainder of the truncated quotient, with the sign of `lhs`, elementwise."""

def fma(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    acc: Tile | _Number,
    result: _Type = ...,
    *,
    rounding_mode: _RoundingMode | None = ...,
    flush_to_zero: bool | None = ...,
) -> Tile:
    """`lhs * rhs + acc`, rounded once, elementwise."""

def maxf(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    result: _Type = ...,
    *,
    propagate_nan: bool | None = ...,
    flush_to_zero: bool | None = ...,
) -> Tile:
    """The greater value, elementwise; a NaN loses unless `propagate_nan`."""

def minf(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    result: _Type = ...,
    *,
    propagate_nan: bool | None = ...,
    flush_to_zero: bool | None = ...,
) -> Tile:
    """The lesser value, elementwise; a NaN loses unless `propagate_nan`."""

def cmpf(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    comparison_predicate: _ComparisonPredicate,
    result: _Type = ...,
    *,
    comparison_ordering: _ComparisonOrdering | None = ...,
) -> Tile:
    """Floating-point comparison, elementwise; `unordered` is true if an operand is a NaN."""

def absf(source: Tile | _Number, result: _Type = ...) -> Tile:
    """Absolute value, elementwise."""

def negf(source: Tile | _Number, result: _Type = ...) -> Tile:
    """Negation, elementwise."""

def ceil(source: Tile | _Number, result: _Type = ...) -> Tile:
    """The next integer above, elementwise."""

def floor(source: Tile | _Number, result: _Type = ...) -> Tile:
    """The next integer below, elementwise."""

def sin(source: Tile | _Number, result: _Type = ...) -> Tile:
    """Sine, elementwise."""

def cos(source: Tile | _Number, result: _Type = ...) -> Tile:
    """Cosine, elementwise."""

def tan(source: Tile | _Number, result: _Type = ...) -> Tile:
    """Tangent, elementwise."""

def sinh(source: Tile | _Number, result: _Type = ...) -> Tile:
    """Hyperbolic sine, elementwise."""

def cosh(source: Tile | _Number, result: _Type = ...) -> Tile:
    """Hyperbolic cosine, elementwise."""

def log(source: Tile | _Number, result: _Type = ...) -> Tile:
    """Natural logarithm, elementwise."""

def log2(source: Tile | _Number, result: _Type = ...) -> Tile:
    """Logarithm to base two, elementwise."""

def exp(
    source: Tile | _Number,
    result: _Type = ...,
    *,
    rounding_mode: _RoundingMode | None = ...,
) -> Tile:
    """e to the power of the source, elementwise."""

def tanh(
    source: Tile | _Number,
    result: _Type = ...,
    *,
    rounding_mode: _RoundingMode | None = ...,
) -> Tile:
    """Hyperbolic tangent, elementwise."""

def exp2(source: Tile | _Number, result: _Type = ..., *, flush_to_zero: bool | None = ...) -> Tile:
    """Two to the power of the source, elementwise."""

def rsqrt(source: Tile | _Number, result: _Type = ..., *, flush_to_zero: bool | None = ...) -> Tile:
    """Reciprocal of the square root, elementwise."""

def sqrt(
    source: Tile | _Number,
    result: _Type = ...,
    *,
    rounding_mode: _RoundingMode | None = ...,
    flush_to_zero: bool | None = ...,
) -> Tile:
    """Square root, elementwise."""

def fpowf(source: Tile | _Number, exponent: Tile | _Number, result: _Type = ...) -> Tile:
    """The source to the power of the exponent, elementwise; `pow` is its older name."""

def fpowi(source: Tile | _Number, exponent: Tile | _Number, result: _Type = ...) -> Tile:
    """The source to the power of an integer, elementwise."""

def pow(source: Tile | _Number, exponent: Tile | _Number, result: _Type = ...) -> Tile:
    """`fpowf` by its older name."""

def atan2(x: Tile | _Number, y: Tile | _Number, result: _Type = ...) -> Tile:
    """The angle of the point whose ordinate is `x` and whose abscissa is `y`, elementwise."""

def mmaf_scaled(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    acc: Tile | _Number,
    lhs_scale: Tile | _Number,
    rhs_scale: Tile | _Number,
    result: _Type = ...,
) -> Tile:
    """`(lhs * lhs_scale) · (rhs * rhs_scale) + acc`, one scale for each block of elements along K."""

def addi(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    result: _Type = ...,
    *,
    overflow: _Overflow | None = ...,
) -> Tile:
    """Integer sum, elementwise; wraps around."""

def subi(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    result: _Type = ...,
    *,
    overflow: _Overflow | None = ...,
) -> Tile:
    """Integer difference, elementwise; wraps around."""

def muli(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    result: _Type = ...,
    *,
    overflow: _Overflow | None = ...,
) -> Tile:
    """The low half of the integer product, elementwise."""

def shli(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    result: _Type = ...,
    *,
    overflow: _Overflow | None = ...,
) -> Tile:
    """Shift to the left, elementwise; the amount is unsigned and less than the width."""

def mulhii(x: Tile | _Number, y: Tile | _Number, result: _Type = ...) -> Tile:
    """The high half of the unsigned product, elementwise."""

def divi(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    result: _Type = ...,
    *,
    signedness: _Signedness | None = ...,
    rounding: _RoundingMode | None = ...,
) -> Tile:
    """Integer quotient, elementwise, rounded towards zero unless given; undefined for a zero divisor."""

def remi(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    result: _Type = ...,
    *,
    signedness: _Signedness | None = ...,
) -> Tile:
    """Remainder of the quotient rounded towards zero, elementwise; undefined for a zero divisor."""

def shri(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    result: _Type = ...,
    *,
    signedness: _Signedness | None = ...,
) -> Tile:
    """Shift to the right, elementwise; `signed` repeats the sign bit."""

def maxi(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    result: _Type = ...,
    *,
    signedness: _Signedness | None = ...,
) -> Tile:
    """The greater value, elementwise."""

def mini(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    result: _Type = ...,
    *,
    signedness: _Signedness | None = ...,
) -> Tile:
    """The lesser value, elementwise."""

def andi(lhs: Tile | _Number, rhs: Tile | _Number, result: _Type = ...) -> Tile:
    """Bitwise and, elementwise."""

def ori(lhs: Tile | _Number, rhs: Tile | _Number, result: _Type = ...) -> Tile:
    """Bitwise or, elementwise."""

def xori(lhs: Tile | _Number, rhs: Tile | _Number, result: _Type = ...) -> Tile:
    """Bitwise exclusive or, elementwise."""

def absi(source: Tile | _Number, result: _Type = ...) -> Tile:
    """Absolute value of a signed integer, as an unsigned one, elementwise."""

def negi(source: Tile | _Number, result: _Type = ..., *, overflow: _Overflow | None = ...) -> Tile:
    """Negation of a signed integer, elementwise."""

def cmpi(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    comparison_predicate: _ComparisonPredicate,
    result: _Type = ...,
    *,
    signedness: _Signedness | None = ...,
) -> Tile:
    """Integer comparison, elementwise."""

def mmai(
    lhs: Tile | _Number,
    rhs: Tile | _Number,
    acc: Tile | _Number,
    result: _Type = ...,
    *,
    signedness_lhs: _Signedness | None = ...,
    signedness_rhs: _Signedness | None = ...,
) -> Tile:
    """`lhs · rhs + acc` of integer matrices MxK, KxN, MxN (or batches of them), i8 into i32."""

def bitcast(source: Tile | _Number, result: _Type = ...) -> Tile:
    """The same bits as another element type of equal width."""

def int_to_ptr(source: Tile | _Number, result: _Type = ...) -> Tile:
    """Addresses from i64."""

def ptr_to_int(source: Tile | _Number, result: _Type = ...) -> Tile:
    """Addresses as i64."""

def ptr_to_ptr(source: Tile | _Number, result: _Type = ...) -> Tile:
    """The same addresses, of another element type."""

def exti(from_: Tile | _Number, result: _Type = ..., *, signedness: _Signedness | None = ...) -> Tile:
    """A wider integer of the same value."""

def trunci(from_: Tile | _Number, result: _Type = ..., *, overflow: _Overflow | None = ...) -> Tile:
    """The low bits as a narrower integer."""

def ftof(
    from_: Tile | _Number,
    result: _Type = ...,
    *,
    rounding_mode: _RoundingMode | None = ...,
) -> Tile:
    """The value in another floating-point type, rounded if necessary."""

def ftoi(
    from_: Tile | _Number,
    result: _Type = ...,
    *,
    signedness: _Signedness | None = ...,
    rounding_mode: _RoundingMode | None = ...,
    saturating: bool | None = ...,
) -> Tile:
    """The integer, rounded toward zero; `saturating` clamps to the range of the type."""

def itof(
    from_: Tile | _Number,
    result: _Type = ...,
    *,
    signedness: _Signedness | None = ...,
    rounding_mode: _RoundingMode | None = ...,
) -> Tile:
    """The nearest floating-point value."""

def pack(source: Tile | _Number, result: _Type = ...) -> Tile:
    """The bytes of a tile, in memory order."""

def unpack(source: Tile | _Number, result: _Type = ...) -> Tile:
    """A tile from its bytes, in memory order."""

def get_index_space_shape(src: View, result: _Type = ...) -> tuple[Tile, ...]:
    """The number of tiles of a view along each of its dimensions, including partial ones."""

def get_tensor_shape(src: View, result: _Type = ...) -> tuple[Tile, ...]:
    """The extents of a tensor view."""

@overload
def load_view_tko(
    view: View,
    index: Tile | _Number | Sequence[Tile | _Number] | None = ...,
    result: _Type = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    optimization_hints: Mapping[str, Mapping[str, object]] | str | None = ...,
    inbounds: Sequence[bool] | None = ...,
) -> Tile:
    """Loads one tile of a view; elements outside the tensor are the view's padding value."""
@overload
def load_view_tko(
    view: View,
    index: Tile | _Number | Sequence[Tile | _Number] | None = ...,
    result: _Type = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    optimization_hints: Mapping[str, Mapping[str, object]] | str | None = ...,
    inbounds: Sequence[bool] | None = ...,
    token: _Token,
) -> tuple[Tile, _Token]: ...

@overload
def store_view_tko(
    tile: Tile | _Number,
    view: View,
    index: Tile | _Number | Sequence[Tile | _Number] | None = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    optimization_hints: Mapping[str, Mapping[str, object]] | str | None = ...,
    inbounds: Sequence[bool] | None = ...,
) -> None:
    """Stores one tile of a view; elements out of bounds are skipped."""
@overload
def store_view_tko(
    tile: Tile | _Number,
    view: View,
    index: Tile | _Number | Sequence[Tile | _Number] | None = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    optimization_hints: Mapping[str, Mapping[str, object]] | str | None = ...,
    inbounds: Sequence[bool] | None = ...,
    token: _Token,
) -> _Token: ...

def make_token(result: _Type = ...) -> _Token:
    """A token that waits for nothing."""

def join_tokens(tokens: _Token | Sequence[_Token] | None = ..., result: _Type = ...) -> _Token:
    """A token that waits for all of several."""

@overload
def load_ptr_tko(
    source: Tile | _Number,
    mask: Tile | _Number | None = ...,
    paddingValue: Tile | _Number | None = ...,
    result: _Type = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    optimization_hints: Mapping[str, Mapping[str, object]] | str | None = ...,
) -> Tile:
    """Gathers elements from a tile of pointers; if the mask is false, the padding value (or an unspecified one)."""
@overload
def load_ptr_tko(
    source: Tile | _Number,
    mask: Tile | _Number | None = ...,
    paddingValue: Tile | _Number | None = ...,
    result: _Type = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    optimization_hints: Mapping[str, Mapping[str, object]] | str | None = ...,
    token: _Token,
) -> tuple[Tile, _Token]: ...

@overload
def store_ptr_tko(
    destination: Tile | _Number,
    value: Tile | _Number,
    mask: Tile | _Number | None = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    optimization_hints: Mapping[str, Mapping[str, object]] | str | None = ...,
) -> None:
    """Scatters elements to a tile of pointers, if the mask is true."""
@overload
def store_ptr_tko(
    destination: Tile | _Number,
    value: Tile | _Number,
    mask: Tile | _Number | None = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    optimization_hints: Mapping[str, Mapping[str, object]] | str | None = ...,
    token: _Token,
) -> _Token: ...

@overload
def atomic_rmw_tko(
    pointers: Tile | _Number,
    arg: Tile | _Number,
    mode: _Mode,
    mask: Tile | _Number | None = ...,
    result: _Type = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
) -> Tile:
    """Reads, modifies and writes elements in one step each; the result is what was there before."""
@overload
def atomic_rmw_tko(
    pointers: Tile | _Number,
    arg: Tile | _Number,
    mode: _Mode,
    mask: Tile | _Number | None = ...,
    result: _Type = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    token: _Token,
) -> tuple[Tile, _Token]: ...

@overload
def atomic_cas_tko(
    pointers: Tile | _Number,
    cmp: Tile | _Number,
    val: Tile | _Number,
    mask: Tile | _Number | None = ...,
    result: _Type = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
) -> Tile:
    """Atomically writes `val` to each element equal to `cmp`; the result is the previous value."""
@overload
def atomic_cas_tko(
    pointers: Tile | _Number,
    cmp: Tile | _Number,
    val: Tile | _Number,
    mask: Tile | _Number | None = ...,
    result: _Type = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    token: _Token,
) -> tuple[Tile, _Token]: ...

@overload
def atomic_red_view_tko(
    view: View,
    index: Tile | _Number | Sequence[Tile | _Number],
    value: Tile | _Number,
    mode: _Mode,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    inbounds: Sequence[bool] | None = ...,
) -> None:
    """Reduces a tile into one tile of a view, each element in one step; what was there before is not returned."""
@overload
def atomic_red_view_tko(
    view: View,
    index: Tile | _Number | Sequence[Tile | _Number],
    value: Tile | _Number,
    mode: _Mode,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    inbounds: Sequence[bool] | None = ...,
    token: _Token,
) -> _Token: ...

@overload
def multimem_load_reduce_view_tko(
    view: View,
    index: Tile | _Number | Sequence[Tile | _Number] | None = ...,
    result: _Type = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    reduction: _Reduction | None = ...,
    inbounds: Sequence[bool] | None = ...,
) -> Tile:
    """Loads one tile of a view of multicast memory from every GPU, and combines the copies."""
@overload
def multimem_load_reduce_view_tko(
    view: View,
    index: Tile | _Number | Sequence[Tile | _Number] | None = ...,
    result: _Type = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    reduction: _Reduction | None = ...,
    inbounds: Sequence[bool] | None = ...,
    token: _Token,
) -> tuple[Tile, _Token]: ...

@overload
def multimem_reduce_view_tko(
    view: View,
    tile: Tile | _Number,
    index: Tile | _Number | Sequence[Tile | _Number] | None = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    reduction: _Reduction | None = ...,
    inbounds: Sequence[bool] | None = ...,
) -> None:
    """Reduces a tile into one tile of a view of multicast memory, on every GPU."""
@overload
def multimem_reduce_view_tko(
    view: View,
    tile: Tile | _Number,
    index: Tile | _Number | Sequence[Tile | _Number] | None = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    reduction: _Reduction | None = ...,
    inbounds: Sequence[bool] | None = ...,
    token: _Token,
) -> _Token: ...

@overload
def multimem_store_view_tko(
    view: View,
    tile: Tile | _Number,
    index: Tile | _Number | Sequence[Tile | _Number] | None = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    inbounds: Sequence[bool] | None = ...,
) -> None:
    """Stores one tile of a view of multicast memory, on every GPU."""
@overload
def multimem_store_view_tko(
    view: View,
    tile: Tile | _Number,
    index: Tile | _Number | Sequence[Tile | _Number] | None = ...,
    *,
    memory_ordering_semantics: _MemoryOrderingSemantics | None = ...,
    memory_scope: _MemoryScope | None = ...,
    inbounds: Sequence[bool] | None = ...,
    token: _Token,
) -> _Token: ...

def assert_(condition: Tile | _Number, message: str) -> None:
    """Ends the kernel with a message if an element of the condition is false."""

