"""The options to see passes run, to bisect them and to reproduce failures, in both commands, beside mlir-opt's."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from oracles import require_tool
from tessera_tools import mlir_bytecode
from tessera_tools.cli.opt import run as run_opt
from tessera_tools.cli.translate import run as run_translate
from tessera_tools.ir.core import Operation
from tessera_tools.ir.symbols import symbol_name
from tessera_tools.parser import parse_module
from tessera_tools.passes.builtin.canonicalize import Canonicalize

ROOT = Path(__file__).resolve().parents[2]
KERNEL = (ROOT / "test/corpus/vector_add_f32.mlir").read_bytes()
TEXT = b"""\
func.func @f(%arg0: i32) -> i32 {
  %c1_i32 = arith.constant 1 : i32
  %c1_i32_0 = arith.constant 1 : i32
  %0 = arith.addi %c1_i32, %c1_i32_0 : i32
  %1 = arith.addi %arg0, %0 : i32
  return %1 : i32
}
"""
BROKEN = b"""func.func @f(%a: i32) -> i32 {
  %b = "arith.addi"(%a) : (i32) -> i32
  return %b : i32
}
"""


def opt(*argv: str, stdin: bytes = TEXT, cwd: Path | None = None, status: int = 0) -> tuple[str, str]:
    """stdout and stderr of a run that ends with `status`."""
    result = run_opt(list(argv), stdin, None if cwd is None else str(cwd))
    assert result.exit_code == status, result.stderr.decode()
    assert b"Traceback" not in result.stderr
    return result.stdout.decode(), result.stderr.decode()


def peer(*argv: str, stdin: bytes = TEXT, cwd: Path | None = None) -> tuple[str, str]:
    """stdout and stderr of mlir-opt."""
    done = subprocess.run(
        [require_tool("mlir-opt-22"), *argv], input=stdin, capture_output=True, timeout=60, cwd=cwd
    )
    return done.stdout.decode(), done.stderr.decode()


# -- debug counters and logs


@pytest.mark.parametrize(
    "counter",
    [
        "pass-execution-skip=1",
        "pass-execution-count=1",
        "pass-execution-skip=1,pass-execution-count=1",
        "pass-execution-count=0",
        "pass-execution-skip=7",
    ],
)
def test_a_counter_executes_the_passes_that_mlirs_does(counter: str) -> None:
    argv = [
        "--cse",
        "--canonicalize",
        "--cse",
        f"--mlir-debug-counter={counter}",
        "--mlir-print-debug-counter",
    ]
    (ours, err), (theirs, theirs_err) = opt(*argv), peer(*argv)
    assert peer(stdin=ours.encode())[0] == theirs
    last = [line for line in theirs_err.splitlines() if line.startswith("pass-execution")][-1]
    assert err.splitlines()[-1] == last


def test_patterns_can_be_counted() -> None:
    _, err = opt("--canonicalize", "--mlir-debug-counter=fold-count=0", "--debug-only=greedy-rewriter")
    assert "(fold)" not in err
    out, err = opt("--canonicalize", "--mlir-debug-counter=fold-count=1", "--debug-only=greedy-rewriter")
    assert err.count("(fold)") <= 1
    assert "arith.addi" in out


def test_a_log_of_rewrites() -> None:
    _, err = opt("--canonicalize", "--cse", "--debug-only=greedy-rewriter")
    assert "[greedy-rewriter] 'arith.addi' (fold)\n" in err
    assert "[pass-manager]" not in err


def test_a_log_of_passes() -> None:
    _, err = opt("--cse", "--cse", "--debug-only=pass-manager")
    assert err.splitlines() == [
        "[pass-manager] cse on 'builtin.module': done",
        "[pass-manager] cse on 'builtin.module': unchanged",
    ]


def test_a_log_while_one_pass_runs() -> None:
    _, err = opt("--canonicalize", "--cse", "--debug-only=cse")
    assert re.fullmatch(r"\[pass-manager\] cse on 'builtin.module': (done|unchanged)\n", err)


def test_nothing_is_logged_afterwards() -> None:
    opt("--canonicalize", "--debug-only=greedy-rewriter")
    assert opt("--canonicalize")[1] == ""


# -- timing


def test_times_as_json_have_mlirs_records() -> None:
    argv = ["--cse", "--mlir-timing", "--mlir-output-format=json"]
    _, ours = opt(*argv)
    _, theirs = peer(*argv)

    def names(text: str) -> list[str]:
        found = [entry["name"] for entry in json.loads(text)]
        return [name for name in found if name != "Start"]

    assert names(ours) == names(theirs)
    assert json.loads(ours)[-1]["wall"]["percentage"] == 100.0


def test_a_list_of_times_as_json() -> None:
    _, err = opt("--cse", "--mlir-timing", "--mlir-timing-display=list", "--mlir-output-format=json")
    durations = [entry["wall"]["duration"] for entry in json.loads(err)][:-2]
    assert durations == sorted(durations, reverse=True)


# -- reproducers


def test_a_reproducer_without_a_failure(tmp_path: Path) -> None:
    out, _ = opt("--cse", "--canonicalize", "--mlir-generate-reproducer=r.mlir", cwd=tmp_path)
    text = (tmp_path / "r.mlir").read_bytes()
    assert opt("--run-reproducer", stdin=text)[0] == out
    assert peer("--run-reproducer", stdin=text)[0] == peer(stdin=out.encode())[0]


def test_a_local_reproducer_has_the_failing_pass_only(tmp_path: Path) -> None:
    argv = ["--pass-pipeline=builtin.module(cse,func.func(symbol-dce))", "--crash-reproducer=r.mlir"]
    opt(*argv, "--mlir-pass-pipeline-local-reproducer", cwd=tmp_path, status=1)
    text = (tmp_path / "r.mlir").read_text()
    assert 'pipeline: "builtin.module(func.func(symbol-dce))"' in text
    assert text.count("arith.constant") == 1, "the module is that after cse"
    _, err = opt("--run-reproducer", stdin=text.encode(), status=1)
    assert "SymbolDCE" in err


def test_without_the_option_it_has_the_whole_pipeline(tmp_path: Path) -> None:
    opt(
        "--pass-pipeline=builtin.module(cse,func.func(symbol-dce))",
        "--crash-reproducer=r.mlir",
        cwd=tmp_path,
        status=1,
    )
    assert 'pipeline: "builtin.module(cse,func.func(symbol-dce))"' in (tmp_path / "r.mlir").read_text()


def breaks(op: Operation, how: str) -> bool:
    """A pass that crashes on @second, or leaves it without a terminator."""
    if symbol_name(op) == "second":
        if how == "crash":
            raise IndexError("the pass crashes")
        last = op.regions[0].entry.last_op
        assert last is not None
        last.erase()
        return True
    return False


FUNCTIONS = b"""\
func.func @first(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  %c = arith.addi %a, %a : i32
  %d = arith.muli %b, %c : i32
  return %d : i32
}
func.func @second() {
  return
}
"""


@pytest.mark.parametrize("how", ["crash", "invalid IR"])
def test_a_local_reproducer_runs_the_pass_that_crashes_or_breaks_the_ir(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Canonicalize, "run", lambda self, op, context: breaks(op, how))
    argv = ["--pass-pipeline=builtin.module(cse,func.func(canonicalize,cse))", "--crash-reproducer=r.mlir"]
    _, first = opt(*argv, "--mlir-pass-pipeline-local-reproducer", cwd=tmp_path, stdin=FUNCTIONS, status=1)
    text = (tmp_path / "r.mlir").read_text()
    (pipeline,) = re.findall(r'pipeline: "(.*)"', text)
    assert re.fullmatch(r"builtin\.module\(func\.func\(canonicalize(\{[^}]*\})?\)\)", pipeline)
    assert text.count("arith.addi") == 1, "the module is that after the first cse"
    _, again = opt("--run-reproducer", stdin=text.encode(), status=1)
    message = (
        "IndexError: the pass crashes" if how == "crash" else "does not verify after pass 'canonicalize'"
    )
    assert message in first and message in again
    monkeypatch.undo()
    opt("--run-reproducer", stdin=text.encode())


# -- diagnostics


def test_the_operation_of_an_error() -> None:
    _, err = opt("--mlir-print-op-on-diagnostic", stdin=BROKEN, status=1)
    _, theirs = peer(stdin=BROKEN)
    note = re.search(r'note: see current operation: %\w+ = ("arith.addi".*)', theirs)
    assert note is not None
    shown = re.search(r'note: see current operation: %\w+ = ("arith.addi".*)', err)
    assert shown is not None
    assert shown[1].replace("%a", "%arg0") == note[1]
    assert "see current operation" not in opt(stdin=BROKEN, status=1)[1]


# -- round trips and chunks


def test_a_round_trip() -> None:
    assert opt("--verify-roundtrip") == opt()
    assert opt("--verify-roundtrip", stdin=KERNEL) == opt(stdin=KERNEL)


LOOPS = b"""
func.func @f(%n: index, %x: f32, %m: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f32) {
    %b = arith.addf %a, %x : f32
    scf.yield %b : f32
  }
  scf.parallel (%j) = (%c0) to (%n) step (%c1) {
    memref.store %x, %m[%j] : memref<4xf32>
  }
  return %r : f32
}
"""


def test_a_round_trip_of_what_the_text_does_not_locate() -> None:
    """The syntax of loops writes no locations of their arguments, and may omit the terminator."""
    assert opt("--verify-roundtrip", stdin=LOOPS) == opt(stdin=LOOPS)


def test_a_round_trip_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from tessera_tools.dialects.arith import Constant

    monkeypatch.setattr(Constant.definition.format, "write", lambda printer, op: printer.write(" 2 : i32"))
    _, err = opt("--verify-roundtrip", status=1)
    assert "the custom form of the input parses to another module" in err
    assert "note: -" in err


def test_a_round_trip_whose_text_does_not_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    from tessera_tools.dialects.arith import Constant

    monkeypatch.setattr(Constant.definition.format, "write", lambda printer, op: printer.write(" ?"))
    assert "the custom form of the input does not parse" in opt("--verify-roundtrip", status=1)[1]


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (b"no bytecode", "the bytecode of the input cannot be read: "),
        (None, "the bytecode of the input is read as another module"),
    ],
)
def test_a_round_trip_of_bytecode_that_fails(
    monkeypatch: pytest.MonkeyPatch, written: bytes | None, says: str
) -> None:
    if written is None:
        written = mlir_bytecode.write_mlir_bytecode(parse_module(TEXT.decode().replace("addi", "muli")))
    monkeypatch.setattr(mlir_bytecode, "write_mlir_bytecode", lambda _: written)
    assert f"<stdin>:1:1: error: {says}" in opt("--verify-roundtrip", status=1)[1]


@pytest.mark.parametrize("marker", [[], ["--output-split-marker=// ====="], ["--output-split-marker="]])
def test_the_marker_between_outputs(marker: list[str]) -> None:
    argv = ["--split-input-file", *marker]
    text = b"func.func private @a()\n// -----\nfunc.func private @b()\n"
    ours, theirs = opt(*argv, stdin=text)[0], peer(*argv, stdin=text)[0]
    assert [line for line in ours.splitlines() if line] == [line for line in theirs.splitlines() if line]


# -- tessera-translate


def test_translate_counts_logs_and_reproduces(tmp_path: Path) -> None:
    argv = [
        "--mlir-to-llvmir", "--debug-only=pass-manager", "--mlir-print-debug-counter",
        "--mlir-debug-counter=pass-execution-skip=0", "--mlir-generate-reproducer=r.mlir",
    ]  # fmt: skip
    result = run_translate(argv, KERNEL, str(tmp_path))
    assert result.exit_code == 0
    assert b"[pass-manager] convert-tileas-to-llvm" in result.stderr
    assert re.search(rb"pass-execution +: \{\d\d,0,-1\}", result.stderr)
    reproduced = opt("--run-reproducer", stdin=(tmp_path / "r.mlir").read_bytes())[0]
    assert "llvm.func" in reproduced


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (
            ["--mlir-debug-counter=pass-execution"],
            "expects TAG-skip=N or TAG-count=N, found 'pass-execution'",
        ),
        ([f"--mlir-debug-counter=pass-execution-skip={'9' * 5000}"], "expects TAG-skip=N or TAG-count=N"),
        (["--mlir-debug-counter=pass-executions-skip=1"], "did you mean 'pass-execution'?"),
        (["--debug-only=greedy"], "nothing is logged as 'greedy'"),
        (["--mlir-pass-pipeline-local-reproducer"], "needs --crash-reproducer=FILE"),
        (["--mlir-elide-elementsattrs-if-larger=-1"], "-1 is not in the range"),
        (["--mlir-output-format=xml"], "'xml' is not one of"),
    ],
)
def test_wrong_options_are_refused(argv: list[str], says: str) -> None:
    assert says in opt("--cse", *argv, status=1)[1]
    translated = run_translate(["--mlir-to-ptx", *argv], KERNEL)
    assert translated.exit_code == 1
    assert says in translated.stderr.decode()
