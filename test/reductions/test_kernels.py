"""Row kernels that cuTile Python exported, on rows shorter than the tile and as long, against NumPy in float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from programs import TARGETS, check_tools, compiled, decode, empty, encode, fresh_seed, run

CORPUS = Path(__file__).parents[1] / "corpus"
SOFTMAX = (CORPUS / "softmax_f32_1024.mlir").read_text()
LAYER_NORM = (CORPUS / "layer_norm_bf16_1024.mlir").read_text()


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("target", TARGETS)
def test_softmax_of_ragged_rows(target: str, mode: str):
    rng = np.random.default_rng(fresh_seed())
    rows, columns = 3, int(rng.integers(1, 1025))
    x = (4 * rng.standard_normal((rows, columns))).astype(np.float32)
    y = empty("f32", (rows, columns))
    sizes = (rows, columns, columns, 1)
    _, found = run(SOFTMAX, x, *sizes, y, *sizes, target=target, mode=mode, grid=(rows,))
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    expected = powers / powers.sum(1, keepdims=True)
    np.testing.assert_allclose(found.reshape(rows, columns), expected, rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("target", TARGETS)
def test_layer_norm(target: str, mode: str):
    rng = np.random.default_rng(fresh_seed())
    rows, columns, eps = 3, 1024, np.float32(1e-5)
    x = encode("bf16", 2 * rng.standard_normal((rows, columns)) + 1)
    gain, bias = (encode("bf16", rng.standard_normal(columns)) for _ in range(2))
    sizes = (rows, columns, columns, 1)
    args = [x, *sizes, gain, columns, 1, bias, columns, 1, empty("bf16", (rows, columns)), *sizes, eps]
    *_, found = run(LAYER_NORM, *args, target=target, mode=mode, grid=(rows,))
    numbers, scale, shift = (decode("bf16", a) for a in (x, gain, bias))
    apart = numbers - numbers.mean(1, keepdims=True)
    expected = apart / np.sqrt((apart**2).mean(1, keepdims=True) + eps) * scale + shift
    error = np.abs(decode("bf16", found).reshape(rows, columns) - expected)
    assert (error <= 2.0**-8 * np.abs(expected) + 1e-5).all()


@pytest.mark.parametrize("text", [SOFTMAX, LAYER_NORM], ids=["softmax", "layer_norm"])
def test_a_row_takes_five_shuffles_and_one_exchange_a_reduction(text: str):
    ptx = compiled(text, "sm_90a").ptx
    assert ptx.count("shfl.sync.bfly") == 2 * 5
    assert ptx.count("ld.shared.v4.b32") == 2
    assert ptx.count("st.shared.b32") == 2
    # Each reduction waits between its store and its load; they use different bytes.
    assert ptx.count("bar.sync") == 2


def test_other_tools_take_row_kernels():
    check_tools([SOFTMAX, LAYER_NORM], *TARGETS)
