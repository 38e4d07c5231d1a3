"""Kernels of cuTile Python: compiled from their own exporter's bytecode, launched on the simulated GPU."""

from __future__ import annotations

import gc
import inspect
import re
import weakref
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import cuda.tile as ct
import numpy as np
import pytest
from cuda.tile.compilation import ScalarConstraint
from sass_text import disassembled, opcodes_by_line

import tessera_tools as tt
from tessera_tools.api import cutile, jit
from tessera_tools.api.cutile import Arguments, Leaf, _constraint

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
    with pytest.raises(
        tt.DiagnosticError, match="'factor': found a str, expected an array, a list of arrays, a number"
    ):
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


@kernel
def add_pair(pair: Any, y: Any, n: ct.Constant[int]):
    i = ct.bid(0)
    first = ct.load(pair[0], index=(i,), shape=(n,))
    ct.store(y, index=(i,), tile=first + ct.load(pair[1], index=(i,), shape=(n,)))


@kernel
def fixed_rows(x: Annotated[Any, ct.ArrayAnnotation(static_shape_dims=(0,))], y: Any):
    for row in ct.static_iter(range(x.shape[0])):
        ct.store(y, index=(row, 0), tile=2 * ct.load(x, index=(row, 0), shape=(1, 32)))


def test_a_tuple_is_its_items() -> None:
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    tt.launch(2, add_pair, ((x, x), y, 32))
    assert np.array_equal(y, 2 * x)


def test_an_extent_may_be_compiled_in() -> None:
    x, y = np.arange(96, dtype=np.float32).reshape(3, 32), np.zeros((3, 32), np.float32)
    tt.launch(1, fixed_rows, (x, y))
    assert np.array_equal(y, 2 * x)


def test_a_float_of_numpy_is_a_float() -> None:
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    tt.launch(1, scale, (x, y, np.float64(0.5), 32))
    assert np.array_equal(y, x / 2)


def test_arrays_inside_another_share_its_memory() -> None:
    # Only the first two of the three arrays begin next to each other.
    x = np.arange(96, dtype=np.float32)
    found = Arguments(add_pair, ((x, x[:32]), x[64:], 32)).signature().parameters
    pair, y = found[0].items, found[1]
    assert set(pair[0].alias_groups) & set(pair[1].alias_groups)
    assert set(pair[0].alias_groups) & set(y.alias_groups)
    assert not set(pair[1].alias_groups) & set(y.alias_groups)


@pytest.fixture(scope="module")
def compiled_scale() -> tt.Kernel:
    x, y = np.zeros(64, np.float32), np.zeros(64, np.float32)
    return tt.compile(scale, "sm_80", args=(x, y, 2.0, 32))


def test_the_parameters_have_the_names_of_the_function(compiled_scale: tt.Kernel) -> None:
    names = [parameter.name for parameter in compiled_scale.signature.wanted]
    assert names == ["x", "x_shape0", "x_stride0", "y", "y_shape0", "y_stride0", "factor"]


def test_the_report_has_the_names_of_the_function(compiled_scale: tt.Kernel, tmp_path: Path) -> None:
    compiled_scale.report(tmp_path / "scale.html")
    assert "%x_shape0" in (tmp_path / "scale.html").read_text()


def test_a_compiled_kernel_takes_other_arrays_and_numbers(compiled_scale: tt.Kernel) -> None:
    x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    compiled_scale[4](x, y, 3.0)
    assert np.array_equal(y, 3 * x)
    compiled_scale[4](x, y, 4.0, 32)  # the constants may be given, as cuTile gives them
    assert np.array_equal(y, 4 * x)


class Order(IntEnum):
    SECOND = 1


vector = np.zeros(64, np.float32)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((vector, vector.copy(), 2.0, 16), "'scale' was compiled for n = 32; found 16"),
        (
            (vector[:63], vector.copy(), 2.0),
            "'x': extents in dimension 0 that are multiples of 4; found 63",
        ),
        ((vector[::2], vector.copy(), 2.0), "'x': stride 1 in dimension 0; found 2"),
        ((vector[1:61], vector.copy(), 2.0), "'x': an address that is a multiple of 16 bytes"),
        ((vector, vector, 2.0), "separate arrays; found memory that 'x' and 'y' share"),
        ((vector.astype(np.int32), vector, 2.0), "'x': arrays of float32 with 1 dimensions; found int32"),
        (
            (vector.reshape(8, 8), vector, 2.0),
            "'x': arrays of float32 with 1 dimensions; found float32, (8, 8)",
        ),
        ((vector, 1.0, 2.0), "an array for 'y'"),
        ((vector, [vector.copy()], 2.0), "an array for 'y'"),
        ((vector, vector.copy(), [vector]), "a number for 'factor'"),
        ((vector, vector), "takes 4 arguments (x, y, factor, n), or 3 without the constants; found 2"),
    ],
)
def test_a_compiled_kernel_refuses_what_it_was_not_compiled_for(
    compiled_scale: tt.Kernel, args: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(tt.DiagnosticError, match=re.escape(message)):
        compiled_scale[2](*args)


@kernel
def multiply(x: Any, n: ct.Constant[int], factor: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(x, index=(i,), tile=ct.load(x, index=(i,), shape=(n,)) * factor)


def test_constants_are_not_taken_for_an_extent_and_a_stride() -> None:
    """An array and two constants are as many arguments as its pointer, its extent and its stride."""
    x = np.arange(64, dtype=np.float32)
    tt.launch(4, multiply, (x, 16, 3))
    assert np.array_equal(x, 3 * np.arange(64))
    with pytest.raises(tt.DiagnosticError, match="compiled for n = 16; found 64"):
        tt.compile(multiply, "sm_80", args=(x, 16, 3))[4](x, 64, 1)


@kernel
def multiply_by_tuple(x: Any, y: Any, numbers: tuple[ct.Constant[int], ct.Constant[int]]):
    tile = ct.load(x, index=(0,), shape=(numbers[0],)) * numbers[1]
    ct.store(y, index=(0,), tile=tile)


def test_other_arrays_and_numbers_of_the_same_kind_are_not_compiled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[object] = []
    monkeypatch.setattr(jit, "_compiled", {})
    monkeypatch.setattr(jit, "compile", lambda *a, **b: compiled.append(a) or tt.compile(*a, **b))
    kept: list[np.ndarray[Any, Any]] = []
    for length, factor in ((64, 2.0), (32, 3.0), (64, 4.0)):
        x, y = np.arange(length, dtype=np.float32), np.zeros(length, np.float32)
        kept += [x, y]  # so that each array has an address of its own
        tt.launch(length // 32, scale, (x, y, factor, 32))
        assert np.array_equal(y, factor * x)
    assert len(compiled) == 1
    tt.launch(2, scale, (x, x, 2.0, 32))  # arrays that share memory
    tt.launch(2, scale, (x, y, 2, 32))
    assert len(compiled) == 3


@kernel
def attend(
    q: Any, k: Any, v: Any, o: Any, rows: ct.Constant[int], keys: ct.Constant[int], depth: ct.Constant[int]
):
    """Without the softmax: (q kᵀ) v."""
    i = ct.bid(0)
    acc = ct.full((rows, depth), 0, dtype=ct.float32)
    mine = ct.load(q, index=(i, 0), shape=(rows, depth))
    for j in range(ct.num_tiles(k, axis=0, shape=(keys, depth))):
        key = ct.load(k, index=(j, 0), shape=(keys, depth))
        scores = ct.mma(mine, ct.transpose(key), ct.full((rows, keys), 0, dtype=ct.float32))
        value = ct.load(v, index=(j, 0), shape=(keys, depth))
        acc = ct.mma(ct.astype(scores, value.dtype), value, acc)
    ct.store(o, index=(i, 0), tile=acc)


def attended(*, must_alias: bool, target: str = "sm_90a") -> tuple[tt.Kernel, list[np.ndarray[Any, Any]]]:
    q, k = (np.ones((extent, 64), np.float16) for extent in (64, 256))
    o = np.zeros((64, 64), np.float32)
    return tt.compile(attend, target, args=(q, k, k, o, 64, 64, 64), must_alias=must_alias), [q, k, k, o]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
def test_an_array_that_must_alias_is_read_once(target: str) -> None:
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}")
    kernel, (q, k, v, o) = attended(must_alias=True, target=target)
    for array in (q, k):
        array[:] = np.random.default_rng(seed).standard_normal(array.shape)
    assert not kernel[1](q, k, v, o).findings
    exact = (q.astype(np.float64) @ k.astype(np.float64).T) @ v.astype(np.float64)
    assert np.allclose(o, exact, atol=2e-3 * np.abs(exact).max())
    if target != "sm_80":
        assert any("reads the tile in the stage of the product" in str(remark) for remark in kernel.remarks)


def test_arrays_that_are_passed_twice_may_differ_later() -> None:
    kernel, (q, k, _, o) = attended(must_alias=False)
    assert not any("in the stage of the product" in str(remark) for remark in kernel.remarks)
    kernel[1](q, k, 2 * k, o)
    assert np.all(o == 64 * 256 * 2)


def test_a_kernel_for_one_array_refuses_two() -> None:
    kernel, (q, k, _, o) = attended(must_alias=True)
    with pytest.raises(tt.DiagnosticError, match="was compiled for one array as 'k' and 'v'; found two"):
        kernel[1](q, k, k.copy(), o)
    with pytest.raises(tt.DiagnosticError, match="was compiled for one array as 'k' and 'v'; found two"):
        kernel[1](q, k, k[:128], o)


def test_only_a_kernel_of_cutile_has_arrays_that_must_alias() -> None:
    with pytest.raises(
        tt.DiagnosticError, match="must_alias= is for cuTile kernels; found examples/vector_add.mlir"
    ):
        tt.compile("examples/vector_add.mlir", "sm_80", must_alias=True)


def test_arrays_are_one_only_if_the_same_is_known_of_both() -> None:
    x = np.zeros((4, 4), np.float32)
    same = Arguments(add_pair, ((x[0], x[0]), x[0], 32), must_alias=True).parameters
    assert same.equal == {3: 0, 4: 1, 5: 2, 6: 0, 7: 1, 8: 2}
    assert not Arguments(add_pair, ((x[0], x[0, :3]), x[1], 32), must_alias=True).parameters.equal
    assert not Arguments(add_pair, ((x[0], x[:, 0]), x[1], 32), must_alias=True).parameters.equal
    assert not Arguments(add_pair, ((x[0], x[0].view(np.int32)), x[1], 32), must_alias=True).parameters.equal


def test_a_launch_tells_which_arrays_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_compiled", {})
    _, (q, k, v, o) = attended(must_alias=False)
    for value in (v, 2 * k, v):
        tt.launch(1, attend, (q, k, value, o, 64, 64, 64))
        assert np.all(o == 64 * 256 * value[0, 0])
    assert len(jit._compiled) == 2


def test_a_compiled_kernel_does_not_keep_the_arrays() -> None:
    x, y = np.zeros(32, np.float32), np.zeros(32, np.float32)
    compiled, gone = tt.compile(scale, "sm_80", args=(x, y, 2.0, 32)), weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None and compiled.name == "scale"


def test_a_tuple_of_constants_need_not_be_given() -> None:
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    tt.compile(multiply_by_tuple, "sm_80", args=(x, y, (32, 3)))[1](x, y)
    assert np.array_equal(y, 3 * x)


@kernel
def copy_square(x: Any, y: Any):
    ct.store(y, index=(0, 0), tile=ct.load(x, index=(0, 0), shape=(4, 4)))


def test_arrays_with_repeated_elements_are_refused_unless_compiled_for() -> None:
    x, y = np.arange(16, dtype=np.float32).reshape(4, 4), np.zeros((4, 4), np.float32)
    rows = np.broadcast_to(x[0], (4, 4))
    with pytest.raises(
        tt.DiagnosticError, match=r"'x': elements with addresses of their own; found .*\(0, 1\)"
    ):
        tt.compile(copy_square, "sm_80", args=(x, y))[1](rows, y)
    tt.compile(copy_square, "sm_80", args=(rows, y))[1](rows, y)
    assert np.array_equal(y, rows)


def test_tuples_of_another_length_are_refused() -> None:
    x, y = np.zeros(32, np.float32), np.zeros(32, np.float32)
    compiled = tt.compile(add_pair, "sm_80", args=((x, x), y, 32))
    with pytest.raises(tt.DiagnosticError, match="tuples of the same lengths"):
        compiled[1]((x, x, x), y)
    with pytest.raises(
        tt.DiagnosticError, match="^error: 'numbers': found a tuple of 3, and its annotation has 2 items$"
    ):
        tt.compile(multiply_by_tuple, "sm_80", args=(x, y, (1, 2, 3)))


def test_a_constant_that_cutile_does_not_have_is_refused() -> None:
    x = np.zeros(32, np.float32)
    with pytest.raises(
        tt.DiagnosticError, match=r"^error: the arguments of the cuTile kernel 'scale': .*'many'"
    ):
        tt.compile(scale, "sm_80", args=(x, x, 2.0, "many"))


def test_an_element_type_that_cutile_does_not_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a release of cuda-tile that is older than the type."""
    monkeypatch.delattr(ct, "float64")
    x = np.zeros(32)
    with pytest.raises(tt.DiagnosticError, match="^error: 'x': cuTile has no element type 'float64'$"):
        tt.compile(scale, "sm_80", args=(x, x, 2.0, 32))


def test_a_release_without_a_common_version_of_bytecode_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutile, "VERSIONS", ())
    x = np.zeros(32, np.float32)
    with pytest.raises(
        tt.DiagnosticError, match="this release of cuda-tile writes no bytecode version that is supported"
    ):
        tt.compile(scale, "sm_80", args=(x, x, 2.0, 32))


@pytest.mark.parametrize("number", [np.bool_(True), True, Order.SECOND, np.int64(1)])
def test_numbers_of_other_kinds_are_numbers(number: Any) -> None:
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    tt.launch(1, scale, (x, y, number, 32))
    assert np.array_equal(y, x)


def test_a_number_that_does_not_fit_is_refused() -> None:
    x, y = np.zeros(32, np.float32), np.zeros(32, np.float32)
    with pytest.raises(tt.DiagnosticError, match="^error: 'factor': 9223372036854775808 does not fit i64$"):
        tt.launch(1, scale, (x, y, 1 << 63, 32))
    compiled = tt.compile(scale, "sm_80", args=(x, y, 3, 32))
    with pytest.raises(
        tt.DiagnosticError, match="'scale' was compiled for 'factor' of 32 bits; found 2147483648"
    ):
        compiled[1](x, y, 1 << 31)


def test_an_annotation_of_another_kind_is_refused() -> None:
    with pytest.raises(
        tt.DiagnosticError, match="^error: the arguments of the cuTile kernel 'fixed_rows': .*parameter 'x'"
    ):
        tt.launch(1, fixed_rows, (3, np.zeros((3, 32), np.float32)))
    with pytest.raises(
        tt.DiagnosticError, match="'fixed_rows': .*'x': Axis 0 .* is out of range for an array of rank 0"
    ):
        tt.launch(1, fixed_rows, (np.zeros((), np.float32), np.zeros((3, 32), np.float32)))


@dataclass(frozen=True)
class Factor:
    value: float


def test_dataclasses_are_refused() -> None:
    x, y = np.zeros(32, np.float32), np.zeros(32, np.float32)
    with pytest.raises(
        tt.DiagnosticError,
        match="'factor': found the dataclass Factor, and this release of cuda-tile takes none\nnote: pass a tuple",
    ):
        tt.launch(1, scale, (x, y, Factor(2.0), 32))
    with pytest.raises(tt.DiagnosticError, match="the arguments of the cuTile kernel 'scale': DataclassC"):
        tt.launch(1, scale, (x, y, 2.0, Factor(2.0)))


def test_a_launch_needs_a_grid(compiled_scale: tt.Kernel) -> None:
    with pytest.raises(TypeError, match=r"a launch of 'scale' needs a grid; expected kernel\[grid\]"):
        compiled_scale(vector, vector, 2.0)


@pytest.mark.parametrize(
    ("number", "annotation", "bits"),
    [
        ((1 << 31) - 1, object(), 32),
        (1 << 31, object(), 64),
        (-(1 << 31), object(), 32),
        (-(1 << 31) - 1, object(), 64),
        (3, SimpleNamespace(scalar=ct.int64), 64),
    ],
)
def test_an_integer_has_32_bits_if_they_are_enough_and_no_more_are_annotated(
    number: int, annotation: object, bits: int
) -> None:
    found = _constraint(Leaf("n", annotation, number), None, ())
    assert found == ScalarConstraint(ct.int64 if bits == 64 else ct.int32)
