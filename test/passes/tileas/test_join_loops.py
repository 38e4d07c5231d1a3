# ruff: noqa: E501
"""Loops over consecutive ranges that are joined compute the same, on the simulated GPU; which ones are joined."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from programs import fresh_seed, launch

from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import parse_pipeline

M, N, K, STEPS = 64, 16, 32, 10
XS = f"partition_view<tile=({M}x{K}), tensor_view<{M}x{K * STEPS}xf16, strides=[{K * STEPS}, 1]>>, tile<i32> -> tile<{M}x{K}xf16>, token"
YS = f"partition_view<tile=({K}x{N}), tensor_view<{K * STEPS}x{N}xf16, strides=[{N}, 1]>>, tile<i32> -> tile<{K}x{N}xf16>, token"
CARRIED = f"(tile<{M}x{N}xf32>, tile<16xi32>, tile<i32>)"
DOT = f"tile<{M}x{K}xf16>, tile<{K}x{N}xf16>, tile<{M}x{N}xf32>"
LOOP = f"""
      %tx, %t1 = load_view_tko weak %xs[%zero, %k] : {XS}
      %ty, %t2 = load_view_tko weak %ys[%c, %zero] : {YS}
      FACTOR
      %new = mmaf %left, %ty, %old : {DOT}
      %kr = reshape %k : tile<i32> -> tile<1xi32>
      %kb = broadcast %kr : tile<1xi32> -> tile<16xi32>
      %scaled = muli %hash, %fives : tile<16xi32>
      %told = addi %scaled, %kb : tile<16xi32>
      %next = addi %c, %one : tile<i32>
"""
TWO = f"""
cuda_tile.module @m {{
  entry @two(%X: tile<ptr<f16>>, %Y: tile<ptr<f16>>, %S: tile<ptr<f32>>, %H: tile<ptr<i32>>, %first: tile<i32>, %middle: tile<i32>, %last: tile<i32>) {{
    %Xa = assume div_by<16>, %X : tile<ptr<f16>>
    %Ya = assume div_by<16>, %Y : tile<ptr<f16>>
    %x = make_tensor_view %Xa, shape = [{M}, {K * STEPS}], strides = [{K * STEPS}, 1] : tensor_view<{M}x{K * STEPS}xf16, strides=[{K * STEPS}, 1]>
    %xs = make_partition_view %x : partition_view<tile=({M}x{K}), tensor_view<{M}x{K * STEPS}xf16, strides=[{K * STEPS}, 1]>>
    %y = make_tensor_view %Ya, shape = [{K * STEPS}, {N}], strides = [{N}, 1] : tensor_view<{K * STEPS}x{N}xf16, strides=[{N}, 1]>
    %ys = make_partition_view %y : partition_view<tile=({K}x{N}), tensor_view<{K * STEPS}x{N}xf16, strides=[{N}, 1]>>
    %s = make_tensor_view %S, shape = [{M}, {N}], strides = [{N}, 1] : tensor_view<{M}x{N}xf32, strides=[{N}, 1]>
    %sums = make_partition_view %s : partition_view<tile=({M}x{N}), tensor_view<{M}x{N}xf32, strides=[{N}, 1]>>
    %h = make_tensor_view %H, shape = [16], strides = [1] : tensor_view<16xi32, strides=[1]>
    %hashes = make_partition_view %h : partition_view<tile=(16), tensor_view<16xi32, strides=[1]>>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %by = constant <i32: STEP> : tile<i32>
    %none = constant <f32: 0.0> : tile<{M}x{N}xf32>
    %threes = constant <f16: 3.0> : tile<{M}x{K}xf16>
    %fives = constant <i32: 5> : tile<16xi32>
    %lower = muli %first, %by : tile<i32>
    %point = muli %middle, %by : tile<i32>
    %upper = muli %last, %by : tile<i32>
    %limited = mini %upper, %point signed : tile<i32>
    %begun = maxi %lower, %point signed : tile<i32>
    %a:3 = for %k in (%lower to END, step %by) : tile<i32> iter_values(%old = %none, %hash = %fives, %c = %first) -> {CARRIED} {{
      {LOOP.replace("FACTOR", f"%left = addf %tx, %tx : tile<{M}x{K}xf16>").replace("%xs[%zero, %k]", "%xs[%zero, %c]")}
      continue %new, %told, %next : {CARRIED[1:-1]}
    }}
    BETWEEN
    %b:3 = for %k in (START to %upper, step SECOND_STEP) : tile<i32> iter_values(%old = %a#0, %hash = %a#1, %c = COUNTER) -> {CARRIED} {{
      {LOOP.replace("FACTOR", f"%left = mulf %tx, %threes : tile<{M}x{K}xf16>").replace("%xs[%zero, %k]", "%xs[%zero, %c]")}
      %other = addi %told, %fives : tile<16xi32>
      continue %new, %other, %next : {CARRIED[1:-1]}
    }}
    %e1 = store_view_tko weak %b#0, %sums[%zero, %zero] : tile<{M}x{N}xf32>, partition_view<tile=({M}x{N}), tensor_view<{M}x{N}xf32, strides=[{N}, 1]>>, tile<i32> -> token
    %e2 = store_view_tko weak %b#1, %hashes[%zero] : tile<16xi32>, partition_view<tile=(16), tensor_view<16xi32, strides=[1]>>, tile<i32> -> token
    return
  }}
}}
"""
"""The sums of products over two ranges, and a number that tells which iterations there were, in which order."""
ENDS, STARTS, COUNTERS = ("%limited", "%point"), ("%begun", "%point"), ("%a#2", "%middle")


def two(
    end: str = "%limited", start: str = "%begun", step: int = 1, counter: str = "%a#2", between: str = "",
    second_step: str = "%by",
) -> str:  # fmt: skip
    text = TWO.replace("SECOND_STEP", second_step).replace("STEP", str(step)).replace("END", end)
    return text.replace("START", start).replace("COUNTER", counter).replace("BETWEEN", between)


@cache
def joined(text: str, target: str) -> tuple[str, bool]:
    """The kernel behind tileas-join-loops, and whether it has one loop."""
    module = parse_module(text, "kernel.mlir")
    steps = [
        "canonicalize", "cse", f"convert-cuda-tile-to-tileaa{{gpu-name={target}}}", "canonicalize", "cse",
        "loop-invariant-code-motion", "convert-tileaa-to-tileas", "tileas-join-loops",
    ]  # fmt: skip
    PassManager(parse_pipeline(f"builtin.module({','.join(steps)})")).run(module)
    printed = print_op(module)
    return printed, printed.count("scf.for") == 1


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize(("end", "start"), list(product(ENDS, STARTS)))
def test_results(end: str, start: str, target: str) -> None:
    """All ways in which a limit of one range is one of the other, where ranges may be empty."""
    rng = np.random.default_rng(fresh_seed())
    step, counter = int(rng.choice([1, 4])), str(rng.choice(COUNTERS))
    text, is_one = joined(two(end, start, step, counter), target)
    assert is_one
    x = rng.integers(-2, 3, (M, K * STEPS)).astype(np.float16)
    y = rng.integers(-2, 3, (K * STEPS, N)).astype(np.float16)
    for _ in range(4):
        first, middle, last = (int(value) for value in rng.integers(0, STEPS // 2, 3))
        print(step, counter, first, middle, last)
        one = range(first, min(last, middle) if end == "%limited" else middle)
        other = range(max(first, middle) if start == "%begun" else middle, last)
        sums, number, count = np.zeros((M, N)), np.int64(5), first
        for factor, more, counters in ((2, 0, one), (3, 5, other)):
            if counters is other and counter == "%middle":
                count = middle
            for k in counters:
                part = slice(count * K, count * K + K)
                sums += factor * x[:, part].astype(np.float64) @ y[part].astype(np.float64)
                number, count = number * 5 + k * step + more, count + 1
        arrays, _ = launch(
            text, x, y, np.zeros((M, N), np.float32), np.zeros(16, np.int32), np.int32(first), np.int32(middle),
            np.int32(last), target=target, mode=str(rng.choice(["late", "early"])),
        )  # fmt: skip
        np.testing.assert_array_equal(arrays[2], sums)
        assert (arrays[3] == np.int64(number).astype(np.int32)).all()


STORED = "%e0 = store_view_tko weak %a#1, %hashes[%zero] : tile<16xi32>, partition_view<tile=(16), tensor_view<16xi32, strides=[1]>>, tile<i32> -> token"
OTHER_STORED = STORED.replace("%a#1", "%fives")
KEPT = {
    "a gap": two(start="%one"),
    "another end": two(end="%upper"),
    "another step": two(second_step="%one", step=4),
    "a step that the ranges may miss": two(step=4).replace("%point = muli %middle, %by", "%point = muli %middle, %one"),
    "sums used between": two(between=STORED),
    "an access between": two(between=OTHER_STORED),
    "sums that begin anew": two().replace("%old = %a#0", "%old = %none"),
    "a counter used behind": two(counter="%middle").replace("weak %b#1,", "weak %behind,").replace(
        "%e1 =", "%r = reshape %b#2 : tile<i32> -> tile<1xi32>\n    %behind = broadcast %r : tile<1xi32> -> tile<16xi32>\n    %e1 ="
    ),
    "a product without partner": two().replace("%other = addi %told, %fives", f"%more = mmaf %left, %ty, %new : {DOT}\n      %other = addi %told, %fives").replace(
        f"continue %new, %other, %next : {CARRIED[1:-1]}", f"continue %more, %other, %next : {CARRIED[1:-1]}"
    ),
    "a factor that one of them computes": two().replace("%left = addf %tx, %tx", "%left = negf %tx"),
    "sums that one of them changes": two().replace(f"continue %new, %other, %next : {CARRIED[1:-1]}", f"%half = mulf %new, %none : tile<{M}x{N}xf32>\n      continue %half, %other, %next : {CARRIED[1:-1]}"),
    "a load without partner": two().replace("%other = addi %told, %fives", "%again, %t3 = load_view_tko weak %hashes[%zero] : partition_view<tile=(16), tensor_view<16xi32, strides=[1]>>, tile<i32> -> tile<16xi32>, token\n      %other = addi %told, %again"),
}  # fmt: skip


@pytest.mark.parametrize("why", KEPT)
def test_loops_that_stay_two(why: str) -> None:
    assert not joined(KEPT[why], "sm_90a")[1]


def test_loops_without_products_stay_two() -> None:
    text = two().replace(f"mmaf %left, %ty, %old : {DOT}", f"addf %old, %none : tile<{M}x{N}xf32>")
    assert not joined(text, "sm_90a")[1]


# -- random bodies

Tile = np.ndarray[Any, Any]
Step = Callable[[Tile, Tile, Tile, int], Tile]
"""What a step computes from the tile before it, an older one, the sums, and the counter."""
INDEX = f"tile<{M}x{N}xi32>"
SHAPE = f"tile<{M}x{N}xf32>"
STEPS_OF_A_BODY: dict[str, Step] = {
    f"%v{{n}} = negf %v{{p}} : {SHAPE}": lambda last, older, old, k: -last,
    f"%v{{n}} = addf %v{{p}}, %tone : {SHAPE}": lambda last, older, old, k: last + 1,
    f"%v{{n}} = mulf %v{{p}}, %half : {SHAPE}": lambda last, older, old, k: last * 0.5,
    f"%v{{n}} = maxf %v{{p}}, %old : {SHAPE}": lambda last, older, old, k: np.maximum(last, old),
    f"%v{{n}} = addf %v{{p}}, %v{{q}} : {SHAPE}": lambda last, older, old, k: last + older,
    f"%q{{n}} = reshape %k : tile<i32> -> tile<1x1xi32>\n      %w{{n}} = broadcast %q{{n}} : tile<1x1xi32> -> {INDEX}\n"
    f"      %x{{n}} = itof %w{{n}} signed : {INDEX} -> {SHAPE}\n      %v{{n}} = subf %v{{p}}, %x{{n}} : {SHAPE}": (
        lambda last, older, old, k: last - k
    ),
}  # fmt: skip
"""What a body computes of tile `p`, and perhaps of tile `q`, as tile `n`; all numbers are exact in f32."""


def random_body(
    chain: list[tuple[str, int]], kept: list[bool]
) -> tuple[str, Callable[[Tile, Tile, int], Tile]]:
    """A chain of steps behind the product, of which some are left out; as text, and as a function."""
    lines, places = [f"%v0 = mmaf %tx, %ty, %nothing : {DOT}"], [0]
    for number, ((step, back), is_kept) in enumerate(zip(chain, kept, strict=True), 1):
        if is_kept:
            lines.append(step.format(n=number, p=places[-1], q=places[max(0, len(places) - 1 - back)]))
            places.append(number)
    lines.append(f"%sum = addf %v{places[-1]}, %old : {SHAPE}")

    def run(product: Tile, old: Tile, k: int) -> Tile:
        tiles = [product]
        for (step, back), is_kept in zip(chain, kept, strict=True):
            if is_kept:
                older = tiles[max(0, len(tiles) - 1 - back)]
                tiles.append(STEPS_OF_A_BODY[step](tiles[-1], older, old, k))
        return tiles[-1] + old

    return "\n      ".join(lines), run


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
def test_random_bodies(target: str) -> None:
    """What the loops compute behind the same product differs at random places."""
    rng = np.random.default_rng(fresh_seed())
    chain = [
        (str(rng.choice(list(STEPS_OF_A_BODY))), int(rng.integers(0, 4)))
        for _ in range(int(rng.integers(3, 8)))
    ]
    text = two(str(rng.choice(ENDS)), str(rng.choice(STARTS)))
    text = text.replace(
        "%threes =",
        f"%nothing = constant <f32: 0.0> : {SHAPE}\n    %tone = constant <f32: 1.0> : {SHAPE}\n"
        f"    %half = constant <f32: 0.5> : {SHAPE}\n    %threes =",
    )
    runs: list[Callable[[Tile, Tile, int], Tile]] = []
    for _ in range(2):
        body, run = random_body(chain, list(rng.random(len(chain)) < 0.7))
        text = text.replace(f"%new = mmaf %left, %ty, %old : {DOT}", body, 1)
        runs.append(run)
    text = text.replace("continue %new,", "continue %sum,")
    one, is_one = joined(text, target)
    assert is_one
    x = rng.integers(-2, 3, (M, K * STEPS)).astype(np.float16)
    y = rng.integers(-2, 3, (K * STEPS, N)).astype(np.float16)
    first, middle, last = sorted(int(value) for value in rng.integers(0, STEPS // 2, 3))
    print(text, first, middle, last)
    sums = np.zeros((M, N))
    for k in range(first, last):
        part = slice(k * K, k * K + K)
        product = x[:, part].astype(np.float64) @ y[part].astype(np.float64)
        sums = runs[k >= middle](product, sums, k)
    given = (
        x,
        y,
        np.zeros((M, N), np.float32),
        np.zeros(16, np.int32),
        *map(np.int32, (first, middle, last)),
    )
    found, _ = launch(one, *given, target=target)
    np.testing.assert_array_equal(found[2], sums)
