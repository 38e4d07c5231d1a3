"""Loops that are unrolled by a hint compute what they say, whatever is left over."""

from __future__ import annotations

import re

import numpy as np
import pytest
from programs import fresh_seed
from tile.kernels import compiled, launch, strided

from tessera_tools.diagnostics import DiagnosticError

KERNEL = """
func.func @kernel(%D: memref<?xi64>, %lower: {type}, %upper: {type}, %step: {type}) attributes {{tessera.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %three = arith.constant 3 : i64
  {constants}
  %sum, %trips = scf.for {unsigned} %i = {bounds} iter_args(%a = %zero, %n = %zero) -> (i64, i64) {colon} {{
    %one = arith.constant 1 : i64
    %wide = {widen}
    %b = arith.muli %a, %three : i64
    %c = arith.addi %b, %wide : i64
    %m = arith.addi %n, %one : i64
    scf.yield %c, %m : i64, i64
  }} {hint}
  tile.store_global_element %sum, %D[%c0] : memref<?xi64>
  tile.store_global_element %trips, %D[%c1] : memref<?xi64>
  return
}}
"""
COUNT = "{{llvm.loop_annotation = #llvm.loop_annotation<unroll = <count = {} : i32>>}}"
HINTS = ["", "{tessera.unroll_hint = 1 : i64}", "{tessera.unroll_hint = 3 : i64}", "{tessera.unroll_hint = 4 : i64}",
         COUNT.format(7)]  # fmt: skip


def text(
    lower: int, upper: int, step: int, hint: str, *, type: str, known: bool, unsigned: bool = False
) -> str:
    named = {"%l": lower, "%u": upper, "%s": step}
    width = 64 if type == "index" else int(type[1:])
    constants = "\n  ".join(
        f"{n} = arith.constant {(v + (1 << width - 1)) % (1 << width) - (1 << width - 1)} : {type}"
        for n, v in named.items()
    )
    cast = "arith.index_cast %i : index to i64" if type == "index" else f"arith.extsi %i : {type} to i64"
    if type == "i64":
        cast = "arith.addi %i, %zero : i64"
    return KERNEL.format(
        type=type,
        constants=constants if known else "",
        bounds="%l to %u step %s" if known else "%lower to %upper step %step",
        colon=f": {type}" if type != "index" else "",
        widen=cast,
        hint=hint,
        unsigned="unsigned" if unsigned else "",
    )


def run(source: str, lower: int, upper: int, step: int, type: str) -> list[int]:
    out = np.zeros(2, np.int64)
    kind = {"index": np.int64, "i64": np.int64, "i32": np.int32, "i16": np.int16}[type]
    given = [np.array(v).astype(np.uint64).astype(kind)[()] for v in np.array([lower, upper, step], object)]
    arrays, result = launch(source, *strided(out), *given)
    others = [f for f in result.findings if "race" not in f.text()]
    assert not others
    return [int(v) for v in arrays[0]]


def expected(lower: int, upper: int, step: int, bits: int) -> list[int]:
    total = count = 0
    for i in range(lower, upper, step):
        signed = (i + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
        total, count = total * 3 + signed, count + 1
    return [(total + 2**63) % 2**64 - 2**63, count]


@pytest.mark.parametrize("hint", HINTS)
@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
def test_any_bounds(hint: str, known: bool) -> None:
    rng = np.random.default_rng(fresh_seed())
    for type in ("index", "i32"):
        step = int(rng.integers(1, 9))
        lower = int(rng.integers(-50, 50))
        upper = lower + int(rng.integers(-3, 9 * step))
        source = text(lower, upper, step, hint, type=type, known=known)
        assert run(source, lower, upper, step, type) == expected(
            lower, upper, step, 64 if type == "index" else 32
        )


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("hint", HINTS)
def test_the_last_number_before_the_type_ends(hint: str, unsigned: bool) -> None:
    """The number behind the last one does not fit into 16 bits."""
    rng = np.random.default_rng(fresh_seed())
    upper = (1 << 16) - 1 if unsigned else (1 << 15) - 1
    step = int(rng.integers(1000, 9000))
    lower = upper - int(rng.integers(1, 20000))
    source = text(lower, upper, step, hint, type="i16", known=False, unsigned=unsigned)
    assert run(source, lower, upper, step, "i16") == expected(lower, upper, step, 16)


def branches(source: str) -> int:
    """Branches that go back in the PTX."""
    ptx = compiled(source).ptx
    places = {m[1]: m.start() for m in re.finditer(r"^(\$\S+):", ptx, re.MULTILINE)}
    return sum(places[m[1]] < m.start() for m in re.finditer(r"bra(?:\.uni)?\s+(\$\S+);", ptx))


def test_what_the_code_looks_like() -> None:
    def made(upper: int, hint: str, known: bool = True) -> tuple[int, int]:
        source = text(0, upper, 1, hint, type="i32", known=known)
        return branches(source), len(re.findall("mad.lo|mul.lo|mul.wide", compiled(source).ptx))

    assert made(12, "{tessera.unroll_hint = 12 : i64}")[0] == 0  # all of it
    assert made(12, "{tessera.unroll_hint = 100 : i64}")[0] == 0
    assert made(13, "{tessera.unroll_hint = 4 : i64}")[0] == 1  # three rounds, and one iteration behind them
    assert (
        made(0, "{tessera.unroll_hint = 4 : i64}", known=False)[0] == 2
    )  # whole groups, and what is left over
    assert (
        "nounroll" in compiled(text(0, 99, 1, "{tessera.unroll_hint = 1 : i64}", type="i32", known=True)).ptx
    )
    full = "{llvm.loop_annotation = #llvm.loop_annotation<unroll = <full = true>>}"
    assert made(12, full)[0] == 0
    assert made(0, full, known=False)[0] == 1


@pytest.mark.parametrize("hint", ["0 : i64", "-1 : i64", '"all"'])
def test_a_hint_that_is_no_factor_is_refused(hint: str) -> None:
    source = text(0, 12, 1, f"{{tessera.unroll_hint = {hint}}}", type="i32", known=True)
    with pytest.raises(DiagnosticError) as caught:
        compiled(source)
    line = next(n for n, one in enumerate(source.splitlines(), 1) if "scf.for" in one)
    (only,) = caught.value.diagnostics
    assert only.message == f"'scf.for' op has tessera.unroll_hint = {hint}; expected a positive integer"
    assert only.location is not None and (only.location.start() or ())[1] == line
