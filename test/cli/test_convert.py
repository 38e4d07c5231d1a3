"""`tessera-translate` between text and bytecode, and bytecode where a command takes text."""

from __future__ import annotations

from pathlib import Path

from tessera_tools.cli import opt, translate
from tessera_tools.cli.common import Result

CORPUS = Path(__file__).parents[1] / "corpus"
NAME = "vector_add_f32"
BYTECODE = CORPUS / "inputs" / f"{NAME}.tileirbc"
SOURCE = (CORPUS / f"{NAME}.mlir").read_text()
TEXT = SOURCE[SOURCE.index("entry") :].encode()


def run(*argv: str, stdin: bytes = b"", status: int = 0) -> Result:
    done = translate.run(list(argv), stdin)
    assert done.exit_code == status, done.stderr
    return done


def test_bytecode_becomes_text() -> None:
    assert run("--cudatilebc-to-mlir", str(BYTECODE)).stdout == TEXT


def test_text_becomes_bytecode_and_bytecode_text_again() -> None:
    data = run("--mlir-to-cudatilebc", stdin=TEXT).stdout
    assert data[8:10] == bytes([13, 1])
    assert run("-cudatilebc-to-mlir", stdin=data).stdout == TEXT


def test_the_version_is_chosen() -> None:
    for minor in range(1, 6):
        assert run("--mlir-to-cudatilebc", f"--bytecode-version=13.{minor}", stdin=TEXT).stdout[9] == minor


def test_bytecode_is_written_again_in_another_version() -> None:
    again = run("--mlir-to-cudatilebc", "--bytecode-version=13.1", str(BYTECODE)).stdout
    assert again == BYTECODE.read_bytes()


def test_an_unknown_version_is_refused() -> None:
    done = run("--mlir-to-cudatilebc", "--bytecode-version=12.0", stdin=TEXT, status=1)
    assert b"Invalid argument '12.0': the supported versions are [13.1 - 13.5]" in done.stderr


def test_versions_are_listed() -> None:
    assert run("--list-versions").stdout.split() == [f"13.{minor}".encode() for minor in range(1, 6)]


def test_text_is_no_bytecode() -> None:
    done = run("--cudatilebc-to-mlir", stdin=TEXT, status=1)
    assert b"<stdin>:1:1: error: this is not cuda_tile bytecode: invalid magic number" in done.stderr


def test_broken_bytecode_is_refused_with_its_byte() -> None:
    done = run("--cudatilebc-to-mlir", stdin=BYTECODE.read_bytes()[:100], status=1)
    assert b"error: malformed bytecode at byte " in done.stderr


def test_the_module_around_the_kernels_is_printed_on_request() -> None:
    shown = run("--cudatilebc-to-mlir", "--cuda-tile-module", str(BYTECODE)).stdout
    assert shown.startswith(b"cuda_tile.module @kernels {\n  entry @vector_add_f32(")


def test_parts_of_a_text_are_checked_one_by_one() -> None:
    text = b"""
cuda_tile.module @a {
  entry @k(%x: tile<f32>) {
    // expected-error @below {{is not available in bytecode version 13.1 (since 13.2)}}
    %0 = atan2 %x, %x : tile<f32>
  }
}
// -----
// expected-error @below {{only function and global ops are allowed in the body}}
func.func @f() {
  // expected-remark @above {{invalid op}}
  return
}
"""
    flags = ["--mlir-to-cudatilebc", "--bytecode-version=13.1", "--split-input-file", "--verify-diagnostics"]
    run(
        *flags, stdin=text, status=1
    )  # the module of the second part is the file's own: no line for its error
    run(*flags, stdin=text[: text.index(b"// -----")])


def test_tessera_opt_takes_bytecode() -> None:
    done = opt.run([str(BYTECODE)])
    assert (done.exit_code, done.stdout) == (0, TEXT)


def test_tessera_opt_runs_passes_on_bytecode() -> None:
    done = opt.run([str(BYTECODE), "--convert-cuda-tile-to-tileaa"])
    assert done.exit_code == 0, done.stderr
    assert b"nv_tileaa" in done.stdout


def test_a_kernel_is_compiled_from_bytecode() -> None:
    done = run("--mlir-to-llvmir", "--gpu-name=sm_90", str(BYTECODE))
    assert b"@vector_add_f32" in done.stdout
