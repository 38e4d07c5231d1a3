"""Which accesses of a view need an order between threads, though a token orders them."""

from __future__ import annotations

import pytest

from tessera_tools.dialects import nv_tileas
from tessera_tools.ir.core import Operation
from tessera_tools.parser import parse_module
from tessera_tools.passes.tileas.memory_order import MemoryOrder

PROGRAM = """
#each = #nv_tileas.linear<{{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}}>
#pairs = #nv_tileas.linear<{{register = [[1]], lane = [[2], [4], [8], [16], [0]], warp = [], block = []}}>
#other = #nv_tileas.linear<{{register = [], lane = [[2], [1], [4], [8], [16]], warp = [], block = []}}>
!each = tensor<32xf32, #each>
!pairs = tensor<32xf32, #pairs>
!other = tensor<32xf32, #other>
!view = !nv_tileaa.memref<256xf32>
nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32, %m: i32) {{
  %none = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %v = nv_tileaa.make_memref %p, shape = [256], stride = [1], space = #nv_tileaa.global : !view
  %w = nv_tileaa.make_memref %p, shape = [256], stride = [1], space = #nv_tileaa.global : !view
  %zero = arith.constant 0 : i32
  %thirty_two = arith.constant 32 : i32
  %thirty_one = arith.constant 31 : i32
  %i = nv_tileaa.assume %n {{divisor = 32 : i64}} : i32
  %j = nv_tileaa.assume %m {{divisor = 32 : i64}} : i32
  %half = nv_tileaa.assume %m {{divisor = 16 : i64}} : i32
  %x, %t = nv_tileas.tiled_load %v[{first}], %none {{atom = #cute.copy_atom<sm80_ldg_32_f32>}}
    : !view -> {type}, !nv_tileaa.mem_token
  %y = nv_tileas.convert_layout %x : {type} -> {other}
  %u = nv_tileas.tiled_store %{view}[{second}], %y, %t {{atom = #cute.copy_atom<sm80_stg_32_f32>}}
    : {other}, !view, !nv_tileaa.mem_token
  nv_tileaa.return
}}
"""


def accesses(
    first: str, second: str, type: str = "!each", other: str = "", view: str = "v", program: str = PROGRAM
) -> list[Operation]:
    """A load, and a store that comes after it."""
    text = program.format(first=first, second=second, type=type, other=other or type, view=view)
    kinds = (nv_tileas.TiledLoad, nv_tileas.TiledStore)
    return [op for op in parse_module(text, "k.mlir").walk() if isinstance(op, kinds)]


def concerns_others(*places: str, **more: str) -> bool:
    load, store = accesses(*places, **more)
    return MemoryOrder().concerns_others(load, store)


def test_each_thread_accesses_the_same_elements_of_the_tiles_of_a_grid() -> None:
    assert not concerns_others("%i", "%j")


@pytest.mark.parametrize(("first", "second"), [("%i", "%half"), ("%half", "%i"), ("%n", "%m")])
def test_tiles_that_may_begin_within_another_one_do(first: str, second: str) -> None:
    """Both must be of the grid."""
    assert concerns_others(first, second)


@pytest.mark.parametrize(("first", "second"), [("%zero", "%thirty_two"), ("%thirty_two", "%zero")])
def test_tiles_that_end_where_the_other_one_begins_have_no_element_in_common(first: str, second: str) -> None:
    assert not concerns_others(first, second, other="!other")


def test_tiles_that_have_one_element_in_common() -> None:
    assert concerns_others("%zero", "%thirty_one")


def test_other_threads_have_the_elements_in_another_layout() -> None:
    assert concerns_others("%i", "%i", other="!other")


def test_several_threads_have_an_element_of_a_layout_that_repeats_it() -> None:
    assert concerns_others("%i", "%i", type="!pairs")


def test_nothing_is_known_of_two_views() -> None:
    assert concerns_others("%i", "%i", view="w")


MATRIX = """
#each = #nv_tileas.linear<{{register = [], lane = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = [], block = []}}>
!each = tensor<4x8xf32, #each>
!view = !nv_tileaa.memref<{shape}xf32>
nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32) {{
  %none = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %v = nv_tileaa.make_memref %p, shape = [{extents}], stride = [{strides}], space = #nv_tileaa.global : !view
  %zero = arith.constant 0 : i32
  %x, %t = nv_tileas.tiled_load %v[%zero, %zero], %none {{atom = #cute.copy_atom<sm80_ldg_32_f32>}}
    : !view -> !each, !nv_tileaa.mem_token
  nv_tileaa.return
}}
"""


@pytest.mark.parametrize(
    ("shape", "extents", "strides", "known"),
    [
        pytest.param("4x8", "4, 8", "8, 1", True, id="rows one after the other"),
        pytest.param("4x8", "4, 8", "7, 1", False, id="the last element of a row is the first of the next"),
        pytest.param("4x8", "4, 8", "-8, 1", True, id="rows from the last to the first"),
        pytest.param("4x8", "4, 8", "0, 1", False, id="the same row again and again"),
        pytest.param("?x8", "%n, 8", "8, 1", True, id="any number of rows"),
        pytest.param("4x?", "4, %n", "8, 1", False, id="rows of any length"),
        pytest.param("4x8", "4, 8", "%n, 1", False, id="rows at any distance"),
        pytest.param("4x1", "4, 1", "1, 1", False, id="two axes of one stride"),
    ],
)
def test_views_whose_elements_have_places_of_their_own(
    shape: str, extents: str, strides: str, known: bool
) -> None:
    text = MATRIX.format(shape=shape, extents=extents, strides=strides)
    (load,) = [op for op in parse_module(text, "k.mlir").walk() if isinstance(op, nv_tileas.TiledLoad)]
    assert MemoryOrder().has_places(load) is known
