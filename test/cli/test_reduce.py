"""`tessera-reduce` as its user sees it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oracles import require_tool
from tessera_tools.bytecode import is_bytecode, read_bytecode, write_bytecode
from tessera_tools.cli import reduce_session
from tessera_tools.cli.reduce import FAILURES, run
from tessera_tools.parser import parse_module

KERNEL = """entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %i = iota : tile<64xi32>
  %a = addi %i, %i : tile<64xi32>
  %0 = itof %a signed : tile<64xi32> -> tile<64xf32>
  %1 = mulf %0, %0 : tile<64xf32>
  print_tko "%*f", %1 : tile<64xf32> -> token
  return
}
"""
"""The `*` of its format is not supported."""

STORE = """entry @k(%p: tile<ptr<f32>>) {
  %i = iota : tile<64xi32>
  %1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %2 = broadcast %1 : tile<1xptr<f32>> -> tile<64xptr<f32>>
  %3 = offset %2, %i : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
  %4 = itof %i signed : tile<64xi32> -> tile<64xf32>
  %5 = store_ptr_tko weak %3, %4 : tile<64xptr<f32>>, tile<64xf32> -> token
  return
}
"""

RACE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<4>;
  .shared .align 4 .b8 buffer[256];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.f32 %f1, 0f3F800000;
  mul.f32 %f2, %f1, %f1;
  mov.u32 %r2, buffer;
  st.shared.u32 [%r2], %r1;
  ld.shared.u32 %r4, [%r2];
  st.global.u32 [%rd1], %r4;
  ret;
}
"""


def reduce(*argv: str, cwd: Path, status: int = 0) -> tuple[str, str]:
    """stdout and stderr of a run that ends with `status`."""
    result = run(list(argv), cwd=str(cwd))
    assert result.exit_code == status, result.stderr.decode()
    assert b"Traceback" not in result.stderr
    return result.stdout.decode(), result.stderr.decode()


def script(folder: Path, text: str) -> str:
    path = folder / "test.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return f"--test={path}"


TRANSLATE = ("--", "tessera-translate", "--mlir-to-ptx")


def test_an_error_of_the_compiler_is_kept(tmp_path: Path) -> None:
    (tmp_path / "k.mlir").write_text(KERNEL)
    out, err = reduce("k.mlir", *TRANSLATE, cwd=tmp_path)
    assert "error: … op is not supported by convert-cuda-tile-to-tileaa" in err
    assert "k.mlir: 8 lines reduced to 5 lines" in err
    assert "print_tko" in out
    assert "mulf" not in out
    assert "iota" not in out


def test_the_result_is_the_same_each_time(tmp_path: Path) -> None:
    (tmp_path / "k.mlir").write_text(KERNEL)
    assert reduce("k.mlir", *TRANSLATE, cwd=tmp_path) == reduce("k.mlir", *TRANSLATE, cwd=tmp_path)


def test_a_script_decides(tmp_path: Path) -> None:
    (tmp_path / "k.mlir").write_text(KERNEL)
    reduce("k.mlir", "-o", "small.mlir", script(tmp_path, 'grep -q mulf "$1"'), cwd=tmp_path)
    small = (tmp_path / "small.mlir").read_text()
    assert "mulf" in small
    assert "print_tko" not in small


def test_arguments_of_the_script(tmp_path: Path) -> None:
    (tmp_path / "k.mlir").write_text(KERNEL)
    out, _ = reduce("k.mlir", "--test-arg=iota", script(tmp_path, 'grep -q "$1" "$2"'), cwd=tmp_path)
    assert "iota" in out


def test_bytecode_stays_bytecode_of_its_version(tmp_path: Path) -> None:
    from tessera_tools.bytecode import Version

    (tmp_path / "k.tileirbc").write_bytes(write_bytecode(parse_module(KERNEL), Version(13, 2)))
    reduce("k.tileirbc", "-o", "small.tileirbc", *TRANSLATE, cwd=tmp_path)
    data = (tmp_path / "small.tileirbc").read_bytes()
    assert is_bytecode(data)
    assert data[8:10] == bytes([13, 2])
    names = [op.name for op in read_bytecode(data).walk()]
    assert "cuda_tile.print_tko" in names
    assert "cuda_tile.mulf" not in names


def test_mlir_bytecode_stays_mlir_bytecode(tmp_path: Path) -> None:
    from tessera_tools.mlir_bytecode import read_mlir_bytecode, write_mlir_bytecode

    (tmp_path / "k.mlirbc").write_bytes(write_mlir_bytecode(parse_module(KERNEL)))
    reduce("k.mlirbc", "-o", "small.mlirbc", *TRANSLATE, cwd=tmp_path)
    names = [op.name for op in read_mlir_bytecode((tmp_path / "small.mlirbc").read_bytes()).walk()]
    assert "cuda_tile.print_tko" in names
    assert "cuda_tile.mulf" not in names


def test_a_finding_in_ptx(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(RACE)
    run_ = ("--", "tessera-run", "--block=64", "--arg", "out=zeros:u32:1", "--param=out:ptr")
    out, err = reduce("k.ptx", "--fails=finding", *run_, cwd=tmp_path)
    assert "finding: " in err
    assert "st.shared" in out
    assert "mul.f32" not in out


def test_a_warning_of_ptxas(tmp_path: Path) -> None:
    require_tool("ptxas")
    (tmp_path / "k.ptx").write_text(RACE)
    command = (
        "--",
        "tessera-translate",
        "--mlir-to-cubin",
        "-o",
        "k.cubin",
        "--ptxas-options=-maxrregcount=8",
    )
    out, err = reduce("k.ptx", *command, cwd=tmp_path)
    assert "warning: ptxas: " in err
    assert ".target" in out
    assert "st.shared" not in out


def test_an_error_of_ptxas_itself(tmp_path: Path) -> None:
    ptxas = require_tool("ptxas")
    (tmp_path / "k.ptx").write_text(RACE.replace("  ret;", "  add.u32 %nowhere, %nowhere, 1;\n  ret;"))
    out, _ = reduce("k.ptx", "--fails=error", "--", ptxas, "-arch=sm_90", "-o", "k.cubin", cwd=tmp_path)
    assert "%nowhere" in out
    assert len(out.splitlines()) < len(RACE.splitlines())


def test_text_that_does_not_parse_is_reduced_by_words(tmp_path: Path) -> None:
    (tmp_path / "k.mlir").write_text("func.func @f() { return }\nfunc.func @g() {\n  return return\n}\n")
    out, err = reduce("k.mlir", "--fails=error", "--", "tessera-opt", cwd=tmp_path)
    assert "error: " in err
    assert "@f" not in out


def test_a_wrong_result_against_a_reference(tmp_path: Path) -> None:
    """The reference takes a sum for a product."""
    (tmp_path / "k.mlir").write_text("""entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
      %v, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
      %u = negf %v : tile<f32>
      %w = mulf %u, %v : tile<f32>
      %t2 = store_ptr_tko weak %q, %w : tile<ptr<f32>>, tile<f32> -> token
      return
    }""")
    (tmp_path / "wrong.py").write_text(r"""import re, struct, sys
text = open(sys.argv[-1]).read()
values = {}
for name, op, operands in re.findall(r"(%\w+)(?:, %\w+)? = (load_ptr_tko|negf|mulf) (.*) :", text):
    known = [values.get(operand) for operand in re.findall(r"%\w+", operands)]
    values[name] = 3.0 if op == "load_ptr_tko" else -known[0] if op == "negf" else known[0] + known[1]
result = {"a": 3.0, "b": 0.0}
for buffer, stored in re.findall(r"store_ptr_tko weak %([pq]), (%\w+)", text):
    result[{"p": "a", "q": "b"}[buffer]] = values[stored]
for name, path in re.findall("--out=(.)=(.*)", chr(10).join(sys.argv)):
    open(path, "wb").write(struct.pack("<f", result[name]))
""")
    import sys

    options = ("--fails=wrong-result", f"--reference={sys.executable} -S -E wrong.py")
    arguments = ("--", "tessera-run", "--arg=a=full:f32:1:3", "--arg=b=zeros:f32:1")
    out, err = reduce("k.mlir", *options, *arguments, cwd=tmp_path)
    assert "wrong-result: the buffer 'b' differs" in err
    assert "mulf" in out
    assert "negf" not in out


def test_the_reference_has_none_of_the_options_that_choose_the_code(tmp_path: Path) -> None:
    """It is compiled for sm_80, which has no clusters."""
    (tmp_path / "k.mlir").write_text(STORE)
    command = ("tessera-run", "--gpu-name=sm_90a", "--cluster=1x2", "--abi=plain", "--arg=a=zeros:f32:64")
    _, err = reduce("k.mlir", "--fails=wrong-result", "--", *command, cwd=tmp_path, status=1)
    assert "the results of the input and of the reference agree" in err


def test_a_reference_that_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "k.mlir").write_text(STORE)
    options = ("--fails=wrong-result", "--reference=/bin/false")
    _, err = reduce("k.mlir", *options, "--", "tessera-run", "--arg=a=zeros:f32:64", cwd=tmp_path, status=1)
    assert "the command has no result for the input to compare: /bin/false --arg=a=zeros:f32:64" in err


def test_the_best_result_is_written_at_the_limit(tmp_path: Path) -> None:
    (tmp_path / "k.mlir").write_text(KERNEL)
    out, err = reduce("k.mlir", "--max-tests=3", *TRANSLATE, cwd=tmp_path)
    assert "3 tests (the limit is reached; the result is not the smallest)" in err
    assert "print_tko" in out


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    (tmp_path / "k.mlir").write_text(KERNEL)
    reduce("k.mlir", "-o", "small.mlir", *TRANSLATE, cwd=tmp_path)
    assert os.listdir(tmp_path / "tmp") == []
    assert sorted(os.listdir(tmp_path)) == ["k.mlir", "small.mlir", "tmp"]


def test_a_command_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any program of $PATH may be the command that fails."""
    tools = tmp_path / "bin"
    tools.mkdir()
    script(tools, "grep -q addi $1 && echo 'k.mlir:1:1: error: no addi' >&2 && exit 1; exit 0")
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    (tmp_path / "k.mlir").write_text(KERNEL)
    _, messages = reduce("k.mlir", "-o", "small.mlir", "--", "test.sh", cwd=tmp_path)
    assert "reduced to" in messages
    assert "addi" in (tmp_path / "small.mlir").read_text()


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "there is no test of what is interesting"),
        (["--test=false", *TRANSLATE], "are two tests; use one of them"),
        (["--test=/bin/false"], "the test '/bin/false' does not return 0 for the input"),
        (["--", "tessera-opt"], "the command shows no failure for the input"),
        (["--fails=crash", *TRANSLATE], "the command shows no crash for the input"),
        (["--", "no-such-program"], "cannot run 'no-such-program': no such file"),
        (["--fails=error", "--message=(", *TRANSLATE], "is not a regular expression"),
        (["--fails=wrong-result", *TRANSLATE], "compares runs of tessera-run, found 'tessera-translate'"),
        (
            ["--fails=wrong-result", "--", "tessera-run", "--arg=i32:1"],
            "error: the arguments name no buffer to compare",
        ),
        (["--fails=sometimes", *TRANSLATE], "is not one of"),
    ],
)
def test_what_cannot_be_reduced(argv: list[str], says: str, tmp_path: Path) -> None:
    (tmp_path / "k.mlir").write_text(KERNEL)
    out, err = reduce("k.mlir", *argv, cwd=tmp_path, status=1)
    assert says in err
    assert out == ""


def test_an_empty_input(tmp_path: Path) -> None:
    (tmp_path / "k.mlir").write_text("")
    assert (
        "error: 'k.mlir' is empty; there is nothing to reduce"
        in reduce("k.mlir", "--test=true", cwd=tmp_path, status=1)[1]
    )


def test_every_kind_of_failure_is_in_the_help(tmp_path: Path) -> None:
    out, _ = reduce("--help", cwd=tmp_path)
    for kind in FAILURES:
        assert kind in out


def test_an_interrupt_keeps_the_best_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is written, and the status is that of a command that was interrupted."""
    calls: list[bytes] = []

    def fails(self: reduce_session.Session, candidate: bytes, test: object) -> bool:
        calls.append(candidate)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return len(calls) == 2

    monkeypatch.setattr(reduce_session.Session, "_fails", fails)
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\nfour\n")
    script = tmp_path / "test.sh"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    output = tmp_path / "small.txt"
    result = run([str(tmp_path / "a.txt"), "--text", f"--test={script}", "-o", str(output)])
    assert result.exit_code == 130
    assert "interrupted; the result is not the smallest" in result.stderr.decode()
    assert output.read_bytes() == calls[1]
