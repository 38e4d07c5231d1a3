"""Pipelines of nv_tileas: their ops are arrivals and waits, which order what agents do with the stages."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tessera_tools.analysis.pipelines import problems
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.core import Builder, Operation
from tessera_tools.parser import parse_module
from tessera_tools.passes.stages import Contents, arrivals
from tessera_tools.passes.tileas.barriers import insert_barriers
from tessera_tools.planning.shared_memory import allocate
from tessera_tools.target import lookup

P = "nv_tileas.async.pipeline"
SMEM = "!nv_tileas.smem<{}x64x64xf16>"
ATOM = "#cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>"
DOT_ATOM = "#cute.mma_atom<sm90_wgmma_m64n64k16_f32_f16_f16>"
LINEAR = (
    "#nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], "
    "lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>"
)
TILE = f"tensor<64x64xf32, {LINEAR}>"
HALF = TILE.replace("f32", "f16")


def producer(acquire: str = "%e = {0}.producer_acquire %p, %i : !nv_tileas.producer_token") -> str:
    return f"""
      {acquire.format(P)}
      %w = {P}.producer_write %e, %i {{
        nv_tileas.async.tiled_tma_load %d[%x, %x], %b, %i : !nv_tileas.tma_desc<64x64xf16>, SMEM
      }}
      {P}.producer_commit %w"""


def consumer(*order: str) -> str:
    """A consumer that does these in turn, of: wait, dot, done, release."""
    said = {
        "wait": f"%t = {P}.consumer_wait %p, %j, 0 : !nv_tileas.consumer_token",
        "dot": f"""%v = nv_tileas.view %b, %j : SMEM -> {SMEM.format(1)}
          %o = nv_tileas.async.dot %v, %v, %c {{atom = {DOT_ATOM}, warps = array<i64: 4, 1>}} :
            {SMEM.format(1)}, {SMEM.format(1)}, {TILE}""",
        "done": f"%q = nv_tileas.async.dot_wait %o, 0 : {TILE}",
        "release": f"{P}.consumer_release %t",
    }
    return "\n".join(said[word] for word in order)


def looped(body: str, name: str) -> str:
    return f"""
      %{name}0 = {P}.create_iterator %p : !nv_tileas.pipeline_iter<i32>
      %{name}1 = scf.for %k = %x to %n step %one iter_args(%{name} = %{name}0)
        -> (!nv_tileas.pipeline_iter<i32>) : i32 {{
        {body}
        %next = {P}.inc_iter %{name} : !nv_tileas.pipeline_iter<i32>
        scf.yield %next : !nv_tileas.pipeline_iter<i32>
      }}"""


def kernel(produce: str, consume: str, stages: int = 2, switch: bool = True, producers: int = 1) -> Operation:
    """A function whose agents have these bodies; without a switch, one unit that does first one, then the other."""
    first, second = looped(produce, "i"), looped(consume, "j")
    body = (
        f"{P}.agent_switch num_warps = [1, 4] warp_id = [0, 4] {{ {first} }}, {{ {second} }}"
        if switch
        else first + second
    )
    text = f"""
nv_tileaa.func @f(%view: !nv_tileaa.memref<?x?xf16>, %x: i32, %n: i32, %one: i32) {{
  %c = arith.constant dense<0.0> : {TILE}
  %d = nv_tileas.make_tiled_tma_desc %view, box = [64, 64] {{atom = {ATOM}}}
    : !nv_tileaa.memref<?x?xf16> -> !nv_tileas.tma_desc<64x64xf16>
  %b = nv_tileas.alloc_tensor : SMEM
  %p = {P}.create_pipeline stages = {stages}, producers = {producers}, consumers = 4 : !nv_tileas.pipeline_token
  {body}
  nv_tileaa.return
}}
"""
    module = parse_module(text.replace("SMEM", SMEM.format(stages)), "pipeline.mlir")
    return next(op for op in module.walk() if op.name == "nv_tileaa.func")


def barriers(function: Operation) -> list[str]:
    """Before what the barriers stand that are inserted."""
    insert_barriers(function, allocate(function, lookup("sm_90a")))
    found = [op.next_op for op in function.walk() if isinstance(op, nv_tileas.Barrier)]
    return [op.name if op is not None else "end" for op in found]


ALL = ("wait", "dot", "done", "release")


@pytest.mark.parametrize("stages", [1, 2])
def test_a_pipeline_orders_what_agents_do_with_its_stages(stages: int) -> None:
    assert barriers(kernel(producer(), consumer(*ALL), stages)) == []


def test_a_stage_is_not_released_before_the_product_has_read_it() -> None:
    with pytest.raises(DiagnosticError, match="accesses memory that a concurrent region also accesses"):
        barriers(kernel(producer(), consumer("wait", "dot", "release", "done")))


def test_a_stage_is_not_read_before_it_has_been_waited_for() -> None:
    with pytest.raises(DiagnosticError, match="no pipeline orders the two accesses"):
        barriers(kernel(producer(), consumer("dot", "wait", "done", "release")))


def test_the_barriers_of_a_pipeline_are_made_before_anyone_waits_for_them() -> None:
    """An agent_switch begins with a barrier; elsewhere there must be one."""
    assert barriers(kernel(producer(), consumer(*ALL), switch=False)) == ["scf.for"]


def test_scratch_of_one_agent_lies_apart_from_stages_of_all() -> None:
    function = kernel(producer(), consumer(*ALL))
    allocation = allocate(function, lookup("sm_90a"))
    spans = sorted((at, at + allocation.sizes[op]) for op, at in allocation.offsets.items())
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


@pytest.mark.parametrize("waits_first", [True, False])
def test_a_buffer_is_in_use_until_the_product_that_reads_it_is_waited_for(waits_first: bool) -> None:
    one = SMEM.format(1)
    wait = f"%q = nv_tileas.async.dot_wait %o, 0 : {TILE}"
    store = "nv_tileas.store_element %h, %{}[%x][%x, %x] : f16, " + one
    text = f"""
nv_tileaa.func @f(%c: {TILE}, %x: i32, %h: f16) {{
  %a = nv_tileas.alloc_tensor : {one}
  %b = nv_tileas.alloc_tensor : {one}
  nv_tileas.fence_proxy
  %o = nv_tileas.async.dot %a, %a, %c {{atom = {DOT_ATOM}, warps = array<i64: 4, 1>}} : {one}, {one}, {TILE}
  {wait if waits_first else ""}
  {store.format("b")}
  {"" if waits_first else wait}
  nv_tileaa.return
}}
"""
    function = next(op for op in parse_module(text, "f.mlir").walk() if op.name == "nv_tileaa.func")
    assert allocate(function, lookup("sm_90a")).total == (8192 if waits_first else 16384)


def unmatched(function: Operation) -> list[str]:
    """The messages of the rules that a kernel breaks."""
    return [failure.diagnostics[0].message for failure in problems(function)]


def miscounted(function: Operation) -> list[str]:
    """The messages about arrivals that the pipelines of a kernel do not count."""
    function.attributes["nv_tileaa.kernel_spec"] = nv_tileaa.KernelSpecAttr(8, (1, 1, 1))
    assert function.parent_op is not None
    return [failure.diagnostics[0].message for failure in arrivals(Contents(function.parent_op))]


def branch(text: str) -> str:
    return f"%cond = arith.cmpi eq, %x, %n : i32\nscf.if %cond {{\n{text}\n}}"


@pytest.mark.parametrize("stages", [1, 2])
def test_a_matched_pipeline_breaks_no_rule(stages: int) -> None:
    assert unmatched(kernel(producer(), consumer(*ALL), stages)) == []


def test_a_pipeline_counts_the_arrivals_of_what_fills_it() -> None:
    """One for TMA; one of the only warp for a tile that its threads store; 32 for what they copy."""
    view = f"%u = nv_tileas.view %b, %i : SMEM -> {SMEM.format(1)}\n"
    end = "\n        nv_tileas.async.tiled_tma"
    store = (
        f"nv_tileas.store %h, %u[%x] {{atom = #cute.copy_atom<sm80_sts_16_f16>}} : {HALF}, {SMEM.format(1)}"
    )
    copy = (
        "nv_tileas.async.tiled_copy %view[%x, %x], %u[%x] {atom = #cute.copy_atom<sm80_cp_async_128_f16>} : "
        f"!nv_tileaa.memref<?x?xf16>, {SMEM.format(1)}"
    )
    made = f"%h = arith.constant dense<0.0> : {HALF}\n" + producer()
    for filler, count in (("", 1), (store, 2), (copy, 33)):
        produce = made.replace(end, "\n" + view + filler + end)
        assert miscounted(kernel(produce, consumer(*ALL), producers=count)) == []
        (message,) = miscounted(kernel(produce, consumer(*ALL), producers=count + 1))
        assert f"has {count + 1} producers, but a stage is full after {count} arrival" in message


@pytest.mark.parametrize(
    ("produce", "consume", "message"),
    [
        pytest.param("", consumer(*ALL), "is waited for, but nothing fills its stages", id="no producer"),
        pytest.param(producer(), "", "is filled, but nothing waits for its stages", id="no consumer"),
        pytest.param(
            producer(),
            consumer("wait", "dot", "done") + branch(consumer("release")),
            f"'{P}.consumer_wait' op yields a stage that '{P}.consumer_release' uses on some paths only; move it into "
            "the block of this op",
            id="released on some paths",
        ),
        pytest.param(
            producer() + producer().replace("%e", "%e2").replace("%w", "%w2"),
            consumer(*ALL),
            "uses a stage a second time",
            id="acquired twice",
        ),
        pytest.param(
            producer().replace("%i", "%i0"),
            consumer(*ALL),
            "uses the same stage in each iteration",
            id="kept",
        ),
        pytest.param(
            producer(),
            consumer(*ALL, "release"),
            "uses a token that was already used",
            id="released twice",
        ),
    ],
)
def test_an_unmatched_stage_is_told(produce: str, consume: str, message: str) -> None:
    found = unmatched(kernel(produce, consume))
    assert len(found) == 1 and message in found[0]


def test_a_stage_that_a_branch_gives_is_released() -> None:
    token = "!nv_tileas.consumer_token"
    function = kernel(
        producer(),
        consumer("wait", "dot", "done")
        + f"\n%cond = arith.cmpi eq, %x, %n : i32\n%u = scf.if %cond -> ({token}) "
        f"{{ scf.yield %t : {token} }} else {{ scf.yield %t : {token} }}",
    )
    assert unmatched(function) == ["'scf.if' op gives a stage that is never released"]


def test_a_stage_that_is_used_in_either_branch_is_used_once() -> None:
    either = consumer("release")
    function = kernel(
        producer(),
        consumer("wait", "dot", "done")
        + f"%cond = arith.cmpi eq, %x, %n : i32\nscf.if %cond {{ {either} }} else {{ {either} }}",
    )
    assert unmatched(function) == []


def test_a_stage_that_one_branch_reads_and_both_pass_on_is_used_on_every_path() -> None:
    read = f"%r = {P}.consumer_read %t, %j {{ {consumer('dot', 'done')} }}"
    token = "!nv_tileas.consumer_token"
    function = kernel(
        producer(),
        consumer("wait")
        + f"\n%cond = arith.cmpi eq, %x, %n : i32\n%u = scf.if %cond -> ({token}) {{ {read}\n"
        f"scf.yield %r : {token} }} else {{ scf.yield %t : {token} }}\n{P}.consumer_release %u",
    )
    assert unmatched(function) == []


def test_an_iterator_that_a_loop_does_not_advance_is_told() -> None:
    function = kernel(producer(), consumer(*ALL))
    [advance] = [op for op in function.walk() if isinstance(op, nv_tileas.IncIter) and unit_is(op, 0)]
    advance.res.replace_all_uses_with(advance.iter)
    advance.erase()
    [found] = unmatched(function)
    assert "carries an iterator that is 1 stage behind after each iteration of 'scf.for'" in found


def unit_is(op: Operation, number: int) -> bool:
    """True if an op stands in that agent."""
    switch = next(o for o in ancestors(op) if isinstance(o, nv_tileas.AgentSwitch))
    return nv_tileas.agent_of(op) is switch.regions[number]


def ancestors(op: Operation) -> list[Operation]:
    """The ops around an op, from the inside."""
    found: list[Operation] = []
    outer = op.parent_op
    while outer is not None:
        found.append(outer)
        outer = outer.parent_op
    return found


def test_an_iterator_of_another_pipeline_is_told() -> None:
    function = kernel(producer(), consumer(*ALL))
    [made] = [op for op in function.walk() if isinstance(op, nv_tileas.CreatePipeline)]
    other = made.clone()
    Builder.before(made).insert(other)
    for op in function.walk():
        if isinstance(op, nv_tileas.CreateIterator) and unit_is(op, 1):
            op.set_operand(0, other.results[0])
    assert any("has an iterator of another pipeline" in message for message in unmatched(function))
