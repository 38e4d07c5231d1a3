"""The interpreter against formulas of NumPy, on the programs of the corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from programs import decode, empty, fresh_seed, random
from reference.interpreter import interpret

from tessera_tools.parser import parse_module

CORPUS = Path(__file__).parents[1] / "corpus"


def corpus(name: str) -> Any:
    """A program of the corpus."""
    return parse_module((CORPUS / f"{name}.mlir").read_text(), f"{name}.mlir")


def strided(array: np.ndarray[Any, Any]) -> list[Any]:
    """What a cuTile array parameter passes: its address, its extents, its strides in elements."""
    strides = [s // array.itemsize for s in array.strides]
    return [array, *map(np.int32, array.shape), *map(np.int32, strides)]


def test_softmax_is_softmax() -> None:
    rng = np.random.default_rng(fresh_seed())
    x = random("f32", (3, 1000), rng)
    y = interpret(corpus("softmax_f32_1024"), [*strided(x), *strided(empty("f32", (3, 1000)))], (3,))[1]
    e = np.exp(x - x.max(1, keepdims=True), dtype=np.float64)
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=2e-6)


def test_attention_is_attention() -> None:
    rng = np.random.default_rng(fresh_seed())
    q, k, v = (random("f16", (2, 128, 64), rng) for _ in range(3))
    o = empty("f16", (2, 128, 64))
    scale = np.log2(np.e) / 8
    args = [a for array in (q, k, v, o) for a in strided(array)] + [np.float32(scale)]
    found = interpret(corpus("attention_causal_f16_d64"), args, (2, 2))[3]
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    s = np.where(np.tri(128, dtype=bool), q @ k.transpose(0, 2, 1) * scale, -np.inf)
    p = np.exp2(s - s.max(-1, keepdims=True))
    expected = p @ v / p.sum(-1, keepdims=True)
    np.testing.assert_allclose(decode("f16", found), expected, atol=4e-3)


def test_layer_norm_is_layer_norm() -> None:
    rng = np.random.default_rng(fresh_seed())
    x, w, b = random("bf16", (4, 1024), rng), random("bf16", (1024,), rng), random("bf16", (1024,), rng)
    y = empty("bf16", (4, 1024))
    args = [a for array in (x, w, b, y) for a in strided(array)] + [np.float32(1e-5)]
    found = decode("bf16", interpret(corpus("layer_norm_bf16_1024"), args, (4,))[3])
    x, w, b = (decode("bf16", a) for a in (x, w, b))
    expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-2)


def test_an_access_outside_the_arrays_is_an_error() -> None:
    text = """entry @k(%p: tile<ptr<f32>>) {
      %i = constant <i32: 4> : tile<i32>
      %q = offset %p, %i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %x, %t = load_ptr_tko weak %q : tile<ptr<f32>> -> tile<f32>, token
      return
    }"""
    try:
        interpret(parse_module(text, "k.mlir"), [np.zeros(4, np.float32)])
    except IndexError as problem:
        assert "4 bytes at offset 16 of a buffer of 16 bytes" in str(problem)
    else:
        raise AssertionError("no error")
