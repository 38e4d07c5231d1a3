"""What a report records of a compilation, and the bounds of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

import tessera_tools as tt
from tessera_tools.api.reports import record_input
from tessera_tools.cli import opt, translate
from tessera_tools.diagnostics import Diagnostic, Position
from tessera_tools.emit.compiled import Options
from tessera_tools.emit.errors import ToolError
from tessera_tools.ir.core import Operation
from tessera_tools.parser import parse_module
from tessera_tools.passes.charts import Chart
from tessera_tools.passes.manager import PassManager
from tessera_tools.report import FindingAt, Recording, add_python, graph_svg, op_graph, report_page
from tessera_tools.report.lines import Lines, lines_of_text, printed
from tessera_tools.report.page import MOST_CHART_LINES, MOST_CHARTS, MOST_FINDINGS, MOST_LINES
from tessera_tools.report.recording import MOST_COMPARED, MOST_DIFF_LINES, _diff, remark_of
from tessera_tools.target import lookup

SOURCE = b"""\
func.func @f(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  %c = arith.addi %a, %a : i32
  %d = arith.muli %b, %c : i32
  return %d : i32
}
"""


def test_printed_lines_know_the_source_line_of_their_op() -> None:
    lines = printed(parse_module(SOURCE, "f.mlir"), {})
    found = {text.split(" = ")[0].strip(): key for text, key in zip(lines.texts, lines.keys, strict=True)}
    assert found["%b"] == "f.mlir:2"
    assert found["%d"] == "f.mlir:4"
    assert lines.numbers == list(range(1, len(lines.texts) + 1))


def test_lines_of_aliases_come_first_and_are_counted() -> None:
    layout = "#nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>"
    lines = printed(parse_module(f"func.func @f(%a: tensor<32xf32, {layout}>) {{ return }}", "f.mlir"), {})
    assert layout in lines.texts[0] and "func.func" not in lines.texts[0]
    assert lines.numbers == list(range(1, len(lines.texts) + 1))


def test_a_diagnostic_has_the_line_of_its_place() -> None:
    found = remark_of(Diagnostic("warning", Position("f.mlir", 7, 3), "odd"))
    assert (found.kind, found.key, found.message) == ("warning", "f.mlir:7", "odd")
    assert remark_of(Diagnostic("warning", Position("f.mlir", 0, 0), "odd")).key == ""
    assert remark_of(Diagnostic("warning", None, "odd")).key == ""


def test_instructions_of_ptx_have_the_line_of_their_loc() -> None:
    text = '\t.file\t1 "a/f.mlir"\n.visible .entry f()\n{\n\t.loc\t1 7 3\n\tadd.s32 %r1, %r2, %r3;\n$L:\n\tret;\n}\n'
    lines = lines_of_text("ptx", text, {"f.mlir": "f.mlir"})
    keys = dict(zip((line.strip() for line in lines.texts), lines.keys, strict=True))
    assert keys["add.s32 %r1, %r2, %r3;"] == "f.mlir:7"
    assert keys["$L:"] == ""
    assert not any(".loc" in line for line in lines.texts)


def test_instructions_of_llvm_ir_have_the_line_of_their_location() -> None:
    text = (
        "define void @f() !dbg !4 {\n  %x = add i32 1, 2, !dbg !5\n  %y = add i32 1, 2\n  ret void, !dbg !6\n}\n"
        '!1 = !DIFile(filename: "f.mlir", directory: "/a")\n'
        '!4 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 1)\n'
        "!5 = !DILocation(line: 7, column: 3, scope: !4)\n!6 = !DILocation(line: 9, column: 3, scope: !4)\n"
    )
    lines = lines_of_text("llvmir", text)
    assert [line.strip() for line in lines.texts] == [
        "define void @f() {", "%x = add i32 1, 2", "%y = add i32 1, 2", "ret void", "}",
    ]  # fmt: skip
    assert lines.keys == ["", "/a/f.mlir:7", "", "/a/f.mlir:9", ""]
    assert lines.numbers == [1, 2, 3, 4, 5]


def test_sass_has_the_line_of_the_innermost_call() -> None:
    text = (
        '\t//## File "/k.py", line 4 inlined at "/k.py", line 9\n\t//## File "/k.py", line 9\n'
        "        /*0000*/                   FADD R1, R2, R3 ;\n"
        '\t//## File "/k.py", line 5 inlined at "/k.py", line 9\n\t//## File "/k.py", line 9\n'
        "        /*0010*/                   FMUL R1, R1, R3 ;\n"
        '\t//## File "/k.py", line 9\n'
        "        /*0020*/                   EXIT ;\n"
    )
    assert lines_of_text("sass", text).keys == ["/k.py:4", "/k.py:5", "/k.py:9"]


def test_the_lines_of_a_python_file_come_first() -> None:
    recording = Recording("k.py", "sm_80")
    recording.stages["ptx"] = Lines(["add", "mul", "ret"], ["k.py:5", "k.py:7", "other.py:1"], [1, 2, 3])
    add_python(recording, "".join(f"line {n}\n" for n in range(1, 11)))
    assert list(recording.stages) == ["python", "ptx"]
    assert recording.stages["python"].texts == ["line 4", "line 5", "line 6", "line 7"]
    assert recording.stages["python"].numbers == [4, 5, 6, 7]


def test_what_is_cut_is_said() -> None:
    recording = Recording("many.mlir", "sm_80")
    recording.charts = [Chart("a loop", "k.mlir:3", tuple(f"cycle {n}" for n in range(MOST_CHART_LINES + 3)))]
    recording.charts += [Chart("another", "", ("cycle",))] * (MOST_CHARTS + 1)
    findings = [FindingAt("error", "race", "a race", "", "text")] * (MOST_FINDINGS + 5)
    page = report_page(recording, findings=findings)
    assert f"<li>5 of {MOST_FINDINGS + 5} findings</li>" in page
    assert f"<li>the schedules of 2 of {MOST_CHARTS + 2} loops</li>" in page
    assert f"<li>schedule of the loop at k.mlir:3: 3 of {MOST_CHART_LINES + 3} lines</li>" in page
    assert "Left out" not in report_page(Recording("one.mlir", "sm_80"), findings=findings[:1])


def test_a_long_stage_is_cut_and_the_page_says_so() -> None:
    recording = Recording("long.mlir", "sm_80")
    count = MOST_LINES + 7
    recording.stages["ptx"] = Lines(["x"] * count, [""] * count, list(range(1, count + 1)))
    page = report_page(recording)
    assert f"PTX: 7 of {count:,} lines" in page


def test_the_page_escapes_names() -> None:
    page = report_page(Recording("<img src=x onerror=alert(1)>", '"><script>'))
    assert "<img" not in page
    assert '"><script>' not in page


def test_a_failed_run_writes_no_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    assert opt.run(["--canonicalize", f"--report={page}"], b"foo.bar").exit_code == 1
    assert translate.run(["--mlir-to-ptx", f"--report={page}"], b"foo.bar").exit_code == 1
    assert page.read_text() == "old"


def test_the_report_of_several_parts_is_refused(tmp_path: Path) -> None:
    done = opt.run(["-", "--split-input-file", f"--report={tmp_path / 'a.html'}"], SOURCE)
    assert done.exit_code == 1
    assert b"--report is of one module" in done.stderr


def test_diff_prints_what_passes_changed() -> None:
    done = opt.run(["--cse", "--canonicalize", "--mlir-print-ir-diff"], SOURCE)
    dumped = done.stderr.decode()
    assert dumped.count("IR Diff After") == 1  # canonicalize changes nothing
    assert "// -----// IR Diff After CSE (cse)" in dumped
    assert "\n-    %c = arith.addi %a, %a : i32\n" in dumped


def test_the_graph_has_a_node_for_each_op_and_an_edge_for_each_use() -> None:
    dot = op_graph(parse_module(SOURCE, "f.mlir"))
    assert dot.count("arith.addi") == 2
    assert dot.count(" -> ") == 2 + 2 + 2 + 1
    assert 'label = "%b"' in dot


@pytest.mark.parametrize("name", ["a.dot", "a.svg"])
def test_view_op_graph_writes_a_file(name: str, tmp_path: Path) -> None:
    if name.endswith(".svg"):
        from oracles import require_tool

        require_tool("dot")
    path = tmp_path / name
    done = opt.run([f"--view-op-graph={path}"], SOURCE)
    assert done.exit_code == 0, done.stderr.decode()
    assert ("<svg" if name.endswith(".svg") else "digraph G") in path.read_text()


def test_svg_without_graphviz_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = opt.run([f"--view-op-graph={tmp_path / 'a.svg'}"], SOURCE)
    assert done.exit_code == 1
    assert b"needs Graphviz's 'dot'" in done.stderr
    assert not (tmp_path / "a.svg").exists()


KERNEL = (Path(__file__).parents[2] / "examples" / "vector_add.mlir").read_bytes()


def passes_run(argv: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passes that a compilation runs."""
    ran: list[str] = []
    run = PassManager.run

    def counted(self: PassManager, op: Operation) -> None:
        ran.extend(item.name for item in self.pipeline.passes())
        run(self, op)

    monkeypatch.setattr(PassManager, "run", counted)
    done = translate.run([*argv, "--cache=off", "--gpu-name=sm_90a"], KERNEL)
    assert done.exit_code == 0, done.stderr.decode()
    return ran


@pytest.mark.parametrize("until", ["llvmir", "ptx", "sass"])
def test_a_report_runs_every_pass_once(until: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = passes_run([f"--mlir-to-{until}"], monkeypatch)
    monkeypatch.undo()
    assert passes_run([f"--mlir-to-{until}", f"--report={tmp_path / 'a.html'}"], monkeypatch) == plain
    assert plain


@pytest.mark.parametrize("lines", [(), ("--lineinfo",)])
def test_a_report_does_not_change_the_output(lines: tuple[str, ...], tmp_path: Path) -> None:
    argv = ["--mlir-to-ptx", "--gpu-name=sm_90a", "--cache=off", *lines]
    plain = translate.run(argv, KERNEL)
    page = tmp_path / "a.html"
    reported = translate.run([*argv, f"--report={page}"], KERNEL)
    assert (reported.stdout, reported.stderr) == (plain.stdout, plain.stderr)
    text = page.read_text("utf-8")
    assert all(title in text for title in ("cuda_tile", "nv_tileas", "LLVM IR", "PTX", "Passes"))


def test_a_kernel_that_keeps_its_ir_is_not_compiled_for_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = tt.compile(KERNEL.decode(), "sm_90a", keep_ir=True)
    monkeypatch.setattr(PassManager, "run", lambda *_: pytest.fail("a pass runs"))
    kernel.report(tmp_path / "first.html")
    kernel.report(tmp_path / "second.html")
    assert (tmp_path / "first.html").read_text() == (tmp_path / "second.html").read_text()
    assert kernel._recording is not None
    assert {"cuda_tile", "nv_tileas", "llvm", "llvmir", "ptx"} <= set(kernel._recording.stages)
    assert {run.name for run in kernel._recording.passes} == set(kernel.seconds)
    assert kernel._recording.positions.keys() == {"vector_add"}


def test_the_first_report_of_another_kernel_is_kept_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = tt.compile(KERNEL.decode(), "sm_90a")
    assert kernel._recording is None
    kernel.report(tmp_path / "first.html")
    monkeypatch.setattr(PassManager, "run", lambda *_: pytest.fail("a pass runs"))
    kernel.report(tmp_path / "second.html")


def test_a_kernel_without_lines_is_compiled_once_more_for_its_report(tmp_path: Path) -> None:
    """The report links the lines of stages."""
    kernel = tt.compile(KERNEL.decode(), "sm_90a", keep_ir=True, lineinfo=False)
    before = kernel._recording
    kernel.report(tmp_path / "lines.html")
    assert before is None
    assert kernel._recording is not None
    assert kernel._recording.positions.keys() == {"vector_add"}


def test_texts_are_compared_up_to_a_number_of_lines() -> None:
    lines = [str(number) for number in range(MOST_COMPARED)]
    assert _diff(lines, lines) == ([], "")
    assert _diff(lines, [*lines, "more"]) == ([], f"not compared: more than {MOST_COMPARED} lines")
    assert _diff(["a", "b"], ["a", "c"])[0][1:] == [" a", "-b", "+c"]


def test_a_difference_is_cut_after_a_number_of_lines() -> None:
    heading = 1
    shown, note = _diff([], ["x"] * (MOST_DIFF_LINES - heading))
    assert (len(shown), note) == (MOST_DIFF_LINES, "")
    shown, note = _diff([], ["x"] * (MOST_DIFF_LINES - heading + 3))
    assert (len(shown), note) == (MOST_DIFF_LINES, "3 more lines")


def test_a_cubin_has_no_report() -> None:
    with pytest.raises(tt.DiagnosticError) as raised:
        record_input(b"\x7fELF", "k.cubin", Options(lookup("sm_80")), None)
    assert str(raised.value) == (
        "error: 'k.cubin' is a cubin, of which there is no report\nnote: use the program it was compiled from"
    )


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        ("", "SVG of a graph needs Graphviz's 'dot'", "install graphviz, or write a file that ends in .dot"),
        (".", "Graphviz's 'dot' failed: no fonts", "write a file that ends in .dot instead"),
    ],
)
def test_a_graph_that_graphviz_does_not_draw(
    path: str, message: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\necho no fonts >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / path) if path else "")
    with pytest.raises(ToolError) as caught:
        graph_svg("digraph {}")
    assert (caught.value.message, caught.value.hint) == (message, hint)
