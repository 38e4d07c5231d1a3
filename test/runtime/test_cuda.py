"""The real GPU's launcher on a driver that the simulated GPU plays; without a GPU, a clear error."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from runtime.fake_driver import FakeDriver
from runtime.ptx import HEADER, SCALE

import tessera_tools as tt
from tessera_tools.cli.run import run
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.emit.manifest import Kernel, Manifest, Parameter, TensorMap
from tessera_tools.runtime import device

SCALE_FREE = SCALE.replace(".reqntid 64, 1, 1\n", "").replace("sm_80", "sm_90")


def install(monkeypatch: pytest.MonkeyPatch, devices: int = 1) -> FakeDriver:
    """Put a driver where an import of `cuda.bindings.driver` finds it."""
    driver = FakeDriver(devices)
    monkeypatch.setitem(sys.modules, "cuda", ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.bindings", ModuleType("cuda.bindings"))
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", driver)
    return driver


def test_a_kernel_is_launched_and_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = install(monkeypatch)
    gpu = device("cuda")
    x = gpu.buffer(np.arange(100, dtype=np.float32), "x")
    result = gpu.load(SCALE).kernel().launch((2,), [x, 100, 0.5])
    assert np.array_equal(x.array(), np.arange(100, dtype=np.float32) / 2)
    assert result.seconds == 0.0015
    assert "cuLaunchKernel" in driver.calls


def test_arguments_are_refused_as_on_the_simulated_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    for name in ("cuda", "sim"):
        gpu = device(name)
        kernel = gpu.load(SCALE).kernel()
        x = gpu.buffer(np.zeros(4, np.float32), "x")
        with pytest.raises(
            DiagnosticError, match=r"parameter 'n' \(i32\): found the buffer 'x', expected i32"
        ):
            kernel.launch((1,), [x, x, 1.0])
        with pytest.raises(DiagnosticError, match=r"parameter 'by' \(f32\) has no argument"):
            kernel.launch((1,), [x, 1])


def test_much_shared_memory_is_opted_into(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = install(monkeypatch)
    gpu = device("cuda")
    kernel = gpu.load(SCALE).kernel()
    x = gpu.buffer(np.zeros(4, np.float32))
    kernel.launch((1,), [x, 4, 1.0], shared=48 << 10)
    assert not driver.attributes
    kernel.launch((1,), [x, 4, 1.0], shared=49 << 10)
    assert driver.attributes == {"CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": 49 << 10}


def test_a_cluster_is_an_attribute_of_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = install(monkeypatch)
    gpu = device("cuda")
    x = gpu.buffer(np.ones(256, np.float32))
    gpu.load(SCALE_FREE).kernel().launch((4,), [x, 256, 3.0], block=(64,), cluster=(2,))
    assert "cuLaunchKernelEx" in driver.calls
    assert (x.array() == 3).all()


class TorchStream:
    cuda_stream = 7


class CupyStream:
    ptr = 8


class AnyStream:
    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 9


STREAMS = [(None, 0), (5, 5), (np.int64(6), 6), (TorchStream(), 7), (CupyStream(), 8), (AnyStream(), 9)]


@pytest.mark.parametrize(("given", "handle"), STREAMS)
@pytest.mark.parametrize("cluster", [None, (2, 1, 1)])
def test_a_launch_goes_to_its_stream(
    monkeypatch: pytest.MonkeyPatch, given: object, handle: int, cluster: tuple[int, int, int] | None
) -> None:
    driver = install(monkeypatch)
    gpu = device("cuda")
    x = gpu.buffer(np.zeros(4, np.float32))
    gpu.load(SCALE.replace("sm_80", "sm_90")).kernel().launch(
        (2,), [x, 4, 1.0], cluster=cluster, stream=given
    )
    assert driver.streams == [handle]


@pytest.mark.parametrize(("given", "handle"), STREAMS)
def test_the_simulated_gpu_accepts_every_stream(given: object, handle: int) -> None:
    sim = device("sim")
    x = sim.buffer(np.ones(4, np.float32))
    sim.load(SCALE).kernel().launch((1,), [x, 4, 3.0], stream=given)
    assert (x.array() == 3).all()


@pytest.mark.parametrize("timing", [True, False])
def test_the_simulated_gpu_refuses_what_is_no_stream(timing: bool) -> None:
    sim = device("sim")
    x = sim.buffer(np.ones(4, np.float32))
    with pytest.raises(TypeError, match="stream: found a list, expected a number or a CUDA stream"):
        sim.load(SCALE).kernel().launch((1,), [x, 4, 3.0], stream=[], timing=timing)


def test_something_else_is_no_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    gpu = device("cuda")
    x = gpu.buffer(np.zeros(4, np.float32))
    with pytest.raises(TypeError, match="stream: found a str, expected a number or a CUDA stream"):
        gpu.load(SCALE).kernel().launch((1,), [x, 4, 1.0], stream="main")


def test_a_fault_of_the_kernel_names_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    gpu = device("cuda")
    x = gpu.buffer(np.zeros(4, np.float32))
    with pytest.raises(DiagnosticError, match="cuLaunchKernel failed: CUDA_ERROR"):
        gpu.load(SCALE).kernel().launch((1,), [x, 64, 1.0])


def test_ptx_that_the_driver_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    broken = HEADER + ".visible .entry k()\n.reqntid 1\n{\n  nosuch;\n  ret;\n}\n"
    with pytest.raises(DiagnosticError, match="the driver rejects the PTX 'k.ptx': .*INVALID_PTX"):
        device("cuda").load(broken, file="k.ptx")


def test_memory_is_freed_with_its_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = install(monkeypatch)
    gpu = device("cuda")
    buffer = gpu.buffer(np.zeros(4))
    address = buffer.address
    del buffer
    assert driver.freed == [address]


def test_tensor_maps_of_the_manifest_are_encoded_by_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = install(monkeypatch)
    ptx = HEADER.replace("sm_80", "sm_90") + (
        ".visible .entry k(.param .u64 a, .param .u32 m, .param .align 64 .b8 t[128])\n.reqntid 1\n{\n  ret;\n}\n"
    )
    parameters = (
        Parameter("a", "ptr", 8, 0),
        Parameter("m", "i32", 4, 8),
        Parameter("t", "tensormap", 128, 64),
    )
    described = TensorMap(
        2,
        0,
        "bf16",
        (64, {"parameter": 1, "plus": 3}),
        ({"parameter": 1, "times": 16, "over": 2},),
        (64, 8),
        (1, 1),
        "128B",
    )
    manifest = Manifest("sm_90a", "8.0", (Kernel("k", parameters, (1, 1, 1), tensor_maps=(described,)),))
    gpu = device("cuda")
    a = gpu.buffer(np.zeros((16, 64), np.uint16), "a", "bf16")
    gpu.load(ptx, manifest).kernel().launch((1,), [a, 16])
    kind, rank, address, dims, strides, box, steps, _, swizzle, _, fill = driver.encoded[0]
    assert (kind, rank, address) == ("CU_TENSOR_MAP_DATA_TYPE_BFLOAT16", 2, a.address)
    assert (dims, strides, box, steps) == ([64, 19], [128], [64, 8], [1, 1])
    assert (swizzle, fill) == ("CU_TENSOR_MAP_SWIZZLE_128B", "CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE")
    # The simulated GPU encodes the same description its own way.
    simulated = device("sim")
    b = simulated.buffer(np.zeros((16, 64), np.uint16), "a", "bf16")
    assert not simulated.load(ptx, manifest).kernel().launch((1,), [b, 16]).findings


def test_the_driver_rounds_to_tf32_and_swizzles_by_32_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = install(monkeypatch)
    ptx = HEADER.replace("sm_80", "sm_90") + (
        ".visible .entry k(.param .u64 a, .param .align 64 .b8 t[128])\n.reqntid 1\n{\n  ret;\n}\n"
    )
    described = TensorMap(1, 0, "tf32", (32, 16), (128,), (32, 8), (1, 1), "128B_atom_32B")
    parameters = (Parameter("a", "ptr", 8, 0), Parameter("t", "tensormap", 128, 64))
    manifest = Manifest("sm_90a", "8.0", (Kernel("k", parameters, (1, 1, 1), tensor_maps=(described,)),))
    gpu = device("cuda")
    a = gpu.buffer(np.zeros((16, 32), np.float32), "a", "f32")
    gpu.load(ptx, manifest).kernel().launch((1,), [a])
    assert driver.encoded[0][0] == "CU_TENSOR_MAP_DATA_TYPE_TFLOAT32"
    assert driver.encoded[0][8] == "CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B"


def test_the_tensor_map_of_a_tensor_without_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver encodes no extent of 0: the map is of one element, which is zero."""
    driver = install(monkeypatch)
    ptx = HEADER.replace("sm_80", "sm_90") + (
        ".visible .entry k(.param .u64 a, .param .u32 m, .param .align 64 .b8 t[128])\n.reqntid 1\n{\n  ret;\n}\n"
    )
    parameters = (
        Parameter("a", "ptr", 8, 0),
        Parameter("m", "i32", 4, 8),
        Parameter("t", "tensormap", 128, 64),
    )
    described = TensorMap(2, 0, "bf16", (64, {"parameter": 1}), (128,), (64, 8), (1, 1), "128B")
    manifest = Manifest("sm_90a", "8.0", (Kernel("k", parameters, (1, 1, 1), tensor_maps=(described,)),))
    gpu = device("cuda")
    a = gpu.buffer(np.zeros((16, 64), np.uint16), "a", "bf16")
    gpu.load(ptx, manifest).kernel().launch((1,), [a, 0])
    _, _, address, dims, strides, box, *_ = driver.encoded[0]
    assert (dims, strides, box) == ([1, 1], [16], [64, 8]) and address != a.address


@pytest.mark.parametrize("persistent", ["static", "counter"])
def test_a_persistent_kernel_has_as_many_ctas_as_run_at_once(
    monkeypatch: pytest.MonkeyPatch, persistent: str
) -> None:
    """3 multiprocessors with 2 CTAs each. A prepared launch sets its counter to zero each time."""
    driver = install(monkeypatch)
    made = tt.compile("examples/vector_add.mlir", "sm_80", persistent=persistent)
    gpu = device("cuda")
    rng = np.random.default_rng()
    x, y = (rng.standard_normal(20_000).astype(np.float32) for _ in range(2))
    a, b, c = (gpu.buffer(array, name) for array, name in ((x, "a"), (y, "b"), (np.zeros_like(x), "c")))
    kernel: Any = gpu.load(made.ptx, made.manifest).kernel()
    args = [value for buffer in (a, b, c) for value in (buffer, 20_000, 1)]
    kernel.launch((20,), args)
    assert np.array_equal(c.array(), x + y)
    assert driver.grids == [(6, 1, 1)]
    c.write(np.zeros(80_000, np.uint8))
    work = kernel.prepare((4, 5), args)
    for _ in range(2):
        work()
    # The kernel uses the first axis only.
    assert np.array_equal(c.array()[:4096], (x + y)[:4096]) and not c.array()[4096:].any()
    assert driver.grids == [(6, 1, 1)] * 3


def test_a_grid_too_large_for_the_numbers_of_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    made = tt.compile("examples/vector_add.mlir", "sm_80", persistent="static")
    for name in ("cuda", "sim"):
        gpu = device(name)
        kernel = gpu.load(made.ptx, made.manifest).kernel()
        args = [value for _ in range(3) for value in (gpu.buffer(np.zeros(4, np.float32)), 4, 1)]
        with pytest.raises(DiagnosticError, match="a persistent kernel runs at most 1073741824"):
            kernel.launch((1 << 20, 1 << 11), args)
        with pytest.raises(DiagnosticError, match="0 resident tile blocks; expected 1 to 1048576"):
            kernel.launch((1,), args, resident=0)


def test_a_machine_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, devices=0)
    with pytest.raises(DiagnosticError, match="no usable GPU: cuInit failed: CUDA_ERROR_NO_DEVICE"):
        device("cuda")


def test_a_driver_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(flags: int) -> Any:
        raise RuntimeError("Failed to load\n  libcuda.so.")

    monkeypatch.setattr(install(monkeypatch), "cuInit", missing)
    with pytest.raises(DiagnosticError, match="no usable GPU: Failed to load libcuda.so\n"):
        device("cuda")


def test_a_gpu_that_the_machine_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, devices=1)
    device("cuda", ordinal=0)
    with pytest.raises(DiagnosticError, match="no usable GPU: cuDeviceGet failed"):
        device("cuda", ordinal=1)


def test_the_command_runs_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    done = run(["--device=cuda", "--grid=2", "--arg=x=full:f32:100:2", "--arg=i32:100", "--arg=f32:3",
                "--expect=x=full:f32:100:6"], SCALE.encode())  # fmt: skip
    assert done.exit_code == 0, done.stderr.decode()
    assert "scale: grid 2x1x1, block 64x1x1: 1500.0 µs" in done.stderr.decode()
    refused = run(["--device=cuda", "--stats"], SCALE.encode())
    assert b"--stats applies only to the simulated GPU" in refused.stderr


def test_a_cubin_has_no_ptx_to_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    (tmp_path / "k.cubin").write_bytes(b"\x7fELF")
    (tmp_path / "k.json").write_text(Manifest("sm_80", "8.0", (Kernel("k", (), (64, 1, 1)),)).to_json())
    done = run(["k.cubin", "--device=cuda", "--grid=1", "--save-ptx=k.ptx"], b"", str(tmp_path))
    assert done.stderr.decode() == "error: --save-ptx: the input is a cubin, so there is no PTX to save\n"
    assert not (tmp_path / "k.ptx").exists()
