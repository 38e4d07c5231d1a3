"""Common parts of nvvm ops: an op is a call of an intrinsic, or inline PTX if LLVM has none (or with a predicate).

`intrinsic` is the whole name if it is fixed; `intrinsic_name` computes it from attributes or types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from tessera_tools.dialects.llvm.base import LLVMOp, assembly_attributes, pointer_in
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import F32, I1, I8, I16, I32, I64, FloatType, IntegerType, VectorType, bit_width
from tessera_tools.opdef import TypeConstraint, exactly

if TYPE_CHECKING:
    from tessera_tools.dialects.llvm.base import Emitter

GENERIC, GLOBAL, SHARED, CLUSTER = (pointer_in(s) for s in (0, 1, 3, 7))
GENERIC_OR_SHARED = pointer_in(0, 3)
SHARED_OR_CLUSTER = pointer_in(3, 7)
ANY_SHARED = pointer_in(0, 3, 7)
I1_TYPE, I8_TYPE, I16_TYPE, I32_TYPE, I64_TYPE = (exactly(t) for t in (I1, I8, I16, I32, I64))
F32_TYPE = exactly(F32)
I32_OR_F32: TypeConstraint[IntegerType | FloatType] = TypeConstraint(
    "32-bit signless integer or 32-bit float", lambda t: t in (I32, F32)
)
I32_OR_I64: TypeConstraint[IntegerType] = TypeConstraint(
    "32- or 64-bit signless integer", lambda t: t in (I32, I64)
)
I32_OR_I1: TypeConstraint[IntegerType] = TypeConstraint(
    "32-bit or 1-bit signless integer", lambda t: t in (I32, I1)
)


def space(value: Value) -> int:
    """The address space of a pointer."""
    return value.type.address_space if isinstance(value.type, PointerType) else 0


def flag(op: Operation, key: str) -> bool:
    """True if a boolean or unit attribute is set."""
    value = op.attributes.get(key)
    return value is not None and not (isinstance(value, IntegerAttr) and not value.value)


class NVVMOp(LLVMOp):
    """A call of an intrinsic."""

    intrinsic: ClassVar[str] = ""

    def intrinsic_name(self) -> str:
        """The intrinsic's full name."""
        return self.intrinsic

    def intrinsic_arguments(self, e: Emitter) -> list[str]:
        """Its arguments, `type value`."""
        return [e.operand(v) for v in self.operands]

    def intrinsic_result(self, e: Emitter) -> str:
        """The type of its result."""
        return e.type(self.results[0].type) if self.results else "void"

    def llvm_ir(self, e: Emitter) -> None:
        predicate = getattr(self, "predicate", None)
        if predicate is not None:
            self.guarded(e, predicate)
            return
        e.call(self, self.intrinsic_name(), self.intrinsic_result(e), self.intrinsic_arguments(e))

    def ptx(self) -> str:
        """The instruction as PTX with `$0` … for the operands without the predicate; for a guarded op."""
        raise NotImplementedError(f"{self.name} has a predicate; its class needs the instruction's text")

    def guarded(self, e: Emitter, predicate: Value) -> None:
        """The instruction as inline PTX under `@predicate`."""
        operands = [v for v in self.operands if v is not predicate] + [predicate]
        text = f"@${len(operands) - 1} {self.ptx()}"
        inline_ptx(self, e, text, [], operands)


def register_constraint(type: Type) -> str:
    """The constraint letter of a PTX register of the type. Raises ValueError if there is none."""
    if isinstance(type, PointerType):
        return "r" if type.address_space in (3, 5, 6, 7) else "l"
    if isinstance(type, IntegerType | FloatType):
        letters = {1: "b", 8: "h", 16: "h", 32: "r", 64: "l", 128: "q"}
        letter = {"f32": "f", "f64": "d"}.get(str(type)) or letters.get(type.width)
        if letter is not None:
            return letter
    if isinstance(type, VectorType) and type.num_elements * bit_width(type.element) == 32:
        return "r"
    raise ValueError(f"a value of type '{type}' has no PTX register")


def inline_ptx(
    op: Operation, e: Emitter, text: str, outputs: Sequence[Type], inputs: Sequence[Value]
) -> None:
    """Emit inline PTX whose outputs are the op's results.  `$0` … in the text are the outputs, then the inputs."""
    call, produced = _asm_call(e, text, outputs, inputs, ())
    if not outputs:
        e.emit(call)
    elif len(op.results) == 1:
        e.define(op, call)
    else:
        whole = e.temporary(call)
        for i, result in enumerate(op.results):
            e.names[result] = e.temporary(f"extractvalue {produced} {whole}, {i}")


def inline_ptx_values(
    op: Operation,
    e: Emitter,
    text: str,
    outputs: Sequence[Type],
    inputs: Sequence[Value],
    tied: Sequence[Value],
) -> list[str]:
    """As `inline_ptx`, with operands that share the first outputs' registers; the names of the outputs.  The inputs'
    numbers in the text come after the outputs and the tied operands."""
    call, produced = _asm_call(e, text, outputs, inputs, tied)
    whole = e.temporary(call)
    if len(outputs) == 1:
        return [whole]
    return [e.temporary(f"extractvalue {produced} {whole}, {i}") for i in range(len(outputs))]


def _asm_call(
    e: Emitter, text: str, outputs: Sequence[Type], inputs: Sequence[Value], tied: Sequence[Value]
) -> tuple[str, str]:
    constraints = [f"={register_constraint(t)}" for t in outputs]
    constraints += [str(i) for i in range(len(tied))]
    constraints += [register_constraint(v.type) for v in inputs]
    produced = "void" if not outputs else e.type(outputs[0])
    if len(outputs) > 1:
        produced = "{ " + ", ".join(map(e.type, outputs)) + " }"
    escaped = "".join(c if 32 <= ord(c) < 127 and c not in '"\\' else f"\\{ord(c):02X}" for c in text)
    arguments = ", ".join(map(e.operand, [*tied, *inputs]))
    attributes = assembly_attributes(text)
    call = f'call {produced} asm sideeffect "{escaped}", "{",".join(constraints)}"({arguments}){attributes}'
    return call, produced
