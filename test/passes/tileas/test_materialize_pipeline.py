"""Which scalar ops compute the indices of a load for later iterations, where its copies run ahead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera_tools.dialects import nv_tileas, scf
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import parse_pipeline
from tessera_tools.passes.tileas.materialize_pipeline import _index_slice


def index_slice(ops: str, first: str, second: str) -> list[str] | None:
    """The results of the ops, in a loop with the induction variable %k and the carried value %c, whose load has two
    indices."""
    module = parse_module(
        f"""
nv_tileaa.func @f(%v: !nv_tileaa.memref<?x?xf16>, %t: !nv_tileaa.mem_token, %n: i32, %m: i32) {{
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  %known = nv_tileaa.assume %m {{lower = 1 : i64}} : i32
  %r = scf.for %k = %zero to %n step %two iter_args(%c = %zero) -> (i32) : i32 {{
    {ops}
    %x, %xt = nv_tileas.tiled_load %v[{first}, {second}], %t {{
      atom = #cute.copy_atom<sm80_ldg_16_f16>
    }} : !nv_tileaa.memref<?x?xf16> -> tensor<64x64xf16>, !nv_tileaa.mem_token
    %next = arith.addi %c, %two : i32
    scf.yield %next : i32
  }}
  nv_tileaa.return
}}
""",
        "loop.mlir",
    )
    (loop,) = (op for op in module.walk() if isinstance(op, scf.For))
    (load,) = (op for op in loop.walk() if isinstance(op, nv_tileas.TiledLoad))
    found = _index_slice(load, loop)
    return None if found is None else [op.results[0].name_hint for op in found]


SQUARE, SUM = "%a = arith.muli %k, %k : i32", "%b = arith.addi %a, %n : i32"


@pytest.mark.parametrize(
    ("ops", "indices", "expected"),
    [
        ("", ("%k", "%n"), []),
        ("", ("%n", "%zero"), []),
        (SQUARE, ("%a", "%n"), ["a"]),
        (SQUARE, ("%n", "%a"), ["a"]),
        (SQUARE, ("%a", "%a"), ["a"]),
        (f"{SQUARE}\n{SUM}", ("%b", "%a"), ["a", "b"]),
        (f"{SQUARE}\n{SUM}", ("%k", "%b"), ["a", "b"]),
        ("%a = arith.divui %k, %known : i32", ("%a", "%n"), ["a"]),
        ("%a = arith.divui %k, %two : i32", ("%zero", "%a"), ["a"]),
    ],
)
def test_indices_follow_from_the_induction_variable(
    ops: str, indices: tuple[str, str], expected: list[str]
) -> None:
    assert index_slice(ops, *indices) == expected


@pytest.mark.parametrize(
    "ops",
    [
        "%a = arith.addi %c, %n : i32",
        "%b = arith.muli %k, %c : i32\n%a = arith.addi %b, %two : i32",
        # It may trap in an iteration that does not exist.
        "%a = arith.divui %k, %m : i32",
        "%b = arith.addi %known, %k : i32\n%a = arith.divui %n, %b : i32",
        # Its effects would come early.
        "%a = scf.if %go -> (i32) { scf.yield %k : i32 } else { scf.yield %n : i32 }",
    ],
)
@pytest.mark.parametrize("other", ["%k", "%n", "%zero"])
def test_what_needs_more_is_refused(ops: str, other: str) -> None:
    ops = f"%go = arith.cmpi slt, %k, %n : i32\n{ops}"
    assert index_slice(ops, "%a", other) is None
    assert index_slice(ops, other, "%a") is None


@pytest.mark.parametrize("other", ["%k", "%n", "%zero"])
def test_a_carried_index_is_refused(other: str) -> None:
    assert index_slice("", "%c", other) is None
    assert index_slice("", other, "%c") is None


KERNEL = (Path(__file__).parent / "tileas-materialize-pipeline.mlir").read_text()


@pytest.mark.parametrize(
    ("lower", "upper", "in_front", "inside"),
    [
        ("%zero", "upper = 100", False, False),
        ("%start", "upper = 100", True, False),
        ("%zero", "upper = 2147483646", False, False),
        ("%zero", "upper = 2147483647", True, True),
    ],
)
def test_no_copy_is_for_a_number_that_has_wrapped_around(
    lower: str, upper: str, in_front: bool, inside: bool
) -> None:
    """Neither behind the last iteration, nor in front of a loop without iterations, which begins anywhere."""
    text = KERNEL.replace("%n: i32)", "%most: i32, %start: i32)").replace(
        "%r = scf.for %i = %zero",
        f"%n = nv_tileaa.assume %most {{{upper} : i64}} : i32\n%r = scf.for %i = {lower}",
    )
    module = parse_module(text, "kernel.mlir")
    PassManager(parse_pipeline("builtin.module(tileas-materialize-pipeline{num-stages=3})")).run(module)
    (loop,) = (op for op in module.walk() if isinstance(op, scf.For))
    guards = [op.parent is loop.body.entry for op in module.walk() if op.name == "arith.andi"]
    assert (False in guards, True in guards) == (in_front, inside)
