"""ptxas absent, refusing, crashing or hanging, and LLVM aborting: one-line errors, and no half-made cubin."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from refusal import refused, run

from harness import Result
from oracles import require_tool

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


@pytest.mark.parametrize("script", ["exec yes", "exec yes >&2"])
def test_ptxas_talking_without_end(script: str, tmp_path: Path) -> None:
    result = compile_with(fake(tmp_path, script), tmp_path)
    refused(result, "ptxas wrote more than 16 MiB of messages and was stopped", positioned=False)


def test_a_fifo_as_ptxas(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ptxas", 0o777)
    refused(compile_with(str(tmp_path / "ptxas"), tmp_path), "cannot be executed", positioned=False)


def test_a_fifo_as_cubin(tmp_path: Path) -> None:
    script = 'while [ $# -gt 0 ]; do case "$1" in -o) OUT=$2;; esac; shift; done; rm -f "$OUT"; mkfifo "$OUT"'
    refused(compile_with(fake(tmp_path, script), tmp_path), "cubin", positioned=False)


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


def test_llvm_ir_that_llvm_refuses(tmp_path: Path) -> None:
    text = b"define void @f() {\n  ret i32 0\n}\n"
    result = run("tessera-translate", "--mlir-to-ptx", cwd=tmp_path, stdin=text)
    refused(result, "<stdin>:2:7: error: LLVM cannot parse the IR")


def test_ptx_that_ptxas_refuses(tmp_path: Path) -> None:
    require_tool("ptxas")
    text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry f() { add.bogus %r1; }\n"
    result = run("tessera-translate", "--mlir-to-cubin", cwd=tmp_path, stdin=text)
    refused(result, "<stdin>:4:1: error: ptxas: Unknown modifier")


def test_ptx_without_a_version_is_named_as_the_user_knows_it(tmp_path: Path) -> None:
    require_tool("ptxas")
    result = run("tessera-translate", "--mlir-to-cubin", "k.ptx", cwd=_with_ptx(tmp_path, ".target sm_80\n"))
    (tmp_path / "k.ptx").unlink()
    refused(result, "at start of file 'k.ptx'")


def _with_ptx(folder: Path, text: str) -> Path:
    (folder / "k.ptx").write_text(text)
    return folder


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e300", "0"])
@pytest.mark.parametrize("option", ["--ptxas-timeout", "--llvm-timeout"])
def test_a_time_limit_that_is_none(option: str, seconds: str, tmp_path: Path) -> None:
    result = run(
        "tessera-translate", "--mlir-to-cubin", f"{option}={seconds}", cwd=tmp_path, stdin=KERNEL.encode()
    )
    refused(result, f"Invalid value for '{option}'", positioned=False)


def test_nvdisasm_that_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_tool("ptxas")
    monkeypatch.setenv("TESSERA_NVDISASM", "/bin/true")
    result = run("tessera-translate", "--mlir-to-sass", cwd=tmp_path, stdin=KERNEL.encode())
    refused(result, "wrote no output", positioned=False)


@pytest.mark.parametrize("name", ['"my kernel"', '"a.b"', '"1x"', '"$"', '"%x"', '""', '"\u00e9"', "WARP_SZ"])
def test_a_kernel_name_that_ptx_cannot_spell(name: str, tmp_path: Path) -> None:
    result = run(
        "tessera-translate",
        "--mlir-to-ptx",
        cwd=tmp_path,
        stdin=KERNEL.replace("@kernel", f"@{name}").encode(),
    )
    refused(result, "<stdin>:2:3: error: .* has the name '.*', which is not a PTX identifier")


def test_a_name_of_a_global_that_ptx_cannot_spell(tmp_path: Path) -> None:
    """What only the module sees may have any name."""
    text = 'cuda_tile.module @m {\n  global VISIBILITY @"a-b" <i32: [7]> : tile<1xi32>\n}\n'
    seen, hidden = (
        run(
            "tessera-translate",
            "--mlir-to-ptx",
            cwd=tmp_path,
            stdin=text.replace("VISIBILITY", word).encode(),
        )
        for word in ("public", "private")
    )
    refused(seen, "<stdin>:2:3: error: .*is not a PTX identifier")
    assert hidden.exit_code == 0, hidden.stderr
