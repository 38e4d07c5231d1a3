"""Refusals of launchers, with their whole messages."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from runtime.ptx import SCALE
from runtime.test_cuda import install
from runtime.test_launch_file import launch
from runtime.test_timing import estimate

from oracles import find_tool
from tessera_tools.cli.run import run
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.runtime import device
from tessera_tools.runtime.interface import as_array, shape_of
from tessera_tools.runtime.ranks import _forked
from tessera_tools.runtime.ranks_mpi import _world, run_job
from tessera_tools.runtime.ranks_torch import TorchTransport
from tessera_tools.runtime.ranks_worker import type_of
from tessera_tools.runtime.signature import Parameter, Shape, Signature, merge, with_names

FOUR = Signature("k", (Parameter("p0", "i32", 4, 0),))


def message(failure: pytest.ExceptionInfo[DiagnosticError]) -> str:
    (only,) = failure.value.diagnostics
    return only.message


def notes(failure: pytest.ExceptionInfo[DiagnosticError]) -> list[str]:
    return [note.message for note in failure.value.diagnostics[0].notes]


def test_a_parameter_of_another_size_is_refused() -> None:
    with pytest.raises(DiagnosticError) as caught:
        with_names(FOUR, ["n:i64"])
    assert message(caught) == "--param 'n:i64': i64 takes 8 bytes; 'p0' has 4"


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ((), "the manifest lists 0 parameters of 'k'; the PTX has 1"),
        ((Parameter("n", "i64", 8, 0),), "the manifest gives 'n' 8 bytes; the PTX has 4"),
    ],
)
def test_a_manifest_of_another_kernel_is_refused(parameters: tuple[Parameter, ...], says: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        merge(FOUR, Signature("k", parameters))
    assert message(caught) == says
    assert notes(caught) == ["compile the kernel again"]


@pytest.mark.parametrize(
    ("declared", "required", "cluster"),
    [
        (None, None, None),
        ((2, 1, 1), None, (2, 1, 1)),
        (None, (4, 1, 1), (4, 1, 1)),
        ((2, 1, 1), (4, 1, 1), (4, 1, 1)),
    ],
)
def test_the_cluster_of_the_ptx_comes_before_that_of_the_manifest(
    declared: Shape | None, required: Shape | None, cluster: Shape | None
) -> None:
    found = merge(
        replace(FOUR, cluster=required), Signature("k", (Parameter("n", "i32", 4, 0),), cluster=declared)
    )
    assert found.cluster == cluster


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((), "the grid is empty; expected one to three numbers from 1"),
        ((1, 0), "the grid is 1,0; expected one to three numbers from 1"),
        ((1, 2, 3, 4), "the grid is 1,2,3,4; expected one to three numbers from 1"),
    ],
)
def test_a_shape_has_one_to_three_positive_extents(given: tuple[int, ...], says: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        shape_of(given, "grid")
    assert message(caught) == says


def test_an_array_that_is_not_on_the_host_is_refused() -> None:
    class Tensor:
        def __dlpack__(self, **options: object) -> object:
            raise BufferError("it is on a GPU.")

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    with pytest.raises(DiagnosticError) as caught:
        as_array(Tensor())
    assert message(caught) == "the array cannot be read through DLPack: it is on a GPU"
    assert notes(caught) == ["copy it to the host first; pass bf16 and fp8 as bit patterns, with type="]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "launch.json:1:2: error: this is not JSON: expecting property name enclosed in double quotes"),
        (b"\xff{}", "launch.json: this is not JSON: it is not UTF-8 text, or nested too deeply"),
        (b"[" * 100_000, "launch.json: this is not JSON: it is not UTF-8 text, or nested too deeply"),
        (
            b'{"shared": ' + b"9" * 5000 + b"}",
            "launch.json: a number has thousands of digits, expected at most 64 bits",
        ),
    ],
    ids=["syntax", "encoding", "depth", "digits"],
)
def test_a_launch_file_that_is_no_json_is_refused(content: bytes, says: str, tmp_path: Path) -> None:
    status, said = launch(tmp_path, content)
    assert status == 1
    assert says in said


def test_a_cubin_needs_a_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    with pytest.raises(DiagnosticError) as caught:
        device("cuda").load(b"\x7fELF", file="k.cubin")
    assert message(caught) == "the cubin 'k.cubin' has no launch manifest"
    assert notes(caught) == ["specify it with --manifest=FILE"]


def test_a_tensor_map_of_an_unknown_type_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    kernel: Any = device("cuda").load(SCALE).kernel()
    with pytest.raises(DiagnosticError) as caught:
        kernel.encode({"element": "f7"})
    assert message(caught) == "'scale': unknown element type 'f7' of a tensor map"


def test_an_empty_tensor_is_filled_with_zeros_alone() -> None:
    kernel: Any = device("sim").load(SCALE).kernel()
    with pytest.raises(DiagnosticError) as caught:
        kernel._empty({"fill": "nan", "dims": (4, 0)})
    assert message(caught) == (
        "'scale': a tensor map has dimensions (4, 0) and fills with nan; expected at least 1 in each"
    )


def test_a_tensor_of_the_manifest_has_a_known_type() -> None:
    with pytest.raises(DiagnosticError) as caught:
        type_of(SimpleNamespace(name="A", type="f7"))  # type: ignore[arg-type]
    assert message(caught) == "tensor 'A' of the manifest has the unknown element type 'f7'"


def test_mpi_that_cannot_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", ModuleType("mpi4py"))
    with pytest.raises(DiagnosticError) as caught:
        _world()
    assert message(caught).startswith("MPI cannot be started: cannot import name 'MPI' from 'mpi4py'")
    assert notes(caught) == ["pip install 'tessera-tools[distributed]'"]


def test_ranks_of_mpiexec_do_not_share_an_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def agree(failure: DiagnosticError | None) -> None:
        assert failure is not None
        raise failure

    monkeypatch.setattr(
        "tessera_tools.runtime.ranks_mpi.member", lambda: SimpleNamespace(rank=0, agree=agree)
    )
    done = run(["-", "--ranks=2"], SCALE.encode())
    assert done.stderr.decode() == "error: under mpiexec, every rank reads the input; expected a file name\n"


def torch(monkeypatch: pytest.MonkeyPatch, *, available: bool) -> None:
    """A torch whose process groups do not start."""

    def fail(*args: object, **options: object) -> None:
        raise RuntimeError("no such address\nat line 1")

    distributed: Any = ModuleType("torch.distributed")
    distributed.is_available = lambda: available
    distributed.init_process_group = fail
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    monkeypatch.setitem(os.environ, "GLOO_SOCKET_IFNAME", "lo")


@pytest.mark.parametrize(
    ("available", "says"),
    [
        (False, "this torch was built without torch.distributed"),
        (True, "torch.distributed cannot start with gloo: no such address at line 1"),
    ],
)
def test_torch_that_cannot_exchange_is_told(
    available: bool, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch(monkeypatch, available=available)
    with pytest.raises(DiagnosticError) as caught:
        TorchTransport(0, 1, "unused", [], 1)
    assert message(caught) == says


def test_ranks_need_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    missing: Any = None
    with pytest.raises(DiagnosticError) as caught:
        _forked(missing, missing, (), 1)
    assert message(caught) == "ranks are processes made by fork(), which this system does not have"


def test_an_mpiexec_that_starts_no_rank_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpiexec = tmp_path / "mpiexec"
    mpiexec.write_text("#!/bin/sh\necho no slots\nexit 3\n")
    mpiexec.chmod(0o755)
    monkeypatch.setattr("tessera_tools.runtime.ranks_mpi._mpiexec", lambda: str(mpiexec))
    plan: Any = SimpleNamespace(ranks=2)
    settings: Any = None
    with pytest.raises(DiagnosticError) as caught:
        run_job(plan, settings, (), 1)
    assert message(caught) == "mpiexec ended without the results of 2 ranks: no slots"


@pytest.mark.skipif(find_tool("ptxas") is None, reason="no ptxas")
def test_a_block_that_fits_on_no_sm_is_refused() -> None:
    """Its threads hold more than 64 registers each, and an SM has 64 K."""
    loaded = "\n".join(f"ld.volatile.global.f32 %f{i}, [%rd0];" for i in range(70))
    added = "\n".join(f"add.f32 %f69, %f69, %f{i};" for i in reversed(range(69)))
    with pytest.raises(DiagnosticError) as caught:
        estimate(f"{loaded}\n{added}\nmov.f32 %f0, %f69;", threads=1024)
    assert message(caught) == "no CTA of 'k' fits on an SM of sm_90"
