"""One cell of the table: is the op accepted for the element type, does it compile, does it compute what it says?

accepted(case) ──▶ program ──compile──▶ refused, with a reason
                                 └────▶ PTX ──▶ simulated GPU ──▶ arrays  =  test/reference
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from programs import Array, compiled, decode, launch
from reference.interpreter import interpret
from reference.numbers import kind_of
from support import control, elementwise, memory, tiles
from support.table import ROWS, Row
from support.writer import ELEMENTS, HALF_BYTES, NONE, Writer

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects.cuda_tile.constraints import F4E2M1FN
from tessera_tools.dialects.cuda_tile.types import I4
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.parser import parse_module

FAMILIES = (control, elementwise, memory, tiles)
WORKS = ""
"""The reason of a case that works."""


@dataclass(frozen=True)
class Case:
    """A program of a row of the table: an element type, and one of the row's ways."""

    op: str
    element: str
    way: str

    @property
    def row(self) -> Row:
        """The row."""
        return ROWS[self.op]

    def writer(self, seed: int) -> Writer:
        """A program, and its arguments."""
        w = Writer(np.random.default_rng(seed), self.op)
        self.row.build(w, self.element, self.way)
        return w


def cases() -> list[Case]:
    """Every case that the verifier accepts."""
    found = []
    for op, row in sorted(ROWS.items()):
        for element in ELEMENTS if row.elements else (NONE,):
            found += [
                case
                for way in row.ways_of(element)
                if dialect_refuses(case := Case(op, element, way)) is None
            ]
    return found


def dialect_refuses(case: Case) -> str | None:
    """Why the dialect itself has no such program; None if it has.

    Raises AssertionError where what is refused is not the op of the case, but something around it.
    """
    text = case.writer(0).text()
    try:
        verify_or_raise(parse_module(text, "case.mlir"))
    except DiagnosticError as problem:
        first = problem.diagnostics[0]
        start = first.location.start() if first.location is not None else None
        line = text.splitlines()[start[1] - 1] if start is not None else ""
        # A program that cannot be read is no answer, but for what has no text in the element type.
        wrong = first.message.startswith(("expected ", "unknown ", "undefined "))
        assert not wrong or case.element in ("ptr", "f8E8M0FNU"), f"{case}: {first.message}\n{line}\n{text}"
        return first.message
    return None


def prove(case: Case, target: str, seed: int, modes: Sequence[str] = ()) -> str:
    """Compile and run a program of a case: WORKS, or why it is refused.

    modes: those of the simulated GPU that it runs in; a random one if there is none.
    Raises AssertionError where it computes something else than it says, or has findings.
    """
    w = case.writer(seed)
    text = w.text()
    try:
        compiled(text, target)
    except DiagnosticError as problem:
        return problem.diagnostics[0].message
    schedule = random.Random(seed)
    expected = interpret(parse_module(text, "case.mlir"), w.args, w.grid)
    order = schedule.randrange(1 << 30)
    for mode in modes or (schedule.choice(("late", "early")),):
        if case.op.startswith("multimem"):
            found, output = _multicast(w, text, target, mode), None
        else:
            found, result = launch(text, *w.args, target=target, grid=w.grid, seed=order, mode=mode)
            output = result.output
        for number, (array, a, b) in enumerate(zip(w.memories, expected, found, strict=True)):
            assert same(array.element, a, b, case.row.exact), (
                f"{case} on {target}, {mode}, seed {seed}: argument {number}\n{text}"
            )
        if w.output is not None:
            assert output == rows(w.output, expected[-1], case.element), f"{case}, {mode}: {output}"
    return WORKS


TOLERANCE = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 4e-6, "f64": 1e-13}
"""Relative errors of functions that are not rounded correctly, and of sums in another order."""


def same(element: str, a: Array, b: Array, exact: bool) -> bool:
    """True if arrays are equal: any NaN is any other; near each other where results are not exact."""
    if element.startswith("i") or element in (*HALF_BYTES, "ptr"):
        return np.array_equal(a, b)
    if element == "tf32":
        # The last 13 bits in memory are not of the number.
        a, b = ((v.view(np.uint32) & np.uint32(-(1 << 13) & 0xFFFFFFFF)).view(np.float32) for v in (a, b))
    with np.errstate(all="ignore"):
        x, y = decode(element, a), decode(element, b)
        if exact:
            equal = (x == y) & (np.signbit(x) == np.signbit(y))
        else:
            allowed = TOLERANCE.get(element, 1e-2)
            equal = (x == y) | (np.abs(x - y) <= allowed * np.maximum(np.abs(x), 2.0**-10))
    return bool(np.all(equal | (np.isnan(x) & np.isnan(y))))


_TYPES = {"i4": I4, "f4E2M1FN": F4E2M1FN}


def rows(form: str, array: Array, element: str) -> str:
    """What print_tko makes of a tile."""
    if element in HALF_BYTES:
        halves = np.stack([array & 15, array >> 4 & 15], -1).reshape(-1)
        values = kind_of(_TYPES[element]).decode(halves)
    else:
        values = decode(element, array)

    def one(part: Any) -> str:
        if np.ndim(part):
            return f"[{', '.join(map(one, part))}]"
        return f"{part:f}" if form == "%f" else str(int(part))

    return one(values) + "\n"


def _multicast(w: Writer, text: str, target: str, mode: str) -> list[Array]:
    """The simulated GPU has no multicast memory; with one copy it is memory like any other."""
    from atomics.test_multimem import on_one_gpu

    from tessera_tools import sim

    made = compiled(text, target)
    module = sim.load(on_one_gpu(made.ptx), file="kernel.ptx")
    (kernel,) = made.manifest.kernels
    buffers: list[Any] = [
        module.memory.allocate(arg, "array") if isinstance(arg, np.ndarray) and arg.ndim else arg
        for arg in w.args
    ]
    result = module.launch(
        kernel.name, w.grid, kernel.block, buffers, kernel.dynamic_shared, seed=0, mode=mode
    )
    assert not result.findings, result.findings.text()
    return [buffers[array.place].array() for array in w.memories]
