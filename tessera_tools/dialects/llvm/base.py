"""Common parts of the llvm dialect's op classes: type constraints, shapes of ops, and the translation to LLVM IR.

    class FAdd(FloatBinary, name="llvm.fadd", traits=(PURE,)):
        llvm_instruction = "fadd"

The translation is a method of the class: `llvm_ir(e)` writes the op's instructions through an `Emitter`
(`tessera_tools.emit.llvmir`).  The families below only need `llvm_instruction` or `intrinsic`.
An op without `llvm_ir` has no translation; the emitter reports an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from tessera_tools.dialects.llvm.attributes import NO_FASTMATH, FastmathFlagsAttr
from tessera_tools.dialects.llvm.types import PointerType, is_llvm_type, is_loadable
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import ArrayAttr
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.types import FloatType, IntegerType, VectorType
from tessera_tools.opdef import Op, TypeConstraint, attribute, of_class
from tessera_tools.opdef.fields import AttributeField

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class Emitter(Protocol):
    """The interface for an op's translation; all text is LLVM IR."""

    names: dict[Value, str]
    """The operand text of each value so far: `%5`, `42`, `@global`."""

    def type(self, type: Type) -> str:
        """The type's text."""
        ...

    def operand(self, value: Value) -> str:
        """Type and name: `i32 %5`."""
        ...

    def emit(self, text: str) -> None:
        """Write an instruction without a result."""
        ...

    def define(self, op: Operation, text: str) -> None:
        """Write an instruction that defines the op's only result."""
        ...

    def temporary(self, text: str) -> str:
        """Write an instruction and return the name of its result."""
        ...

    def constant(self, value: Value, text: str) -> None:
        """The value is a constant: no instruction."""
        ...

    def constant_text(self, value: Attribute, type: Type, op: Operation) -> str:
        """A constant of the type, without the type."""
        ...

    def call(
        self,
        op: Operation,
        name: str,
        result: str,
        arguments: Sequence[str],
        *,
        flags: str = "",
        declaration: str = "",
        before: str = "",
        trailer: str = "",
    ) -> None:
        """Call an intrinsic (declared on first use) whose result, unless `void`, is the op's."""
        ...

    def call_value(self, name: str, result: str, arguments: Sequence[str]) -> str:
        """Call an intrinsic and return the name of its result."""
        ...

    def label(self, block: Block) -> str:
        """`label %bb2`."""
        ...

    def branch(self, op: Operation, block: Block, values: Sequence[Value]) -> str:
        """`label %bb2`, with the values noted for the block's phi nodes."""
        ...

    def metadata(self, text: str) -> str:
        """The number (`!7`) of a uniqued metadata node."""
        ...

    def node(self, attribute: Attribute) -> str:
        """The number of an attribute's metadata node, such as that of a loop annotation."""
        ...

    def symbol(self, name: str) -> str:
        """`@name`, quoted where LLVM needs it."""
        ...

    def call_arguments(self, values: Sequence[Value], attributes: ArrayAttr | None) -> str:
        """The arguments of a call with their attributes."""
        ...

    def result_attributes(self, attributes: ArrayAttr | None) -> str:
        """The attributes of a call's result, followed by a space."""
        ...


def scalar_or_vector(element: Callable[[Type], bool], summary: str) -> TypeConstraint:
    """A type of the given predicate or a vector of such."""
    return TypeConstraint(
        f"{summary} or vector of it",
        lambda t: bool(element(t.element if isinstance(t, VectorType) and t.rank == 1 else t)),
    )


def _signless(t: Type) -> TypeIs[IntegerType]:
    return isinstance(t, IntegerType) and t.signedness == "signless"


ANY = TypeConstraint("LLVM dialect-compatible type", is_llvm_type)
LOADABLE = TypeConstraint("LLVM type with size", is_loadable)
INTEGER: TypeConstraint[IntegerType] = TypeConstraint("signless integer", _signless)
INTEGERS = scalar_or_vector(_signless, "signless integer")
FLOATS = scalar_or_vector(lambda t: isinstance(t, FloatType) and is_llvm_type(t), "floating point LLVM type")
POINTER: TypeConstraint[PointerType] = TypeConstraint(
    "LLVM pointer type", lambda t: isinstance(t, PointerType)
)
POINTERS = scalar_or_vector(lambda t: isinstance(t, PointerType), "LLVM pointer type")
I1_CONSTRAINT = TypeConstraint("1-bit signless integer", lambda t: _signless(t) and t.width == 1)
BOOLEANS = scalar_or_vector(lambda t: _signless(t) and t.width == 1, "1-bit signless integer")
VECTOR: TypeConstraint[VectorType] = TypeConstraint(
    "LLVM dialect-compatible vector type", lambda t: isinstance(t, VectorType) and is_llvm_type(t)
)


def pointer_in(*spaces: int) -> TypeConstraint[PointerType]:
    """A pointer in one of the address spaces."""
    words = " or ".join(f"LLVM pointer in address space {s}" for s in spaces)
    return TypeConstraint(words, lambda t: isinstance(t, PointerType) and t.address_space in spaces)


FASTMATH = of_class(FastmathFlagsAttr, summary="LLVM fastmath flags")


def fastmath() -> AttributeField[FastmathFlagsAttr]:
    """The `fastmathFlags` attribute."""
    return attribute(FASTMATH, default=NO_FASTMATH, key="fastmathFlags")


def fastmath_text(op: Operation) -> str:
    """The op's fast-math flags for LLVM IR, followed by a space."""
    flags = op.attributes.get("fastmathFlags")
    return flags.llvm_text() if isinstance(flags, FastmathFlagsAttr) else ""


def call_fastmath_text(op: Operation) -> str:
    """As `fastmath_text`, for calls: LLVM allows the flags only where the result is of floating-point type."""
    return fastmath_text(op) if op.results and FLOATS.accepts(op.results[0].type) else ""


class LLVMOp(Op):
    """The base: `llvm_instruction` is LLVM's name for an op that is one instruction."""

    llvm_instruction: ClassVar[str] = ""


_TOGETHER = re.compile(r"\b(?:bar|barrier)\.|\.(?:sync|aligned)\b|\bactivemask\b")


def assembly_attributes(text: str) -> str:
    """The attributes of a call of inline assembly: `convergent` if all threads of a warp execute an instruction of it
    together, so that LLVM must not put it under further conditions (PTX ISA, ".sync", ".aligned", "bar")."""
    return " convergent" if _TOGETHER.search(text) else ""


def mangled(type: Type) -> str:
    """The suffix that an overloaded intrinsic gets for a type (LLVM's `getMangledTypeStr`)."""
    from tessera_tools.dialects.llvm.types import ArrayType, StructType

    if isinstance(type, IntegerType):
        return f"i{type.width}"
    if isinstance(type, FloatType):
        return type.keyword
    if isinstance(type, VectorType):
        scalable = "nx" if any(type.scalable) else ""
        return f"{scalable}v{type.shape[0]}{mangled(type.element)}"
    if isinstance(type, PointerType):
        return f"p{type.address_space}"
    if isinstance(type, ArrayType):
        return f"a{type.count}{mangled(type.element)}"
    if isinstance(type, StructType) and type.types is not None:
        return f"sl_{''.join(map(mangled, type.types))}s"
    raise ValueError(f"{type} has no name in an intrinsic")
