"""PTX instructions that LLVM has no intrinsic for: one instruction as inline assembly, optionally with a predicate."""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects import llvm
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import UNIT, StringAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I1, bit_width
from tessera_tools.passes.llvm.emitter import Emitter

_REGISTERS = {16: "h", 32: "r", 64: "l"}


def register_constraint(type: Type) -> str:
    """The register constraint of LLVM's inline assembly for NVPTX."""
    if isinstance(type, PointerType):
        return "l"
    return "b" if type is I1 else _REGISTERS[bit_width(type)]


def instruction(
    e: Emitter, text: str, operands: Sequence[Value], condition: Value | None, otherwise: Value | None = None
) -> Value | None:
    """Append an instruction that may access memory.

    text: the instruction, or a block of several in braces, with `{d}` for its result and `{0}`, `{1}` … for its
        operands, which are pointers, and integers of 16, 32 or 64 bits.
    condition: the predicate; None for always.
    otherwise: the result if the predicate is false; None for an instruction without result.
    """
    returns = otherwise is not None
    names = [f"${i + returns}" for i in range(len(operands))]
    spelled = text.format(*names, d="$0")
    given = list(operands)
    constraints = [register_constraint(v.type) for v in operands]
    results: list[Type] = []
    if condition is not None:
        spelled = f"@${len(given) + returns} {spelled}"
        given.append(condition)
        constraints.append(register_constraint(condition.type))
    if otherwise is not None:
        results.append(otherwise.type)
        if condition is not None:
            given.append(otherwise)
            constraints.append("0")
        constraints.insert(0, f"={register_constraint(otherwise.type)}")
    op = llvm.InlineAsm(
        given,
        StringAttr(spelled if spelled.endswith("}") else f"{spelled};"),
        StringAttr(",".join([*constraints, "~{memory}"])),
        UNIT,
        res=results[0] if results else None,
    )
    made = e.emit(op)
    return made.results[0] if results else None
