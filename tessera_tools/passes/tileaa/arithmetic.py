"""Part A of the conversion: elementwise arithmetic; tiles of rank 0 are scalars.

The ops of `arith` and `math` support scalars and tensors, so one handler lowers both.  Directed rounding,
approximations and flushing of subnormal numbers, which they cannot represent, are ops of `nv_tileaa`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tessera_tools.dialects import arith
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.dialects.arith.attributes import IntegerOverflowFlagsAttr
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import UNIT
from tessera_tools.ir.core import Operation
from tessera_tools.passes.tileaa.constants import splat
from tessera_tools.passes.tileaa.lowering import Handler, Lowering, handles

_OVERFLOW = {"no_signed_wrap": "nsw", "no_unsigned_wrap": "nuw", "no_wrap": "nsw, nuw"}
_WORDS = {
    "equal": "eq",
    "not_equal": "ne",
    "less_than": "lt",
    "less_than_or_equal": "le",
    "greater_than": "gt",
    "greater_than_or_equal": "ge",
}


# -- handlers of several ops


def _plain(name: str) -> Handler:
    """The op with the same operands."""

    def handler(op: Operation, to: Lowering) -> None:
        to.replace(op, to.emit_named(op, name, *to.values(op.operands)))

    return handler


def _rounded(plain: str, default: str = "nearest_even") -> Handler:
    """As `_plain` if the mode is `default` and subnormal numbers are kept, otherwise the op of nv_tileaa."""
    own = "nv_tileaa." + plain.partition(".")[2]

    def handler(op: Any, to: Lowering) -> None:
        mode = op.attributes.get("rounding_mode")
        word = mode.value if mode is not None else default
        name, attributes = plain, dict[str, Attribute]()
        if op.attributes.get("flush_to_zero") is not None:
            name, attributes["flush_to_zero"] = own, UNIT
        if word != default:
            name, attributes["rounding"] = own, aa.RoundingAttr(word)
        to.replace(op, to.emit_named(op, name, *to.values(op.operands), **attributes))

    return handler


def _extremum(number: str, nan: str, own: str) -> Handler:
    def handler(op: Any, to: Lowering) -> None:
        name, attributes = (nan if op.propagate_nan is not None else number), dict[str, Attribute]()
        if op.flush_to_zero is not None:
            name, attributes["flush_to_zero"] = own, UNIT
            if op.propagate_nan is not None:
                attributes["propagate_nan"] = UNIT
        to.replace(op, to.emit_named(op, name, *to.values(op.operands), **attributes))

    return handler


def overflow_flags(op: Any) -> IntegerOverflowFlagsAttr | None:
    """The overflow flags of arith for an integer op."""
    word = _OVERFLOW.get(op.overflow.value)
    return IntegerOverflowFlagsAttr(word) if word is not None else None


def _wrapping(kind: Callable[..., Any]) -> Handler:
    def handler(op: Operation, to: Lowering) -> None:
        to.replace(op, to.emit(kind(*to.values(op.operands), overflow_flags=overflow_flags(op))).result)

    return handler


def is_signed(op: Any) -> bool:
    """True if an integer op reads its operands as signed."""
    return op.signedness.value == "signed"


def _signed(stem: str) -> Handler:
    def handler(op: Operation, to: Lowering) -> None:
        to.replace(op, to.emit_named(op, f"{stem}{'si' if is_signed(op) else 'ui'}", *to.values(op.operands)))

    return handler


# -- single ops


@handles(ct.DivI)
def _divide(op: ct.DivI, to: Lowering) -> None:
    stem = {"zero": "div", "negative_inf": "floordiv", "positive_inf": "ceildiv"}[op.rounding.value]
    _signed(f"arith.{stem}")(op, to)


@handles(ct.NegI)
def _negate(op: ct.NegI, to: Lowering) -> None:
    value = to[op.source]
    zero = splat([0], value.type, to)
    to.replace(op, to.emit(arith.SubI(zero, value, overflow_flags=overflow_flags(op))).result)


@handles(ct.MulhiI)
def _high_product(op: ct.MulhiI, to: Lowering) -> None:
    to.replace(op, to.emit(arith.MulUIExtended(to[op.x], to[op.y])).results[1])


@handles(ct.CmpF)
def _compare_floats(op: ct.CmpF, to: Lowering) -> None:
    letter = "o" if op.comparison_ordering.value == "ordered" else "u"
    predicate = letter + _WORDS[op.comparison_predicate.value]
    to.replace(op, to.emit(arith.CmpF.of(predicate, to[op.lhs], to[op.rhs])).result)


@handles(ct.CmpI)
def _compare_integers(op: ct.CmpI, to: Lowering) -> None:
    word = _WORDS[op.comparison_predicate.value]
    if word not in ("eq", "ne"):
        word = ("s" if is_signed(op) else "u") + word
    to.replace(op, to.emit(arith.CmpI.of(word, to[op.lhs], to[op.rhs])).result)


for _kind, _handler in {
    ct.AddF: _rounded("arith.addf"),
    ct.SubF: _rounded("arith.subf"),
    ct.MulF: _rounded("arith.mulf"),
    ct.DivF: _rounded("arith.divf"),
    ct.Fma: _rounded("math.fma"),
    ct.Sqrt: _rounded("math.sqrt"),
    ct.Exp: _rounded("math.exp", "full"),
    ct.TanH: _rounded("math.tanh", "full"),
    ct.Exp2: _rounded("math.exp2"),
    ct.Rsqrt: _rounded("math.rsqrt"),
    ct.RemF: _plain("arith.remf"),
    ct.MaxF: _extremum("arith.maxnumf", "arith.maximumf", "nv_tileaa.maxf"),
    ct.MinF: _extremum("arith.minnumf", "arith.minimumf", "nv_tileaa.minf"),
    ct.NegF: _plain("arith.negf"),
    ct.AbsF: _plain("math.absf"),
    ct.Ceil: _plain("math.ceil"),
    ct.Floor: _plain("math.floor"),
    ct.Sin: _plain("math.sin"),
    ct.Cos: _plain("math.cos"),
    ct.Tan: _plain("math.tan"),
    ct.SinH: _plain("math.sinh"),
    ct.CosH: _plain("math.cosh"),
    ct.Log: _plain("math.log"),
    ct.Log2: _plain("math.log2"),
    ct.FPowF: _plain("math.powf"),
    ct.Pow: _plain("math.powf"),
    ct.FPowI: _plain("math.fpowi"),
    ct.Atan2: _plain("math.atan2"),
    ct.AddI: _wrapping(arith.AddI),
    ct.SubI: _wrapping(arith.SubI),
    ct.MulI: _wrapping(arith.MulI),
    ct.ShLI: _wrapping(arith.ShLI),
    ct.AbsI: _plain("math.absi"),
    ct.RemI: _signed("arith.rem"),
    ct.ShRI: _signed("arith.shr"),
    ct.MaxI: _signed("arith.max"),
    ct.MinI: _signed("arith.min"),
    ct.AndI: _plain("arith.andi"),
    ct.OrI: _plain("arith.ori"),
    ct.XOrI: _plain("arith.xori"),
    ct.Select: _plain("arith.select"),
}.items():
    handles(_kind)(_handler)
