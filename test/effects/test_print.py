"""print_tko: what a program prints is what Python's own formatting makes of the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import TARGETS, Array, check_tools, decode, encode, fresh_seed, launch, program, random


def rows(array: Array, spec: str) -> str:
    """A tile as it is printed."""
    if array.ndim:
        return f"[{', '.join(rows(part, spec) for part in array)}]"
    return spec % array.item()


def printed(text: str, *args: Any, **options: Any) -> str:
    """What a program prints."""
    return launch(text, *args, **options)[1].output


@pytest.mark.parametrize("shape", [(1,), (8,), (2, 4), (4, 1), (1, 4), (2, 2, 4), (16, 32)])
def test_a_tile_is_printed_row_by_row(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(fresh_seed())
    numbers = random("i32", shape, rng)
    types = f"tile<{'x'.join(map(str, shape))}xi32>"
    text = program(
        f'  %t = print_tko "t = %d;\\n", %a token=%aT : {types} -> token', {"a": ("i32", shape)}, {}
    )
    for schedule in ("late", "early"):
        assert printed(text, numbers, mode=schedule) == f"t = {rows(numbers, '%d')};\n"


@pytest.mark.parametrize("mode", ["late", "early"])
def test_large_tiles_are_printed_part_by_part(mode: str) -> None:
    """16 KiB, through 8 of shared memory; the second tile follows the first."""
    rng = np.random.default_rng(fresh_seed())
    a, b = random("i64", (32, 64), rng), random("i16", (8, 16), rng)
    text = program(
        '  %t = print_tko "%lld/%d!", %a, %b : tile<32x64xi64>, tile<8x16xi16> -> token',
        {"a": ("i64", (32, 64)), "b": ("i16", (8, 16))},
        {},
    )
    assert printed(text, a, b, mode=mode) == f"{rows(a, '%d')}/{rows(b, '%d')}!"


@pytest.mark.parametrize(
    ("element", "spec"),
    [
        ("i8", "%d"),
        ("i16", "%6i"),
        ("i32", "%+d"),
        ("i64", "%lld"),
        ("i64", "%d"),
        ("i32", "%08x"),
        ("i64", "%llX"),
    ],
)
def test_integers_are_printed_as_the_conversion_reads_them(element: str, spec: str) -> None:
    """Of the type's own length, where the conversion names a smaller one."""
    rng = np.random.default_rng(fresh_seed())
    numbers = random(element, (2, 8), rng)
    shown = numbers if spec[-1] in "di" else numbers.view(f"u{numbers.itemsize}")
    text = program(
        f'  %t = print_tko "{spec}", %a : tile<2x8x{element}> -> token', {"a": (element, (2, 8))}, {}
    )
    assert printed(text, numbers) == rows(shown, spec.replace("ll", ""))


@pytest.mark.parametrize(
    ("spec", "width", "signed"),
    [("%hhd", 8, True), ("%hu", 16, False), ("%u", 32, False), ("%o", 32, False), ("%lu", 32, False)],
)
def test_a_length_narrows_and_a_letter_says_the_sign(spec: str, width: int, signed: bool) -> None:
    rng = np.random.default_rng(fresh_seed())
    numbers = random("i32", (8,), rng)
    shown = numbers.astype(f"{'i' if signed else 'u'}{width // 8}")
    text = program(f'  %t = print_tko "{spec}", %a : tile<8xi32> -> token', {"a": ("i32", (8,))}, {})
    assert printed(text, numbers) == rows(shown, "%o" if spec == "%o" else "%d")


def test_truth_is_printed_as_one() -> None:
    flags = np.array([1, 0, 0, 1], np.uint8)
    text = program(
        '  %t = print_tko "%d %u", %a, %a : tile<4xi1>, tile<4xi1> -> token', {"a": ("i1", (4,))}, {}
    )
    assert printed(text, flags) == "[1, 0, 0, 1] [1, 0, 0, 1]"


@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2", "f16", "bf16", "tf32", "f32", "f64"])
def test_floats_are_printed_with_all_their_digits(element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    numbers = encode(element, rng.standard_normal((2, 8)))
    text = program(
        f'  %t = print_tko "%+.9e|%8.3f", %a, %a : tile<2x8x{element}>, tile<2x8x{element}> -> token',
        {"a": (element, (2, 8))},
        {},
    )
    exact = decode(element, numbers)
    assert printed(text, numbers) == f"{rows(exact, '%+.9e')}|{rows(exact, '%8.3f')}"


def test_scalars_tiles_and_percent_signs_stand_where_the_format_has_them() -> None:
    body = """
  %t = print_tko "%d%% of %5.1f: %d, %c\\0A", %n, %f, %a, %n : tile<i32>, tile<f32>, tile<2xi16>, tile<i32> -> token
  %u = print_tko "then %lld\\0A", %w token=%t : tile<i64> -> token
  %v = print_tko "" token=%u -> token
"""
    text = program(body, {"a": ("i16", (2,))}, {}, {"n": "i32", "f": "f32", "w": "i64"})
    found = printed(
        text, np.array([-7, 300], np.int16), np.int32(65), np.float32(2.25), np.int64(-(1 << 40)), grid=(1,)
    )
    assert found == f"65% of   2.2: [-7, 300], A\nthen {-(1 << 40)}\n"


def test_more_scalars_than_one_call_takes() -> None:
    names = ", ".join(["%n"] * 40)
    types = ", ".join(["tile<i32>"] * 40)
    text = program(f'  %t = print_tko "{"%d " * 40}", {names} : {types} -> token', {}, {}, {"n": "i32"})
    assert printed(text, np.int32(5)) == "5 " * 40


def test_every_tile_block_prints_once() -> None:
    body = '  %x, %y, %z = get_tile_block_id : tile<i32>\n  %t = print_tko "<%d>", %x : tile<i32> -> token'
    found = printed(program(body, {}, {}), grid=(20,))
    assert sorted(found.strip("<>").split("><"), key=int) == [str(i) for i in range(20)]


def test_prints_in_a_loop_come_in_the_order_of_their_tokens() -> None:
    body = """
  %zero = constant <i32: 0> : tile<i32>
  %five = constant <i32: 5> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %i = iota : tile<64xi32>
  %end = for %k in (%zero to %five, step %one) : tile<i32> iter_values(%tok = %startToken) -> (token) {
    %ks = reshape %k : tile<i32> -> tile<1xi32>
    %kb = broadcast %ks : tile<1xi32> -> tile<64xi32>
    %v = addi %i, %kb : tile<64xi32>
    %t = print_tko "%d\\0A", %v token=%tok : tile<64xi32> -> token
    continue %t : token
  }
"""
    expected = "".join(f"[{', '.join(str(i + k) for i in range(64))}]\n" for k in range(5))
    for schedule in ("late", "early"):
        assert printed(program(body, {}, {}), mode=schedule) == expected


def test_an_address_and_the_text_there() -> None:
    body = '  %t = print_tko "%s at %p", %aP, %aP token=%aT : tile<ptr<i8>>, tile<ptr<i8>> -> token'
    text = program(body, {"a": ("i8", (16,))}, {})
    found = printed(text, np.frombuffer(b"a text in memory"[:15] + b"\0", np.int8).copy())
    assert found.startswith("a text in memor at 0x7f")


@pytest.mark.parametrize("target", TARGETS)
def test_the_tools_take_what_prints(target: str) -> None:
    body = '  %t = print_tko "%d %f %lld", %n, %a, %n : tile<i32>, tile<8x16xf16>, tile<i32> -> token'
    text = program(body, {"a": ("f16", (8, 16))}, {}, {"n": "i32"})
    check_tools(text, target)
    numbers = encode("f16", np.arange(128.0).reshape(8, 16))
    assert printed(text, numbers, np.int32(-1), target=target).startswith("-1 [[0.000000, 1.000000, ")
