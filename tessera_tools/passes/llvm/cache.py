"""Loads and stores of global memory with a cache operator (PTX ISA, "Cache Operators", "ld", "st").

LLVM has neither an intrinsic nor metadata for them that NVPTX selects, so they are inline assembly:

    ld.global.cs.v4.b32 {$0,$1,$2,$3}, [$4];      struct of four i32 ─▶ vector<4xi32> ─bitcast─▶ vector<8xbf16>

The default operators (`ld.ca`, `st.wb`) are plain llvm.load and llvm.store.
"""

from __future__ import annotations

from tessera_tools.dialects import llvm
from tessera_tools.dialects.llvm.types import StructType
from tessera_tools.dialects.nv_tileas import DEFAULT_LOAD, DEFAULT_STORE
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import UNIT, StringAttr, i64
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import IntegerType, VectorType, width_of
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.inline_asm import register_constraint

_NARROWEST = 16
"""The width of the narrowest register, in bits: bytes are loaded to and stored from it."""


def load(e: Emitter, pointer: Value, type: Type, cache: str = "") -> Value:
    """Load a scalar or a vector from global memory, aligned to its size."""
    bits = _bits(type)
    if cache in ("", DEFAULT_LOAD):
        return e.emit(llvm.Load(pointer, i64(bits // 8), res=type)).results[0]
    word, count = _words(bits)
    register = IntegerType(max(word, _NARROWEST))
    text = f"ld.global.{cache}{_vector(count)}.b{word} {_list(count)}, [${count}];"
    constraints = [f"={register_constraint(register)}"] * count + [register_constraint(pointer.type)]
    produced = StructType((register,) * count) if count > 1 else register
    made = e.emit(_assembly([pointer], text, constraints, produced)).results[0]
    words = e.fields(made, [register] * count) if count > 1 else [made]
    held = [e.resized(w, IntegerType(word)) for w in words]
    return e.bitcast(e.vector(held, IntegerType(word)), type)


def store(e: Emitter, value: Value, pointer: Value, cache: str = "") -> None:
    """Store a scalar or a vector to global memory, aligned to its size."""
    bits = _bits(value.type)
    if cache in ("", DEFAULT_STORE):
        e.emit(llvm.Store(value, pointer, i64(bits // 8)))
        return
    word, count = _words(bits)
    whole = VectorType((count,), IntegerType(word)) if count > 1 else IntegerType(word)
    words = e.elements(e.bitcast(value, whole), count, IntegerType(word))
    held = [e.resized(w, IntegerType(max(word, _NARROWEST))) for w in words]
    text = f"st.global.{cache}{_vector(count)}.b{word} [${count}], {_list(count)};"
    constraints = [register_constraint(v.type) for v in (*held, pointer)]
    e.emit(_assembly([*held, pointer], text, constraints, None))


def _assembly(
    operands: list[Value], text: str, constraints: list[str], produced: Type | None
) -> llvm.InlineAsm:
    listed = StringAttr(",".join([*constraints, "~{memory}"]))
    return llvm.InlineAsm(operands, StringAttr(text), listed, UNIT, res=produced)


def _bits(type: Type) -> int:
    count = type.shape[0] if isinstance(type, VectorType) else 1
    return count * width_of(type)


def _words(bits: int) -> tuple[int, int]:
    """The width and the number of registers for an access of `bits` bits: a power of two up to 4."""
    word = min(bits, 32 if bits <= 128 else 64)
    return word, bits // word


def _vector(count: int) -> str:
    return f".v{count}" if count > 1 else ""


def _list(count: int) -> str:
    names = ", ".join(f"${i}" for i in range(count))
    return f"{{{names}}}" if count > 1 else names
