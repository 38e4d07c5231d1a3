"""tileas-insert-OCG-knobs on a whole kernel: ptxas takes the PTX, which computes the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import assembled, compiled

from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module
from tessera_tools.passes.base import PassContext
from tessera_tools.passes.llvm.insert_ocg_knobs import InsertOCGKnobs

GEMM = Path(__file__).parents[2] / "corpus" / "gemm_f16_64x64x32.mlir"


@pytest.mark.parametrize(("target", "busy"), [("sm_90a", 0), ("sm_100a", 1), ("sm_103a", 1), ("sm_107a", 0)])
def test_the_knobs_reach_ptx_and_change_no_instruction(target: str, busy: int) -> None:
    before = compiled(GEMM.read_text(), target)
    module = parse_module(before.llvm, "gemm.mlir")
    assert InsertOCGKnobs().run(module, context := PassContext())
    after = compiled(print_op(module), target)
    pragma = '.pragma "next knob FenceCode";'
    assert after.ptx.count('.pragma "global knob SchedResBusyXU64=1";') == busy
    assert after.ptx.count(pragma) == context.counters["knobs"] - busy
    assert after.ptx.count(pragma) > 4

    def instructions(ptx: str) -> list[str]:
        lines = [line.strip() for line in ptx.splitlines() if line.startswith("\t")]
        return [line.split()[0] for line in lines if line and not line.startswith((".", "//", "{", "}"))]

    assert sorted(instructions(after.ptx)) == sorted(instructions(before.ptx))
    assert assembled(after.ptx, target).stages["cubin"]
