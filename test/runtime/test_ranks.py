"""Plans on ranks: the sharded product is the unsharded one, whatever is exchanged.

The exchanges are tested over each transport. What the plans compute is the same over all of them: the ranks of most
products are threads (`threads.py`), and one product runs over each transport.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from programs import fresh_seed
from runtime import threads
from runtime.plans import CUTS, EMPTY, NO_TORCH, compiled, kinds, matmul

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.emit.manifest import Manifest
from tessera_tools.emit.plan import Exchange, Plan, Tensor
from tessera_tools.runtime import ranks_mpi
from tessera_tools.runtime.ranks import PlanResult, run_plan
from tessera_tools.runtime.ranks_torch import TorchTransport
from tessera_tools.runtime.types import TYPES

SHAPE = (32, 64, 128)
TORCH = pytest.mark.skipif(bool(NO_TORCH), reason=NO_TORCH)


def _operands(rng: np.random.Generator, shape: tuple[int, int, int] = SHAPE) -> tuple[np.ndarray, np.ndarray]:
    m, n, k = shape
    return tuple(rng.uniform(-1, 1, size).astype(np.float16) for size in ((m, k), (k, n)))  # type: ignore[return-value]


def _run(text: str, arguments: tuple[np.ndarray, ...], transport: str, **options: object) -> PlanResult:
    """Run a plan over `mpi`, `torch` or, in this process, `threads`; no finding, no disagreement."""
    ptx, manifest = compiled(text)
    with pytest.MonkeyPatch.context() as patch:
        if transport == "threads":
            patch.setattr(ranks_mpi, "run_job", threads.run_job)
        made = run_plan(
            ptx,
            manifest,
            manifest.plans[0],
            arguments,
            transport="mpi" if transport == "threads" else transport,
            time_limit=60,
            **options,  # type: ignore[arg-type]
        )
    assert not made.disagreements
    assert not [finding for one in made.ranks for launch in one.launches for finding in launch.findings]
    return made


@functools.cache
def _unsharded(seed: int) -> np.ndarray:
    """The product of `_operands` on one rank."""
    arguments = _operands(np.random.default_rng(seed))
    return _run(matmul("x = 1", *CUTS["whole"], SHAPE), arguments, "threads").results[0][0]


SEED = fresh_seed()


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("exchange", CUTS)
def test_a_sharded_product_is_the_unsharded_one(exchange: str, ranks: int) -> None:
    print(f"seed: {SEED}")
    rng = np.random.default_rng(SEED)
    arguments = _operands(rng)
    text = matmul(f"x = {ranks}", *CUTS[exchange], SHAPE)
    assert kinds(compiled(text)[1]) == [kind for kind in (exchange,) if kind not in ("nothing", "whole")]
    ((found, _),) = _run(text, arguments, "threads", seed=int(rng.integers(100))).results
    a, b = (array.astype(np.float64) for array in arguments)
    np.testing.assert_allclose(found, a @ b, rtol=1e-5, atol=1e-4)
    whole = _unsharded(SEED)
    if exchange in ("all_reduce", "reduce_scatter"):
        np.testing.assert_allclose(found, whole, rtol=1e-5, atol=1e-4)  # the sum along K is in another order
    else:
        np.testing.assert_array_equal(found, whole)


TWO_AXES = ("[{y}, {x}]", "[{x}, {}]", "[{x}, {y}]")


def test_a_mesh_of_two_axes() -> None:
    rng = np.random.default_rng(fresh_seed())
    arguments = _operands(rng)
    text = matmul("x = 2, y = 2", *TWO_AXES, SHAPE)
    assert kinds(compiled(text)[1]) == ["all_to_all", "reduce_scatter"]
    a, b = (array.astype(np.float64) for array in arguments)
    np.testing.assert_allclose(_run(text, arguments, "threads").results[0][0], a @ b, rtol=1e-5, atol=1e-4)


# -- exchanges alone

RANKS = 3
TYPES_MOVED = ("f16", "bf16", "f64", "i16", "i32")


def _all_exchanges() -> tuple[Plan, list[str]]:
    """A plan with every exchange of matrices of 6 by 6, for every type: the ranks begin with their rows. And the name
    of each result."""
    tensors: list[Tensor] = []
    steps: list[Exchange] = []
    names: list[str] = []
    kinds_of = [(k, c) for k in ("all_reduce", "reduce_scatter") for c in ("sum", "max", "min")]
    kinds_of += [("all_gather", None), ("all_to_all", None), ("all_slice", None)]
    for type in TYPES_MOVED:
        source = len(tensors)
        tensors.append(Tensor(type, type, (2, 6), ("x", None)))
        for kind, combine in kinds_of:
            split = 1 if kind in ("reduce_scatter", "all_to_all", "all_slice") else None
            gather = 0 if kind in ("all_gather", "all_to_all") else None
            shape = (6 if gather == 0 else 2, 2 if split == 1 else 6)
            cut = (None, "x" if kind in ("reduce_scatter", "all_to_all") else None)
            if kind == "all_slice":
                cut = ("x", None)
            steps.append(Exchange(kind, "x", source, len(tensors), split, gather, combine))
            names.append(f"{type} {kind} {combine}")
            tensors.append(Tensor(names[-1], type, shape, cut))
    arguments = tuple(n for n, tensor in enumerate(tensors) if tensor.name in TYPES_MOVED)
    results = tuple(n for n in range(len(tensors)) if n not in arguments)
    return Plan("exchanges", (("x", RANKS),), tuple(tensors), arguments, results, tuple(steps)), names


def _check_exchanges(transport: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    plan, names = _all_exchanges()
    manifest = Manifest("sm_80", "8.0", (), plans=(plan,))
    assert Manifest.from_json(manifest.to_json()) == manifest
    values = {name: rng.integers(-40, 40, (6, 6)) for name in TYPES_MOVED}
    arguments = [TYPES[name].encode(values[name]).reshape(6, 6) for name in TYPES_MOVED]
    made = run_plan(EMPTY, manifest, plan, arguments, transport=transport, time_limit=60)
    assert not made.disagreements
    assert {one.transport for one in made.ranks} == {"torch.distributed" if transport == "torch" else "MPI"}
    for text, (found, type) in zip(names, made.results, strict=True):
        name, kind, combine = text.split()
        whole = values[name]
        if kind in ("all_gather", "all_to_all"):
            wanted = whole
        elif kind == "all_slice":
            wanted = np.concatenate([whole[2 * r : 2 * r + 2, 2 * r : 2 * r + 2] for r in range(RANKS)])
        else:
            parts = np.split(whole, RANKS)
            wanted = {"sum": sum, "max": np.maximum.reduce, "min": np.minimum.reduce}[combine](parts)
        np.testing.assert_array_equal(type.decode(found), wanted, err_msg=text)


def test_exchanges_over_mpi() -> None:
    _check_exchanges("mpi")


@TORCH
def test_exchanges_over_torch() -> None:
    _check_exchanges("torch")


@pytest.mark.parametrize(
    "transport, name", [("mpi", "MPI"), pytest.param("torch", "torch.distributed", marks=TORCH)]
)
def test_a_product_over_each_transport(transport: str, name: str) -> None:
    """Two exchanges, each in groups of two of the four ranks."""
    rng = np.random.default_rng(fresh_seed())
    arguments = _operands(rng)
    made = _run(matmul("x = 2, y = 2", *TWO_AXES, SHAPE), arguments, transport)
    a, b = (array.astype(np.float64) for array in arguments)
    np.testing.assert_allclose(made.results[0][0], a @ b, rtol=1e-5, atol=1e-4)
    assert [one.transport for one in made.ranks] == [name] * 4


# -- what goes wrong


def test_ranks_that_disagree_are_found() -> None:
    plan = Plan(
        "plan",
        (("x", 2),),
        (Tensor("a", "i32", (2,), ("x",)), Tensor("r", "i32", (2,), (None,))),
        (0,),
        (1,),
        (Exchange("all_slice", "x", 0, 1, split=0),),
    )
    broken = Plan(
        plan.name, plan.mesh, (plan.tensors[0], Tensor("r", "i32", (1,), (None,))), (0,), (1,), plan.steps
    )
    made = run_plan(
        EMPTY, Manifest("sm_80", "8.0", ()), broken, [np.arange(4, dtype=np.int32)], transport="mpi"
    )
    assert made.disagreements == ["ranks disagree: r[0] is 0 on rank 0, and 3 on rank 1"]


def test_an_argument_of_another_shape() -> None:
    ptx, manifest = compiled(matmul("x = 2", *CUTS["all_reduce"], SHAPE))
    a, b = _operands(np.random.default_rng(0))
    with pytest.raises(DiagnosticError, match="argument 'B' is float16 of 32x128; expected f16 of 128x64"):
        run_plan(ptx, manifest, manifest.plans[0], [a, a], transport="mpi")
    with pytest.raises(DiagnosticError, match="'main' takes 2 arguments, 3 given: A, B"):
        run_plan(ptx, manifest, manifest.plans[0], [a, b, b], transport="mpi")


def test_a_rank_that_fails_ends_all() -> None:
    ptx, manifest = compiled(matmul("x = 2", *CUTS["all_reduce"], SHAPE))
    arguments = _operands(np.random.default_rng(0))
    with pytest.raises(DiagnosticError, match="'gemm' does not end") as failure:
        run_plan(ptx, manifest, manifest.plans[0], arguments, transport="mpi", max_instructions=100)
    assert any("on rank" in note.message for note in failure.value.diagnostics[0].notes)


def test_without_torch_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tessera_tools.runtime.ranks.has_torch", lambda: False)
    ptx, manifest = compiled(matmul("x = 2", *CUTS["all_reduce"], SHAPE))
    with pytest.raises(DiagnosticError, match="torch cannot be imported, which --transport=torch needs"):
        run_plan(ptx, manifest, manifest.plans[0], _operands(np.random.default_rng(0)), transport="torch")


def test_a_torch_that_is_broken_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DiagnosticError, match="torch cannot be imported: import of torch halted"):
        TorchTransport(0, 1, "unused", [], 1)


JOB = """\
import os, sys, time
import numpy as np
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.runtime.ranks_mpi import MpiTransport, finish
from tessera_tools.runtime.ranks_transport import LostRankError
from tessera_tools.runtime.types import TYPES
from mpi4py import MPI

rank, ranks = MPI.COMM_WORLD.rank, list(range(MPI.COMM_WORLD.size))
transport = MpiTransport(MPI.COMM_WORLD, float(sys.argv[2]))

def mismatched_size():
    transport.all_gather(np.zeros(4 + rank), ranks)

def mismatched_kind():
    parts = [np.zeros(4, np.float32)] * len(ranks)
    if rank:
        transport.all_to_all(parts, ranks)
    else:
        transport.reduce_scatter(parts, TYPES["f32"], "sum", ranks)

def mismatched_type():
    transport.doing = f"'a' ({'f16' if rank else 'bf16'}, 4)"
    transport.all_gather(np.zeros(4, np.uint16), ranks)

def mismatched_group():
    transport.all_gather(np.zeros(4), [0, 1] if rank < 2 else [1, 2, 3] if rank == 2 else [2, 3])

def mismatched_count():
    transport.all_gather(np.zeros(4), ranks)
    if rank:
        transport.all_gather(np.zeros(4), ranks)
    transport.close()

def mismatched_order():
    first, second = (ranks, [rank]) if rank else ([rank], ranks)
    transport.all_gather(np.zeros(4), first)
    transport.all_gather(np.zeros(4), second)

def late():
    if rank != 1:
        transport.all_gather(np.zeros(4), ranks)
    time.sleep(1)

def large():
    found = transport.all_gather(np.arange(1 << 20) + rank, ranks)
    assert all((one == np.arange(1 << 20) + other).all() for other, one in enumerate(found))
    os.write(1, b"right\\n")

try:
    globals()[sys.argv[1]]()
except (DiagnosticError, LostRankError) as failure:
    text = failure.diagnostics[0].message if isinstance(failure, DiagnosticError) else str(failure)
    os.write(1, f"{rank}: {text}\\n".encode())
finish()
"""


def job(what: str, ranks: int, limit: float = 60) -> list[str]:
    """What the ranks of a job print, in the order of the lines."""
    command = [str(Path(sys.executable).parent / "mpiexec"), "-n", str(ranks), sys.executable, "-c", JOB]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(
        [*command, what, str(limit)], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(done.stdout.splitlines())


def test_an_exchange_of_other_sizes_is_told_on_both_sides() -> None:
    first, second = job("mismatched_size", 2)
    assert first == (
        "0: exchange 1 does not match: rank 1 is in all_gather with parts of 40 bytes, among ranks 0, 1; "
        "rank 0 is in all_gather with parts of 32 bytes, among ranks 0, 1"
    )
    assert second.startswith("1: exchange 1 does not match: rank 0 is in all_gather with parts of 32 bytes")


@pytest.mark.parametrize(
    ("what", "theirs", "mine"),
    [
        ("kind", "in all_to_all with parts of 16 bytes", "in reduce_scatter with parts of 16 bytes"),
        ("type", "in all_gather of 'a' (f16, 4) with parts", "in all_gather of 'a' (bf16, 4) with parts"),
        ("count", "in all_gather with parts of 32 bytes, among ranks 0, 1", "at its end, among ranks 0, 1"),
        (
            "order",
            "in all_gather with parts of 32 bytes, among ranks 0, 1",
            "in all_gather with parts of 32 bytes, among ranks 0",
        ),
    ],
)
def test_another_exchange_is_told(what: str, theirs: str, mine: str) -> None:
    first, *_ = job(f"mismatched_{what}", 2)
    assert f"rank 1 is {theirs}" in first
    assert f"rank 0 is {mine}" in first


def test_ranks_of_other_groups_do_not_wait_for_each_other() -> None:
    told = job("mismatched_group", 4)
    assert len(told) == 4
    assert "rank 1 is in all_gather with parts of 32 bytes, among ranks 0, 1; rank 2 is" in told[2]
    assert "rank 2 is in all_gather with parts of 32 bytes, among ranks 1, 2, 3; rank 3 is" in told[3]


def test_a_rank_that_is_late_is_told() -> None:
    assert job("late", 3, 0.1) == [f"{rank}: no message from rank 1 within 0.1 s" for rank in (0, 2)]


def test_more_than_a_buffer_of_mpi_holds_goes_through() -> None:
    assert job("large", 4) == ["right"] * 4


MOMENTS = {
    "it starts": "_world",
    "its first launch": "run_rank",
    "an exchange": "MpiTransport._swap",
    "its last comparison": "MpiTransport.close",
    "its result is written": "_put",
}
"""When a rank ends → the function of ranks_mpi that it does not reach."""


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(
    ("how", "says"),
    [("os.kill(os.getpid(), 9)", "was killed by SIGKILL"), ("os._exit(5)", "exited with status 5")],
)
def test_a_rank_that_dies_is_told_and_ends_all(
    moment: str, how: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        ranks_mpi._BOOTSTRAP.split("; from")[0]
        + f"""
import tessera_tools.runtime.ranks_mpi as mpi
if os.environ["PMI_RANK"] == "2":
    def work_in_child(tell, real=mpi._work_in_child):
        real(tell)
        mpi.{MOMENTS[moment]} = lambda *_: {how}
    mpi._work_in_child = work_in_child
mpi.run_rank_of_job(sys.argv[1])
"""
    )
    monkeypatch.setattr(ranks_mpi, "_BOOTSTRAP", code)
    ptx, manifest = compiled(matmul("x = 4", *CUTS["all_reduce"], SHAPE))
    begin = time.monotonic()
    with pytest.raises(DiagnosticError) as failure:
        run_plan(ptx, manifest, manifest.plans[0], _operands(np.random.default_rng(0)), transport="mpi")
    assert failure.value.diagnostics[0].message == f"rank 2 {says} before all ranks were done"
    assert time.monotonic() - begin < 60


def test_without_mpi_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tessera_tools.runtime.ranks_mpi.has_mpi", lambda: False)
    ptx, manifest = compiled(matmul("x = 2", *CUTS["all_reduce"], SHAPE))
    with pytest.raises(DiagnosticError, match="mpi4py cannot be imported, which --ranks needs"):
        run_plan(ptx, manifest, manifest.plans[0], _operands(np.random.default_rng(0)))


# -- the matrix product of the passes' description, as it stands there

LISTING = """
module attributes {tile.mesh = #tile.mesh<tensor_parallel = RANKS>} {
  func @distributed_matmul(%A: memref<128x64xbf16> CUT_A, %B: memref<64x128xbf16> CUT_B) -> memref<128x128xf32, 5> {
    %C = tile.alloc_register : memref<128x128xf32, 5>
    %result = tile.mma %A, %B, %C : memref<128x64xbf16>, memref<64x128xbf16>, memref<128x128xf32, 5>
      -> memref<128x128xf32, 5>
    return %result : memref<128x128xf32, 5>
  }
}
"""


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    ("operand", "exchanges"), [("A", ["all_slice", "all_reduce"]), ("B", ["all_gather"])]
)
def test_the_listing_is_its_product(operand: str, exchanges: list[str], ranks: int) -> None:
    rng = np.random.default_rng(fresh_seed())
    text = LISTING.replace("RANKS", str(ranks))
    for name in "AB":
        text = text.replace(f"CUT_{name}", '{sharding = "tensor_parallel"}' if name == operand else "")
    assert kinds(compiled(text)[1]) == exchanges
    bf16 = TYPES["bf16"]
    arguments = tuple(bf16.encode(rng.uniform(-1, 1, size)).reshape(size) for size in ((128, 64), (64, 128)))
    made = _run(text, arguments, "threads")
    a, b = (bf16.decode(array) for array in arguments)
    np.testing.assert_allclose(made.results[0][0], a @ b, rtol=1e-5, atol=1e-4)
