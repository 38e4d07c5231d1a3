"""Elements of multicast memory, which several GPUs hold: every access reaches all copies (PTX ISA, "multimem")."""

from __future__ import annotations

from tessera_tools.dialects.nv_tileaa.atomics import NUMBERS
from tessera_tools.dialects.nv_tileaa.base import TOKEN, OrderingAttr, ScopeAttr
from tessera_tools.dialects.nv_tileaa.pointers import POINTERS, check_shapes, mask_of
from tessera_tools.ir.types import BF16, F16, F32, F64, I32, I64, FloatType, Type, element_type
from tessera_tools.opdef import (
    EnumAttr,
    MemoryEffects,
    Op,
    attribute,
    derived,
    enum,
    operand,
    optional_operand,
    read,
    result,
    same_as,
    write,
)


class MultimemModeAttr(EnumAttr, name="nv_tileaa.multimem_mode"):
    """How copies, or an operand and each copy, are combined; `umin` and `umax` treat integers as unsigned."""

    cases = ("add", "min", "max", "and", "or", "xor", "umin", "umax")


def _check(op: MultimemLoadReduce | MultimemReduce | MultimemStore, moved: Type) -> None:
    check_shapes(op, op.pointers.type, moved)
    element = element_type(moved)
    if element not in (I32, I64, F16, BF16, F32, F64):
        raise op.error(f"moves elements of type {element}; expected i32, i64, f16, bf16, f32 or f64")
    if (op.ordering.value == "weak") != (op.scope is None):
        raise op.error("must be either weak without a scope, or have another ordering and a scope")


def _check_mode(op: MultimemLoadReduce | MultimemReduce, element: Type, *halves: str) -> None:
    """`halves`: the modes of f16 and bf16 in addition to `add`, which all floats support."""
    mode = op.mode.value
    known = ("add", *halves) if element in (F16, BF16) else ("add",)
    if isinstance(element, FloatType) and mode not in known:
        raise op.error(f"applies '{mode}' to elements of type {element}; expected {' or '.join(known)}")


class MultimemLoadReduce(
    Op,
    name="nv_tileaa.multimem_load_reduce",
    traits=(MemoryEffects(read("pointers"), write("pointers")),),
):
    """Loads each element, combined over all copies. If the mask is false, the result is `padding`, or undefined
    without padding."""

    mode = attribute(enum(MultimemModeAttr))
    ordering = attribute(enum(OrderingAttr))
    scope = attribute(enum(ScopeAttr), optional=True)
    pointers = operand(POINTERS)
    mask = optional_operand(derived("i1 for each pointer", mask_of, "pointers"))
    padding = optional_operand(same_as("res"))
    token = operand(TOKEN)
    res = result(NUMBERS)
    out_token = result(TOKEN)
    assembly = (
        "$mode $ordering (`scope` $scope^)? $pointers (`mask` $mask^)? (`padding` $padding^)? `,` $token attr-dict `:` "
        "type($pointers) `->` type($res) `,` type($out_token)"
    )

    def verify_op(self) -> None:
        _check(self, self.res.type)
        _check_mode(self, element_type(self.res.type), "min", "max")


class MultimemReduce(
    Op, name="nv_tileaa.multimem_reduce", traits=(MemoryEffects(read("pointers"), write("pointers")),)
):
    """Combines a value with every copy of each element, if the mask is true."""

    mode = attribute(enum(MultimemModeAttr))
    ordering = attribute(enum(OrderingAttr))
    scope = attribute(enum(ScopeAttr))
    pointers = operand(POINTERS)
    value = operand(NUMBERS)
    mask = optional_operand(derived("i1 for each pointer", mask_of, "pointers"))
    token = operand(TOKEN)
    out_token = result(TOKEN)
    assembly = (
        "$mode $ordering `scope` $scope $pointers `,` $value (`mask` $mask^)? `,` $token attr-dict `:` "
        "type($pointers) `,` type($value) `,` type($out_token)"
    )

    def verify_op(self) -> None:
        _check(self, self.value.type)
        _check_mode(self, element_type(self.value.type))


class MultimemStore(Op, name="nv_tileaa.multimem_store", traits=(MemoryEffects(write("pointers")),)):
    """Stores a value to every copy of each element, if the mask is true."""

    ordering = attribute(enum(OrderingAttr))
    scope = attribute(enum(ScopeAttr), optional=True)
    pointers = operand(POINTERS)
    value = operand(NUMBERS)
    mask = optional_operand(derived("i1 for each pointer", mask_of, "pointers"))
    token = operand(TOKEN)
    out_token = result(TOKEN)
    assembly = (
        "$ordering (`scope` $scope^)? $pointers `,` $value (`mask` $mask^)? `,` $token attr-dict `:` type($pointers) "
        "`,` type($value) `,` type($out_token)"
    )

    def verify_op(self) -> None:
        _check(self, self.value.type)
