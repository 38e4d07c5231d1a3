"""The types of the llvm dialect.

    !llvm.ptr   !llvm.ptr<3>   !llvm.array<4 x i8>   !llvm.struct<(i32, ptr)>   !llvm.struct<packed (i8, i32)>
    !llvm.struct<"name", (i32)>   !llvm.struct<"name", opaque>   !llvm.func<void (ptr, ...)>   !llvm.void   …

Inside another llvm type the prefix `!llvm.` is left away.  Vectors are builtin `vector<…>`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import quote
from tessera_tools.ir.effects import Resource
from tessera_tools.ir.types import FloatType, IndexType, IntegerType, VectorType

if TYPE_CHECKING:
    from tessera_tools.ir.scanner import Scanner


class LLVMType(Type):
    """The base of the dialect's types; `body()` is the text after `!llvm.`."""

    def body(self) -> str:
        return self.name.split(".", 1)[1]

    def text(self) -> str:
        return f"!llvm.{self.body()}"

    @classmethod
    def parse(cls, s: Scanner) -> LLVMType:
        return cls()


class VoidType(LLVMType, name="llvm.void"):
    """No value; only as a function's result."""


class TokenType(LLVMType, name="llvm.token"):
    """A token."""


class MetadataType(LLVMType, name="llvm.metadata"):
    """Metadata as a value."""


class LabelType(LLVMType, name="llvm.label"):
    """A block as a value."""


class X86AMXType(LLVMType, name="llvm.x86_amx"):
    """An AMX tile register; read for completeness, refused by the NVPTX backend."""


class PPCFP128Type(LLVMType, name="llvm.ppc_fp128"):
    """A pair of doubles; read for completeness."""


class PointerType(LLVMType, name="llvm.ptr"):
    """`ptr<address space>`: 0 generic, 1 global, 3 shared, 4 constant, 5 local, 6 tensor memory, 7 shared::cluster."""

    address_space: int = 0

    @property
    def resource(self) -> Resource:
        return {1: Resource.GLOBAL, 3: Resource.SHARED}.get(self.address_space, Resource.MEMORY)

    def body(self) -> str:
        return f"ptr<{self.address_space}>" if self.address_space else "ptr"

    @classmethod
    def parse(cls, s: Scanner) -> PointerType:
        space = 0
        if s.optional("<"):
            space = s.integer()
            s.expect(">")
        return cls(space)


class ArrayType(LLVMType, name="llvm.array"):
    """`array<count x element>`."""

    count: int
    element: Type

    def verify(self) -> None:
        if self.count < 0:
            raise ValueError(f"array extent must not be negative, got {self.count}")
        if isinstance(self.element, _NO_ELEMENT):
            raise ValueError(f"invalid array element type: '{self.element}'")

    def body(self) -> str:
        return f"array<{self.count} x {inner_text(self.element)}>"

    @classmethod
    def parse(cls, s: Scanner) -> ArrayType:
        s.expect("<")
        count = s.extent()
        element = parse_inner(s)
        s.expect(">")
        return cls(count, element)


class StructType(LLVMType, name="llvm.struct"):
    """A literal struct, or an identified one with a `label`.

    `types` is None for an opaque struct, and for a mention of an identified struct inside its own body.
    """

    types: tuple[Type, ...] | None
    packed: bool = False
    label: str | None = None
    opaque: bool = False

    def verify(self) -> None:
        for type in self.types or ():
            if isinstance(type, _NO_ELEMENT):
                raise ValueError(f"invalid LLVM structure element type: '{type}'")

    def body(self) -> str:
        parts = [] if self.label is None else [quote(self.label)]
        if self.types is not None:
            fields = f"({', '.join(map(inner_text, self.types))})"
            parts.append(f"packed {fields}" if self.packed else fields)
        elif self.opaque:
            parts.append("opaque")
        return f"struct<{', '.join(parts)}>"

    @classmethod
    def parse(cls, s: Scanner) -> StructType:
        s.expect("<")
        if not s.peek('"'):
            return cls._parse_body(s, None)
        label = s.string()
        structs: IdentifiedStructs = s.aliases.shared.setdefault(IdentifiedStructs, IdentifiedStructs())
        if s.optional(">"):
            if label not in structs.enclosing:
                raise s.error("struct without a body only allowed in a recursive struct")
            return cls(None, False, label)
        s.expect(",")
        if label in structs.enclosing:
            raise s.error("identifier already used for an enclosing struct")
        if s.optional("opaque"):
            s.expect(">")
            found = cls(None, False, label, True)
        else:
            structs.enclosing.append(label)
            try:
                found = cls._parse_body(s, label)
            finally:
                structs.enclosing.pop()
        known = structs.bodies.setdefault(label, _bodies_in_brief(found, outermost=True))
        if known != _bodies_in_brief(found, outermost=True):
            problem = (
                "redeclaring defined struct as opaque"
                if found.opaque
                else "identified type already used with a different body"
            )
            raise s.error(problem)
        return found

    @classmethod
    def _parse_body(cls, s: Scanner, label: str | None) -> StructType:
        packed = bool(s.optional("packed"))
        types = s.list("(", lambda: parse_inner(s), ")")
        s.expect(">")
        return cls(tuple(types), packed, label)


class IdentifiedStructs:
    """The identified structs of one file: each name has one body."""

    def __init__(self) -> None:
        self.enclosing: list[str] = []
        """The names of the structs that are being read."""
        self.bodies: dict[str, str] = {}
        """The text of each body."""


def _bodies_in_brief(type: Type, *, outermost: bool = False) -> str:
    """The text of a type with names in place of identified structs, whose body may be written at any depth."""
    if isinstance(type, StructType):
        if type.label is not None and not outermost:
            return quote(type.label)
        fields = "opaque" if type.types is None else ", ".join(map(_bodies_in_brief, type.types))
        return f"{'packed' if type.packed else 'struct'}({fields})"
    if isinstance(type, ArrayType):
        return f"[{type.count} x {_bodies_in_brief(type.element)}]"
    return str(type)


class FunctionType(LLVMType, name="llvm.func"):
    """`func<result (parameters, ...)>`."""

    result: Type
    params: tuple[Type, ...]
    variadic: bool = False

    def verify(self) -> None:
        if isinstance(self.result, FunctionType | MetadataType | LabelType):
            raise ValueError(f"invalid function result type: '{self.result}'")
        for type in self.params:
            if isinstance(type, FunctionType | VoidType):
                raise ValueError(f"invalid function argument type: '{type}'")

    def body(self) -> str:
        parts = [inner_text(p) for p in self.params] + (["..."] if self.variadic else [])
        return f"func<{inner_text(self.result)} ({', '.join(parts)})>"

    @classmethod
    def parse(cls, s: Scanner) -> FunctionType:
        s.expect("<")
        result = parse_inner(s)
        s.expect("(")
        parameters: list[Type] = []
        variadic = False
        while not s.peek(")"):
            if s.optional("..."):
                variadic = True
                break
            parameters.append(parse_inner(s))
            if not s.optional(","):
                break
        s.expect(")")
        s.expect(">")
        return cls(result, tuple(parameters), variadic)


class TargetExtensionType(LLVMType, name="llvm.target"):
    """`target<"name", type, …, integer, …>`."""

    label: str
    types: tuple[Type, ...] = ()
    integers: tuple[int, ...] = ()

    @property
    def has_zero(self) -> bool:
        """True if the type has a zero."""
        return self.label.startswith("spirv.")

    @property
    def is_loadable(self) -> bool:
        """True if a value of the type can be stored in memory."""
        return self.label.startswith("spirv.") or self.label == "aarch64.svcount"

    @property
    def may_be_global(self) -> bool:
        """True if a global variable can have the type."""
        return self.label.startswith("spirv.") or self.label == "amdgcn.named.barrier"

    def body(self) -> str:
        parts = [quote(self.label), *map(inner_text, self.types), *map(str, self.integers)]
        return f"target<{', '.join(parts)}>"

    @classmethod
    def parse(cls, s: Scanner) -> TargetExtensionType:
        s.expect("<")
        label = s.string()
        types: list[Type] = []
        integers: list[int] = []
        while s.optional(","):
            number = s.optional_integer()
            if number is None and integers:
                raise s.error("failed to parse parameter list for target extension type: types come first")
            if number is None:
                types.append(parse_inner(s))
            else:
                integers.append(number)
        s.expect(">")
        return cls(label, tuple(types), tuple(integers))


TYPES: tuple[type[LLVMType], ...] = (
    VoidType, TokenType, MetadataType, LabelType, X86AMXType, PPCFP128Type, PointerType, ArrayType, StructType,
    FunctionType, TargetExtensionType,
)  # fmt: skip

_NO_ELEMENT = (VoidType, LabelType, MetadataType, FunctionType, TokenType)
"""What an array or a struct does not contain."""

_INNER = {cls.name.split(".", 1)[1]: cls for cls in TYPES}


def inner_text(type: Type) -> str:
    """A type inside another llvm type."""
    return type.body() if isinstance(type, LLVMType) else str(type)


def parse_inner(s: Scanner) -> Type:
    """A type inside another llvm type, with or without the prefix."""
    for word, cls in _INNER.items():
        if s.optional(word):
            return cls.parse(s)
    return s.type()


def is_loadable(type: Type) -> bool:
    """True if a value of the type can be stored in memory."""
    if isinstance(type, VoidType | FunctionType | TokenType | LabelType | MetadataType):
        return False
    if isinstance(type, StructType) and type.opaque:
        return False
    if isinstance(type, TargetExtensionType) and not type.is_loadable:
        return False
    return is_llvm_type(type)


def is_llvm_type(type: Type) -> bool:
    """True if the dialect's ops accept the type (MLIR's `LLVM::isCompatibleType`)."""
    if isinstance(type, LLVMType):
        return True
    if isinstance(type, IntegerType):
        return type.signedness == "signless"
    if isinstance(type, FloatType):
        return type.keyword in LLVM_FLOATS
    if isinstance(type, VectorType):
        return type.rank == 1 and (is_llvm_type(type.element) and not isinstance(type.element, IndexType))
    return False


LLVM_FLOATS = {
    "f16": "half",
    "bf16": "bfloat",
    "f32": "float",
    "f64": "double",
    "f80": "x86_fp80",
    "f128": "fp128",
}
"""The floating-point types that LLVM has, with LLVM's names."""

VOID = VoidType()
PTR = PointerType(0)


def pointer(address_space: int = 0) -> PointerType:
    """`!llvm.ptr<address space>`."""
    return PointerType(address_space)


def struct(*types: Type) -> StructType:
    """A literal struct."""
    return StructType(tuple(types))
