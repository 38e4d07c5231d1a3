"""arith and math: on scalars, and on tiles register by register."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import llvm
from tessera_tools.dialects.llvm.attributes import FastmathFlagsAttr
from tessera_tools.dialects.nv_tileas import layout_of
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import FALSE, IntegerAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import (
    BF16,
    F16,
    I8,
    I32,
    TF32,
    FloatType,
    IntegerType,
    RankedTensorType,
    VectorType,
    element_type,
)
from tessera_tools.opdef import Op
from tessera_tools.passes.llvm.casts import CASTS
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.hardware_casts import hardware_cast
from tessera_tools.passes.llvm.instructions import Scalar, fastmath_of, intrinsic, place
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.math import MATH
from tessera_tools.passes.llvm.math.numbers import Number
from tessera_tools.passes.llvm.rare_paths import RARE_PATHS
from tessera_tools.passes.llvm.rounding import ROUNDED
from tessera_tools.passes.llvm.tiles import Tile, converted

# One instruction each: operands in order, the same attributes if they have the same meaning.
_DIRECT: dict[str, type[Op]] = {
    "arith.addi": llvm.Add, "arith.subi": llvm.Sub, "arith.muli": llvm.Mul, "arith.andi": llvm.And,
    "arith.ori": llvm.Or, "arith.xori": llvm.XOr, "arith.shli": llvm.Shl, "arith.shrsi": llvm.AShr,
    "arith.shrui": llvm.LShr,
    "arith.divsi": llvm.SDiv, "arith.divui": llvm.UDiv, "arith.remsi": llvm.SRem, "arith.remui": llvm.URem,
    "arith.addf": llvm.FAdd, "arith.subf": llvm.FSub, "arith.mulf": llvm.FMul, "arith.divf": llvm.FDiv,
    "arith.negf": llvm.FNeg, "arith.select": llvm.Select,
    "arith.maxsi": llvm.SMax, "arith.minsi": llvm.SMin, "arith.maxui": llvm.UMax, "arith.minui": llvm.UMin,
    "arith.maximumf": llvm.Maximum, "arith.minimumf": llvm.Minimum, "math.fma": llvm.FMA,
    "math.absf": llvm.FAbs, "math.sqrt": llvm.Sqrt, "math.floor": llvm.FFloor, "math.ceil": llvm.FCeil,
}  # fmt: skip


def _direct(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    return place(e, _DIRECT[op.name], operands, type, fastmath_of(op))


def _compare(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    predicate = op.attributes["predicate"]
    assert isinstance(predicate, IntegerAttr)
    if op.name == "arith.cmpi":
        return e.pure(("icmp", predicate.value), operands, lambda: llvm.ICmp(predicate, *operands, res=type))
    compare = llvm.FCmp(predicate, *operands, res=type)
    if flags := fastmath_of(op):
        compare.attributes["fastmathFlags"] = FastmathFlagsAttr.of(*flags)
    return e.emit(compare).results[0]


def _number_extremum(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    """IEEE 754-2019's maximumNumber and minimumNumber: -0 is less than +0, which llvm.maxnum does not guarantee."""
    name = "llvm.maximumnum" if op.name == "arith.maxnumf" else "llvm.minimumnum"
    return intrinsic(e, name, operands, type, fastmath_of(op))


def _absolute(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    """math.absi; the least number is unchanged."""
    (value,) = operands
    return e.pure((llvm.Abs, type), operands, lambda: llvm.Abs(value, is_int_min_poison=FALSE))


def _rounded_division(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    """ceildivui: (a != 0) + (a - (a != 0)) / b; ceildivsi, floordivsi: truncate, then adjust by signs and remainder.

    A division is not hoisted, because it is undefined for some operands.
    """
    assert isinstance(type, IntegerType)
    signed = op.name != "arith.ceildivui"
    # The adjustments below are numbers: an i1 is too narrow for them.
    width = type if type.width > 1 else I8
    a, b = (Number(e, value).resized(width, signed=signed) for value in operands)
    if not signed:
        nonzero = (~a.equals(0)).resized(width)
        return (nonzero + (a - nonzero).make(llvm.UDiv, (a - nonzero, b))).resized(type).value
    quotient = a.make(llvm.SDiv, (a, b))
    inexact, opposite = ~(a - quotient * b).equals(0), (a ^ b) < 0
    if op.name == "arith.floordivsi":
        return (quotient - (inexact & opposite).resized(width)).resized(type).value
    return (quotient + (inexact & ~opposite).resized(width)).resized(type).value


SCALARS: dict[str, Scalar] = {
    **dict.fromkeys(_DIRECT, _direct),
    **CASTS,
    **MATH,
    **ROUNDED,
    "arith.maxnumf": _number_extremum,
    "arith.minnumf": _number_extremum,
    "math.absi": _absolute,
    "arith.cmpi": _compare,
    "arith.cmpf": _compare,
    "arith.ceildivui": _rounded_division,
    "arith.ceildivsi": _rounded_division,
    "arith.floordivsi": _rounded_division,
}
"""The lowering of each op on scalars; tiles are lowered register by register."""


_PAIRED = frozenset({
    "arith.addf", "arith.subf", "arith.mulf", "arith.negf", "arith.maximumf", "arith.minimumf", "arith.maxnumf",
    "arith.minnumf", "math.fma", "math.absf",
})  # fmt: skip
"""Ops that support pairs of f16 or bf16."""


def _check_elements(op: Operation) -> None:
    """Rejects arithmetic on formats that can only be moved and cast: tf32, and floats of at most 8 bits."""
    if op.name == "arith.select" or op.name in CASTS:
        return
    for value in (*op.operands, *op.results):
        element = element_type(value.type)
        if isinstance(element, FloatType) and (element is TF32 or element.width < 16):
            raise op.error(f"computes with {element}, which is not supported; f16, bf16, f32 and f64 are")


@lowers(*SCALARS)
def elementwise(low: Lowering, op: Operation) -> None:
    """Apply the scalar form once, or once per register."""
    _check_elements(op)
    rare_path = RARE_PATHS.get(op.name)
    if rare_path is not None and rare_path(low, op):
        return
    if not hardware_cast(low, op) and not _apply_to_pairs(low, op):
        _apply(low, op, op.results[0], SCALARS[op.name])


def _apply_to_pairs(low: Lowering, op: Operation) -> bool:
    """Apply the op to words of two elements, if there is such an instruction (`.f16x2`, `.bf16x2`)."""
    e, result = low.e, op.results[0]
    if op.name not in _PAIRED or not isinstance(result.type, RankedTensorType):
        return False
    element = converted(result.type.element)
    if element not in (F16, BF16) or layout_of(result.type).in_size("register") % 2:
        return False
    pair, scalar = VectorType((2,), element), SCALARS[op.name]
    columns = [[e.bitcast(word, pair) for word in low.tile(v).words(e)] for v in op.operands]
    words = [e.bitcast(scalar(e, op, row, pair), I32) for row in zip(*columns, strict=True)]
    low.define(result, Tile(result.type, words=words))
    return True


def _apply(low: Lowering, op: Operation, result: Value, scalar: Scalar) -> None:
    e = low.e
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


def _low_half(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    return place(e, llvm.Mul, operands, type)


def _high_half(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    """By a product of twice the width, which LLVM selects as mul.hi."""
    assert isinstance(type, IntegerType)
    double = IntegerType(2 * type.width)
    a, b = (e.resized(value, double) for value in operands)
    return e.resized(e.constant(e.lshr(place(e, llvm.Mul, [a, b], double), type.width, double), double), type)


@lowers("arith.mului_extended")
def wide_product(low: Lowering, op: Operation) -> None:
    """The low and the high half of an unsigned product, each half an elementwise op."""
    for result, scalar in zip(op.results, (_low_half, _high_half), strict=True):
        if result.has_uses:
            _apply(low, op, result, scalar)


@lowers("math.sincos")
def sine_and_cosine(low: Lowering, op: Operation) -> None:
    """Each result separately."""
    for result, name in zip(op.results, ("math.sin", "math.cos"), strict=True):
        if result.has_uses:
            _apply(low, op, result, SCALARS[name])


@lowers("nv_tileaa.assume")
def assume(low: Lowering, op: Any) -> None:
    """No op: the facts have been used."""
    low.define(op.res, low.values[op.source])


@lowers("nv_tileaa.create_mem_token", "nv_tileaa.join_mem_tokens")
def token(low: Lowering, op: Operation) -> None:
    """No op: memory order is the order of the code."""
    low.define(op.results[0], None)


@lowers("nv_tileaa.get_program_id", "nv_tileaa.get_num_programs")
def grid(low: Lowering, op: Any) -> None:
    """%ctaid and %nctaid; of a kernel with clusters, %clusterid and %nclusterid: the program is a cluster."""
    if op.name == "nv_tileaa.get_program_id" and op.program is not None:
        raise Refusal("it is the place of a program with a number; run --tileas-resolve-program-ids first")
    of = "clusterid" if low.ctas > 1 else "ctaid"
    register = of if op.name.endswith("program_id") else f"n{of}"
    low.define(op.res, low.e.special_register(f"{register}.{'xyz'[op.axis.value]}"))
