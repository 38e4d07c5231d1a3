"""Loops of two programs that multiply together: which of them run as often as the longer one."""

from __future__ import annotations

import pytest

from tessera_tools.dialects import arith, nv_tileaa
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.parser import parse_module
from tessera_tools.passes.tileas.cluster_loops import even_out

KERNEL = """
!a = tensor<16x16xf16>
!sums = tensor<16x16xf32>
!view = !nv_tileaa.memref<?x16xf16>
module attributes {{nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"}} {{
  nv_tileaa.func @kernel(%p: !llvm.ptr<1>, %x: !a, %n: i32, %m: i32) attributes {{
    nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>}} {{
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %none = arith.constant dense<0.0> : !sums
    %view = nv_tileaa.make_memref %p, shape = [%n, 16], stride = [16, 1], space = #nv_tileaa.global : !view
    %promised = nv_tileaa.make_memref %p, shape = [%n, 16], stride = [16, 1], space = #nv_tileaa.global
      {{inbounds = array<i1: true, false>}} : !view
    %mine = nv_tileaa.get_program_id {{axis = 0 : i32}} : i32
    %other = nv_tileaa.get_program_id {{axis = 1 : i32}} : i32
    %named = nv_tileaa.get_program_id of %m {{axis = 0 : i32}} : i32
    {bound}
    %s = scf.for %i = %zero to %end step {step} iter_args(%a = %none) -> (!sums) : i32 {{
      {body}
      %d = nv_tileas.dot %x, %x, {sums} {{atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>}} : !a, !a, !sums
      %next = arith.addf %a, %d : !sums
      scf.yield %next : !sums
    }}
    nv_tileaa.return
  }}
}}
"""
OWN = "%end = arith.addi %mine, %n : i32"


def is_lengthened(
    bound: str = OWN,
    body: str = "",
    programs: tuple[int, int] = (2, 1),
    step: str = "%one",
    sums: str = "%none",
) -> bool:
    text = KERNEL.format(bound=bound, body=body, step=step, sums=sums)
    module = parse_module(text, "kernel.mlir")
    (function,) = (op for op in module.walk() if isinstance(op, nv_tileaa.Func))
    changed = even_out(function, programs)
    verify_or_raise(module)
    return bool(changed)


def test_a_loop_whose_end_depends_on_the_program_runs_as_often_as_the_longer_one() -> None:
    assert is_lengthened()


def test_the_end_is_the_larger_one_of_both_programs() -> None:
    text = KERNEL.format(bound=OWN, body="", step="%one", sums="%none")
    (function,) = (op for op in parse_module(text, "k.mlir").walk() if isinstance(op, nv_tileaa.Func))
    (loop,) = even_out(function, (2, 1))
    largest, (first, second) = loop.upper.defining_op, loop.upper.defining_op.operands  # type: ignore[union-attr]
    assert isinstance(largest, arith.MaxSI)
    assert [isinstance(value.defining_op, arith.AddI) for value in (first, second)] == [True, True]
    assert constant_integer(loop.step) == 1


@pytest.mark.parametrize("programs", [(1, 1), (2, 2), (4, 1), (1, 2)])
def test_only_two_programs_along_the_axis_multiply_together(programs: tuple[int, int]) -> None:
    assert not is_lengthened(programs=programs)


@pytest.mark.parametrize(
    "bound",
    [
        pytest.param("%end = arith.addi %n, %m : i32", id="the same for all"),
        pytest.param("%end = arith.addi %other, %n : i32", id="of the other axis"),
        pytest.param("%end = arith.addi %named, %mine : i32", id="of a program by its number"),
    ],
)
def test_the_end_is_computed_from_the_place_of_the_program_alone(bound: str) -> None:
    assert not is_lengthened(bound)


ATOM = "{{atom = #cute.copy_atom<sm80_ldg_16_f16>}}"
LOAD = f"%v, %u = nv_tileas.tiled_load %view[{{}}, %zero], %t {ATOM} : !view -> !a, !nv_tileaa.mem_token"

NAMED = "%q = nv_tileaa.get_program_id of %m {axis = 1 : i32} : i32\n"
PROMISED = LOAD.replace("%view", "%promised")


@pytest.mark.parametrize(
    ("loop", "lengthens"),
    [
        ({"body": LOAD.format("%i")}, True),
        ({"body": LOAD.format("%mine")}, True),
        ({"body": PROMISED.format("%i")}, True),
        ({"body": PROMISED.format("%mine")}, False),
        ({"body": PROMISED.format("%other")}, True),
        ({"body": NAMED + PROMISED.format("%q")}, False),
        ({"body": "%q = arith.divsi %n, %i : i32"}, False),
        ({"body": "%q = nv_tileaa.assume %mine {lower = 0 : i64} : i32"}, False),
        ({"body": "%q = nv_tileaa.assume %i {lower = 0 : i64} : i32"}, True),
        ({"step": "%m"}, False),
        ({"sums": "%a"}, False),
    ],
)
def test_an_iteration_behind_the_end_changes_nothing(loop: dict[str, str], lengthens: bool) -> None:
    assert is_lengthened(**loop) == lengthens
