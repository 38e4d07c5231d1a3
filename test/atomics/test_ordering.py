"""Orderings and scopes of atomic ops: what the instruction says, and what other tile blocks see."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from atomics.atomic_programs import contended, rmw
from programs import TARGETS, check_tools, compiled, launch


@pytest.mark.parametrize(
    ("order", "scope"),
    list(product(("relaxed", "acquire", "release", "acq_rel"), ("tl_blk", "device", "sys"))),
)
def test_ordering_and_scope_are_those_of_the_instruction(order: str, scope: str) -> None:
    word = {"tl_blk": "cta", "device": "gpu", "sys": "sys"}[scope]
    for returns in (True, False):
        ptx = compiled(contended(64, "i32", rmw(64, "i32", "add", order, scope), returns=returns)).ptx
        (found,) = set(re.findall(r"(atom|red)\.(\w+)\.(\w+)\.global", ptx))
        assert found[1:] == (order, word)
        # A red cannot acquire.
        assert (found[0] == "red") == (not returns and order in ("relaxed", "release"))


MESSAGE = """
  entry @kernel(%flag: tile<ptr<i32>>, %data: tile<ptr<i32>>, %out: tile<ptr<i32>>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %t0 = make_token : token
    %i = iota : tile<256xi32>
    %p1 = reshape %data : tile<ptr<i32>> -> tile<1xptr<i32>>
    %p2 = broadcast %p1 : tile<1xptr<i32>> -> tile<256xptr<i32>>
    %p = offset %p2, %i : tile<256xptr<i32>>, tile<256xi32> -> tile<256xptr<i32>>
    %q1 = reshape %out : tile<ptr<i32>> -> tile<1xptr<i32>>
    %q2 = broadcast %q1 : tile<1xptr<i32>> -> tile<256xptr<i32>>
    %q = offset %q2, %i : tile<256xptr<i32>>, tile<256xi32> -> tile<256xptr<i32>>
    %x, %y, %z = get_tile_block_id : tile<i32>
    %writes = cmpi equal %x, %zero, signed : tile<i32> -> tile<i1>
    if %writes {
      %t1 = store_ptr_tko weak %p, %i token=%t0 : tile<256xptr<i32>>, tile<256xi32> -> token
      RELEASE
    } else {
      %seen = loop iter_values(%tok = %t0) : token -> token {
        ACQUIRE
        %is_set = cmpi equal %old, %one, signed : tile<i32> -> tile<i1>
        if %is_set {
          break %t2 : token
        }
        continue %t2 : token
      }
      %got, %t3 = load_ptr_tko weak %p token=%seen : tile<256xptr<i32>> -> tile<256xi32>, token
      %t4 = store_ptr_tko weak %q, %got token=%t3 : tile<256xptr<i32>>, tile<256xi32> -> token
    }
    return
  }
"""
POINTER = "tile<ptr<i32>>, tile<i32>"
RELEASES = {
    "store": "%t2 = store_ptr_tko release device %flag, %one token=%t1 : tile<ptr<i32>>, tile<i32> -> token",
    "exchange": f"%o, %t2 = atomic_rmw_tko release device %flag, xchg, %one token=%t1 : {POINTER} -> tile<i32>, token",
    "add": f"%o, %t2 = atomic_rmw_tko acq_rel sys %flag, add, %one token=%t1 : {POINTER} -> tile<i32>, token",
}
ACQUIRES = {
    "load": "%old, %t2 = load_ptr_tko acquire device %flag token=%tok : tile<ptr<i32>> -> tile<i32>, token",
    "or": f"%old, %t2 = atomic_rmw_tko acquire device %flag, or, %zero token=%tok : {POINTER} -> tile<i32>, token",
    "swap": f"%old, %t2 = atomic_cas_tko acq_rel sys %flag, %one, %one token=%tok : {POINTER} -> tile<i32>, token",
}


@pytest.mark.parametrize(("release", "acquire"), list(product(RELEASES, ACQUIRES)))
def test_what_is_released_is_seen_by_all_threads_that_acquire(release: str, acquire: str) -> None:
    """All threads that read the message are ordered behind all that wrote it; else it would be a race."""
    text = MESSAGE.replace("RELEASE", RELEASES[release]).replace("ACQUIRE", ACQUIRES[acquire])
    for schedule in ("late", "early"):
        (_, _, out), _ = launch(
            text,
            np.zeros(1, np.int32),
            np.zeros(256, np.int32),
            np.zeros(256, np.int32),
            grid=(2,),
            mode=schedule,
        )
        assert np.array_equal(out, np.arange(256))


def test_the_tools_take_a_message() -> None:
    check_tools(MESSAGE.replace("RELEASE", RELEASES["add"]).replace("ACQUIRE", ACQUIRES["swap"]), *TARGETS)
