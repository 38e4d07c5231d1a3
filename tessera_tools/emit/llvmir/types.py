"""Types of the llvm dialect as LLVM IR text.

!llvm.ptr<3> → ptr addrspace(3)    !llvm.struct<(i32, f16)> → { i32, half }    vector<4xf32> → <4 x float>
"""

from __future__ import annotations

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects.llvm.types import (
    LLVM_FLOATS,
    ArrayType,
    FunctionType,
    LabelType,
    MetadataType,
    PointerType,
    PPCFP128Type,
    StructType,
    TargetExtensionType,
    TokenType,
    VoidType,
    X86AMXType,
)
from tessera_tools.emit.llvmir.names import quoted, symbol
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import FloatType, IntegerType, VectorType

_WORDS: dict[type[Type], str] = {
    VoidType: "void", TokenType: "token", MetadataType: "metadata", LabelType: "label", X86AMXType: "x86_amx",
    PPCFP128Type: "ppc_fp128",
}  # fmt: skip


def no_counterpart(type: Type) -> Refusal:
    """The refusal of a type that LLVM IR does not have."""
    return Refusal(f"has the type '{type}', which has no counterpart in LLVM IR")


class TypeTable:
    """Type → text, cached; collects the definitions of identified structs."""

    def __init__(self) -> None:
        self.known: dict[Type, str] = {}
        self.identified: dict[str, str] = {}
        """Name of an identified struct → its body."""

    def text(self, type: Type) -> str:
        """The type's text. Raises Refusal for a type that LLVM IR does not have."""
        found = self.known.get(type)
        if found is None:
            found = self.known[type] = self._make(type)
        return found

    def _make(self, type: Type) -> str:
        if isinstance(type, IntegerType) and type.signedness == "signless":
            return f"i{type.width}"
        if isinstance(type, FloatType) and type.keyword in LLVM_FLOATS:
            return LLVM_FLOATS[type.keyword]
        if isinstance(type, PointerType):
            return f"ptr addrspace({type.address_space})" if type.address_space else "ptr"
        if isinstance(type, VectorType) and type.rank == 1:
            scale = "vscale x " if any(type.scalable) else ""
            return f"<{scale}{type.shape[0]} x {self.text(type.element)}>"
        if isinstance(type, ArrayType):
            return f"[{type.count} x {self.text(type.element)}]"
        if isinstance(type, StructType):
            return self._struct(type)
        if isinstance(type, FunctionType):
            parts = [*map(self.text, type.params), *(["..."] if type.variadic else [])]
            return f"{self.text(type.result)} ({', '.join(parts)})"
        if isinstance(type, TargetExtensionType):
            parts = [quoted(type.label), *map(self.text, type.types), *map(str, type.integers)]
            return f"target({', '.join(parts)})"
        word = _WORDS.get(type.__class__)
        if word is None:
            raise no_counterpart(type)
        return word

    def _struct(self, type: StructType) -> str:
        if type.label is None:
            return self._fields(type)
        if type.label not in self.identified and (type.types is not None or type.opaque):
            self.identified[type.label] = ""
            self.identified[type.label] = "opaque" if type.types is None else self._fields(type)
        return "%" + symbol(type.label)

    def _fields(self, type: StructType) -> str:
        inside = ", ".join(map(self.text, type.types or ()))
        text = f"{{ {inside} }}" if inside else "{}"
        return f"<{text}>" if type.packed else text
