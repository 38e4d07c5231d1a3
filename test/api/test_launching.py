"""`kernel[grid](…)`: arrays as pointers, extents and strides; results in place; what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from runtime.fake_driver import FakeDriver
from runtime.test_cuda import install

import tessera_tools as tt

# b[i] = a[i] + s, for arrays of one dimension with any stride.
ADD = """
entry @add(%a: tile<ptr<f32>>, %an: tile<i32>, %as: tile<i32>,
           %b: tile<ptr<f32>>, %bn: tile<i32>, %bs: tile<i32>, %s: tile<f32>) {
  %va = make_tensor_view %a, shape = [%an], strides = [%as] : tile<i32> -> tensor_view<?xf32, strides=[?]>
  %vb = make_tensor_view %b, shape = [%bn], strides = [%bs] : tile<i32> -> tensor_view<?xf32, strides=[?]>
  %pa = make_partition_view %va : partition_view<tile=(32), tensor_view<?xf32, strides=[?]>>
  %pb = make_partition_view %vb : partition_view<tile=(32), tensor_view<?xf32, strides=[?]>>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %t, %tok = load_view_tko weak %pa[%x]
    : partition_view<tile=(32), tensor_view<?xf32, strides=[?]>>, tile<i32> -> tile<32xf32>, token
  %r = reshape %s : tile<f32> -> tile<1xf32>
  %c = broadcast %r : tile<1xf32> -> tile<32xf32>
  %u = addf %t, %c rounding<nearest_even> : tile<32xf32>
  %tok2 = store_view_tko weak %u, %pb[%x]
    : tile<32xf32>, partition_view<tile=(32), tensor_view<?xf32, strides=[?]>>, tile<i32> -> token
  return
}
"""


@pytest.fixture(scope="module")
def kernel() -> tt.Kernel:
    return tt.compile(ADD, "sm_80")


@pytest.fixture
def arrays() -> tuple[Any, Any]:
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}")
    return np.random.default_rng(seed).standard_normal(100).astype(np.float32), np.zeros(100, np.float32)


def test_an_array_stands_for_its_pointer_extents_and_strides(kernel: tt.Kernel, arrays: Any) -> None:
    a, b = arrays
    result = kernel[4](a, b, 1.5)
    assert np.array_equal(b, a + np.float32(1.5))
    assert not result.findings


def test_every_parameter_may_be_given_by_itself(kernel: tt.Kernel, arrays: Any) -> None:
    a, b = arrays
    kernel[4,](a, 100, 1, b, 100, 1, 2.0)
    assert np.array_equal(b, a + 2)


def test_some_arrays_may_be_given_with_their_extents_and_strides(kernel: tt.Kernel, arrays: Any) -> None:
    a, b = arrays
    kernel[4](a, b, 100, 1, 2.0)
    assert np.array_equal(b, a + 2)
    kernel[4](a, 100, 1, b, 3.0)
    assert np.array_equal(b, a + 3)


def test_an_array_with_extents_but_no_strides_is_refused(kernel: tt.Kernel, arrays: Any) -> None:
    a, b = arrays
    with pytest.raises(tt.DiagnosticError, match=r"4 arguments given, which are 8 parameters .* has 7"):
        kernel[4](a, b, 100, 2.0)


def test_an_array_that_is_only_a_pointer_is_contiguous(kernel: tt.Kernel, arrays: Any) -> None:
    a, b = arrays
    with pytest.raises(tt.DiagnosticError) as raised:
        kernel[4](a, b[::2], 50, 1, 2.0)
    assert str(raised.value) == (
        "error: the array for 'b' has the strides (2,); the kernel has no stride parameters, so it must be "
        "contiguous\nnote: pass numpy.ascontiguousarray(a)"
    )


def test_a_strided_array_is_read_by_its_strides(kernel: tt.Kernel, arrays: Any) -> None:
    a, b = arrays
    kernel[2](a[::2], b[1::2], 0.0)
    assert np.array_equal(b[1::2], a[::2])
    assert not b[::2].any()


def test_arrays_that_share_memory_share_it_in_the_kernel(kernel: tt.Kernel) -> None:
    a = np.arange(64, dtype=np.float32)
    kernel[1](a[:32], a[32:], 100.0)
    kernel[1](a, a[:32], 1.0)
    assert np.array_equal(a[:32], np.arange(32) + 1)
    assert np.array_equal(a[32:], np.arange(32) + 100)
    kernel[1](a, a[32:], 200.0)
    assert np.array_equal(a[32:], a[:32] + 200)


def test_a_read_only_array_may_be_read_but_not_written(kernel: tt.Kernel, arrays: Any) -> None:
    a, b = arrays
    a.flags.writeable = False
    kernel[4](a, b, 1.0)
    with pytest.raises(tt.DiagnosticError, match="wrote to 'b', and its array is read-only"):
        kernel[4](b, a, 1.0)


def test_another_element_type_is_refused(kernel: tt.Kernel, arrays: Any) -> None:
    a, b = arrays
    with pytest.raises(tt.DiagnosticError, match=r"'a' points to f32: found an array of float64"):
        kernel[4](a.astype(np.float64), b, 1.0)


def test_the_number_of_arguments_is_checked_both_ways(kernel: tt.Kernel, arrays: Any) -> None:
    with pytest.raises(tt.DiagnosticError, match="2 arguments given, which are 6 parameters"):
        kernel[4](*arrays)


def test_an_array_of_another_rank_is_refused(kernel: tt.Kernel, arrays: Any) -> None:
    a, _ = arrays
    with pytest.raises(tt.DiagnosticError, match="'b' .*expected|which are 9 parameters"):
        kernel[4](a.reshape(10, 10), a, 1.0)


def test_an_array_for_a_number_is_refused(kernel: tt.Kernel, arrays: Any) -> None:
    a, b = arrays
    with pytest.raises(tt.DiagnosticError, match="'an' .*found an array"):
        kernel[4](a, b, 1, b, 1, 1, 1.0)


def test_negative_strides_are_refused(kernel: tt.Kernel, arrays: Any) -> None:
    a, b = arrays
    with pytest.raises(tt.DiagnosticError) as raised:
        kernel[4](a[::-1], b, 1.0)
    assert str(raised.value) == (
        "error: an array has the strides (-1,); negative strides are not supported\n"
        "note: copy it first, as with numpy.ascontiguousarray"
    )


def test_a_finding_is_an_exception_with_the_result() -> None:
    kernel = tt.compile(ADD, "sm_80")
    a = np.zeros(32, np.float32)
    with pytest.raises(tt.FindingsError, match="out-of-bounds") as caught:
        kernel[1](a, 32, 1, a, 64, 40, 1.0)  # the stride leads past the array
    assert caught.value.result.findings.kinds() == {"out-of-bounds"}


def test_findings_are_returned_on_request(kernel: tt.Kernel) -> None:
    a = np.zeros(32, np.float32)
    result = kernel[1](a, 32, 1, a, 64, 40, 1.0, check=False)
    assert result.findings.of("error")


def test_bf16_is_given_as_patterns_or_by_a_library_that_has_it() -> None:
    kernel = tt.compile(ADD.replace("f32", "bf16"), "sm_80")
    a, b = np.full(32, 0x3F80, np.uint16), np.zeros(32, np.uint16)
    kernel[1](a, b, np.float32(0).tobytes()[:2])
    assert np.array_equal(a, b)


class OnGpu:
    """What CuPy's arrays and torch's CUDA tensors say of themselves."""

    def __init__(self, address: int, count: int, **changed: Any) -> None:
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": (count,),
            "typestr": "<f4",
            "data": (address, False),
            "version": 3,
            **changed,
        }


def test_an_array_on_a_gpu_is_refused_by_the_simulated_one(kernel: tt.Kernel, arrays: Any) -> None:
    with pytest.raises(tt.DiagnosticError) as raised:
        kernel[1](OnGpu(1 << 32, 32), arrays[1], 1.0)
    assert str(raised.value) == (
        "error: the array for 'a' is on a GPU; the simulated GPU reads the host's memory\n"
        "note: copy it to the host, or launch with device='cuda'"
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"typestr": "nonsense"}, "of a OnGpu cannot be read: data type 'nonsense' not understood"),
        ({"typestr": ">f4"}, "'>f4' has its bytes in another order"),
        ({"typestr": "|V4"}, "void32 cannot be an argument"),
        ({"strides": (6,)}, "are not whole elements"),
        ({"strides": (-4,)}, "negative strides"),
        (
            {"mask": np.zeros(32, np.bool_)},
            "of a OnGpu has a mask; kernels have no masked arrays\nnote: pass the array without its mask",
        ),
        ({"shape": None}, "cannot be read"),
    ],
)
def test_what_a_kernel_cannot_read_on_a_gpu_is_refused(
    kernel: tt.Kernel, arrays: Any, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(tt.DiagnosticError, match=re.escape(message)):
        kernel[1](OnGpu(1 << 32, 32, **changed), arrays[1], 1.0)


@pytest.fixture
def driver(kernel: tt.Kernel, monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """The driver is played by the simulated GPU, which takes the PTX in place of the cubin."""
    driver = install(monkeypatch)
    monkeypatch.setattr(
        driver, "cuModuleLoadData", lambda _: FakeDriver.cuModuleLoadData(driver, kernel.ptx.encode() + b"\0")
    )
    return driver


def test_a_real_gpu_uses_its_own_arrays_where_they_are(
    kernel: tt.Kernel, arrays: Any, driver: FakeDriver
) -> None:
    a, b = arrays
    gpu = tt.device("cuda")
    there = gpu.buffer(a)

    kernel[4](OnGpu(there.address, len(a)), b, 1.0, device=gpu)
    assert np.array_equal(b, a + 1)
    kernel[4](b, OnGpu(there.address, len(a)), 1.0, device=gpu)
    assert np.array_equal(there.array(), a + 1 + 1)


def test_strides_on_a_gpu_are_in_bytes(kernel: tt.Kernel, arrays: Any, driver: FakeDriver) -> None:
    a, b = arrays
    gpu = tt.device("cuda")
    there = gpu.buffer(a)
    kernel[2](OnGpu(there.address, 50, strides=(8,)), b[:50], 0.0, device=gpu)
    assert np.array_equal(b[:50], a[::2])


def test_a_launch_waits_for_the_stream_of_an_array(
    kernel: tt.Kernel, arrays: Any, driver: FakeDriver
) -> None:
    a, b = arrays
    gpu = tt.device("cuda")
    there = gpu.buffer(a)
    kernel[4](OnGpu(there.address, len(a), stream=None), b, 1.0, device=gpu, stream=5)
    assert (driver.waited, driver.streams) == ([], [5])
    kernel[4](OnGpu(there.address, len(a), stream=7), b, 1.0, device=gpu, stream=5)
    assert (driver.waited, driver.streams) == ([7], [5, 5])


def test_swapped_bytes_are_refused(kernel: tt.Kernel, arrays: Any) -> None:
    a, b = arrays
    with pytest.raises(tt.DiagnosticError, match="bytes in another order than the GPU's"):
        kernel[4](a.astype(a.dtype.newbyteorder()), b, 1.0)


class FromLibrary:
    """An array of a library that has only DLPack."""

    def __init__(self, array: Any, device: int = 1) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


def test_dlpack_shares_the_memory_of_the_host(kernel: tt.Kernel, arrays: Any) -> None:
    a, b = arrays
    kernel[4](FromLibrary(a), FromLibrary(b), 1.0)
    assert np.array_equal(b, a + 1)


def test_dlpack_on_a_device_is_refused(kernel: tt.Kernel, arrays: Any) -> None:
    a, b = arrays
    with pytest.raises(tt.DiagnosticError, match="a FromLibrary is not in the host's memory"):
        kernel[4](FromLibrary(a, device=2), b, 1.0)


def test_dlpack_of_what_numpy_cannot_read_is_refused(kernel: tt.Kernel, arrays: Any) -> None:
    with pytest.raises(tt.DiagnosticError, match=r"^error: a FromLibrary cannot be read as an array$"):
        kernel[4](FromLibrary(np.array([None])), arrays[1], 1.0)


def test_arrays_of_jax_are_read_and_never_written(kernel: tt.Kernel, arrays: Any) -> None:
    jax = pytest.importorskip("jax.numpy")
    a, b = arrays
    given = jax.asarray(a)
    kernel[4](given, b, 1.0)
    assert np.array_equal(b, a + 1)
    with pytest.raises(tt.DiagnosticError, match="wrote to 'b', and its array is read-only"):
        kernel[4](a, given, 1.0)


def test_torch_tensors_are_changed_in_place(kernel: tt.Kernel) -> None:
    torch = pytest.importorskip("torch")
    a, b = torch.randn(100), torch.zeros(100)
    kernel[4](a, b, 1.0)
    assert torch.equal(b, a + 1)


class TorchDevice:
    def __init__(self, type: str) -> None:
        self.type = type

    def __str__(self) -> str:
        return self.type


class TorchTensor:
    """What torch's tensors say of themselves: by default, a vector on the CPU."""

    dtype, shape, layout = "torch.float32", (100,), "torch.strided"

    def __init__(self, array: Any, device: str = "cpu", **changed: Any) -> None:
        self.array, self.device = array, TorchDevice(device)
        self.__dict__ |= changed

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def stride(self) -> tuple[int, ...]:
        return (1,)

    def element_size(self) -> int:
        return 4

    def is_neg(self) -> bool:
        return bool(self.__dict__.get("negated"))


def test_a_tensor_on_the_cpu_is_an_array(kernel: tt.Kernel, arrays: Any) -> None:
    a, b = arrays
    kernel[4](TorchTensor(a), TorchTensor(b), 1.0)
    assert np.array_equal(b, a + 1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"device": "meta"}, "a tensor on the device 'meta'; expected 'cpu' or 'cuda'"),
        ({"device": "cuda"}, "'a' is on a GPU"),
        (
            {"layout": "torch.sparse_coo"},
            "a tensor with the layout torch.sparse_coo; expected torch.strided\nnote: pass t.to_dense()",
        ),
        (
            {"negated": True},
            "a tensor whose elements are to be negated when they are read\nnote: pass t.resolve_neg()",
        ),
        ({"dtype": "torch.complex64"}, "complex64 cannot be an argument"),
    ],
)
def test_a_tensor_without_plain_memory_is_refused(
    kernel: tt.Kernel, arrays: Any, changed: dict[str, Any], message: str
) -> None:
    a, b = arrays
    with pytest.raises(tt.DiagnosticError, match=re.escape(message)):
        kernel[4](TorchTensor(a, **changed), b, 1.0)


def test_a_timed_launch_leaves_the_arrays_as_they_were(arrays: Any) -> None:
    # The clock skips laps of loops, so the results would not be complete.
    a, b = arrays
    result = tt.compile(ADD, "sm_90a")[4](a, b, 1.5, timing=True)
    assert result.estimate is not None and result.estimate.cycles > 0
    assert not b.any()


def test_a_device_that_times_every_launch_leaves_the_arrays_as_they_were(arrays: Any) -> None:
    a, b = arrays
    result = tt.compile(ADD, "sm_90a")[4](a, b, 1.5, device=tt.device("sim", timing=True))
    assert result.estimate is not None
    assert not b.any()


@pytest.mark.parametrize("grid", ["x", 2.5, (2.5,), (), (1, 2, 3, 4), 0, (1, -1), None])
def test_a_grid_is_one_to_three_positive_integers(grid: Any) -> None:
    kernel = tt.compile(ADD, target="sm_80")
    with pytest.raises(tt.DiagnosticError, match=r"the grid is .*; expected one to three positive integers"):
        kernel[grid]


def test_a_grid_may_be_of_numpys_integers() -> None:
    kernel = tt.compile(ADD, target="sm_80")
    assert kernel[np.int64(4)].grid == (4,)
