"""The attributes of the llvm dialect, and the kinds in which its ops hold enumerations.

Upstream has some enumerations as separate attributes (`#llvm.linkage<internal>`), others as integers whose
keywords only the custom form writes (`predicate = 2 : i64` is `"slt"`), and bit flags as `i32`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tessera_tools.dialects.arith.attributes import CMPF_PREDICATES, CMPI_PREDICATES
from tessera_tools.dialects.llvm.aliasing import AccessGroupAttr, AliasScopeAttr, TBAATagAttr
from tessera_tools.dialects.llvm.records import (
    BOOL,
    INTEGER,
    NUMBER,
    STRING,
    WORD,
    Parametrized,
    Record,
    record,
)
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    ArrayAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    quote,
    symbol_text,
)
from tessera_tools.ir.types import I32, I64
from tessera_tools.opdef import AttrKind, EnumAttr, integer_enum

if TYPE_CHECKING:
    from typing import Self

    from tessera_tools.ir.scanner import Scanner
    from tessera_tools.opdef.directive import Node


class _Flags(EnumAttr):
    """Bit flags, `a, b`; kept in the order of `cases`."""

    separator = ", "

    @classmethod
    def parse(cls, scanner: Scanner) -> Attribute:
        scanner.expect("<")
        words = [scanner.word()]
        while scanner.optional(","):
            words.append(scanner.word())
        scanner.expect(">")
        return cls.of(*words)

    @classmethod
    def of(cls, *words: str) -> Self:
        """The flags of the given names."""
        for word in words:
            if word not in cls.cases:
                raise ValueError(
                    f"unknown {cls.name.split('.')[-1]} '{word}'; expected one of {', '.join(cls.cases)}"
                )
        chosen = [c for c in cls.cases if c in words and c != "none"]
        return cls(", ".join(chosen) if chosen else "none")


class FastmathFlagsAttr(_Flags, name="llvm.fastmath"):
    """Assumptions of floating-point operations (LLVM LangRef, "Fast-Math Flags")."""

    cases = ("none", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc", "fast")

    @classmethod
    def of(cls, *words: str) -> Self:
        if "fast" in words or set(cls.cases[1:-1]) <= set(words):
            return cls("fast")
        return super().of(*words)

    def llvm_text(self) -> str:
        """The flags before an instruction's type, followed by a space, in LLVM's order."""
        if self.value in ("none", "fast"):
            return "" if self.value == "none" else "fast "
        chosen = self.value.split(", ")
        return "".join(f"{flag} " for flag in _LLVM_FLAG_ORDER if flag in chosen)


_LLVM_FLAG_ORDER = ("reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn")


class OverflowFlagsAttr(_Flags, name="llvm.overflow"):
    """`#llvm.overflow<nsw, nuw>`; ops hold the bits."""

    cases = ("none", "nsw", "nuw")


class LinkageAttr(EnumAttr, name="llvm.linkage"):
    """The linkage of a symbol."""

    cases = (
        "external", "available_externally", "linkonce", "linkonce_odr", "weak", "weak_odr", "appending", "internal",
        "private", "extern_weak", "common",
    )  # fmt: skip


class CConvAttr(EnumAttr, name="llvm.cconv"):
    """A calling convention."""

    cases = (
        "ccc", "fastcc", "coldcc", "cc_10", "cc_11", "anyregcc", "preserve_mostcc", "preserve_allcc", "swiftcc",
        "cxx_fast_tlscc", "tailcc", "swifttailcc", "ptx_kernelcc", "ptx_devicecc", "spir_funccc", "spir_kernelcc",
        "x86_64_sysvcc", "win64cc", "amdgpu_kernelcc",
    )  # fmt: skip

    def llvm_text(self) -> str:
        """LLVM's keyword followed by a space; empty for the C convention."""
        return _LLVM_CONVENTIONS.get(self.value, f"{self.value} ")


_LLVM_CONVENTIONS = {
    "ccc": "", "ptx_kernelcc": "ptx_kernel ", "ptx_devicecc": "ptx_device ", "spir_funccc": "spir_func ",
    "spir_kernelcc": "spir_kernel ", "amdgpu_kernelcc": "amdgpu_kernel ", "cc_10": "ghccc ", "cc_11": "cc11 ",
}  # fmt: skip


class TailCallKindAttr(EnumAttr, name="llvm.tailcallkind"):
    """Whether a call is a tail call."""

    cases = ("none", "tail", "musttail", "notail")


class FramePointerKindAttr(EnumAttr, name="llvm.framePointerKind"):
    """Which functions keep a frame pointer."""

    cases = ("none", "non-leaf", "all", "reserved", "non-leaf-no-reserve")

    @classmethod
    def parse(cls, scanner: Scanner) -> Attribute:
        scanner.expect("<")
        if scanner.peek('"'):
            word = scanner.string()
        else:
            word = scanner.word()
            while scanner.optional("-"):
                word += "-" + scanner.word()
        scanner.expect(">")
        return cls(word)

    def text(self) -> str:
        shown = quote(self.value) if "-" in self.value else self.value
        return f"#{self.name}<{shown}>"


class UWTableKindAttr(EnumAttr, name="llvm.uwtableKind"):
    """Which unwind tables a function has."""

    cases = ("none", "sync", "async")


class ZeroAttr(Attribute, name="llvm.zero"):
    """`#llvm.zero` inside an array constant."""


class UndefAttr(Attribute, name="llvm.undef"):
    """`#llvm.undef` inside an array constant."""


class PoisonAttr(Attribute, name="llvm.poison"):
    """`#llvm.poison`: a folded `llvm.mlir.poison`."""


class AddressSpaceAttr(Attribute, name="llvm.address_space"):
    """`#llvm.address_space<3>`."""

    address_space: int

    def text(self) -> str:
        return f"#llvm.address_space<{self.address_space}>"

    @classmethod
    def parse(cls, s: Scanner) -> AddressSpaceAttr:
        s.expect("<")
        space = s.integer()
        s.expect(">")
        return cls(space)


class ConstantRangeAttr(Parametrized, name="llvm.constant_range"):
    """`#llvm.constant_range<i32, 0, 1024>`: from the lower bound up to, without, the upper."""

    type: Type
    lower: int
    upper: int

    def parameters_text(self) -> str:
        return f"<{self.type}, {self.lower}, {self.upper}>"

    @classmethod
    def parse(cls, s: Scanner) -> ConstantRangeAttr:
        s.expect("<")
        type = s.type()
        s.expect(",")
        lower = s.integer()
        s.expect(",")
        upper = s.integer()
        s.expect(">")
        return cls(type, lower, upper)


class TargetFeaturesAttr(Parametrized, name="llvm.target_features"):
    """`#llvm.target_features<["+ptx86"]>`."""

    features: tuple[str, ...] = ()

    def parameters_text(self) -> str:
        return f"<[{', '.join(map(quote, self.features))}]>"

    @classmethod
    def parse(cls, s: Scanner) -> TargetFeaturesAttr:
        s.expect("<")
        features = s.list("[", s.string, "]")
        s.expect(">")
        return cls(tuple(features))


class TargetAttr(Record, name="llvm.target"):
    """`#llvm.target<triple = "…", chip = "…", features = <…>>`."""

    triple: StringAttr
    chip: StringAttr
    features: TargetFeaturesAttr | None = None
    parameters_as: ClassVar = {
        "triple": STRING,
        "chip": STRING,
        "features": record(lambda: TargetFeaturesAttr),
    }


class MemoryEffectsAttr(Record, name="llvm.memory_effects"):
    """The effects of a function on each kind of memory: none, read, write or readwrite."""

    other: str
    argMem: str
    inaccessibleMem: str
    errnoMem: str
    targetMem0: str
    targetMem1: str
    parameters_as: ClassVar = {
        "other": WORD, "argMem": WORD, "inaccessibleMem": WORD, "errnoMem": WORD, "targetMem0": WORD,
        "targetMem1": WORD,
    }  # fmt: skip

    def llvm_text(self) -> str:
        """LLVM's function attribute, `memory(…)`."""
        locations = {
            "argMem": "argmem", "inaccessibleMem": "inaccessiblemem", "errnoMem": "errnomem",
            "targetMem0": "target_mem0", "targetMem1": "target_mem1",
        }  # fmt: skip
        parts = [
            f"{llvm}: {getattr(self, key)}"
            for key, llvm in locations.items()
            if getattr(self, key) != self.other
        ]
        if self.other != "none" or not parts:
            parts.insert(0, self.other)
        return f"memory({', '.join(parts)})"


class DereferenceableAttr(Record, name="llvm.dereferenceable"):
    """The number of bytes at a loaded pointer that may be read."""

    bytes: int
    mayBeNull: bool = False
    parameters_as: ClassVar = {"bytes": INTEGER, "mayBeNull": BOOL}


class VScaleRangeAttr(Record, name="llvm.vscale_range"):
    """Bounds of the vector-length multiplier."""

    minRange: IntegerAttr
    maxRange: IntegerAttr
    parameters_as: ClassVar = {"minRange": NUMBER, "maxRange": NUMBER}


class ModuleFlagAttr(Attribute, name="llvm.mlir.module_flag"):
    """`#llvm.mlir.module_flag<error, "key", value>`."""

    behavior: str
    key: str
    value: Attribute

    def verify(self) -> None:
        if self.behavior not in FLAG_BEHAVIORS:
            raise ValueError(
                f"unknown module flag behavior '{self.behavior}'; expected {', '.join(FLAG_BEHAVIORS)}"
            )
        if self.key == "CG Profile":
            entries = self.value if isinstance(self.value, ArrayAttr) else [self.value]
            if any(entry.name != "llvm.cgprofile_entry" for entry in entries):
                raise ValueError("'CG Profile' key expects an array of '#llvm.cgprofile_entry'")
        elif self.key == "ProfileSummary":
            if self.value.name != "llvm.profile_summary":
                raise ValueError("'ProfileSummary' key expects a '#llvm.profile_summary' attribute")
        elif not isinstance(self.value, IntegerAttr | StringAttr):
            raise ValueError(
                f"only integer and string values are currently supported for unknown key '{quote(self.key)}'"
            )

    def text(self) -> str:
        return f"#llvm.mlir.module_flag<{self.behavior}, {quote(self.key)}, {self.value}>"

    @classmethod
    def parse(cls, s: Scanner) -> ModuleFlagAttr:
        s.expect("<")
        behavior = s.word()
        s.expect(",")
        key = s.string()
        s.expect(",")
        value = s.attribute()
        s.expect(">")
        return cls(behavior, key, value)


FLAG_BEHAVIORS = {
    "error": 1, "warning": 2, "require": 3, "override": 4, "append": 5, "append_unique": 6, "max": 7, "min": 8,
}  # fmt: skip
"""LLVM's numbers of module flag behaviors."""


FCMP_PREDICATES = tuple(f"_{p}" if p in ("false", "true") else p for p in CMPF_PREDICATES)
ORDERINGS = {
    "not_atomic": 0, "unordered": 1, "monotonic": 2, "acquire": 4, "release": 5, "acq_rel": 6, "seq_cst": 7,
}  # fmt: skip
ATOMIC_OPERATIONS = (
    "xchg", "add", "sub", "_and", "nand", "_or", "_xor", "max", "min", "umax", "umin", "fadd", "fsub", "fmax", "fmin",
    "uinc_wrap", "udec_wrap", "usub_cond", "usub_sat", "fmaximum", "fminimum",
)  # fmt: skip


def _numbered(names: tuple[str, ...]) -> dict[str, int]:
    return {name: i for i, name in enumerate(names)}


def quoted_enum(summary: str, names: tuple[str, ...]) -> AttrKind[IntegerAttr]:
    """An `i64` whose case the custom form writes as a string: `"slt"`."""
    plain = integer_enum(summary, _numbered(names))
    return AttrKind(plain.summary, plain.check, "STRING", plain.build, lambda a: quote(names[a.value]))


def flags_i32(summary: str, names: tuple[str, ...]) -> AttrKind[IntegerAttr]:
    """Bit flags held as `i32`, written `<a, b>`; bit i is `names[i]`."""

    def build(read: Node) -> Attribute:
        bits = 0
        for token in read:
            if isinstance(token, Attribute):
                raise ValueError(f"expected {summary}s between '<' and '>', found {token}")
            if token[0] not in names and token[0] != "none":
                raise ValueError(f"unknown {summary} '{token[0]}'; expected one of {', '.join(names)}")
            bits |= 1 << names.index(token[0]) if token[0] != "none" else 0
        return IntegerAttr(bits, I32)

    def write(a: IntegerAttr) -> str:
        return f"<{', '.join(n for i, n in enumerate(names) if a.value >> i & 1) or 'none'}>"

    def check(a: Attribute) -> bool:
        return isinstance(a, IntegerAttr) and a.type is I32 and 0 <= a.value < 1 << len(names)

    return AttrKind(summary, check, "angled_keywords", build, write)


def symbol_reference(ref: SymbolRefAttr) -> str:
    """The text of a symbol reference."""
    return "::".join(symbol_text(part) for part in (ref.root, *ref.nested))


ICMP = quoted_enum("icmp predicate", CMPI_PREDICATES)
FCMP = quoted_enum("fcmp predicate", FCMP_PREDICATES)
ORDERING = integer_enum("atomic ordering", ORDERINGS)
ATOMIC_OPERATION = integer_enum("atomic operation", _numbered(ATOMIC_OPERATIONS))
OVERFLOW = flags_i32("integer overflow flag", ("nsw", "nuw"))
VISIBILITY = integer_enum("visibility", {"default": 0, "hidden": 1, "protected": 2})
UNNAMED_ADDR = integer_enum("unnamed_addr kind", {"none": 0, "local_unnamed_addr": 1, "unnamed_addr": 2})
COMDAT_KIND = integer_enum(
    "comdat kind", {"any": 0, "exactmatch": 1, "largest": 2, "nodeduplicate": 3, "samesize": 4}
)
ASM_DIALECT = integer_enum("assembly dialect", {"att": 0, "intel": 1})


def _metadata_array(cls: type[Attribute], summary: str) -> AttrKind[ArrayAttr]:
    return AttrKind(
        f"LLVM dialect {summary}", lambda a: isinstance(a, ArrayAttr) and all(isinstance(e, cls) for e in a)
    )


ACCESS_GROUPS = _metadata_array(AccessGroupAttr, "access group metadata array")
ALIAS_SCOPES = _metadata_array(AliasScopeAttr, "alias scope array")
TBAA_TAGS = _metadata_array(TBAATagAttr, "TBAA tag metadata array")

NO_FLAGS = IntegerAttr(0, I32)
NO_FASTMATH = FastmathFlagsAttr("none")
ZERO_I64 = IntegerAttr(0, I64)
