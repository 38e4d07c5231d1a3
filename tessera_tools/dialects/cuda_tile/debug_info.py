"""Debug information of `cuda_tile`: which source file, function and block an operation's position belongs to.

    #cuda_tile.di_file<"k.py" in "/kernels">     #cuda_tile.di_compile_unit<file = #f>
    #cuda_tile.di_subprogram<file = #f, line = 3, name = "k", linkageName = "k", compileUnit = #u, scopeLine = 3>
    #cuda_tile.di_lexical_block<scope = #s, file = #f, line = 4, column = 2>
    loc(#cuda_tile.di_loc<loc("k.py":4:2) in #s>)

A `di_loc` is a location; the others are the scopes that it names (AttrDefs.td of NVIDIA/cuda-tile).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tessera_tools.ir.attributes import Attribute, HasAliasedParts
from tessera_tools.ir.builtin_attributes import quote
from tessera_tools.ir.location import FileLineColLoc, Location

if TYPE_CHECKING:
    from tessera_tools.ir.scanner import Scanner


class DIFileAttr(Attribute, name="cuda_tile.di_file"):
    """A source file."""

    file_name: str
    directory: str

    @classmethod
    def parse(cls, s: Scanner) -> DIFileAttr:
        """What follows `di_file`."""
        s.expect("<")
        name = s.string()
        s.expect("in")
        directory = s.string()
        s.expect(">")
        return cls(name, directory)

    alias = "di_file"

    def text(self) -> str:
        return f"#cuda_tile.di_file<{quote(self.file_name)} in {quote(self.directory)}>"


class DICompileUnitAttr(HasAliasedParts, name="cuda_tile.di_compile_unit"):
    """A compile unit: the root of all scopes."""

    file: DIFileAttr

    @classmethod
    def parse(cls, s: Scanner) -> DICompileUnitAttr:
        """What follows `di_compile_unit`."""
        fields = _fields(s, {"file": DIFileAttr})
        return cls(fields["file"])

    alias = "di_compile_unit"

    def alias_parts(self) -> tuple[Attribute, ...]:
        return (self.file,)

    def alias_text(self, name: Callable[[Attribute], str]) -> str:
        """The text with names for the parts."""
        return f"#cuda_tile.di_compile_unit<file = {name(self.file)}>"

    def text(self) -> str:
        return self.alias_text(str)


class DILocalScopeAttr(HasAliasedParts):
    """The base of scopes that hold positions: functions and blocks in them."""


class DISubprogramAttr(DILocalScopeAttr, name="cuda_tile.di_subprogram"):
    """A function of the source language; lines count from 1, 0 is unknown."""

    file: DIFileAttr
    line: int
    label: str
    linkage_name: str
    compile_unit: DICompileUnitAttr
    scope_line: int = 0

    @classmethod
    def parse(cls, s: Scanner) -> DISubprogramAttr:
        """What follows `di_subprogram`."""
        kinds = {
            "file": DIFileAttr, "line": int, "name": str, "linkageName": str, "compileUnit": DICompileUnitAttr,
            "scopeLine": int,
        }  # fmt: skip
        found = _fields(s, kinds, optional=("scopeLine",))
        return cls(
            found["file"], found["line"], found["name"], found["linkageName"], found["compileUnit"],
            found.get("scopeLine", 0),
        )  # fmt: skip

    alias = "di_subprogram"

    def alias_parts(self) -> tuple[Attribute, ...]:
        return (self.file, self.compile_unit)

    def alias_text(self, name: Callable[[Attribute], str]) -> str:
        """The text with names for the parts."""
        scope_line = f", scopeLine = {self.scope_line}" if self.scope_line else ""
        return (
            f"#cuda_tile.di_subprogram<file = {name(self.file)}, line = {self.line}, name = {quote(self.label)}, "
            f"linkageName = {quote(self.linkage_name)}, compileUnit = {name(self.compile_unit)}{scope_line}>"
        )

    def text(self) -> str:
        return self.alias_text(str)


class DILexicalBlockAttr(DILocalScopeAttr, name="cuda_tile.di_lexical_block"):
    """A block in a function, such as the body of a condition."""

    scope: DILocalScopeAttr
    file: DIFileAttr
    line: int
    column: int = 0

    @classmethod
    def parse(cls, s: Scanner) -> DILexicalBlockAttr:
        """What follows `di_lexical_block`."""
        kinds = {"scope": DILocalScopeAttr, "file": DIFileAttr, "line": int, "column": int}
        found = _fields(s, kinds, optional=("column",))
        return cls(found["scope"], found["file"], found["line"], found.get("column", 0))

    alias = "di_lexical_block"

    def alias_parts(self) -> tuple[Attribute, ...]:
        return (self.scope, self.file)

    def alias_text(self, name: Callable[[Attribute], str]) -> str:
        """The text with names for the parts."""
        column = f", column = {self.column}" if self.column else ""
        return (
            f"#cuda_tile.di_lexical_block<scope = {name(self.scope)}, file = {name(self.file)}, "
            f"line = {self.line}{column}>"
        )

    def text(self) -> str:
        return self.alias_text(str)


class DILocAttr(HasAliasedParts, Location, name="cuda_tile.di_loc"):
    """A position in a source file, and the scope that it belongs to."""

    source: FileLineColLoc
    scope: DILocalScopeAttr

    def start(self) -> tuple[str, int, int]:
        return self.source.start()

    @classmethod
    def parse(cls, s: Scanner) -> DILocAttr:
        """What follows `di_loc`."""
        s.expect("<")
        source = s.attribute()
        if not isinstance(source, FileLineColLoc):
            raise s.error(f"expected a position in a file, 'loc(\"file\":line:column)', found '{source}'")
        s.expect("in")
        scope = s.attribute()
        if not isinstance(scope, DILocalScopeAttr):
            raise s.error(f"expected a di_subprogram or di_lexical_block as the scope, found '{scope}'")
        s.expect(">")
        return cls(source, scope)

    def alias_parts(self) -> tuple[Attribute, ...]:
        return (self.source, self.scope)

    def alias_text(self, name: Callable[[Attribute], str]) -> str:
        """The text with names for the parts."""
        return f"#cuda_tile.di_loc<{name(self.source)} in {name(self.scope)}>"

    def body(self) -> str:
        return self.alias_text(str)

    def text(self) -> str:
        return self.body()


DEBUG_INFO = (DIFileAttr, DICompileUnitAttr, DISubprogramAttr, DILexicalBlockAttr, DILocAttr)


def _fields(s: Scanner, kinds: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """`<key = value, …>` in any order; each value is a number, a string or an attribute of a class."""
    found: dict[str, Any] = {}
    s.expect("<")
    while True:
        key = s.optional_word()
        if key is None:
            raise s.error(
                f"expected a parameter name in struct, one of {', '.join(kinds)}; found {s.found()}"
            )
        if key not in kinds or key in found:
            problem = "given twice" if key in found else f"unknown; expected one of {', '.join(kinds)}"
            raise s.error(f"'{key}' is {problem}")
        s.expect("=")
        kind = kinds[key]
        if kind is int:
            found[key] = s.integer()
            if found[key] < 0:
                raise s.error(f"'{key}' must not be negative, got {found[key]}")
        elif kind is str:
            found[key] = s.string()
        else:
            found[key] = s.attribute()
            if not isinstance(found[key], kind):
                raise s.error(f"'{key}' must be a {kind.name or 'di_subprogram or di_lexical_block'}")
        if not s.optional(","):
            break
    s.expect(">")
    missing = [key for key in kinds if key not in found and key not in optional]
    if missing:
        raise s.error(f"struct is missing required parameter: {missing[0]}")
    return found
