"""`tessera-run --ranks`: from a module to whole results, and what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from programs import fresh_seed
from runtime.plans import CUTS, EXAMPLES, matmul

from tessera_tools.cli.run import run
from tessera_tools.cli.translate import run as translate
from tessera_tools.emit.manifest import Manifest

SHAPE = (32, 32, 64)
MAIN = "from tessera_tools.cli.run import main; main()"
COMMON = ("--color=never", "--transport=mpi")


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "matmul.mlir"
    path.write_text(matmul("x = 2", *CUTS["reduce_scatter"], SHAPE))
    return path


def _operands(folder: Path) -> list[str]:
    rng = np.random.default_rng(fresh_seed())
    a, b = (rng.uniform(-1, 1, shape).astype(np.float16) for shape in ((32, 64), (64, 32)))
    np.save(folder / "a.npy", a)
    np.save(folder / "b.npy", b)
    np.save(folder / "d.npy", (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32))
    return [f"--arg=A=@{folder}/a.npy", f"--arg=B=@{folder}/b.npy"]


def test_results_are_compared_and_written(module: Path, tmp_path: Path) -> None:
    expect = f"--expect=result0=@{tmp_path}/d.npy:rtol=1e-4:atol=1e-4"
    out = tmp_path / "result.npy"
    report = tmp_path / "report.json"
    made = run(
        [
            str(module),
            "--ranks=2",
            *_operands(tmp_path),
            expect,
            f"--out=result0={out}",
            f"--report={report}",
            *COMMON,
        ]
    )
    assert made.exit_code == 0, made.stderr.decode()
    assert "main: 2 ranks over MPI, 1 launch and 1 exchange each" in made.stderr.decode()
    assert "result0: 1,024 elements as expected" in made.stderr.decode()
    np.testing.assert_allclose(np.load(out), np.load(tmp_path / "d.npy"), rtol=1e-4, atol=1e-4)
    data = json.loads(report.read_text())
    assert data["status"] == "success" and data["mesh"] == {"x": 2} and len(data["runs"]) == 2


def test_a_wrong_answer_is_status_2(module: Path, tmp_path: Path) -> None:
    operands = _operands(tmp_path)
    made = run([str(module), "--ranks=2", *operands, "--expect=result0=zeros:f32:32x32", *COMMON])
    assert made.exit_code == 2
    assert "elements are wrong" in made.stderr.decode()


def test_tensor_maps_are_no_arguments_of_a_plan(module: Path, tmp_path: Path) -> None:
    """The launcher makes them from the other parameters."""
    ptx = tmp_path / "matmul.ptx"
    assert translate([str(module), "--mlir-to-cubin", "--gpu-name=sm_90a", "-o", str(ptx)]).exit_code == 0
    manifest = Manifest.from_json((tmp_path / "matmul.json").read_text())
    (kernel,) = manifest.kernels
    assert len(kernel.hidden) == 2
    assert len(manifest.plans) == 1


def test_ptx_runs_with_its_manifest(module: Path, tmp_path: Path) -> None:
    cubin, ptx = tmp_path / "matmul.cubin", tmp_path / "matmul.ptx"
    assert translate([str(module), "--mlir-to-cubin", "-o", str(cubin)]).exit_code == 0
    assert translate([str(module), "--mlir-to-ptx", "-o", str(ptx)]).exit_code == 0
    (plan,) = json.loads((tmp_path / "matmul.json").read_text())["plans"]
    assert [step["kind"] for step in plan["steps"]] == ["launch", "reduce_scatter"]
    expect = f"--expect=result0=@{tmp_path}/d.npy:rtol=1e-4:atol=1e-4"
    operands = _operands(tmp_path)
    made = run([str(ptx), f"--manifest={tmp_path}/matmul.json", "--ranks=2", *operands, expect, *COMMON])
    assert made.exit_code == 0, made.stderr.decode()


def test_a_finding_names_its_rank(module: Path, tmp_path: Path) -> None:
    ptx = tmp_path / "matmul.ptx"
    assert translate([str(module), "--mlir-to-cubin", "-o", str(tmp_path / "matmul.cubin")]).exit_code == 0
    assert translate([str(module), "--mlir-to-ptx", "-o", str(ptx)]).exit_code == 0
    ptx.write_text(ptx.read_text().replace("cp.async.wait_group", "// cp.async.wait_group"))
    manifest = f"--manifest={tmp_path}/matmul.json"
    made = run([str(ptx), manifest, "--ranks=2", *_operands(tmp_path), *COMMON])
    shown = made.stderr.decode()
    assert made.exit_code == 3, shown
    assert re.search(
        r"^\S+matmul.ptx:\d+: error: in-flight: .*\n(  .*\n)*  note: on rank [01]$", shown, re.MULTILINE
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ranks=4"], "--ranks is 4, but 'main' is for 2 ranks (x = 2)"),
        (["--ranks=2", "--entry=other"], "there is no host function 'other'; found 'main'"),
        (
            ["--ranks=2", "--grid=2"],
            "--grid applies to a single kernel; with --ranks, the plan defines the launches",
        ),
        (
            ["--ranks=2", "--modes=both"],
            "--modes=both runs each schedule twice; with --ranks, expected late or early",
        ),
        (["--ranks=2", "--arg=rand:f16:32x64"], "'main' takes 2 arguments, 1 given: A, B"),
        (["--ranks=2", "--arg=i32:4"], "'i32:4': host functions take arrays, as in A=rand:f16:128x64"),
        (["--ranks=2", "--out=D=d.npy"], "there is no result 'D'; 'main' returns result0"),
    ],
)
def test_what_does_not_fit_is_refused(module: Path, options: list[str], message: str) -> None:
    made = run([str(module), *options, *COMMON])
    assert made.exit_code == 1
    assert message in made.stderr.decode()


@pytest.mark.parametrize("options", [[], ["--entry=main", "--grid=2"]])
def test_a_host_function_needs_ranks(module: Path, options: list[str]) -> None:
    made = run([str(module), *options, *COMMON])
    assert made.exit_code == 1
    assert "'main' is a host function for 2 ranks; run it with --ranks=2" in made.stderr.decode()


def test_a_kernel_beside_a_host_function_needs_no_ranks(module: Path) -> None:
    made = run([str(module), "--grid=1", *COMMON])
    assert "--ranks" not in made.stderr.decode()


def test_a_module_without_a_host_function(tmp_path: Path) -> None:
    path = tmp_path / "empty.ptx"
    path.write_text(".version 8.0\n.target sm_80\n.address_size 64\n")
    made = run([str(path), "--ranks=2", *COMMON])
    assert made.exit_code == 1
    assert "--ranks: the input has no host function" in made.stderr.decode()


def test_what_a_plan_cannot_have_is_refused_at_its_place(tmp_path: Path) -> None:
    path = tmp_path / "host.mlir"
    path.write_text("""
module attributes {tile.mesh = #tile.mesh<x = 2>} {
  func.func @main(%a: memref<8xf32>) -> memref<8xf32> attributes {tile.per_rank} {
    %0 = tile.allreduce %a {mesh_axis = "x", reduction_kind = "sum"} : memref<8xf32> -> memref<8xf32>
    %s = tile.alloc_shared : memref<8xf32, 3>
    return %0 : memref<8xf32>
  }
}
""")
    made = run([str(path), "--ranks=2", "--arg=rand:f32:8", *COMMON])
    assert made.exit_code == 1
    assert (
        "host.mlir:5:10: error: 'tile.alloc_shared' op is not supported in a host function"
        in made.stderr.decode()
    )


def test_a_program_of_exchanges_alone(tmp_path: Path) -> None:
    path = tmp_path / "host.mlir"
    path.write_text("""
module attributes {tile.mesh = #tile.mesh<x = 2>} {
  func.func @main(%a: memref<2x8xf32> {sharding = #tile.sharding<[{x}, {}]>})
      -> (memref<4x4xf32> {sharding = #tile.sharding<[{}, {x}]>}) attributes {tile.per_rank} {
    %0 = tile.all_to_all %a {mesh_axis = "x", split_dim = 1 : i64, gather_dim = 0 : i64}
        : memref<2x8xf32> -> memref<4x4xf32>
    return %0 : memref<4x4xf32>
  }
}
""")
    given = "--arg=arange:f32:4x8"
    made = run([str(path), "--ranks=2", given, "--expect=result0=arange:f32:4x8", *COMMON])
    assert made.exit_code == 0, made.stderr.decode()


def test_every_stage_is_saved(module: Path, tmp_path: Path) -> None:
    saved = tmp_path / "stages"
    made = translate(
        [str(module), "--mlir-to-cubin", f"--save-temps={saved}", "-o", str(tmp_path / "m.cubin")]
    )
    assert made.exit_code == 0, made.stderr.decode()
    assert "tile.launch @gemm" in (saved / "1-tile.mlir").read_text()
    assert "tile.launch" not in (saved / "3-nv_tileas.mlir").read_text()
    assert json.loads((tmp_path / "m.json").read_text())["plans"][0]["name"] == "main"


def _mpiexec(ranks: int, *argv: str, code: str = MAIN) -> subprocess.CompletedProcess[str]:
    """tessera-run as a user starts it on many machines, here on one."""
    command = [str(Path(sys.executable).parent / "mpiexec"), "-n", str(ranks), sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    return subprocess.run([*command, *argv], env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("ranks", [2, 4])
def test_under_mpiexec_rank_0_tells_the_result(ranks: int, tmp_path: Path) -> None:
    path = tmp_path / "matmul.mlir"
    path.write_text(matmul(f"x = {ranks}", *CUTS["reduce_scatter"], SHAPE))
    operands = _operands(tmp_path)
    expect = f"--expect=result0=@{tmp_path}/d.npy:rtol=1e-4:atol=1e-4"
    options = [str(path), f"--ranks={ranks}", *operands, expect, "--color=never"]
    done = _mpiexec(ranks, *options, f"--out=result0={tmp_path}/out.npy")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"main: {ranks} ranks over MPI") == 1
    np.testing.assert_allclose(
        np.load(tmp_path / "out.npy"), np.load(tmp_path / "d.npy"), rtol=1e-4, atol=1e-4
    )


LATE = """
import time
from mpi4py import MPI
from tessera_tools.runtime.ranks_mpi import end_in_order
rank = MPI.COMM_WORLD.Get_rank()
MPI.Finalize()
time.sleep(0.5 if rank else 0)
print("rank", rank, flush=True)
end_in_order()
"""


def test_ranks_that_end_late_are_not_killed() -> None:
    command = [
        os.path.join(os.path.dirname(sys.executable), "mpiexec"),
        "-n",
        "4",
        sys.executable,
        "-c",
        LATE,
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.count("rank")) == (0, 4), done.stderr


def test_under_mpiexec_a_wrong_answer_is_status_2(module: Path, tmp_path: Path) -> None:
    options = [str(module), "--ranks=2", *_operands(tmp_path), "--expect=result0=zeros:f32:32x32"]
    assert _mpiexec(2, *options).returncode == 2


def test_under_mpiexec_an_error_is_told_once(module: Path) -> None:
    done = _mpiexec(2, str(module), "--ranks=2", "--arg=rand:f16:32x64")
    assert done.returncode == 1
    assert done.stderr.count("error: 'main' takes 2 arguments, 1 given: A, B") == 1
    done = _mpiexec(3, str(module), "--ranks=2", "--arg=rand:f16:32x64", "--arg=rand:f16:64x32")
    assert done.returncode == 1
    assert done.stderr.count("error: mpiexec started 3 processes, but the plan has 2 ranks") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("cuts", "options", "message"),
    [
        ("reduce_scatter", ["--seed=5"], "argument 'A' has other contents on this rank than on rank 0"),
        ("nothing", [], "this rank runs 'main' of 1 step, but rank 0 runs 'main' of 2 steps"),
    ],
)
def test_a_rank_with_another_program_is_named(
    module: Path, tmp_path: Path, cuts: str, options: list[str], message: str
) -> None:
    other = tmp_path / "other.mlir"
    other.write_text(matmul("x = 2", *CUTS[cuts], SHAPE))
    common = ["--ranks=2", "--arg=rand:f16:32x64", "--arg=rand:f16:64x32"]
    start = ["-n", "1", sys.executable, "-c", MAIN]
    done = _mpiexec(1, str(module), *common, ":", *start, str(other), *common, *options)
    assert done.returncode == 1
    assert f"error: {message}" in done.stderr
    assert "note: on rank 1" in done.stderr


KILLED = """
import os, signal
from tessera_tools.runtime import ranks_mpi
from tessera_tools.cli.run import main
if os.environ["PMI_RANK"] == "3":
    ranks_mpi.run_rank = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
main()
"""


def test_a_rank_that_is_killed_under_mpiexec_is_named(tmp_path: Path) -> None:
    module = tmp_path / "matmul.mlir"
    module.write_text(matmul("x = 4", *CUTS["reduce_scatter"], SHAPE))
    done = _mpiexec(4, str(module), "--ranks=4", *_operands(tmp_path), code=KILLED)
    assert done.returncode != 0
    assert "error: rank 3 was killed by SIGKILL" in done.stderr


def test_under_mpiexec_a_host_function_needs_ranks(module: Path) -> None:
    done = _mpiexec(2, str(module))
    assert done.returncode == 1
    assert "run it with --ranks=2" in done.stderr


def test_a_rank_that_fails_under_mpiexec_is_named(module: Path, tmp_path: Path) -> None:
    done = _mpiexec(2, str(module), "--ranks=2", *_operands(tmp_path), "--max-instructions=10")
    assert done.returncode == 1
    assert "'gemm' does not end" in done.stderr
    assert "on rank " in done.stderr


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_example_of_attention(ranks: int, tmp_path: Path) -> None:
    text = (EXAMPLES / "distributed_attention.mlir").read_text()
    module = tmp_path / "attention.mlir"
    module.write_text(text.replace("sequence = 2", f"sequence = {ranks}"))
    rng = np.random.default_rng(fresh_seed())
    q, k, v = (rng.standard_normal((4, 128, 64)).astype(np.float16) for _ in range(3))
    scores = q.astype(np.float64) @ np.swapaxes(k.astype(np.float64), 1, 2) / 8
    weights = np.exp(np.where(np.tri(128, dtype=bool), scores, -np.inf))
    np.save(tmp_path / "o.npy", (weights / weights.sum(-1, keepdims=True) @ v).astype(np.float16))
    arguments: list[str] = []
    for name, array in zip("QKV", (q, k, v), strict=True):
        np.save(tmp_path / f"{name}.npy", array)
        arguments.append(f"--arg={name}=@{tmp_path}/{name}.npy")
    expect = f"--expect=result0=@{tmp_path}/o.npy:rtol=1e-2:atol=4e-3"
    made = run([str(module), f"--ranks={ranks}", *arguments, expect, *COMMON])
    assert made.exit_code == 0, made.stderr.decode()
    assert f"attention: {ranks} ranks over MPI" in made.stderr.decode()
    assert "no findings" in made.stderr.decode()
