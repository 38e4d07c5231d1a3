"""The programs of tools/bench/gpu_kernels.py in the simulated GPU, against float64: all elements of small launches."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np
import pytest
from docs.pages import ROOT
from programs import fresh_seed

import tessera_tools as tt
from tessera_tools import runtime
from tessera_tools.runtime.types import TYPES

sys.path.insert(0, str(ROOT / "tools" / "bench"))

import gpu_cases

pytest.importorskip("cuda.tile", reason="the package cuda-tile writes the programs")

from gpu_kernels import PROGRAMS, export

SMALL = {case.name: case for case in gpu_cases.CASES if case.small}
LARGER = {
    "gemm_f16_128", "gemm_bf16", "gemm_f8", "softmax_f32_4096", "layer_norm_bf16_4096", "transpose_f16",
    "attention_f16_d128_window1024",
}  # fmt: skip
"""Programs whose small cases would be those of another size or type once more."""


@functools.cache
def compiled(program: str, launches: str) -> Any:
    """The kernel of a program, which the launches in both modes share."""
    return tt.compile(
        export(program), "sm_90a", launches=launches, name=f"{program}.tileirbc", lineinfo=False
    )


def launched(case: gpu_cases.Case, seed: int, mode: str, launches: str = "any") -> tuple[dict[str, Any], Any]:
    """(inputs in float64 by name, the output in float64) of a launch in the simulated GPU."""
    kernel = compiled(case.program, launches)
    device = runtime.device("sim", gpu_name="sm_90a", mode=mode)
    values: dict[str, Any] = {}
    buffers: dict[str, Any] = {}
    for number, one in enumerate(case.tensors):
        kind = TYPES[one.type]
        if one.output:
            array = np.full(one.nbytes, 0xFF, np.uint8).view(kind.storage).reshape(one.shape)
        else:
            array = kind.encode(one.values(np.random.default_rng(seed + number)))
            values[one.name] = kind.decode(array)
        buffers[one.name] = device.buffer(array, one.name, kind)
    entry = device.load(kernel.ptx, kernel.manifest).kernel(kernel.name)
    result = entry.launch(case.grid, case.arguments(lambda name: buffers[name].address))
    assert not result.findings.of("error"), result.findings.of("error")[0].message
    output, kind = case.output, TYPES[case.output.type]
    found = buffers[output.name].read().view(kind.storage).reshape(output.shape)
    return values, kind.decode(found).astype(np.float64)


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("name", SMALL)
def test_a_program_computes_its_reference(name: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_cases, "SAMPLE", 1)
    case, seed = SMALL[name], fresh_seed()
    values, found = launched(case, seed, mode)
    inputs = {name: np.asarray(value, np.float64) for name, value in values.items()}
    error, allowed = gpu_cases.difference(case, found, gpu_cases.expected_of(case, inputs.__getitem__, seed))
    assert error <= allowed


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("name", ["d64 causal 2x256", "d128 paged 1x512", "d128 window 160 1x512"])
def test_the_longest_programs_of_attention_come_first(
    name: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large launches go through the grid of causal attention from its end, and their CTAs take tickets."""
    monkeypatch.setattr(gpu_cases, "SAMPLE", 1)
    case, seed = SMALL[f"attention f16 {name}"], fresh_seed()
    kernel = compiled(case.program, "large").manifest.kernels[0]
    assert kernel.persistent is not None and kernel.persistent.scheduler == "counter"
    values, found = launched(case, seed, mode, "large")
    inputs = {name: np.asarray(value, np.float64) for name, value in values.items()}
    error, allowed = gpu_cases.difference(case, found, gpu_cases.expected_of(case, inputs.__getitem__, seed))
    assert error <= allowed


def test_every_program_is_launched_and_has_a_small_case() -> None:
    assert {case.program for case in gpu_cases.CASES} == set(PROGRAMS)
    assert {case.program for case in SMALL.values()} >= set(PROGRAMS) - LARGER


@pytest.mark.parametrize("name", ["attention f16 d128 paged 1x512", "cross entropy bf16 8x10008"])
def test_another_place_in_memory_is_another_result(name: str) -> None:
    """The reference depends on the integers of a case."""
    case, seed = SMALL[name], fresh_seed()
    values = {one.name: one.values(np.random.default_rng(seed)).astype(np.float64) for one in case.tensors}
    before = gpu_cases.expected_of(case, values.__getitem__, seed)
    integers = next(one.name for one in case.tensors if one.type == "i32")
    values[integers] = values[integers][::-1, ::-1] if values[integers].ndim == 2 else values[integers][::-1]
    found = np.full(case.output.shape, np.nan)
    index, expected = gpu_cases.expected_of(case, values.__getitem__, seed)
    found[index] = expected
    error, allowed = gpu_cases.difference(case, found, before)
    assert error > allowed
