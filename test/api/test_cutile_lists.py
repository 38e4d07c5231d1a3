"""Lists of arrays as arguments of cuTile kernels: the table, what is compiled in, shared memory, refusals."""

from __future__ import annotations

import re
from typing import Annotated, Any

import cuda.tile as ct
import numpy as np
import pytest
from api.test_launching import OnGpu, TorchTensor
from runtime.fake_driver import FakeDriver
from runtime.test_cuda import install

import tessera_tools as tt
from tessera_tools.api import jit
from tessera_tools.api.cutile import Arguments

kernel: Any = ct.kernel


@kernel
def add_all(xs: Any, y: Any, n: ct.Constant[int]):
    i = ct.bid(0)
    total = ct.full((n,), 0, dtype=ct.float32)
    for number in range(len(xs)):
        total += ct.load(xs[number], index=(i,), shape=(n,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, index=(i,), tile=total)


@kernel
def double(xs: Any, ys: Any, n: ct.Constant[int]):
    i, number = ct.bid(0), ct.bid(1)
    ct.store(ys[number], index=(i,), tile=2 * ct.load(xs[number], index=(i,), shape=(n,)))


@kernel
def pass_on(xs: Any, n: ct.Constant[int]):
    """Each array is the one before it, plus 1."""
    for number in range(len(xs) - 1):
        tile = ct.load(xs[number], index=(0,), shape=(n,)) + 1
        ct.store(xs[number + 1], index=(0,), tile=tile)


@kernel
def grouped(xs: Any, ys: Any, zs: Any, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """A product for each group; the tiles of all groups are dealt to the tile blocks in turn."""
    tile, first = ct.bid(0), 0
    for group in range(len(xs)):
        x, y, z = xs[group], ys[group], zs[group]
        columns = ct.num_tiles(z, axis=1, shape=(tm, tn))
        end = first + ct.num_tiles(z, axis=0, shape=(tm, tn)) * columns
        while tile >= first and tile < end:
            i, j = (tile - first) // columns, (tile - first) % columns
            acc = ct.full((tm, tn), 0, dtype=ct.float32)
            for k in range(ct.num_tiles(x, axis=1, shape=(tm, tk))):
                left = ct.load(x, index=(i, k), shape=(tm, tk), padding_mode=ct.PaddingMode.ZERO)
                right = ct.load(y, index=(k, j), shape=(tk, tn), padding_mode=ct.PaddingMode.ZERO)
                acc = ct.mma(left, right, acc)
            ct.store(z, index=(i, j), tile=acc)
            tile += ct.num_blocks(0)
        first = end


def random_arrays(*shapes: tuple[int, ...], dtype: Any = np.float32) -> list[Any]:
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_a_grouped_product_is_right(target: str) -> None:
    sizes = ((72, 56, 40), (33, 64, 16), (8, 20, 32))
    xs = random_arrays(*((m, k) for m, _, k in sizes), dtype=np.float16)
    ys = random_arrays(*((k, n) for _, n, k in sizes), dtype=np.float16)
    for count in (3, 2):
        zs = [np.zeros((m, n), np.float32) for m, n, _ in sizes[:count]]
        result = tt.launch((3,), grouped, (xs[:count], ys[:count], zs, 32, 32, 16), target=target)
        assert not result.findings
        for x, y, z in zip(xs, ys, zs, strict=False):
            assert np.allclose(z, x.astype(np.float64) @ y.astype(np.float64), atol=1e-3)


@pytest.mark.parametrize(
    ("target", "instruction"),
    [("sm_90a", "wgmma.mma_async"), ("sm_100a", "tcgen05.mma"), ("sm_120a", "mma.sync")],
)
def test_a_grouped_product_has_the_tensor_cores_of_the_target(target: str, instruction: str) -> None:
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    sizes = [[int(n) for n in rng.integers(1, 24, 3) * 8] for _ in range(3)]
    xs = random_arrays(*((m, k) for m, _, k in sizes), dtype=np.float16)
    ys = random_arrays(*((k, n) for _, n, k in sizes), dtype=np.float16)
    zs = [np.full((m, n), np.nan, np.float32) for m, n, _ in sizes]
    kernel = tt.compile(grouped, target, args=(xs, ys, zs, 64, 64, 64))
    assert instruction in kernel.ptx
    assert not kernel[3](xs, ys, zs).findings
    for x, y, z in zip(xs, ys, zs, strict=True):
        assert np.allclose(z, x.astype(np.float64) @ y.astype(np.float64), atol=1e-3)


def test_all_arrays_are_copied_back() -> None:
    xs = random_arrays((64,), (64,), (64,))
    ys = [np.zeros_like(x) for x in xs]
    tt.launch((2, 3), double, (xs, ys, 32))
    assert all(np.array_equal(y, 2 * x) for x, y in zip(xs, ys, strict=True))


def test_an_array_may_be_in_a_list_twice_and_an_argument_too() -> None:
    x = np.arange(32, dtype=np.float32)
    tt.launch(1, add_all, ([x, x, x], x, 32))
    assert np.array_equal(x, 3 * np.arange(32))


def test_an_array_without_elements_may_be_in_a_list() -> None:
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    tt.launch(1, add_all, ([x, np.zeros(0, np.float32), x], y, 32))
    assert np.array_equal(y, 2 * x)


def test_arrays_of_one_element_have_a_row_of_one_extent_and_one_stride() -> None:
    xs = [np.ones(1, np.float32) for _ in range(5)]
    y = np.zeros(1, np.float32)
    tt.launch(1, add_all, (xs, y, 1))
    assert y[0] == 5


@kernel
def add_nested(pair: Any, y: Any, n: ct.Constant[int]):
    tile = ct.load(pair[0], index=(0,), shape=(n,))
    for number in range(len(pair[1])):
        tile += ct.load(pair[1][number], index=(0,), shape=(n,)) * pair[2]
    ct.store(y, index=(0,), tile=tile)


def test_a_list_may_be_in_a_tuple() -> None:
    x, *xs = random_arrays((32,), (32,), (32,))
    y = np.zeros(32, np.float32)
    args = ((x, xs, 2.0), y, 32)
    tt.launch(1, add_nested, args)
    assert np.allclose(y, x + 2 * xs[0] + 2 * xs[1], atol=1e-6)
    names = [parameter.name for parameter in tt.compile(add_nested, "sm_80", args=args).signature.wanted]
    assert names == [
        "pair_0", "pair_0_shape0", "pair_0_stride0", "pair_1", "pair_1_length", "pair_2",
        "y", "y_shape0", "y_stride0",
    ]  # fmt: skip


@kernel
def add_wide(
    xs: Annotated[Any, ct.ListAnnotation(element=ct.IndexedWithInt64[Any])], y: Any, n: ct.Constant[int]
):
    for number in range(len(xs)):
        ct.store(y, index=(number,), tile=ct.load(xs[number], index=(0,), shape=(n,)))


def test_extents_of_64_bits_are_read_from_the_table() -> None:
    xs, y = random_arrays((32,), (32,)), np.zeros(64, np.float32)
    tt.launch(1, add_wide, (xs, y, 32))
    assert np.array_equal(y, np.concatenate(xs))
    [list_, _, _] = Arguments(add_wide, (xs, y, 32)).signature().parameters
    assert list_.element.index_dtype == ct.int64


@kernel
def add_rows(
    xs: Annotated[Any, ct.ListAnnotation(element=ct.ArrayAnnotation(static_shape_dims=(0,)))], y: Any
):
    for number in range(len(xs)):
        x = xs[number]
        for row in ct.static_iter(range(x.shape[0])):
            tile = ct.load(y, index=(row, 0), shape=(1, 32))
            ct.store(y, index=(row, 0), tile=tile + ct.load(x, index=(row, 0), shape=(1, 32)))


def test_an_extent_of_all_arrays_may_be_compiled_in() -> None:
    xs, y = random_arrays((3, 32), (3, 32)), np.zeros((3, 32), np.float32)
    tt.launch(1, add_rows, (xs, y))
    assert np.allclose(y, xs[0] + xs[1], atol=1e-6)
    compiled = tt.compile(add_rows, "sm_80", args=(xs, y))
    with pytest.raises(tt.DiagnosticError, match=r"'xs\[1\]': extent 3 in dimension 0; found 2"):
        compiled[1]([xs[0], xs[1][:2]], y)


def test_an_extent_that_is_compiled_in_is_the_same_for_all() -> None:
    xs, y = random_arrays((3, 32), (2, 32)), np.zeros((3, 32), np.float32)
    with pytest.raises(
        tt.DiagnosticError,
        match=r"^error: 'xs\[1\]': found extent 2 in dimension 0, expected 3, as 'xs\[0\]' has: the annotation",
    ):
        tt.launch(1, add_rows, (xs, y))


# What is compiled in.


def element(xs: list[Any]) -> Any:
    return Arguments(double, (xs, [np.zeros(32, np.float32)], 32)).signature().parameters[0].element


def test_what_is_compiled_in_holds_for_all_arrays() -> None:
    memory = np.zeros(256, np.float32)
    start = -memory.ctypes.data // 4 % 4
    aligned, other = memory[start : start + 32], memory[start + 65 : start + 98]
    found = element([aligned, aligned])
    assert (found.base_addr_divisible_by, found.shape_divisible_by) == (16, (4,))
    found = element([aligned, other])
    assert (found.base_addr_divisible_by, found.shape_divisible_by) == (4, (1,))
    assert found.stride_constant == (1,)
    found = element([aligned, aligned[::2]])
    assert (found.stride_constant, found.stride_divisible_by) == ((None,), (1,))
    found = element([aligned[::4], aligned[::8]])
    assert (found.stride_constant, found.stride_divisible_by) == ((None,), (4,))
    found = element([other, np.broadcast_to(aligned[:1], 32)])
    assert (found.stride_constant, found.may_alias_internally) == ((None,), True)


@pytest.fixture(scope="module")
def compiled() -> tt.Kernel:
    return tt.compile(double, "sm_80", args=([vector, vector.copy()], [vector.copy(), vector.copy()], 32))


vector = np.zeros(64, np.float32)


def test_a_compiled_kernel_takes_lists_of_other_lengths(compiled: tt.Kernel) -> None:
    for count in (1, 2, 5):
        xs = random_arrays(*((96,) for _ in range(count)))
        ys = [np.zeros_like(x) for x in xs]
        compiled[3, count](xs, ys)
        assert all(np.array_equal(y, 2 * x) for x, y in zip(xs, ys, strict=True))
        for y in ys:
            y[:] = 0
        compiled[3, count](xs, ys, 32)  # the constant may be given
        assert all(np.array_equal(y, 2 * x) for x, y in zip(xs, ys, strict=True))


@pytest.mark.parametrize(
    ("xs", "message"),
    [
        ([vector, vector[:63].copy()], "'xs[1]': extents in dimension 0 that are multiples of 4; found 63"),
        ([vector, vector.copy(), vector.repeat(2)[::2]], "'xs[2]': stride 1 in dimension 0; found 2"),
        ([vector.astype(np.int32)], "'xs[0]': arrays of float32 with 1 dimensions; found int32, (64,)"),
        ([vector.reshape(8, 8)], "'xs[0]': arrays of float32 with 1 dimensions; found float32, (8, 8)"),
        ([vector, vector], "separate arrays; found memory that arrays of 'xs' share"),
        (vector, "a list of arrays for 'xs'"),
        (1.0, "a list of arrays for 'xs'"),
        ((vector, vector.copy()), "tuples of the same lengths"),
    ],
)
def test_a_compiled_kernel_refuses_lists_that_it_was_not_compiled_for(
    compiled: tt.Kernel, xs: Any, message: str
) -> None:
    with pytest.raises(tt.DiagnosticError, match=re.escape(f"'double' was compiled for {message}")):
        compiled[2, 1](xs, [vector.copy()])


def test_a_compiled_kernel_refuses_memory_that_two_lists_share(compiled: tt.Kernel) -> None:
    with pytest.raises(tt.DiagnosticError, match="found memory that 'xs' and 'ys' share"):
        compiled[2, 1]([vector], [vector.copy(), vector])


def test_lists_of_the_same_kind_are_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    monkeypatch.setattr(jit, "_compiled", {})
    monkeypatch.setattr(jit, "compile", lambda *a, **b: compiled.append(a) or tt.compile(*a, **b))
    x = np.arange(64, dtype=np.float32)
    for count in (1, 2, 4):
        ys = [np.zeros(64, np.float32) for _ in range(count)]
        tt.launch((2, count), double, ([x + number for number in range(count)], ys, 32))
        assert all(np.array_equal(y, 2 * x + 2 * number) for number, y in enumerate(ys))
    assert len(compiled) == 1
    tt.launch((2, 2), double, ([x, x], ys, 32))
    assert len(compiled) == 2


def test_a_list_of_one_array_is_another_kernel_than_the_array() -> None:
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    listed, alone = (Arguments(add_all, (given, y, 32)).key for given in ([x], x))
    assert listed != alone


# Memory that is shared.


def groups_of(*args: Any) -> list[Any]:
    return Arguments(double, (*args, 32)).signature().parameters


def test_arrays_of_a_list_that_share_memory_may_alias() -> None:
    x = np.zeros(96, np.float32)
    [apart, _, _] = groups_of([x[:32], x[32:64]], [np.zeros(32, np.float32)])
    assert not apart.elements_may_alias and not apart.element.may_alias_internally
    [shared, _, _] = groups_of([x[:32], x[16:64]], [np.zeros(32, np.float32)])
    assert shared.elements_may_alias and shared.element.may_alias_internally
    assert (shared.alias_groups, shared.element.alias_groups) == ((), ())


def test_arrays_of_two_lists_that_share_memory_have_a_group() -> None:
    x, y = np.zeros(96, np.float32), np.zeros(96, np.float32)
    [first, second, _] = groups_of([x[:32], y[:32]], [x[32:64], y[16:48]])
    assert set(first.element.alias_groups) & set(second.element.alias_groups)
    assert not first.elements_may_alias and not second.elements_may_alias
    [first, second, _] = groups_of([x[:32], y[:32]], [x[32:64], y[32:64]])
    assert not first.element.alias_groups and not second.element.alias_groups


def test_arrays_between_those_of_a_list_share_nothing() -> None:
    x = np.zeros(96, np.float32)
    [first, second, _] = groups_of([x[:32], x[64:]], [x[32:64]])
    assert not first.element.alias_groups and not second.element.alias_groups


def test_what_is_stored_to_an_array_of_a_list_is_read_from_the_next() -> None:
    x = np.arange(32, dtype=np.float32)
    xs = [x, np.zeros(32, np.float32), np.zeros(32, np.float32)]
    tt.launch(1, pass_on, (xs, 32))
    assert np.array_equal(xs[2], np.arange(32) + 2)


def test_arrays_of_a_list_that_overlap_are_the_same_memory() -> None:
    x = np.arange(40, dtype=np.float32)
    expected = x.copy()
    for begin in (4, 8):
        expected[begin : begin + 32] = expected[begin - 4 : begin + 28] + 1
    tt.launch(1, pass_on, ([x[:32], x[4:36], x[8:]], 32))
    assert np.array_equal(x, expected)


# What the simulated GPU finds.


@kernel
def load_beyond(xs: Any, y: Any, n: ct.Constant[int]):
    indices = ct.arange(n, dtype=ct.int32) + n
    ct.store(y, index=(0,), tile=ct.gather(xs[1], indices, check_bounds=False))


def test_a_finding_names_the_array_of_the_list() -> None:
    x, y = np.zeros(32, np.float32), np.zeros(32, np.float32)
    args = ([x, x.copy()], y, 32)
    with pytest.raises(tt.FindingsError, match=r"out-of-bounds: .*xs\[1\] ends there"):
        tt.launch(1, load_beyond, args)
    assert tt.launch(1, load_beyond, args, check=False).findings.of("error")


def test_the_table_has_the_name_of_the_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    device: Any = tt.device("sim")
    make = device.buffer
    monkeypatch.setattr(device, "buffer", lambda array, name: names.append(name) or make(array, name))
    x, y = np.zeros(32, np.float32), np.zeros(32, np.float32)
    tt.launch(1, double, ([x], [y], 32), device=device)
    assert names[2:] == ["xs", "ys"] and {*names[:2]} == {"xs[0]", "ys[0]"}


def test_a_read_only_array_of_a_list_is_named() -> None:
    x, y = np.ones(32, np.float32), np.zeros(32, np.float32)
    y.flags.writeable = False
    with pytest.raises(
        tt.DiagnosticError, match=r"the kernel wrote to 'ys\[0\]', and its array is read-only"
    ):
        tt.launch(1, double, ([x], [y], 32))


# Refusals.


@pytest.mark.parametrize(
    ("xs", "message"),
    [
        ([], "'xs': found an empty list, expected a list of arrays"),
        ([vector, 3], "'xs[1]': found an int, expected an array"),
        ([[vector]], "'xs[0]': found a list, expected an array"),
        ([(vector, vector)], "'xs[0]': found a tuple, expected an array"),
        ([vector, None], "'xs[1]': found a NoneType, expected an array"),
        (
            [vector, vector.reshape(8, 8)],
            "'xs[1]': found an array of float32 with 2 dimensions, expected float32 with 1, as 'xs[0]' has\n"
            "note: pass a tuple, whose items may differ",
        ),
        (
            [vector, vector.astype(np.float16)],
            "'xs[1]': found an array of float16 with 1 dimensions, expected float32 with 1, as 'xs[0]' has",
        ),
    ],
)
def test_other_lists_are_refused(xs: Any, message: str) -> None:
    with pytest.raises(tt.DiagnosticError, match=re.escape(f"error: {message}")):
        tt.launch((2, 1), double, (xs, [vector.copy()], 32))


@kernel
def scale_by(x: Any, factor: ct.ScalarInt64, n: ct.Constant[int]):
    ct.store(x, index=(0,), tile=ct.load(x, index=(0,), shape=(n,)) * ct.astype(factor, ct.float32))


def test_a_list_for_a_number_or_a_constant_is_refused() -> None:
    x = np.zeros(32, np.float32)
    with pytest.raises(tt.DiagnosticError, match="'scale_by': Invalid kernel parameter 'factor'"):
        tt.launch(1, scale_by, (x, [x], 32))
    with pytest.raises(tt.DiagnosticError, match="the arguments of the cuTile kernel 'scale_by': .*32"):
        tt.launch(1, scale_by, (x, 3, [32]))


def test_an_array_of_a_list_on_a_gpu_is_refused_by_the_simulated_one() -> None:
    x, there = np.zeros(32, np.float32), OnGpu(1 << 32, 32)
    with pytest.raises(tt.DiagnosticError, match=r"the array for 'xs\[0\]' is on a GPU"):
        tt.launch(1, double, ([there], [x], 32))


# Real GPUs and other libraries.


@pytest.fixture
def driver(compiled: tt.Kernel, monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """The driver is played by the simulated GPU, which takes the PTX in place of the cubin."""
    driver = install(monkeypatch)
    code = compiled.ptx.encode() + b"\0"
    monkeypatch.setattr(driver, "cuModuleLoadData", lambda _: FakeDriver.cuModuleLoadData(driver, code))
    return driver


def test_the_table_of_a_real_gpu_has_the_addresses_of_its_arrays(
    compiled: tt.Kernel, driver: FakeDriver
) -> None:
    first, second = random_arrays((64,), (64,))
    gpu = tt.device("cuda")
    there = gpu.buffer(first)
    ys = [np.zeros(64, np.float32), np.zeros(64, np.float32)]
    compiled[2, 2]([OnGpu(there.address, 64), second], ys, device=gpu)
    assert np.array_equal(ys[0], 2 * first) and np.array_equal(ys[1], 2 * second)
    compiled[2, 1]([second], [OnGpu(there.address, 64)], device=gpu)
    assert np.array_equal(there.array(), 2 * second)


def test_a_launch_waits_for_the_streams_of_the_arrays_of_a_list(
    compiled: tt.Kernel, driver: FakeDriver
) -> None:
    gpu = tt.device("cuda")
    there = gpu.buffer(vector)
    compiled[2, 1]([OnGpu(there.address, 64, stream=7)], [vector.copy()], device=gpu)
    assert driver.waited == [7]


def test_arrays_of_a_list_may_be_of_several_libraries() -> None:
    first, second = random_arrays((32,), (32,))
    ys = [np.zeros(32, np.float32), np.zeros(32, np.float32)]
    tt.launch(
        (1, 2),
        double,
        ([TorchTensor(first, shape=(32,)), second], [ys[0], TorchTensor(ys[1], shape=(32,))], 32),
    )
    assert np.array_equal(ys[0], 2 * first) and np.array_equal(ys[1], 2 * second)


def test_tensors_of_torch_are_changed_in_place() -> None:
    torch = pytest.importorskip("torch")
    xs = [torch.arange(32, dtype=torch.float32), torch.ones(32)]
    ys = [torch.zeros(32), torch.zeros(32)]
    tt.launch((1, 2), double, (xs, ys, 32))
    assert all(torch.equal(y, 2 * x) for x, y in zip(xs, ys, strict=True))
