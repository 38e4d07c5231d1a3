"""A pass says that it changed nothing only if that is so: the IR is not verified after it then."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from harness.claims import claims_checked
from tessera_tools.cli.target_pipeline import target_pipeline
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.builtin_attributes import UNIT
from tessera_tools.ir.core import Operation
from tessera_tools.parser import parse_module
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pipeline
from tessera_tools.passes.table import PASSES

ROOT = Path(__file__).resolve().parents[2]
OF_ANY_DIALECT = [name for name, row in PASSES.items() if row.where.startswith("builtin.")]


class _Claims(Pass):
    """Sets an attribute, and says what it is told to say."""

    name: ClassVar = "claims"

    def __init__(self, says: bool | None) -> None:
        self.says = says

    def run(self, op: Operation, context: PassContext) -> bool | None:
        op.attributes["test.set"] = UNIT
        return self.says


@pytest.mark.parametrize(("says", "expected"), [(False, ["claims"]), (True, []), (None, [])])
def test_a_false_claim_is_found(says: bool | None, expected: list[str]) -> None:
    module = parse_module("", "test.mlir")
    with claims_checked() as false_claims:
        PassManager(Pipeline("builtin.module", [_Claims(says)])).run(module)
    assert false_claims == expected


class _MovesBlocks(Pass):
    """Gives a region the blocks of another, which still have that for their parent."""

    name: ClassVar = "moves-blocks"

    def run(self, op: Operation, context: PassContext) -> bool:
        branch = next(one for one in op.walk() if len(one.regions) == 2)
        first, second = branch.regions
        first.blocks, second.blocks = second.blocks, first.blocks
        return True


def test_a_broken_link_is_found() -> None:
    module = parse_module("%c = arith.constant true\nscf.if %c {\n} else {\n}", "test.mlir")
    with claims_checked() as found:
        PassManager(Pipeline("builtin.module", [_MovesBlocks()]), verify_each=False).run(module)
    assert found == ["moves-blocks: a block of 'scf.if' has another parent"]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("example", ["softmax", "gemm", "attention_causal", "gemm_tile"])
def test_of_the_pipeline_of_a_target(example: str, target: str) -> None:
    module = parse_module((ROOT / "examples" / f"{example}.mlir").read_text(), "test.mlir")
    with claims_checked() as false_claims:
        PassManager(target_pipeline(module, target, None, verify_each=False), verify_each=False).run(module)
    assert false_claims == []


@pytest.mark.parametrize("name", OF_ANY_DIALECT)
def test_of_the_passes_on_any_dialect(name: str) -> None:
    for path in sorted((ROOT / "test" / "passes" / "builtin").glob("*.mlir")):
        for text in path.read_text().split("// -----"):
            try:
                module = parse_module(text, path.name, allow_unregistered=True)
                with claims_checked() as false_claims:
                    PassManager(Pipeline("builtin.module", [*parse_pipeline(name).passes()])).run(module)
            except DiagnosticError:
                continue
            assert false_claims == [], path
