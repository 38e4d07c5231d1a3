"""Each side of a pipeline begins all stages, one after the other, on every path; an error says where it does not."""

from __future__ import annotations

import pytest

from tessera_tools.analysis.pipelines import problems
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.parser import parse_module

P = "nv_tileas.async.pipeline"
ITERATOR, TOKEN = "!nv_tileas.pipeline_iter<i32>", "!nv_tileas.consumer_token"
SMEM = "!nv_tileas.smem<2x64x64xf16>"
START = f"%j = {P}.create_iterator %p : {ITERATOR}"


def use(iterator: str = "%j", token: str = "%t") -> str:
    """A wait for a stage, and its release."""
    return f"{token} = {P}.consumer_wait %p, {iterator}, 0 : {TOKEN}\n{P}.consumer_release {token}"


def inc(iterator: str, result: str) -> str:
    return f"{result} = {P}.inc_iter {iterator} : {ITERATOR}"


def loop(body: str, given: str, inits: str = "%s", result: str = "%r") -> str:
    """A loop that carries %j, which begins as `inits`, and gives `given` to the next iteration."""
    return f"""{result} = scf.for %k = %x to %n step %one iter_args(%j = {inits}) -> ({ITERATOR}) : i32 {{
      {body}
      scf.yield {given} : {ITERATOR}
    }}"""


def branch(then: str, given: str, other: str, result: str = "%b") -> str:
    return f"""{result} = scf.if %cond -> ({ITERATOR}) {{
      {then}
      scf.yield {given} : {ITERATOR}
    }} else {{ scf.yield {other} : {ITERATOR} }}"""


def left(before: str, given: str, body: str, following: str) -> str:
    """A loop that carries %j until a branch behind `before` leaves it with `given`, and goes on with `following`."""
    return f"""%r = nv_tileaa.loop (%j = %s) : ({ITERATOR}) -> {ITERATOR} {{
      {before}
      nv_tileaa.if %cond {{ nv_tileaa.break {given} : {ITERATOR} }}
      {body}
      nv_tileaa.continue {following} : {ITERATOR}
    }}"""


def lines(*parts: str) -> str:
    return "\n".join(parts)


FIRST = START.replace("%j", "%s")
STEP = lines(use(), inc("%j", "%next"))
FILL = f"""%i0 = {P}.create_iterator %p : {ITERATOR}
    %i1 = scf.for %k = %x to %n step %one iter_args(%i = %i0) -> ({ITERATOR}) : i32 {{
      %e = {P}.producer_acquire %p, %i : !nv_tileas.producer_token
      %w = {P}.producer_write %e, %i {{
        nv_tileas.async.tiled_tma_load %d[%x, %x], %buffer, %i : !nv_tileas.tma_desc<64x64xf16>, {SMEM}
      }}
      {P}.producer_commit %w
      {inc("%i", "%following")}
      scf.yield %following : {ITERATOR}
    }}"""


def found(
    consume: str, fill: str = FILL, other: str = "", order: str = "", in_turn: str = ""
) -> list[tuple[str, str]]:
    """(op, message) of each rule that a kernel breaks, of the verifier or of the pipelines.

    other: a second agent that reads stages.
    """
    more = f", {{ {other} }}" if other else ""
    text = f"""
nv_tileaa.func @f(%view: !nv_tileaa.memref<?x?xf16>, %x: i32, %n: i32, %one: i32, %cond: i1) {{
  %d = nv_tileas.make_tiled_tma_desc %view, box = [64, 64] {{
    atom = #cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>
  }} : !nv_tileaa.memref<?x?xf16> -> !nv_tileas.tma_desc<64x64xf16>
  %buffer = nv_tileas.alloc_tensor : {SMEM}
  %p = {P}.create_pipeline stages = 2, producers = 1, consumers = 4 {in_turn} : !nv_tileas.pipeline_token
  {order}
  {P}.agent_switch num_warps = [1, 4{", 4" * bool(other)}] warp_id = [0, 4{", 8" * bool(other)}]
    {{ {fill} }}, {{ {consume} }}{more}
  nv_tileaa.return
}}
"""
    module = parse_module(text, "pipeline.mlir")
    verify_or_raise(module)
    function = next(op for op in module.walk() if op.name == "nv_tileaa.func")
    messages = [failure.diagnostics[0].message for failure in problems(function)]
    return [(text.split("'")[1].split(".")[-1], text.split("' op ")[1]) for text in messages]


INNER = loop(STEP, "%next", "%outer").replace("%j", "%l").replace("%outer", "%j").replace("%k", "%kk")

RIGHT = {
    "in a loop": lines(FIRST, loop(STEP, "%next")),
    "in two loops": lines(FIRST, loop(STEP, "%next"), loop(STEP, "%next", "%r", "%q")),
    "in a loop in a loop": lines(FIRST, loop(INNER, "%r", result="%q")),
    "two in each iteration": lines(
        FIRST, loop(lines(STEP, use("%next", "%u"), inc("%next", "%then")), "%then")
    ),
    "in a loop that a branch leaves": lines(FIRST, left("", "%j", STEP, "%next"), use("%r", "%v")),
    "in one that a branch leaves behind a stage": lines(
        FIRST, left(STEP, "%next", "", "%next"), use("%r", "%v")
    ),
    "in a branch that advances": lines(FIRST, loop(branch(STEP, "%next", "%j"), "%b")),
    "in either branch": lines(
        FIRST, loop(lines(f"scf.if %cond {{ {use()} }} else {{ {use()} }}", inc("%j", "%next")), "%next")
    ),
    "before a loop and in it": lines(
        FIRST, use("%s", "%v"), inc("%s", "%then"), loop(STEP, "%next", "%then")
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_stages_in_order_break_no_rule(name: str) -> None:
    assert found(RIGHT[name]) == []


PASSES_ON_SOME = "gives an iterator that is at the next stage on some paths only"
WRONG = {
    "an iteration advances twice": (
        lines(FIRST, loop(lines(STEP, inc("%next", "%then")), "%then")),
        "inc_iter",
        "advances an iterator past 1 stage that 'scf.for' does not use in each iteration",
    ),
    "an iteration advances three times": (
        lines(FIRST, loop(lines(STEP, inc("%next", "%then"), inc("%then", "%further")), "%further")),
        "inc_iter",
        "advances an iterator past 2 stages that 'scf.for' does not use in each iteration",
    ),
    "an iteration uses two stages and advances by none": (
        lines(FIRST, loop(lines(STEP, use("%next", "%u")), "%j")),
        "for",
        "carries an iterator that is 2 stages behind after each iteration of 'scf.for'; advance it",
    ),
    "an iteration advances by less than it uses": (
        lines(FIRST, loop(lines(STEP, use("%next", "%u")), "%next")),
        "inc_iter",
        "carries an iterator that is 1 stage behind after each iteration of 'scf.for'; advance it",
    ),
    "a loop goes on without advancing": (
        lines(FIRST, left("", "%j", STEP, "%j")),
        "loop",
        "carries an iterator that is 1 stage behind after each iteration of 'nv_tileaa.loop'; advance it",
    ),
    "a loop is left with an iterator from before its stage": (
        lines(FIRST, left(STEP, "%j", "", "%next"), use("%r", "%v")),
        "consumer_wait",
        "uses a stage a second time",
    ),
    "the first stage is left out": (
        lines(FIRST, loop(lines(inc("%j", "%next"), use("%next")), "%next")),
        "consumer_wait",
        "leaves out 1 stage of its pipeline",
    ),
    "two stages are left out": (
        lines(FIRST, inc("%s", "%second"), inc("%second", "%third"), use("%third")),
        "consumer_wait",
        "leaves out 2 stages of its pipeline",
    ),
    "one branch does not advance": (
        lines(FIRST, loop(lines(use(), branch(inc("%j", "%next"), "%next", "%j")), "%b")),
        "if",
        PASSES_ON_SOME,
    ),
    "one branch does not wait": (
        lines(FIRST, loop(lines(f"scf.if %cond {{ {use()} }}", inc("%j", "%next")), "%next")),
        "inc_iter",
        PASSES_ON_SOME,
    ),
    "a branch in a branch does not wait": (
        lines(
            FIRST,
            loop(
                lines(
                    f"scf.if %cond {{ scf.if %cond {{ {use()} }} }} else {{ {use()} }}", inc("%j", "%next")
                ),
                "%next",
            ),
        ),
        "inc_iter",
        PASSES_ON_SOME,
    ),
    "a stage is used twice": (
        lines(START, use(), use(token="%u")),
        "consumer_wait",
        "uses a stage a second time; advance the iterator with inc_iter in between",
    ),
    "a loop keeps an iterator from before it": (
        lines(START, f"scf.for %k = %x to %n step %one : i32 {{ {use()} }}"),
        "consumer_wait",
        "uses the same stage in each iteration of 'scf.for'; carry the iterator through the loop",
    ),
    "an inner loop keeps the iterator of an outer one": (
        lines(
            FIRST,
            loop(lines(f"scf.for %kk = %x to %n step %one : i32 {{ {use()} }}", inc("%j", "%next")), "%next"),
        ),
        "consumer_wait",
        "uses the same stage in each iteration of 'scf.for'; carry the iterator through the loop",
    ),
    "an iterator is made in each iteration": (
        lines(f"scf.for %k = %x to %n step %one : i32 {{ {START}", use(), "}"),
        "consumer_wait",
        "begins with the first stage again",
    ),
    "a second loop begins at the first stage": (
        lines(FIRST, loop(STEP, "%next"), loop(STEP, "%next", result="%q")),
        "for",
        "begins with the first stage again",
    ),
    "what follows a loop begins at the first stage": (
        lines(FIRST, loop(STEP, "%next"), use("%s", "%u")),
        "consumer_wait",
        "begins with the first stage again",
    ),
    "what follows a branch knows nothing of its stage": (
        lines(START, f"scf.if %cond {{ {use()} }}", inc("%j", "%next"), use("%next", "%u")),
        "consumer_wait",
        "has an iterator that is not at the next stage on every path",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_stage_out_of_order_is_told(name: str) -> None:
    text, op, message = WRONG[name]
    [(where, said)] = found(text)
    assert where == op and said.startswith(message)


ORDER = f"%o = {P}.create_order groups = 2 : !nv_tileas.order_token"
FURTHER = f"%f = {P}.inc_iter %next by %n : {ITERATOR}"
OWN = lines(f"{P}.order_wait %o", STEP, f"{P}.order_arrive %o", FURTHER)
IN_TURN = lines(FIRST, loop(OWN, "%f"))


def test_agents_that_take_turns_leave_out_stages() -> None:
    assert found(IN_TURN, other=IN_TURN, order=ORDER, in_turn="in_turn") == []


OUT_OF_TURN = {
    "another pipeline": (
        {"consume": IN_TURN, "other": IN_TURN, "order": ORDER},
        "inc_iter",
        "leaves out stages of a pipeline that no agents use in turn; expected in_turn there",
    ),
    "one agent": (
        {"consume": lines(FIRST, loop(STEP, "%next")), "in_turn": "in_turn"},
        "create_pipeline",
        "is used in turn, but no agents that read its stages have turns",
    ),
    "no turns": (
        {"consume": RIGHT["in a loop"], "other": RIGHT["in a loop"], "in_turn": "in_turn"},
        "create_pipeline",
        "is used in turn, but no agents that read its stages have turns",
    ),
    "behind the turn": (
        {
            "consume": IN_TURN,
            "other": lines(
                FIRST, loop(lines(f"{P}.order_wait %o", f"{P}.order_arrive %o", STEP, FURTHER), "%f")
            ),
            "order": ORDER,
            "in_turn": "in_turn",
        },
        "consumer_wait",
        "waits for a stage outside of the turn of its agent, and other agents use the pipeline",
    ),
    "from an older stage on": (
        {
            "consume": IN_TURN,
            "other": lines(
                FIRST,
                loop(
                    lines(
                        f"{P}.order_wait %o", use(), f"{P}.order_arrive %o", FURTHER.replace("%next", "%j")
                    ),
                    "%f",
                ),
            ),
            "order": ORDER,
            "in_turn": "in_turn",
        },
        "inc_iter",
        "leaves out stages from another one on than the next",
    ),
}


@pytest.mark.parametrize("name", OUT_OF_TURN)
def test_a_stage_out_of_turn_is_told(name: str) -> None:
    given, op, message = OUT_OF_TURN[name]
    assert any(where == op and said.startswith(message) for where, said in found(**given))


def test_the_producer_is_held_to_the_same_rule() -> None:
    twice = FILL.replace("scf.yield %following", f"{inc('%following', '%further')}\nscf.yield %further")
    assert [op for op, _ in found(RIGHT["in a loop"], twice)] == ["inc_iter"]


def test_a_stage_that_nothing_fills_is_not_committed() -> None:
    """Without a producer_write, products fill a stage, by tcgen05."""
    fill = FILL[: FILL.index("%w =")] + f"{P}.producer_commit %e" + FILL[FILL.index("%w\n") + 2 :]
    [(op, message)] = found(RIGHT["in a loop"], fill)
    assert op == "producer_commit" and message.startswith(
        "commits a stage that no producer_write has written"
    )


@pytest.mark.parametrize("side", ["writes", "reads"])
def test_a_stage_is_the_one_that_was_acquired_or_waited_for(side: str) -> None:
    read = f"{P}.consumer_read %t, %j {{ }}"
    consume = lines(
        FIRST, loop(lines(use().replace("release %t", "release %m"), inc("%j", "%next")), "%next")
    )
    consume = consume.replace(f"{P}.consumer_release", f"%m = {read} {P}.consumer_release")
    fill = FILL
    if side == "reads":
        consume = consume.replace("consumer_read %t, %j", "consumer_read %t, %s")
    else:
        fill = FILL.replace("producer_write %e, %i", "producer_write %e, %i0").replace(
            "%buffer, %i ", "%buffer, %i0 "
        )
    [(_, message)] = found(consume, fill)
    assert message.startswith(f"{side} another stage than '{P}.")
