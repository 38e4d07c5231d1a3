"""A kernel of the DSL as an input of the compiler: its stages, locations, remarks and facts."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sass_text import disassembled, opcodes_by_line

import tessera_tools as tt
from tessera_tools.dsl import (
    arange,
    array,
    constexpr,
    f16,
    f32,
    i32,
    kernel,
    load,
    make_partition_view,
    program_id,
    ptr,
    store,
    zeros,
)


@kernel
def product(A: array[f16, 2], B: array[f16, 2], D: array[f32, 2]):
    i, j = program_id(0), program_id(1)
    a, b = make_partition_view(A, tile=(64, 64)), make_partition_view(B, tile=(64, 64))
    acc = zeros((64, 64), f32)
    for k in range(4):
        acc += load(a, (i, k)) @ load(b, (k, j))
    store(make_partition_view(D, tile=(64, 64)), (i, j), acc)


@pytest.fixture(scope="module")
def arrays() -> list[Any]:
    rng = np.random.default_rng(1)
    return [
        *(rng.standard_normal((64, 256)).astype(np.float16) for _ in range(2)),
        np.zeros((64, 64), np.float32),
    ]


@pytest.fixture(scope="module")
def compiled(arrays: list[Any]) -> tt.Kernel:
    a, b, d = arrays
    return tt.compile(product, "sm_90a", args=(a, np.ascontiguousarray(b.reshape(256, 64)), d))


def line_of(text: str) -> int:
    lines, first = inspect.getsourcelines(product.function)
    return first + next(number for number, line in enumerate(lines) if text in line)


def test_the_sass_names_the_python_lines(compiled: tt.Kernel, tmp_path: Path) -> None:
    at = opcodes_by_line(compiled.sass)
    assert {file for file, _ in at} == {__file__}
    assert "HGMMA" in at[__file__, line_of("acc +=")]
    cubin = tmp_path / "product.cubin"
    cubin.write_bytes(compiled.cubin)
    assert "HGMMA" in opcodes_by_line(disassembled(cubin))[__file__, line_of("acc +=")]


def test_remarks_and_layouts_are_at_the_python_lines(compiled: tt.Kernel) -> None:
    places = {
        remark.location.start()[:2]
        for remark in compiled.remarks
        if remark.location and remark.location.start()
    }  # type: ignore[index]
    assert (__file__, line_of("acc += load")) in places
    assert all(layout.location.startswith(f"{__file__}:") for layout in compiled.layouts)


def test_line_info_is_of_the_python_file(compiled: tt.Kernel) -> None:
    assert f'"{__file__}"' in compiled.ptx
    assert f".loc\t1 {line_of('acc += load')} " in compiled.ptx


def test_the_module_is_the_text_that_the_compiler_reads(compiled: tt.Kernel) -> None:
    module, file = product.__tessera_module__()
    assert file == __file__
    text = tt.to_text(module)
    assert tt.to_text(tt.parse(text)) == text
    assert (
        "entry @product(%A: tile<ptr<f16>>, %A_dim0: tile<i32>, %A_dim1: tile<i32>, %A_stride0: tile<i32>"
        in text
    )


def test_a_launch_compiles_in_what_its_arguments_guarantee(compiled: tt.Kernel) -> None:
    assert "assume div_by<16>" in str(compiled.stages["cuda_tile"])
    assert "wgmma.mma_async" in compiled.ptx
    assert "cp.async.bulk.tensor" in compiled.ptx
    plain = tt.to_text(product.__tessera_module__()[0])
    assert "div_by" not in plain


@kernel
def stated(x: ptr[f32].aligned(16), y: array[f32, 2].aligned(16), n: i32.multiple_of(8)):  # type: ignore[valid-type]
    store(x + arange(4), load(y.pointer + n + arange(4)))


def test_annotations_state_what_the_caller_guarantees() -> None:
    text = tt.to_text(stated.__tessera_module__()[0])
    assert text.count("assume div_by<16>") == 2
    assert text.count("assume div_by<4>") == 2  # a row and the last extent, in elements
    assert text.count("assume div_by<8>") == 1


def test_one_version_is_compiled_for_each_signature(arrays: list[Any]) -> None:
    @kernel
    def fill(x: ptr[f32], value: f32, n: i32):
        place = arange(16)
        store(x + place, value, mask=place < n)

    x = np.zeros(16, np.float32)
    for value, n in ((1.0, 3), (2.5, 5)):
        fill[1](x, value, n)
        assert x[: n + 1].tolist() == [*[value] * n, 0.0]
        x[:] = 0
    assert len(fill._compiled) == 1
    fill[1](x, 1.0, 16)
    assert len(fill._compiled) == 2


@kernel
def quotient(x: ptr[f32], by: constexpr):
    store(x, load(x) / by)


def test_constants_that_are_equal_but_not_the_same_are_compiled_apart() -> None:
    x = np.ones(1, np.float32)
    quotient[1](x, 0.0)
    assert x[0] == np.inf
    x[0] = 1
    quotient[1](x, -0.0)
    assert x[0] == -np.inf
    quotient[1](x, 1), quotient[1](x, 1.0), quotient[1](x, True)
    assert len(quotient._compiled) == 5


@kernel
def windows(x: array[f32, 2], y: array[f32, 2]):
    tile = load(make_partition_view(x, tile=(16, 16)), (0, 0))
    store(make_partition_view(y, tile=(16, 16)), (0, 0), tile)


def test_rows_that_overlap_are_not_taken_for_aligned_ones() -> None:
    x = np.lib.stride_tricks.sliding_window_view(np.arange(31, dtype=np.float32), 16)
    y = np.zeros((16, 16), np.float32)
    windows[1](x, y)
    assert np.array_equal(x, y)


@kernel
def formatted(x: ptr[f32]):
    print(f"{3.14159:.2f} {'a'!r}")


def test_text_is_formatted_as_in_python() -> None:
    assert formatted[1](np.zeros(1, np.float32)).output == "3.14 'a'\n"


def test_an_access_out_of_bounds_is_found_at_the_python_line() -> None:
    @kernel
    def beyond(x: ptr[f32]):
        store(x + arange(16), 1.0)

    with pytest.raises(tt.FindingsError) as found:
        beyond[1](np.zeros(8, np.float32))
    assert __file__ in str(found.value)


@kernel
def scale(x: ptr[f32], factor: f32, n: constexpr = 32):
    place = x + arange(n)
    store(place, load(place) * factor)


def test_a_kernel_that_was_compiled_before_comes_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tessera_tools.emit import driver

    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path))
    monkeypatch.delenv("TESSERA_CACHE_LIMIT", raising=False)
    first = tt.compile(scale, "sm_80")
    monkeypatch.setattr(driver, "compile_module", lambda *_, **__: pytest.fail("compiled again"))
    again = tt.compile(scale, "sm_80")
    assert (again.ptx, again.stages["nv_tileas"]) == (first.ptx, first.stages["nv_tileas"])
    with pytest.raises(pytest.fail.Exception):
        tt.compile(scale.bind(n=64), "sm_80")
