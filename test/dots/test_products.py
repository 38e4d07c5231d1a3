"""mmaf and mmai for every operand and accumulator type, in tiles from 1x1x1, alone and in batches, against NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from programs import TARGETS, check_tools, decode, empty, encode, fresh_seed, program, random, run, tile

FLOATS = [
    ("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("tf32", "f32"), ("f32", "f32"), ("f64", "f64"),
    ("f8E4M3FN", "f32"), ("f8E4M3FN", "f16"), ("f8E5M2", "f32"), ("f8E5M2", "f16"),
]  # fmt: skip
"""(operands, accumulator): what the verifier of mmaf admits."""
TOLERANCE = {"f16": 2e-2, "f32": 1e-5, "f64": 1e-13}
SIGNS = ["signed signed", "signed unsigned", "unsigned signed", "unsigned unsigned"]
SHAPES = [(1, 1, 1), (8, 16, 32), (64, 32, 64), (2, 64, 4), (128, 1, 2), (32, 64, 1)]


def shapes_of(m: int, n: int, k: int, batch: Sequence[int] = ()) -> list[tuple[int, ...]]:
    """The shapes of a, b and c."""
    return [(*batch, m, k), (*batch, k, n), (*batch, m, n)]


def text_of(
    shapes: Sequence[Sequence[int]], element: str, accumulator: str, op: str = "mmaf", signs: str = ""
) -> str:
    """y = a · b + c of three inputs."""
    a, b, c = shapes
    types = f"{tile(element, a)}, {tile(element, b)}, {tile(accumulator, c)}"
    body, stored = f"%y = {op} %a, %b, %c {signs} : {types}", element
    if element == "tf32":
        # No memory holds tf32: it is f32 rounded.
        stored = "f32"
        casts = [
            f"%{v} = ftof %{v}f : {tile('f32', s)} -> {tile('tf32', s)}" for v, s in (("a", a), ("b", b))
        ]
        body = "\n  ".join([*casts, body])
    names = ("af", "bf") if element == "tf32" else ("a", "b")
    inputs = {names[0]: (stored, a), names[1]: (stored, b), "c": (accumulator, c)}
    return program(body, inputs, {"y": (accumulator, c)})


def operands(shapes: Sequence[Sequence[int]], element: str, accumulator: str) -> list[Any]:
    """Random a, b, c; tf32 as f32 that are tf32."""
    rng = np.random.default_rng(fresh_seed())
    found = [random("f32" if element == "tf32" else element, s, rng) for s in shapes[:2]]
    if element == "tf32":
        found = [(x.view(np.uint32) & 0xFFFFE000).view(np.float32) for x in found]
    return [*found, random(accumulator, shapes[2], rng)]


def check(shapes: Sequence[Sequence[int]], element: str, accumulator: str, target: str = "sm_80") -> None:
    a, b, c = operands(shapes, element, accumulator)
    text = text_of(shapes, element, accumulator)
    y = run(text, a, b, c, empty(accumulator, shapes[2]), target=target)[-1]
    stored = "f32" if element == "tf32" else element
    left, right = decode(stored, a), decode(stored, b)
    expected = left @ right + decode(accumulator, c)
    # Errors are relative to the sum of the magnitudes of the terms.
    bound = np.abs(left) @ np.abs(right) + np.abs(decode(accumulator, c))
    error = np.abs(decode(accumulator, y) - expected)
    assert np.all(error <= TOLERANCE[accumulator] * bound), f"{(error / bound).max()} for {shapes}"


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("element", "accumulator"), FLOATS, ids=lambda word: word)
def test_floats(shape: tuple[int, int, int], element: str, accumulator: str) -> None:
    check(shapes_of(*shape), element, accumulator)


@pytest.mark.parametrize("target", TARGETS[1:])
@pytest.mark.parametrize(("element", "accumulator"), FLOATS, ids=lambda word: word)
def test_floats_on_other_targets(element: str, accumulator: str, target: str) -> None:
    check(shapes_of(32, 16, 64), element, accumulator, target)


@pytest.mark.parametrize("batch", [2, 8])
@pytest.mark.parametrize(("element", "accumulator"), FLOATS, ids=lambda word: word)
def test_batches(batch: int, element: str, accumulator: str) -> None:
    check(shapes_of(16, 8, 32, [batch]), element, accumulator)


@pytest.mark.parametrize("shape", [(16, 8, 32), (1, 1, 1), (64, 16, 64), (4, 8, 2)], ids=str)
@pytest.mark.parametrize("signs", SIGNS)
def test_integers(shape: tuple[int, int, int], signs: str) -> None:
    shapes = shapes_of(*shape)
    rng = np.random.default_rng(fresh_seed())
    a, b, c = (random(t, s, rng) for t, s in zip(("i8", "i8", "i32"), shapes, strict=True))
    y = run(text_of(shapes, "i8", "i32", "mmai", signs), a, b, c, empty("i32", shapes[2]))[-1]
    wide = [
        x.view(np.int8 if sign == "signed" else np.uint8).astype(np.int64)
        for x, sign in zip((a, b), signs.split(), strict=True)
    ]
    expected = (wide[0] @ wide[1] + c).astype(np.int32)
    np.testing.assert_array_equal(y.view(np.int32), expected)


def test_batches_of_integers() -> None:
    shapes = shapes_of(8, 16, 64, [4])
    rng = np.random.default_rng(fresh_seed())
    a, b, c = (random(t, s, rng) for t, s in zip(("i8", "i8", "i32"), shapes, strict=True))
    text = text_of(shapes, "i8", "i32", "mmai", "signed signed")
    y = run(text, a, b, c, empty("i32", shapes[2]), target="sm_120a")[-1]
    expected = a.view(np.int8).astype(np.int64) @ b.view(np.int8).astype(np.int64) + c
    np.testing.assert_array_equal(y.view(np.int32), expected.astype(np.int32))


@pytest.mark.parametrize("target", ["sm_80", "sm_120a"])
def test_tiles_that_shared_memory_does_not_hold(target: str) -> None:
    """a has 256 KiB: its fragments come from global memory."""
    check(shapes_of(64, 2, 128, [4]), "f64", "f64", target)


@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2"])
def test_every_8_bit_float_is_converted_exactly(element: str) -> None:
    """a · 1 for every code, through the f16 instructions of sm_80; NaN and infinity too."""
    a = np.arange(256, dtype=np.uint8).reshape(16, 16)
    b = encode(element, np.eye(16))
    text = text_of(shapes_of(16, 16, 16), element, "f32")
    zero = encode("f32", np.zeros((16, 16)))
    # One row at a time, so that what is not finite stays in its own row.
    for code in (0, 1, 0x7E, 0x7B, 0x80, 0x83, 0xFB, 0x7C, 0x7F, 0xFF):
        alone = np.zeros((16, 16), np.uint8)
        alone[3, 5] = code
        y = run(text, _as(element, alone), b, zero, empty("f32", (16, 16)))[-1]
        np.testing.assert_array_equal(decode("f32", y)[3, 5], decode(element, _as(element, alone))[3, 5])
    finite = np.where(np.isfinite(decode(element, _as(element, a))), a, 0).astype(np.uint8)
    y = run(text, _as(element, finite), b, zero, empty("f32", (16, 16)))[-1]
    np.testing.assert_array_equal(decode("f32", y), decode(element, _as(element, finite)))


def _as(element: str, codes: Any) -> Any:
    return codes.view(empty(element, (1,)).dtype)


def test_tools_take_every_instruction() -> None:
    texts = [text_of(shapes_of(32, 16, 64), element, accumulator) for element, accumulator in FLOATS]
    check_tools([*texts, text_of(shapes_of(32, 16, 64), "i8", "i32", "mmai", "signed unsigned")], *TARGETS)
