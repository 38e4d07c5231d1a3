"""Conversions of `cuda_tile` between element types, elementwise."""

from __future__ import annotations

from tessera_tools.dialects.cuda_tile.attributes import SIGNEDNESS, OverflowAttr, RoundingAttr
from tessera_tools.dialects.cuda_tile.constraints import (
    ANY_FLOAT_TILE,
    ANY_INT_TILE,
    F8E8M0FNU,
    I8_TILE,
    I64_TILE,
    INT_TILE,
    NUMBER_TILE,
    PACKABLE_TILE,
    POINTER_TILE,
    check_same_rank,
    check_same_shape,
)
from tessera_tools.dialects.cuda_tile.float_ops import IEEE_MODES, NEAREST_EVEN
from tessera_tools.dialects.cuda_tile.formats import HasRoundingMode
from tessera_tools.ir import floats
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import F32, F64, TF32, FloatType, element_type, width_of
from tessera_tools.opdef import PURE, UNIT_ATTR, Op, attribute, enum, operand, result

TO_ZERO = RoundingAttr("nearest_int_to_zero")


class _Cast(Op):
    source = operand(NUMBER_TILE)
    result = result(NUMBER_TILE)
    assembly = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_op(self) -> None:
        check_same_shape(self, "source", "result")


class Bitcast(_Cast, name="cuda_tile.bitcast", traits=(PURE,)):
    """The same bits as another element type of equal width."""

    def verify_op(self) -> None:
        check_same_shape(self, "source", "result")
        old, new = (width_of(v.type) for v in (self.source, self.result))
        if old != new:
            raise self.error(
                f"types must be equal width, cannot convert '{self.source.type}' of width {old} "
                f"to type '{self.result.type}' of width {new}"
            )


class IntToPtr(_Cast, name="cuda_tile.int_to_ptr", traits=(PURE,)):
    """Addresses from i64."""

    source = operand(I64_TILE)
    result = result(POINTER_TILE)


class PtrToInt(_Cast, name="cuda_tile.ptr_to_int", traits=(PURE,)):
    """Addresses as i64."""

    source = operand(POINTER_TILE)
    result = result(I64_TILE)


class PtrToPtr(_Cast, name="cuda_tile.ptr_to_ptr", traits=(PURE,)):
    """The same addresses, of another element type."""

    source = operand(POINTER_TILE)
    result = result(POINTER_TILE)


class ExtI(Op, name="cuda_tile.exti", traits=(PURE,)):
    """A wider integer of the same value."""

    from_ = operand(ANY_INT_TILE)
    signedness = attribute(SIGNEDNESS)
    to = result(ANY_INT_TILE)
    assembly = "$from custom<Keyword>($signedness) attr-dict `:` type($from) `->` type($to)"

    def verify_op(self) -> None:
        check_same_shape(self, "from_", "to")
        if width_of(self.to.type) <= width_of(self.from_.type):
            raise self.error("extending to smaller or identical integer")


class TruncI(Op, name="cuda_tile.trunci", traits=(PURE,)):
    """The low bits as a narrower integer."""

    from_ = operand(ANY_INT_TILE)
    overflow = attribute(enum(OverflowAttr, angled=True), default=OverflowAttr("none"))
    to = result(ANY_INT_TILE)
    assembly = "$from (`overflow` `` $overflow^)? attr-dict `:` type($from) `->` type($to)"

    def verify_op(self) -> None:
        check_same_shape(self, "from_", "to")
        if width_of(self.to.type) >= width_of(self.from_.type):
            raise self.error("truncating to larger or identical integer")


class FToF(HasRoundingMode, Op, name="cuda_tile.ftof", traits=(PURE,)):
    """The value in another floating-point type, rounded if necessary.

    Every conversion supports `nearest_even`, except those to f8E8M0FNU, which support `zero` and `positive_inf`;
    narrowing also supports `zero`.  From f64 to f32, and to a type with every number of the source, all IEEE modes are
    supported; from f32 to tf32, `nearest_away`.
    """

    rounding_modes = (*IEEE_MODES, "nearest_away")

    from_ = operand(ANY_FLOAT_TILE)
    rounding_mode = attribute(enum(RoundingAttr, angled=True), default=NEAREST_EVEN)
    to = result(ANY_FLOAT_TILE)
    assembly = "$from custom<Rounding>($rounding_mode) attr-dict `:` type($from) `->` type($to)"

    def verify_op(self) -> None:
        check_same_shape(self, "from_", "to")
        if self.from_.type is self.to.type:
            raise self.error("converting tiles must not be a no-op")
        old, new = element_type(self.from_.type), element_type(self.to.type)
        modes, message = _ftof_modes(old, new)
        if self.rounding_mode.value not in modes:
            raise self.error(f"invalid rounding mode specified{message}")


def _ftof_modes(old: Type, new: Type) -> tuple[tuple[str, ...], str]:
    """(the supported rounding modes of a conversion, the end of the message for others), as in tileirdisasm 13.5;
    `zero` to the formats of 8 and 4 bits is of the public sources."""
    assert isinstance(old, FloatType) and isinstance(new, FloatType)
    if new is F8E8M0FNU:
        return (
            ("zero", "positive_inf"),
            " for conversion to f8E8M0FNU. Only 'zero' and 'positive_inf' are supported",
        )
    if new.width <= 8:
        modes = ("nearest_even", "zero") if new.width < old.width else ("nearest_even",)
        return modes, " for conversion to low-precision type. Only 'nearest_even' is supported"
    if floats.has_normal_range(floats.FORMATS[new.keyword], floats.FORMATS[old.keyword]):
        return (
            FToF.rounding_modes,
            " for widening conversion. Only IEEE float rounding modes are supported: 'nearest_even', 'zero', "
            "'negative_inf', 'positive_inf', 'nearest_away'",
        )
    if old is F64 and new is F32:
        return (
            IEEE_MODES,
            " for conversion from f64 to f32. Only 'nearest_even', 'zero', 'negative_inf', and 'positive_inf' are "
            "supported",
        )
    if old is F32 and new is TF32:
        return (
            ("nearest_even", "zero", "nearest_away"),
            " for conversion from f32 to tf32. Only 'nearest_even', 'zero', and 'nearest_away' are supported",
        )
    return (
        ("nearest_even", "zero"),
        ". Only 'nearest_even' and 'zero' are supported for narrowing conversions to standard types",
    )


class FToI(HasRoundingMode, Op, name="cuda_tile.ftoi", traits=(PURE,)):
    """The integer, rounded toward zero; `saturating` clamps to the range of the type."""

    rounding_modes = ("nearest_int_to_zero",)

    from_ = operand(ANY_FLOAT_TILE)
    signedness = attribute(SIGNEDNESS)
    rounding_mode = attribute(enum(RoundingAttr, angled=True), default=TO_ZERO)
    saturating = attribute(UNIT_ATTR, optional=True)
    to = result(INT_TILE)
    assembly = (
        "$from custom<Keyword>($signedness) custom<Rounding>($rounding_mode) ($saturating^)? attr-dict `:` "
        "type($from) `->` type($to)"
    )

    def verify_op(self) -> None:
        check_same_shape(self, "from_", "to")
        if self.rounding_mode is not TO_ZERO:
            raise self.error("invalid rounding mode specified. Only 'nearest_int_to_zero' is supported")


class IToF(HasRoundingMode, Op, name="cuda_tile.itof", traits=(PURE,)):
    """The nearest floating-point value."""

    rounding_modes = IEEE_MODES

    from_ = operand(INT_TILE)
    signedness = attribute(SIGNEDNESS)
    rounding_mode = attribute(enum(RoundingAttr, angled=True), default=NEAREST_EVEN)
    to = result(ANY_FLOAT_TILE)
    assembly = (
        "$from custom<Keyword>($signedness) custom<Rounding>($rounding_mode) attr-dict "
        "`:` type($from) `->` type($to)"
    )

    def verify_op(self) -> None:
        check_same_shape(self, "from_", "to")
        if element_type(self.to.type) is F8E8M0FNU:
            raise self.error(
                "integer to f8E8M0FNU conversion is not supported, please first convert to another float type"
            )
        if self.rounding_mode is not NEAREST_EVEN:
            raise self.error("invalid rounding mode specified. Only 'nearest_even' is supported")


class _Packing(_Cast):
    def verify_op(self) -> None:
        check_same_rank(self, "source", "result")
        if len(self.source.type.shape) != 1:
            raise self.error("expects source and result to be rank-1 tiles")
        if width_of(self.source.type) == width_of(self.result.type):
            raise self.error("expects source and result to have different element type widths")
        old, new = (_stored_bits(v.type) for v in (self.source, self.result))
        if old % 8:
            raise self.error("expects source tile to be byte-aligned")
        if new % 8:
            raise self.error("expects result tile to be byte-aligned")
        if old != new:
            raise self.error(
                "expects source and result to have the same size in bytes, but got source tile size "
                f"{old // 8} bytes and result tile size {new // 8} bytes"
            )


class Pack(_Packing, name="cuda_tile.pack", traits=(PURE,)):
    """The bytes of a tile, in memory order."""

    source = operand(PACKABLE_TILE)
    result = result(I8_TILE)


class Unpack(_Packing, name="cuda_tile.unpack", traits=(PURE,)):
    """A tile from its bytes, in memory order."""

    source = operand(I8_TILE)
    result = result(PACKABLE_TILE)


def _stored_bits(tile: Type) -> int:
    width = 32 if element_type(tile) is TF32 else width_of(tile)
    return width * tile.num_elements  # type: ignore[attr-defined]
