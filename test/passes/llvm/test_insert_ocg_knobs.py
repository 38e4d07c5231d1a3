"""tileas-insert-OCG-knobs on a whole kernel: ptxas takes the PTX, which computes the same."""

from __future__ import annotations

from pathlib import Path

from programs import assembled, compiled

from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module
from tessera_tools.passes.base import PassContext
from tessera_tools.passes.llvm.insert_ocg_knobs import InsertOCGKnobs

GEMM = Path(__file__).parents[2] / "corpus" / "gemm_f16_64x64x32.mlir"


def test_the_knobs_reach_ptx_and_change_no_instruction() -> None:
    before = compiled(GEMM.read_text(), "sm_90a")
    module = parse_module(before.llvm, "gemm.mlir")
    assert InsertOCGKnobs().run(module, context := PassContext())
    after = compiled(print_op(module), "sm_90a")
    pragma = '.pragma "next knob FenceCode";'
    assert after.ptx.count(pragma) == context.counters["knobs"] > 4

    def instructions(ptx: str) -> list[str]:
        lines = [line.strip() for line in ptx.splitlines() if line.startswith("\t")]
        return [line.split()[0] for line in lines if line and not line.startswith((".", "//", "{", "}"))]

    assert sorted(instructions(after.ptx)) == sorted(instructions(before.ptx))
    assert assembled(after.ptx, "sm_90a").stages["cubin"]
