"""Metadata nodes: numbered, uniqued by their text, or distinct."""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects.llvm.debug_info import LoopAnnotationAttr
from tessera_tools.dialects.llvm.records import Record
from tessera_tools.ir.builtin_attributes import FALSE, TRUE, IntegerAttr


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
        """A new distinct node."""
        number = f"!{len(self.lines)}"
        self.lines.append(f"{number} = {text}")
        return number

    def loop(self, annotation: LoopAnnotationAttr) -> str:
        """The loop's `distinct !{…}`; branches with the same annotation share a loop id, as upstream."""
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
