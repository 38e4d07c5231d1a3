"""Metadata nodes and debug information.

    loc("k.py":3:7) ─▶ !DILocation(line: 3, column: 7, scope: !4) ─▶ !4 = distinct !DISubprogram(…, unit: !1, …)

Debug levels: "none"; "directives", a compile unit of kind DebugDirectivesOnly, from which LLVM writes `.loc` lines
and nothing else; "lines", LineTablesOnly.  A function whose location carries a `#llvm.di_subprogram` keeps that scope.
"""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects.llvm.debug_info import (
    DIBasicTypeAttr,
    DICompileUnitAttr,
    DIFileAttr,
    DILexicalBlockAttr,
    DILexicalBlockFileAttr,
    DINullTypeAttr,
    DISubprogramAttr,
    DISubroutineTypeAttr,
    LoopAnnotationAttr,
)
from tessera_tools.dialects.llvm.records import Record
from tessera_tools.emit.llvmir.names import quoted
from tessera_tools.ir.builtin_attributes import FALSE, TRUE, IntegerAttr
from tessera_tools.ir.location import FusedLoc, Location

EMISSION_KINDS = {"directives": "DebugDirectivesOnly", "lines": "LineTablesOnly"}
PRODUCER = "tessera-tools"


class Metadata:
    """The module's numbered nodes."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._unique: dict[str, str] = {}
        self._loops: dict[Any, str] = {}

    def node(self, text: str) -> str:
        """The number of the uniqued node with that text: `!7`."""
        number = self._unique.get(text)
        if number is None:
            number = self._unique[text] = self.distinct(text)
        return number

    def distinct(self, text: str) -> str:
        """A node of its own."""
        number = f"!{len(self.lines)}"
        self.lines.append(f"{number} = {text}")
        return number

    def loop(self, annotation: LoopAnnotationAttr) -> str:
        """The loop's `distinct !{…}`; branches with the same annotation belong to one loop id, as upstream has it."""
        known = self._loops.get(annotation)
        if known is None:
            properties = [self.node(text) for text in loop_properties(annotation)]
            number = f"!{len(self.lines)}"
            known = self._loops[annotation] = self.distinct(
                f"distinct !{{{', '.join([number, *properties])}}}"
            )
        return known


def loop_properties(annotation: Record) -> list[str]:
    """The nodes of a loop annotation: `!{!"llvm.loop.unroll.count", i32 4}`."""
    found: list[str] = []
    names: dict[str, str] = annotation.metadata  # type: ignore[attr-defined]
    for key in annotation.parameters_as:
        value = getattr(annotation, key)
        if isinstance(value, Record):
            found += loop_properties(value)
        elif key in names and value is not None:
            name = names[key]
            prefix = "llvm." if name.startswith("licm") else "llvm.loop."
            if name == "vectorize.enable":
                found.append(f'!{{!"llvm.loop.vectorize.enable", i1 {"false" if value is TRUE else "true"}}}')
            elif value is TRUE and name.endswith("enable"):
                found.append(f'!{{!"{prefix}{name}", i1 true}}')
            elif value is TRUE:
                shown = {"unroll.disable": "unroll.disable", "pipeline.disable": "pipeline.disable"}.get(
                    name, name
                )
                extra = ", i1 true" if shown == "pipeline.disable" else ""
                found.append(f'!{{!"{prefix}{shown}"{extra}}}')
            elif value is FALSE and name == "unroll.disable":
                found.append('!{!"llvm.loop.unroll.enable"}')
            elif isinstance(value, IntegerAttr) and value not in (TRUE, FALSE):
                found.append(f'!{{!"{prefix}{name}", {value.type} {value.value}}}')
    return found


class DebugInfo:
    """Scopes and positions; made once per module where debug information is asked for."""

    def __init__(self, metadata: Metadata, level: str) -> None:
        self.metadata = metadata
        self.kind = EMISSION_KINDS[level]
        self.unit = ""
        self._files: dict[str, str] = {}
        self._attributes: dict[Any, str] = {}
        self._scope = ""
        self._file = ""
        self._suffixes: dict[Location, str] = {}

    def function(self, name: str, location: Location) -> str:
        """Begin a function: its scope, as ` !dbg !4` for the header."""
        self._suffixes = {}
        given = _subprogram_of(location)
        start = location.start() or ("<unknown>", 0, 0)
        self._file = start[0]
        if given is not None:
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
        """What an instruction with that location ends with: `, !dbg !9`."""
        known = self._suffixes.get(location)
        if known is None:
            start = location.start()
            scope = self._scope
            file, line, column = start or (self._file, 0, 0)
            if file != self._file:
                node = f"!DILexicalBlockFile(scope: {scope}, file: {self.file(file)}, discriminator: 0)"
                scope = self.metadata.node(node)
            node = self.metadata.node(
                f"!DILocation(line: {line}, column: {min(column, 0xFFFF)}, scope: {scope})"
            )
            known = self._suffixes[location] = f", !dbg {node}"
        return known

    def file(self, path: str) -> str:
        """The node of a file."""
        known = self._files.get(path)
        if known is None:
            directory, slash, name = path.rpartition("/")
            node = f"!DIFile(filename: {quoted(name)}, directory: {quoted(directory or slash or '')})"
            known = self._files[path] = self.metadata.node(node)
        return known

    def _compile_unit(self, file: str) -> str:
        if not self.unit:
            self.unit = self.metadata.distinct(
                f"distinct !DICompileUnit(language: DW_LANG_C, file: {file}, producer: {quoted(PRODUCER)}, "
                f"isOptimized: true, runtimeVersion: 0, emissionKind: {self.kind})"
            )
        return self.unit

    def attribute(self, value: Any) -> str:
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

    def _attribute_text(self, value: Any) -> tuple[str, bool]:
        if isinstance(value, DIFileAttr):
            return f"!DIFile(filename: {quoted(value.file)}, directory: {quoted(value.directory)})", False
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
        raise ValueError(f"debug-information attribute '{value}' is not translated")

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
