# ruff: noqa: E501
"""Loops that are split where checks begin to fail compute the same, on the simulated GPU, and execute less."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from programs import fresh_seed, launch

from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import parse_pipeline

LAST = (1 << 31) - 1
COLUMNS = 512
VIEW = f"partition_view<tile=(4x{COLUMNS}), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>"
SQUARES = f"""
cuda_tile.module @m {{
  entry @squares(%X: tile<ptr<f32>>, %Y: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>) {{
    %p = assume div_by<16>, %X : tile<ptr<f32>>
    %rows = assume bounded<0, ?>, %m : tile<i32>
    %columns = assume bounded<0, ?>, %n : tile<i32>
    %x = make_tensor_view %p, shape = [%rows, %columns], strides = [%columns, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %tiles = make_partition_view %x : {VIEW}
    %y = make_tensor_view %Y, shape = [%rows], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %sums = make_partition_view %y : partition_view<tile=(4), tensor_view<?xf32, strides=[1]>>
    %start = make_token : token
    %i, %j, %u = get_tile_block_id : tile<i32>
    %first = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %zero = constant <f32: 0.0> : tile<4x{COLUMNS}xf32>
    %count:2 = get_index_space_shape %tiles : {VIEW} -> tile<i32>
    %sum = for %k in (%first to %count#1, step %one) : tile<i32> iter_values(%old = %zero) -> (tile<4x{COLUMNS}xf32>) {{
      %v, %done = load_view_tko weak %tiles[%i, %k] token = %start : {VIEW}, tile<i32> -> tile<4x{COLUMNS}xf32>, token
      %square = mulf %v, %v : tile<4x{COLUMNS}xf32>
      %new = addf %old, %square : tile<4x{COLUMNS}xf32>
      continue %new : tile<4x{COLUMNS}xf32>
    }}
    %r = reduce %sum dim = 1 identities = [0.0 : f32] : tile<4x{COLUMNS}xf32> -> tile<4xf32>
    (%a: tile<f32>, %b: tile<f32>) {{
      %c = addf %a, %b : tile<f32>
      yield %c : tile<f32>
    }}
    %stored = store_view_tko weak %r, %sums[%i] token = %start : tile<4xf32>, partition_view<tile=(4), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
    return
  }}
}}
"""
"""The sum of squares of each row: the last tile of a row is partly outside, and so is the last block of rows."""
COUNT = """
cuda_tile.module @m {
  entry @count(%Y: tile<ptr<i32>>, %lo: tile<i32>, %hi: tile<i32>, %by: tile<i32>, %n: tile<i32>) {
    %lower = assume bounded<0, ?>, %lo : tile<i32>
    %step = assume bounded<1, ?>, %by : tile<i32>
    %y = make_tensor_view %Y, shape = [256], strides = [1] : tensor_view<256xi32, strides=[1]>
    %out = make_partition_view %y : partition_view<tile=(256), tensor_view<256xi32, strides=[1]>>
    %start = make_token : token
    %first = constant <i32: 0> : tile<i32>
    %zero = constant <i32: 0> : tile<256xi32>
    %one = constant <i32: 1> : tile<256xi32>
    %iota = iota : tile<256xi32>
    %weights = addi %iota, %one : tile<256xi32>
    %r = reshape %n : tile<i32> -> tile<1xi32>
    %limit = broadcast %r : tile<1xi32> -> tile<256xi32>
    %sum = for %k in (%lower to %hi, step %step) : tile<i32> iter_values(%old = %zero) -> (tile<256xi32>) {
      %q = reshape %k : tile<i32> -> tile<1xi32>
      %b = broadcast %q : tile<1xi32> -> tile<256xi32>
      %i = addi %b, %iota : tile<256xi32>
      %m = cmpi PREDICATE %i, %limit, signed : tile<256xi32> -> tile<256xi1>
      %c = select %m, %weights, %zero : tile<256xi1>, tile<256xi32>
      %new = addi %old, %c : tile<256xi32>
      continue %new : tile<256xi32>
    }
    %stored = store_view_tko weak %sum, %out[%first] token = %start : tile<256xi32>, partition_view<tile=(256), tensor_view<256xi32, strides=[1]>>, tile<i32> -> token
    return
  }
}
"""
"""How often each of 256 numbers, added to the counter, compares with a limit; times the number plus 1."""


@cache
def lowered(text: str, target: str, split: bool = True) -> str:
    """The kernel after scf-for-loop-splitting, as text; with two loops."""
    module = parse_module(text, "kernel.mlir")
    steps = [
        "canonicalize", "cse", f"convert-cuda-tile-to-tileaa{{gpu-name={target}}}", "canonicalize", "cse",
        "loop-invariant-code-motion", "convert-tileaa-to-tileas", f"scf-for-loop-splitting{{most-elements={512 * split}}}",
    ]  # fmt: skip
    PassManager(parse_pipeline(f"builtin.module({','.join(steps)})")).run(module)
    printed = print_op(module)
    assert printed.count("scf.for") == 1 + split
    return printed


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_120a"])
@pytest.mark.parametrize("mode", ["late", "early"])
def test_ragged_rows(target: str, mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    whole = COLUMNS * int(rng.integers(1, 4))
    for n in (0, 1, COLUMNS - 1, whole, whole + 1, whole + int(rng.integers(1, COLUMNS))):
        m = int(rng.integers(1, 9))
        x = rng.standard_normal((m, n)).astype(np.float32)
        grid = (-(-m // 4),)
        given = (x if n else np.zeros((m, 1), np.float32), np.ones(m, np.float32), np.int32(m), np.int32(n))
        arrays = launch(lowered(SQUARES, target), *given, target=target, grid=grid, mode=mode)[0]
        expected = (x.astype(np.float64) ** 2).sum(axis=1)
        assert np.abs(arrays[1] - expected).max() <= 1e-5 * max(n, 1)


@pytest.mark.parametrize("predicate", ["less_than", "less_than_or_equal", "greater_than"])
def test_numbers_at_the_limits_of_their_type(predicate: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    text = lowered(COUNT.replace("PREDICATE", predicate), "sm_80", predicate != "greater_than")
    compare = {"less_than": np.less, "less_than_or_equal": np.less_equal, "greater_than": np.greater}[
        predicate
    ]
    for _ in range(40):
        step = int(rng.choice([1, 2, 255, 256, 300, 1 << 29]))
        low = int(rng.choice([0, 100, LAST - 7 * min(step, 300), LAST - 1, LAST]))
        high = min(LAST, max(low + int(rng.integers(-3, 6 * step + 2)), -5))
        limit = int(rng.choice([-LAST - 1, -1, 0, low, low + 257, high - 1, high, high + 255, LAST]))
        limit = min(limit, LAST)
        counters = np.arange(low, max(high, low), step, dtype=np.int64)
        numbers = (counters[:, None] + np.arange(256)).astype(np.int32)
        expected = compare(numbers, limit).sum(axis=0) * np.arange(1, 257)
        given = [np.int32(v) for v in (low, high, step, limit)]
        [found] = launch(text, np.full(256, -1, np.int32), *given, target="sm_80")[0]
        assert (found == expected).all(), (low, high, step, limit)


FALLING = (
    COUNT.replace("%n: tile<i32>)", "%n: tile<i32>, %x: tile<i32>)")
    .replace("%q = reshape %k", "%place = subi %x, %k : tile<i32>\n      %q = reshape %place")
    .replace("PREDICATE", "greater_than_or_equal")
)


def test_a_number_beside_the_counter_may_wrap() -> None:
    """x less the counter, plus a number to 255, passes the greatest number in the first iterations, and is then less
    than the limit, as in the last ones."""
    rng = np.random.default_rng(fresh_seed())
    text = lowered(FALLING, "sm_80")
    for _ in range(20):
        step, count = int(rng.integers(1, 300)), int(rng.integers(2, 8))
        x = int(rng.choice([-LAST - 1 + step, LAST - 255 + step, LAST, int(rng.integers(-300, 300))]))
        x = min(x, LAST)
        limit = int(rng.choice([-LAST - 1, 0, x // 2, x - step]))
        counters = np.arange(count, dtype=np.int64)[:, None] * step
        numbers = (x - counters + np.arange(256)).astype(np.int32)
        expected = (numbers >= limit).sum(axis=0) * np.arange(1, 257)
        given = [np.int32(v) for v in (0, step * count, step, limit, x)]
        [found] = launch(text, np.full(256, -1, np.int32), *given, target="sm_80")[0]
        assert (found == expected).all(), (step, count, limit, x)


def test_fewer_instructions() -> None:
    x = np.ones((4, 8 * COLUMNS + 4), np.float32)
    given = (x, np.zeros(4, np.float32), np.int32(4), np.int32(x.shape[1]))
    # The second text is a loop of the same kind that says not to split it.
    whole = re.sub(r"(scf\.yield[^}]*})", r"\1 {nv_tileas.remainder}", lowered(SQUARES, "sm_80", False))
    executed: list[int] = []
    for text in (lowered(SQUARES, "sm_80"), whole):
        stats = launch(text, *given, stats=True)[1].stats
        assert stats is not None
        executed.append(sum(stats.instructions.values()))
    assert executed[0] < 0.9 * executed[1], executed
