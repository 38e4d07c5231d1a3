"""Which registers and numbers an instruction's type admits (PTX ISA, "Type Information for Instructions and Operands").

ptxas refuses what does not agree, so the simulated GPU does too.
"""

from __future__ import annotations

from tessera_tools.sim.program import Immediate, Instruction
from tessera_tools.sim.types import TYPES, Type

__all__ = ["check_literal", "is_register_for", "reads_special"]

_TAKES_WIDER = ("ld", "ldu", "st", "cvt")
"""Instructions whose registers may be wider than their types (PTX ISA, "Operand Size Exceeding Instruction-Type
Size")."""


def reads_special(inst: Instruction) -> bool:
    """Whether special registers may be operands of an instruction: of mov and of cvt, of integers."""
    return inst.opcode in ("mov", "cvt") and all(
        TYPES[name].kind in "bus" for name in inst.modifiers if name in TYPES
    )


def is_register_for(declared: Type, type: Type, inst: Instruction) -> bool:
    """Whether a register of a declared type may be an operand of a type."""
    wider = declared.bits > type.bits and inst.opcode in _TAKES_WIDER
    if (declared.bits != type.bits and not wider) or (type.kind == "p") != (declared.kind == "p"):
        return False
    if type.kind == "f":
        return declared.kind == "b" or declared == type
    if type.kind == "r" and type.name in inst.modifiers:
        return declared == type or (declared.kind == "b" and not wider)
    return declared.kind != "f" or not _is_integer(type, inst)


def check_literal(literal: Immediate, type: Type, inst: Instruction) -> str:
    """What is expected instead of a number as an operand of a type; empty if the number agrees."""
    if type.kind == "r" or (type.kind == "f" and type.bits == 16):
        return "a register"
    if type.kind == "f":
        return "" if literal.bits else "a floating-point number, such as 0f3F800000"
    if not literal.bits or (literal.bits == type.bits and not _is_integer(type, inst)):
        return ""
    return "an integer"


def _is_integer(type: Type, inst: Instruction) -> bool:
    """Whether an operand is an integer by the instruction's text: decoders read operands of bits as integers, too."""
    named = (TYPES[name].kind for name in inst.modifiers if name in TYPES)
    return type.kind in "us" and any(kind in "us" for kind in named)
