"""The core of `cuda_tile`: constants, shapes of tiles, selection, pointers, and the position of the block in the
grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tessera_tools.dialects.cuda_tile import integer_ops, legacy_ops
from tessera_tools.dialects.cuda_tile.attributes import PREDICATES, BoundedAttr, DivByAttr, SameElementsAttr
from tessera_tools.dialects.cuda_tile.constraints import (
    ANY_CUDA_TILE,
    ANY_TILE,
    F4E2M1FN,
    I1_TILE,
    INT_TILE,
    NUMBER_TILE,
    POINTER_TILE,
    SAME_POINTERS,
    SCALAR_I32,
    TOKEN_TYPE,
    check_element_kept,
    check_same_element,
    check_same_rank,
    check_same_shape,
    shape_of,
    shape_text,
)
from tessera_tools.dialects.cuda_tile.types import PointerType, TensorViewType, TileType, short_text
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, DenseElementsAttr, IntegerAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import I32, IntegerType, bit_width
from tessera_tools.opdef import (
    CONSTANT_LIKE,
    I64_ATTR,
    NO_EFFECT,
    PURE,
    STRING_ATTR,
    WRITE,
    AttrKind,
    CustomDirective,
    Op,
    attribute,
    of_class,
    operand,
    optional_operand,
    result,
    same_as,
    variadic_operand,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

TILE_ELEMENTS: AttrKind[DenseElementsAttr] = AttrKind(
    "elements of a tile", lambda a: isinstance(a, DenseElementsAttr) and isinstance(a.type, TileType)
)
I32_ORDER: AttrKind[DenseArrayAttr] = AttrKind(
    "i32 dense array attribute",
    lambda a: isinstance(a, DenseArrayAttr) and a.element is I32,
    "integer_array",
    lambda tokens: DenseArrayAttr(I32, tuple(integer_of(token[0]) for token in tokens)),
    lambda a: f"[{', '.join(map(str, a.values))}]",
)


def _splat(value: Attribute | None) -> int | None:
    return value.bits()[0] if isinstance(value, DenseElementsAttr) and value.is_splat else None


class Constant(Op, name="cuda_tile.constant", traits=(PURE, CONSTANT_LIKE)):
    """A tile of constant elements."""

    value = attribute(TILE_ELEMENTS)
    result = result(NUMBER_TILE)
    assembly = "custom<Elements>($value) attr-dict"

    def verify_op(self) -> None:
        if self.value.type is not self.result.type:
            raise self.error("failed to verify that all of {value, result} have same type")

    def fold(self, operands: Sequence[Attribute | None]) -> Sequence[Attribute | Value] | None:
        return [self.value]


class Iota(Op, name="cuda_tile.iota", traits=(PURE,)):
    """0, 1, 2, … as a tile of rank one."""

    result = result(INT_TILE)
    assembly = "attr-dict `:` type($result)"

    def verify_op(self) -> None:
        shape, element = self.result.type.shape, self.result.type.element
        if len(shape) != 1:
            raise self.error("expects result type to be 1-d tile")
        if shape[0] > 1 << bit_width(element):
            raise self.error(
                f"the number of elements {shape[0]} exceeds the maximum value of element type '{element}'"
            )


class Reshape(Op, name="cuda_tile.reshape", traits=(PURE,)):
    """The same elements in row-major order, in another shape."""

    source = operand(ANY_TILE)
    result = result(ANY_TILE)
    assembly = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_op(self) -> None:
        check_element_kept(self)
        if self.source.type.num_elements != self.result.type.num_elements:
            raise self.error("expected source tile and result tile to have the same number of elements")


class Broadcast(Op, name="cuda_tile.broadcast", traits=(PURE,)):
    """Dimensions of extent one repeated; the rank stays."""

    source = operand(ANY_TILE)
    result = result(ANY_TILE)
    assembly = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_op(self) -> None:
        check_element_kept(self)
        check_same_rank(self, "source", "result")
        old, new = shape_of(self.source), shape_of(self.result)
        if any(a not in (1, b) for a, b in zip(old, new, strict=True)):
            raise self.error(
                "expects the shape of source tile to be compatible with that of the result tile, "
                f"but got: {shape_text(old)} and {shape_text(new)}"
            )


class Permute(Op, name="cuda_tile.permute", traits=(PURE,)):
    """Dimensions in another order: result dimension i is source dimension `permutation[i]`."""

    source = operand(ANY_TILE)
    permutation = attribute(I32_ORDER)
    result = result(ANY_TILE)
    assembly = "$source $permutation attr-dict `:` type($source) `->` type($result)"

    @staticmethod
    def infer_result(source: TileType, permutation: DenseArrayAttr) -> TileType:
        """The type of the result; the verifier refuses a permutation that does not fit."""
        return TileType(tuple(source.shape[dim % len(source.shape)] for dim in permutation), source.element)

    def verify_op(self) -> None:
        check_same_element(self, "source", "result")
        check_same_rank(self, "source", "result")
        source, shape, order = shape_of(self.source), shape_of(self.result), self.permutation.values
        rank = len(source)
        if rank < 2:
            raise self.error(f"expects at least rank 2, but got: {rank}")
        if len(order) != rank:
            raise self.error(
                f"expect permutation size ({len(order)}) to equal the rank of the source ({rank})"
            )
        if len(set(order)) != rank:
            raise self.error("expect permutation elements to be unique")
        for index, dim in enumerate(order):
            if not 0 <= dim < rank:
                raise self.error(f"permutation element at index {index} ({dim}) is out of bound [0, {rank})")
        for index, dim in enumerate(order):
            if shape[index] != source[dim]:
                raise self.error(
                    f"result shape invalid at index {index}, expected: {source[dim]}, but got: {shape[index]}"
                )


class Cat(Op, name="cuda_tile.cat", traits=(PURE,)):
    """The concatenation of two tiles along dimension `dim`."""

    lhs = operand(ANY_TILE)
    rhs = operand(ANY_TILE)
    dim = attribute(I64_ATTR)
    result = result(ANY_TILE)
    assembly = "$lhs `,` $rhs `dim` `=` $dim attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"

    @staticmethod
    def infer_result(lhs: TileType, rhs: TileType, dim: IntegerAttr) -> TileType:
        """The type of the result; the verifier refuses a dimension that does not fit."""
        shape = list(lhs.shape)
        if 0 <= dim.value < min(len(shape), len(rhs.shape)):
            shape[dim.value] += rhs.shape[dim.value]
        return TileType(tuple(shape), lhs.element)

    def verify_op(self) -> None:
        check_same_rank(self, "lhs", "rhs", "result")
        check_same_element(self, "lhs", "rhs", "result")
        lhs, rhs, whole = shape_of(self.lhs), shape_of(self.rhs), shape_of(self.result)
        dim, rank = self.dim.value, len(lhs)
        if not 0 <= dim < rank:
            raise self.error(f"expect dim to be [0, {rank}), but got: {dim}")
        if lhs[dim] + rhs[dim] != whole[dim]:
            raise self.error(
                f"invalid concat at position {dim}, expected: {lhs[dim] + rhs[dim]} but got: {whole[dim]}"
            )
        for other, extents in (("rhs", rhs), ("result", whole)):
            for index in range(rank):
                if index != dim and lhs[index] != extents[index]:
                    raise self.error(
                        f"expect lhs and {other} shapes to match at non-concat position {index}, "
                        f"expected: {lhs[index]} but got: {extents[index]}"
                    )


class Extract(Op, name="cuda_tile.extract", traits=(PURE,)):
    """The part of a tile at an index, counted in parts."""

    source = operand(ANY_TILE)
    indices = variadic_operand(SCALAR_I32)
    result = result(ANY_TILE)
    assembly = "$source custom<Indices>($indices) attr-dict `:` type($source) `->` type($result)"

    def verify_op(self) -> None:
        if self.source.type.element is not self.result.type.element:
            raise self.error("source and result element type do not match")
        check_same_rank(self, "source", "result")
        source, part = shape_of(self.source), shape_of(self.result)
        for i, (whole, piece) in enumerate(zip(source, part, strict=True)):
            if whole % piece:
                raise self.error(
                    f"source dimension {i} size ({whole}) must be evenly divisible by result dimension {i} "
                    f"size ({piece})"
                )
        if len(self.indices) != len(source):
            raise self.error(f"expected {len(source)} indices, but got {len(self.indices)}")


class Insert(Op, name="cuda_tile.insert", traits=(PURE,)):
    """The tile with one part replaced by another tile; the index is in units of parts."""

    source = operand(ANY_TILE)
    destination = operand(ANY_TILE)
    indices = variadic_operand(SCALAR_I32)
    result = result(same_as("destination"))
    assembly = "$source `,` $destination custom<Indices>($indices) attr-dict `:` type($source) `,` type($destination)"

    def verify_op(self) -> None:
        check_same_element(self, "source", "destination")
        check_same_rank(self, "source", "destination")
        part, whole = shape_of(self.source), shape_of(self.destination)
        for i, (piece, extent) in enumerate(zip(part, whole, strict=True)):
            if extent % piece:
                raise self.error(
                    f"destination dimension {i} size ({extent}) must be evenly divisible by source dimension {i} "
                    f"size ({piece})"
                )
        if len(self.indices) != len(whole):
            raise self.error(f"expected {len(whole)} indices, but got {len(self.indices)}")


class Select(Op, name="cuda_tile.select", traits=(PURE,)):
    """Elements of one tile or another, by a condition tile."""

    cond = operand(I1_TILE)
    val_if_true = operand(ANY_TILE)
    val_if_false = operand(same_as("val_if_true"))
    result = result(same_as("val_if_true"))
    assembly = "$cond `,` $val_if_true `,` $val_if_false attr-dict `:` type($cond) `,` type($result)"

    def fold(self, operands: Sequence[Attribute | None]) -> Sequence[Attribute | Value] | None:
        condition, if_true, if_false = operands
        yes, no = self.val_if_true, self.val_if_false
        # select(c, x, x) = x;  select(true, x, y) = x;  select(false, x, y) = y
        if yes is no:
            return [yes]
        if isinstance(condition, DenseElementsAttr) and condition.is_splat:
            return [yes if condition.bits()[0] else no]
        # select(c, true, false) = c
        if self.result.type is self.cond.type and _splat(if_true) == 1 and _splat(if_false) == 0:
            return [self.cond]
        # select(a == b, a, b) = b and select(a == b, b, a) = a;  with != the other one
        compare = self.cond.defining_op
        if isinstance(compare, integer_ops.CmpI) and {yes, no} == {compare.lhs, compare.rhs}:
            predicate = compare.comparison_predicate.value
            if predicate in ("equal", "not_equal"):
                return [no if predicate == "equal" else yes]
        # A constant condition of mixed elements picks among constants.
        sides = [a for a in operands if isinstance(a, DenseElementsAttr)]
        if len(sides) < 3:
            return None
        count = self.result.type.num_elements
        chosen, left, right = (a.bits() * (count if a.is_splat else 1) for a in sides)
        picked = [a if c else b for c, a, b in zip(chosen, left, right, strict=True)]
        return [DenseElementsAttr.of(self.result.type, picked)]

    def verify_op(self) -> None:
        check_same_shape(self, "cond", "val_if_true", "val_if_false", "result")
        if self.result.type.element is F4E2M1FN:
            raise self.error("cannot operate on sub-byte type F4E2M1FN")


class Offset(Op, name="cuda_tile.offset", traits=(PURE,)):
    """Pointers moved by a number of elements each; the offset is signed."""

    ptr = operand(POINTER_TILE)
    offset = operand(INT_TILE)
    result = result(SAME_POINTERS)
    assembly = "$ptr `,` $offset attr-dict `:` type($ptr) `,` type($offset) `->` type($result)"

    def verify_op(self) -> None:
        if shape_of(self.ptr) != shape_of(self.offset):
            raise self.error("requires the same shape for all operands and results")


class BlockId(CustomDirective, name="BlockId"):
    """`: tile<i32>` for all three coordinates; in the older spelling `{axis = 0 : i32} : i32` for one."""

    grammar = 'custom: attr_dict ":" TYPE'

    def read(self, state: OpState, node: Node) -> None:
        attributes, kind = node
        if "axis" in attributes:
            state.definition = legacy_ops.LegacyBlockId.definition
            state.types("coordinate", [kind])
        else:
            state.types("blockId_x", [kind])
        for key, value in attributes.items():
            state.attribute(key, value)

    def write(self, p: Printer, op: GetTileBlockId) -> None:
        p.attr_dict(op)
        p.write(f" : {short_text(op.blockId_x.type)}")


class GetTileBlockId(Op, name="cuda_tile.get_tile_block_id", traits=(PURE,)):
    """The coordinates of this tile block in the grid."""

    blockId_x = result(SCALAR_I32)
    blockId_y = result(same_as("blockId_x"))
    blockId_z = result(same_as("blockId_x"))
    assembly = "custom<BlockId>"


class GetNumTileBlocks(Op, name="cuda_tile.get_num_tile_blocks", traits=(PURE,)):
    """The extents of the grid, in tile blocks."""

    gridSize_x = result(SCALAR_I32)
    gridSize_y = result(same_as("gridSize_x"))
    gridSize_z = result(same_as("gridSize_x"))
    assembly = "attr-dict `:` type($gridSize_x)"


class Assume(Op, name="cuda_tile.assume", traits=(NO_EFFECT,)):
    """The value, for which `predicate` may be assumed; undefined behavior if it is false."""

    predicate = attribute(of_class(*PREDICATES))
    value = operand(ANY_CUDA_TILE)
    result = result(same_as("value"))
    assembly = "custom<AssumePredicate>($predicate) `,` $value attr-dict `:` type($value)"

    def verify_op(self) -> None:
        problem = _CHECKS[type(self.predicate)](self.predicate, self.value.type)
        if problem is not None:
            raise self.error(problem)

    def fold(self, operands: Sequence[Attribute | None]) -> Sequence[Attribute | Value] | None:
        producer = self.value.defining_op
        if isinstance(producer, Assume) and producer.predicate is self.predicate:
            return [self.value]
        return None


def _check_div_by(predicate: DivByAttr, type: Type) -> str | None:
    name, divisor = "'cuda_tile.div_by'", predicate.divisor
    if divisor <= 0 or divisor & (divisor - 1):
        return f"{name} divisor must be a power of 2"
    if (predicate.every is None) != (predicate.along is None):
        return f"{name} 'every'/'along' must be used in combination"
    if divisor > 1 << 62:
        return f"{name} divisor is too large"
    if isinstance(type, TensorViewType):
        if predicate.every is not None:
            return f"{name} 'every'/'along' cannot be used if the constrained value is a tensor_view"
        return None
    valid = f"{name} is valid only for tile of integer/pointer or tensor_view values"
    if not isinstance(type, TileType):
        return valid
    rank = len(type.shape)
    if rank == 0 and predicate.every is not None:
        return f"{name} 'every'/'along' cannot be used if the constrained value is a 0D tile"
    if not isinstance(type.element, PointerType | IntegerType):
        return valid
    if predicate.every is None or predicate.along is None:
        return None
    if not 0 <= predicate.along < rank:
        return f"{name} every_dim ({predicate.along}) must be >= 0 and < tile rank ({rank})"
    extent = type.shape[predicate.along]
    if not 0 <= predicate.every <= extent:
        return f"expected {name} every_dim to be within 0 and the size of the respective dimension ({extent})"
    return None


def _check_same_elements(predicate: SameElementsAttr, type: Type) -> str | None:
    name = "'cuda_tile.same_elements'"
    if not isinstance(type, TileType) or not isinstance(type.element, PointerType | IntegerType):
        return f"{name} is valid only for tile of integer/pointer values"
    if len(predicate.values) != len(type.shape):
        return (
            f"expected number of values in {name} ({len(predicate.values)}) to match rank of constrained tile "
            f"({len(type.shape)})"
        )
    for i, (value, extent) in enumerate(zip(predicate.values, type.shape, strict=True)):
        if not 0 <= value <= extent:
            return f"expected {name} value {i} to be within 0 and the size of the respective dimension ({extent})"
    return None


def _check_bounded(predicate: BoundedAttr, type: Type) -> str | None:
    name = "'cuda_tile.bounded'"
    if not isinstance(type, TileType) or not isinstance(type.element, IntegerType):
        return f"{name} is valid only for tile of integer values"
    limit = 1 << (type.element.width - 1)
    for noun, bound in (("lower", predicate.lower), ("upper", predicate.upper)):
        if bound is not None and not -limit <= bound < limit:
            return f"{name} expects {noun} bound to be within [{-limit}, {limit - 1}]"
    if predicate.lower is not None and predicate.upper is not None and predicate.lower > predicate.upper:
        return f"{name} expects lower bound to be less than or equal to upper bound"
    return None


_CHECKS: dict[type[Attribute], Callable[..., str | None]] = {
    DivByAttr: _check_div_by,
    SameElementsAttr: _check_same_elements,
    BoundedAttr: _check_bounded,
}


class Assert(Op, name="cuda_tile.assert", traits=(WRITE,)):
    """Ends the kernel with a message if an element of the condition is false."""

    condition = operand(I1_TILE)
    message = attribute(STRING_ATTR)
    assembly = "$condition `,` $message attr-dict `:` type($condition)"


class PrintTko(Op, name="cuda_tile.print_tko", traits=(WRITE,)):
    """Prints tiles by a format in the manner of printf."""

    str_ = attribute(STRING_ATTR, key="str")
    args = variadic_operand(ANY_TILE)
    token = optional_operand(TOKEN_TYPE)
    result_token = result(TOKEN_TYPE)
    assembly = "custom<Print>($str, $args, $token, $result_token)"

    def verify_op(self) -> None:
        expected, text, at = 0, self.str_.value, 0
        while (at := text.find("%", at)) >= 0:
            end = next((i for i in range(at + 1, len(text)) if text[i] in "diuoxXeEfFgGaAcsSpn%"), None)
            if end is None:
                raise self.error("found unterminated format expression")
            expected += text[at : end + 1] != "%%"
            at = end + 1 if text[end] == "%" else at + 1
        if expected != len(self.args):
            raise self.error(f"incorrect number of operands: expected {expected}, found {len(self.args)}")
