"""Wavefronts of accesses by element: which indices are known, which of them matter, and what each costs."""

from __future__ import annotations

from typing import Any

import pytest

from tessera_tools.analysis.bank_conflicts import (
    ElementAccess,
    Places,
    Wavefronts,
    count_wavefronts,
    element_access,
    touches_neighbors,
)
from tessera_tools.analysis.divergence import divergent_values
from tessera_tools.analysis.lane_values import LaneValues
from tessera_tools.layout import row_major
from tessera_tools.parser import parse_module

WARP = range(32)


def access(
    indices: str,
    memory: str,
    body: str = "",
    *,
    threads: int = 64,
    op: str = "tile.load_shared",
    more: str = "",
) -> tuple[Any, LaneValues]:
    """The last access of a kernel of two warps. `%t`, `%l`, `%w`: thread, lane, warp. `%n`, `%m`: any number."""
    text = f"""
func.func @kernel(%n: index, %m: index, %o: index) attributes {{tessera.kernel, tessera.threads = {threads}}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tile.thread_id : index
  %l = tile.lane_id : index
  %w = tile.warp_id : index
  %s = tile.alloc_shared : {memory}
  {body}
  %x = {op} %s[{indices}] {more} : {memory}
  {"}" * body.count("scf.for")}
  return
}}
"""
    module = parse_module(text)
    function = next(iter(module.regions[0].entry))
    found = [one for one in module.walk() if one.name == op]
    return found[-1], LaneValues(threads, divergent_values(function))


def constant(value: int) -> str:
    return f"%k = arith.constant {value} : index\n"


def element(*args: Any, **options: Any) -> ElementAccess | None:
    return element_access(*access(*args, **options))


def firsts(found: ElementAccess | None) -> list[tuple[int, ...]]:
    """The first lane's indices in the first warp, of each case."""
    assert found is not None
    return [tuple(row[0] for row in case[0]) for case in found.cases]


# -- wavefronts of a warp


@pytest.mark.parametrize(
    ("width", "step", "total", "ideal"),
    [
        (4, 4, 1, 1),  # a word each, in every bank
        (4, 8, 2, 1),  # every other bank, twice
        (4, 128, 32, 1),  # one bank
        (4, 132, 1, 1),  # the bank after the one before, in each line
        (4, 0, 1, 1),  # one word
        (2, 2, 1, 1),  # two lanes share a word
        (1, 1, 1, 1),
        (8, 8, 2, 2),  # half-warps
        (8, 16, 4, 2),
        (16, 16, 4, 4),  # quarter-warps
        (16, 32, 8, 4),
        (16, 0, 4, 4),
    ],
)
def test_the_wavefronts_of_a_stride(width: int, step: int, total: int, ideal: int) -> None:
    found = count_wavefronts([step * lane for lane in WARP], width)
    assert found == Wavefronts(total, ideal)
    assert found.conflicts == total - ideal


@pytest.mark.parametrize(("lanes", "total"), [(15, 1), (16, 1), (17, 2)])
def test_a_half_warp_is_served_at_once(lanes: int, total: int) -> None:
    assert count_wavefronts([8 * lane for lane in range(lanes)], 8) == Wavefronts(total, total)


def test_costs_add_up() -> None:
    assert Wavefronts(5, 2) + Wavefronts(1, 1) == Wavefronts(6, 3)


@pytest.mark.parametrize(("bits", "size"), [(8, 1), (16, 2), (32, 4)])
def test_places_are_byte_offsets(bits: int, size: int) -> None:
    places = Places(row_major((8, 16)), (8, 16), bits)
    assert [places.address(index) for index in ((0, 0), (0, 1), (1, 0), (7, 15))] == [
        0, size, 16 * size, 127 * size,
    ]  # fmt: skip


def test_the_first_place_of_a_vector_is_zero() -> None:
    places = Places(row_major((16,)), (16,), 32)
    assert [places.address((index,)) for index in (0, 1, 15)] == [0, 4, 60]


# -- indices that are known


@pytest.mark.parametrize(("element_type", "width"), [("f16", 2), ("f32", 4)])
def test_an_index_of_each_thread(element_type: str, width: int) -> None:
    found = element("%t", f"memref<64x{element_type}, 3>")
    assert found is not None
    assert (found.shape, found.element_bits, found.width) == ((64,), 8 * width, width)
    assert found.cases == (((tuple(range(32)),), (tuple(range(32, 64)),)),)


def test_a_vector_is_as_wide_as_its_elements() -> None:
    body = "%c2 = arith.constant 2 : index\n%i = arith.muli %l, %c2 : index"
    found = element("%i", "memref<64xf16, 3>", body, op="tile.load_shared_vector", more="{vector_width = 2}")
    assert found is not None and found.width == 4


@pytest.mark.parametrize(("by", "is_inside"), [(-1, False), (0, True), (64, True), (65, False)])
def test_an_index_out_of_bounds_is_no_case(by: int, is_inside: bool) -> None:
    found = element("%i", "memref<128xf32, 3>", constant(by) + "%i = arith.addi %t, %k : index")
    assert (found is not None) == is_inside


def loop(trips: int, step: int) -> str:
    return (
        constant(trips)
        + f"%by = arith.constant {step} : index\nscf.for %j = %c0 to %k step %c1 {{\n"
        + "%p = arith.muli %j, %by : index\n%i = arith.addi %t, %p : index"
    )


def test_each_iteration_is_a_case_while_it_is_in_bounds() -> None:
    assert firsts(element("%i", "memref<128xf32, 3>", loop(4, 32))) == [(0,), (32,), (64,)]


@pytest.mark.parametrize(("trips", "cases"), [(128, 128), (129, 193)])
def test_many_iterations_are_not_enumerated(trips: int, cases: int) -> None:
    """The counter may then be any number for which the buffer has room."""
    assert len(firsts(element("%i", "memref<256xf32, 3>", loop(trips, 1)))) == cases


def test_cases_that_are_alike_are_one() -> None:
    assert firsts(element("%i", "memref<64xf32, 3>", loop(4, 0))) == [(0,)]


# -- indices that are known up to an offset


def moved(by: int, times: str = "%n") -> str:
    return constant(by) + f"%q = arith.addi %t, %k : index\n%i = arith.addi %q, {times} : index"


def test_an_offset_may_be_any_for_which_there_is_room() -> None:
    assert firsts(element("%i", "memref<128xf32, 3>", moved(0))) == [(n,) for n in range(65)]
    assert firsts(element("%i", "memref<128xf32, 3>", moved(5))) == [(n,) for n in range(65)]
    assert element("%i", "memref<32xf32, 3>", moved(0)) is None


def test_offsets_are_multiples_of_their_step() -> None:
    four = "%c4 = arith.constant 4 : index\n%f = arith.muli %n, %c4 : index\n"
    assert firsts(element("%i", "memref<128xf32, 3>", four + moved(5, "%f"))) == [
        (1 + 4 * n,) for n in range(16)
    ]


@pytest.mark.parametrize(("element_type", "period"), [("f32", 256), ("f16", 512)])
def test_a_row_repeats_after_the_longest_pattern(element_type: str, period: int) -> None:
    assert len(firsts(element("%i", f"memref<1024x{element_type}, 3>", moved(0)))) == period


@pytest.mark.parametrize(("rows", "columns"), [(16, 97), (32, 32), (64, 32)])
def test_with_many_rows_a_pattern_is_as_wide_as_a_panel(rows: int, columns: int) -> None:
    found = element("%m, %i", f"memref<{rows}x128xf32, 3>", "%i = arith.addi %l, %n : index")
    assert {index[0] for index in firsts(found)} == set(range(min(rows, 32)))
    assert {index[1] for index in firsts(found)} == set(range(columns))


@pytest.mark.parametrize(("row", "is_known"), [(-1, False), (0, True), (15, True), (16, False)])
def test_a_known_row_beside_an_unknown_column_is_in_bounds(row: int, is_known: bool) -> None:
    body = constant(row) + "%i = arith.addi %l, %n : index"
    found = element("%k, %i", "memref<16x32xf32, 3>", body)
    assert (found is not None) == is_known
    if is_known:
        assert firsts(found) == [(row, 0)]


@pytest.mark.parametrize(("threads", "is_counted"), [(32, True), (64, False)])
def test_only_so_many_offsets_are_counted(threads: int, is_counted: bool) -> None:
    """8 x 32 x 64 for each warp."""
    body = "%i = arith.addi %l, %o : index"
    found = element("%n, %m, %i", "memref<8x64x512xf16, 3>", body, threads=threads)
    assert (found is not None) == is_counted


def test_an_index_that_was_loaded_is_unknown() -> None:
    body = "%g = tile.load_shared %s[%t] : memref<64xi32, 3>\n%v = arith.index_cast %g : i32 to index"
    assert element("%v", "memref<64xi32, 3>", body) is None


# -- what an access costs


@pytest.mark.parametrize(
    ("indices", "costs"),
    [("%w, %l", [Wavefronts(2, 2)]), ("%l, %w", [Wavefronts(64, 2)]), ("%l, %l", [Wavefronts(2, 2)])],
)
def test_an_access_costs_what_its_warps_do(indices: str, costs: list[Wavefronts]) -> None:
    found = element(indices, "memref<32x32xf32, 3>")
    assert found is not None
    assert found.wavefronts(row_major((32, 32))) == costs


def test_costs_of_cases_are_listed_once() -> None:
    body = loop(4, 32).replace("%t, %p", "%l, %p")
    found = element("%i", "memref<128xf32, 3>", body)
    assert found is not None and len(found.cases) == 4
    assert found.wavefronts(row_major((128,))) == [Wavefronts(2, 2)]


# -- neighbors

KNOWN = """%c2 = arith.constant 2 : index
%c31 = arith.constant 31 : index
%twice = arith.muli %l, %c2 : index
%back = arith.subi %c31, %l : index
%half = arith.divui %l, %c2 : index
%moved = arith.addi %l, %n : index
%apart = arith.addi %twice, %n : index
%v = tile.load_shared %s[%c0, %l] : memref<64x64xindex, 3>"""


@pytest.mark.parametrize(
    ("indices", "are"),
    [
        ("%c0, %l", True),
        ("%w, %l", True),
        ("%c0, %back", True),
        ("%c0, %t", True),
        ("%c0, %moved", True),
        ("%n, %l", True),
        ("%c0, %twice", False),
        ("%c0, %half", False),
        ("%c0, %apart", False),
        ("%l, %l", False),
        ("%l, %c0", False),
        ("%l, %moved", False),
        ("%c0, %v", False),
        ("%v, %l", False),
    ],
)
def test_neighbors_are_adjacent_in_a_row(indices: str, are: bool) -> None:
    assert touches_neighbors(*access(indices, "memref<64x64xindex, 3>", KNOWN)) == are


@pytest.mark.parametrize(("index", "are"), [("%twice", True), ("%l", False), ("%apart", True)])
def test_neighbors_of_vectors_are_a_vector_apart(index: str, are: bool) -> None:
    vector = {"op": "tile.load_shared_vector", "more": "{vector_width = 2}"}
    body = KNOWN.rpartition("\n")[0]
    assert touches_neighbors(*access(f"%c0, {index}", "memref<64x64xf16, 3>", body, **vector)) == are
