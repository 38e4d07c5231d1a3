"""What each step makes of a module. A candidate is interesting if its text contains certain words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera_tools.ir.core import Operation
from tessera_tools.ir.printing import print_op
from tessera_tools.ir.verifier import verify
from tessera_tools.parser import parse_module
from tessera_tools.reduce.module import reduce_module
from tessera_tools.reduce.search import Budget
from tessera_tools.reduce.steps import STEPS, Step

ROOT = Path(__file__).resolve().parents[2]


def reduced(text: str, *words: str) -> str:
    """The smallest module whose text contains the words."""

    def interesting(data: bytes) -> bool:
        return all(word in data.decode() for word in words)

    def write(op: Operation) -> bytes:
        assert not verify(op)
        return print_op(op).encode()

    module = parse_module(text)
    return print_op(reduce_module(module, write, Budget(interesting, most=10_000, seconds=60.0)))


def test_functions_go() -> None:
    out = reduced("func.func @f() { return }\nfunc.func private @g()\nfunc.func @h() { return }", "@g")
    assert out.split() == ["module", "{", "func.func", "private", "@g()", "}"]


def test_ops_parameters_and_results_go() -> None:
    text = """func.func @f(%a: i32, %b: i1) -> i32 {
      %c = arith.constant 7 : i32
      %d = arith.addi %a, %c : i32
      %e = arith.divsi %d, %c : i32
      %g = arith.muli %e, %d : i32
      return %g : i32
    }"""
    assert reduced(text, "arith.divsi") == (
        "module {\n  func.func @f(%a: i32) {\n    %e = arith.divsi %a, %a : i32\n    return\n  }\n}\n"
    )


def test_a_constant_replaces_what_no_value_can() -> None:
    text = """func.func @f(%a: i32) {
      %x = arith.sitofp %a : i32 to f32
      %y = arith.negf %x : f32
      return
    }"""
    out = reduced(text, "arith.negf")
    assert "arith.constant 0.000000e+00 : f32" in out
    assert "sitofp" not in out


def test_an_older_value_replaces_what_no_constant_can() -> None:
    text = """func.func @f(%n: index) {
      %a = memref.alloc(%n) : memref<?xi32>
      %b = memref.alloc(%n) : memref<?xi32>
      memref.dealloc %b : memref<?xi32>
      return
    }"""
    module = parse_module(text)
    step = next(step for step in STEPS if step.name == "ops")
    a, b, dealloc = (site for site in step.sites(module) if site.name.startswith("memref"))
    assert step.apply(module, b)
    assert dealloc.operand(0) is a.results[0]
    # Nothing older is left for the first one.
    assert not step.apply(module, a)
    assert a.results[0].has_uses


def test_a_region_takes_the_place_of_its_op() -> None:
    text = """func.func @f(%a: i32, %b: i1) -> i32 {
      %x = scf.if %b -> i32 {
        %t = arith.remsi %a, %a : i32
        scf.yield %t : i32
      } else {
        scf.yield %a : i32
      }
      return %x : i32
    }"""
    out = reduced(text, "arith.remsi")
    assert "scf" not in out


def test_a_loop_becomes_its_body() -> None:
    text = """func.func @f(%n: index) {
      %c = arith.constant 1 : index
      scf.for %i = %c to %n step %c {
        %t = arith.divui %i, %n : index
      }
      return
    }"""
    assert "scf.for" not in reduced(text, "arith.divui")


def test_branches_and_blocks_go() -> None:
    text = """func.func @f(%a: i32, %b: i1) -> i32 {
      cf.cond_br %b, ^one(%a : i32), ^two
    ^one(%x: i32):
      %t = arith.remsi %x, %a : i32
      cf.br ^end(%t : i32)
    ^two:
      cf.br ^end(%a : i32)
    ^end(%r: i32):
      return %r : i32
    }"""
    out = reduced(text, "arith.remsi")
    assert "cf." not in out
    assert "^" not in out


def test_blocks_that_use_each_others_values_go_together() -> None:
    text = """func.func @f(%a: i32, %b: i1) {
      cf.cond_br %b, ^one, ^end
    ^one:
      %x = arith.addi %a, %a : i32
      cf.br ^two
    ^two:
      %y = arith.muli %x, %x : i32
      cf.cond_br %b, ^one, ^end
    ^end:
      return
    }"""
    module = parse_module(text)
    step = next(step for step in STEPS if step.name == "branches")
    assert step.apply(module, step.sites(module)[1])
    assert not verify(module)
    assert not {"arith.addi", "arith.muli"} & {op.name for op in module.walk()}


def test_attributes_and_numbers_go() -> None:
    text = "func.func @f() attributes {keep = 1 : i32, drop} { %c = arith.constant 8 : i32 return }"
    out = reduced(text, "arith.constant", "keep =")
    assert "keep = 0 : i32" in out
    assert "drop" not in out
    assert "constant 0 : i32" in out


def test_attributes_of_the_module_go() -> None:
    text = "module attributes {unit.keep = 1 : i32, unit.drop} { func.func @f() { return } }"
    assert reduced(text, "keep =") == "module attributes {unit.keep = 0 : i32} {\n}\n"


def test_the_input_is_not_changed() -> None:
    module = parse_module("func.func @f() { return }")
    before = print_op(module)
    reduce_module(module, lambda op: print_op(op).encode(), Budget(lambda _: True, most=100, seconds=60.0))
    assert print_op(module) == before


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_a_step_ends(step: Step) -> None:
    """Repeating one step on a kernel comes to an end: each makes something smaller."""
    module = parse_module((ROOT / "examples" / "softmax.mlir").read_text())
    count = len(list(module.walk()))
    for _ in range(50 * count):
        sites = step.sites(module)
        if not any(step.apply(module, site) for site in reversed(sites)):
            return
    raise AssertionError(f"'{step.name}' does not end")
