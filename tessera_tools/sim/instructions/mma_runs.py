"""Runs of independent mma.sync instructions, computed at once.

    mma d0, a0, b0, c0      one gather of all registers ──▶ A [K, n, M], B [K, n, N], C [n, M, N]
    mma d1, a0, b1, c1  ──▶ one product ──▶ one scatter
    …

A run uses only the warp's own registers, so the difference is not observable. Each mma has its own sum, in the same
order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.decode import Context
from tessera_tools.sim.elements import split
from tessera_tools.sim.fragments import Fragment
from tessera_tools.sim.products import Product
from tessera_tools.sim.program import Name, Operand, elements_of

__all__ = ["Recipe", "Run", "join"]

_MOST = 16


@dataclass(frozen=True, slots=True)
class Recipe:
    """The common properties of a run's mmas. Each operand: its fragment, bits of an element, patterns → float64."""

    key: Hashable
    a: tuple[Fragment, int, Callable[[Array], Array]]
    b: tuple[Fragment, int, Callable[[Array], Array]]
    c: tuple[Fragment, int, Callable[[Array], Array]]
    d: Fragment
    patterns: Product
    """A, B, C → the patterns of D."""


@dataclass(slots=True, eq=False)
class Run:
    """The mmas from `start` to `end`; the slots of their 32-bit registers, one row per mma."""

    recipe: Recipe
    start: int
    end: int
    slots: dict[str, list[list[int]]] = field(
        default_factory=lambda: {name: list[list[int]]() for name in "abcd"}
    )
    _tables: dict[str, Any] = field(default_factory=dict[str, Any])

    def __len__(self) -> int:
        return self.end - self.start

    def execute(self, registers: Array) -> int:
        """Compute all mmas on 32-bit registers [slot, warp, lane]; returns the index of the next instruction."""
        if not self._tables:
            self._prepare()
        tables, recipe = self._tables, self.recipe
        warps = registers.shape[1]
        a, b, c = (
            self._collect(registers, name, bits, values)
            for name, (_, bits, values) in (("a", recipe.a), ("b", recipe.b), ("c", recipe.c))
        )
        patterns = recipe.patterns(np.moveaxis(a, 0, 1), np.moveaxis(b, 0, 1), c)
        scatter = tables["scatter"]
        taken = patterns.reshape(len(self) * warps, -1).take(scatter, axis=1)
        if scatter.shape[-1] > 1:
            taken = taken.view(np.uint32)
        found = taken.reshape(len(self), warps, -1, 32)
        registers[tables["d"]] = found.transpose(0, 2, 1, 3).reshape(-1, warps, 32)
        return self.end

    def _prepare(self) -> None:
        tables = self._tables
        for name, (fragment, _, _), axis in (
            ("a", self.recipe.a, -1),
            ("b", self.recipe.b, -2),
            ("c", self.recipe.c, None),
        ):
            # Equal operands are gathered once.
            unique = list(dict.fromkeys(map(tuple, self.slots[name])))
            tables[name] = np.array(unique, np.intp)
            which = [unique.index(tuple(row)) for row in self.slots[name]]
            tables[f"{name} of"] = None if len(unique) == len(self) else np.array(which, np.intp)
            places = fragment.gather
            tables[f"{name} places"] = (
                places if axis is None else np.ascontiguousarray(np.moveaxis(places, axis, 0))
            )
        tables["d"] = np.array(self.slots["d"], np.intp).reshape(-1)
        tables["scatter"] = self.recipe.d.scatter

    def _collect(self, registers: Array, name: str, bits: int, values: Callable[[Array], Array]) -> Array:
        """One operand of every mma of every warp, [n * warps, …]."""
        tables = self._tables
        slots, places = tables[name], tables[f"{name} places"]
        raw = np.ascontiguousarray(registers[slots].transpose(0, 2, 1, 3)).view(np.uint32)
        patterns = split(raw, bits).reshape(len(slots) * registers.shape[1], -1)
        found = values(patterns.take(places, axis=1))
        which = tables[f"{name} of"]
        if which is None:
            return found
        return found.reshape(len(slots), -1, *places.shape)[which].reshape(-1, *places.shape)


def slots_of(ctx: Context, operand: Operand) -> list[int] | None:
    """The slots of a fragment's registers; None if one is not a 32-bit register."""
    found: list[int] = []
    for element in elements_of(operand):
        register = ctx.inst.scope.register(element.name) if isinstance(element, Name) else None
        if register is None or register.type.bits != 32:
            return None
        found.append(register.slot)
    return found


def _is_target(ctx: Context) -> bool:
    """True if a label is at this instruction."""
    scope = ctx.inst.scope
    while scope is not None:
        if ctx.pc in scope.labels.values():
            return True
        scope = scope.parent
    return False


def join(ctx: Context, recipe: Recipe, operands: Sequence[Operand]) -> Run | None:
    """The run that begins with this mma; None if the mma is part of the preceding run or cannot be in a run."""
    run: Run | None = ctx.state.get("mma run")
    slots = [slots_of(ctx, operand) for operand in operands]
    # The registers of a wgmma are watched per instruction.
    if "wgmma" not in ctx.state:
        span = ctx.program.instructions[ctx.function.start : ctx.function.end]
        ctx.state["wgmma"] = any(inst.opcode == "wgmma" for inst in span)
    if any(row is None for row in slots) or ctx.inst.predicate is not None or ctx.state["wgmma"]:
        ctx.state.pop("mma run", None)
        return None
    rows = {name: row for name, row in zip("dabc", slots, strict=True) if row is not None}
    if run is not None and run.end == ctx.pc and run.recipe.key == recipe.key and len(run) < _MOST:
        written = {slot for row in run.slots["d"] for slot in row}
        if not _is_target(ctx) and not any(written.intersection(row) for row in rows.values()):
            for name, row in rows.items():
                run.slots[name].append(row)
            run.end += 1
            return None
    run = ctx.state["mma run"] = Run(recipe, ctx.pc, ctx.pc + 1)
    for name, row in rows.items():
        run.slots[name].append(row)
    return run
