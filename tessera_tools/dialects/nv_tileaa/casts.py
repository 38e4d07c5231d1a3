"""Casts that `arith` does not have: into narrow floats as hardware rounds, and between addresses and integers."""

from __future__ import annotations

from tessera_tools.dialects.arith.attributes import ROUNDING_MODE
from tessera_tools.dialects.arith.casts import Cast
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import I64
from tessera_tools.opdef import FLOAT_LIKE, PURE, SAME_SHAPE, attribute, operand, result


class TruncFSatfinite(Cast, name="nv_tileaa.truncf_satfinite", traits=(PURE, SAME_SHAPE)):
    """A number in a narrow format, saturating: to nearest even unless a mode is given, and the largest finite number
    beyond the range and for infinity.

    A NaN is preserved; in a format without NaN (f4E2M1FN) it becomes the largest number.  f8E8M0FNU takes the
    magnitude of a negative number, and its smallest number for anything smaller (PTX ISA, "cvt", .satfinite).
    """

    in_ = operand(FLOAT_LIKE)
    roundingmode = attribute(ROUNDING_MODE, "how to round", optional=True)
    out = result(FLOAT_LIKE)
    assembly = "$in ($roundingmode^)? attr-dict `:` type($in) `to` type($out)"

    def compatible(self, source: Type, target: Type) -> bool:
        return source is not target


class IntToPtr(Cast, name="nv_tileaa.int_to_ptr", traits=(PURE, SAME_SHAPE)):
    """Addresses from i64."""

    def compatible(self, source: Type, target: Type) -> bool:
        return source is I64 and isinstance(target, PointerType)


class PtrToInt(Cast, name="nv_tileaa.ptr_to_int", traits=(PURE, SAME_SHAPE)):
    """Addresses as i64."""

    def compatible(self, source: Type, target: Type) -> bool:
        return target is I64 and isinstance(source, PointerType)
