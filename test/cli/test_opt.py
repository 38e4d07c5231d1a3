"""`tessera-opt` as its user sees it: options, order of passes, reports, errors, reproducers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from oracles import require_tool
from tessera_tools.cli import common
from tessera_tools.cli.opt import run
from tessera_tools.passes.table import PASSES

CORPUS = Path(__file__).parents[1] / "corpus"

TEXT = b"""\
func.func @f(%arg0: i32) -> i32 {
  %c1_i32 = arith.constant 1 : i32
  %c1_i32_0 = arith.constant 1 : i32
  %0 = arith.addi %c1_i32, %c1_i32_0 : i32
  %1 = arith.addi %arg0, %0 : i32
  return %1 : i32
}
func.func private @g()
"""


def opt(*argv: str, stdin: bytes = TEXT, cwd: Path | None = None, status: int = 0) -> tuple[str, str]:
    """stdout and stderr of a run that ends with `status`."""
    result = run(list(argv), stdin, None if cwd is None else str(cwd))
    assert result.exit_code == status, result.stderr.decode()
    assert b"Traceback" not in result.stderr
    return result.stdout.decode(), result.stderr.decode()


def test_help_lists_every_option_and_pass() -> None:
    out, _ = opt("--help")
    for name in PASSES:
        assert f"--{name}" in out
    for name in ("--pass-pipeline", "--split-input-file", "--crash-reproducer", "-o FILE"):
        assert name in out
    assert "tessera-opt kernel.mlir --canonicalize --cse" in out


def test_an_empty_input_is_an_empty_module() -> None:
    assert opt(stdin=b"")[0].split() == ["module", "{", "}"]


def test_a_dash_is_stdin() -> None:
    assert opt("-")[0] == opt()[0]


def test_single_dashes_work_as_in_mlir() -> None:
    assert opt("-cse")[0] == opt("--cse")[0]


def test_passes_run_in_the_order_given() -> None:
    _, dumps = opt("--cse", "--dce", "--cse", "--mlir-print-ir-after-all")
    assert re.findall(r"IR Dump After \S+ \((\S+)\)", dumps) == ["cse", "dce", "cse"]


def test_a_pass_takes_options() -> None:
    _, err = opt("--canonicalize=max-iterations=2 top-down=false", "--dump-pass-pipeline")
    assert "canonicalize{max-iterations=2 " in err
    assert "top-down=false}" in err


def test_the_output_file_is_written_whole(tmp_path: Path) -> None:
    out, _ = opt("-o", "out.mlir", cwd=tmp_path)
    assert out == ""
    assert (tmp_path / "out.mlir").read_text() == opt()[0]
    assert [path.name for path in tmp_path.iterdir()] == ["out.mlir"]


def test_generic_form() -> None:
    out, _ = opt("--mlir-print-op-generic")
    assert '"func.func"() <{' in out


def test_list_passes_gives_summary_options_and_defaults() -> None:
    out, _ = opt("--list-passes")
    assert re.search(r"--cse +- +eliminate common", out)
    choices = r"\(disabled, normal, aggressive\); default normal"
    assert re.search(rf"--region-simplify +- simplify control flow {choices}", out)


def test_show_dialects() -> None:
    out, _ = opt("--show-dialects")
    assert out.startswith("Available Dialects: arith,builtin,cf,")


def test_timing_has_the_parts_of_mlirs_report() -> None:
    _, err = opt("--cse", "--mlir-timing")
    names = re.findall(r"^ +\d+\.\d{4} \( *\d+\.\d%\)  (.*)$", err, re.MULTILINE)
    assert [name for name in names if name in ("Parser", "CSE", "Output", "Rest", "Total")] == [
        "Parser", "CSE", "Output", "Rest", "Total",
    ]  # fmt: skip


def test_a_list_of_times_is_longest_first() -> None:
    _, err = opt("--cse", "--mlir-timing", "--mlir-timing-display=list")
    rows = re.findall(r"^ +(\d+\.\d{4}) \( *[\d.]+%\)  (.*)$", err, re.MULTILINE)
    times = [float(seconds) for seconds, _ in rows][:-2]
    assert times == sorted(times, reverse=True)
    assert rows[0] == (rows[-1][0], "root")
    assert rows[-1][1] == "Total"


def test_statistics() -> None:
    _, err = opt("--cse", "--mlir-pass-statistics")
    assert "(S) 1 num-cse'd - Number of operations CSE'd" in err


@pytest.mark.parametrize(
    "argv",
    [
        ["--cse", "--canonicalize", "--mlir-print-ir-after-all"],
        ["--cse", "--mlir-print-ir-before-all"],
        ["--cse", "--canonicalize", "--mlir-print-ir-after=canonicalize", "--mlir-print-ir-before=cse"],
        ["--cse", "--cse", "--mlir-print-ir-after-all", "--mlir-print-ir-after-change"],
        ["--pass-pipeline=builtin.module(func.func(cse,canonicalize))", "--mlir-print-ir-after-all"],
        ["--pass-pipeline=builtin.module(func.func(cse),any(cse))", "--mlir-print-ir-after-all"],
        [
            "--pass-pipeline=builtin.module(func.func(cse))",
            "--mlir-print-ir-after-all",
            "--mlir-print-ir-module-scope",
        ],
    ],
)
def test_dump_headers_are_mlirs_own(argv: list[str]) -> None:
    peer = subprocess.run(
        [require_tool("mlir-opt-22"), "--mlir-disable-threading", *argv],
        input=TEXT, capture_output=True, timeout=60, check=True,
    ).stderr.decode()  # fmt: skip
    _, ours = opt(*argv)

    def skeleton(text: str) -> list[str]:
        return [
            line for line in text.splitlines() if line.startswith("// ---") or not line or "func.func" in line
        ]

    assert skeleton(ours) == skeleton(peer)


def test_the_tree_of_dumps_is_mlirs_own(tmp_path: Path) -> None:
    argv = [
        "--pass-pipeline=builtin.module(func.func(cse,cse),cse,func.func(cse))",
        "--mlir-print-ir-after-all",
        "--mlir-print-ir-tree-dir=tree",
    ]
    (tmp_path / "peer").mkdir()
    (tmp_path / "ours").mkdir()
    subprocess.run(
        [require_tool("mlir-opt-22"), *argv],
        input=TEXT,
        cwd=tmp_path / "peer",
        capture_output=True,
        timeout=60,
    )
    opt(*argv, cwd=tmp_path / "ours")

    def files(folder: Path) -> list[str]:
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.mlir"))

    assert files(tmp_path / "ours") == files(tmp_path / "peer") != []


def test_a_tree_of_dumps_alone_is_of_every_pass(tmp_path: Path) -> None:
    opt("--cse", "--canonicalize", "--mlir-print-ir-tree-dir=tree", cwd=tmp_path)
    names = sorted(path.name for path in tmp_path.rglob("*.mlir"))
    assert names == ["0_cse.mlir", "1_canonicalize.mlir"]


def test_a_pipeline_of_a_target_ends_at_a_stage() -> None:
    kernel = (CORPUS / "vector_add_f32.mlir").read_bytes()
    out, _ = opt("--to=nv_tileas", stdin=kernel)
    assert "nv_tileas." in out
    assert 'target_spec = "sm_80"' in out
    assert 'target_spec = "sm_90a"' in opt("--tessera-pipeline=sm_90a", "--to=nv_tileaa", stdin=kernel)[0]


def test_a_pipeline_of_a_target_continues_from_the_stage_of_the_input() -> None:
    kernel = (CORPUS / "vector_add_f32.mlir").read_bytes()
    middle, _ = opt("--tessera-pipeline=sm_90a", "--to=nv_tileas", stdin=kernel)
    assert opt("--to=llvm", stdin=middle.encode()) == opt("--tessera-pipeline=sm_90a", stdin=kernel)


def test_a_pipeline_of_a_target_ends_after_a_pass() -> None:
    kernel = (CORPUS / "vector_add_f32.mlir").read_bytes()
    _, err = opt(
        "--tessera-pipeline=sm_90a num-stages=2", "--to=tileas-slicing", "--dump-pass-pipeline", stdin=kernel
    )
    assert err.rstrip(")\n").splitlines()[-1].strip().startswith("tileas-slicing")


def test_options_of_the_pipeline_reach_its_passes() -> None:
    kernel = (CORPUS / "vector_add_f32.mlir").read_bytes()
    _, err = opt("--tessera-pipeline=sm_80 num-warps=8", "--dump-pass-pipeline", stdin=kernel)
    assert "convert-tileaa-to-tileas{num-warps=8 " in err


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--to=nv_tileaa"], "the input is llvm, which is not lowered to nv_tileaa"),
        (["--to=csee"], "no pass of the pipeline from llvm is called 'csee'"),
        (["--tessera-pipeline=sm_91"], "sm_91"),
        (["--tessera-pipeline=sm_90 num-warp=4"], "did you mean 'num-warps'?"),
        (["--tessera-pipeline=num-warps=3"], "num-warps expects one of 1, 2, 4, 8, 16, 32; found '3'"),
        (["--to=llvm", "--cse"], "cannot be combined with other passes"),
        (["--csee"], "unknown option '--csee'; did you mean '--cse'?"),
        (["--no-such-thing-at-all"], "--help shows every option"),
        (["--pass-pipeline"], "requires a value"),
        (["--cse=x=1"], "pass 'cse' takes no options, found 'x'"),
        (["--canonicalize=top-don=1"], "did you mean 'top-down'?"),
        (["--canonicalize=max-iterations=many"], "expects an integer, found 'many'"),
        (["--pass-pipeline=builtin.module(cse)", "--cse"], "cannot be combined"),
        (
            ["--pass-pipeline=builtin.module(cs)"],
            "<pass-pipeline>:1:16: error: 'cs' is not a registered pass",
        ),
        (["--pass-pipeline=func.func(cse)"], "a pipeline on 'func.func' cannot run on 'builtin.module'"),
        (["--mlir-print-ir-after=csee"], "is not a registered pass"),
        (["--color=sometimes"], "'sometimes' is not one of"),
        (["--verify-each=perhaps", "--cse"], "expects true or false, found 'perhaps'"),
        (["a", "b"], "unexpected extra argument"),
        (["--run-reproducer"], "has no reproducer"),
    ],
)
def test_wrong_options_are_refused(argv: list[str], says: str) -> None:
    out, err = opt(*argv, status=1)
    assert says in err
    assert "error: " in err
    assert out == ""


def test_errors_show_the_line_and_a_caret() -> None:
    _, err = opt(stdin=b"func.func @f() {\n  %0 = arith.constant 1 : i33x\n}\n", status=1)
    assert err.startswith("<stdin>:2:")
    assert "  %0 = arith.constant 1 : i33x\n" in err
    assert re.search(r"^ +\^$", err, re.MULTILINE)
    assert "\x1b[" not in err


def test_color_on_demand() -> None:
    _, err = opt("--color=always", stdin=b"nonsense", status=1)
    assert "\x1b[1;31merror:\x1b[0m" in err


def test_lines_count_from_the_start_of_the_file_in_every_chunk() -> None:
    _, err = opt("--split-input-file", stdin=b"func.func private @f()\n// -----\n\nbroken\n", status=1)
    assert err.startswith("<stdin>:4:1: error: ")


def test_chunks_that_are_right_are_printed_though_another_is_not() -> None:
    out, _ = opt("--split-input-file", stdin=b"broken\n// -----\nfunc.func private @f()\n", status=1)
    assert "func.func private @f()" in out


def test_a_split_marker_of_ones_own() -> None:
    out, _ = opt(
        "--split-input-file=// ====", stdin=b"func.func private @f()\n// ====\nfunc.func private @f()\n"
    )
    assert out.count("@f") == 2


@pytest.mark.parametrize(
    ("comment", "says"),
    [
        (b"// expected-error@+1 {{nothing}}\n", 'expected error "nothing" was not produced'),
        (b"// expected-error-re@+1 {{a{{(}}b}}\n", "invalid regular expression"),
        (b"// expected-warning@unknown {{nothing}}\n", 'expected warning "nothing" was not produced'),
    ],
)
def test_an_expectation_that_fails_is_told(comment: bytes, says: str) -> None:
    _, err = opt("--verify-diagnostics", stdin=comment + TEXT, status=1)
    assert says in err
    assert err.startswith("<stdin>:1:4: error: ")


def test_an_error_that_nobody_expected_is_told() -> None:
    _, err = opt("--verify-diagnostics", stdin=b"nonsense", status=1)
    assert "<stdin>:1:1: error: unexpected error: " in err


def test_only_expected_forgives_the_rest() -> None:
    opt("--verify-diagnostics=only-expected", stdin=b"nonsense")


REPRODUCER = """\
module {
  func.func @f() {
    return
  }
}

{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(func.func(cse),canonicalize{max-iterations=2})",
      disable_threading: false,
      verify_each: true
    }
  }
#-}
"""


def test_a_reproducer_is_run() -> None:
    out, err = opt("--run-reproducer", "--dump-pass-pipeline", stdin=REPRODUCER.encode())
    assert "canonicalize{max-iterations=2 " in err
    assert "{-#" not in out, "the reproducer has been run"


@pytest.mark.parametrize(
    ("recorded", "argv", "expected"),
    [("true", [], "true"), ("false", [], "false"), ("false", ["--verify-each=true"], "true")],
)
def test_a_reproducer_says_whether_to_verify_unless_the_option_does(
    recorded: str, argv: list[str], expected: str, tmp_path: Path
) -> None:
    text = REPRODUCER.replace("verify_each: true", f"verify_each: {recorded}")
    opt("--run-reproducer", *argv, "--mlir-generate-reproducer=again.mlir", stdin=text.encode(), cwd=tmp_path)
    assert f"verify_each: {expected}" in (tmp_path / "again.mlir").read_text()


def test_a_reproducer_has_a_pipeline() -> None:
    text = "\n".join(line for line in REPRODUCER.splitlines() if "pipeline:" not in line)
    _, err = opt("--run-reproducer", stdin=text.encode(), status=1)
    assert 'this reproducer has no pipeline; expected `pipeline: "…"`' in err


def test_a_reproducer_of_mlir_itself_is_run(tmp_path: Path) -> None:
    path = tmp_path / "repro.mlir"
    subprocess.run(
        [require_tool("mlir-opt-22"), "--cse", f"--mlir-generate-reproducer={path}"],
        input=TEXT, capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    out, _ = opt("--run-reproducer", str(path))
    assert out.count("arith.constant") == 1


def test_the_section_of_a_reproducer_is_ignored_without_the_option() -> None:
    assert "func.func @f()" in opt(stdin=REPRODUCER.encode())[0]


def test_a_failing_pass_leaves_a_reproducer_that_fails_again(tmp_path: Path) -> None:
    argv = ["--pass-pipeline=builtin.module(func.func(symbol-dce))", "--crash-reproducer=crash.mlir"]
    _, err = opt(*argv, cwd=tmp_path, status=1)
    assert "reproducer generated at `crash.mlir`" in err
    text = (tmp_path / "crash.mlir").read_text()
    assert 'pipeline: "builtin.module(func.func(symbol-dce))"' in text
    _, again = opt("--run-reproducer", "crash.mlir", cwd=tmp_path, status=1)
    assert "scheduled to run under SymbolDCE" in again


def test_an_internal_fault_is_one_line_with_a_reproducer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tessera_tools.passes.builtin.dce import DCE

    def fault(self: DCE, op: object, context: object) -> bool:
        raise KeyError("lost")

    monkeypatch.setattr(DCE, "run", fault)
    monkeypatch.delenv("TESSERA_DEBUG", raising=False)
    _, err = opt("--dce", "--crash-reproducer=crash.mlir", cwd=tmp_path, status=1)
    assert "error: internal fault in pass 'dce' on 'builtin.module': KeyError: 'lost'" in err
    assert "Traceback" not in err
    assert (tmp_path / "crash.mlir").exists()


def test_a_directory_as_input(tmp_path: Path) -> None:
    _, err = opt(str(tmp_path), status=1)
    assert "is a directory" in err


def test_an_input_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "LARGEST_INPUT", 1 << 20)
    _, err = opt("/dev/zero", status=1)
    assert err == "error: input file '/dev/zero' is too large; at most 1 MiB are supported\n"
    _, err = opt("-", stdin=b" " * ((1 << 20) + 1), status=1)
    assert "input file '<stdin>' is too large" in err
    opt("-", stdin=b" " * (1 << 20))


def test_a_full_disk_as_output() -> None:
    _, err = opt("-o", "/dev/full", status=1)
    assert "error: the output '/dev/full' cannot be written: no space left on device" in err


def test_broken_bytecode_is_told_by_its_magic_number() -> None:
    _, err = opt(stdin=b"\x7fTileIR\x00\x00", status=1)
    assert "<stdin>:1:10: error: malformed bytecode at byte 9: unexpected end of data; expected a byte" in err


# -- MLIR bytecode


def bytecode(*argv: str, stdin: bytes = TEXT) -> bytes:
    """What `--emit-bytecode` writes to stdout."""
    result = run(["--emit-bytecode", *argv], stdin)
    assert result.exit_code == 0, result.stderr.decode()
    return result.stdout


@pytest.mark.parametrize("version", range(7))
def test_bytecode_is_read_in_place_of_text(version: int) -> None:
    data = bytecode(f"--emit-bytecode-version={version}")
    assert data.startswith(b"ML\xefR" + bytes([version << 1 | 1]))
    assert opt("-", stdin=data)[0] == opt("--mlir-print-local-scope", stdin=data)[0]
    assert opt(stdin=data)[0].count("arith.constant 1 : i32") == 2


def test_bytecode_is_read_from_a_file_and_runs_through_passes(tmp_path: Path) -> None:
    (tmp_path / "f.mlirbc").write_bytes(bytecode())
    out, _ = opt("f.mlirbc", "--canonicalize", "-o", "g.mlirbc", "--emit-bytecode", cwd=tmp_path)
    assert out == ""
    assert opt("g.mlirbc", cwd=tmp_path)[0].count("arith.addi") == 1


def test_bytecode_keeps_the_locations_of_the_text() -> None:
    out, _ = opt("--mlir-print-debuginfo", stdin=bytecode())
    assert 'loc("<stdin>":5:8)' in out


def test_bytecode_of_an_unsupported_version() -> None:
    _, err = opt("--emit-bytecode", "--emit-bytecode-version=7", status=1)
    assert "error: 'builtin.module' op unsupported version requested 7, must be in range [0, 6]" in err


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--emit-bytecode-version=6", "bytecode version while not emitting bytecode"),
        ("--elide-resource-data-from-bytecode", "is an option of bytecode, and the output is text"),
    ],
)
def test_options_of_bytecode_without_bytecode(option: str, message: str) -> None:
    assert message in opt(option, status=1)[1]


def test_bytecode_is_not_written_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from tessera_tools.cli import opt_session

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(opt_session, "_stdout", Terminal)
    _, err = opt("--emit-bytecode", status=1)
    assert "error: refusing to write bytecode to a terminal" in err
    assert "note: specify an output file with -o, or use -f" in err
    assert bytecode("-f").startswith(b"ML\xefR")


def test_broken_bytecode_names_the_byte() -> None:
    _, err = opt(stdin=bytecode()[:-1], status=1)
    assert re.search(r"<stdin>:1:\d+: error: malformed bytecode at byte \d+: ", err)


def test_bytecode_is_of_one_module() -> None:
    two = b"// -----\n".join([b"func.func private @f()\n"] * 2)
    _, err = opt("--split-input-file", "--emit-bytecode", stdin=two, status=1)
    assert "the input has 2 chunks, but a file of bytecode has one module" in err


def test_without_an_implicit_module_the_only_op_is_the_top_level() -> None:
    op, module = b"func.func private @f()\n", b"module {\n  func.func private @f()\n}\n"
    for data in (op, module):
        assert opt("--no-implicit-module", stdin=data)[0].encode() == data
        written = run(["--no-implicit-module", "--emit-bytecode"], data).stdout
        assert run(["--no-implicit-module"], written).stdout == data
        assert run([], written).stdout == module
    two, _ = opt("--no-implicit-module", stdin=op + op.replace(b"@f", b"@g"))
    assert two.startswith("module {")


def test_unregistered_ops_in_bytecode_must_be_allowed() -> None:
    data = bytecode("--allow-unregistered-dialect", stdin=b'"t.op"() : () -> ()')
    assert "op 't.op' has unregistered dialect 't'" in opt(stdin=data, status=1)[1]
    assert '"t.op"() : () -> ()' in opt("--allow-unregistered-dialect", stdin=data)[0]
