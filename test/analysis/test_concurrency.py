"""Regions that run at the same time: barriers order a unit's own accesses, pipelines those of different units."""

from __future__ import annotations

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import nv_tileas
from tessera_tools.ir.core import Operation
from tessera_tools.opdef import (
    NO_TERMINATOR,
    RECURSIVE_MEMORY_EFFECTS,
    REGIONS_RUN_TOGETHER,
    Op,
    variadic_region,
)
from tessera_tools.parser import parse_module
from tessera_tools.passes.tileas.barriers import insert_barriers
from tessera_tools.planning.shared_memory import allocate
from tessera_tools.target import lookup


class Agents(Op, name="test.agents", traits=(REGIONS_RUN_TOGETHER, RECURSIVE_MEMORY_EFFECTS, NO_TERMINATOR)):
    """Two agents."""

    agents = variadic_region()
    assembly = ""


MBAR = "!nv_tileas.smem<1x1xi64>"
STORE = "nv_tileas.store_element %x, %b[%i][%j] : f32, !nv_tileas.smem<1x64xf32>"
LOAD = "%v = nv_tileas.load_element %b[%i][%j] : !nv_tileas.smem<1x64xf32> -> f32"


def arrive(name: str) -> str:
    return f"nv_tileas.async.mbarrier_arrive %{name}[%i] : {MBAR}"


def wait(name: str) -> str:
    return f"nv_tileas.async.mbarrier_wait %{name}[%i], %i : {MBAR}"


def loop(*lines: str) -> str:
    return "scf.for %k = %i to %n step %one : i32 {\n" + "\n".join(lines) + "\n}"


def function(producer: str, consumer: str, before: str = "", behind: str = "") -> Operation:
    """A function with an agent each for two texts."""
    text = f"""
nv_tileaa.func @f(%i: i32, %j: i32, %n: i32, %one: i32, %x: f32) {{
  %b = nv_tileas.alloc_tensor : !nv_tileas.smem<1x64xf32>
  %full = nv_tileas.alloc_tensor : {MBAR}
  %empty = nv_tileas.alloc_tensor : {MBAR}
  {before}
  "t.agents"() ({{
    {producer}
    "t.end"() : () -> ()
  }}, {{
    {consumer}
    "t.end"() : () -> ()
  }}) : () -> ()
  {behind}
  nv_tileaa.return
}}
"""
    module = parse_module(text, "agents.mlir", allow_unregistered=True)
    [found] = (op for op in module.walk() if op.name == "nv_tileaa.func")
    [old] = (op for op in module.walk() if op.name == "t.agents")
    for op in [op for op in module.walk() if op.name == "t.end"]:
        op.erase()
    regions = list(old.regions)
    old.regions = []
    made = Agents.create(regions=regions, location=old.location)
    assert old.parent is not None
    from tessera_tools.ir.core import Builder

    Builder.before(old).insert(made)
    old.erase()
    return found


def barriers(function: Operation) -> list[str]:
    """Where the barriers stand that are inserted: `agent` or `function`."""
    insert_barriers(function, allocate(function, lookup("sm_90a")))
    places = [op.parent_op for op in function.walk() if isinstance(op, nv_tileas.Barrier)]
    return ["function" if place is function else "agent" for place in places]


def test_a_pipeline_orders_producer_and_consumer() -> None:
    producer = loop(wait("empty"), STORE, arrive("full"))
    consumer = loop(wait("full"), LOAD, arrive("empty"))
    assert barriers(function(producer, consumer)) == []


@pytest.mark.parametrize("left_out", ["empty", "full"])
@pytest.mark.parametrize("side", [0, 1])
def test_each_edge_of_a_pipeline_is_needed(left_out: str, side: int) -> None:
    ops = [[wait("empty"), STORE, arrive("full")], [wait("full"), LOAD, arrive("empty")]]
    ops[side] = [text for text in ops[side] if f"%{left_out}[" not in text]
    with pytest.raises(DiagnosticError, match="no pipeline orders the two accesses") as raised:
        barriers(function(loop(*ops[0]), loop(*ops[1])))
    assert raised.value.diagnostics[0].notes


def test_an_arrival_before_the_access_releases_nothing() -> None:
    producer = loop(wait("empty"), arrive("full"), STORE)
    consumer = loop(wait("full"), LOAD, arrive("empty"))
    with pytest.raises(DiagnosticError, match="no pipeline orders the two accesses"):
        barriers(function(producer, consumer))


def test_one_edge_orders_what_happens_once() -> None:
    assert barriers(function(f"{STORE}\n{arrive('full')}", f"{wait('full')}\n{LOAD}")) == []


def test_reads_need_no_order() -> None:
    assert barriers(function(LOAD, LOAD.replace("%v", "%w"))) == []


def test_an_access_before_is_ordered_by_a_barrier_before_all_agents() -> None:
    assert barriers(function(LOAD, "", before=STORE)) == ["function"]


def test_a_barrier_of_one_agent_does_not_order_what_another_did() -> None:
    own = f"{STORE}\nnv_tileas.barrier\n{LOAD}"
    text = function(own, "nv_tileas.barrier", behind=STORE)
    assert barriers(text) == ["agent", "function"]


def test_agents_have_scratch_of_their_own() -> None:
    buffer = "nv_tileas.alloc_tensor : !nv_tileas.smem<1x4096xf32>\n"
    store = "nv_tileas.store_element %x, %NAME[%i][%j] : f32, !nv_tileas.smem<1x4096xf32>"
    agents = function(*(f"%{name} = {buffer}{store.replace('NAME', name)}" for name in "pq"))
    in_turn = function("\n".join(f"%{name} = {buffer}{store.replace('NAME', name)}" for name in "pq"), "")
    target = lookup("sm_90a")
    assert allocate(agents, target).total >= 2 * 16384 > allocate(in_turn, target).total
