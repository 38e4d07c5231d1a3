"""Arithmetic on fragments: products, reductions by row, elementwise."""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects.tile.base import (
    ANY_BUFFER,
    CHANGES_DEST,
    FRAGMENT,
    MAKES,
    NUMBER,
    REGISTERS,
    accumulator_element,
    rows_of,
    space_of,
)
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.types import DYNAMIC, FloatType, MemRefType
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.opdef import (
    BOOL_ATTR,
    STRING_ATTR,
    EnumAttr,
    Op,
    attribute,
    derived,
    enum,
    operand,
    optional_operand,
    result,
    same_as,
    variadic_operand,
)
from tessera_tools.opdef.constraints import TypeConstraint
from tessera_tools.opdef.dialect import find_op


class ReductionKindAttr(EnumAttr, name="tile.reduction_kind"):
    """How elements are combined."""

    cases = ("sum", "max", "min")


FRAGMENT_OR_NUMBER = TypeConstraint(
    f"{FRAGMENT.summary}, or number", lambda type: FRAGMENT.accepts(type) or NUMBER.accepts(type)
)


def _flag(attribute: IntegerAttr | None) -> bool:
    return attribute is not None and bool(attribute.value)


PRECISIONS = ("mixed", "full")
"""Of a product: sums in a wider type than that of the operands, or in the same."""


class Product(Op):
    """The base of matrix products: A (MxK) by B (KxN, or NxK with `transpose_b`) and, if given, plus C.

    Operands are in shared memory, or are fragments of a tile; the result is a fragment of the MxN tile, whose extents
    divide it: (M/m) · (N/n) threads hold fragments of m by n elements.  A result of M by N elements is the tile itself,
    whose number of threads is not yet determined.
    """

    lhs = operand(ANY_BUFFER)
    rhs = operand(ANY_BUFFER)
    acc = optional_operand(FRAGMENT)
    transpose_a = attribute(BOOL_ATTR, optional=True)
    transpose_b = attribute(BOOL_ATTR, optional=True)
    accumulate = attribute(BOOL_ATTR, optional=True)
    layout = attribute(STRING_ATTR, optional=True)
    precision = attribute(STRING_ATTR, optional=True)
    res = result(FRAGMENT)
    assembly = "$lhs `,` $rhs (`,` $acc^)? attr-dict `:` type($lhs) `,` type($rhs) (`,` type($acc)^)? `->` type($res)"

    @property
    def transposes_b(self) -> bool:
        """True if B is given as NxK."""
        return _flag(self.transpose_b)

    @property
    def transposes_a(self) -> bool:
        """True if A is given as KxM."""
        return _flag(self.transpose_a)

    def verify_op(self) -> None:
        a, b, res = self.lhs.type, self.rhs.type, self.res.type
        if a.rank != 2 or b.rank != 2 or res.rank != 2:
            raise self.error(f"multiplies {a} by {b} into {res}; expected matrices")
        if self.layout is not None and self.layout.value != "row_major":
            raise self.error(
                f'has layout "{self.layout.value}"; expected "row_major" (use transpose_a and transpose_b to '
                "transpose operands)"
            )
        if self.precision is not None and self.precision.value not in PRECISIONS:
            words = ", ".join(f'"{word}"' for word in PRECISIONS)
            raise self.error(f'has precision "{self.precision.value}"; expected one of {words}')
        if self.precision is not None and (self.precision.value == "mixed") is (a.element is res.element):
            raise self.error(
                f'has precision "{self.precision.value}", but accumulates {a.element} in {res.element}'
            )
        if self.acc is not None and self.accumulate is not None and not self.accumulate.value:
            raise self.error("has accumulate = false, and a third operand to add to")
        if any(space_of(t) != 0 and not t.is_static for t in (a, b, res)):
            raise self.error(f"multiplies {a} by {b} into {res}; expected static extents")
        if accumulator_element(a.element) is not res.element and not (
            isinstance(a.element, FloatType) and isinstance(res.element, FloatType)
        ):
            raise self.error(f"multiplies {a.element} into {res.element}")
        if self.acc is not None and self.acc.type is not res:
            raise self.error(f"adds to {self.acc.type}, but returns {res}")
        if space_of(a) != REGISTERS and space_of(b) != REGISTERS:
            k, other = a.shape[0 if self.transposes_a else 1], b.shape[1 if self.transposes_b else 0]
            if DYNAMIC not in (k, other) and k != other:
                raise self.error(f"multiplies {a} by {b}: the first has {k} columns, the second {other} rows")
            m, n = a.shape[1 if self.transposes_a else 0], b.shape[0 if self.transposes_b else 1]
            if DYNAMIC in (m, n):
                return
            if m % res.shape[0] or n % res.shape[1]:
                raise self.error(
                    f"has fragments of {res.shape[0]}x{res.shape[1]}, which do not divide {m}x{n}"
                )
            threads = m // res.shape[0] * (n // res.shape[1])
            if threads != 1 and (threads & (threads - 1) or not 32 <= threads <= 1024):
                raise self.error(
                    f"has fragments of {res.shape[0]}x{res.shape[1]} of {m}x{n} elements: {threads} threads, expected "
                    "a power of two from 32 to 1024"
                )


class Mma(Product, name="tile.mma", traits=(MAKES,)):
    """A matrix product with the best instruction of the target."""


class Wgmma(Product, name="tile.wgmma", traits=(MAKES,)):
    """A matrix product by Hopper's warpgroup instruction, `intrinsic`: 128 threads compute 64 rows at a time.

    A tile of fewer rows uses one instruction, whose other rows are ignored.
    """

    intrinsic = attribute(STRING_ATTR)

    def verify_op(self) -> None:
        super().verify_op()
        check_intrinsic(self, "wgmma.mma_async.sync.aligned.m64n")


class Wmma(Product, name="tile.wmma", traits=(MAKES,)):
    """A matrix product by the warp instruction `intrinsic`, a shape of mma.sync; a smaller tile is filled up with
    zeros."""

    intrinsic = attribute(STRING_ATTR)

    def verify_op(self) -> None:
        super().verify_op()
        check_intrinsic(self, "mma.sync.aligned.m")


def check_intrinsic(op: Wgmma | Wmma, start: str) -> None:
    """The instruction of a product is one of the op's family."""
    if not op.intrinsic.value.startswith(start):
        raise op.error(
            f'names the instruction "{op.intrinsic.value}"; expected one that begins with "{start}"'
        )


# -- reductions


class RowReduction(Op):
    """The base of reductions: one value per row of the tile, in every thread with elements of that row."""

    source = operand(FRAGMENT)
    res = result(FRAGMENT)
    assembly = "$source attr-dict `:` type($source) `->` type($res)"

    def verify_op(self) -> None:
        source, res = self.source.type, self.res.type
        if source.rank != 2 or res is not rows_of(source):
            raise self.error(f"reduces {source} to {res}; expected one element for each row of the fragment")


class RowMax(RowReduction, name="tile.row_max", traits=(MAKES,)):
    """The maximum of each row."""


class RowMin(RowReduction, name="tile.row_min", traits=(MAKES,)):
    """The minimum of each row."""


class RowSum(RowReduction, name="tile.row_sum", traits=(MAKES,)):
    """The sum of each row."""


class Reduce(RowReduction, name="tile.reduce", traits=(MAKES,)):
    """A reduction of each row; `tile.row_max` and its like, by name."""

    kind = attribute(enum(ReductionKindAttr))
    assembly = "$kind $source attr-dict `:` type($source) `->` type($res)"


class WarpReduce(RowReduction, name="tile.warp_reduce", traits=(MAKES,)):
    """A reduction of each row by shuffles within the warp; rows in several warps also need shared memory."""

    kind = attribute(enum(ReductionKindAttr))
    assembly = "$kind $source attr-dict `:` type($source) `->` type($res)"


# -- elementwise


class Elementwise(Op):
    """The base of elementwise ops on two fragments of one type."""

    lhs = operand(FRAGMENT)
    rhs = operand(FRAGMENT)
    res = result(same_as("lhs"))
    assembly = "custom<TileOperands>($lhs, $rhs) attr-dict `:` type($lhs) `,` type($rhs) `->` type($res)"

    def verify_op(self) -> None:
        if self.lhs.type is not self.rhs.type:
            raise self.error(f"combines {self.lhs.type} and {self.rhs.type}; expected one type")


class ElementMax(Elementwise, name="tile.element_max", traits=(MAKES,)):
    """The maximum of two elements."""


class ElementMin(Elementwise, name="tile.element_min", traits=(MAKES,)):
    """The minimum of two elements."""


class ElementAdd(Elementwise, name="tile.add", traits=(MAKES,)):
    """lhs + rhs."""


class ElementSub(Elementwise, name="tile.sub", traits=(MAKES,)):
    """lhs - rhs."""


class ElementMul(Elementwise, name="tile.mul", traits=(MAKES,)):
    """lhs · rhs."""


class ExpDiff(Elementwise, name="tile.exp_diff", traits=(MAKES,)):
    """exp(lhs - rhs)."""


class ByRow(Op):
    """The base of ops on the elements of a fragment and one number for each of its rows."""

    lhs = operand(FRAGMENT)
    rhs = operand(FRAGMENT)
    res = result(same_as("lhs"))
    assembly = "custom<TileOperands>($lhs, $rhs) attr-dict `:` type($lhs) `,` type($rhs) `->` type($res)"

    def verify_op(self) -> None:
        check_rows(self, self.lhs.type, self.rhs.type)


def check_rows(op: Operation, fragment: MemRefType, rows: MemRefType) -> None:
    """One number for each row of a fragment."""
    if fragment.rank != 2 or rows is not rows_of(fragment):
        raise op.error(f"has {rows} for {fragment}; expected one element for each row of the fragment")


class ExpSubtract(ByRow, name="tile.exp_subtract", traits=(MAKES,)):
    """exp(element - the number of its row)."""


class DivBroadcast(ByRow, name="tile.div_broadcast", traits=(MAKES,)):
    """Element / the number of its row."""


class MulBroadcast(ByRow, name="tile.mul_broadcast", traits=(MAKES,)):
    """Element · the number of its row."""


class Broadcast(Op, name="tile.broadcast", traits=(MAKES,)):
    """Broadcasts the number of each row to all columns of a fragment."""

    source = operand(FRAGMENT)
    res = result(FRAGMENT)
    assembly = "$source attr-dict `:` type($source) `->` type($res)"

    def verify_op(self) -> None:
        check_rows(self, self.res.type, self.source.type)


class Fma(Op, name="tile.fma", traits=(MAKES,)):
    """a · b + c."""

    a = operand(FRAGMENT)
    b = operand(FRAGMENT)
    c = operand(FRAGMENT)
    res = result(same_as("a"))
    assembly = (
        "custom<TileOperands>($a, $b, $c) attr-dict `:` type($a) `,` type($b) `,` type($c) `->` type($res)"
    )

    def verify_op(self) -> None:
        if not self.a.type is self.b.type is self.c.type:
            raise self.error(f"combines {self.a.type}, {self.b.type} and {self.c.type}; expected one type")


class Apply(Op, name="tile.apply", traits=(MAKES,)):
    """An op of `arith` or `math` on each element, `function`, with the op's own attributes:

        %r = tile.apply "math.rsqrt"(%x) : (memref<4xf32, 5>) -> memref<4xf32, 5>
        %m = tile.apply "arith.cmpf"(%x, %y) {predicate = 4 : i64} : (…, …) -> memref<4x8xi1, 5>

    A number among the operands must be the same in all threads; it is used for every element.
    """

    function = attribute(STRING_ATTR)
    operands_ = variadic_operand(FRAGMENT_OR_NUMBER)
    res = result(FRAGMENT)
    assembly = "$function `(` $operands `)` attr-dict `:` functional-type($operands, $res)"

    def made(self, operands: Sequence[Value], type: Type) -> Operation:
        """The named op on other operands: elements or tiles.  Raises an error if there is none."""
        dialect, _, word = self.function.value.partition(".")
        found = find_op(self.function.value) if dialect in ("arith", "math") and word != "constant" else None
        if found is None:
            raise self.error(f'applies "{self.function.value}"; expected an op of arith or math')
        own = {k: v for k, v in self.attributes.items() if k != "function" and "." not in k}
        return found.create(operands, [type], own, location=self.location)

    def verify_op(self) -> None:
        types = self.operand_types
        fragments = [t for t in types if isinstance(t, MemRefType) and FRAGMENT.accepts(t)]
        if not fragments or any(t.shape != self.res.type.shape for t in fragments):
            raise self.error(
                f"returns {self.res.type}; expected fragments of this shape as operands, one or more, and numbers"
            )
        elements = [t.element if isinstance(t, MemRefType) and FRAGMENT.accepts(t) else t for t in types]
        block = Block(elements, [self.location] * len(elements))
        try:
            verify_or_raise(self.made(block.arguments, self.res.type.element))
        except DiagnosticError as failure:
            first = failure.diagnostics[0]
            raise self.error(first.message.partition(" op ")[2] or first.message) from None


class Cast(Op, name="tile.cast", traits=(MAKES,)):
    """Converts the elements to another type: floats are rounded to nearest, or toward zero if converted to integers;
    integers are signed and are truncated."""

    source = operand(FRAGMENT)
    res = result(FRAGMENT)
    assembly = "$source attr-dict `:` type($source) `to` type($res)"

    def verify_op(self) -> None:
        if self.source.type.shape != self.res.type.shape:
            raise self.error(f"casts {self.source.type} to {self.res.type}: the shapes must match")


# -- in place


class ScaleByNumber(Op):
    """The base of products with one number, in place."""

    dest = operand(FRAGMENT)
    factor = operand(derived("element type", lambda type: type.element, "dest"))
    assembly = "$dest `,` $factor attr-dict `:` type($dest) `,` type($factor)"


class ScaleTensor(ScaleByNumber, name="tile.scale_tensor", traits=(CHANGES_DEST,)):
    """Every element times a number, in place."""


class BroadcastScale(ScaleByNumber, name="tile.broadcast_scale", traits=(CHANGES_DEST,)):
    """Every element times a number, in place."""


class ScaleAccumulator(Op, name="tile.scale_accumulator", traits=(CHANGES_DEST,)):
    """Every element times the number of its row, in place."""

    dest = operand(FRAGMENT)
    factors = operand(FRAGMENT)
    assembly = "$dest `,` $factors attr-dict `:` type($dest) `,` type($factors)"

    def verify_op(self) -> None:
        check_rows(self, self.dest.type, self.factors.type)


class Accumulate(Op, name="tile.accumulate", traits=(CHANGES_DEST,)):
    """Add a fragment to another, in place."""

    dest = operand(FRAGMENT)
    update = operand(same_as("dest"))
    assembly = "$dest `,` $update attr-dict `:` type($dest) `,` type($update)"


class CausalMask(Op, name="tile.causal_mask", traits=(CHANGES_DEST,)):
    """Replaces the elements whose row number is less than their column number, in place: row i of the tile has number
    `row` + i, column j `column` + j."""

    dest = operand(FRAGMENT)
    row = operand(derived("index", lambda type: _index(), "dest"))
    column = operand(derived("index", lambda type: _index(), "dest"))
    value = operand(derived("element type", lambda type: type.element, "dest"))
    assembly = "$dest `,` $row `,` $column `,` $value attr-dict `:` type($dest)"

    def verify_op(self) -> None:
        _check_matrix(self)


class BoundMask(Op, name="tile.bound_mask", traits=(CHANGES_DEST,)):
    """Replaces the elements in columns from `count` on by a number, in place: column j of the tile has number `column`
    + j."""

    dest = operand(FRAGMENT)
    column = operand(derived("index", lambda type: _index(), "dest"))
    count = operand(derived("index", lambda type: _index(), "dest"))
    value = operand(derived("element type", lambda type: type.element, "dest"))
    assembly = "$dest `,` $column `,` $count `,` $value attr-dict `:` type($dest)"

    def verify_op(self) -> None:
        _check_matrix(self)


def _check_matrix(op: CausalMask | BoundMask) -> None:
    if op.dest.type.rank != 2:
        raise op.error(f"masks {op.dest.type}; expected a fragment of rows and columns")


def _index() -> Type:
    from tessera_tools.ir.types import INDEX

    return INDEX
