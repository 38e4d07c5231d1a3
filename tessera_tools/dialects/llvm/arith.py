"""Arithmetic, comparisons, selection and casts: each op is the LLVM instruction of its name."""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.dialects.arith.attributes import CMPI_PREDICATES
from tessera_tools.dialects.arith.constants import bits_of
from tessera_tools.dialects.llvm.attributes import (
    FCMP,
    FCMP_PREDICATES,
    ICMP,
    NO_FLAGS,
    OVERFLOW,
    DereferenceableAttr,
)
from tessera_tools.dialects.llvm.base import (
    ANY,
    BOOLEANS,
    FLOATS,
    INTEGERS,
    POINTERS,
    Emitter,
    LLVMOp,
    fastmath,
    fastmath_text,
)
from tessera_tools.dialects.llvm.types import PointerType, StructType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.folding import constant_value
from tessera_tools.ir.types import I1, FloatType, IntegerType, VectorType, bit_width, width_of, with_element
from tessera_tools.opdef import (
    COMMUTATIVE,
    NO_EFFECT,
    PURE,
    UNIT_ATTR,
    TypeConstraint,
    attribute,
    derived,
    of_class,
    operand,
    result,
    same_as,
)

_WRAP = ("", " nsw", " nuw", " nuw nsw")


class _Binary(LLVMOp):
    """`%r = <instruction> <flags> <type> %a, %b`."""

    def llvm_ir(self, e: Emitter) -> None:
        lhs, rhs = self._operands
        names = e.names
        text = f"{self.llvm_instruction}{self.flags_text()} {e.type(lhs.value.type)} {names[lhs.value]}, "
        e.define(self, text + names[rhs.value])

    def flags_text(self) -> str:
        """The flags, each with a space before it."""
        return ""

    def llvm_constant(self, e: Emitter) -> str:
        lhs, rhs = self.operands
        return f"{self.llvm_instruction} ({e.operand(lhs)}, {e.operand(rhs)})"


class _IntBinary(_Binary):
    lhs = operand(INTEGERS)
    rhs = operand(same_as("lhs"))
    res = result(same_as("lhs"))
    assembly = "$lhs `,` $rhs attr-dict `:` type($res)"


class _Division(_Binary, traits=(NO_EFFECT,)):
    """The base of divisions and remainders."""

    def is_speculatable(self) -> bool:
        """True if executing the op where it was not executed before is safe: the divisor is a constant that cannot
        be undefined."""
        divisor = self.operand(1)
        bits = bits_of(constant_value(divisor))
        unsafe = (0,) if self.llvm_instruction.startswith("u") else (0, (1 << width_of(divisor.type)) - 1)
        return bits is not None and not any(b in unsafe for b in bits)


class _WrappingBinary(_Binary):
    lhs = operand(INTEGERS)
    rhs = operand(same_as("lhs"))
    overflow_flags = attribute(OVERFLOW, default=NO_FLAGS, key="overflowFlags")
    res = result(same_as("lhs"))
    assembly = "$lhs `,` $rhs (`overflow` `` $overflow_flags^)? attr-dict `:` type($res)"

    def flags_text(self) -> str:
        flags = self.attributes.get("overflowFlags")
        return _WRAP[flags.value] if isinstance(flags, IntegerAttr) else ""


class _ExactBinary(_Binary):
    lhs = operand(INTEGERS)
    rhs = operand(same_as("lhs"))
    is_exact = attribute(UNIT_ATTR, optional=True, key="isExact")
    res = result(same_as("lhs"))
    assembly = "(`exact` $is_exact^)? $lhs `,` $rhs attr-dict `:` type($res)"

    def flags_text(self) -> str:
        return " exact" if "isExact" in self.attributes else ""


class Add(_WrappingBinary, name="llvm.add", traits=(PURE, COMMUTATIVE)):
    """Integer addition."""

    llvm_instruction = "add"


class Sub(_WrappingBinary, name="llvm.sub", traits=(PURE,)):
    """Integer subtraction."""

    llvm_instruction = "sub"


class Mul(_WrappingBinary, name="llvm.mul", traits=(PURE, COMMUTATIVE)):
    """Integer multiplication."""

    llvm_instruction = "mul"


class Shl(_WrappingBinary, name="llvm.shl", traits=(PURE,)):
    """Shift left."""

    llvm_instruction = "shl"


class UDiv(_ExactBinary, _Division, name="llvm.udiv"):
    """Unsigned division; undefined for a zero divisor."""

    llvm_instruction = "udiv"


class SDiv(_ExactBinary, _Division, name="llvm.sdiv"):
    """Signed division, rounding to zero; undefined for a zero divisor and for overflow."""

    llvm_instruction = "sdiv"


class LShr(_ExactBinary, name="llvm.lshr", traits=(PURE,)):
    """Logical shift right."""

    llvm_instruction = "lshr"


class AShr(_ExactBinary, name="llvm.ashr", traits=(PURE,)):
    """Arithmetic shift right."""

    llvm_instruction = "ashr"


class URem(_IntBinary, _Division, name="llvm.urem"):
    """Unsigned remainder; undefined for a zero divisor."""

    llvm_instruction = "urem"


class SRem(_IntBinary, _Division, name="llvm.srem"):
    """Signed remainder; has the sign of the dividend. Undefined for a zero divisor and for overflow."""

    llvm_instruction = "srem"


class And(_IntBinary, name="llvm.and", traits=(PURE, COMMUTATIVE)):
    """Bitwise and."""

    llvm_instruction = "and"


class XOr(_IntBinary, name="llvm.xor", traits=(PURE, COMMUTATIVE)):
    """Bitwise exclusive or."""

    llvm_instruction = "xor"


class Or(_Binary, name="llvm.or", traits=(PURE, COMMUTATIVE)):
    """Bitwise or; `disjoint` states that no bit is set in both."""

    llvm_instruction = "or"
    lhs = operand(INTEGERS)
    rhs = operand(same_as("lhs"))
    is_disjoint = attribute(UNIT_ATTR, optional=True, key="isDisjoint")
    res = result(same_as("lhs"))
    assembly = "(`disjoint` $is_disjoint^)? $lhs `,` $rhs attr-dict `:` type($res)"

    def flags_text(self) -> str:
        return " disjoint" if "isDisjoint" in self.attributes else ""


class _FloatBinary(_Binary):
    lhs = operand(FLOATS)
    rhs = operand(same_as("lhs"))
    fastmath_flags = fastmath()
    res = result(same_as("lhs"))
    assembly = "$lhs `,` $rhs attr-dict `:` type($res)"

    def flags_text(self) -> str:
        flags = fastmath_text(self)
        return f" {flags[:-1]}" if flags else ""


class FAdd(_FloatBinary, name="llvm.fadd", traits=(PURE,)):
    """Floating-point addition."""

    llvm_instruction = "fadd"


class FSub(_FloatBinary, name="llvm.fsub", traits=(PURE,)):
    """Floating-point subtraction."""

    llvm_instruction = "fsub"


class FMul(_FloatBinary, name="llvm.fmul", traits=(PURE,)):
    """Floating-point multiplication."""

    llvm_instruction = "fmul"


class FDiv(_FloatBinary, name="llvm.fdiv", traits=(PURE,)):
    """Floating-point division."""

    llvm_instruction = "fdiv"


class FRem(_FloatBinary, name="llvm.frem", traits=(PURE,)):
    """Floating-point remainder, with the sign of the dividend."""

    llvm_instruction = "frem"


class FNeg(LLVMOp, name="llvm.fneg", traits=(PURE,)):
    """Floating-point negation: the sign bit flipped."""

    llvm_instruction = "fneg"
    arg = operand(FLOATS)
    fastmath_flags = fastmath()
    res = result(same_as("arg"))
    assembly = "$arg attr-dict `:` type($res)"

    def llvm_ir(self, e: Emitter) -> None:
        e.define(self, f"fneg {fastmath_text(self)}{e.operand(self.operand(0))}")


def _flags_of(type: Type) -> Type:
    return with_element(type, I1)


_COMPARED = TypeConstraint(
    "signless integer, LLVM pointer type or vector of it",
    lambda t: INTEGERS.accepts(t) or POINTERS.accepts(t),
)


class ICmp(LLVMOp, name="llvm.icmp", traits=(PURE,)):
    """Integer or pointer comparison."""

    predicate = attribute(ICMP)
    lhs = operand(_COMPARED)
    rhs = operand(same_as("lhs"))
    res = result(derived("i1 in the shape of the operands", _flags_of, "lhs"))
    assembly = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs)"

    def llvm_ir(self, e: Emitter) -> None:
        lhs, rhs = self.operands
        e.define(self, f"icmp {CMPI_PREDICATES[self.predicate.value]} {e.operand(lhs)}, {e.names[rhs]}")


class FCmp(LLVMOp, name="llvm.fcmp", traits=(PURE,)):
    """Floating-point comparison."""

    predicate = attribute(FCMP)
    lhs = operand(FLOATS)
    rhs = operand(same_as("lhs"))
    fastmath_flags = fastmath()
    res = result(derived("i1 in the shape of the operands", _flags_of, "lhs"))
    assembly = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs)"

    def llvm_ir(self, e: Emitter) -> None:
        lhs, rhs = self.operands
        predicate = FCMP_PREDICATES[self.predicate.value].lstrip("_")
        e.define(self, f"fcmp {fastmath_text(self)}{predicate} {e.operand(lhs)}, {e.names[rhs]}")


class Select(LLVMOp, name="llvm.select", traits=(PURE,)):
    """One value or the other."""

    condition = operand(BOOLEANS)
    true_value = operand(ANY)
    false_value = operand(same_as("true_value"))
    fastmath_flags = fastmath()
    res = result(same_as("true_value"))
    assembly = "operands attr-dict `:` type($condition) `,` type($res)"

    def llvm_ir(self, e: Emitter) -> None:
        chosen = ", ".join(map(e.operand, self.operands))
        e.define(self, f"select {fastmath_text(self)}{chosen}")


class Freeze(LLVMOp, name="llvm.freeze", traits=(PURE,)):
    """The value, or some fixed value if it is undef or poison."""

    val = operand(ANY)
    res = result(same_as("val"))
    assembly = "$val attr-dict `:` type($val)"

    def llvm_ir(self, e: Emitter) -> None:
        e.define(self, f"freeze {e.operand(self.operand(0))}")


# -- casts


class _Cast(LLVMOp):
    """`%r = <instruction> <flags> <type> %a to <type>`."""

    rule: ClassVar[str] = ""
    """"wider" or "narrower": how the widths of argument and result must compare."""

    def llvm_ir(self, e: Emitter) -> None:
        (use,) = self._operands
        value = use.value
        target = e.type(self.results[0].type)
        text = f"{self.llvm_instruction}{self.flags_text()} {e.type(value.type)} {e.names[value]} to {target}"
        e.define(self, text + self.metadata_text(e) if self.attributes else text)

    def metadata_text(self, e: Emitter) -> str:
        """The cast's metadata, each with a comma before it."""
        return ""

    def flags_text(self) -> str:
        return ""

    def llvm_constant(self, e: Emitter) -> str:
        return f"{self.llvm_instruction} ({e.operand(self.operand(0))} to {e.type(self.results[0].type)})"

    def verify_op(self) -> None:
        before, after = self.operand(0).type, self.results[0].type
        shapes = [t.shape if isinstance(t, VectorType) else () for t in (before, after)]
        if shapes[0] != shapes[1]:
            raise self.error(f"casts '{before}' to '{after}', which has another number of elements")
        if self.rule:
            narrow, wide = sorted((_width(before), _width(after)))
            grows = _width(before) < _width(after)
            if narrow == wide or grows is not (self.rule == "wider"):
                raise self.error(
                    f"needs a {self.rule} result than argument, but casts '{before}' to '{after}'"
                )


def dereferenceable_text(op: Operation, e: Emitter) -> str:
    """`, !dereferenceable !3` for an op with that attribute."""
    bound = op.attributes.get("dereferenceable")
    if not isinstance(bound, DereferenceableAttr):
        return ""
    name = "dereferenceable_or_null" if bound.mayBeNull else "dereferenceable"
    node = e.metadata(f"!{{i64 {bound.bytes}}}")
    return f", !{name} {node}"


def _width(type: Type) -> int:
    return bit_width(type.element if isinstance(type, VectorType) else type)


class _PlainCast(_Cast):
    arg = operand(ANY)
    res = result(ANY)
    assembly = "$arg attr-dict `:` type($arg) `to` type($res)"


class Bitcast(_PlainCast, name="llvm.bitcast", traits=(PURE,)):
    """The same bits as another type."""

    llvm_instruction = "bitcast"

    def verify_op(self) -> None:
        before, after = self.operand(0).type, self.results[0].type
        for type in (before, after):
            if isinstance(type, StructType):
                raise self.error(f"operand and result must be non-aggregate types, but got '{type}'")
        is_pointer = [POINTERS.accepts(t) for t in (before, after)]
        if is_pointer[0] != is_pointer[1]:
            raise self.error("can only cast pointers from and to pointers")
        if is_pointer[0]:
            vectors = [isinstance(t, VectorType) for t in (before, after)]
            if vectors == [False, True]:
                raise self.error("cannot cast pointer to vector of pointers")
            if vectors == [True, False]:
                raise self.error("cannot cast vector of pointers to pointer")
            if _pointed(before).address_space != _pointed(after).address_space:
                raise self.error(
                    "cannot cast pointers of different address spaces, use 'llvm.addrspacecast' instead"
                )
        if not is_pointer[0] and _total_bits(before) != _total_bits(after):
            raise self.error(f"casts '{before}' to '{after}', which has another number of bits")


def _pointed(type: Type) -> PointerType:
    """The pointer, or the element of a vector of pointers."""
    found = type.element if isinstance(type, VectorType) else type
    assert isinstance(found, PointerType)
    return found


def _total_bits(type: Type) -> int | None:
    if isinstance(type, VectorType):
        return (
            bit_width(type.element) * type.num_elements
            if isinstance(type.element, IntegerType | FloatType)
            else None
        )
    return bit_width(type) if isinstance(type, IntegerType | FloatType) else None


class AddrSpaceCast(_Cast, name="llvm.addrspacecast", traits=(PURE,)):
    """A pointer in another address space."""

    llvm_instruction = "addrspacecast"
    arg = operand(POINTERS)
    res = result(POINTERS)
    assembly = "$arg attr-dict `:` type($arg) `to` type($res)"

    def llvm_ir(self, e: Emitter) -> None:
        value, target = self.operand(0), self.results[0]
        if value.type is target.type:
            e.constant(target, e.names[value])
        else:
            super().llvm_ir(e)


class PtrToInt(_Cast, name="llvm.ptrtoint", traits=(PURE,)):
    """A pointer's address as an integer."""

    llvm_instruction = "ptrtoint"
    arg = operand(POINTERS)
    res = result(INTEGERS)
    assembly = "$arg attr-dict `:` type($arg) `to` type($res)"


DEREFERENCEABLE = of_class(DereferenceableAttr)


class IntToPtr(_Cast, name="llvm.inttoptr", traits=(PURE,)):
    """The pointer to an address."""

    llvm_instruction = "inttoptr"
    arg = operand(INTEGERS)
    dereferenceable = attribute(DEREFERENCEABLE, optional=True)
    res = result(POINTERS)
    assembly = "$arg custom<Dereferenceable>($dereferenceable) attr-dict `:` type($arg) `to` type($res)"

    def metadata_text(self, e: Emitter) -> str:
        return dereferenceable_text(self, e)


class SExt(_Cast, name="llvm.sext", traits=(PURE,)):
    """Sign extension."""

    llvm_instruction = "sext"
    rule = "wider"
    arg = operand(INTEGERS)
    res = result(INTEGERS)
    assembly = "$arg attr-dict `:` type($arg) `to` type($res)"


class _NonNegativeCast(_Cast):
    def flags_text(self) -> str:
        return " nneg" if "nonNeg" in self.attributes else ""


class ZExt(_NonNegativeCast, name="llvm.zext", traits=(PURE,)):
    """Zero extension; `nneg` states that the argument is not negative."""

    llvm_instruction = "zext"
    rule = "wider"
    arg = operand(INTEGERS)
    non_neg = attribute(UNIT_ATTR, optional=True, key="nonNeg")
    res = result(INTEGERS)
    assembly = "(`nneg` $non_neg^)? $arg attr-dict `:` type($arg) `to` type($res)"


class Trunc(_Cast, name="llvm.trunc", traits=(PURE,)):
    """The low bits."""

    llvm_instruction = "trunc"
    rule = "narrower"
    arg = operand(INTEGERS)
    overflow_flags = attribute(OVERFLOW, default=NO_FLAGS, key="overflowFlags")
    res = result(INTEGERS)
    assembly = "$arg (`overflow` `` $overflow_flags^)? attr-dict `:` type($arg) `to` type($res)"

    def flags_text(self) -> str:
        return _WRAP[self.overflow_flags.value]


class SIToFP(_Cast, name="llvm.sitofp", traits=(PURE,)):
    """Signed integer to floating point."""

    llvm_instruction = "sitofp"
    arg = operand(INTEGERS)
    res = result(FLOATS)
    assembly = "$arg attr-dict `:` type($arg) `to` type($res)"


class UIToFP(_NonNegativeCast, name="llvm.uitofp", traits=(PURE,)):
    """Unsigned integer to floating point."""

    llvm_instruction = "uitofp"
    arg = operand(INTEGERS)
    non_neg = attribute(UNIT_ATTR, optional=True, key="nonNeg")
    res = result(FLOATS)
    assembly = "(`nneg` $non_neg^)? $arg attr-dict `:` type($arg) `to` type($res)"


class FPToSI(_Cast, name="llvm.fptosi", traits=(PURE,)):
    """Floating point to signed integer, rounding to zero; poison out of range."""

    llvm_instruction = "fptosi"
    arg = operand(FLOATS)
    res = result(INTEGERS)
    assembly = "$arg attr-dict `:` type($arg) `to` type($res)"


class FPToUI(_Cast, name="llvm.fptoui", traits=(PURE,)):
    """Floating point to unsigned integer, rounding to zero; poison out of range."""

    llvm_instruction = "fptoui"
    arg = operand(FLOATS)
    res = result(INTEGERS)
    assembly = "$arg attr-dict `:` type($arg) `to` type($res)"


class FPExt(_Cast, name="llvm.fpext", traits=(PURE,)):
    """A wider floating-point type, exactly."""

    llvm_instruction = "fpext"
    rule = "wider"
    arg = operand(FLOATS)
    res = result(FLOATS)
    assembly = "$arg attr-dict `:` type($arg) `to` type($res)"


class FPTrunc(_Cast, name="llvm.fptrunc", traits=(PURE,)):
    """A narrower floating-point type, to the nearest, ties to even."""

    llvm_instruction = "fptrunc"
    rule = "narrower"
    arg = operand(FLOATS)
    res = result(FLOATS)
    assembly = "$arg attr-dict `:` type($arg) `to` type($res)"
