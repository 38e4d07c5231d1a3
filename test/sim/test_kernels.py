"""The compiler's GEMMs, as PTX on the simulated GPU, against NumPy in float64: ragged shapes, fresh seeds.

Each kernel runs in both modes and under several schedules; it must be right, and without findings.  The plain ABI keeps
all targets on cp.async and mma.sync; test/pipelines runs the kernels that take tensor maps.
"""

from __future__ import annotations

import functools
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import worker
from run_cache import once_in_a_run

from tessera_tools import sim
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.emit.kernels import kernels_of_module
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup

CORPUS = Path(__file__).parents[1] / "corpus"
TARGETS = ("sm_80", "sm_90a", "sm_120a")


@dataclass(frozen=True)
class Gemm:
    """A kernel of the corpus: its tile, whether B comes as [n, k], and whether it adds an f32 bias."""

    name: str
    tile: tuple[int, int]
    transposed: bool = False
    bias: bool = False


GEMMS = (
    Gemm("gemm_nt_bias_f16_128x128x64", (128, 128), transposed=True, bias=True),
    Gemm("gemm_f16_128x256x64", (128, 256)),
    Gemm("gemm_f16_64x64x32", (64, 64)),
)


@once_in_a_run
def compiled(name: str, target: str) -> tuple[str, int]:
    """PTX, and bytes of dynamic shared memory."""
    path = CORPUS / f"{name}.mlir"
    module = parse_module(path.read_text(), str(path))
    made = compile_module(module, Options(lookup(target), until="ptx", plain_abi=True), worker=worker())
    (kernel,) = kernels_of_module(module)
    return made.text("ptx"), kernel.dynamic_shared


@functools.lru_cache(maxsize=4)
def loaded(name: str, target: str) -> tuple[sim.Module, int]:
    """The PTX on a simulated GPU of its own, and bytes of dynamic shared memory."""
    text, shared = compiled(name, target)
    return sim.load(text, file=f"{name}.ptx"), shared


def fresh_seed() -> int:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    return seed


def launch(
    gemm: Gemm, target: str, extents: tuple[int, int, int], seed: int, mode: str, **options: Any
) -> Any:
    """Run one GEMM of random operands, whose result must be right; the launch's result."""
    m, n, k = extents
    rng = np.random.default_rng(seed)
    module, shared = loaded(gemm.name, target)
    before = list(module.memory.regions)
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal((n, k) if gemm.transposed else (k, n)).astype(np.float16)
    expected = a.astype(np.float64) @ (b.T if gemm.transposed else b).astype(np.float64)
    bound = np.abs(a.astype(np.float64)) @ np.abs((b.T if gemm.transposed else b).astype(np.float64))
    args: list[Any] = [module.memory.allocate(a, "A"), m, k, k, 1]
    args += [module.memory.allocate(b, "B"), *b.shape, b.shape[1], 1]
    if gemm.bias:
        bias = rng.standard_normal((m, n)).astype(np.float32)
        args += [module.memory.allocate(bias, "bias"), m, n, n, 1]
        expected = expected + bias
    out = module.memory.allocate(np.zeros((m, n), np.float32 if gemm.bias else np.float16), "out")
    args += [out, m, n, n, 1]
    grid = (-(-m // gemm.tile[0]), -(-n // gemm.tile[1]))
    block = module.entry().required_block
    assert block is not None
    result = module.launch(None, grid, block, args, shared_bytes=shared, seed=seed, mode=mode, **options)
    assert not result.findings, result.findings.text(gemm.name)
    found = out.array().astype(np.float64)
    module.memory.regions[:], module.memory.recent = before, None
    rounding = 0.0 if gemm.bias else 2.0**-11
    assert (np.abs(found - expected) <= bound * k * 2.0**-24 + np.abs(expected) * (rounding + 2.0**-22)).all()
    return result


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("gemm", GEMMS, ids=lambda gemm: gemm.name)
def test_a_ragged_gemm_is_right_and_has_no_findings(gemm: Gemm, target: str, mode: str):
    seed = fresh_seed()
    rng = np.random.default_rng(seed)
    m, n = (tile + 8 * int(rng.integers(1, 9)) for tile in gemm.tile)
    launch(gemm, target, (m, n, 8 * int(rng.integers(9, 26))), seed, mode)


@pytest.mark.parametrize("target", TARGETS)
def test_every_schedule_gives_the_same(target: str):
    gemm = GEMMS[2]
    for _ in range(4):
        launch(gemm, target, (72, 64, 104), fresh_seed(), "late")


@pytest.mark.parametrize("extents", [(8, 8, 8), (1, 8, 64), (129, 8, 16)])
def test_a_gemm_smaller_than_its_tile(extents: tuple[int, int, int]):
    launch(GEMMS[0], "sm_80", extents, fresh_seed(), "late")


def test_the_counters_of_a_gemm():
    result = launch(GEMMS[0], "sm_80", (128, 128, 128), fresh_seed(), "late", stats=True)
    stats = result.stats
    assert stats.flops["mma.sync"] == 2 * 128**3
    assert stats.bytes["cp.async.global"] == 2 * 128 * 128 * 2
    assert stats.instructions["mma"] == 8 * 16 * 8


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("synchronization", ["bar.sync", "cp.async.wait_group", "cp.async.commit_group"])
def test_a_gemm_without_a_synchronization_is_reported(synchronization: str, target: str):
    gemm = GEMMS[2]
    text, shared = compiled(gemm.name, target)
    lines = text.splitlines()
    places = [number for number, line in enumerate(lines) if line.strip().startswith(synchronization)]
    assert places
    for place in places:
        mutant = "\n".join(line for number, line in enumerate(lines) if number != place)
        module = sim.load(mutant, file="mutant.ptx")
        ones = np.ones((64, 256), np.float16)
        a, b = module.memory.allocate(ones, "A"), module.memory.allocate(ones.T, "B")
        out = module.memory.allocate(np.zeros((64, 64), np.float16), "out")
        args = [a, 64, 256, 256, 1, b, 256, 64, 64, 1, out, 64, 64, 64, 1]
        block = module.entry().required_block
        assert block is not None
        kinds: set[str] = set()
        for seed in range(4):
            kinds |= module.launch(None, (1,), block, args, shared_bytes=shared, seed=seed).findings.kinds()
        assert kinds & {"race", "in-flight", "uninitialized"}, f"{lines[place].strip()} at line {place + 1}"
