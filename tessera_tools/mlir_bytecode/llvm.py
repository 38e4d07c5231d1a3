"""The encodings of the `llvm` dialect's debug information and loop annotations
(mlir/include/mlir/Dialect/LLVMIR/LLVMDialectBytecode.td).

They keep the identity of `distinct` attributes, which text cannot. Attributes that dialect `llvm` has upstream but not
here are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from tessera_tools.dialects.llvm import debug_info as di
from tessera_tools.dialects.llvm import loops
from tessera_tools.ir import builtin_attributes as ba
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.location import FusedLoc
from tessera_tools.mlir_bytecode.forms import (
    ATTRIBUTE,
    BOOL,
    NUMBER,
    STRING,
    EntryReader,
    EntryWriter,
    Form,
    Forms,
    Member,
    attribute_of,
    listed,
    optional_attribute_of,
)

_LANGUAGES = dict(
    enumerate(
        (
            "C89", "C", "Ada83", "C_plus_plus", "Cobol74", "Cobol85", "Fortran77", "Fortran90", "Pascal83", "Modula2",
            "Java", "C99", "Ada95", "Fortran95", "PLI", "ObjC", "ObjC_plus_plus", "UPC", "D", "Python", "OpenCL", "Go",
            "Modula3", "Haskell", "C_plus_plus_03", "C_plus_plus_11", "OCaml", "Rust", "C11", "Swift", "Julia", "Dylan",
            "C_plus_plus_14", "Fortran03", "Fortran08", "RenderScript", "BLISS", "Kotlin", "Zig", "Crystal",
        ),
        1,
    )
) | {
    0x2A: "C_plus_plus_17", 0x2B: "C_plus_plus_20", 0x2C: "C17", 0x2D: "Fortran18", 0x30: "HIP", 0x33: "Mojo",
}  # fmt: skip
_ENCODINGS = {0: ""} | dict(
    enumerate(
        (
            "address", "boolean", "complex_float", "float", "signed", "signed_char", "unsigned", "unsigned_char",
            "imaginary_float", "packed_decimal", "numeric_string", "edited", "signed_fixed", "unsigned_fixed",
            "decimal_float", "UTF", "UCS", "ASCII",
        ),
        1,
    )
)  # fmt: skip
_TAGS = {0x00: "null", 0x12: "string_type", 0x24: "base_type", 0x3B: "unspecified_type"}
_CONVENTIONS = {
    0: "", 1: "normal", 2: "program", 3: "nocall", 4: "pass_by_reference", 5: "pass_by_value",
}  # fmt: skip
_EMISSIONS = dict(enumerate(("None", "Full", "LineTablesOnly", "DebugDirectivesOnly")))
_NAME_TABLES = dict(enumerate(("Default", "GNU", "None", "Apple")))
_FLAGS = (
    "Virtual", "PureVirtual", "LocalToUnit", "Definition", "Optimized", "Pure", "Elemental", "Recursive",
    "MainSubprogram", "Deleted", "", "ObjCDirect",
)  # fmt: skip


def _word(noun: str, words: Mapping[int, str], prefix: str = "") -> Member:
    """A number that has a name, in the attribute; an empty name has no prefix."""
    texts = {number: prefix + word if word else "" for number, word in words.items()}
    numbers = {text: number for number, text in texts.items()}

    def read(e: EntryReader) -> str:
        at = e.c.pos
        number = e.c.varint()
        if number not in texts:
            e.c.fail(f"{noun} {number} is not supported", at=at)
        return texts[number]

    member = Member(read, lambda e, value: e.w.varint(numbers[value]))
    _NAMED[member] = frozenset(numbers)
    return member


_NAMED: dict[Member, frozenset[str]] = {}
"""The names that a member can encode."""


def _read_flags(e: EntryReader) -> str:
    at = e.c.pos
    bits = e.c.varint()
    words = [word for number, word in enumerate(_FLAGS) if bits >> number & 1]
    if bits >> len(_FLAGS) or "" in words:
        e.c.fail(f"flags {bits} of a subprogram are not supported", at=at)
    return "|".join(words)


def _write_flags(e: EntryWriter, text: str) -> None:
    e.w.varint(sum(1 << _FLAGS.index(word) for word in text.split("|") if word))


def _read_optional_list(e: EntryReader) -> tuple[Attribute | None, ...]:
    return _OPTIONALS.read(e) if e.c.byte() else ()


def _write_optional_list(e: EntryWriter, values: Sequence[Attribute]) -> None:
    e.w.byte(bool(values))
    if values:
        _OPTIONALS.write(e, values)


def _no_list(noun: str) -> Member:
    """A list that attributes have upstream but not here: absent."""

    def read(e: EntryReader) -> None:
        at = e.c.pos
        if e.c.byte():
            e.c.fail(f"{noun} are not supported", at=at)

    return Member(read, lambda e, value: e.w.byte(0))


_OPTIONAL = optional_attribute_of(Attribute, "an attribute")
_OPTIONALS = listed(_OPTIONAL, "elements")
_OPTIONAL_LIST = Member(_read_optional_list, _write_optional_list)
_OPTIONAL_STRING = optional_attribute_of(ba.StringAttr, "a string attribute")
_OPTIONAL_DISTINCT = optional_attribute_of(ba.DistinctAttr, "a distinct attribute")
_OPTIONAL_FILE = optional_attribute_of(di.DIFileAttr, "a file")
_OPTIONAL_BOOL = optional_attribute_of(ba.IntegerAttr, "a boolean attribute")
_OPTIONAL_FUSED = optional_attribute_of(FusedLoc, "a fused location")


def _record(code: int, cls: type[Attribute], **members: Member[Any]) -> Form:
    """The encoding of an attribute: its parameters, by name, in the order of the encoding. A name that begins with an
    underscore is not a parameter."""
    names = tuple(members)
    assert cls._fields and {n for n in names if n[0] != "_"} >= set(cls._fields) - {"splitDebugFilename"}

    def build(*values: object) -> Attribute:
        return cls(**{name: value for name, value in zip(names, values, strict=True) if name[0] != "_"})

    return Form(
        code,
        tuple(members.values()),
        build,
        lambda a: [None if n[0] == "_" else getattr(a, n) for n in names],
    )


_FORMS: dict[type[Attribute], Form] = {
    di.DIBasicTypeAttr: _record(
        0, di.DIBasicTypeAttr, tag=_word("tag", _TAGS, "DW_TAG_"),
        label=Member(lambda e: ba.StringAttr(STRING.read(e)), lambda e, s: STRING.write(e, s.value)),
        sizeInBits=NUMBER, encoding=_word("encoding", _ENCODINGS, "DW_ATE_"),
    ),
    di.DICompileUnitAttr: _record(
        1, di.DICompileUnitAttr, id=attribute_of(ba.DistinctAttr, "a distinct attribute"),
        sourceLanguage=_word("language", _LANGUAGES, "DW_LANG_"), file=attribute_of(di.DIFileAttr, "a file"),
        producer=_OPTIONAL_STRING, isOptimized=BOOL, emissionKind=_word("emission kind", _EMISSIONS),
        nameTableKind=_word("kind of name table", _NAME_TABLES),
    ),
    di.DIFileAttr: _record(6, di.DIFileAttr, file=STRING, directory=STRING),
    di.DILexicalBlockAttr: _record(
        11, di.DILexicalBlockAttr, scope=ATTRIBUTE, file=_OPTIONAL_FILE, line=NUMBER, column=NUMBER
    ),
    di.DILexicalBlockFileAttr: _record(
        12, di.DILexicalBlockFileAttr, scope=ATTRIBUTE, file=_OPTIONAL_FILE, discriminator=NUMBER
    ),
    di.DISubprogramAttr: _record(
        15, di.DISubprogramAttr, recId=_OPTIONAL_DISTINCT, isRecSelf=BOOL, id=_OPTIONAL_DISTINCT,
        compileUnit=optional_attribute_of(di.DICompileUnitAttr, "a compile unit"), scope=_OPTIONAL,
        label=_OPTIONAL_STRING, linkageName=_OPTIONAL_STRING, file=_OPTIONAL_FILE, line=NUMBER, scopeLine=NUMBER,
        subprogramFlags=Member(_read_flags, _write_flags),
        type=optional_attribute_of(di.DISubroutineTypeAttr, "a subroutine type"), retainedNodes=_OPTIONAL_LIST,
        _annotations=_no_list("annotations of a subprogram"),
    ),
    di.DISubroutineTypeAttr: _record(
        17, di.DISubroutineTypeAttr, callingConvention=_word("calling convention", _CONVENTIONS, "DW_CC_"),
        types=_OPTIONAL_LIST,
    ),
    loops.LoopAnnotationAttr: _record(
        18, loops.LoopAnnotationAttr, disableNonforced=_OPTIONAL_BOOL,
        vectorize=optional_attribute_of(loops.LoopVectorizeAttr, "a vectorization"),
        interleave=optional_attribute_of(loops.LoopInterleaveAttr, "an interleaving"),
        unroll=optional_attribute_of(loops.LoopUnrollAttr, "an unrolling"),
        unrollAndJam=optional_attribute_of(loops.LoopUnrollAndJamAttr, "an unroll-and-jam"),
        licm=optional_attribute_of(loops.LoopLICMAttr, "a loop-invariant code motion"),
        distribute=optional_attribute_of(loops.LoopDistributeAttr, "a distribution"),
        pipeline=optional_attribute_of(loops.LoopPipelineAttr, "a pipelining"),
        peeled=optional_attribute_of(loops.LoopPeeledAttr, "a peeling"),
        unswitch=optional_attribute_of(loops.LoopUnswitchAttr, "an unswitching"), mustProgress=_OPTIONAL_BOOL,
        isVectorized=_OPTIONAL_BOOL, startLoc=_OPTIONAL_FUSED, endLoc=_OPTIONAL_FUSED,
        parallelAccesses=_OPTIONAL_LIST,
    ),
}  # fmt: skip

_UNSUPPORTED = {
    2: "di_composite_type", 3: "di_derived_type", 4: "di_expression_elem", 5: "di_expression",
    7: "di_global_variable", 8: "di_global_variable_expression", 9: "di_imported_entity", 10: "di_label",
    13: "di_local_variable", 14: "di_namespace", 16: "di_subrange",
}  # fmt: skip


def _refuse(name: str) -> Callable[[EntryReader], NoReturn]:
    def read(e: EntryReader) -> NoReturn:
        e.fail(f"attribute '#llvm.{name}' is not supported")

    return read


def _code(a: Attribute) -> int | None:
    """The code of an attribute; None if it holds what the encoding cannot represent, and is written as text."""
    form = _FORMS.get(type(a))
    if form is None or (isinstance(a, di.DICompileUnitAttr) and a.splitDebugFilename is not None):
        return None
    # Upstream has only fused locations here.
    if isinstance(a, loops.LoopAnnotationAttr) and not all(
        isinstance(place, FusedLoc | None) for place in (a.startLoc, a.endLoc)
    ):
        return None
    for member, value in zip(form.members, form.split(a), strict=True):
        if member in _NAMED and value not in _NAMED[member]:
            return None
    return form.code


ATTRIBUTES = Forms(
    (
        *_FORMS.values(),
        *(
            Form(n, (Member(_refuse(name), lambda e, v: None),), lambda v: v, lambda v: (v,))
            for n, name in _UNSUPPORTED.items()
        ),
    ),
    _code,
)
