"""LLVM's other intrinsics as ops: memory, vectors, hints, overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.llvm.aliasing import AliasScopeAttr
from tessera_tools.dialects.llvm.attributes import ACCESS_GROUPS, ALIAS_SCOPES, TBAA_TAGS
from tessera_tools.dialects.llvm.base import (
    ANY,
    FLOATS,
    I1_CONSTRAINT,
    INTEGER,
    INTEGERS,
    POINTER,
    VECTOR,
    Emitter,
    fastmath,
    mangled,
)
from tessera_tools.dialects.llvm.calls import NO_BUNDLES, bundles, read_bundles, verify_bundles, write_bundles
from tessera_tools.dialects.llvm.elementwise import CALL_FORMAT, Intrinsic
from tessera_tools.dialects.llvm.types import struct
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import quote
from tessera_tools.ir.types import I1, VectorType, with_element
from tessera_tools.opdef import (
    ARRAY_ATTR,
    BOOL_ATTR,
    F64_ATTR,
    I32_ARRAY,
    I32_ATTR,
    PURE,
    READ_WRITE,
    WRITE,
    CustomDirective,
    attribute,
    derived,
    exactly,
    of_class,
    operand,
    result,
    same_as,
    variadic_operand,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class PowI(Intrinsic, name="llvm.intr.powi", traits=(PURE,)):
    """A power with an integer exponent."""

    intrinsic = "llvm.powi"
    overloads = ("0", "1")
    val = operand(FLOATS)
    power = operand(INTEGER)
    fastmath_flags = fastmath()
    res = result(same_as("val"))
    assembly = CALL_FORMAT


class LoadExp(Intrinsic, name="llvm.intr.ldexp", traits=(PURE,)):
    """`val` times two to the power of an integer."""

    intrinsic = "llvm.ldexp"
    overloads = ("0", "1")
    val = operand(FLOATS)
    power = operand(INTEGERS)
    fastmath_flags = fastmath()
    res = result(same_as("val"))
    assembly = CALL_FORMAT


class _CountZeros(Intrinsic):
    immediates = ("is_zero_poison",)
    arg = operand(INTEGERS)
    is_zero_poison = attribute(BOOL_ATTR)
    res = result(same_as("arg"))


class CountLeadingZeros(_CountZeros, name="llvm.intr.ctlz", traits=(PURE,)):
    """Zeros above the highest one."""

    intrinsic = "llvm.ctlz"


class CountTrailingZeros(_CountZeros, name="llvm.intr.cttz", traits=(PURE,)):
    """Zeros below the lowest one."""

    intrinsic = "llvm.cttz"


class Abs(Intrinsic, name="llvm.intr.abs", traits=(PURE,)):
    """Absolute value."""

    intrinsic = "llvm.abs"
    immediates = ("is_int_min_poison",)
    arg = operand(INTEGERS)
    is_int_min_poison = attribute(BOOL_ATTR)
    res = result(same_as("arg"))


class IsFPClass(Intrinsic, name="llvm.intr.is.fpclass", traits=(PURE,)):
    """Whether the value is of one of the classes in the mask `bit`."""

    intrinsic = "llvm.is.fpclass"
    immediates = ("bit",)
    arg = operand(FLOATS)
    bit = attribute(I32_ATTR)
    res = result(derived("i1 in the shape of the operand", lambda t: with_element(t, I1), "arg"))


class IsConstant(Intrinsic, name="llvm.intr.is.constant", traits=(PURE,)):
    """Whether the compiler knows the value."""

    intrinsic = "llvm.is.constant"
    val = operand(ANY)
    res = result(exactly(I1))


class Expect(Intrinsic, name="llvm.intr.expect", traits=(PURE,)):
    """The value, which most often is `expected`."""

    intrinsic = "llvm.expect"
    val = operand(INTEGER)
    expected = operand(same_as("val"))
    res = result(same_as("val"))
    assembly = "$val `,` $expected attr-dict `:` type($val)"


class ExpectWithProbability(Intrinsic, name="llvm.intr.expect.with.probability", traits=(PURE,)):
    """The value, which is `expected` with probability `prob`."""

    intrinsic = "llvm.expect.with.probability"
    val = operand(INTEGER)
    expected = operand(same_as("val"))
    prob = attribute(F64_ATTR)
    res = result(same_as("val"))
    assembly = "$val `,` $expected `,` $prob attr-dict `:` type($val)"

    def llvm_ir(self, e: Emitter) -> None:
        arguments = [e.operand(v) for v in self.operands]
        arguments.append(f"double {e.constant_text(self.prob, self.prob.type, self)}")
        type = self.results[0].type
        e.call(self, f"{self.intrinsic}.{mangled(type)}", e.type(type), arguments)


class BundlesSyntax(CustomDirective, name="AssumeBundles"):
    """`["align"(%p, %n : !llvm.ptr, i32), "cold"()]`, or nothing."""

    grammar = """
    custom: "[" custom_bundle ("," custom_bundle)* "]" -> present
          | -> absent
    custom_bundle: STRING "(" values ":" types ")" -> filled
                 | STRING "(" ")" -> empty
    """

    def read(self, state: OpState, node: Node) -> None:
        read_bundles(state, node)

    def write(self, p: Printer, op: Assume) -> None:
        write_bundles(p, op)


class Assume(Intrinsic, name="llvm.intr.assume", traits=(WRITE,)):
    """States that the condition is true."""

    intrinsic = "llvm.assume"
    cond = operand(I1_CONSTRAINT)
    op_bundle_operands = variadic_operand(ANY)
    op_bundle_sizes = attribute(I32_ARRAY, default=NO_BUNDLES)
    op_bundle_tags = attribute(ARRAY_ATTR, optional=True)
    assembly = (
        "$cond custom<AssumeBundles>($op_bundle_operands, $op_bundle_sizes, $op_bundle_tags) "
        "`:` type($cond) attr-dict"
    )

    def llvm_ir(self, e: Emitter) -> None:
        found = bundles(self)
        parts = ", ".join(f"{quote(tag)}({', '.join(map(e.operand, values))})" for tag, values in found)
        e.call(
            self,
            self.intrinsic,
            "void",
            [e.operand(self.operand(0))],
            trailer=f" [ {parts} ]" if found else "",
        )

    def verify_op(self) -> None:
        verify_bundles(self)


class _MemoryTransfer(Intrinsic):
    overloads = ("0", "1", "2")
    immediates = ("isVolatile",)
    dst = operand(POINTER)
    src = operand(POINTER)
    len_ = operand(INTEGER)
    is_volatile = attribute(BOOL_ATTR, key="isVolatile")
    access_groups = attribute(ACCESS_GROUPS, optional=True)
    alias_scopes = attribute(ALIAS_SCOPES, optional=True)
    noalias_scopes = attribute(ALIAS_SCOPES, optional=True)
    tbaa = attribute(TBAA_TAGS, optional=True)
    arg_attrs = attribute(ARRAY_ATTR, optional=True)
    res_attrs = attribute(ARRAY_ATTR, optional=True)


class Memcpy(_MemoryTransfer, name="llvm.intr.memcpy", traits=(READ_WRITE,)):
    """Copy `len` bytes between regions that do not overlap."""

    intrinsic = "llvm.memcpy"


class Memmove(_MemoryTransfer, name="llvm.intr.memmove", traits=(READ_WRITE,)):
    """Copy `len` bytes."""

    intrinsic = "llvm.memmove"


class Memset(Intrinsic, name="llvm.intr.memset", traits=(WRITE,)):
    """Set `len` bytes to `val`."""

    intrinsic = "llvm.memset"
    overloads = ("0", "2")
    immediates = ("isVolatile",)
    dst = operand(POINTER)
    val = operand(INTEGER)
    len_ = operand(INTEGER)
    is_volatile = attribute(BOOL_ATTR, key="isVolatile")
    access_groups = attribute(ACCESS_GROUPS, optional=True)
    alias_scopes = attribute(ALIAS_SCOPES, optional=True)
    noalias_scopes = attribute(ALIAS_SCOPES, optional=True)
    tbaa = attribute(TBAA_TAGS, optional=True)
    arg_attrs = attribute(ARRAY_ATTR, optional=True)
    res_attrs = attribute(ARRAY_ATTR, optional=True)


class NoAliasScopeDecl(Intrinsic, name="llvm.intr.experimental.noalias.scope.decl", traits=(READ_WRITE,)):
    """Where an alias scope begins: each execution of the op is another scope."""

    scope = attribute(of_class(AliasScopeAttr, summary="LLVM dialect alias scope"))
    assembly = "$scope attr-dict"

    def llvm_ir(self, e: Emitter) -> None:
        scopes = e.metadata(f"!{{{e.node(self.scope)}}}")
        e.call(self, "llvm.experimental.noalias.scope.decl", "void", [f"metadata {scopes}"])


class Prefetch(Intrinsic, name="llvm.intr.prefetch", traits=(READ_WRITE,)):
    """Bring a cache line nearer."""

    intrinsic = "llvm.prefetch"
    immediates = ("rw", "hint", "cache")
    addr = operand(POINTER)
    rw = attribute(I32_ATTR)
    hint = attribute(I32_ATTR)
    cache = attribute(I32_ATTR)


class _WithOverflow(Intrinsic):
    lhs = operand(INTEGERS)
    rhs = operand(same_as("lhs"))
    res = result(
        derived("struct of the operands' type and i1", lambda t: struct(t, with_element(t, I1)), "lhs")
    )


class SAddWithOverflow(_WithOverflow, name="llvm.intr.sadd.with.overflow", traits=(PURE,)):
    """Signed addition, and whether it overflowed."""

    intrinsic = "llvm.sadd.with.overflow"


class UAddWithOverflow(_WithOverflow, name="llvm.intr.uadd.with.overflow", traits=(PURE,)):
    """Unsigned addition, and whether it overflowed."""

    intrinsic = "llvm.uadd.with.overflow"


class SSubWithOverflow(_WithOverflow, name="llvm.intr.ssub.with.overflow", traits=(PURE,)):
    """Signed subtraction, and whether it overflowed."""

    intrinsic = "llvm.ssub.with.overflow"


class USubWithOverflow(_WithOverflow, name="llvm.intr.usub.with.overflow", traits=(PURE,)):
    """Unsigned subtraction, and whether it overflowed."""

    intrinsic = "llvm.usub.with.overflow"


class SMulWithOverflow(_WithOverflow, name="llvm.intr.smul.with.overflow", traits=(PURE,)):
    """Signed multiplication, and whether it overflowed."""

    intrinsic = "llvm.smul.with.overflow"


class UMulWithOverflow(_WithOverflow, name="llvm.intr.umul.with.overflow", traits=(PURE,)):
    """Unsigned multiplication, and whether it overflowed."""

    intrinsic = "llvm.umul.with.overflow"


def _element(vector: VectorType) -> Type | None:
    return vector.element if isinstance(vector, VectorType) else None


class _IntReduction(Intrinsic):
    arg = operand(VECTOR)
    res = result(derived("element type of the vector", _element, "arg"))


class _FloatReduction(Intrinsic):
    arg = operand(VECTOR)
    fastmath_flags = fastmath()
    res = result(derived("element type of the vector", _element, "arg"))
    assembly = CALL_FORMAT


class _OrderedReduction(Intrinsic):
    overloads = ("1",)
    start_value = operand(same_as("res"))
    arg = operand(VECTOR)
    fastmath_flags = fastmath()
    res = result(derived("element type of the vector", _element, "arg"))


class VectorReduceAdd(_IntReduction, name="llvm.intr.vector.reduce.add", traits=(PURE,)):
    """The sum."""

    intrinsic = "llvm.vector.reduce.add"


class VectorReduceMul(_IntReduction, name="llvm.intr.vector.reduce.mul", traits=(PURE,)):
    """The product."""

    intrinsic = "llvm.vector.reduce.mul"


class VectorReduceAnd(_IntReduction, name="llvm.intr.vector.reduce.and", traits=(PURE,)):
    """Bitwise and of all elements."""

    intrinsic = "llvm.vector.reduce.and"


class VectorReduceOr(_IntReduction, name="llvm.intr.vector.reduce.or", traits=(PURE,)):
    """Bitwise or of all elements."""

    intrinsic = "llvm.vector.reduce.or"


class VectorReduceXor(_IntReduction, name="llvm.intr.vector.reduce.xor", traits=(PURE,)):
    """Bitwise exclusive or of all elements."""

    intrinsic = "llvm.vector.reduce.xor"


class VectorReduceSMax(_IntReduction, name="llvm.intr.vector.reduce.smax", traits=(PURE,)):
    """The largest, signed."""

    intrinsic = "llvm.vector.reduce.smax"


class VectorReduceSMin(_IntReduction, name="llvm.intr.vector.reduce.smin", traits=(PURE,)):
    """The smallest, signed."""

    intrinsic = "llvm.vector.reduce.smin"


class VectorReduceUMax(_IntReduction, name="llvm.intr.vector.reduce.umax", traits=(PURE,)):
    """The largest, unsigned."""

    intrinsic = "llvm.vector.reduce.umax"


class VectorReduceUMin(_IntReduction, name="llvm.intr.vector.reduce.umin", traits=(PURE,)):
    """The smallest, unsigned."""

    intrinsic = "llvm.vector.reduce.umin"


class VectorReduceFMax(_FloatReduction, name="llvm.intr.vector.reduce.fmax", traits=(PURE,)):
    """The largest number."""

    intrinsic = "llvm.vector.reduce.fmax"


class VectorReduceFMin(_FloatReduction, name="llvm.intr.vector.reduce.fmin", traits=(PURE,)):
    """The smallest number."""

    intrinsic = "llvm.vector.reduce.fmin"


class VectorReduceFMaximum(_FloatReduction, name="llvm.intr.vector.reduce.fmaximum", traits=(PURE,)):
    """The largest; NaN if any is."""

    intrinsic = "llvm.vector.reduce.fmaximum"


class VectorReduceFMinimum(_FloatReduction, name="llvm.intr.vector.reduce.fminimum", traits=(PURE,)):
    """The smallest; NaN if any is."""

    intrinsic = "llvm.vector.reduce.fminimum"


class VectorReduceFAdd(_OrderedReduction, name="llvm.intr.vector.reduce.fadd", traits=(PURE,)):
    """The sum, in order unless `reassoc`."""

    intrinsic = "llvm.vector.reduce.fadd"


class VectorReduceFMul(_OrderedReduction, name="llvm.intr.vector.reduce.fmul", traits=(PURE,)):
    """The product, in order unless `reassoc`."""

    intrinsic = "llvm.vector.reduce.fmul"


class Trap(Intrinsic, name="llvm.intr.trap", traits=(READ_WRITE,)):
    """Stop the program."""

    intrinsic = "llvm.trap"
    overloads = ()
    assembly = "attr-dict"


class DebugTrap(Intrinsic, name="llvm.intr.debugtrap", traits=(READ_WRITE,)):
    """Stop in the debugger."""

    intrinsic = "llvm.debugtrap"
    overloads = ()
    assembly = "attr-dict"


class LifetimeStart(Intrinsic, name="llvm.intr.lifetime.start", traits=(WRITE,)):
    """From here on the stack object may be used."""

    intrinsic = "llvm.lifetime.start"
    ptr = operand(POINTER)
    assembly = "$ptr attr-dict `:` type($ptr)"


class LifetimeEnd(Intrinsic, name="llvm.intr.lifetime.end", traits=(WRITE,)):
    """From here on the stack object is not used."""

    intrinsic = "llvm.lifetime.end"
    ptr = operand(POINTER)
    assembly = "$ptr attr-dict `:` type($ptr)"


class StackSave(Intrinsic, name="llvm.intr.stacksave", traits=(READ_WRITE,)):
    """The stack's state."""

    intrinsic = "llvm.stacksave"
    overloads = ("res",)
    res = result(POINTER)
    assembly = "attr-dict `:` type($res)"


class StackRestore(Intrinsic, name="llvm.intr.stackrestore", traits=(READ_WRITE,)):
    """Back to a saved state of the stack."""

    intrinsic = "llvm.stackrestore"
    ptr = operand(POINTER)
    assembly = "$ptr attr-dict `:` type($ptr)"
