"""arith and math: on scalars, and on tiles register by register."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tessera_tools.dialects import llvm
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import DenseElementsAttr, IntegerAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import FloatType, IntegerType, RankedTensorType
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.lowering import Lowering, converted, lowers
from tessera_tools.passes.llvm.tiles import Tile

Scalar = Callable[[Emitter, Operation, Sequence[Value], Type], Value]
"""(emitter, source op, operands, result type) → result."""

# One instruction each: operands in order, same attributes where they mean the same.
_DIRECT: dict[str, Any] = {
    "arith.addi": llvm.Add, "arith.subi": llvm.Sub, "arith.muli": llvm.Mul, "arith.andi": llvm.And, "arith.ori": llvm.Or,
    "arith.xori": llvm.XOr, "arith.shli": llvm.Shl, "arith.shrsi": llvm.AShr, "arith.shrui": llvm.LShr,
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
    "arith.fptoui": llvm.FPToUI, "arith.bitcast": llvm.Bitcast,
}  # fmt: skip
_PURE_INTEGER = (
    "add",
    "sub",
    "mul",
    "and",
    "or",
    "xor",
    "shl",
    "ashr",
    "lshr",
    "icmp",
    "sext",
    "zext",
    "trunc",
    "select",
)
"""llvm ops on integers that are safe to hoist and share."""


def _place(e: Emitter, op: Any) -> Value:
    """Emit an op: shared and hoisted if it is safe integer arithmetic, else here."""
    if op.name.partition(".")[2] in _PURE_INTEGER and isinstance(op.results[0].type, IntegerType):
        key = (type(op), op.results[0].type, *sorted((k, id(v)) for k, v in op.attributes.items()))
        return e.pure(key, op.operands, lambda: op)
    return e.emit(op).results[0]


def _direct(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    return _place(e, _DIRECT[op.name].create(operands, [type], {}, location=e.location))


def _cast(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    if operands[0].type is type:
        return operands[0]
    return _place(e, _CASTS[op.name].create(operands, [type], {}, location=e.location))


def _index_cast(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    source = operands[0].type
    assert isinstance(source, IntegerType) and isinstance(type, IntegerType)
    if source is type:
        return operands[0]
    wider = llvm.ZExt if op.name.endswith("ui") else llvm.SExt
    cls: Any = wider if type.width > source.width else llvm.Trunc
    return _place(e, cls(operands[0], res=type, location=e.location))


def _compare(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    predicate = op.attributes["predicate"]
    assert isinstance(predicate, IntegerAttr)
    cls: Any = llvm.ICmp if op.name == "arith.cmpi" else llvm.FCmp
    return _place(e, cls(predicate, *operands, res=type, location=e.location))


def _rounded_division(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    """ceildivui: (a != 0) + (a - (a != 0)) / b; ceildivsi and floordivsi: truncate, then step where signs and remainder say."""
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
    "arith.index_cast": _index_cast,
    "arith.index_castui": _index_cast,
    "arith.cmpi": _compare,
    "arith.cmpf": _compare,
    "arith.ceildivui": _rounded_division,
    "arith.ceildivsi": _rounded_division,
    "arith.floordivsi": _rounded_division,
}
"""How each op works on scalars; on tiles it is done register by register."""


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
    if not isinstance(result.type, RankedTensorType):
        low.define(result, scalar(e, op, [low.scalar(v) for v in op.operands], converted(result.type)))
        return
    columns = [
        low.tile(v).elements(e) if isinstance(v.type, RankedTensorType) else [low.scalar(v)]
        for v in op.operands
    ]
    count = max(map(len, columns))
    element = result.type.element
    made = [
        scalar(e, op, [column[i] if len(column) > 1 else column[0] for column in columns], element)
        for i in range(count)
    ]
    low.define(result, Tile(result.type, made))


@lowers("arith.constant")
def constant(low: Lowering, op: Any) -> None:
    """A scalar constant, a splat, or elements by register where the layout says them without the thread's help."""
    e, result = low.e, op.results[0]
    value: Attribute = op.value
    if not isinstance(result.type, RankedTensorType):
        type = converted(result.type)
        attribute = IntegerAttr(value.value, type) if isinstance(value, IntegerAttr) else value
        low.define(result, e.constant_of(attribute, type))
        return
    assert isinstance(value, DenseElementsAttr)
    element = result.type.element
    if not isinstance(element, IntegerType | FloatType):
        raise op.error(f"has elements of type {element}, which have no constants in llvm")
    tile = Tile(result.type, [])
    if not value.is_splat:
        raise op.error(
            "is not a splat: only constant tiles of equal elements have a lowering in this version"
        )
    tile._elements = [e.constant_of(value.attributes()[0], element)] * tile.count
    low.define(result, tile)


@lowers("nv_tileaa.splat")
def splat(low: Lowering, op: Any) -> None:
    """The scalar in every register."""
    tile = Tile(op.res.type, [])
    tile._elements = [low.scalar(op.source)] * tile.count
    low.define(op.res, tile)


@lowers("nv_tileaa.permute")
def permute(low: Lowering, op: Any) -> None:
    """A renaming: the layouts agree register by register."""
    tile = low.tile(op.source)
    low.define(op.res, Tile(op.res.type, tile._elements, tile._words))


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
