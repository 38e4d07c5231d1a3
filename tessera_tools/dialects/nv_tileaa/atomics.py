"""Atomic read-modify-write operations on elements of global memory."""

from __future__ import annotations

from tessera_tools.dialects.nv_tileaa.base import TOKEN, OrderingAttr, ScopeAttr, scalar_or_tile
from tessera_tools.dialects.nv_tileaa.pointers import POINTERS, check_shapes, mask_of
from tessera_tools.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I32,
    I64,
    FloatType,
    IntegerType,
    bit_width,
    element_type,
)
from tessera_tools.opdef import (
    EnumAttr,
    MemoryEffects,
    Op,
    attribute,
    derived,
    enum,
    of,
    operand,
    optional_operand,
    read,
    result,
    same_as,
    write,
)

NUMBERS = scalar_or_tile(of(IntegerType, FloatType, summary="number"))


class AtomicModeAttr(EnumAttr, name="nv_tileaa.atomic_mode"):
    """The operation on an element: `max` and `min` read integers as signed, `umax` and `umin` as unsigned; `addf` adds
    floats, and `xchg` stores the operand."""

    cases = ("and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg")


class _Atomic(Op):
    """The base of atomic ops: an element for each pointer under the mask, whose former value is the result."""

    def _check(self, element_bits: tuple[int, ...]) -> None:
        op = self
        check_shapes(op, op.pointers.type, op.value.type)  # type: ignore[attr-defined]
        if op.ordering.value == "weak":  # type: ignore[attr-defined]
            raise op.error("has the ordering 'weak'; expected relaxed, acquire, release or acq_rel")
        element = element_type(op.value.type)  # type: ignore[attr-defined]
        if bit_width(element) not in element_bits:
            raise op.error(
                f"has elements of type {element}; expected {' or '.join(map(str, element_bits))} bits"
            )


class AtomicRmw(
    _Atomic, name="nv_tileaa.atomic_rmw", traits=(MemoryEffects(read("pointers"), write("pointers")),)
):
    """Modifies elements according to `mode`.  The result is the previous value; it is undefined if the mask is
    false."""

    mode = attribute(enum(AtomicModeAttr))
    ordering = attribute(enum(OrderingAttr))
    scope = attribute(enum(ScopeAttr))
    pointers = operand(POINTERS)
    value = operand(NUMBERS)
    mask = optional_operand(derived("i1 for each pointer", mask_of, "pointers"))
    token = operand(TOKEN)
    res = result(same_as("value"))
    out_token = result(TOKEN)
    assembly = (
        "$mode $ordering $scope $pointers `,` $value (`mask` $mask^)? `,` $token attr-dict `:` type($pointers) `,` "
        "type($value) `,` type($out_token)"
    )

    def verify_op(self) -> None:
        mode, element = self.mode.value, element_type(self.value.type)
        if mode == "addf":
            if element not in (F16, BF16, F32, F64):
                raise self.error(f"adds elements of type {element}; expected f16, bf16, f32 or f64")
        elif mode != "xchg" and element not in (I32, I64):
            raise self.error(f"applies '{mode}' to elements of type {element}; expected i32 or i64")
        self._check((16, 32, 64) if mode == "addf" else (32, 64))


class AtomicCas(
    _Atomic, name="nv_tileaa.atomic_cas", traits=(MemoryEffects(read("pointers"), write("pointers")),)
):
    """Stores `value` where memory equals `expected` bit for bit.  The result is the previous value, or `expected` where
    the mask is false."""

    ordering = attribute(enum(OrderingAttr))
    scope = attribute(enum(ScopeAttr))
    pointers = operand(POINTERS)
    expected = operand(same_as("value"))
    value = operand(NUMBERS)
    mask = optional_operand(derived("i1 for each pointer", mask_of, "pointers"))
    token = operand(TOKEN)
    res = result(same_as("value"))
    out_token = result(TOKEN)
    assembly = (
        "$ordering $scope $pointers `,` $expected `,` $value (`mask` $mask^)? `,` $token attr-dict `:` "
        "type($pointers) `,` type($value) `,` type($out_token)"
    )

    def verify_op(self) -> None:
        self._check((32, 64))
