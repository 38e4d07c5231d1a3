"""nv_tileaa.multimem_…: one multimem instruction for each element, by its owner (PTX ISA, "multimem.ld_reduce",
"multimem.st", "multimem.red").

16-bit elements are only supported in pairs: a load reads the word that contains the element, and uses half of it; a
reduction adds -0.0, the identity, to the other half.
"""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects import llvm, nv_tileaa
from tessera_tools.dialects.nv_tileas import layout_of
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import (
    I16,
    I32,
    I64,
    FloatType,
    IntegerType,
    RankedTensorType,
    bit_width,
    element_type,
    width_of,
)
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.global_memory import fill_copies
from tessera_tools.passes.llvm.inline_asm import instruction
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.owners import owned_registers, owner, shared_by_owners
from tessera_tools.passes.llvm.tiles import converted

_INTEGERS = {
    "and": "and.b", "or": "or.b", "xor": "xor.b", "add": "add.u", "max": "max.s", "min": "min.s", "umax": "max.u",
    "umin": "min.u",
}  # fmt: skip
_NEGATIVE_ZERO = 0x8000
"""-0.0 as f16 and as bf16."""


def _operation(mode: str, element: Type) -> str:
    """The PTX operation with its type."""
    if isinstance(element, FloatType):
        return f"{mode}.{element}{'x2' if element.width == 16 else ''}"
    return f"{_INTEGERS[mode]}{bit_width(element)}"


def _order(op: nv_tileaa.MultimemLoadReduce | nv_tileaa.MultimemReduce | nv_tileaa.MultimemStore) -> str:
    scope = f".{op.scope.value}" if op.scope is not None else ""
    return f"{op.ordering.value}{scope}.global"


def _masks(low: Lowering, op: Any) -> list[Any]:
    """The mask of each register; None for all."""
    if op.mask is not None:
        return low.flatten(op.mask)
    return [None] * len(low.flatten(op.pointers))


def _word(e: Emitter, pointer: Value) -> tuple[Value, Value]:
    """(the address of the word that contains a 16-bit element, the bit offset in it)."""
    address = e.pure("ptrtoint", (pointer,), lambda: llvm.PtrToInt(pointer, res=I64))
    place = e.resized(e.constant(e.and_(address, 2, I64), I64), I32)
    return e.constant(e.and_(address, -4, I64), I64), e.constant(e.shl(place, 3))


@lowers("nv_tileaa.multimem_load_reduce")
def load_reduce(low: Lowering, op: nv_tileaa.MultimemLoadReduce) -> None:
    """Copies may be combined in any order, so an element that several threads hold is loaded once."""
    e = low.e
    type = op.res.type
    element = element_type(type)
    text = f"multimem.ld_reduce.{_order(op)}.{_operation(op.mode.value, element)} {{d}}, [{{0}}]"
    pointers = low.flatten(op.pointers)
    bits = IntegerType(bit_width(element))
    fillers = low.flatten(op.padding) if op.padding is not None else None
    masks, mine = _masks(low, op), owner(low, type)
    found: list[Any] = [None] * len(pointers)
    for register in owned_registers(type):
        condition = e.both([masks[register], mine])
        filler = e.bitcast(fillers[register], bits) if fillers is not None else e.constant(0, bits)
        if bits is I16:
            address, up = _word(e, pointers[register])
            word = instruction(e, text, [address], condition, e.constant(0))
            assert word is not None
            value = e.resized(e.constant(e.lshr(word, up)), I16)
            if masks[register] is not None:
                value = e.either(masks[register], value, filler)
        else:
            loaded = instruction(e, text, [pointers[register]], condition, filler)
            assert loaded is not None
            value = loaded
        found[register] = e.bitcast(value, converted(element))
    if isinstance(type, RankedTensorType):
        fill_copies(layout_of(type), found)
    low.define_flat(op.res, shared_by_owners(low, op, type, found))
    low.define(op.out_token, None)


@lowers("nv_tileaa.multimem_reduce")
def reduce(low: Lowering, op: nv_tileaa.MultimemReduce) -> None:
    """Each element once."""
    e = low.e
    element = element_type(op.value.type)
    text = f"multimem.red.{_order(op)}.{_operation(op.mode.value, element)} [{{0}}], {{1}}"

    def pair(address: Value, value: Value) -> tuple[Value, Value]:
        place, up = _word(e, address)
        other = e.shl(e.constant(_NEGATIVE_ZERO), e.xor(up, 16))
        return place, e.constant(e.xor(e.shl(e.resized(value, I32), up), other))

    _write(low, op, text, pair if bit_width(element) == 16 else None)


@lowers("nv_tileaa.multimem_store")
def store(low: Lowering, op: nv_tileaa.MultimemStore) -> None:
    """As integers of the type's width; there is no instruction for 16 bits."""
    width = width_of(op.value.type)
    if width == 16:
        raise op.error(
            "stores 16-bit elements, but multimem.st writes two at a time; 32 and 64 bits are supported"
        )
    _write(low, op, f"multimem.st.{_order(op)}.b{width} [{{0}}], {{1}}", None)


def _write(
    low: Lowering, op: nv_tileaa.MultimemReduce | nv_tileaa.MultimemStore, text: str, pair: Any
) -> None:
    """An instruction for each element; `pair` returns the address and the value of a word for 16-bit elements."""
    e = low.e
    type = op.value.type
    bits = IntegerType(width_of(type))
    pointers, values = low.flatten(op.pointers), low.flatten(op.value)
    masks, mine = _masks(low, op), owner(low, type)
    for register in owned_registers(type):
        operands = pointers[register], e.bitcast(values[register], bits)
        if pair is not None:
            operands = pair(*operands)
        instruction(e, text, operands, e.both([masks[register], mine]))
    low.define(op.out_token, None)
