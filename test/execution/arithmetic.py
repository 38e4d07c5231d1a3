"""The llvm ops that touch no memory: `PURE[name](op, threads)` makes the function from operands to the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from execution.values import (
    ExecutionError,
    Value,
    dtype,
    from_bytes,
    poison,
    signed,
    size_of,
    to_bytes,
    to_float,
)

from tessera_tools.dialects.llvm.types import ArrayType
from tessera_tools.ir.builtin_attributes import DenseElementsAttr, FloatAttr, IntegerAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import VectorType

Maker = Callable[[Operation, int], Callable[..., Value]]
PURE: dict[str, Maker] = {}


def attribute(op: Operation, key: str) -> Any:
    """An attribute, wherever a registered or unregistered op keeps it; None if it has none."""
    found = op.attributes.get(key)
    return found if found is not None else getattr(op, "properties", {}).get(key)


def integer(op: Operation, key: str, default: int = 0) -> int:
    """An integer attribute's value."""
    found = attribute(op, key)
    return default if found is None else found.value


def _register(names: str) -> Callable[[Maker], Maker]:
    def add(make: Maker) -> Maker:
        for name in names.split():
            PURE[f"llvm.{name}"] = make
        return make

    return add


_INTEGER: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "intr.umax": np.maximum,
    "intr.umin": np.minimum,
    "intr.smax": lambda a, b: np.maximum(signed(a), signed(b)).view(a.dtype),
    "intr.smin": lambda a, b: np.minimum(signed(a), signed(b)).view(a.dtype),
}
_BOOLEAN = {"add": np.logical_xor, "sub": np.logical_xor, "mul": np.logical_and}


@_register(" ".join(_INTEGER))
def _integer_binary(op: Operation, threads: int) -> Any:
    name = op.name.removeprefix("llvm.")
    if dtype(op.results[0].type) is np.bool_:
        return _BOOLEAN.get(name) or _INTEGER[name]
    return _INTEGER[name]


@_register("shl lshr ashr")
def _shift(op: Operation, threads: int) -> Any:
    type = op.results[0].type
    bits = 8 * size_of(type)
    unspecified = poison(type, threads)

    def shift(a: Any, b: Any) -> Any:
        legal = b < bits
        by = np.where(legal, b, 0).astype(b.dtype)
        if op.name == "llvm.shl":
            shifted = a << by
        elif op.name == "llvm.lshr":
            shifted = a >> by
        else:
            shifted = (signed(a) >> signed(by)).view(a.dtype)
        return np.where(legal, shifted, unspecified)

    return shift


@_register("udiv sdiv urem srem")
def _division(op: Operation, threads: int) -> Any:
    """Quotients round to zero. What inactive threads divide by does not matter; a poison pattern shows a bad use."""

    def divide(a: Any, b: Any) -> Any:
        if op.name[5] == "u":
            safe = np.where(b == 0, 1, b).astype(b.dtype)
            result = a // safe if op.name == "llvm.udiv" else a % safe
        else:
            left, right = signed(a), signed(b)
            right = np.where(right == 0, 1, right).astype(right.dtype)
            rest = np.fmod(left, right)
            whole = (left - rest) // right
            result = (whole if op.name == "llvm.sdiv" else rest).view(a.dtype)
        return np.where(b == 0, poison(op.results[0].type, len(a)), result)

    return divide


_ICMP: tuple[tuple[Any, bool], ...] = (
    (np.equal, False), (np.not_equal, False),
    (np.less, True), (np.less_equal, True), (np.greater, True), (np.greater_equal, True),
    (np.less, False), (np.less_equal, False), (np.greater, False), (np.greater_equal, False),
)  # fmt: skip


@_register("icmp")
def _icmp(op: Operation, threads: int) -> Any:
    compare, with_sign = _ICMP[integer(op, "predicate")]
    return (lambda a, b: compare(signed(a), signed(b))) if with_sign else compare


_FCMP = (np.equal, np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal)


@_register("fcmp")
def _fcmp(op: Operation, threads: int) -> Any:
    """Predicates 1-6 are ordered, 7 asks for order, 8 for none, 9-14 are unordered; 0 and 15 are constant."""
    code = integer(op, "predicate")

    def compare(a: Any, b: Any) -> Any:
        unordered = np.isnan(a) | np.isnan(b)
        if code in (0, 15):
            return np.full(a.shape, code == 15)
        if code in (7, 8):
            return unordered if code == 8 else ~unordered
        ordered = code < 7
        held = _FCMP[code - 1 if ordered else code - 9](a, b)
        return held & ~unordered if ordered else held | unordered

    return compare


_FLOAT: dict[str, Callable[..., Any]] = {
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fdiv": np.divide,
    "frem": np.fmod,
    "fneg": np.negative,
    "intr.fabs": np.abs,
    "intr.sqrt": np.sqrt,
    "intr.floor": np.floor,
    "intr.ceil": np.ceil,
    "intr.maximum": np.maximum,
    "intr.minimum": np.minimum,
    "intr.maxnum": np.fmax,
    "intr.minnum": np.fmin,
    "intr.exp": np.exp,
    "intr.exp2": np.exp2,
    "intr.log": np.log,
    "intr.log2": np.log2,
}


@_register(" ".join(_FLOAT))
def _float(op: Operation, threads: int) -> Any:
    compute, type = _FLOAT[op.name.removeprefix("llvm.")], op.results[0].type
    return lambda *values: to_float(compute(*values), type)


@_register("intr.fma intr.fmuladd")
def _fma(op: Operation, threads: int) -> Any:
    """One rounding, by way of f64: exact for f16 and bf16, and for f32 but for double rounding in rare ties."""
    type = op.results[0].type
    return lambda a, b, c: to_float(a.astype(np.float64) * b + c, type)


@_register("select")
def _select(op: Operation, threads: int) -> Any:
    return lambda c, a, b: np.where(c[:, None] if a.ndim > c.ndim else c, a, b)


@_register("zext trunc sext")
def _integer_cast(op: Operation, threads: int) -> Any:
    target = dtype(op.results[0].type)
    if op.name == "llvm.sext":
        return lambda a: signed(a).astype(np.dtype(f"i{np.dtype(target).itemsize}")).view(target)
    if target is np.bool_:
        return lambda a: (a & a.dtype.type(1)).astype(np.bool_)
    return lambda a: a.astype(target)


@_register("fpext fptrunc uitofp")
def _to_float(op: Operation, threads: int) -> Any:
    type = op.results[0].type
    return lambda a: to_float(a, type)


@_register("sitofp")
def _signed_to_float(op: Operation, threads: int) -> Any:
    type = op.results[0].type
    return lambda a: to_float(signed(a), type)


@_register("fptosi fptoui")
def _to_integer(op: Operation, threads: int) -> Any:
    target = np.dtype(dtype(op.results[0].type))
    through = np.dtype(f"i{target.itemsize}") if op.name == "llvm.fptosi" else target
    return lambda a: np.trunc(a).astype(through).view(target)


@_register("call_intrinsic")
def _intrinsic(op: Operation, threads: int) -> Any:
    """Intrinsics that have no op of their own."""
    name = attribute(op, "intrin").value
    if name != "llvm.nvvm.f2tf32.rn":
        raise ExecutionError(f"of {name} is not modeled")
    return _round_to_tf32


def _round_to_tf32(value: Any) -> Any:
    """To 11 binary digits, ties to even, as the bits; of numbers, not of NaNs."""
    bits = value.view(np.uint32)
    odd = bits >> np.uint32(13) & np.uint32(1)
    return bits + np.uint32(0xFFF) + odd & np.uint32(0xFFFFE000)


@_register("bitcast")
def _bitcast(op: Operation, threads: int) -> Any:
    source, target = op.operand(0).type, op.results[0].type
    return lambda a: from_bytes(to_bytes(a, source), target)


@_register("freeze")
def _freeze(op: Operation, threads: int) -> Any:
    """Whatever it is, it stays so."""
    return lambda a: a


@_register("ptrtoint inttoptr addrspacecast")
def _pointer_cast(op: Operation, threads: int) -> Any:
    target = dtype(op.results[0].type)
    return lambda a: a.astype(target)


@_register("mlir.constant")
def _constant(op: Operation, threads: int) -> Any:
    value, type = attribute(op, "value"), op.results[0].type
    elements = value.attributes() if isinstance(value, DenseElementsAttr) else [value]
    element = type.element if isinstance(type, VectorType) else type
    scalars: list[Any] = []
    for each in elements:
        if isinstance(each, FloatAttr):
            data = np.frombuffer(each.bits.to_bytes(size_of(element), "little"), np.uint8)
            scalars.append(from_bytes(data[None, :], element)[0])
        elif isinstance(each, IntegerAttr):
            bits = 1 if dtype(element) is np.bool_ else 8 * size_of(element)
            scalars.append(each.value & ((1 << bits) - 1))
        else:
            raise ExecutionError(f"constant {each} is not modeled")
    if isinstance(type, VectorType):
        row = np.array(scalars if len(scalars) > 1 else scalars * type.num_elements, dtype(type))
        whole = np.broadcast_to(row, (threads, len(row)))
    else:
        whole = np.full(threads, scalars[0], dtype(type))
    return lambda: whole


@_register("mlir.poison mlir.undef")
def _poison(op: Operation, threads: int) -> Any:
    value = poison(op.results[0].type, threads)
    return lambda: value


@_register("mlir.zero")
def _zero(op: Operation, threads: int) -> Any:
    value = from_bytes(np.zeros((threads, size_of(op.results[0].type)), np.uint8), op.results[0].type)
    return lambda: value


def constant_index(value: Any) -> int | None:
    """The number that a value is, if it is a constant."""
    source = value.defining_op
    if source is not None and source.name == "llvm.mlir.constant":
        return attribute(source, "value").value
    return None


@_register("extractelement")
def _extract_element(op: Operation, threads: int) -> Any:
    at = constant_index(op.operand(1))
    if at is not None:
        return lambda vector, _: vector[:, at]
    return lambda vector, index: vector[np.arange(threads), index]


@_register("insertelement")
def _insert_element(op: Operation, threads: int) -> Any:
    at = constant_index(op.operand(2))

    def insert(vector: Any, element: Any, index: Any) -> Any:
        result = vector.copy()
        if at is not None:
            result[:, at] = element
        else:
            result[np.arange(threads), index] = element
        return result

    return insert


@_register("shufflevector")
def _shuffle_vector(op: Operation, threads: int) -> Any:
    mask = list(attribute(op, "mask").values)
    return lambda a, b: np.concatenate([a, b], axis=1)[:, mask]


@_register("extractvalue")
def _extract_value(op: Operation, threads: int) -> Any:
    position = tuple(attribute(op, "position").values)

    def extract(value: Any) -> Any:
        for i in position:
            value = value[i]
        return value

    return extract


@_register("insertvalue")
def _insert_value(op: Operation, threads: int) -> Any:
    (at,) = attribute(op, "position").values
    return lambda whole, part: (*whole[:at], part, *whole[at + 1 :])


@_register("getelementptr")
def _address(op: Operation, threads: int) -> Any:
    """Indices are signed; the first steps over whole elements, the others into arrays."""
    type = attribute(op, "elem_type").value
    indices = attribute(op, "rawConstantIndices").values
    sizes: list[int] = []
    for i in range(len(indices)):
        if i:
            if not isinstance(type, ArrayType):
                raise ExecutionError("getelementptr into anything but arrays is not modeled")
            type = type.element
        sizes.append(size_of(type))

    def address(base: Any, *dynamic: Any) -> Any:
        values = iter(dynamic)
        result = base
        for index, size in zip(indices, sizes, strict=True):
            if index == -(1 << 31):
                step = signed(next(values)).astype(np.int64) * size
                result = result + step.view(np.uint64)
            elif index:
                result = result + np.uint64(index * size & (1 << 64) - 1)
        return result

    return address
