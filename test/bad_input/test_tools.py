"""ptxas absent, refusing, crashing or hanging, and LLVM aborting: one-line errors, and no half-made cubin."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from refusal import refused, run

from harness import Result

KERNEL = """\
module attributes {gpu.container_module} {
  llvm.func @kernel(%arg0: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %0 = llvm.mlir.constant(1 : i32) : i32
    llvm.store %0, %arg0 : i32, !llvm.ptr<1>
    llvm.return
  }
}
"""


def compile_with(ptxas: str, folder: Path, *options: str) -> Result:
    (folder / "kernel.mlir").write_text(KERNEL)
    argv = [
        "--mlir-to-cubin",
        "--gpu-name=sm_80",
        f"--ptxas={ptxas}",
        *options,
        "kernel.mlir",
        "-o",
        "out.cubin",
    ]
    return run("tessera-translate", *argv, cwd=folder)


def fake(folder: Path, script: str) -> str:
    """A ptxas of ours that tells its version and then does what `script` says."""
    path = folder / "ptxas"
    version = "Cuda compilation tools, release 13.0, V13.0.48"
    path.write_text(f'#!/bin/sh\ncase "$*" in *--version*) echo "{version}"; exit 0;; esac\n{script}\n')
    path.chmod(0o755)
    return str(path)


@pytest.fixture(autouse=True)
def no_output(tmp_path: Path) -> object:
    yield
    left = {path.name for path in tmp_path.iterdir()} - {"kernel.mlir", "ptxas", "pid"}
    assert not left, "files left behind"


def test_ptxas_absent(tmp_path: Path) -> None:
    result = compile_with(str(tmp_path / "nowhere" / "ptxas"), tmp_path)
    refused(result, "ptxas", positioned=False)


def test_ptxas_not_executable(tmp_path: Path) -> None:
    (tmp_path / "ptxas").write_text("#!/bin/sh\n")
    refused(compile_with(str(tmp_path / "ptxas"), tmp_path), "ptxas", positioned=False)


def test_ptxas_refusing(tmp_path: Path) -> None:
    script = 'echo "ptxas fatal   : it will not do" >&2; exit 255'
    refused(compile_with(fake(tmp_path, script), tmp_path), "it will not do", positioned=False)


def test_ptxas_crashing(tmp_path: Path) -> None:
    refused(
        compile_with(fake(tmp_path, "kill -SEGV $$"), tmp_path), "ptxas.*(signal|SIGSEGV)", positioned=False
    )


def test_ptxas_succeeding_without_a_cubin(tmp_path: Path) -> None:
    refused(compile_with(fake(tmp_path, "exit 0"), tmp_path), "ptxas", positioned=False)


def test_ptxas_hanging(tmp_path: Path) -> None:
    before = time.monotonic()
    result = compile_with(
        fake(tmp_path, f"echo $$ > {tmp_path}/pid; exec sleep 100"), tmp_path, "--ptxas-timeout=1"
    )
    refused(result, "ptxas.*(time|1 s|seconds)", positioned=False)
    assert time.monotonic() - before < 30
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists(), "ptxas was left running"


def test_llvm_aborting(tmp_path: Path) -> None:
    source = KERNEL.replace("  llvm.func @kernel", "  llvm.func @llvm.x86.sse2.pause()\n  llvm.func @kernel")
    source = source.replace(
        "    llvm.return", "    llvm.call @llvm.x86.sse2.pause() : () -> ()\n    llvm.return"
    )
    (tmp_path / "kernel.mlir").write_text(source)
    argv = ["--mlir-to-ptx", "--gpu-name=sm_80", "kernel.mlir", "-o", "out.ptx"]
    refused(run("tessera-translate", *argv, cwd=tmp_path), "LLVM", positioned=False)


def test_an_unknown_gpu_name(tmp_path: Path) -> None:
    (tmp_path / "kernel.mlir").write_text(KERNEL)
    result = run("tessera-translate", "--mlir-to-ptx", "--gpu-name=sm_91", "kernel.mlir", cwd=tmp_path)
    refused(result, "sm_91", positioned=False)
