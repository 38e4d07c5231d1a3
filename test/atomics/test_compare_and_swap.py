"""atomic_cas_tko: comparison by bits, masks, and programs that build more on it."""

from __future__ import annotations

import numpy as np
import pytest
from atomics.atomic_programs import contended
from programs import TARGETS, Array, check_tools, fresh_seed, launch, program, run


def _swap(element: str, shape: str, mask: bool = False) -> str:
    pointers, values = f"tile<{shape}xptr<{element}>>", f"tile<{shape}x{element}>"
    ones = "x".join("1" for _ in shape.split("x"))
    return f"""
  %i = iota : tile<64xi32>
  %place = reshape %i : tile<64xi32> -> tile<{shape}xi32>
  %p1 = reshape %memoryP : tile<ptr<{element}>> -> tile<{ones}xptr<{element}>>
  %p2 = broadcast %p1 : tile<{ones}xptr<{element}>> -> {pointers}
  %p = offset %p2, %place : {pointers}, tile<{shape}xi32> -> {pointers}
  %seen, %t = atomic_cas_tko relaxed device %p, %expected, %value{", %mask" if mask else ""} token=%memoryT
    : {pointers}, {values}{f", tile<{shape}xi1>" if mask else ""} -> {values}, token
"""


def _same(a: Array, b: Array) -> bool:
    return a.tobytes() == b.tobytes()


@pytest.mark.parametrize("element", ["i32", "i64", "f32", "f64"])
def test_elements_are_swapped_where_the_bits_are_those_expected(element: str) -> None:
    """Of floats too: NaNs that differ are different, and so are the zeros."""
    rng = np.random.default_rng(fresh_seed())
    size = int(element[1:]) // 8
    memory, value = (rng.integers(0, 256, 64 * size, np.uint8).view(f"{element[0]}{size}") for _ in range(2))
    if element[0] == "f":
        memory[:4] = np.nan, np.nan, 0.0, -0.0
    expected = memory.copy()
    different = rng.integers(0, 2, 64).astype(bool)
    different[:4] = False, True, True, False
    expected.view(np.uint8).reshape(64, size)[different, size - 1] ^= 0x80
    names = dict.fromkeys(("memory", "expected", "value"), (element, (8, 8)))
    text = program(_swap(element, "8x8"), names, {"seen": (element, (8, 8))})
    shaped = [a.reshape(8, 8) for a in (memory, expected, value, np.zeros_like(memory))]
    after, _, _, seen = run(text, *shaped)
    assert _same(seen.reshape(-1), memory)
    assert _same(after.reshape(-1), np.where(different, memory, value))


def test_where_the_mask_is_false_the_result_is_what_was_expected() -> None:
    rng = np.random.default_rng(fresh_seed())
    memory, value = (rng.integers(0, 1 << 20, (4, 16), np.int32) for _ in range(2))
    mask = rng.integers(0, 2, (4, 16), np.uint8)
    expected = np.where(rng.integers(0, 2, (4, 16)), memory, -memory).astype(np.int32)
    names = {"memory": "i32", "expected": "i32", "value": "i32", "mask": "i1"}
    text = program(
        _swap("i32", "4x16", mask=True),
        {name: (element, (4, 16)) for name, element in names.items()},
        {"seen": ("i32", (4, 16))},
    )
    after, _, _, _, seen = run(text, memory, expected, value, mask, np.zeros_like(memory))
    assert np.array_equal(seen, np.where(mask, memory, expected))
    assert np.array_equal(after, np.where(mask & (memory == expected), value, memory))


def test_of_many_who_swap_one_element_one_sees_what_was_there() -> None:
    def op(mask: str) -> str:
        return (
            "%zero = constant <i32: 0> : tile<128xi32>\n"
            "%r, %t1 = atomic_cas_tko relaxed device %p, %zero, %x token=%t0 "
            ": tile<128xptr<i32>>, tile<128xi32> -> tile<128xi32>, token"
        )

    rng = np.random.default_rng(fresh_seed())
    operands = rng.permutation(128 * 4).astype(np.int32) + 1
    last, _, seen = run(
        contended(128, "i32", op), np.zeros(7, np.int32), operands, np.zeros_like(operands), grid=(4,)
    )
    place = np.arange(128 * 4) % 128 % 7
    for element in range(7):
        mine = place == element
        (winner,) = np.flatnonzero(mine & (seen == 0))
        assert operands[winner] == last[element]
        assert set(seen[mine].tolist()) <= {0, last[element]}


LOCK = """
  entry @kernel(%lock: tile<ptr<i32>>, %data: tile<ptr<i32>>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %t0 = make_token : token
    %locked = loop iter_values(%tok = %t0) : token -> token {
      %old, %t1 = atomic_cas_tko acquire device %lock, %zero, %one token=%tok
        : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
      %got = cmpi equal %old, %zero, signed : tile<i32> -> tile<i1>
      if %got {
        break %t1 : token
      }
      continue %t1 : token
    }
    %i = iota : tile<256xi32>
    %p1 = reshape %data : tile<ptr<i32>> -> tile<1xptr<i32>>
    %p2 = broadcast %p1 : tile<1xptr<i32>> -> tile<256xptr<i32>>
    %p = offset %p2, %i : tile<256xptr<i32>>, tile<256xi32> -> tile<256xptr<i32>>
    %x, %t2 = load_ptr_tko weak %p token=%locked : tile<256xptr<i32>> -> tile<256xi32>, token
    %ones = constant <i32: 1> : tile<256xi32>
    %y = addi %x, %ones : tile<256xi32>
    %t3 = store_ptr_tko weak %p, %y token=%t2 : tile<256xptr<i32>>, tile<256xi32> -> token
    %old2, %t4 = atomic_rmw_tko release device %lock, xchg, %zero token=%t3
      : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    return
  }
"""


@pytest.mark.parametrize("schedule", ["late", "early"])
@pytest.mark.parametrize("target", TARGETS)
def test_a_lock_keeps_tile_blocks_apart(target: str, schedule: str) -> None:
    """Acquire and release order the plain accesses of all threads; the simulated GPU would report a race."""
    (lock, data), _ = launch(
        LOCK, np.zeros(1, np.int32), np.zeros(256, np.int32), target=target, grid=(6,), mode=schedule
    )
    assert lock[0] == 0
    assert np.array_equal(data, np.full(256, 6))


def test_the_tools_take_a_lock() -> None:
    check_tools(LOCK, *TARGETS)
