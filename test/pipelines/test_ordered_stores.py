# ruff: noqa: E501
"""Persistent kernels whose loop over tiles carries a token, as cuTile's: each store comes after that of the tile before,
in all CTAs of a cluster and for all parts of a tile."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from programs import compiled, empty, fresh_seed, launch
from trials import Trial, changed_lines, missed, without

from tessera_tools.diagnostics import Diagnostic, collect
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup

Array = np.ndarray[Any, Any]


def gemm(m: int, n: int, k: int, ctas: int = 1, batch: bool = False, loads: str = "") -> str:
    """C = A · B by tiles of m x n, the columns of tiles first; C's rows are `%ld` apart.

    batch: the tiles that are stored have an axis of one matrix.  loads: what is loaded in the order of the stores, too:
    'sums', to which the product is added, what sums 'start' from, or the 'factor' A.
    """
    tile = f"1x{m}x{n}" if batch else f"{m}x{n}"
    view = "?x?x?xf16, strides=[?,?,1]" if batch else "?x?xf16, strides=[?,1]"
    made = (
        "shape = [%one, %mc, %nc], strides = [%ld, %ldc, 1]"
        if batch
        else "shape = [%mc, %nc], strides = [%ldc, 1]"
    )
    place = "%zero, %row, %column" if batch else "%row, %column"
    result = f"    %r = reshape %h : tile<{m}x{n}xf16> -> tile<{tile}xf16>\n" if batch else ""
    stored, token = ("%r" if batch else "%h"), "%before"
    start, old = "%init", ""
    load = f"""
      %old, %loaded = load_view_tko weak %pc[{place}] token = %before : partition_view<tile=({tile}), tensor_view<{view}>>, tile<i32> -> tile<{tile}xf16>, token
"""
    if loads == "sums":
        result += f"{load}      %s = addf {stored}, %old rounding<nearest_even> : tile<{tile}xf16>\n"
        stored, token = "%s", "%loaded"
    if loads == "start":
        old = f"{load}      %wide = ftof %old : tile<{tile}xf16> -> tile<{tile}xf32>\n"
        start, token = "%wide", "%loaded"
    return f"""
cuda_tile.module @m {{
  entry @gemm(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f16>>, %m: tile<i32>, %n: tile<i32>, %k: tile<i32>, %ld: tile<i32>) optimization_hints=<default = {{num_cta_in_cga = {ctas}}}> {{
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %tm = constant <i32: {m}> : tile<i32>
    %tn = constant <i32: {n}> : tile<i32>
    %tk = constant <i32: {k}> : tile<i32>
    %a16 = assume div_by<16>, %a : tile<ptr<f16>>
    %b16 = assume div_by<16>, %b : tile<ptr<f16>>
    %c16 = assume div_by<16>, %c : tile<ptr<f16>>
    %mp = assume bounded<0, ?>, %m : tile<i32>
    %np = assume bounded<0, ?>, %n : tile<i32>
    %kp = assume bounded<0, ?>, %k : tile<i32>
    %lp = assume bounded<0, ?>, %ld : tile<i32>
    %mc = assume div_by<8>, %mp : tile<i32>
    %nc = assume div_by<8>, %np : tile<i32>
    %kc = assume div_by<8>, %kp : tile<i32>
    %ldc = assume div_by<8>, %lp : tile<i32>
    %va = make_tensor_view %a16, shape = [%mc, %kc], strides = [%kc, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %vb = make_tensor_view %b16, shape = [%kc, %nc], strides = [%nc, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %vc = make_tensor_view %c16, {made} : tile<i32> -> tensor_view<{view}>
    %pa = make_partition_view %va : partition_view<tile=({m}x{k}), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
    %pb = make_partition_view %vb : partition_view<tile=({k}x{n}), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
    %pc = make_partition_view %vc : partition_view<tile=({tile}), tensor_view<{view}>>
    %rows = divi %mp, %tm signed rounding<positive_inf> : tile<i32>
    %columns = divi %np, %tn signed rounding<positive_inf> : tile<i32>
    %steps = divi %kp, %tk signed rounding<positive_inf> : tile<i32>
    %tiles = muli %rows, %columns : tile<i32>
    %x, %y, %z = get_tile_block_id : tile<i32>
    %gx, %gy, %gz = get_num_tile_blocks : tile<i32>
    %init = constant <f32: 0.0> : tile<{m}x{n}xf32>
    %t = make_token : token
    %end = for %i in (%x to %tiles, step %gx) : tile<i32> iter_values(%before = %t) -> (token) {{
      %row = divi %i, %columns signed : tile<i32>
      %column = remi %i, %columns signed : tile<i32>
{old}      %sum = for %j in (%zero to %steps, step %one) : tile<i32> iter_values(%acc = {start}) -> (tile<{m}x{n}xf32>) {{
        %ta, %ta_t = load_view_tko weak %pa[%row, %j] token = {"%before" if loads == "factor" else "%t"} : partition_view<tile=({m}x{k}), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<{m}x{k}xf16>, token
        %tb, %tb_t = load_view_tko weak %pb[%j, %column] token = %t : partition_view<tile=({k}x{n}), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<{k}x{n}xf16>, token
        %next = mmaf %ta, %tb, %acc : tile<{m}x{k}xf16>, tile<{k}x{n}xf16>, tile<{m}x{n}xf32>
        continue %next : tile<{m}x{n}xf32>
      }}
      %h = ftof %sum : tile<{m}x{n}xf32> -> tile<{m}x{n}xf16>
  {result}      %after = store_view_tko weak {stored}, %pc[{place}] token = {token} : tile<{tile}xf16>, partition_view<tile=({tile}), tensor_view<{view}>>, tile<i32> -> token
      continue %after : token
    }}
    return
  }}
}}"""


def case(
    m: int, n: int, k: int, tile: tuple[int, int], ld: int, rng: np.random.Generator, add: bool = False
) -> tuple[list[Any], Array]:
    """Arguments, and what C is if one CTA stores a tile after the other, or adds it."""
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    product = a.astype(np.float64) @ b
    given = np.zeros((m - 1) * ld + n, np.float16) if add else empty("f16", ((m - 1) * ld + n,))
    expected = given.copy()
    rows = np.lib.stride_tricks.as_strided(expected, (m, n), (2 * ld, 2))
    for i in range(0, m, tile[0]):
        for j in range(0, n, tile[1]):
            part = (slice(i, i + tile[0]), slice(j, j + tile[1]))
            rows[part] = product[part] + (rows[part] if add else 0)
    return [a, b, given, *(np.int32(v) for v in (m, n, k, ld))], expected


def remarks(text: str) -> list[str]:
    """What the compiler says about clusters."""
    return [one.message for one in explained(text) if "cluster" in one.message]


def explained(text: str) -> list[Diagnostic]:
    """The remarks for sm_90a."""
    with collect() as told:
        options = Options(lookup("sm_90a"), until="llvm", explains=True)
        compile_module(parse_module(text, "program.mlir"), options)
    return list(told)


def without_meeting(text: str) -> list[str] | None:
    """A change that makes the wait of a meeting always true, or removes the arrival at other CTAs in front of it."""
    wait = re.match(r"mbarrier\.try_wait\.acquire\.cluster\S* (%p\d+)", text)
    if wait:
        return [f"setp.eq.u32 {wait[1]}, 0, 0;"]
    return [] if re.match(r"mbarrier\.arrive\.release\.cluster", text) else None


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_a_tile_without_room_is_computed_in_parts_or_by_two_ctas(target: str, ctas: int, batch: bool) -> None:
    rng = np.random.default_rng(fresh_seed())
    text = gemm(256, 256, 64, ctas, batch)
    m, n, k = (8 * int(rng.integers(low, high)) for low, high in ((33, 80), (33, 80), (1, 30)))
    given, expected = case(m, n, k, (256, 256), n, rng)
    grid = (int(rng.integers(1, 3)), 1, 1)
    found = launch(text, *given, target=target, grid=grid)[0][2]
    np.testing.assert_array_equal(found, expected)
    assert ("wgmma" if target == "sm_90a" else "tcgen05.mma") in compiled(text, target).ptx


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_the_part_of_a_cta_is_computed_in_parts(target: str) -> None:
    """256 of 512 rows are too many for a CTA, too.  The CTAs meet before they store each part."""
    rng = np.random.default_rng(fresh_seed())
    text = gemm(512, 256, 64, 2)
    given, expected = case(520, 512, 72, (512, 256), 256, rng)
    found = launch(text, *given, target=target, grid=(1, 1, 1))[0][2]
    np.testing.assert_array_equal(found, expected)
    assert ("wgmma" if target == "sm_90a" else "tcgen05.mma") in compiled(text, target).ptx


def turns(text: str) -> list[str]:
    """What the compiler says about consumers that take tiles in turn."""
    return [one.message for one in explained(text) if "tiles in turn" in one.message]


def test_consumers_take_the_tiles_in_turn_and_store_them_in_order() -> None:
    """The rows of C overlap, and both consumers store by TMA."""
    rng = np.random.default_rng(fresh_seed())
    text = gemm(128, 128, 64)
    assert turns(text)[0].startswith("2 consumers take tiles in turn")
    given, expected = case(264, 384, 40, (128, 128), 128, rng)
    for mode, seed in (("late", 0), ("early", 1), ("late", 2)):
        found = launch(text, *given, target="sm_90a", grid=(1, 1, 1), mode=mode, seed=seed)[0][2]
        np.testing.assert_array_equal(found, expected)
    assert "cp.async.bulk.tensor.2d.global.shared" in compiled(text, "sm_90a").ptx


def test_the_turns_of_stores_are_needed() -> None:
    """Those of products are needed for speed alone: theirs are the barriers 4 and 5."""
    rng = np.random.default_rng(fresh_seed())
    given, expected = case(128, 384, 32, (128, 128), 128, rng)
    made = compiled(gemm(128, 128, 64), "sm_90a")
    schedules = [(mode, seed) for mode in ("late", "early") for seed in range(6)]
    trial = Trial(given, "sm_90a", (1,), lambda found: np.array_equal(found[2], expected), schedules)
    changed = list(changed_lines(made.ptx, without(r"(@%p\d+ )?bar\.(sync|arrive)\s+[67], 256")))
    assert len(changed) == 5
    assert missed(made, changed, trial) == []


def test_consumers_in_turn_add_to_what_the_other_one_has_stored() -> None:
    rng = np.random.default_rng(fresh_seed())
    text = gemm(128, 128, 64, loads="sums")
    assert turns(text)[0].startswith("2 consumers take tiles in turn")
    given, expected = case(136, 384, 40, (128, 128), 128, rng, add=True)
    for mode, seed in (("late", 0), ("early", 1), ("late", 2)):
        found = launch(text, *given, target="sm_90a", grid=(1, 1, 1), mode=mode, seed=seed)[0][2]
        np.testing.assert_array_equal(found, expected)


def test_sums_that_start_from_what_is_stored_keep_consumers_from_turns() -> None:
    """The products of one would wait for the store of the other."""
    (found,) = turns(gemm(128, 128, 64, loads="start"))
    assert re.search(r"'nv_tileas.tiled_load' at \S+ may read what the iteration before has stored", found)


@pytest.mark.parametrize("loads", ["sums", "start"])
@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize("target", ["sm_120", "sm_90a", "sm_100a"])
def test_sums_are_added_to_what_another_cta_has_stored(target: str, ctas: int, loads: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    text = gemm(128, 64, 32, ctas, loads=loads)
    given, expected = case(136, 192, 40, (128, 64), 64, rng, add=True)
    for mode, seed in (("late", 0), ("early", 1), ("late", 2)):
        found = launch(text, *given, target=target, grid=(1, 1, 1), mode=mode, seed=seed)[0][2]
        np.testing.assert_array_equal(found, expected)
    assert (".reqnctapercluster 2" in compiled(text, target).ptx) is (ctas == 2)


@pytest.mark.parametrize("ctas", [1, 2, 4])
@pytest.mark.parametrize("target", ["sm_120", "sm_90a", "sm_100a"])
def test_a_tile_overwrites_what_another_cta_has_stored_of_the_tile_before(target: str, ctas: int) -> None:
    """The rows of C overlap, so that a row is a part of the next tile, too, which another CTA has."""
    rng = np.random.default_rng(fresh_seed())
    text = gemm(128, 64, 32, ctas)
    given, expected = case(264, 192, 40, (128, 64), 64, rng)
    for mode, seed in (("late", 0), ("early", 1), ("late", 2)):
        found = launch(text, *given, target=target, grid=(1, 1, 1), mode=mode, seed=seed)[0][2]
        np.testing.assert_array_equal(found, expected)


def test_all_threads_meet_without_agents() -> None:
    """Before each store."""
    ptx = compiled(gemm(128, 64, 32, 2), "sm_120").ptx
    assert "mbarrier" not in ptx and ptx.count("barrier.cluster.wait") == 1


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_the_arrivals_at_other_ctas_are_needed(target: str) -> None:
    """Without any one of them, the simulated GPU finds a defect in some schedule, or the result is wrong."""
    rng = np.random.default_rng(fresh_seed())
    given, expected = case(128, 192, 32, (128, 64), 64, rng)
    made = compiled(gemm(128, 64, 32, 2), target)
    schedules = [(mode, seed) for mode in ("late", "early") for seed in range(6)]
    trial = Trial(
        given,
        target,
        (1,),
        lambda found: np.array_equal(found[2], expected),
        schedules,
        {"max_instructions": 200_000},
    )
    changed = list(changed_lines(made.ptx, without_meeting))
    # The arrival of a meeting stands right in front of its wait; others release stages.
    (meeting,) = (number for number, (line, _) in enumerate(changed) if "try_wait" in line)
    changed = changed[meeting - 1 : meeting + 1]
    assert missed(made, changed, trial) == []


def test_a_remark_says_where_ctas_meet() -> None:
    text = gemm(128, 64, 32, 2)
    what = r"the CTAs of the cluster meet before the access, which its token orders after 'nv_tileas.tiled_store' at "
    assert any(re.match(what, message) for message in remarks(text))
    assert not any(re.match(what, message) for message in remarks(gemm(128, 64, 32)))


def test_meetings_keep_consumers_from_turns() -> None:
    (found,) = turns(gemm(256, 128, 64, 2))
    assert re.search(r"the CTAs of a cluster meet in each iteration at \S+", found)


def test_a_factor_that_may_be_the_result_keeps_a_kernel_from_having_clusters() -> None:
    """The CTAs would meet for each tile of it."""
    expected = r"no cluster of 2 CTAs: nv_tileas.tiled_load is ordered by its token after 'nv_tileas.tiled_store' at "
    assert any(re.match(expected, message) for message in remarks(gemm(128, 64, 32, 2, loads="factor")))
