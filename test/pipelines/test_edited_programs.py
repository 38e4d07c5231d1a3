"""A program that differs from a loaded one in an instruction behaves as one that was loaded."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import programs
import pytest
from programs import Compiled, compiled, fresh_seed, launch_ptx

from tessera_tools.diagnostics import DiagnosticError

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_products import Product


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
def test_a_program_without_a_line_is_as_if_it_was_loaded(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of mma, registers that products watch, mbarriers, fences: any lines of a product with agents."""
    rng = np.random.default_rng(fresh_seed())
    product = Product(m=64, n=32, k=32, steps=2)
    made = compiled(product.text(), target)
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((64, 64), (64, 32)))
    args = [
        v for x in (a, b, np.zeros((64, 32), np.float32)) for v in (x, *map(np.int32, (*x.shape, x.shape[1])))
    ]
    lines = made.ptx.split("\n")
    able = [
        n
        for n, text in enumerate(lines)
        if re.match(r"\s+(mma|wgmma|tcgen05|mbarrier|bar|cp|ld|st|mov)\S*\s.*;$", text)
    ]

    def launched(program: Compiled) -> tuple[list[bytes], str] | str:
        try:
            arrays, result = launch_ptx(
                program, args, target, (1,), file="k.ptx", mode="late", seed=1, max_instructions=20_000
            )
        except DiagnosticError as refusal:
            return str(refusal)
        found = [array.tobytes() for array in arrays]
        # A line that is gone still counts as an instruction, so that a loop without an end stops at another one.
        if any(finding.kind == "limit" for finding in result.findings):
            return found, " ".join(finding.kind for finding in result.findings)
        return found, result.findings.text("k")

    right = launched(made)
    for line in rng.choice(able, 6, replace=False):
        program = replace(made, ptx="\n".join([*lines[:line], "", *lines[line + 1 :]]))
        edited = launched(program)
        programs._LOADED.popitem()
        with monkeypatch.context() as patch:
            patch.setattr(programs, "_edited", lambda *_: None)
            assert launched(program) == edited, lines[line]
    assert launched(made) == right
