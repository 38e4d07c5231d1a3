"""What the compiler knows about the values of a program: facts about integers, and layouts of tiles.

    program ──clone, passes──▶ nv_tileaa ──Facts──▶ divisors and bounds     program ──▶ nv_tileas ──▶ layouts

A value of the program is found in the lowered one by the location of its operation and by its shape and width.
"""

from __future__ import annotations

from typing import TypeAlias

from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.transfer import Fact, limits
from tessera_tools.diagnostics import Diagnostic, DiagnosticError, sink
from tessera_tools.editor.program import Program
from tessera_tools.ir.core import Operation, OpResult, Value
from tessera_tools.ir.types import IntegerType, RankedTensorType, ShapedType, element_type
from tessera_tools.layout import LinearLayout
from tessera_tools.target import Target

__all__ = ["Lowered", "fact_text", "target_of"]

_LAYOUTS = "tileas-remove-layout-conversions"
"""The last pass that changes layouts."""

_FIRST = {"cuda_tile": "convert-cuda-tile-to-tileaa"}
"""Stages whose facts are those of the next stage → the pass that leads there."""


Place: TypeAlias = tuple[str, int, int] | None
"""Where an operation is written."""


class Lowered:
    """The facts and layouts of one program, computed at the first question."""

    def __init__(self, program: Program, gpu: str) -> None:
        self._program = program
        self._gpu = gpu
        self._facts: tuple[Facts, dict[Place, list[Value]]] | None = None
        self._layouts: dict[Place, list[Value]] | None = None

    def facts_of(self, value: Value) -> str:
        """What is known about an integer or a pointer: `multiple of 16, 0 to 1023`; empty if nothing is."""
        module = self._program.module
        if module is None or (
            not isinstance(element_type(value.type), IntegerType) and not _is_pointer(value)
        ):
            return ""
        if self._facts is None:
            lowered = self._run(_FIRST.get(_stage(module), ""))
            self._facts = Facts(), _by_place(lowered) if lowered is not None else {}
        facts, places = self._facts
        found = value if _stage(module) not in _FIRST else _counterpart(places, value)
        return fact_text(facts.fact(found), found) if found is not None and facts.tracks(found) else ""

    def layout_of(self, value: Value) -> tuple[str, LinearLayout] | None:
        """The type of a tile after the layouts are assigned, and its layout."""
        found = value if _layout(value) is not None else None
        if found is None and self._program.module is not None and isinstance(value.type, ShapedType):
            if self._layouts is None:
                lowered = self._run(_LAYOUTS)
                self._layouts = _by_place(lowered) if lowered is not None else {}
            found = _counterpart(self._layouts, value)
        layout = _layout(found) if found is not None else None
        return (str(found.type), layout) if found is not None and layout is not None else None

    def _run(self, to: str) -> Operation | None:
        """A copy of the program, lowered to a stage or through a pass; None if that fails."""
        from tessera_tools.emit.compiled import Options
        from tessera_tools.emit.driver import begin_lowering, pipeline_to
        from tessera_tools.passes.manager import PassManager

        module = self._program.module
        if module is None or not to:
            return module
        try:
            with sink(_nobody):
                copy = module.clone()
                options = Options(target_of(copy, self._gpu), verify_each=False)
                pipeline = pipeline_to(options, begin_lowering(copy, options), to)
                if to in _FIRST.values():
                    # The passes before it remove what is not used yet.
                    del pipeline.items[:-1]
                PassManager(pipeline, verify_each=False).run(copy)
        except DiagnosticError:
            return None
        return copy


def target_of(module: Operation, gpu: str) -> Target:
    """The GPU that a module was lowered for, otherwise `gpu`. Raises DiagnosticError."""
    from tessera_tools.api.inputs import find_target
    from tessera_tools.emit.driver import declared_target

    return find_target(declared_target(module) or gpu)


def _nobody(diagnostic: Diagnostic) -> None:
    """Remarks and warnings of the passes are not asked for."""


def _stage(module: Operation) -> str:
    from tessera_tools.emit.driver import stage_of

    return stage_of(module)


def _is_pointer(value: Value) -> bool:
    return type(element_type(value.type)).__name__ == "PointerType"


def _by_place(module: Operation) -> dict[Place, list[Value]]:
    """The results of a program by the position of their operation."""
    found: dict[Place, list[Value]] = {}
    for op in module.walk():
        place = op.location.start()
        if place is not None:
            found.setdefault(place, []).extend(op.results)
    return found


def _counterpart(places: dict[Place, list[Value]], value: Value) -> Value | None:
    """The last value at the same place whose shape and width are the same: what the operation became."""
    if not isinstance(value, OpResult):
        return None
    similar = [one for one in places.get(value.op.location.start(), ()) if _form(one) == _form(value)]
    own = [one for one in value.op.results if _form(one) == _form(value)]
    if len(own) > 1:
        return similar[own.index(value)] if len(similar) == len(own) else None
    return similar[-1] if similar else None


def _form(value: Value) -> tuple[tuple[int, ...], str]:
    element = element_type(value.type)
    shape = tuple(value.type.shape) if isinstance(value.type, ShapedType) else ()
    return shape, "pointer" if _is_pointer(value) else str(element)


def _layout(value: Value) -> LinearLayout | None:
    from tessera_tools.dialects.nv_tileas.base import LayoutAttr

    encoding = value.type.encoding if isinstance(value.type, RankedTensorType) else None
    return encoding.layout if isinstance(encoding, LayoutAttr) else None


def fact_text(fact: Fact, value: Value) -> str:
    """A fact in words; empty for one that holds for every value of the type."""
    low, high = limits(value.type)
    if fact.lower == fact.upper:
        return f"always {fact.lower}"
    parts: list[str] = []
    if 1 < fact.divisor < 1 << 31:
        unit = " bytes" if _is_pointer(value) else ""
        parts.append(f"multiple of {fact.divisor}{unit}")
    if not _is_pointer(value):
        if fact.lower > low and fact.upper < high:
            parts.append(f"{fact.lower} to {fact.upper}")
        elif fact.lower > low:
            parts.append(f"at least {fact.lower}")
        elif fact.upper < high:
            parts.append(f"at most {fact.upper}")
    return ", ".join(parts)
