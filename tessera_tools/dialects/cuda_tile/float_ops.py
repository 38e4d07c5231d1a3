"""Floating-point arithmetic of `cuda_tile`, elementwise, and matrix multiply-accumulate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.cuda_tile.attributes import (
    ORDERING,
    PREDICATE,
    RoundingAttr,
)
from tessera_tools.dialects.cuda_tile.constraints import (
    COMPARISON_RESULT,
    EXPONENT_TILE,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E8M0FNU,
    FLOAT_TILE,
    MMAF_OPERAND,
    MMAF_RESULT,
    MMAF_SCALED_OPERAND,
    MMAF_SCALED_RESULT,
    MMAF_SCALED_SCALE,
    check_same_element,
    check_same_rank,
    check_same_shape,
    shape_of,
    shape_text,
    types_text,
)
from tessera_tools.dialects.cuda_tile.formats import HasRoundingMode
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import BF16, F16, F32, F64, TF32, FloatType, element_type
from tessera_tools.opdef import (
    COMMUTATIVE,
    PURE,
    UNIT_ATTR,
    Op,
    attribute,
    enum,
    operand,
    result,
    same_as,
)

if TYPE_CHECKING:
    from tessera_tools.dialects.cuda_tile.integer_ops import MmaI

NEAREST_EVEN = RoundingAttr("nearest_even")
FULL = RoundingAttr("full")
IEEE_MODES = ("nearest_even", "zero", "negative_inf", "positive_inf")


def check_rounding(op: _Rounded | Fma | _Approximated | Sqrt) -> None:
    """The op's rounding mode is one of its class's `rounding_modes`, and one that its element type has."""
    mode, modes = op.rounding_mode.value, op.rounding_modes
    if mode not in modes:
        raise op.error(f"invalid rounding mode specified, expect one of [{', '.join(modes)}]")
    found = element_type(op.result.type)
    default = op.definition.attribute("rounding_mode").default
    if mode in ("approx", "full") and op.rounding_mode is not default and found is not F32:
        raise op.error(f"{mode} modifier only supported for f32 data type, but got: '{found}'")


def check_flush_to_zero(op: _Rounded | Fma | _Extremum | _Flushed | Sqrt) -> None:
    """Check that `flush_to_zero` is only used on f32."""
    found = element_type(op.result.type)
    if op.flush_to_zero is not None and found is not F32:
        raise op.error(f"flush_to_zero modifier only supported for f32 data type, but got: '{found}'")


class _Unary(Op):
    source = operand(FLOAT_TILE)
    result = result(same_as("source"))
    assembly = "$source attr-dict `:` type($result)"


class _Binary(Op):
    lhs = operand(FLOAT_TILE)
    rhs = operand(same_as("lhs"))
    result = result(same_as("lhs"))
    assembly = "$lhs `,` $rhs attr-dict `:` type($result)"


class _Rounded(HasRoundingMode, _Binary):
    rounding_modes = IEEE_MODES
    rounding_mode = attribute(enum(RoundingAttr, angled=True), default=NEAREST_EVEN)
    flush_to_zero = attribute(UNIT_ATTR, optional=True)
    assembly = "$lhs `,` $rhs custom<Rounding>($rounding_mode) ($flush_to_zero^)? attr-dict `:` type($result)"

    def verify_op(self) -> None:
        check_rounding(self)
        check_flush_to_zero(self)


class AddF(_Rounded, name="cuda_tile.addf", traits=(PURE, COMMUTATIVE)):
    """Floating-point sum, elementwise."""


class SubF(_Rounded, name="cuda_tile.subf", traits=(PURE,)):
    """Floating-point difference, elementwise."""


class MulF(_Rounded, name="cuda_tile.mulf", traits=(PURE, COMMUTATIVE)):
    """Floating-point product, elementwise."""


class DivF(_Rounded, name="cuda_tile.divf", traits=(PURE,)):
    """Floating-point quotient, elementwise; `approx` and `full` are the faster divisions of f32."""

    rounding_modes = (*IEEE_MODES, "approx", "full")

    def verify_op(self) -> None:
        check_flush_to_zero(self)
        check_rounding(self)


class RemF(_Binary, name="cuda_tile.remf", traits=(PURE,)):
    """Remainder of the truncated quotient, with the sign of `lhs`, elementwise."""


class Fma(HasRoundingMode, Op, name="cuda_tile.fma", traits=(PURE,)):
    """`lhs * rhs + acc`, rounded once, elementwise."""

    rounding_modes = IEEE_MODES

    lhs = operand(FLOAT_TILE)
    rhs = operand(same_as("lhs"))
    acc = operand(same_as("lhs"))
    rounding_mode = attribute(enum(RoundingAttr, angled=True), default=NEAREST_EVEN)
    flush_to_zero = attribute(UNIT_ATTR, optional=True)
    result = result(same_as("lhs"))
    assembly = "$lhs `,` $rhs `,` $acc custom<Rounding>($rounding_mode) ($flush_to_zero^)? attr-dict `:` type($result)"

    def verify_op(self) -> None:
        check_rounding(self)
        check_flush_to_zero(self)


class _Extremum(_Binary):
    propagate_nan = attribute(UNIT_ATTR, optional=True)
    flush_to_zero = attribute(UNIT_ATTR, optional=True)
    assembly = "$lhs `,` $rhs custom<NanFlags>($flush_to_zero, $propagate_nan) attr-dict `:` type($result)"

    def verify_op(self) -> None:
        check_flush_to_zero(self)


class MaxF(_Extremum, name="cuda_tile.maxf", traits=(PURE, COMMUTATIVE)):
    """The greater value, elementwise; a NaN loses unless `propagate_nan`."""


class MinF(_Extremum, name="cuda_tile.minf", traits=(PURE, COMMUTATIVE)):
    """The lesser value, elementwise; a NaN loses unless `propagate_nan`."""


class CmpF(Op, name="cuda_tile.cmpf", traits=(PURE,)):
    """Floating-point comparison, elementwise; `unordered` is true if an operand is a NaN."""

    comparison_predicate = attribute(PREDICATE)
    comparison_ordering = attribute(ORDERING)
    lhs = operand(FLOAT_TILE)
    rhs = operand(same_as("lhs"))
    result = result(COMPARISON_RESULT)
    assembly = (
        "custom<Keyword>($comparison_predicate, $comparison_ordering) $lhs `,` $rhs attr-dict "
        "`:` type($lhs) `->` type($result)"
    )


class AbsF(_Unary, name="cuda_tile.absf", traits=(PURE,)):
    """Absolute value, elementwise."""


class NegF(_Unary, name="cuda_tile.negf", traits=(PURE,)):
    """Negation, elementwise."""


class Ceil(_Unary, name="cuda_tile.ceil", traits=(PURE,)):
    """The next integer above, elementwise."""


class Floor(_Unary, name="cuda_tile.floor", traits=(PURE,)):
    """The next integer below, elementwise."""


class Sin(_Unary, name="cuda_tile.sin", traits=(PURE,)):
    """Sine, elementwise."""


class Cos(_Unary, name="cuda_tile.cos", traits=(PURE,)):
    """Cosine, elementwise."""


class Tan(_Unary, name="cuda_tile.tan", traits=(PURE,)):
    """Tangent, elementwise."""


class SinH(_Unary, name="cuda_tile.sinh", traits=(PURE,)):
    """Hyperbolic sine, elementwise."""


class CosH(_Unary, name="cuda_tile.cosh", traits=(PURE,)):
    """Hyperbolic cosine, elementwise."""


class Log(_Unary, name="cuda_tile.log", traits=(PURE,)):
    """Natural logarithm, elementwise."""


class Log2(_Unary, name="cuda_tile.log2", traits=(PURE,)):
    """Logarithm to base two, elementwise."""


class _Approximated(HasRoundingMode, _Unary):
    rounding_modes = ("approx", "full")
    read_modes = RoundingAttr.cases
    rounding_mode = attribute(enum(RoundingAttr, angled=True), default=FULL)
    assembly = "$source custom<Rounding>($rounding_mode) attr-dict `:` type($result)"

    def verify_op(self) -> None:
        check_rounding(self)


class Exp(_Approximated, name="cuda_tile.exp", traits=(PURE,)):
    """e to the power of the source, elementwise."""


class TanH(_Approximated, name="cuda_tile.tanh", traits=(PURE,)):
    """Hyperbolic tangent, elementwise."""


class _Flushed(_Unary):
    flush_to_zero = attribute(UNIT_ATTR, optional=True)
    assembly = "$source ($flush_to_zero^)? attr-dict `:` type($result)"

    def verify_op(self) -> None:
        check_flush_to_zero(self)


class Exp2(_Flushed, name="cuda_tile.exp2", traits=(PURE,)):
    """Two to the power of the source, elementwise."""


class Rsqrt(_Flushed, name="cuda_tile.rsqrt", traits=(PURE,)):
    """Reciprocal of the square root, elementwise."""


class Sqrt(HasRoundingMode, _Unary, name="cuda_tile.sqrt", traits=(PURE,)):
    """Square root, elementwise."""

    rounding_modes = (*IEEE_MODES, "approx")

    rounding_mode = attribute(enum(RoundingAttr, angled=True), default=NEAREST_EVEN)
    flush_to_zero = attribute(UNIT_ATTR, optional=True)
    assembly = "$source custom<Rounding>($rounding_mode) ($flush_to_zero^)? attr-dict `:` type($result)"

    def verify_op(self) -> None:
        check_flush_to_zero(self)
        check_rounding(self)


class FPowF(Op, name="cuda_tile.fpowf", traits=(PURE,)):
    """The source to the power of the exponent, elementwise; `pow` is its older name."""

    source = operand(FLOAT_TILE)
    exponent = operand(same_as("source"))
    result = result(same_as("source"))
    assembly = "$source `,` $exponent attr-dict `:` type($result)"


class FPowI(Op, name="cuda_tile.fpowi", traits=(PURE,)):
    """The source to the power of an integer, elementwise."""

    source = operand(FLOAT_TILE)
    exponent = operand(EXPONENT_TILE)
    result = result(same_as("source"))
    assembly = "$source `,` $exponent attr-dict `:` type($result) `,` type($exponent)"

    def verify_op(self) -> None:
        check_same_shape(self, "source", "exponent", "result")


class Pow(Op, name="cuda_tile.pow", traits=(PURE,)):
    """`fpowf` by its older name."""

    source = operand(FLOAT_TILE)
    exponent = operand(same_as("source"))
    result = result(same_as("source"))
    assembly = "$source `,` $exponent attr-dict `:` type($result)"


class Atan2(Op, name="cuda_tile.atan2", traits=(PURE,)):
    """The angle of the point whose ordinate is `x` and whose abscissa is `y`, elementwise."""

    x = operand(FLOAT_TILE)
    y = operand(same_as("x"))
    result = result(same_as("x"))
    assembly = "$x `,` $y attr-dict `:` type($result)"


# -- matrix multiplication


def check_mma_shapes(op: MmaF | MmaFScaled | MmaI) -> None:
    """`acc += lhs · rhs` with MxK, KxN and MxN, or with one batch dimension before all three."""
    check_same_element(op, "lhs", "rhs")
    check_same_rank(op, "lhs", "rhs", "acc")
    rank = len(shape_of(op.lhs))
    if rank not in (2, 3):
        raise op.error("operands must be 2D or 3D tiles")
    if rank == 3:
        _match(op, "lhs", 0, "rhs", 0, "")
        _match(op, "lhs", 0, "acc", 0, "")
    row, column = rank - 2, rank - 1
    _match(op, "lhs", column, "rhs", row, " ")
    _match(op, "lhs", row, "acc", row, " ")
    _match(op, "rhs", column, "acc", column, " ")


def _match(op: Op, first: str, first_dim: int, second: str, second_dim: int, space: str = "") -> None:
    left, right = (shape_of(op.values_of(name)[0]) for name in (first, second))
    if left[first_dim] != right[second_dim]:
        raise op.error(
            f"{space}shape error: dim {first_dim} of {first} ({left[first_dim]}) and dim {second_dim} of {second} "
            f"({right[second_dim]}) must match, but got {first} shape ({shape_text(left)}) and {second} shape "
            f"({shape_text(right)})"
        )


MMAF_TYPES: dict[Type, tuple[FloatType, ...]] = {
    F4E2M1FN: (F16, F32), F8E4M3FN: (F16, F32), F8E5M2: (F16, F32), F16: (F16, F32), BF16: (F32,), TF32: (F32,),
    F32: (F32,), F64: (F64,),
}  # fmt: skip
"""Accumulator types by input type."""


class MmaF(Op, name="cuda_tile.mmaf", traits=(PURE,)):
    """`lhs · rhs + acc` of matrices MxK, KxN, MxN (or batches of them)."""

    lhs = operand(MMAF_OPERAND)
    rhs = operand(MMAF_OPERAND)
    acc = operand(MMAF_RESULT)
    fast_acc = attribute(UNIT_ATTR, optional=True)
    result = result(same_as("acc"))
    assembly = "$lhs `,` $rhs `,` $acc ($fast_acc^)? attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)"

    def verify_op(self) -> None:
        check_mma_shapes(self)
        source, target = element_type(self.lhs.type), element_type(self.acc.type)
        if target not in MMAF_TYPES[source]:
            raise self.error(
                f"unsupported combination of element types. Input type '{source}' expects accumulator/result type "
                f"to be one of {{{types_text(MMAF_TYPES[source])}}}, but got '{target}'"
            )


class MmaFScaled(Op, name="cuda_tile.mmaf_scaled", traits=(PURE,)):
    """`(lhs * lhs_scale) · (rhs * rhs_scale) + acc`, one scale for each block of elements along K.

    Scales of f8E4M3FN must not be negative: the result is undefined otherwise, and differs between targets."""

    lhs = operand(MMAF_SCALED_OPERAND)
    rhs = operand(MMAF_SCALED_OPERAND)
    acc = operand(MMAF_SCALED_RESULT)
    lhs_scale = operand(MMAF_SCALED_SCALE)
    rhs_scale = operand(MMAF_SCALED_SCALE)
    result = result(same_as("acc"))
    assembly = (
        "$lhs `,` $rhs `,` $acc `,` $lhs_scale `,` $rhs_scale attr-dict `:` type($lhs) `,` type($rhs) `,` "
        "type($acc) `,` type($lhs_scale) `,` type($rhs_scale)"
    )

    def verify_op(self) -> None:
        check_same_element(self, "lhs_scale", "rhs_scale")
        check_same_rank(self, "lhs", "rhs", "acc", "lhs_scale", "rhs_scale")
        check_mma_shapes(self)
        rank = len(shape_of(self.lhs))
        row, column = rank - 2, rank - 1
        if rank == 3:
            _match(self, "lhs", 0, "lhs_scale", 0)
            _match(self, "rhs", 0, "rhs_scale", 0)
        _match(self, "lhs", row, "lhs_scale", row)
        _match(self, "rhs", column, "rhs_scale", column)
        _match(self, "lhs_scale", column, "rhs_scale", row)
        self._check_block(shape_of(self.lhs)[column], shape_of(self.lhs_scale)[column])

    def _check_block(self, extent: int, blocks: int) -> None:
        source, scale = element_type(self.lhs.type), element_type(self.lhs_scale.type)
        block = extent // blocks
        if source is F4E2M1FN:
            allowed, noun = (
                ((16,) if scale is F8E4M3FN else (16, 32)),
                f"f4E2M1FN element type with {scale} scales",
            )
        elif scale is not F8E8M0FNU:
            raise self.error(
                f"unsupported combination of element types. Scale type '{scale}' expects lhs and rhs element types "
                f"to be 'f4E2M1FN', but got '{source}'"
            )
        else:
            allowed, noun = (32,), "f8 element type"
        if block not in allowed:
            raise self.error(
                f"shape error: {noun} requires block scale factor of lhs_scale and rhs_scale to be "
                f"{' or '.join(map(str, allowed))}, but got {block}"
            )
