"""What rearranges tiles, over random shapes, element types and targets, against NumPy on the simulated GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import TARGETS, Array, check_tools, empty, fresh_seed, program, random, run, tile

ELEMENTS = ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")


def random_shape(
    rng: np.random.Generator, most_bits: int = 10, ranks: tuple[int, int] = (1, 5)
) -> tuple[int, ...]:
    """A tile shape of up to 2**most_bits elements."""
    rank = int(rng.integers(ranks[0], ranks[1] + 1))
    cuts = np.sort(rng.integers(0, int(rng.integers(0, most_bits + 1)) + 1, rank - 1))
    bits = np.diff([0, *cuts, cuts[-1] if rank > 1 else int(rng.integers(0, most_bits + 1))])
    return tuple(1 << int(b) for b in rng.permutation(bits))


def check(
    body: str,
    arrays: dict[str, tuple[str, Array]],
    expected: Array,
    element: str,
    target: str,
    **options: Any,
) -> None:
    """Run `body`, which makes %y from the named tiles, and compare bit by bit."""
    inputs = {name: (kind, array.shape) for name, (kind, array) in arrays.items()}
    text = program(body, inputs, {"y": (element, expected.shape)}, options.pop("scalars", {}))
    result = run(
        text,
        *(array for _, array in arrays.values()),
        empty(element, expected.shape),
        *options.pop("args", ()),
        target=target,
    )[-1]
    np.testing.assert_array_equal(result.view(np.uint8), np.ascontiguousarray(expected).view(np.uint8))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", ELEMENTS)
def test_permute(element: str, target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    shape = random_shape(rng, ranks=(2, 5))
    order = [int(i) for i in rng.permutation(len(shape))]
    x = random(element, shape, rng)
    y = np.transpose(x, order)
    body = f"%y = permute %x {order} : {tile(element, shape)} -> {tile(element, y.shape)}"
    check(body, {"x": (element, x)}, y, element, target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", ELEMENTS)
def test_reshape(element: str, target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    shape = random_shape(rng)
    x = random(element, shape, rng)
    bits = x.size.bit_length() - 1
    new = [1] * int(rng.integers(1, 6))
    for _ in range(bits):
        new[int(rng.integers(len(new)))] *= 2
    y = x.reshape(new)
    body = f"%y = reshape %x : {tile(element, shape)} -> {tile(element, new)}"
    check(body, {"x": (element, x)}, y, element, target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", ELEMENTS)
def test_broadcast(element: str, target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    full = random_shape(rng)
    shape = tuple(1 if rng.integers(2) else n for n in full)
    x = random(element, shape, rng)
    body = f"%y = broadcast %x : {tile(element, shape)} -> {tile(element, full)}"
    check(body, {"x": (element, x)}, np.broadcast_to(x, full), element, target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", ELEMENTS)
def test_cat(element: str, target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    shape = random_shape(rng, 9)
    axis = int(rng.integers(len(shape)))
    a, b = random(element, shape, rng), random(element, shape, rng)
    y = np.concatenate([a, b], axis)
    half = tile(element, shape)
    body = f"%y = cat %a, %b dim = {axis} : {half}, {half} -> {tile(element, y.shape)}"
    check(body, {"a": (element, a), "b": (element, b)}, y, element, target)


def random_part(
    rng: np.random.Generator, whole: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[slice, ...]]:
    """A part of a tile: its shape, its index counted in parts, and where it lies."""
    part = tuple(n >> int(rng.integers(0, n.bit_length())) for n in whole)
    index = tuple(int(rng.integers(0, n // m)) for n, m in zip(whole, part, strict=True))
    return part, index, tuple(slice(i * m, (i + 1) * m) for i, m in zip(index, part, strict=True))


@pytest.mark.parametrize("known", [True, False], ids=["constant", "dynamic"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", ["i1", "i16", "f32", "f64"])
def test_extract(element: str, target: str, known: bool) -> None:
    rng = np.random.default_rng(fresh_seed())
    shape = random_shape(rng, 8, (1, 3))
    part, index, where = random_part(rng, shape)
    x = random(element, shape, rng)
    names = [f"%i{axis}" for axis in range(len(shape))]
    constants = "\n  ".join(
        f"{n} = constant <i32: {i}> : tile<i32>" for n, i in zip(names, index, strict=True) if known
    )
    body = f"{constants}\n  %y = extract %x[{', '.join(names)}] : {tile(element, shape)} -> {tile(element, part)}"
    scalars = {} if known else {n[1:]: "i32" for n in names}
    args = () if known else tuple(np.int32(i) for i in index)
    check(body, {"x": (element, x)}, x[where], element, target, scalars=scalars, args=args)


def test_iota_counts() -> None:
    rng = np.random.default_rng(fresh_seed())
    for element, size in (("i8", 64), ("i16", 512), ("i32", 1), ("i32", 2048), ("i64", 32)):
        text = program(f"%y = iota : {tile(element, (size,))}", {}, {"y": (element, (size,))})
        [y] = run(text, empty(element, (size,)), target=str(rng.choice(TARGETS)))
        np.testing.assert_array_equal(y, np.arange(size, dtype=y.dtype))


def test_chain_of_rearrangements_is_taken_by_the_tools() -> None:
    text = program(
        """%r = reshape %x : tile<64x32xf16> -> tile<8x8x32xf16>
  %p = permute %r [2, 0, 1] : tile<8x8x32xf16> -> tile<32x8x8xf16>
  %s = reshape %p : tile<32x8x8xf16> -> tile<1x2048xf16>
  %b = broadcast %s : tile<1x2048xf16> -> tile<2x2048xf16>
  %y = reshape %b : tile<2x2048xf16> -> tile<4096xf16>""",
        {"x": ("f16", (64, 32))},
        {"y": ("f16", (4096,))},
    )
    check_tools(text, *TARGETS)
    rng = np.random.default_rng(fresh_seed())
    x = random("f16", (64, 32), rng)
    y = run(text, x, empty("f16", (4096,)))[-1]
    np.testing.assert_array_equal(y, np.tile(x.reshape(8, 8, 32).transpose(2, 0, 1).ravel(), 2))
