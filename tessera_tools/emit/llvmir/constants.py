"""Constant attributes as LLVM IR text."""

from __future__ import annotations

import struct

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects.llvm.attributes import PoisonAttr, UndefAttr, ZeroAttr
from tessera_tools.dialects.llvm.types import LLVM_FLOATS, ArrayType, StructType
from tessera_tools.emit.llvmir.names import escaped, symbol
from tessera_tools.emit.llvmir.types import TypeTable, no_counterpart
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    ArrayAttr,
    DenseElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    wrap_int,
)
from tessera_tools.ir.types import I8, FloatType, IntegerType, VectorType


def constant_text(types: TypeTable, value: Attribute, type: Type) -> str:
    """A constant of `type`, without the type. Raises Refusal if LLVM IR has no such constant."""
    if isinstance(value, IntegerAttr | FloatAttr) and isinstance(type, IntegerType | FloatType):
        return _scalar(value.value if isinstance(value, IntegerAttr) else value.bits, type)
    if isinstance(value, DenseElementsAttr):
        return _dense(types, value, type)
    if isinstance(value, StringAttr):
        return f'c"{escaped(value.value)}"'
    if isinstance(value, ZeroAttr):
        return "zeroinitializer"
    if isinstance(value, UndefAttr | PoisonAttr):
        return "undef" if isinstance(value, UndefAttr) else "poison"
    if isinstance(value, SymbolRefAttr):
        return f"@{symbol(value.root)}"
    if isinstance(value, ArrayAttr):
        return _array(types, value, type)
    raise _no_constant(value, type)


def _no_constant(value: Attribute, type: Type) -> Refusal:
    return Refusal(f"has the value '{value}', which is not a constant of type '{type}'")


def _array(types: TypeTable, value: ArrayAttr, type: Type) -> str:
    if isinstance(type, StructType) and type.types is not None:
        elements, brackets = list(type.types), ("<{ ", " }>") if type.packed else ("{ ", " }")
    elif isinstance(type, ArrayType):
        elements, brackets = [type.element] * type.count, ("[", "]")
    elif isinstance(type, VectorType):
        elements, brackets = [type.element] * type.num_elements, ("<", ">")
    else:
        raise _no_constant(value, type)
    if len(elements) != len(value):
        raise Refusal(f"has a value of {len(value)} elements, and its type '{type}' has {len(elements)}")
    inside = [f"{types.text(t)} {constant_text(types, v, t)}" for v, t in zip(value, elements, strict=True)]
    return brackets[0] + ", ".join(inside) + brackets[1]


def _dense(types: TypeTable, value: DenseElementsAttr, type: Type) -> str:
    bits, element, given = value.bits(), leaf_type(type), value.shaped.element
    if not isinstance(element, IntegerType | FloatType):
        raise _no_constant(value, type)
    # Numbers of a type that LLVM does not have are stored as bits.
    as_bits = isinstance(element, IntegerType) and not (
        isinstance(given, FloatType) and given.keyword in LLVM_FLOATS
    )
    if not (element == given or as_bits) or value.shaped.num_elements != _leaves(type):
        raise _no_constant(value, type)
    if value.is_splat and not bits[0]:
        return "zeroinitializer"
    if value.is_splat and isinstance(type, VectorType):
        return f"splat ({types.text(element)} {_scalar(bits[0], element)})"
    if value.is_splat:
        bits = bits * value.shaped.num_elements
    if isinstance(type, ArrayType) and type.element is I8:
        return 'c"' + escaped(bytes(bits).decode("utf-8", "surrogateescape")) + '"'
    shown = [_scalar(b, element) for b in bits]
    return _nested(types, shown, type, element)


def _leaves(type: Type) -> int:
    """The number of elements of nested arrays and vectors."""
    count = 1
    while isinstance(type, ArrayType | VectorType):
        count *= type.count if isinstance(type, ArrayType) else type.num_elements
        type = type.element
    return count


def leaf_type(type: Type) -> Type:
    """The type of the elements of nested arrays and vectors."""
    while isinstance(type, ArrayType | VectorType):
        type = type.element
    return type


def _nested(types: TypeTable, shown: list[str], type: Type, leaf: Type) -> str:
    if isinstance(type, ArrayType) and isinstance(type.element, ArrayType | VectorType):
        step = len(shown) // max(type.count, 1)
        inner = types.text(type.element)
        parts = [
            f"{inner} {_nested(types, shown[i * step : (i + 1) * step], type.element, leaf)}"
            for i in range(type.count)
        ]
        return f"[{', '.join(parts)}]"
    prefix = types.text(leaf)
    inside = ", ".join([f"{prefix} {s}" for s in shown])
    return f"<{inside}>" if isinstance(type, VectorType) else f"[{inside}]"


def _scalar(bits: int, type: IntegerType | FloatType) -> str:
    """A number from its bits (an integer may be given signed)."""
    if isinstance(type, IntegerType):
        if type.width == 1:
            return "true" if bits & 1 else "false"
        return str(wrap_int(bits, type))
    return float_text(bits, type)


def float_text(bits: int, type: FloatType) -> str:
    """LLVM's hexadecimal form: `float` and `double` as the bits of the double with that value, others as their own
    bits."""
    bits &= (1 << type.width) - 1
    if type.keyword == "f64":
        return f"0x{bits:016X}"
    if type.keyword == "f32":
        return f"0x{_as_double(bits):016X}"
    if type.keyword == "f16":
        return f"0xH{bits:04X}"
    if type.keyword == "bf16":
        return f"0xR{bits:04X}"
    if type.keyword == "f128":
        low, high = bits & ((1 << 64) - 1), bits >> 64
        return f"0xL{low:016X}{high:016X}"
    if type.keyword == "f80":
        return f"0xK{bits:020X}"
    raise no_counterpart(type)


def _as_double(bits: int) -> int:
    """The bits of the double with the value of a float; NaN payloads are shifted left."""
    exponent = bits >> 23 & 0xFF
    if exponent == 0xFF:
        return (bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29
    value = struct.unpack("<f", struct.pack("<I", bits))[0]
    return struct.unpack("<Q", struct.pack("<d", value))[0]
