"""`tessera-reduce` on every kind of failure and every form of input: faults of the compiler, injected.

Each fault depends on the product of the program. What is left has the product, and nothing that the failure does not
need. Crashes are reduced in all forms, and each of the other kinds, whose tests take longer, in one of them.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oracles import require_tool
from tessera_tools.bytecode import read_bytecode, write_bytecode
from tessera_tools.cli import run_input, run_session
from tessera_tools.cli.reduce import run
from tessera_tools.diagnostics import Sources
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.ir.core import Operation
from tessera_tools.mlir_bytecode import read_mlir_bytecode, write_mlir_bytecode
from tessera_tools.parser import parse_module
from tessera_tools.passes.base import PassContext
from tessera_tools.passes.builtin.cse import CSE
from tessera_tools.passes.tileaa.convert_cuda_tile_to_tileaa import ConvertCudaTileToTileAA
from tessera_tools.target import lookup

PROGRAM = """entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %v, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  %u = negf %v : tile<f32>
  %w = mulf %u, %v : tile<f32>
  %x = absf %w : tile<f32>
  %t2 = store_ptr_tko weak %q, %x : tile<ptr<f32>>, tile<f32> -> token
  return
}
"""
ARGUMENTS = ("--arg=a=full:f32:1:3", "--arg=b=zeros:f32:1")

FORMS: dict[str, tuple[Callable[[Operation], bytes] | None, Callable[[bytes], Operation]]] = {
    "mlir": (None, parse_module),
    "tileirbc": (write_bytecode, read_bytecode),
    "mlirbc": (write_mlir_bytecode, read_mlir_bytecode),
}
"""How a program is written and read in each form."""


def has_product(op: Operation) -> bool:
    return any(isinstance(inner, ct.MulF) for inner in op.walk())


def left(form: str, folder: Path, *argv: str) -> tuple[set[str], str]:
    """The ops that are left of the program, and what is said."""
    write, read = FORMS[form]
    data = PROGRAM.encode() if write is None else write(parse_module(PROGRAM))
    (folder / f"k.{form}").write_bytes(data)
    done = run([f"k.{form}", "-o", f"small.{form}", *argv], cwd=str(folder))
    assert done.exit_code == 0, done.stderr.decode()
    small = read((folder / f"small.{form}").read_bytes())
    return {op.name.partition(".")[2] for op in small.walk()}, done.stderr.decode()


@pytest.mark.parametrize("form", FORMS)
def test_a_crash(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(self: CSE, op: Operation, context: PassContext) -> bool:
        if has_product(op):
            raise IndexError("a product")
        return False

    monkeypatch.setattr(CSE, "run", crash)
    ops, said = left(form, tmp_path, "--fails=crash", "--", "tessera-opt", "--cse")
    assert "crash: internal fault in pass 'cse': IndexError" in said
    assert "mulf" in ops and not ops & {"negf", "absf", "store_ptr_tko"}


@pytest.mark.parametrize("form", ["mlir"])
def test_a_wrong_result_against_the_simplest_code(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler takes a sum for a product, on sm_90 only."""
    convert = ConvertCudaTileToTileAA.run

    def wrong(self: ConvertCudaTileToTileAA, op: Operation, context: PassContext) -> bool:
        for inner in list(op.walk()) if lookup(self.gpu_name).compute_capability == 90 else []:
            if isinstance(inner, ct.MulF):
                inner.replace_all_uses_with([inner.lhs])
        return convert(self, op, context)

    monkeypatch.setattr(ConvertCudaTileToTileAA, "run", wrong)
    command = ("--fails=wrong-result", "--", "tessera-run", "--gpu-name=sm_90a", *ARGUMENTS)
    ops, said = left(form, tmp_path, *command)
    assert "wrong-result: the buffer 'b' differs" in said
    assert {"mulf", "store_ptr_tko"} <= ops and not ops & {"negf", "absf"}


def warning_ptxas(folder: Path) -> Path:
    """ptxas that warns of products."""
    path = folder / "ptxas"
    path.write_text(f"""#!/bin/sh
{shlex.quote(require_tool("ptxas"))} "$@"
status=$?
for name; do
  case "$name" in *.ptx) ! grep -q 'mul\\.rn\\.f32' "$name" || echo "ptxas warning : a product of floats" >&2 ;; esac
done
exit $status
""")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("form", ["tileirbc"])
def test_a_warning_of_ptxas(form: str, tmp_path: Path) -> None:
    command = ("tessera-translate", "--mlir-to-cubin", "-o", "k.cubin", f"--ptxas={warning_ptxas(tmp_path)}")
    ops, said = left(form, tmp_path, "--fails=warning", "--", *command)
    assert "warning: ptxas: a product of floats" in said
    assert "mulf" in ops and not ops & {"negf", "absf"}


@pytest.mark.parametrize("form", ["mlirbc"])
def test_a_finding(form: str, tmp_path: Path) -> None:
    """The buffer has no element to store to."""
    command = ("tessera-run", "--arg=a=full:f32:1:3", "--arg=b=zeros:u8:2")
    ops, said = left(form, tmp_path, "--fails=finding", "--", *command)
    assert "finding: error: " in said
    assert "store_ptr_tko" in ops and not ops & {"negf", "mulf", "absf"}


# -- PTX


PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b) {
  .reg .b64 %rd<3>; .reg .f32 %f<4>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.global.f32 %f1, [%rd1];
  mul.rn.f32 %f2, %f1, %f1;
  abs.f32 %f3, %f1;
  st.global.f32 [%rd2], %f2;
  ret;
}
"""


def left_of_ptx(folder: Path, *argv: str) -> tuple[str, str]:
    (folder / "k.ptx").write_text(PTX)
    done = run(["k.ptx", *argv], cwd=str(folder))
    assert done.exit_code == 0, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


ON_PTX = ("tessera-run", "--param=a:ptr", "--param=b:ptr", "--grid=1", "--block=32", *ARGUMENTS)


def test_a_crash_on_ptx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(name: str, text: str) -> None:
        if "mul.rn.f32" in text:
            raise IndexError("a product")

    monkeypatch.setattr(run_input, "_adjacent_manifest", crash)
    small, said = left_of_ptx(tmp_path, "--fails=crash", "--", *ON_PTX)
    assert "crash: internal fault while " in said
    assert "mul.rn.f32" in small and "abs.f32" not in small and "st.global" not in small


def test_a_warning_on_ptx(tmp_path: Path) -> None:
    command = ("tessera-translate", "--mlir-to-cubin", "-o", "k.cubin", f"--ptxas={warning_ptxas(tmp_path)}")
    small, said = left_of_ptx(tmp_path, "--fails=warning", "--", *command)
    assert "warning: ptxas: a product of floats" in said
    assert "mul.rn.f32" in small and "st.global" not in small


def test_a_wrong_result_of_ptx_against_a_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference, which has a seed, takes a sum for a product."""

    def load(options: dict[str, Any], sources: Sources, *, record: bool = False) -> run_input.Loaded:
        loaded = run_input.load_input(options, sources, record=record)
        if options["seed"] == 7 and isinstance(loaded.code, str):
            loaded.code = loaded.code.replace("mul.rn.f32", "add.rn.f32")
        return loaded

    monkeypatch.setattr(run_session, "load_input", load)
    options = ("--fails=wrong-result", "--reference=tessera-run --seed=7")
    small, said = left_of_ptx(tmp_path, *options, "--", *ON_PTX)
    assert "wrong-result: the buffer 'b' differs" in said
    assert "mul.rn.f32" in small and "st.global" in small and "abs.f32" not in small


# -- what makes no sense


@pytest.mark.parametrize(
    ("name", "argv", "says"),
    [
        ("k.ptx", ["--fails=wrong-result"], "--fails=wrong-result of PTX needs --reference=COMMAND"),
        ("k.ll", ["--fails=wrong-result"], "--fails=wrong-result of LLVM IR needs --reference=COMMAND"),
        (
            "k.ptx",
            ["--keep-unverified"],
            "--keep-unverified is for MLIR, whose verifier it omits; 'k.ptx' is PTX",
        ),
        ("k.mlirbc", ["--keep-unverified"], "--keep-unverified is for text, and 'k.mlirbc' is bytecode"),
        ("k.mlirbc", ["--text"], "--text is for text, and 'k.mlirbc' is bytecode"),
        ("k.cubin", [], "'k.cubin' is a cubin, which has no parts to remove"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, argv: list[str], says: str, tmp_path: Path) -> None:
    data = {
        ".mlirbc": write_mlir_bytecode(parse_module(PROGRAM)),
        ".cubin": b"\x7fELF" + bytes(60),
    }.get(Path(name).suffix, b"; text")
    (tmp_path / name).write_bytes(data)
    done = run([name, *argv, "--", "tessera-run", *ARGUMENTS], cwd=str(tmp_path))
    assert done.exit_code == 1
    assert says in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
