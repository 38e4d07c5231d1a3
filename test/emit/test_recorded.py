"""The LLVM IR of every kernel is what was recorded: a change of the compiler that alters code is never unnoticed.

`tools/compare_ptx.py record` records it again. The commit that does so explains the difference.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from compare_ptx import RANDOM, Program, digest, labels, programs, recorded

PROGRAMS = {program.name: program for program in programs(RANDOM)}


def test_every_kernel_is_recorded() -> None:
    assert sorted(PROGRAMS) == sorted(recorded()), "run: python tools/compare_ptx.py record"


@pytest.mark.parametrize(
    ("name", "label"), [(name, label) for name in sorted(PROGRAMS) for label in labels(PROGRAMS[name])]
)
def test_the_code_of_a_kernel_is_the_recorded_one(name: str, label: str) -> None:
    assert digest(PROGRAMS[name], label) == recorded()[name].get(label), (
        "other LLVM IR than recorded; to see it (without options): "
        f"python tools/compare_ptx.py compare main . --stage=llvmir --show "
        f"--targets={label.split(maxsplit=1)[0]} --only={name}; to record it: python tools/compare_ptx.py record"
    )


def test_another_instruction_gives_another_digest() -> None:
    text = PROGRAMS["examples/vector_add"].content
    assert isinstance(text, str) and "addf" in text
    changed = Program("examples/vector_add", text.replace("addf", "subf"))
    assert digest(changed, "sm_80") != recorded()["examples/vector_add"]["sm_80"]
