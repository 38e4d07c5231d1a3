"""The ops that compute for a load alone: its producer executes them in place of the consumers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tessera_tools.dialects import nv_tileas
from tessera_tools.parser import parse_module
from tessera_tools.passes.tileas.fills import only_for

KERNEL = """
!a = tensor<16x16xf16>
!view = !nv_tileaa.memref<?x16xf16>
func.func @kernel(%p: !llvm.ptr<1>, %n: i32) {{
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %view = nv_tileaa.make_memref %p, shape = [%n, 16], stride = [16, 1], space = #nv_tileaa.global : !view
  %outside = arith.constant 0 : i32
  scf.for %i = %outside to %n step %n : i32 {{
    {body}
    %v, %u = nv_tileas.tiled_load %view[%x, %y], %t
      {{atom = #cute.copy_atom<sm80_ldg_16_f16>}} : !view -> !a, !nv_tileaa.mem_token
    {behind}
  }}
  return
}}
"""


def own(body: str, behind: str = "", *, is_copied: bool = False) -> list[str]:
    """What computes for the load alone, in order."""
    module = parse_module(KERNEL.format(body=body, behind=behind), "kernel.mlir")
    (load,) = (op for op in module.walk() if isinstance(op, nv_tileas.TiledLoad))
    found = only_for(SimpleNamespace(load=load, is_copied=is_copied))  # type: ignore[arg-type]
    return [op.name for op in module.walk() if op in found]


MUL, ADD = "%x = arith.muli %i, %n : i32\n", "%y = arith.addi %x, %n : i32\n"


def test_all_indices_of_the_load_and_what_they_are_computed_from() -> None:
    assert own(MUL + ADD) == ["arith.muli", "arith.addi"]
    assert own("%z = arith.subi %i, %n : i32\n%x = arith.muli %z, %z : i32\n%y = arith.addi %z, %n : i32\n") == [
        "arith.subi", "arith.muli", "arith.addi",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("behind", "left"),
    [
        ("%m = arith.subi %y, %n : i32", []),
        ("%m = arith.subi %x, %n : i32", ["arith.addi"]),
    ],
)
def test_what_others_use_is_not_for_the_load_alone(behind: str, left: list[str]) -> None:
    assert own(MUL + ADD, behind) == left


def test_ops_outside_of_the_loop_and_those_with_regions_stay() -> None:
    branch = "scf.if %c -> (i32) {\n scf.yield %n : i32\n} else {\n scf.yield %i : i32\n}\n"
    compare = "%c = arith.cmpi slt, %i, %n : i32\n"
    assert own(f"{compare}%x = {branch}%y = arith.addi %outside, %n : i32\n") == ["arith.addi"]


def test_copies_are_of_the_consumers() -> None:
    assert own(MUL + ADD, is_copied=True) == []
