"""Debug information as attributes, under LLVM's names (LLVM LangRef, "Specialized Metadata").

#llvm.di_file<"k.py" in "/src">   #llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C, …>
loc(fused<#llvm.di_subprogram<…>>["k.py":3:7])  attaches a scope to a function
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tessera_tools.dialects.llvm.records import (
    ATTRIBUTE,
    BOOL,
    INTEGER,
    STRING,
    WORD,
    Parameter,
    Parametrized,
    Record,
    listed,
    record,
)
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import StringAttr, quote

if TYPE_CHECKING:
    from tessera_tools.ir.scanner import Scanner


def _read_flags(s: Scanner) -> str:
    if s.peek('"'):
        return s.string()
    words = [s.word()]
    while s.optional("|"):
        words.append(s.word())
    return "|".join(words)


FLAGS = Parameter(_read_flags, lambda value: quote(value) if "|" in value else value)


class DIFileAttr(Parametrized, name="llvm.di_file"):
    """`#llvm.di_file<"name" in "directory">`."""

    file: str
    directory: str

    def parameters_text(self) -> str:
        return f"<{quote(self.file)} in {quote(self.directory)}>"

    @classmethod
    def parse(cls, s: Scanner) -> DIFileAttr:
        s.expect("<")
        file = s.string()
        s.expect("in")
        directory = s.string()
        s.expect(">")
        return cls(file, directory)


FILE = record(lambda: DIFileAttr)


class DINullTypeAttr(Attribute, name="llvm.di_null_type"):
    """`void` in a subroutine type."""


class DIBasicTypeAttr(Record, name="llvm.di_basic_type"):
    """A basic type; sizes in bits."""

    label: StringAttr
    tag: str = "DW_TAG_null"
    sizeInBits: int = 0
    encoding: str = ""
    parameters_as: ClassVar = {"tag": WORD, "label": STRING, "sizeInBits": INTEGER, "encoding": WORD}
    spelled: ClassVar = {"label": "name"}


class DICompileUnitAttr(Record, name="llvm.di_compile_unit"):
    """A compile unit; `emissionKind` is None, Full, LineTablesOnly or DebugDirectivesOnly."""

    id: Attribute
    sourceLanguage: str
    file: DIFileAttr
    isOptimized: bool
    emissionKind: str
    producer: StringAttr | None = None
    nameTableKind: str = "Default"
    splitDebugFilename: StringAttr | None = None
    parameters_as: ClassVar = {
        "id": ATTRIBUTE, "sourceLanguage": WORD, "file": FILE, "producer": STRING, "isOptimized": BOOL,
        "emissionKind": WORD, "nameTableKind": WORD, "splitDebugFilename": STRING,
    }  # fmt: skip


class DISubroutineTypeAttr(Record, name="llvm.di_subroutine_type"):
    """The type of a function: result first (`#llvm.di_null_type` for none)."""

    callingConvention: str = ""
    types: tuple[Attribute, ...] = ()
    parameters_as: ClassVar = {"callingConvention": WORD, "types": listed(ATTRIBUTE)}


class DISubprogramAttr(Record, name="llvm.di_subprogram"):
    """A function.  `label` is its source name (`name` in the text)."""

    recId: Attribute | None = None
    isRecSelf: bool = False
    id: Attribute | None = None
    compileUnit: DICompileUnitAttr | None = None
    scope: Attribute | None = None
    label: StringAttr | None = None
    linkageName: StringAttr | None = None
    file: DIFileAttr | None = None
    line: int = 0
    scopeLine: int = 0
    subprogramFlags: str = ""
    type: DISubroutineTypeAttr | None = None
    retainedNodes: tuple[Attribute, ...] = ()
    parameters_as: ClassVar = {
        "recId": ATTRIBUTE, "isRecSelf": BOOL, "id": ATTRIBUTE, "compileUnit": record(lambda: DICompileUnitAttr),
        "scope": ATTRIBUTE, "label": STRING, "linkageName": STRING, "file": FILE, "line": INTEGER,
        "scopeLine": INTEGER, "subprogramFlags": FLAGS, "type": record(lambda: DISubroutineTypeAttr),
        "retainedNodes": listed(ATTRIBUTE),
    }  # fmt: skip
    spelled: ClassVar = {"label": "name"}


class DILexicalBlockAttr(Record, name="llvm.di_lexical_block"):
    """A block inside a function."""

    scope: Attribute
    file: DIFileAttr | None = None
    line: int = 0
    column: int = 0
    parameters_as: ClassVar = {"scope": ATTRIBUTE, "file": FILE, "line": INTEGER, "column": INTEGER}


class DILexicalBlockFileAttr(Record, name="llvm.di_lexical_block_file"):
    """A block that comes from another file."""

    scope: Attribute
    discriminator: int
    file: DIFileAttr | None = None
    parameters_as: ClassVar = {"scope": ATTRIBUTE, "file": FILE, "discriminator": INTEGER}
