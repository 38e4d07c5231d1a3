"""A pass says that it changed nothing only if that is so: the IR is not verified after it then."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera_tools.cli.target_pipeline import target_pipeline
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.core import Operation
from tessera_tools.ir.printing import op_text
from tessera_tools.parser import parse_module
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pipeline
from tessera_tools.passes.table import PASSES, find_pass

ROOT = Path(__file__).resolve().parents[2]
OF_ANY_DIALECT = [
    name for name, row in PASSES.items() if row.where.startswith("builtin.") and name != "strip-debuginfo"
]
"""`strip-debuginfo` changes what this text does not show."""


@pytest.fixture
def false_claims(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the passes that changed the text of an op, and said that they did not."""
    found: list[str] = []

    def watched(kind: type[Pass]) -> None:
        run = kind.run

        def checked(self: Pass, op: Operation, context: PassContext) -> bool | None:
            before = op_text(op, generic=True)
            changed = run(self, op, context)
            if changed is False and op_text(op, generic=True) != before:
                found.append(self.text())
            return changed

        monkeypatch.setattr(kind, "run", checked)

    for kind in {find_pass(name) for name in PASSES}:
        if kind is not None and "run" in vars(kind):
            watched(kind)
    return found


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("example", ["softmax", "gemm", "attention_causal", "gemm_tile"])
def test_of_the_pipeline_of_a_target(example: str, target: str, false_claims: list[str]) -> None:
    module = parse_module((ROOT / "examples" / f"{example}.mlir").read_text(), "test.mlir")
    PassManager(target_pipeline(module, target, None, verify_each=False), verify_each=False).run(module)
    assert false_claims == []


@pytest.mark.parametrize("name", OF_ANY_DIALECT)
def test_of_the_passes_on_any_dialect(name: str, false_claims: list[str]) -> None:
    for path in sorted((ROOT / "test" / "passes" / "builtin").glob("*.mlir")):
        for text in path.read_text().split("// -----"):
            try:
                module = parse_module(text, path.name, allow_unregistered=True)
                PassManager(Pipeline("builtin.module", [*parse_pipeline(name).passes()])).run(module)
            except DiagnosticError:
                continue
    assert false_claims == []
