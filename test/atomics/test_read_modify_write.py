"""atomic_rmw_tko: every mode on every element type, by tile blocks that change the same elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from atomics.atomic_programs import contended, is_a_history, rmw, spread
from programs import TARGETS, Array, check_tools, compiled, decode, encode, fresh_seed, launch, program, run

BLOCKS = 3
COUNT = 64
_SIGNED: dict[str, Any] = {
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "add": np.add, "max": np.maximum,
    "min": np.minimum,
}  # fmt: skip
_UNSIGNED: dict[str, Any] = {"umax": np.maximum, "umin": np.minimum}


def _change(mode: str, element: str) -> Any:
    """(bits before, bits of the operand) → bits after, of Python ints."""
    width = int(element[1:])
    kind = np.dtype(f"u{width // 8}") if mode in _UNSIGNED else np.dtype(f"i{width // 8}")
    function = {**_SIGNED, **_UNSIGNED, "xchg": lambda a, b: b}[mode]

    def change(old: int, operand: int) -> int:
        with np.errstate(over="ignore"):
            a, b = (np.array(v, f"u{width // 8}").view(kind) for v in (old, operand))
            return int(np.asarray(function(a, b)).view(f"u{width // 8}"))

    return change


def _bits(array: Array) -> list[int]:
    return [int(v) for v in array.view(f"u{array.itemsize}")]


def _check_histories(first: Array, last: Array, operands: Array, seen: Array, change: Any) -> None:
    """What each element saw is one history of it."""
    steps = list(zip(_bits(seen), _bits(operands), strict=True))
    for element, (before, after) in enumerate(zip(_bits(first), _bits(last), strict=True)):
        mine = [step for i, step in enumerate(steps) if i % COUNT % 7 == element]
        assert is_a_history(before, after, mine, change), (element, before, after, mine)


@pytest.mark.parametrize("element", ["i32", "i64"])
@pytest.mark.parametrize("mode", ["and", "or", "xor", "add", "max", "min", "umax", "umin", "xchg"])
def test_every_mode_does_its_change_in_one_step(mode: str, element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    type = np.dtype(f"i{int(element[1:]) // 8}")
    bounds = np.iinfo(type)
    first = rng.integers(bounds.min, bounds.max, 7, type)
    operands = rng.integers(bounds.min, bounds.max, COUNT * BLOCKS, type)
    text = contended(COUNT, element, rmw(COUNT, element, mode))
    for schedule in ("late", "early"):
        (last, _, seen), _ = launch(
            text, first, operands, np.zeros_like(operands), grid=(BLOCKS,), mode=schedule
        )
        _check_histories(first, last, operands, seen, _change(mode, element))


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
def test_floats_are_added_in_one_step(element: str) -> None:
    """Numbers whose sums are exact, so that the order does not matter to what is there in the end."""
    rng = np.random.default_rng(fresh_seed())
    most = 2 if element == "bf16" else 9
    numbers = rng.integers(1, most, COUNT * BLOCKS).astype(np.float64)
    numbers[COUNT:] *= element != "bf16"  # bf16 counts to 256 only
    first = np.zeros(7)
    text = contended(COUNT, element, rmw(COUNT, element, "addf"))
    last, _, seen = run(
        text, encode(element, first), encode(element, numbers), encode(element, np.zeros_like(numbers)),
        grid=(BLOCKS,), target="sm_90a",
    )  # fmt: skip
    steps = list(zip(decode(element, seen).tolist(), numbers.tolist(), strict=True))
    for place, after in enumerate(decode(element, last).tolist()):
        mine = [step for i, step in enumerate(steps) if i % COUNT % 7 == place]
        assert is_a_history(0.0, after, mine, lambda a, b: a + b)
        assert after == sum(step[1] for step in mine)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_floats_are_exchanged_bit_by_bit(element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    bits = np.dtype(f"i{int(element[1:]) // 8}")
    patterns = rng.integers(np.iinfo(bits).min, np.iinfo(bits).max, COUNT * BLOCKS, bits)
    operands = patterns.view(f"f{bits.itemsize}")
    first = np.full(7, -0.0, operands.dtype)
    text = contended(COUNT, element, rmw(COUNT, element, "xchg"))
    last, _, seen = run(text, first, operands, np.zeros_like(operands), grid=(BLOCKS,))
    _check_histories(first, last, operands, seen, lambda _, b: b)


@pytest.mark.parametrize("count", [2, 16, 64, 512])
@pytest.mark.parametrize("warps", [1, 2, 8])
@pytest.mark.parametrize("returns", [False, True])
def test_each_element_is_changed_once_whatever_threads_hold_it(count: int, returns: bool, warps: int) -> None:
    """Tiles of fewer elements than threads, and of more; the mask leaves out the odd ones."""
    rng = np.random.default_rng(fresh_seed())
    operands = rng.integers(1, 1000, count * BLOCKS, np.int32)
    text = contended(count, "i32", rmw(count, "i32", "add"), returns=returns, masked=True, warps=warps)
    (kernel,) = compiled(text).manifest.kernels
    assert kernel.block == (32 * warps, 1, 1)
    last, _, seen = run(text, np.zeros(7, np.int32), operands, np.zeros_like(operands), grid=(BLOCKS,))
    place = np.arange(count * BLOCKS) % count
    for element in range(7):
        chosen = (place % 7 == element) & (place % 2 == 0)
        assert last[element] == operands[chosen].sum()
        if returns:
            steps = list(zip(seen[chosen].tolist(), operands[chosen].tolist(), strict=True))
            assert is_a_history(0, int(last[element]), steps, lambda a, b: a + b)


def test_a_scalar_is_changed_once_and_all_threads_see_what_was_there() -> None:
    text = """
  entry @kernel(%counter: tile<ptr<i32>>, %seen: tile<ptr<i32>>) {
    %one = constant <i32: 1> : tile<i32>
    %old, %t1 = atomic_rmw_tko relaxed device %counter, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %old1 = reshape %old : tile<i32> -> tile<1xi32>
    %olds = broadcast %old1 : tile<1xi32> -> tile<256xi32>
    %i = iota : tile<256xi32>
    %256 = constant <i32: 256> : tile<i32>
    %start = muli %old, %256 : tile<i32>
    %p0 = offset %seen, %start : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %p1 = reshape %p0 : tile<ptr<i32>> -> tile<1xptr<i32>>
    %p2 = broadcast %p1 : tile<1xptr<i32>> -> tile<256xptr<i32>>
    %p = offset %p2, %i : tile<256xptr<i32>>, tile<256xi32> -> tile<256xptr<i32>>
    %t2 = store_ptr_tko weak %p, %olds : tile<256xptr<i32>>, tile<256xi32> -> token
    return
  }
"""
    for target in TARGETS:
        counter, seen = run(
            text, np.zeros(1, np.int32), np.full(5 * 256, -1, np.int32), grid=(5,), target=target
        )
        assert counter[0] == 5
        assert np.array_equal(seen, np.repeat(np.arange(5), 256))


def test_a_result_that_flows_on_has_the_layout_of_its_use() -> None:
    """What a product of matrices takes is changed in memory first."""
    body = """
  %i = iota : tile<256xi32>
  %place = reshape %i : tile<256xi32> -> tile<16x16xi32>
  %p1 = reshape %aP : tile<ptr<f16>> -> tile<1x1xptr<f16>>
  %p2 = broadcast %p1 : tile<1x1xptr<f16>> -> tile<16x16xptr<f16>>
  %p = offset %p2, %place : tile<16x16xptr<f16>>, tile<16x16xi32> -> tile<16x16xptr<f16>>
  %one = constant <f16: 1.0> : tile<16x16xf16>
  %old, %t = atomic_rmw_tko relaxed device %p, addf, %one token=%aT : tile<16x16xptr<f16>>, tile<16x16xf16> -> tile<16x16xf16>, token
  %zero = constant <f32: 0.0> : tile<16x16xf32>
  %y = mmaf %old, %a, %zero : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>
"""  # noqa: E501
    rng = np.random.default_rng(fresh_seed())
    a = rng.integers(-4, 5, (16, 16)).astype(np.float16)
    text = program(body, {"a": ("f16", (16, 16))}, {"y": ("f32", (16, 16))})
    after, y = run(text, a, np.zeros((16, 16), np.float32))
    assert np.array_equal(after, a + np.float16(1))
    assert np.array_equal(y, a.astype(np.float64) @ a.astype(np.float64))


def test_the_tools_take_every_kind_of_instruction() -> None:
    cases = [("add", "i32", True), ("umax", "i64", False), ("addf", "f16", True), ("addf", "f64", False),
             ("xchg", "f32", False)]  # fmt: skip
    check_tools(
        [
            contended(64, element, rmw(64, element, mode), returns=returns, masked=True)
            for mode, element, returns in cases
        ],
        *TARGETS,
    )


@pytest.mark.parametrize("count", [2, 32, 64])
def test_warps_that_hold_the_same_elements_agree_on_what_was_there(count: int) -> None:
    """A tile that is large enough for several warps takes what a small one found."""
    types = f"tile<{count}xptr<i32>>, tile<{count}xi32>"
    wide = 8192 // count
    body = f"""
  %i = iota : tile<{count}xi32>
  {spread("p", "%aP", "i32", str(count), "%i")}
  %one = constant <i32: 1> : tile<{count}xi32>
  %old, %t = atomic_rmw_tko relaxed device %p, add, %one token=%aT : {types} -> tile<{count}xi32>, token
  %old1 = reshape %old : tile<{count}xi32> -> tile<{count}x1xi32>
  %olds = broadcast %old1 : tile<{count}x1xi32> -> tile<{count}x{wide}xi32>
  %y = addi %b, %olds : tile<{count}x{wide}xi32>
"""
    text = program(body, {"a": ("i32", (count,)), "b": ("i32", (count, wide))}, {"y": ("i32", (count, wide))})
    (kernel,) = compiled(text).manifest.kernels
    assert kernel.block[0] > 32
    rng = np.random.default_rng(fresh_seed())
    a, b = rng.integers(0, 99, count, np.int32), rng.integers(0, 99, (count, wide), np.int32)
    for schedule in ("late", "early"):
        (after, _, y), _ = launch(text, a, b, np.zeros_like(b), mode=schedule)
        assert np.array_equal(after, a + 1)
        assert np.array_equal(y, b + a[:, None])
