"""Accesses as the placement of barriers sees them: where they are, and how they age."""

from __future__ import annotations

import pytest

from tessera_tools.analysis.hazards import MOST_GROUPS, Access
from tessera_tools.ir.core import Operation
from tessera_tools.ir.effects import Completion, Kind, Reach
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.records import replace

MODULE = parse_module("""
func.func @f(%a: index, %b: index) {
  scf.for %i = %a to %b step %a {
    scf.for %j = %a to %b step %a {
      %x = arith.addi %i, %j : index
    }
  }
  scf.for %k = %a to %b step %a {
  }
  return
}
""")


def ops(name: str) -> list[Operation]:
    return [op for op in MODULE.walk() if op.name == name]


(OP,) = ops("arith.addi")
INNER = OP.parent_op
assert INNER is not None
OUTER = INNER.parent_op
assert OUTER is not None
(OTHER,) = [loop for loop in ops("scf.for") if not loop.is_ancestor_of(OP)]
COPY = Access(OP, Kind.WRITE, 0, 16, completion=Completion.GROUP)


@pytest.mark.parametrize(
    ("kind", "writes", "in_flight"),
    [
        (Kind.READ, False, True),
        (Kind.WRITE, True, True),
        (Kind.ARRIVE, True, False),
        (Kind.FREE, True, False),
    ],
)
def test_only_data_is_in_flight(kind: Kind, writes: bool, in_flight: bool) -> None:
    asynchronous = replace(COPY, kind=kind)
    assert (asynchronous.writes, asynchronous.in_flight) == (writes, in_flight)
    assert not asynchronous.completed().in_flight


@pytest.mark.parametrize(
    ("end", "reach", "by_element"),
    [(0, Reach.BY_THREAD, True), (0, Reach.TOGETHER, False), (16, Reach.BY_THREAD, False)],
)
def test_each_thread_chooses_places_in_global_memory(end: int, reach: Reach, by_element: bool) -> None:
    found = Access(OP, Kind.READ, 0, end, reach=reach)
    assert found.is_global == (end == 0)
    assert found.by_element == by_element


def test_groups_are_counted_up_to_a_limit() -> None:
    aged = COPY
    for count in range(1, MOST_GROUPS + 3):
        aged = aged.committed()
        assert aged.groups == min(count, MOST_GROUPS)
    assert aged.completed() == replace(COPY, completion=Completion.AT_ONCE)


def test_an_access_of_an_earlier_iteration_knows_its_loops() -> None:
    assert COPY.again(INNER).loops == {INNER}
    assert COPY.again(INNER).again(OUTER).loops == {INNER, OUTER}
    assert COPY.again(OTHER) is COPY


def test_behind_a_loop_there_is_no_earlier_iteration() -> None:
    around = COPY.again(INNER).again(OUTER)
    assert around.after_loop(INNER).loops == {OUTER}
    assert around.after_loop(INNER).after_loop(OUTER) == COPY
    assert around.after_loop(OTHER) is around


GLOBAL = """
module attributes {{nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"}} {{
  nv_tileaa.func @f(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %v: f32) attributes {{nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>}} {{
    nv_tileas.store_global %v, %p : f32, !llvm.ptr<1>
    {}
    %x = nv_tileas.load_global %q : !llvm.ptr<1> -> f32
    {}
    nv_tileaa.return
  }}
}}
"""  # noqa: E501
BARRIER = "nv_tileas.barrier"


@pytest.mark.parametrize(
    ("between", "behind", "kept"),
    [
        ("", "", 0),
        (BARRIER, "", 1),
        (f"{BARRIER}\n{BARRIER}", "", 1),
        (BARRIER, BARRIER, 1),
        ("", BARRIER, 0),
    ],
)
def test_accesses_of_elements_are_ordered_by_the_barriers_of_the_program(
    between: str, behind: str, kept: int
) -> None:
    """Each thread chooses its own address: no other barrier is inserted, and none that orders two of them goes."""
    module = parse_module(GLOBAL.format(between, behind))
    PassManager(Pipeline("builtin.module", [parse_pass("tileas-insert-barriers")])).run(module)
    found = [op for op in module.walk() if op.name == BARRIER]
    assert len(found) == kept
    for barrier in found:
        following = barrier.next_op
        assert following is not None and following.name == "nv_tileas.load_global"
