"""Debug information: the scope and position of every instruction.

    loc("k.py":3:7) ─▶ !DILocation(line: 3, column: 7, scope: !4) ─▶ !4 = distinct !DISubprogram(…, unit: !1, …)

    loc(callsite(#cuda_tile.di_loc<loc("k.py":9:2) in #f> at #cuda_tile.di_loc<loc("k.py":3:7) in #k>))
        ─▶ !DILocation(line: 9, column: 2, scope: !7, inlinedAt: !5), where !7 is the subprogram #f

Debug levels: "none"; "directives", a compile unit of kind DebugDirectivesOnly, from which LLVM writes `.loc` lines
and nothing else; "lines", LineTablesOnly; "full", FullDebug: DWARF sections of functions, calls and lines (no
variables: a tile is distributed over the registers of many threads).  A function whose location has a
`#llvm.di_subprogram` or is in a `#cuda_tile.di_subprogram` keeps that scope.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects.cuda_tile import debug_info as ct
from tessera_tools.dialects.llvm.debug_info import (
    DIBasicTypeAttr,
    DICompileUnitAttr,
    DIFileAttr,
    DILexicalBlockAttr,
    DILexicalBlockFileAttr,
    DINullTypeAttr,
    DISubprogramAttr,
    DISubroutineTypeAttr,
)
from tessera_tools.emit.llvmir.metadata import Metadata
from tessera_tools.emit.llvmir.names import file_name, quoted
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.location import CallSiteLoc, FusedLoc, Location, NameLoc

EMISSION_KINDS = {"directives": "DebugDirectivesOnly", "lines": "LineTablesOnly", "full": "FullDebug"}
PRODUCER = "tessera-tools"


class DebugInfo:
    """Scopes and positions; created once per module if debug information is requested."""

    def __init__(self, metadata: Metadata, level: str) -> None:
        self.metadata = metadata
        self.kind = EMISSION_KINDS[level]
        self.unit = ""
        self._files: dict[str, str] = {}
        self._attributes: dict[Attribute, str] = {}
        self._scope = ""
        self._file = ""
        # The scope of the function, if cuda_tile defines it, and the nodes of scopes that its positions name: LLVM
        # accepts
        # a subprogram for one function only.
        self._own: ct.DISubprogramAttr | None = None
        self._tile_scopes: dict[ct.DILocalScopeAttr, str] = {}
        self._suffixes: dict[Location, str] = {}
        self.inlined: dict[str, tuple[ct.DILocAttr, ...]] = {}
        """Positions in inlined functions, in the form of `chain_text`, and the chain of call sites."""

    def function(self, name: str, location: Location) -> str:
        """Begin a function: its scope, as ` !dbg !4` for the header."""
        self._suffixes = {}
        given, self._own, self._tile_scopes = _subprogram_of(location), _tile_subprogram(location), {}
        start = location.start() or ("<unknown>", 0, 0)
        self._file = start[0]
        if self._own is not None:
            self._scope = self._tile_scope(self._own)
        elif given is not None:
            self._scope = self.attribute(given)
            if given.file is not None:
                self._file = given.file.file
        else:
            file = self.file(start[0])
            unit = self._compile_unit(file)
            type = self.metadata.node("!DISubroutineType(types: " + self.metadata.node("!{}") + ")")
            self._scope = self.metadata.distinct(
                f"distinct !DISubprogram(name: {quoted(name)}, linkageName: {quoted(name)}, scope: {file}, "
                f"file: {file}, line: {start[1]}, type: {type}, scopeLine: {start[1]}, "
                f"spFlags: DISPFlagDefinition, unit: {unit})"
            )
        return f" !dbg {self._scope}"

    def suffix(self, location: Location) -> str:
        """The suffix of an instruction with that location: `, !dbg !9`."""
        known = self._suffixes.get(location)
        if known is None:
            node = self._in_scopes(location) or self._plain(location)
            known = self._suffixes[location] = f", !dbg {node}"
        return known

    def _plain(self, location: Location) -> str:
        """A position in the function itself, without scopes."""
        file, line, column = location.start() or (self._file, 0, 0)
        scope = self._scope
        if file != self._file:
            scope = self.metadata.node(
                f"!DILexicalBlockFile(scope: {scope}, file: {self.file(file)}, discriminator: 0)"
            )
        return self._position(line, column, scope)

    def _position(self, line: int, column: int, scope: str, inlined_at: str | None = None) -> str:
        at = f", inlinedAt: {inlined_at}" if inlined_at is not None else ""
        return self.metadata.node(
            f"!DILocation(line: {line}, column: {min(column, 0xFFFF)}, scope: {scope}{at})"
        )

    def _in_scopes(self, location: Location) -> str | None:
        """The position in the scopes of a location; None if no scope leads to the function."""
        frames = frames_of(location)
        if not frames or subprogram(frames[-1].scope) is not self._own:
            return None
        node: str | None = None
        for frame in reversed(frames):
            _, line, column = frame.start()
            scope = self._tile_scope(frame.scope)
            if path_of(frame) != frame.source.file:
                scope = self.metadata.node(
                    f"!DILexicalBlockFile(scope: {scope}, file: {self.file(frame.source.file)}, discriminator: 0)"
                )
            node = self._position(line, column, scope, node)
        if len(frames) > 1:
            self.inlined[chain_text(frames)] = tuple(frames)
        return node

    def _tile_scope(self, scope: ct.DILocalScopeAttr) -> str:
        """The node of a cuda_tile scope."""
        known = self._tile_scopes.get(scope)
        if known is not None:
            return known
        if isinstance(scope, ct.DISubprogramAttr):
            file = self._tile_file(scope.file)
            type = self.metadata.node("!DISubroutineType(types: " + self.metadata.node("!{}") + ")")
            text = (
                f"distinct !DISubprogram(name: {quoted(scope.label)}, linkageName: {quoted(scope.linkage_name)}, "
                f"scope: {file}, file: {file}, line: {scope.line}, type: {type}, scopeLine: {scope.scope_line}, "
                f"spFlags: DISPFlagDefinition, unit: {self._compile_unit(self._tile_file(scope.compile_unit.file))})"
            )
        else:
            assert isinstance(scope, ct.DILexicalBlockAttr)
            text = (
                f"distinct !DILexicalBlock(scope: {self._tile_scope(scope.scope)}, "
                f"file: {self._tile_file(scope.file)}, line: {scope.line}, column: {min(scope.column, 0xFFFF)})"
            )
        known = self._tile_scopes[scope] = self.metadata.distinct(text)
        return known

    def _tile_file(self, file: ct.DIFileAttr) -> str:
        return self.metadata.node(
            f"!DIFile(filename: {file_name(file.file_name)}, directory: {file_name(file.directory)})"
        )

    def file(self, path: str) -> str:
        """The node of a file."""
        known = self._files.get(path)
        if known is None:
            directory, slash, name = path.rpartition("/")
            node = f"!DIFile(filename: {file_name(name)}, directory: {file_name(directory or slash or '')})"
            known = self._files[path] = self.metadata.node(node)
        return known

    def _compile_unit(self, file: str) -> str:
        if not self.unit:
            self.unit = self.metadata.distinct(
                f"distinct !DICompileUnit(language: DW_LANG_C, file: {file}, producer: {quoted(PRODUCER)}, "
                f"isOptimized: true, runtimeVersion: 0, emissionKind: {self.kind})"
            )
        return self.unit

    def attribute(self, value: Attribute | None) -> str:
        """The node of a debug-information attribute; "null" for None."""
        if value is None or isinstance(value, DINullTypeAttr):
            return "null"
        known = self._attributes.get(value)
        if known is None:
            text, distinct = self._attribute_text(value)
            known = self.metadata.distinct(text) if distinct else self.metadata.node(text)
            self._attributes[value] = known
            if isinstance(value, DICompileUnitAttr):
                self.unit = self.unit or known
        return known

    def _attribute_text(self, value: Attribute | None) -> tuple[str, bool]:
        if isinstance(value, DIFileAttr):
            return (
                f"!DIFile(filename: {file_name(value.file)}, directory: {file_name(value.directory)})",
                False,
            )
        if isinstance(value, DICompileUnitAttr):
            producer = f"producer: {quoted(value.producer.value)}, " if value.producer is not None else ""
            return (
                f"distinct !DICompileUnit(language: {value.sourceLanguage}, file: {self.attribute(value.file)}, "
                f"{producer}isOptimized: {'true' if value.isOptimized else 'false'}, runtimeVersion: 0, "
                f"emissionKind: {value.emissionKind})"
            ), True
        if isinstance(value, DISubprogramAttr):
            return self._subprogram_text(value), value.id is not None
        if isinstance(value, DISubroutineTypeAttr):
            types = self.metadata.node(f"!{{{', '.join(map(self.attribute, value.types))}}}")
            return f"!DISubroutineType(types: {types})", False
        if isinstance(value, DIBasicTypeAttr):
            encoding = f", encoding: {value.encoding}" if value.encoding else ""
            name = quoted(value.label.value)
            return f"!DIBasicType(tag: {value.tag}, name: {name}, size: {value.sizeInBits}{encoding})", False
        if isinstance(value, DILexicalBlockAttr):
            where = f"file: {self.attribute(value.file)}, line: {value.line}, column: {value.column}"
            return f"distinct !DILexicalBlock(scope: {self.attribute(value.scope)}, {where})", True
        if isinstance(value, DILexicalBlockFileAttr):
            where = f"file: {self.attribute(value.file)}, discriminator: {value.discriminator}"
            return f"!DILexicalBlockFile(scope: {self.attribute(value.scope)}, {where})", False
        raise Refusal(f"has the debug information '{value}', which has no translation to LLVM IR")

    def _subprogram_text(self, value: DISubprogramAttr) -> str:
        parts = [f"name: {quoted(value.label.value)}"] if value.label is not None else []
        parts += [f"linkageName: {quoted(value.linkageName.value)}"] if value.linkageName is not None else []
        parts.append(f"scope: {self.attribute(value.scope if value.scope is not None else value.file)}")
        parts.append(f"file: {self.attribute(value.file)}")
        parts.append(f"line: {value.line}")
        kind = value.type if value.type is not None else DISubroutineTypeAttr()
        parts.append(f"type: {self.attribute(kind)}")
        parts.append(f"scopeLine: {value.scopeLine}")
        flags = [f"DISPFlag{flag}" for flag in value.subprogramFlags.split("|") if flag]
        parts += [f"spFlags: {' | '.join(flags)}"] if flags else []
        parts += [f"unit: {self.attribute(value.compileUnit)}"] if value.compileUnit is not None else []
        distinct = "distinct " if value.id is not None else ""
        return f"{distinct}!DISubprogram({', '.join(parts)})"


def _subprogram_of(location: Location) -> DISubprogramAttr | None:
    if isinstance(location, FusedLoc) and isinstance(location.metadata, DISubprogramAttr):
        return location.metadata
    return None


def _tile_subprogram(location: Location) -> ct.DISubprogramAttr | None:
    """The cuda_tile subprogram that contains a function's location."""
    frames = frames_of(location)
    return subprogram(frames[-1].scope) if frames else None


def subprogram(scope: ct.DILocalScopeAttr) -> ct.DISubprogramAttr:
    """The subprogram of a scope."""
    while isinstance(scope, ct.DILexicalBlockAttr):
        scope = scope.scope
    assert isinstance(scope, ct.DISubprogramAttr)
    return scope


def frames_of(location: Location) -> list[ct.DILocAttr]:
    """The positions with scopes of a location: the innermost, its call site, the next outer call site, …"""
    if isinstance(location, ct.DILocAttr):
        return [location]
    if isinstance(location, NameLoc):
        return frames_of(location.child)
    if isinstance(location, FusedLoc):
        return next((found for child in location.locations if (found := frames_of(child))), [])
    if isinstance(location, CallSiteLoc):
        callers = frames_of(location.caller)
        return [*frames_of(location.callee), *callers] if callers else []
    return []


def path_of(frame: ct.DILocAttr) -> str:
    """The path of the file of a position's scope; the path of the position if the two differ only in the folder."""
    scope = frame.scope
    assert isinstance(scope, ct.DISubprogramAttr | ct.DILexicalBlockAttr)
    path = posixpath.join(scope.file.directory, scope.file.file_name)
    return frame.source.file if frame.source.file == scope.file.file_name else path


def chain_text(frames: Sequence[ct.DILocAttr]) -> str:
    """`441:11 @[ k.py:437:11 @[ k.py:448:33 ] ]`, as LLVM comments a `.loc` line."""
    text = ""
    for frame in reversed(frames[1:]):
        _, line, column = frame.start()
        name = posixpath.basename(frame.source.file)
        text = f" @[ {name}:{line}{f':{min(column, 0xFFFF)}' if column else ''}{text} ]"
    _, line, column = frames[0].start()
    return f"{line}:{min(column, 0xFFFF)}{text}"
