"""Branches that give values of every kind, and branches that leave loops and the kernel."""

from __future__ import annotations

import numpy as np
import pytest
from programs import TARGETS, Array, check_tools, fresh_seed, random, run

TILE = "tile<32xi32>"
VIEW = "tensor_view<128xi32, strides=[1]>"
PART = f"partition_view<tile=(32), {VIEW}>"


def kernel(body: str, parameters: str = "%n: tile<i32>") -> str:
    """An entry with a buffer of four tiles, of which %a and %b are loaded; `body` stores."""
    return f"""entry @kernel(%p: tile<ptr<i32>>, {parameters}) {{
  %tok = make_token : token
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
  %c3 = constant <i32: 3> : tile<i32>
  %v = make_tensor_view %p, shape = [128], strides = [1] : {VIEW}
  %q = make_partition_view %v : {PART}
  %a, %ta = {load("%c0")}
  %b, %tb = {load("%c1")}
  %neg = cmpi less_than %n, %c0, signed : tile<i32> -> tile<i1>
  %zero = cmpi equal %n, %c0, signed : tile<i32> -> tile<i1>
{body}
  return
}}
"""


def load(index: str, token: str = "%tok", view: str = "%q") -> str:
    return f"load_view_tko weak {view}[{index}] token = {token} : {PART}, tile<i32> -> {TILE}, token"


def store(tile: str, index: str, token: str = "%tb", view: str = "%q") -> str:
    return f"store_view_tko weak {tile}, {view}[{index}] token = {token} : {TILE}, {PART}, tile<i32> -> token"


def buffer() -> Array:
    return random("i32", (128,), np.random.default_rng(fresh_seed()))


def quarters(array: Array) -> list[list[int]]:
    return array.reshape(4, 32).tolist()


@pytest.mark.parametrize("n", [-1, 0, 1])
def test_return_leaves_the_kernel_from_branches_in_branches(n: int) -> None:
    body = f"""
  if %neg {{
    %s = {store("%a", "%c2")}
    return
  }} else {{
    if %zero {{ return }}
    %s = {store("%b", "%c2")}
  }}
  %t = {store("%a", "%c3")}"""
    before = buffer()
    [after] = run(kernel(body), before, n)
    a, b, c, d = quarters(before)
    assert quarters(after) == [a, b, {-1: a, 0: c, 1: b}[n], a if n == 1 else d]


@pytest.mark.parametrize("n", [-1, 0])
def test_nothing_after_two_returns_is_run(n: int) -> None:
    body = f"""
  if %neg {{
    %s = {store("%a", "%c2")}
    return
  }} else {{
    %s = {store("%b", "%c2")}
    return
  }}
  %t = {store("%a", "%c3")}"""
    before = buffer()
    [after] = run(kernel(body), before, n)
    a, b, _, d = quarters(before)
    assert quarters(after) == [a, b, a if n else b, d]


@pytest.mark.parametrize("n", [0, 1, 5])
def test_what_follows_a_break_and_a_continue_is_not_run(n: int) -> None:
    body = f"""
  %r = loop iter_values(%i = %c0, %x = %a) : tile<i32>, {TILE} -> {TILE} {{
    %done = cmpi greater_than_or_equal %i, %n, signed : tile<i32> -> tile<i1>
    %j = addi %i, %c1 : tile<i32>
    %y = if %done -> ({TILE}) {{
      break %x : {TILE}
    }} else {{
      %z = addi %x, %b : {TILE}
      continue %j, %z : tile<i32>, {TILE}
    }}
    %s = {store("%y", "%c3")}
    continue %j, %y : tile<i32>, {TILE}
  }}
  %t = {store("%r", "%c2")}"""
    before = buffer()
    [after] = run(kernel(body), before, n)
    a, b, _, d = before.reshape(4, 32)
    with np.errstate(over="ignore"):
        assert quarters(after) == [a.tolist(), b.tolist(), (a + b * np.int32(n)).tolist(), d.tolist()]


@pytest.mark.parametrize("n", [1, 4])
def test_a_loop_may_end_in_break(n: int) -> None:
    body = f"""
  %r = loop iter_values(%i = %c1, %x = %a) : tile<i32>, {TILE} -> {TILE} {{
    %more = cmpi less_than %i, %n, signed : tile<i32> -> tile<i1>
    %j = addi %i, %c1 : tile<i32>
    %y = addi %x, %b : {TILE}
    if %more {{ continue %j, %y : tile<i32>, {TILE} }}
    break %y : {TILE}
  }}
  %t = {store("%r", "%c2")}"""
    before = buffer()
    [after] = run(kernel(body), before, n)
    a, b, _, _ = before.reshape(4, 32)
    with np.errstate(over="ignore"):
        assert (after[64:96] == a + b * np.int32(n)).all()


@pytest.mark.parametrize("n", [0, 1])
def test_a_branch_that_leaves_gives_the_values_of_the_other(n: int) -> None:
    body = f"""
  %x = if %zero -> ({TILE}) {{ return }} else {{
    %y = subi %a, %b : {TILE}
    yield %y : {TILE}
  }}
  %t = {store("%x", "%c2")}"""
    before = buffer()
    [after] = run(kernel(body), before, n)
    a, b, c, _ = before.reshape(4, 32)
    with np.errstate(over="ignore"):
        assert (after[64:96] == (a - b if n else c)).all()


@pytest.mark.parametrize("n", [0, 1])
def test_a_branch_gives_tokens_and_pointers(n: int) -> None:
    body = f"""
  %order, %place = if %zero -> (token, tile<ptr<i32>>) {{
    yield %ta, %p : token, tile<ptr<i32>>
  }} else {{
    %moved = offset %p, %k : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %s = {store("%a", "%c3", "%ta")}
    yield %s, %moved : token, tile<ptr<i32>>
  }}
  %v2 = make_tensor_view %place, shape = [96], strides = [1] : tensor_view<96xi32, strides=[1]>
  %q2 = make_partition_view %v2 : partition_view<tile=(32), tensor_view<96xi32, strides=[1]>>
  %x, %tx = {load("%c2", "%order", "%q2").replace("128x", "96x")}
  %u = {store("%x", "%c1", "%tx")}"""
    before = buffer()
    [after] = run(kernel(body, "%n: tile<i32>, %k: tile<i32>"), before, n, 32)
    a, _, c, d = quarters(before)
    assert quarters(after) == ([a, a, c, a] if n else [a, c, c, d])


def test_a_choice_between_tokens_alone() -> None:
    body = f"""
  %s = {store("%a", "%c2", "%tb")}
  %order = if %zero -> (token) {{ yield %s : token }} else {{ yield %tb : token }}
  %x, %tx = {load("%c2", "%order")}
  %u = {store("%x", "%c3", "%tx")}"""
    before = buffer()
    [after] = run(kernel(body), before, 0)
    assert quarters(after) == [quarters(before)[i] for i in (0, 1, 0, 0)]


@pytest.mark.parametrize("element", ["i1", "i8", "f16", "bf16", "f64", "i64"])
def test_tiles_of_every_width_flow_around_a_loop(element: str) -> None:
    tile = f"tile<64x{element}>"
    view = f"tensor_view<128x{element}, strides=[1]>"
    part = f"partition_view<tile=(64), {view}>"
    text = f"""entry @kernel(%p: tile<ptr<{element}>>, %n: tile<i32>) {{
  %tok = make_token : token
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %v = make_tensor_view %p, shape = [128], strides = [1] : {view}
  %q = make_partition_view %v : {part}
  %a, %ta = load_view_tko weak %q[%c0] token = %tok : {part}, tile<i32> -> {tile}, token
  %b, %tb = load_view_tko weak %q[%c1] token = %ta : {part}, tile<i32> -> {tile}, token
  %r, %s = loop iter_values(%i = %c0, %x = %a, %y = %b) : tile<i32>, {tile}, {tile} -> {tile}, {tile} {{
    %j = addi %i, %c1 : tile<i32>
    %done = cmpi greater_than_or_equal %i, %n, signed : tile<i32> -> tile<i1>
    if %done {{ break %x, %y : {tile}, {tile} }}
    continue %j, %y, %x : tile<i32>, {tile}, {tile}
  }}
  %t = store_view_tko weak %r, %q[%c0] token = %tb : {tile}, {part}, tile<i32> -> token
  %u = store_view_tko weak %s, %q[%c1] token = %t : {tile}, {part}, tile<i32> -> token
  return
}}
"""
    before = random(element, (128,), np.random.default_rng(fresh_seed()))
    for n in (2, 3):
        [after] = run(text, before, n)
        halves = before.reshape(2, 64)[:: -1 if n % 2 else 1]
        assert after.tobytes() == halves.tobytes()


def test_the_tools_take_early_returns() -> None:
    check_tools(kernel(f"  if %neg {{ return }}\n  %t = {store('%a', '%c2')}"), *TARGETS)
