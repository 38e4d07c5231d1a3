"""Which waits for empty stages other waits of the agent imply, in agents that are written by hand."""

from __future__ import annotations

import pytest

from tessera_tools.analysis.implied_waits import implied_waits
from tessera_tools.dialects import nv_tileas
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.parser import parse_module

P = "nv_tileas.async.pipeline"
TYPES = """
#columns = #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]],
                              column = [[0, 1], [0, 2], [0, 4]]}>
!sums = !nv_tileas.tmem<1x128x8xf32, #columns>
!shared = !nv_tileas.smem<1x128x8xf32, #nv_tileas.shared<{offset = [
  [0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]]}>>
!tile = tensor<128x8xf32>
!left = !nv_tileas.smem<1x64x16xf16>
!right = !nv_tileas.smem<1x16x8xf16>
!acc = !nv_tileas.tmem<1x64x8xf32, #nv_tileas.tensor<{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 0], [16, 0], [32, 0]],
                                                      column = [[0, 1], [0, 2], [0, 4]]}>>
!iter = !nv_tileas.pipeline_iter<i32>
"""
NAMES = "pqr"


STORE = "nv_tileas.store {}, %b[%n] {{atom = #cute.copy_atom<sm80_sts_128_f32>}} : !tile, !shared"


def fill(pipeline: str, body: str = STORE.format("%t")) -> str:
    """The warps of an agent store a tile to a stage."""
    return f"""
      %{pipeline}a = {P}.producer_acquire %{pipeline}, %{pipeline}i : !nv_tileas.producer_token
      %{pipeline}w = {P}.producer_write %{pipeline}a, %{pipeline}i {{ {body} }}
      {P}.producer_commit %{pipeline}w"""


def wait(pipeline: str) -> str:
    return f"%{pipeline}t = {P}.consumer_wait %{pipeline}, %{pipeline}i, 0 : !nv_tileas.consumer_token"


def release(pipeline: str) -> str:
    return f"{P}.consumer_release %{pipeline}t"


STORED, LOADED = (
    "nv_tileas.tmem_store %t, %d : !tile, !sums",
    "%v = nv_tileas.tmem_load %d, %pi : !sums -> !tile",
)


def agent(used: str, *ops: str, behind: str = "") -> str:
    """A loop with ops on the next stages of pipelines, and waits behind it until those of some are empty."""
    begun = "\n".join(f"%{p}0 = {P}.create_iterator %{p} : !iter" for p in used)
    steps = "\n".join(f"%{p}n = {P}.inc_iter %{p}i : !iter" for p in used)
    carried = ", ".join(f"%{p}i = %{p}0" for p in used)
    types = ", ".join(["!iter"] * len(used))
    given = ", ".join(f"%{p}n" for p in used)
    inside = "\n".join(ops)
    ends = "\n".join(f"{P}.producer_tail %{p}, %l#{used.index(p)}" for p in behind)
    return f"""{{
    {begun}
    %l:{len(used)} = scf.for %k = %n to %m step %m iter_args({carried}) -> ({types}) : i32 {{
      {inside}
      {steps}
      scf.yield {given} : {types}
    }}
    {ends}
  }}"""


def implied(*agents: str, more: str = "", warps: str = "4") -> list[str]:
    """The pipelines for whose stages a wait is implied, each of one stage; `more` is said of one of them.

    warps: those of the first agent.
    """
    made = "\n".join(
        f"%{p} = {P}.create_pipeline stages = 1, producers = 4, consumers = 4 {more[1:] if more[:1] == p else ''} "
        ": !nv_tileas.pipeline_token"
        for p in NAMES
    )
    counts = ", ".join([warps, *["4"] * (len(agents) - 1)])
    begins = ", ".join(str(4 * number) for number in range(len(agents)))
    text = f"""{TYPES}
func.func @kernel(%t: !tile, %n: i32, %m: i32, %x: !left, %y: !right, %add: i1) {{
  %d, %e = nv_tileas.alloc_tmem : !sums, !acc
  %b = nv_tileas.alloc_tensor : !shared
  {made}
  {P}.agent_switch num_warps = [{counts}] warp_id = [{begins}] {", ".join(agents)}
  nv_tileas.dealloc_tmem %d, %e : !sums, !acc
  return
}}
"""
    module = parse_module(text, "agents.mlir")
    verify_or_raise(module)
    (function,) = module.regions[0].entry
    created = [op for op in function.walk() if isinstance(op, nv_tileas.CreatePipeline)]
    names = dict(zip(created, NAMES, strict=True))
    return [names[found] for op in implied_waits(function) if (found := nv_tileas.pipeline_of(op.iter))]


def test_two_agents_that_answer_each_other_wait_for_full_stages_only() -> None:
    assert implied(
        agent("pq", wait("p"), release("p"), fill("q")), agent("pq", fill("p"), wait("q"), release("q"))
    ) == ["q", "p"]


def test_an_agent_that_is_not_answered_waits() -> None:
    assert implied(agent("q", fill("q")), agent("q", wait("q"), release("q"))) == []


@pytest.mark.parametrize("released, expected", [("before", ["p", "r", "q"]), ("after", ["r", "q"])])
def test_the_answer_may_come_by_way_of_others(released: str, expected: list[str]) -> None:
    """But not before an agent has released a stage: if it fills another one first, that says nothing in time."""
    ops = [release("p"), fill("q")] if released == "before" else [fill("q"), release("p")]
    assert (
        implied(
            agent("pr", fill("p"), wait("r"), release("r")),
            agent("qr", wait("q"), release("q"), fill("r")),
            agent("pq", wait("p"), *ops),
        )
        == expected
    )


@pytest.mark.parametrize("shared", ["p in_turn", "p, peers = [1]", "p pair"])
def test_other_ctas_and_turns_are_left_out(shared: str) -> None:
    """Also as what would imply another wait."""
    shared = shared.replace("p, peers", "p , peers").replace("p ", "p", 1)
    assert (
        implied(
            agent("pq", wait("p"), release("p"), fill("q")),
            agent("pq", fill("p"), wait("q"), release("q")),
            more=shared,
        )
        == []
    )


def test_an_agent_waits_for_each_phase_or_for_none() -> None:
    """The wait behind the loop is for the last phase, which only one that has waited for the others can tell."""
    answers = agent("pq", wait("p"), release("p"), fill("q"))
    assert implied(answers, agent("pq", fill("p"), wait("q"), release("q"), behind="p")) == ["q"]


@pytest.mark.parametrize("behind, expected", [("rp", ["q", "p", "p"]), ("pr", ["q"])])
def test_a_wait_behind_a_loop_is_implied_by_one_for_what_is_released_later(
    behind: str, expected: list[str]
) -> None:
    answers = agent("pqr", wait("p"), release("p"), wait("r"), release("r"), fill("q"))
    fills = agent("pqr", fill("p"), fill("r"), wait("q"), release("q"), behind=behind)
    assert implied(answers, fills) == expected


@pytest.mark.parametrize("uses, expected", [(False, []), (True, ["p"])])
def test_loads_of_tensor_memory_are_told_by_an_arrival_with_a_fence(uses: bool, expected: list[str]) -> None:
    """It has one if it is for an agent that uses the same columns."""
    body = [STORED] if uses else []
    found = implied(
        agent("pr", fill("p", STORED), wait("r"), release("r")),
        agent("qr", wait("q"), *body, release("q"), fill("r")),
        agent("pq", wait("p"), LOADED, STORE.format("%v"), release("p"), fill("q")),
    )
    assert [name for name in found if name == "p"] == expected


PRODUCT = (
    "nv_tileas.async.umma %x, %y, %e, slot %n accumulate %add {"
    "atom = #cute_nvgpu.mma_atom<sm100_umma_m64n8k16, f16, f16, f32>} : !left, !right, !acc"
)


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        # The commit tells of all products that are started, also of those whose stage is released behind it.
        ([wait("p"), PRODUCT, "{commit}", "{release}"], True),
        ([wait("p"), PRODUCT, "{release}", "{commit}"], True),
        # It tells of none that is started later.
        (["{commit}", wait("p"), PRODUCT, "{release}"], False),
    ],
)
def test_a_commit_of_products_tells_of_those_that_are_started(ops: list[str], expected: bool) -> None:
    commit = f"%qa = {P}.producer_acquire %q, %qi : !nv_tileas.producer_token\n{P}.producer_commit %qa"
    body = [op.replace("{commit}", commit).replace("{release}", f"{release('p')} products") for op in ops]
    found = implied(agent("pq", *body), agent("pq", fill("p"), wait("q"), release("q")), warps="1")
    assert ("p" in found) == expected


def test_a_stage_that_is_acquired_in_two_places_has_no_number() -> None:
    """Execution n of an acquire in one of two loops is not that of stage n."""
    answers = agent("pq", wait("p"), release("p"), fill("q"))
    twice = agent("pq", fill("p"), wait("q"), release("q"))
    loop = twice[twice.index("%l:2") : twice.rindex("}")]
    again = loop.replace("%l:2", "%o:2").replace("%p0", "%l#0").replace("%q0", "%l#1")
    twice = twice[: twice.rindex("}")] + again + "}"
    assert implied(answers, twice) == []
