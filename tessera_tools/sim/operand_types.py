"""Which registers and numbers an instruction's type admits (PTX ISA, "Type Information for Instructions and Operands").

ptxas refuses what does not agree, so the simulated GPU does too.
"""

from __future__ import annotations

import numpy as np

from tessera_tools.sim.program import Address, Immediate, Instruction, Name, Operand, Vector
from tessera_tools.sim.types import TYPES, UNSIGNED, Type

__all__ = ["check_literal", "is_register_for", "literal_value", "reads_special"]

_TAKES_WIDER = ("ld", "ldu", "st", "cvt")
"""Instructions whose registers may be wider than their types (PTX ISA, "Operand Size Exceeding Instruction-Type
Size")."""


def reads_special(inst: Instruction, operand: Name) -> bool:
    """Whether a special register may be this operand: of mov, of cvt between integers, and in braces."""
    if any(operand in _in_braces(one) for one in inst.operands):
        return True
    kinds = [TYPES[name].kind for name in inst.modifiers if name in TYPES]
    moves = inst.opcode in ("mov", "cvt") and "pack" not in inst.modifiers
    return moves and all(kind in "busp" for kind in kinds)


def _in_braces(operand: Operand) -> tuple[Operand, ...]:
    if isinstance(operand, Vector):
        return operand.elements
    return operand.coordinates if isinstance(operand, Address) else ()


def is_register_for(declared: Type, type: Type, inst: Instruction) -> bool:
    """Whether a register of a declared type may be an operand of a type."""
    wider = declared.bits > type.bits and inst.opcode in _TAKES_WIDER
    if (declared.bits != type.bits and not wider) or (type.kind == "p") != (declared.kind == "p"):
        return False
    if type.kind == "f":
        return declared.kind == "b" or declared == type
    if type.kind == "r" and type.name in inst.modifiers:
        # Of these types, ptxas takes wider registers for f16x2 only.
        return declared == type or (declared.kind == "b" and (not wider or type.name == "f16x2"))
    return declared.kind != "f" or not _is_integer(type, inst)


def check_literal(literal: Immediate, type: Type, inst: Instruction) -> str:
    """What is expected instead of a number as an operand of a type; empty if the number agrees."""
    if type.kind == "r" or (type.kind == "f" and type.bits == 16):
        return "a register"
    if type.kind == "f":
        return "" if literal.bits else "a floating-point number, such as 0f3F800000"
    if not literal.bits or (abs(literal.bits) == type.bits and not _is_integer(type, inst)):
        return ""
    return "an integer"


def literal_value(literal: Immediate, type: Type) -> int | np.generic | list[int]:
    """A number as an element of the rows of a type: the two words of 128 bits, a pattern of bits, or the value."""
    value = literal.value
    if type.kind == "p":
        return bool(value)
    if type.kind == "f":
        if literal.bits > 0:
            raw = np.array([int(value)], UNSIGNED[literal.bits])
            return raw.view(np.float32 if literal.bits == 32 else np.float64).astype(type.dtype)[0]
        with np.errstate(over="ignore"):  # becomes infinity
            return type.dtype(value)
    if literal.bits < 0:
        value = int(np.array([value], np.float64).view(np.uint64)[0])
    pattern = int(value) % (1 << min(type.bits, 64))
    if type.signed and pattern >> type.bits - 1:
        pattern -= 1 << type.bits
    return [pattern, 0] if type.bits == 128 else pattern


def _is_integer(type: Type, inst: Instruction) -> bool:
    """Whether an operand is an integer by the instruction's text: decoders read operands of bits as integers, too.

    An integer operand beside types of bits, such as the amount of shl.b32, may therefore be in a register of floats.
    """
    named = (TYPES[name].kind for name in inst.modifiers if name in TYPES)
    return type.kind in "us" and any(kind in "us" for kind in named)
