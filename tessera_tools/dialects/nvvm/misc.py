"""Single instructions, conversions, and inline PTX."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tessera_tools.dialects.nvvm.attributes import FPRoundingModeAttr, PermuteModeAttr, SaturationModeAttr
from tessera_tools.dialects.nvvm.base import (
    F32_TYPE,
    I1_TYPE,
    I32_TYPE,
    NVVMOp,
    flag,
    inline_ptx,
    inline_ptx_values,
)
from tessera_tools.ir.builtin_attributes import FALSE
from tessera_tools.ir.types import BF16, F16, FloatType, IntegerType, VectorType
from tessera_tools.opdef import (
    ANY_TYPE,
    BOOL_ATTR,
    PURE,
    READ_WRITE,
    STRING_ATTR,
    TYPE_ATTR,
    attribute,
    enum,
    exactly,
    of_class,
    operand,
    optional_operand,
    result,
    variadic_operand,
    variadic_result,
)

if TYPE_CHECKING:
    from tessera_tools.dialects.llvm.base import Emitter

NO_ROUNDING, NO_SATURATION = FPRoundingModeAttr("none"), SaturationModeAttr("none")


class RcpApproxFtzF32(NVVMOp, name="nvvm.rcp.approx.ftz.f", traits=(PURE,)):
    """An approximate reciprocal, subnormals flushed to zero."""

    intrinsic = "llvm.nvvm.rcp.approx.ftz.f"
    arg = operand(F32_TYPE)
    res = result(F32_TYPE)
    assembly = "$arg attr-dict `:` type($res)"


class Permute(NVVMOp, name="nvvm.prmt", traits=(PURE,)):
    """Bytes picked from two registers."""

    lo = operand(I32_TYPE)
    hi = optional_operand(I32_TYPE)
    selector = operand(I32_TYPE)
    mode = attribute(enum(PermuteModeAttr, angled=True))
    res = result(I32_TYPE)
    assembly = "` ` $mode $selector `,` $lo (`,` $hi^)? attr-dict `:` type($res)"

    def intrinsic_name(self) -> str:
        return "llvm.nvvm.prmt" + ("" if self.mode.value == "default" else f".{self.mode.value}")

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        values = [self.lo] + ([self.hi] if self.hi is not None else []) + [self.selector]
        return [e.operand(v) for v in values]

    def verify_op(self) -> None:
        needs_both = self.mode.value in ("default", "f4e", "b4e")
        if needs_both is not (self.hi is not None):
            raise self.error(
                f"mode '{self.mode.value}' {'requires' if needs_both else 'does not accept'} 'hi' operand"
            )


class ConvertFloatToTF32(NVVMOp, name="nvvm.convert.float.to.tf32", traits=(PURE,)):
    """The value in TF32, as i32."""

    src = operand(F32_TYPE)
    rnd = attribute(of_class(FPRoundingModeAttr), default=NO_ROUNDING)
    sat = attribute(of_class(SaturationModeAttr), default=NO_SATURATION)
    relu = attribute(BOOL_ATTR, default=FALSE)
    res = result(I32_TYPE)
    assembly = "$src attr-dict"

    def intrinsic_name(self) -> str:
        marks = (".relu" if flag(self, "relu") else "") + (".satfinite" if self.sat.value != "none" else "")
        return f"llvm.nvvm.f2tf32.{self.rnd.value}{marks}"

    def verify_op(self) -> None:
        if self.rnd.value not in ("rn", "rz", "rna"):
            raise self.error("Only {rn,rz,rna} rounding modes supported for ConvertFloatToTF32Op.")


class ConvertF32x2ToF8x2(NVVMOp, name="nvvm.convert.f32x2.to.f8x2", traits=(PURE,)):
    """Two floats as packed 8-bit floats, `a` in the high byte."""

    a = operand(F32_TYPE)
    b = operand(F32_TYPE)
    rnd = attribute(of_class(FPRoundingModeAttr), default=NO_ROUNDING)
    sat = attribute(of_class(SaturationModeAttr), default=NO_SATURATION)
    relu = attribute(BOOL_ATTR, default=FALSE)
    dst_ty = attribute(TYPE_ATTR, key="dstTy")
    dst = result(ANY_TYPE)
    assembly = "$a `,` $b attr-dict `:` type($dst) `(` $dst_ty `)`"

    def llvm_ir(self, e: Emitter) -> None:
        relu = ".relu" if flag(self, "relu") else ""
        kind = self.dst_ty.value
        word = kind.keyword if isinstance(kind, FloatType) else ""
        rounding = {"rz": "rz", "rp": "rp"}.get(self.rnd.value, "rn")
        name = {
            "f8E4M3FN": f"llvm.nvvm.ff.to.e4m3x2.rn{relu}",
            "f8E5M2": f"llvm.nvvm.ff.to.e5m2x2.rn{relu}",
            "f8E8M0FNU": f"llvm.nvvm.ff.to.ue8m0x2.{rounding}{'.satfinite' if self.sat.value != 'none' else ''}",
        }[word]
        arguments = [e.operand(v) for v in self.operands]
        if isinstance(self.results[0].type, IntegerType):
            e.call(self, name, "i16", arguments)
        else:
            e.define(self, f"bitcast i16 {e.call_value(name, 'i16', arguments)} to <2 x i8>")

    def verify_op(self) -> None:
        kind = self.dst_ty.value
        if not (isinstance(kind, FloatType) and kind.keyword in ("f8E4M3FN", "f8E5M2", "f8E8M0FNU")):
            raise self.error(
                f"Only 'f8E4M3FN', 'f8E5M2' and 'f8E8M0FNU' types are supported, but got '{kind}'"
            )
        if kind.keyword == "f8E8M0FNU":
            if self.rnd.value not in ("rp", "rz"):
                raise self.error(
                    f"Only RP and RZ rounding modes are supported for conversions from f32x2 to '{kind}'"
                )
            if flag(self, "relu"):
                raise self.error(f"relu not supported for conversions to '{kind}'")
            return
        if self.rnd.value != "rn":
            raise self.error(
                "Only RN rounding mode is supported for conversions from f32x2 to 'f8E4M3FN' and 'f8E5M2' types"
            )
        if self.sat.value != "satfinite":
            raise self.error(
                "Only SATFINITE saturation mode is supported for conversions from f32x2 to 'f8E4M3FN' and 'f8E5M2' "
                "types"
            )


class _ConvertF32x2(NVVMOp):
    src_hi = operand(F32_TYPE)
    src_lo = operand(F32_TYPE)
    random_bits = optional_operand(I32_TYPE)
    rnd = attribute(of_class(FPRoundingModeAttr), default=NO_ROUNDING)
    sat = attribute(of_class(SaturationModeAttr), default=NO_SATURATION)
    relu = attribute(BOOL_ATTR, default=FALSE)
    assembly = "$src_hi `,` $src_lo (`,` $random_bits^)? attr-dict `:` type($dst)"
    kind = ""

    def intrinsic_name(self) -> str:
        marks = (".relu" if flag(self, "relu") else "") + (".satfinite" if self.sat.value != "none" else "")
        return f"llvm.nvvm.ff2{self.kind}x2.{self.rnd.value}{marks}"

    def verify_op(self) -> None:
        if self.rnd.value not in ("rn", "rz", "rs"):
            raise self.error("Only RN, RZ, and RS rounding modes are supported for conversions from f32x2.")
        if (self.rnd.value == "rs") is not (self.random_bits is not None):
            raise self.error("random_bits is required for, and only for, the RS rounding mode")


class ConvertF32x2ToF16x2(_ConvertF32x2, name="nvvm.convert.f32x2.to.f16x2", traits=(PURE,)):
    """Two floats as a vector of halves."""

    kind = "f16"
    dst = result(exactly(VectorType((2,), F16)))


class ConvertF32x2ToBF16x2(_ConvertF32x2, name="nvvm.convert.f32x2.to.bf16x2", traits=(PURE,)):
    """Two floats as a vector of bfloats."""

    kind = "bf16"
    dst = result(exactly(VectorType((2,), BF16)))


_PLACE = re.compile(r"\{\$(rw|r|w)(\d+)\}")


class InlinePtx(NVVMOp, name="nvvm.inline_ptx", traits=(READ_WRITE,)):
    """PTX text; `{$w0}` are results, `{$rw0}` operands read and written, `{$r0}` operands read."""

    ro_args = variadic_operand(ANY_TYPE)
    rw_args = variadic_operand(ANY_TYPE)
    ptx_code = attribute(STRING_ATTR, key="ptxCode")
    predicate = optional_operand(I1_TYPE)
    wo_args = variadic_result(ANY_TYPE)
    assembly = (
        "$ptx_code (`ro` `(` $ro_args^ `:` type($ro_args) `)`)? (`rw` `(` $rw_args^ `:` type($rw_args) `)`)? "
        "(`,` `predicate` `=` $predicate^)? attr-dict (`->` type($wo_args)^)?"
    )

    def llvm_ir(self, e: Emitter) -> None:
        written, both, read = self.wo_args, self.rw_args, self.ro_args
        if both and written:
            raise self.error("cannot have both results and operands that are read and written")
        outputs = [v.type for v in (both or written)]
        first = {"w": 0, "rw": 0, "r": len(outputs) + len(both)}

        def place(match: re.Match[str]) -> str:
            return f"${first[match.group(1)] + int(match.group(2))}"

        text = _PLACE.sub(place, self.ptx_code.value.replace("$", "$$").replace("{$$", "{$"))
        inputs = list(read)
        if self.predicate is not None:
            text = f"@${len(outputs) + len(both) + len(inputs)} {text}"
            inputs.append(self.predicate)
        if not both:
            inline_ptx(self, e, text, outputs, inputs)
            return
        for value in both:
            for use in value.uses:
                if use.owner.parent is not self.parent:
                    raise self.error(
                        "changes an operand that another block uses; pass the value through a result"
                    )
        # Later ops see the operands' new values.
        for value, name in zip(both, inline_ptx_values(self, e, text, outputs, inputs, both), strict=True):
            e.names[value] = name
