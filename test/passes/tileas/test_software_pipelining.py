"""Pipelined loops compute what the loops did: random loops and schedules, run by an interpreter of a few ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import fresh_seed

from tessera_tools.dialects import arith, scf
from tessera_tools.ir.core import Operation, Value
from tessera_tools.parser import parse_module
from tessera_tools.passes.tileas.software_pipelining import Pipelined, Placement, pipelined

MASK = (1 << 32) - 1
INTERVAL = 10


def signed(value: int) -> int:
    return (value & MASK ^ 1 << 31) - (1 << 31)


def run(ops: Any, values: dict[Value, int]) -> list[int]:
    """Interpret a block; what its terminator gives."""
    for op in ops:
        if isinstance(op, scf.For):
            count, carried = values[op.lower], [values[v] for v in op.inits]
            while count < values[op.upper]:
                values[op.induction[0]] = count
                values.update(zip(op.iter_args, carried, strict=True))
                carried = run(op.body.entry, values)
                count += values[op.step]
            values.update(zip(op.results, carried, strict=True))
        elif isinstance(op, scf.If):
            side = op.then if values[op.condition] else op.otherwise
            values.update(zip(op.results, run(side.entry, values), strict=True))
        elif isinstance(op, arith.Constant):
            values[op.result] = op.value.value
        elif isinstance(op, arith.CmpI):
            values[op.result] = int(values[op.lhs] < values[op.rhs])
        elif isinstance(op, arith.AddI | arith.MulI | arith.XOrI):
            a, b = values[op.lhs], values[op.rhs]
            values[op.result] = signed({"addi": a + b, "muli": a * b, "xori": a ^ b}[op.name[6:]])
        else:
            return [values[v] for v in op.operands]
    return []


def random_loop(rng: np.random.Generator) -> tuple[str, int]:
    """A function of a loop over a few operations, and how many values it carries."""
    carried, count = int(rng.integers(1, 4)), int(rng.integers(2, 9))
    names = ["%i", "%x", *(f"%a{n}" for n in range(carried))]
    lines = []
    for number in range(count):
        a, b = (names[int(rng.integers(len(names)))] for _ in range(2))
        lines.append(f"%v{number} = arith.{('addi', 'muli', 'xori')[int(rng.integers(3))]} {a}, {b} : i32")
        names.append(f"%v{number}")
    yielded = [f"%a{n}" if rng.integers(6) == 0 else f"%v{int(rng.integers(count))}" for n in range(carried)]
    types = ", ".join(["i32"] * carried)
    inits = ", ".join(f"%a{n} = %x" if n % 2 else f"%a{n} = %n" for n in range(carried))
    body = "\n    ".join(lines)
    results = ", ".join(f"%r#{n}" for n in range(carried))
    return (
        f"""func.func @f(%x: i32, %n: i32) -> ({types}) {{
  %c0 = arith.constant 0 : i32
  %c3 = arith.constant 3 : i32
  %r:{carried} = scf.for %i = %c0 to %n step %c3 iter_args({inits}) -> ({types}) : i32 {{
    {body}
    scf.yield {", ".join(yielded)} : {types}
  }}
  func.return {results} : {types}
}}""",
        carried,
    )


def random_cycles(loop: scf.For, rng: np.random.Generator) -> dict[Operation, int]:
    """Cycles that hold every dependence, within an iteration and from one to the next; some ops have none."""
    end: Any = loop.body.entry.last_op
    ops = [op for op in loop.body.entry if op is not end]
    cycles = {op: 0 for op in ops if rng.integers(3)}
    for op in cycles:
        cycles[op] = int(rng.integers(0, 3 * INTERVAL))

    def needed(value: Value, distance: int, *through: Value) -> list[tuple[Operation, int]]:
        op: Any = value.defining_op
        if op in cycles:
            return [(op, distance)]
        if value in through:
            return []
        if op in ops:
            return [found for v in op.operands for found in needed(v, distance, value, *through)]
        if value in loop.iter_args:
            source = end.operands[list[Any](loop.iter_args).index(value)]
            return needed(source, distance + 1, value, *through)
        return []

    for _ in range(200):
        changed = False
        for op in list(cycles):
            for value in op.operands:
                for source, distance in needed(value, 0):
                    least = cycles[source] + 1 - distance * INTERVAL
                    if cycles[op] < least:
                        cycles[op], changed = least, True
        if not changed:
            return cycles
    return dict.fromkeys(ops, 0)


def transformed(text: str, rng: np.random.Generator) -> tuple[Any, Pipelined | None]:
    module = parse_module(text)
    function: Any = next(op for op in module.walk() if op.name == "func.func")
    loop = next(op for op in function.walk() if isinstance(op, scf.For))
    found = pipelined(loop, Placement(INTERVAL, random_cycles(loop, rng)), lambda _, made, __: made)
    return function, found


def results(function: Any, x: int, n: int) -> list[int]:
    block = function.regions[0].entry
    return run(block, dict(zip(block.arguments, (x, n), strict=True)))


def test_results_stay() -> None:
    seed = fresh_seed()
    rng = np.random.default_rng(seed)
    stages: set[int] = set()
    for _ in range(150):
        text, _ = random_loop(rng)
        reference: Any = next(op for op in parse_module(text).walk() if op.name == "func.func")
        function, found = transformed(text, rng)
        assert found is not None, text
        stages.add(found.stages)
        for n in (0, 1, 3, 4, 8, 12, 20):
            assert results(function, 7, n) == results(reference, 7, n), f"{text}\nn = {n}"
    assert {1, 2, 3} <= stages


@pytest.mark.parametrize(
    ("body", "args"),
    [
        (
            '"test.effect"() : () -> ()\n    %v = arith.addi %a, %i : i32\n    scf.yield %v, %b',
            "an op with effects",
        ),
        ("scf.yield %b, %a", "carried values that change places"),
        ("scf.yield %x, %a", "a value from outside"),
    ],
)
def test_what_cannot_be_pipelined_stays(body: str, args: str) -> None:
    text = f"""func.func @f(%x: i32, %n: i32) {{
  %c = arith.constant 1 : i32
  %r:2 = scf.for %i = %c to %n step %c iter_args(%a = %x, %b = %n) -> (i32, i32) : i32 {{
    {body} : i32, i32
  }}
  func.return
}}"""
    module = parse_module(text, allow_unregistered=True)
    before = str(module)
    loop = next(op for op in module.walk() if isinstance(op, scf.For))
    placed = {op: 0 for op in loop.body.entry if op.name == "arith.addi"}
    assert pipelined(loop, Placement(INTERVAL, placed), lambda _, made, __: made) is None, args
    assert str(module) == before


@pytest.mark.parametrize(
    ("lower", "upper", "step", "is_pipelined"),
    [
        (0, 30, 10, True),
        (-30, 0, 15, True),
        (0, 2**31 - 1, 2**30, False),
        (0, 2**31 - 1, 2**30 - 1, True),
        (0, 2**30 + 1, 2**30, False),
        (2**31 - 30, 2**31 - 1, 10, True),
    ],
)
def test_the_kernel_begins_at_a_number_that_fits_the_type(
    lower: int, upper: int, step: int, is_pipelined: bool
) -> None:
    """Two iterations are ahead of the kernel: where the loop has no more, it would begin at the number behind them,
    which may be a small one."""
    text = f"""func.func @f(%x: i32, %n: i32) -> i32 {{
  %lower = arith.constant {lower} : i32
  %upper = arith.constant {upper} : i32
  %step = arith.constant {step} : i32
  %r = scf.for %i = %lower to %upper step %step iter_args(%a = %x) -> (i32) : i32 {{
    %u = arith.muli %i, %i : i32
    %v = arith.addi %a, %u : i32
    scf.yield %v : i32
  }}
  func.return %r : i32
}}"""
    expected, function = (
        next(op for op in parse_module(text).walk() if op.name == "func.func") for _ in range(2)
    )
    loop = next(op for op in function.walk() if isinstance(op, scf.For))
    first, last, _ = loop.body.entry
    placement = Placement(INTERVAL, {first: 0, last: 2 * INTERVAL})
    assert (pipelined(loop, placement, lambda _, made, __: made) is not None) is is_pipelined
    assert results(function, 7, 0) == results(expected, 7, 0)


def test_what_is_placed_before_its_operand_stays() -> None:
    text = """func.func @f(%x: i32, %n: i32) -> i32 {
  %one = arith.constant 1 : i32
  %r = scf.for %i = %one to %n step %one iter_args(%a = %x) -> (i32) : i32 {
    %u = arith.muli %i, %i : i32
    %v = arith.addi %a, %u : i32
    scf.yield %v : i32
  }
  func.return %r : i32
}"""
    (loop,) = (op for op in parse_module(text).walk() if isinstance(op, scf.For))
    first, last, _ = loop.body.entry
    assert pipelined(loop, Placement(INTERVAL, {first: INTERVAL, last: 0}), lambda _, made, __: made) is None
