"""Kernels of cuTile Python: compiled from their own exporter's bytecode, launched on the simulated GPU."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import cuda.tile as ct
import numpy as np
import pytest
from sass_text import disassembled, opcodes_by_line

import tessera_tools as tt

kernel: Any = ct.kernel


@kernel
def scale(x: Any, y: Any, factor: Any, n: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(n,)) * factor)


@kernel
def gemm(a: Any, b: Any, d: Any, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
        x = ct.load(a, index=(i, k), shape=(tm, tk), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, index=(k, j), shape=(tk, tn), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(d, index=(i, j), tile=ct.astype(acc, d.dtype))


@kernel
def wrong(x: Any, n: ct.Constant[int]):
    ct.store(x, index=(0,), tile=ct.load(x, index=(0,), shape=(n,)) + ct.nothing)  # pyright: ignore


WRONG_LINE = wrong._annotated_function.pyfunc.__code__.co_firstlineno + 2


def test_a_kernel_is_launched_as_cutile_launches_it() -> None:
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    tt.launch((4, 1, 1), scale, (x, y, 3.0, 32))
    assert np.array_equal(y, 3 * x)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_a_product_is_right_with_ragged_extents(target: str) -> None:
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((72, 40), (40, 56)))
    d = np.zeros((72, 56), np.float32)
    tt.launch((2, 1), gemm, (a, b, d, 64, 64, 32), target=target)
    assert np.allclose(d, a.astype(np.float64) @ b.astype(np.float64), atol=1e-3)


def test_a_compiled_kernel_shows_the_python_line() -> None:
    x = np.zeros(64, np.float32)
    kernel = tt.compile(scale, "sm_80", args=(x, x.copy(), 2.0, 32))
    assert any(layout.location.startswith(__file__) for layout in kernel.layouts)


def line_of(text: str) -> int:
    lines, first = inspect.getsourcelines(gemm._annotated_function.pyfunc)
    return first + next(number for number, line in enumerate(lines) if text in line)


@pytest.fixture(scope="module")
def compiled_gemm() -> tt.Kernel:
    a, d = np.zeros((64, 64), np.float16), np.zeros((64, 64), np.float32)
    return tt.compile(gemm, "sm_90a", args=(a, a.copy(), d, 64, 64, 32))


def test_the_sass_names_the_python_lines(compiled_gemm: tt.Kernel) -> None:
    at = opcodes_by_line(compiled_gemm.sass)
    assert {file for file, _ in at} == {__file__}
    assert "UTMALDG" in at[__file__, line_of("y = ct.load")]
    assert "HGMMA" in at[__file__, line_of("ct.mma")]
    assert "STG" in at[__file__, line_of("ct.store")]


def test_nvdisasm_finds_the_python_lines_in_the_cubin(compiled_gemm: tt.Kernel, tmp_path: Path) -> None:
    cubin = tmp_path / "gemm.cubin"
    cubin.write_bytes(compiled_gemm.cubin)
    at = opcodes_by_line(disassembled(cubin))
    assert "HGMMA" in at[__file__, line_of("ct.mma")]


def test_without_lineinfo_the_sass_names_no_lines() -> None:
    x = np.zeros(64, np.float32)
    kernel = tt.compile(scale, "sm_80", args=(x, x.copy(), 2.0, 32), lineinfo=False)
    assert not opcodes_by_line(kernel.sass)


def test_an_error_is_at_the_python_line() -> None:
    with pytest.raises(tt.DiagnosticError, match=rf"test_cutile\.py:{WRONG_LINE}:\d+: error: .*nothing"):
        tt.launch(1, wrong, (np.zeros(8, np.float32), 8))


def test_the_arguments_are_counted() -> None:
    with pytest.raises(tt.DiagnosticError, match=r"'scale' takes 4 arguments \(x, y, factor, n\); found 1"):
        tt.launch(1, scale, (np.zeros(8, np.float32),))


def test_an_argument_of_another_kind_is_refused() -> None:
    x = np.zeros(8, np.float32)
    with pytest.raises(tt.DiagnosticError, match="'factor': found a str, expected"):
        tt.launch(1, scale, (x, x, "two", 8))


def test_a_kernel_without_arguments_cannot_be_compiled() -> None:
    with pytest.raises(tt.DiagnosticError, match="expected args="):
        tt.compile(scale, "sm_80")


def test_another_alignment_is_another_kernel() -> None:
    x, y = np.arange(33, dtype=np.float32), np.zeros(33, np.float32)
    for part in (slice(0, 32), slice(1, 33)):
        y[:] = 0
        tt.launch(1, scale, (x[part], y[part], 2.0, 32))
        assert np.array_equal(y[part], 2 * x[part])


def test_a_kernel_without_a_source_file_is_refused() -> None:
    names: dict[str, Any] = {"ct": ct}
    exec("def f(x):\n    ct.store(x, index=(0,), tile=ct.load(x, index=(0,), shape=(8,)))\n", names)
    with pytest.raises(tt.DiagnosticError, match="the source of the cuTile kernel 'f' cannot be read"):
        tt.compile(kernel(names["f"]), args=(np.zeros(8, np.float32),))
