"""A stage of a pipeline is read while its agent holds it, and released when the reads are complete, on every path."""

from __future__ import annotations

import pytest

from tessera_tools.analysis.pipelines import problems
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.parser import parse_module

P = "nv_tileas.async.pipeline"
ITERATOR, TOKEN = "!nv_tileas.pipeline_iter<i32>", "!nv_tileas.consumer_token"
BUFFER, STAGE = "!nv_tileas.smem<3x64x64xf16>", "!nv_tileas.smem<1x64x64xf16>"
SUMS = "tensor<64x64xf32>"


def wait(iterator: str, token: str) -> str:
    return f"{token} = {P}.consumer_wait %p, {iterator}, 0 : {TOKEN}"


def inc(iterator: str, result: str) -> str:
    return f"{result} = {P}.inc_iter {iterator} : {ITERATOR}"


def dot(iterator: str, sums: str, result: str, buffer: str = "%buffer") -> str:
    """A product of a stage by itself."""
    view = f"%v_{result[1:]}"
    return f"""{view} = nv_tileas.view {buffer}, {iterator} : {BUFFER} -> {STAGE}
    {result} = nv_tileas.async.dot {view}, {view}, {sums} {{
      atom = #cute.mma_atom<sm90_wgmma_m64n64k16_f32_f16_f16>, warps = array<i64: 4, 1>
    }} : {STAGE}, {STAGE}, {SUMS}"""


def load(iterator: str, result: str = "%loaded") -> str:
    """A read by the threads."""
    view = f"%v_{result[1:]}"
    return f"""{view} = nv_tileas.view %buffer, {iterator} : {BUFFER} -> {STAGE}
    {result} = nv_tileas.load {view}[%x] offsets = [0, 0] {{
      atom = #cute.copy_atom<sm80_lds_16_f16>
    }} : {STAGE} -> tensor<64x64xf16>"""


def release(token: str) -> str:
    return f"{P}.consumer_release {token}"


DONE = "nv_tileas.async.dot_wait 0"
START = f"%s = {P}.create_iterator %p : {ITERATOR}"


def lines(*parts: str) -> str:
    return "\n".join(parts)


def loop(*body: str, given: str = "%j2") -> str:
    """A loop that carries an iterator %j and sums %c, and yields `given` and %d."""
    return f"""%r:2 = scf.for %k = %x to %n step %one iter_args(%j = %s, %c = %zero) -> ({ITERATOR}, {SUMS}) : i32 {{
      {lines(*body)}
      scf.yield {given}, %d : {ITERATOR}, {SUMS}
    }}"""


def left(again: str, behind: str) -> str:
    """A loop that a branch continues: it reads the stage of the iteration before, whose token it carries; and a read of
    the last one behind it."""
    return lines(
        START,
        wait("%s", "%t0"),
        inc("%s", "%s1"),
        f"""%r:2 = nv_tileaa.loop (%b = %s, %t = %t0, %j = %s1)
          : ({ITERATOR}, {TOKEN}, {ITERATOR}) -> ({TOKEN}, {ITERATOR}) {{""",
        load("%b", "%old"),
        release("%t"),
        wait("%j", "%u"),
        inc("%j", "%j2"),
        f"nv_tileaa.if %cond {{ nv_tileaa.continue {again}, %u, %j2 : {ITERATOR}, {TOKEN}, {ITERATOR} }}",
        f"nv_tileaa.break %u, {behind} : {TOKEN}, {ITERATOR}",
        "}",
        load("%r#1", "%last"),
        release("%r#0"),
    )


def ahead(*body: str) -> str:
    """The same, with a stage that is held from one iteration to the next: %t, whose product is in flight."""
    return lines(
        START,
        wait("%s", "%t0"),
        inc("%s", "%s1"),
        dot("%s", "%zero", "%d0"),
        f"""%r:3 = scf.for %k = %x to %n step %one iter_args(%j = %s1, %c = %d0, %t = %t0)
          -> ({ITERATOR}, {SUMS}, {TOKEN}) : i32 {{""",
        wait("%j", "%u"),
        inc("%j", "%j2"),
        *body,
        f"scf.yield %j2, %d, %u : {ITERATOR}, {SUMS}, {TOKEN}",
        "}",
        DONE,
        release("%r#2"),
    )


def found(consume: str) -> list[tuple[str, str]]:
    """(op, message) of each rule that a kernel breaks."""
    text = f"""
nv_tileaa.func @f(%view: !nv_tileaa.memref<?x?xf16>, %x: i32, %n: i32, %one: i32, %cond: i1) {{
  %desc = nv_tileas.make_tiled_tma_desc %view, box = [64, 64] {{
    atom = #cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>
  }} : !nv_tileaa.memref<?x?xf16> -> !nv_tileas.tma_desc<64x64xf16>
  %buffer = nv_tileas.alloc_tensor : {BUFFER}
  %empty = nv_tileas.alloc_tensor : {BUFFER}
  %zero = arith.constant dense<0.0> : {SUMS}
  %p = {P}.create_pipeline stages = 3, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %i0 = {P}.create_iterator %p : {ITERATOR}
  {P}.agent_switch num_warps = [1, 4] warp_id = [0, 4] {{
    %i1 = scf.for %k = %x to %n step %one iter_args(%i = %i0) -> ({ITERATOR}) : i32 {{
      %e = {P}.producer_acquire %p, %i : !nv_tileas.producer_token
      %w = {P}.producer_write %e, %i {{
        nv_tileas.async.tiled_tma_load %desc[%x, %x], %buffer, %i : !nv_tileas.tma_desc<64x64xf16>, {BUFFER}
      }}
      {P}.producer_commit %w
      {inc("%i", "%following")}
      scf.yield %following : {ITERATOR}
    }}
  }}, {{ {consume} }}
  nv_tileaa.return
}}
"""
    module = parse_module(text, "held.mlir")
    verify_or_raise(module)
    function = next(op for op in module.walk() if op.name == "nv_tileaa.func")
    messages = [failure.diagnostics[0].message for failure in problems(function)]
    return [(text.split("'")[1].split(".")[-1], text.split("' op ")[1]) for text in messages]


EACH = (wait("%j", "%t"), dot("%j", "%c", "%d"), DONE, release("%t"), inc("%j", "%j2"))
RIGHT = {
    "each product is waited for": lines(START, loop(*EACH)),
    "one product stays in flight": ahead(dot("%j", "%c", "%d"), "nv_tileas.async.dot_wait 1", release("%t")),
    "threads and a product read the same stage": ahead(
        load("%j"), dot("%j", "%c", "%d"), "nv_tileas.async.dot_wait 1", release("%t")
    ),
    "in a branch": lines(
        START,
        loop(
            wait("%j", "%t"),
            f"scf.if %cond {{ {load('%j')} }} else {{ {load('%j', '%other')} }}",
            dot("%j", "%c", "%d"),
            DONE,
            release("%t"),
            inc("%j", "%j2"),
        ),
    ),
    "in a loop that a branch continues": left("%j", "%j"),
    "an iterator that is made outside of the agent": lines(wait("%i0", "%t"), load("%i0"), release("%t")),
    "the threads read": lines(START, wait("%s", "%t"), load("%s"), release("%t")),
}


@pytest.mark.parametrize("name", RIGHT)
def test_stages_that_are_held_break_no_rule(name: str) -> None:
    assert found(RIGHT[name]) == []


READS = "reads a stage that its agent does not hold"
RELEASES = "releases a stage that 'nv_tileas.async.dot' may still read"
WRONG = {
    "a product that is not waited for": (
        lines(START, loop(*(op for op in EACH if op is not DONE))),
        "consumer_release",
        RELEASES,
    ),
    "a product that is waited for behind the release": (
        lines(START, loop(wait("%j", "%t"), dot("%j", "%c", "%d"), release("%t"), DONE, inc("%j", "%j2"))),
        "consumer_release",
        RELEASES,
    ),
    "a wait for too few products": (
        ahead(dot("%j", "%c", "%d"), "nv_tileas.async.dot_wait 2", release("%t")),
        "consumer_release",
        RELEASES,
    ),
    "a wait on one path": (
        lines(
            START,
            loop(
                wait("%j", "%t"),
                dot("%j", "%c", "%d"),
                f"scf.if %cond {{ {DONE} }}",
                release("%t"),
                inc("%j", "%j2"),
            ),
        ),
        "consumer_release",
        RELEASES,
    ),
    "the next stage": (
        ahead(dot("%j2", "%c", "%d"), "nv_tileas.async.dot_wait 1", release("%t")),
        "dot",
        READS,
    ),
    "a stage from before the loop": (
        lines(START, loop(wait("%j", "%t"), dot("%s", "%c", "%d"), DONE, release("%t"), inc("%j", "%j2"))),
        "dot",
        READS,
    ),
    "behind the release": (
        lines(START, wait("%s", "%t"), release("%t"), load("%s")),
        "load",
        READS,
    ),
    "behind the release, with an iterator that is made outside of the agent": (
        lines(wait("%i0", "%t"), release("%t"), load("%i0")),
        "load",
        READS,
    ),
    "ahead of the wait": (
        lines(START, load("%s"), wait("%s", "%t"), release("%t")),
        "load",
        READS,
    ),
    "an old stage, in a loop that a branch continues": (left("%b", "%j"), "load", READS),
    "an old stage, behind a loop that a branch continues": (left("%j", "%b"), "load", READS),
    "another buffer": (
        lines(START, loop(wait("%j", "%t"), dot("%j", "%c", "%d", "%empty"), *EACH[2:])),
        "dot",
        "reads a stage of a buffer that nothing fills",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_stage_that_is_not_held_is_told(name: str) -> None:
    text, op, message = WRONG[name]
    where, said = found(text)[0]
    assert where == op and said.startswith(message)
