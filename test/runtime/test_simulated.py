"""Launching on the simulated GPU from Python: arrays in and out, processes, schedules."""

from __future__ import annotations

import numpy as np
import pytest
from runtime.ptx import COUNT, HEADER, RACE, SCALE, SPIN

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.runtime import Scalar, device, lookup_type
from tessera_tools.runtime.workers import PartialLaunch, depends_on_others
from tessera_tools.sim.reader import read


def test_numpy_arrays_go_in_and_come_out() -> None:
    gpu = device("sim", stats=True)
    x = gpu.buffer(np.arange(100, dtype=np.float32).reshape(4, 25), "x")
    result = gpu.load(SCALE).kernel("scale").launch((2, 1, 1), [x, np.int32(100), np.float32(2)])
    assert x.array().shape == (4, 25)
    assert np.array_equal(x.values(), 2.0 * np.arange(100).reshape(4, 25))
    assert not result.findings
    assert result.stats is not None
    assert result.stats.bytes["ld.global"] == 400


def test_arrays_come_through_dlpack() -> None:
    class Tensor:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __dlpack__(self, **options: object) -> object:
            return self.array.__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.array.__dlpack_device__()

    buffer = device("sim").buffer(Tensor(np.arange(6, dtype=np.int16).reshape(2, 3)))
    assert buffer.array().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_patterns_have_a_type_of_their_own() -> None:
    buffer = device("sim").buffer(np.array([0x3FC0], np.uint16), "b", "bf16")
    assert buffer.values().tolist() == [1.5]
    with pytest.raises(DiagnosticError, match="an array of uint8 cannot contain bf16"):
        device("sim").buffer(np.zeros(1, np.uint8), "b", "bf16")


@pytest.mark.parametrize("processes", [2, 3, 7])
def test_processes_give_what_one_gives(processes: int) -> None:
    def launch(count: int) -> tuple[bytes, object, int, int]:
        gpu = device("sim", processes=count, stats=True, seed=4)
        x = gpu.buffer(np.random.default_rng(0).standard_normal(1000, np.float32))
        result = gpu.load(SCALE).kernel().launch((17,), [x, 1000, 0.3])
        return x.array().tobytes(), result.stats, result.instructions, result.processes

    one, many = launch(1), launch(processes)
    assert one[:3] == many[:3]
    assert (one[3], many[3]) == (1, processes)


@pytest.mark.parametrize("processes", [1, 3])
def test_a_launch_tells_how_many_clusters_have_begun(processes: int) -> None:
    watched: list[PartialLaunch] = []
    gpu = device("sim", processes=processes, watch=watched.append)
    gpu.load(SCALE).kernel().launch((7,), [gpu.buffer(np.zeros(100, np.float32)), 100, 0.3])
    (launch,) = watched
    assert int(launch.tally.sum()) == launch.count == 7


def test_findings_of_processes_are_those_of_one() -> None:
    def launch(count: int) -> list[object]:
        gpu = device("sim", processes=count)
        x = gpu.buffer(np.zeros(100, np.float32), "x")
        return list(gpu.load(SCALE).kernel().launch((4,), [x, 1000, 2.0]).findings)

    assert launch(1) == launch(4)
    assert launch(1)


def test_a_kernel_with_global_atomics_stays_in_one_process() -> None:
    gpu = device("sim", processes=4)
    x = gpu.buffer(np.zeros(1, np.uint32))
    result = gpu.load(COUNT).kernel().launch((8,), [x])
    assert (result.processes, x.array()[0]) == (1, 256)


@pytest.mark.parametrize(
    ("instruction", "depends"),
    [
        ("red.global.add.u32 [%rd0], %r0", True),
        ("atom.add.u32 %r0, [%rd0], %r0", True),
        ("atom.shared.add.u32 %r0, [%r1], %r0", False),
        ("ld.acquire.gpu.global.u32 %r0, [%rd0]", True),
        ("ld.acquire.cta.global.u32 %r0, [%rd0]", False),
        ("ld.volatile.global.u32 %r0, [%rd0]", True),
        ("ld.volatile.shared.u32 %r0, [%r1]", False),
        ("st.release.sys.u32 [%rd0], %r0", True),
        ("ld.global.nc.u32 %r0, [%rd0]", False),
        ("fence.acq_rel.gpu", True),
        ("fence.acq_rel.cta", False),
        ("membar.gl", True),
        ("fence.proxy.async", False),
        ("griddepcontrol.wait", True),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], [%r1], %r0", True),
        ("cp.async.bulk.commit_group", False),
    ],
)
def test_what_ties_clusters_together(instruction: str, depends: bool) -> None:
    text = f"{HEADER}.entry k() {{ .reg .b32 %r<4>; .reg .b64 %rd<4>; {instruction}; ret; }}"
    assert depends_on_others(read(text).instructions[0]) is depends


def test_a_seed_names_a_schedule_whatever_the_processes() -> None:
    def last(seed: int) -> int:
        gpu = device("sim")
        x = gpu.buffer(np.zeros(1, np.uint32))
        gpu.load(RACE).kernel().launch((1,), [x], seed=seed)
        return int(x.array()[0])

    assert last(1) == last(1)
    assert len({last(seed) for seed in range(8)}) > 1


def test_an_endless_kernel_is_a_finding() -> None:
    result = device("sim", max_instructions=500).load(SPIN).kernel().launch((1,))
    (finding,) = result.findings
    assert (finding.kind, finding.line) == ("limit", 9)


def test_a_typed_scalar_must_match() -> None:
    gpu = device("sim")
    x = gpu.buffer(np.zeros(1, np.float32), "x")
    kernel = gpu.load(SCALE).kernel()
    with pytest.raises(DiagnosticError, match=r"parameter 'n' \(i32\): found f32:1.0, expected i32"):
        kernel.launch((1,), [x, Scalar(1.0, lookup_type("f32")), 1.0])


def test_an_unknown_device_or_option() -> None:
    with pytest.raises(DiagnosticError, match="unknown device 'tpu'; expected sim or cuda"):
        device("tpu")
    with pytest.raises(TypeError, match="does not support the option 'sed'"):
        device("sim", sed=1)


@pytest.mark.parametrize("timing", [False, True])
def test_an_unknown_option_of_a_launch(timing: bool) -> None:
    gpu = device("sim", gpu_name="sm_80")
    x = gpu.buffer(np.zeros(1, np.float32), "x")
    with pytest.raises(TypeError, match="does not support the option 'persistent'"):
        gpu.load(SCALE).kernel().launch((1,), [x, 1, 1.0], timing=timing, persistent="static")


@pytest.mark.parametrize(
    ("own", "gpu", "message"),
    [
        ("sm_80", "sm_90a", ""),
        ("sm_90a", "sm_90a", ""),
        ("sm_90a", "sm_100a", "the PTX is only for sm_90a; it does not run on"),
        ("sm_90", "sm_80", "the PTX is for sm_90 and later; it does not run on"),
        ("sm_35", "sm_80", ""),
        ("sm_35", None, ""),
        ("sm_80", "sm_1", "unknown GPU 'sm_1'"),
    ],
)
def test_ptx_runs_on_its_architecture_and_on_later_ones(own: str, gpu: str | None, message: str) -> None:
    text = SCALE.replace("sm_80", own)
    if not message:
        assert device("sim", gpu_name=gpu).load(text).kernel().name == "scale"
        return
    with pytest.raises(DiagnosticError, match=message):
        device("sim", gpu_name=gpu).load(text)
