"""arith and math: on scalars, and on tiles register by register."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tessera_tools.dialects import llvm, nv_tileas
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import DenseElementsAttr, IntegerAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import F32, F64, I32, TF32, FloatType, IntegerType, RankedTensorType, element_type
from tessera_tools.layout import transpose
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.tiles import Tile, converted, scalar_attribute

Scalar = Callable[[Emitter, Operation, Sequence[Value], Type], Value]
"""(emitter, source op, operands, result type) → result."""

# One instruction each: operands in order, same attributes where they mean the same.
_DIRECT: dict[str, Any] = {
    "arith.addi": llvm.Add, "arith.subi": llvm.Sub, "arith.muli": llvm.Mul, "arith.andi": llvm.And,
    "arith.ori": llvm.Or, "arith.xori": llvm.XOr, "arith.shli": llvm.Shl, "arith.shrsi": llvm.AShr,
    "arith.shrui": llvm.LShr,
    "arith.divsi": llvm.SDiv, "arith.divui": llvm.UDiv, "arith.remsi": llvm.SRem, "arith.remui": llvm.URem,
    "arith.addf": llvm.FAdd, "arith.subf": llvm.FSub, "arith.mulf": llvm.FMul, "arith.divf": llvm.FDiv,
    "arith.remf": llvm.FRem, "arith.negf": llvm.FNeg, "arith.select": llvm.Select,
    "arith.maxsi": llvm.SMax, "arith.minsi": llvm.SMin, "arith.maxui": llvm.UMax, "arith.minui": llvm.UMin,
    "arith.maximumf": llvm.Maximum, "arith.minimumf": llvm.Minimum, "arith.maxnumf": llvm.MaxNum,
    "arith.minnumf": llvm.MinNum, "math.fma": llvm.FMA, "math.absf": llvm.FAbs, "math.sqrt": llvm.Sqrt,
    "math.floor": llvm.FFloor, "math.ceil": llvm.FCeil,
}  # fmt: skip
_CASTS: dict[str, Any] = {
    "arith.extf": llvm.FPExt, "arith.truncf": llvm.FPTrunc, "arith.extsi": llvm.SExt, "arith.extui": llvm.ZExt,
    "arith.trunci": llvm.Trunc, "arith.sitofp": llvm.SIToFP, "arith.uitofp": llvm.UIToFP, "arith.fptosi": llvm.FPToSI,
    "arith.fptoui": llvm.FPToUI,
}  # fmt: skip
_PURE_INTEGER = (
    llvm.Add, llvm.Sub, llvm.Mul, llvm.And, llvm.Or, llvm.XOr, llvm.Shl, llvm.AShr, llvm.LShr, llvm.SExt, llvm.ZExt,
    llvm.Trunc, llvm.Select,
)  # fmt: skip
"""llvm ops on integers that are safe to hoist and share."""
TF32_DROPPED = 13
"""Low bits of an f32 that a tf32 does not have."""
TF32_BITS = 0xFFFFFFFF & -(1 << TF32_DROPPED)


def _place(e: Emitter, cls: Any, operands: Sequence[Value], type: Type) -> Value:
    """Emit an op of a class: shared and hoisted if it is safe integer arithmetic, else here."""

    def make() -> Any:
        return cls.create(operands, [type], {}, location=e.location)

    if cls in _PURE_INTEGER and isinstance(type, IntegerType):
        return e.pure((cls, type), operands, make)
    return e.emit(make()).results[0]


def _direct(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    return _place(e, _DIRECT[op.name], operands, type)


def _cast(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    source, target = element_type(op.operands[0].type), element_type(op.results[0].type)
    operand = operands[0]
    if source is TF32:
        # In memory the low bits may be anything.
        operand = _bits(e, operand, lambda bits: e.and_(bits, TF32_BITS))
    if target is TF32:
        if source is F64:
            raise op.error("rounds f64 to tf32, which takes two steps; round to f32 first")
        return (
            _round_to_tf32(e, _cast_to(e, op, operand, F32))
            if source is F32
            else _cast_to(e, op, operand, F32)
        )
    return _cast_to(e, op, operand, type)


def _cast_to(e: Emitter, op: Operation, operand: Value, type: Type) -> Value:
    return operand if operand.type is type else _place(e, _CASTS[op.name], [operand], type)


def _bits(e: Emitter, value: Value, change: Callable[[Value], Any]) -> Value:
    """An f32 whose bits are changed."""
    return e.bitcast(e.constant(change(e.bitcast(value, I32))), F32)


def _round_to_tf32(e: Emitter, value: Value) -> Value:
    """To the nearest tf32, ties to even; cvt.rn.tf32 is younger than the oldest target."""

    def rounded(bits: Value) -> Any:
        odd = e.and_(e.lshr(bits, TF32_DROPPED), 1)
        nearest = e.and_(e.add(e.add(bits, (1 << TF32_DROPPED - 1) - 1), odd), TF32_BITS)
        is_nan = e.icmp("ugt", e.and_(bits, 0x7FFFFFFF), 0x7F800000)
        return e.select(is_nan, 0x7FFFFFFF & TF32_BITS, nearest)

    return _bits(e, value, rounded)


def _bitcast(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    return e.bitcast(operands[0], type)


def _index_cast(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    assert isinstance(type, IntegerType)
    return e.resized(operands[0], type, signed=not op.name.endswith("ui"))


def _compare(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    predicate = op.attributes["predicate"]
    assert isinstance(predicate, IntegerAttr)
    if op.name == "arith.cmpi":
        return e.pure(("icmp", predicate.value), operands, lambda: llvm.ICmp(predicate, *operands, res=type))
    return e.emit(llvm.FCmp(predicate, *operands, res=type)).results[0]


def _rounded_division(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    """ceildivui: (a != 0) + (a - (a != 0)) / b; ceildivsi, floordivsi: truncate, then step where signs and rest say."""
    a, b = operands

    def make(cls: Any, *values: Value) -> Value:
        return e.emit(cls.create(values, [type], {}, location=e.location)).results[0]

    def compare(predicate: str, left: Value, right: Value) -> Value:
        return e.icmp(predicate, left, right, type)

    zero = e.constant(0, type)
    if op.name == "arith.ceildivui":
        nonzero = e.emit(llvm.ZExt(compare("ne", a, zero), res=type)).results[0]
        return make(llvm.Add, nonzero, make(llvm.UDiv, make(llvm.Sub, a, nonzero), b))
    quotient = make(llvm.SDiv, a, b)
    remainder = make(llvm.Sub, a, make(llvm.Mul, quotient, b))
    inexact = compare("ne", remainder, zero)
    opposite = compare("slt", make(llvm.XOr, a, b), zero)
    if op.name == "arith.floordivsi":
        step = e.emit(llvm.And(inexact, opposite)).results[0]
        return make(llvm.Sub, quotient, e.emit(llvm.ZExt(step, res=type)).results[0])
    same = e.emit(llvm.XOr(opposite, e.constant(1, opposite.type))).results[0]
    step = e.emit(llvm.And(inexact, same)).results[0]
    return make(llvm.Add, quotient, e.emit(llvm.ZExt(step, res=type)).results[0])


SCALARS: dict[str, Scalar] = {
    **dict.fromkeys(_DIRECT, _direct),
    **dict.fromkeys(_CASTS, _cast),
    "arith.bitcast": _bitcast,
    "arith.index_cast": _index_cast,
    "arith.index_castui": _index_cast,
    "arith.cmpi": _compare,
    "arith.cmpf": _compare,
    "arith.ceildivui": _rounded_division,
    "arith.ceildivsi": _rounded_division,
    "arith.floordivsi": _rounded_division,
}
"""How each op works on scalars; on tiles it is done register by register."""


def _check_elements(op: Operation) -> None:
    """Formats that are moved but not computed with: tf32, which only casts to and from, and floats of 8 bits."""
    if op.name == "arith.select":
        return
    for value in (*op.operands, *op.results):
        element = element_type(value.type)
        cast = element is TF32 and op.name in ("arith.extf", "arith.truncf")
        if isinstance(element, FloatType) and (element is TF32 or element.width < 16) and not cast:
            raise op.error(
                f"computes with {element}, which has no arithmetic in this version; f16, bf16, f32 and f64 have"
            )


@lowers(*SCALARS)
def elementwise(low: Lowering, op: Operation) -> None:
    """Apply the scalar form, once or once a register."""
    e, scalar = low.e, SCALARS[op.name]
    result = op.results[0]
    mode = op.attributes.get("roundingmode")
    if mode is not None:
        raise op.error(
            f"with rounding mode {mode} has no lowering in this version; leave the rounding mode away"
        )
    _check_elements(op)
    if not isinstance(result.type, RankedTensorType):
        low.define(result, scalar(e, op, [low.scalar(v) for v in op.operands], converted(result.type)))
        return
    columns = [
        low.tile(v).elements(e) if isinstance(v.type, RankedTensorType) else [low.scalar(v)]
        for v in op.operands
    ]
    count = max(map(len, columns))
    element = converted(result.type.element)
    made = [
        scalar(e, op, [column[i] if len(column) > 1 else column[0] for column in columns], element)
        for i in range(count)
    ]
    low.define(result, Tile(result.type, made))


@lowers("arith.constant")
def constant(low: Lowering, op: Any) -> None:
    """A scalar, or a tile of equal elements."""
    e, result = low.e, op.results[0]
    value: Attribute = op.value
    if not isinstance(result.type, RankedTensorType):
        low.define(result, e.constant_of(scalar_attribute(value), converted(result.type)))
        return
    assert isinstance(value, DenseElementsAttr)
    if not value.is_splat:
        raise op.error(
            "is not a splat: only constant tiles of equal elements have a lowering in this version"
        )
    element = e.constant_of(scalar_attribute(value.attributes()[0]), converted(result.type.element))
    low.define(result, Tile.splat(result.type, element))


@lowers("nv_tileaa.splat")
def splat(low: Lowering, op: Any) -> None:
    """The scalar in every register."""
    low.define(op.res, Tile.splat(op.res.type, low.scalar(op.source)))


@lowers("nv_tileaa.permute")
def permute(low: Lowering, op: Any) -> None:
    """A renaming: the layouts agree register by register."""
    source, res = nv_tileas.layout_of(op.source.type), nv_tileas.layout_of(op.res.type)
    if transpose(source, op.permutation.values) != res:
        raise op.error(
            "has layouts that do not agree: the result's must be the source's with its axes permuted"
        )
    low.define(op.res, low.tile(op.source).renamed(op.res.type))


@lowers("nv_tileaa.assume")
def assume(low: Lowering, op: Any) -> None:
    """The facts have been used; the value stays."""
    low.define(op.res, low.values[op.source])


@lowers("nv_tileaa.create_mem_token", "nv_tileaa.join_mem_tokens")
def token(low: Lowering, op: Operation) -> None:
    """Memory order is the order of the code."""
    low.define(op.results[0], None)


@lowers("nv_tileaa.get_program_id", "nv_tileaa.get_num_programs")
def grid(low: Lowering, op: Any) -> None:
    """%ctaid and %nctaid."""
    register = "ctaid" if op.name.endswith("program_id") else "nctaid"
    low.define(op.res, low.e.special_register(f"{register}.{'xyz'[op.axis.value]}"))
