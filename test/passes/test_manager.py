"""The pass manager: nesting, verification, observers, faults."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pytest

from tessera_tools.diagnostics import DiagnosticError, InternalFault
from tessera_tools.ir.core import Operation
from tessera_tools.ir.symbols import symbol_name
from tessera_tools.parser import parse_module
from tessera_tools.passes.base import Pass, PassContext, PassFailure
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline
from tessera_tools.passes.printing import IRPrinting, PrintOptions
from tessera_tools.passes.statistics import Statistics
from tessera_tools.passes.timing import Timing

TEXT = """\
func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  return %0 : i32
}
module @inner {
  func.func @g() {
    return
  }
}
"""

seen: list[str] = []


@dataclass(frozen=True)
class Note(Pass):
    """Writes down what it runs on."""

    name = "note"
    statistics: ClassVar[Mapping[str, str]] = {"runs": "Number of runs"}

    def run(self, op: Operation, context: PassContext) -> bool:
        seen.append(symbol_name(op) or op.name)
        context.count("runs")
        return False


@dataclass(frozen=True)
class Fail(Pass):
    """Fails in order."""

    name = "fail"

    def run(self, op: Operation, context: PassContext) -> bool:
        raise PassFailure("it cannot be done", op.location)


@dataclass(frozen=True)
class Crash(Pass):
    """Has a fault."""

    name = "crash"

    def run(self, op: Operation, context: PassContext) -> bool:
        for inner in op.walk():
            self.look(inner)
        return True

    def look(self, op: Operation) -> None:
        if op.name == "arith.addi":
            raise KeyError("lost")


@dataclass(frozen=True)
class Break(Pass):
    """Leaves IR that does not verify."""

    name = "break"

    def run(self, op: Operation, context: PassContext) -> bool:
        for inner in op.walk():
            if inner.name == "arith.addi":
                inner.move_after(inner.next_op or inner)
        return True


@pytest.fixture(autouse=True)
def fresh() -> None:
    seen.clear()


def module() -> Operation:
    return parse_module(TEXT, "test.mlir")


def nest(anchor: str, *items: Pass | Pipeline) -> Pipeline:
    return Pipeline(anchor, list(items))


def test_a_nested_pipeline_runs_on_what_is_directly_inside() -> None:
    PassManager(nest("builtin.module", nest("func.func", Note()))).run(module())
    assert seen == ["f"]


def test_nesting_goes_deeper_step_by_step() -> None:
    PassManager(nest("builtin.module", nest("builtin.module", nest("func.func", Note())))).run(module())
    assert seen == ["g"]


def test_any_runs_on_every_isolated_op() -> None:
    PassManager(nest("builtin.module", nest("any", Note()))).run(module())
    assert seen == ["f", "inner"]


def test_any_leaves_out_ops_that_are_not_isolated() -> None:
    text = "func.func @f(%b: i1) {\nscf.if %b {\n}\nreturn\n}"
    PassManager(nest("builtin.module", nest("func.func", nest("any", Note())))).run(parse_module(text))
    assert seen == []


def test_neighboring_nested_pipelines_go_op_by_op() -> None:
    text = "func.func private @f()\nfunc.func private @g()\n"
    pipeline = nest("builtin.module", nest("func.func", Note()), nest("func.func", Note()))
    PassManager(pipeline).run(parse_module(text))
    assert seen == ["f", "f", "g", "g"]


def test_the_anchor_must_be_the_op() -> None:
    with pytest.raises(DiagnosticError, match="cannot run on 'builtin.module'"):
        PassManager(nest("func.func", Note())).run(module())


def test_statistics_of_one_pass_object_add_up() -> None:
    statistics = Statistics()
    pipeline = nest("builtin.module", nest("any", Note()))
    PassManager(pipeline, statistics=statistics).run(module())
    report = statistics.report()
    assert "'any' Pipeline\n  note\n    (S) 2 runs - Number of runs\n" in report


def test_a_failing_pass_names_its_reason() -> None:
    with pytest.raises(PassFailure, match="it cannot be done"):
        PassManager(nest("builtin.module", Fail())).run(module())


def test_broken_ir_is_found_after_the_pass_that_broke_it() -> None:
    with pytest.raises(DiagnosticError) as failure:
        PassManager(nest("builtin.module", Break())).run(module())
    notes = [note.message for note in failure.value.diagnostics[0].notes]
    assert "the IR does not verify after pass 'break' on 'builtin.module'" in notes


def test_verification_can_be_left_out() -> None:
    PassManager(nest("builtin.module", Break()), verify_each=False).run(module())


def test_a_fault_names_pass_op_and_location(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TESSERA_DEBUG", raising=False)
    with pytest.raises(InternalFault) as failure:
        PassManager(nest("builtin.module", Crash())).run(module())
    diagnostic = failure.value.diagnostics[0]
    assert diagnostic.message == (
        "internal fault in pass 'crash' on 'builtin.module' at 'arith.addi': KeyError: 'lost'"
    )
    assert diagnostic.location is not None
    start = diagnostic.location.start()
    assert start is not None
    assert start[:2] == ("test.mlir", 2)


def test_a_fault_comes_through_when_debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_DEBUG", "1")
    with pytest.raises(KeyError):
        PassManager(nest("builtin.module", Crash())).run(module())


def test_the_caller_adds_a_note_to_a_failure() -> None:
    with pytest.raises(PassFailure) as failure:
        PassManager(nest("builtin.module", Fail()), on_failure=lambda *_: "see there").run(module())
    assert failure.value.diagnostics[0].notes[-1].message == "see there"


def printed(options: PrintOptions, pipeline: Pipeline) -> str:
    out: list[str] = []
    manager = PassManager(pipeline, observers=(IRPrinting(options, out.append, lambda *_: None),))
    with contextlib.suppress(DiagnosticError):
        manager.run(module())
    return "".join(line for text in out for line in text.splitlines(True) if line.startswith("//"))


def test_dump_headers_are_those_of_mlir() -> None:
    both = PrintOptions(before_all=True, after_all=True)
    assert printed(both, nest("builtin.module", Note())) == (
        "// -----// IR Dump Before note (note) //----- //\n// -----// IR Dump After note (note) //----- //\n"
    )


def test_a_dump_at_module_scope_names_the_op() -> None:
    options = PrintOptions(after_all=True, module_scope=True)
    assert printed(options, nest("builtin.module", nest("func.func", Note()))) == (
        "// -----// IR Dump After note (note) ('func.func' operation: @f) //----- //\n"
    )


def test_after_failure_dumps_only_the_pass_that_failed() -> None:
    options = PrintOptions(after_failure=True)
    assert printed(options, nest("builtin.module", Note(), Fail())) == (
        "// -----// IR Dump After fail Failed (fail) //----- //\n"
    )


def test_after_change_leaves_out_what_changed_nothing() -> None:
    options = PrintOptions(after_all=True, after_change=True)
    assert printed(options, nest("builtin.module", Note())) == ""


def test_a_tree_has_a_folder_for_each_op() -> None:
    paths: list[str] = []
    printing = IRPrinting(
        PrintOptions(after_all=True, tree_dir="tree"), lambda _: None, lambda path, _: paths.append(path)
    )
    pipeline = nest("builtin.module", nest("func.func", Note(), Note()), Note(), nest("func.func", Note()))
    PassManager(pipeline, observers=(printing,)).run(module())
    assert paths == [
        "tree/builtin_module_no-symbol-name/func_func_f/0_0_note.mlir",
        "tree/builtin_module_no-symbol-name/func_func_f/0_1_note.mlir",
        "tree/builtin_module_no-symbol-name/1_note.mlir",
        "tree/builtin_module_no-symbol-name/func_func_f/1_2_note.mlir",
    ]


def test_timing_nests_as_the_pipeline_does() -> None:
    timing = Timing()
    PassManager(nest("builtin.module", nest("func.func", Note())), timing=timing).run(module())
    report = timing.report()
    assert "... Execution time report ..." in report
    lines = [line.split(")  ")[1] for line in report.splitlines() if "%)" in line]
    assert lines == ["'func.func' Pipeline", "  note", "Rest", "Total"]
    assert timing.report("list").count("note") == 1
