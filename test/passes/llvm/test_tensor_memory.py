"""Stores to tensor memory: which of them wait until they have ended."""

from __future__ import annotations

import pytest

from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import parse_pipeline

KERNEL = """
#whole = #nv_tileas.linear<{{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]],
  lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}}>
#part = #nv_tileas.linear<{{register = [[0, 1], [0, 2], [0, 4]],
  lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}}>
#half = #nv_tileas.linear<{{register = [[0, 1], [0, 2]],
  lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}}>
#columns = #nv_tileas.tensor<{{lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]],
  column = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]}}>
!buffer = !nv_tileas.tmem<1x128x32xf32, #columns>
!whole = tensor<128x32xf32, #whole>
!part = tensor<128x8xf32, #part>
!half = tensor<128x4xf32, #half>
module attributes {{nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"}} {{
  nv_tileaa.func @kernel(%n: i32) attributes {{
    nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>}} {{
    %zero = arith.constant 0 : i32
    %x = arith.constant dense<1.0> : !part
    %y = arith.constant dense<1.0> : !half
    %d:2 = nv_tileas.alloc_tmem : !buffer, !buffer
    {body}
    nv_tileas.dealloc_tmem %d#0, %d#1 : !buffer, !buffer
    nv_tileaa.return
  }}
}}
"""
PASSES = "tileas-insert-barriers,convert-nv-tile-func-to-llvm,convert-tileas-to-llvm"
FIRST = "nv_tileas.tmem_store %x, %d#0 column 0 : !part, !buffer\n"
SECOND = FIRST.replace("column 0", "column 8")
LOAD = "%z{0} = nv_tileas.tmem_load %d#0, slot %zero column {0} : !buffer -> !part\n"


def accesses(body: str) -> list[str]:
    """The stores, and the waits for them, of the lowered kernel."""
    module = parse_module(KERNEL.format(body=body), "kernel.mlir")
    PassManager(parse_pipeline(f"builtin.module({PASSES})")).run(module)
    found: list[str] = []
    for op in module.walk():
        if op.name == "nvvm.tcgen05.st":
            found.append("store")
        elif op.name == "nvvm.tcgen05.wait" and "store" in str(op):
            found.append("wait")
    return found


@pytest.mark.parametrize("between", ["", LOAD.format(16), "%m = arith.addi %n, %n : i32\n"])
def test_stores_to_other_columns_have_one_wait(between: str) -> None:
    """Also with a load of further columns or a computation between them."""
    assert accesses(FIRST + between + SECOND) == ["store", "store", "wait"]


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(FIRST, id="the same columns"),
        pytest.param(SECOND.replace("d#0", "d#1"), id="another buffer"),
        pytest.param(SECOND.replace("%x", "%y").replace("!part", "!half"), id="fewer columns"),
        pytest.param(LOAD.format(0) + SECOND, id="a load of the columns before"),
        pytest.param("scf.if %c {\n" + SECOND + "}\n", id="a branch"),
        pytest.param("nv_tileas.fence_proxy\n" + SECOND, id="a fence between them"),
    ],
)
def test_a_store_that_another_one_does_not_follow_has_a_wait_of_its_own(second: str) -> None:
    compare = "%c = arith.cmpi slt, %n, %zero : i32\n"
    assert accesses(compare + FIRST + second) == ["store", "wait", "store", "wait"]


THIRD = FIRST.replace("column 0", "column 16")


@pytest.mark.parametrize(
    ("accessed", "expected"),
    [
        (SECOND + THIRD, ["store", "store", "store", "wait"]),
        (SECOND + LOAD.format(24) + THIRD, ["store", "store", "store", "wait"]),
        (SECOND + LOAD.format(0) + THIRD, ["store", "store", "wait", "store", "wait"]),
        (SECOND + FIRST, ["store", "store", "wait", "store", "wait"]),
        (SECOND + FIRST + SECOND, ["store", "store", "wait", "store", "store", "wait"]),
    ],
)
def test_what_follows_a_wait_is_for_all_stores_before_it(accessed: str, expected: list[str]) -> None:
    """Columns of which a store still has no wait are not loaded, nor stored again."""
    assert accesses(FIRST + accessed) == expected


def test_each_store_of_a_whole_buffer_has_a_wait() -> None:
    """Two instructions store it."""
    store = "nv_tileas.tmem_store %w, %d#0 : !whole, !buffer\n"
    assert accesses("%w = arith.constant dense<1.0> : !whole\n" + 2 * store) == ["store", "store", "wait"] * 2
