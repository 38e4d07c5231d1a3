"""Values from other lanes of the warp: shfl.sync moves words of 32 bits (PTX ISA, "shfl.sync").

Wider values use several words.  Narrower ones of the same type share words.
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects import llvm
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.dialects.nvvm.attributes import ShflKindAttr
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I32, I64, IntegerType, VectorType, bit_width
from tessera_tools.passes.llvm.emitter import Emitter, Int

BY_XOR, BY_INDEX = "bfly", "idx"
"""How the operand of a shuffle selects the lane: by a xor or difference, or by its number."""


def exchange(e: Emitter, values: Sequence[Value], kind: str, lane: Int) -> list[Value]:
    """Each of the values from another lane; all lanes of the warp take part."""
    received: list[Value | None] = [None] * len(values)
    by_type: dict[Type, list[int]] = {}
    for i, value in enumerate(values):
        by_type.setdefault(value.type, []).append(i)
    for type, places in by_type.items():
        per = _elements_per_word(type)
        for start in range(0, len(places), per):
            together = places[start : start + per]
            found = _exchange_packed(e, [values[i] for i in together], type, kind, lane)
            for i, value in zip(together, found, strict=True):
                received[i] = value
    return [value for value in received if value is not None]


def _elements_per_word(type: Type) -> int:
    """How many elements of a type fill a word; 1 unless they are whole bytes."""
    bits = 0 if isinstance(type, PointerType) else bit_width(type)
    return 32 // bits if bits in (8, 16) else 1


def _exchange_packed(e: Emitter, values: list[Value], type: Type, kind: str, lane: Int) -> list[Value]:
    if len(values) > 1:
        per = _elements_per_word(type)
        filled = [*values, *[e.poison(type)] * (per - len(values))]
        word = shuffle(e, e.bitcast(e.vector(filled, type), I32), kind, lane)
        return e.unpacked(word, type)[: len(values)]
    return [from_words(e, [shuffle(e, word, kind, lane) for word in as_words(e, values[0])], type)]


def shuffle(e: Emitter, word: Value, kind: str, lane: Int) -> Value:
    """One word of another lane."""
    operands = [e.constant(-1), word, e.constant(lane), e.constant(31)]
    return e.nvvm("shfl.sync", operands, [I32], kind=ShflKindAttr(kind)).results[0]


def as_words(e: Emitter, value: Value) -> list[Value]:
    """A value of up to 64 bits as 32-bit words, low bits first."""
    if isinstance(value.type, PointerType):
        value = e.pure("ptrtoint", (value,), lambda: llvm.PtrToInt(value, res=I64))
    bits = bit_width(value.type)
    whole = e.bitcast(value, IntegerType(bits))
    if bits <= 32:
        return [e.resized(whole, I32)]
    return e.elements(e.bitcast(e.resized(whole, I64), VectorType((2,), I32)), 2, I32)


def from_words(e: Emitter, words: list[Value], type: Type) -> Value:
    """The inverse of `as_words`."""
    if isinstance(type, PointerType):
        address = e.bitcast(e.vector(words, I32), I64)
        return e.pure(("inttoptr", type), (address,), lambda: llvm.IntToPtr(address, res=type))
    bits = bit_width(type)
    whole = words[0] if bits <= 32 else e.bitcast(e.vector(words, I32), I64)
    return e.bitcast(e.resized(whole, IntegerType(bits)), type)
