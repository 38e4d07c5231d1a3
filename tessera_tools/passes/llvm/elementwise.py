"""arith and math: on scalars, and on tiles register by register."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.dialects import llvm, nv_tileas
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import TF32, FloatType, RankedTensorType, element_type
from tessera_tools.layout import transpose
from tessera_tools.passes.llvm.casts import CASTS
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.instructions import Scalar, place
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.tiles import Tile, converted

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


def _direct(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    return place(e, _DIRECT[op.name], operands, type)


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
    **CASTS,
    "arith.cmpi": _compare,
    "arith.cmpf": _compare,
    "arith.ceildivui": _rounded_division,
    "arith.ceildivsi": _rounded_division,
    "arith.floordivsi": _rounded_division,
}
"""How each op works on scalars; on tiles it is done register by register."""


def _check_elements(op: Operation) -> None:
    """Formats that are moved and cast but not computed with: tf32, and floats of 8 bits and fewer."""
    if op.name == "arith.select" or op.name in CASTS:
        return
    for value in (*op.operands, *op.results):
        element = element_type(value.type)
        if isinstance(element, FloatType) and (element is TF32 or element.width < 16):
            raise op.error(
                f"computes with {element}, which has no arithmetic in this version; f16, bf16, f32 and f64 have"
            )


@lowers(*SCALARS)
def elementwise(low: Lowering, op: Operation) -> None:
    """Apply the scalar form, once or once a register."""
    e, scalar = low.e, SCALARS[op.name]
    result = op.results[0]
    mode = op.attributes.get("roundingmode")
    if mode is not None and op.name not in CASTS:
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
