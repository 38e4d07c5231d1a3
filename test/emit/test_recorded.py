"""The LLVM IR of every kernel is what was recorded, and so are what is told of it and of its launch: a change of the
compiler that alters them is never unnoticed.

`tools/compare_ptx.py record` records it again. The commit that does so explains the difference.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from compare_ptx import RANDOM, Program, changed_stages, digests, labels, programs, recorded

PROGRAMS = {program.name: program for program in programs(RANDOM)}


def test_every_kernel_is_recorded() -> None:
    assert sorted(PROGRAMS) == sorted(recorded()), "run: python tools/compare_ptx.py record"


@pytest.mark.parametrize(
    ("name", "label"), [(name, label) for name in sorted(PROGRAMS) for label in labels(PROGRAMS[name])]
)
def test_a_kernel_compiles_to_what_is_recorded(name: str, label: str) -> None:
    changed = changed_stages(recorded()[name].get(label, ""), digests(PROGRAMS[name], label))
    target, _, options = label.partition(" ")
    assert not changed, (
        f"not as recorded: {', '.join(changed)}; to see it: "
        f"python tools/compare_ptx.py compare main . --stage={changed[0]} --show --targets={target} --only={name} "
        f"--options='{options}'; to record it: python tools/compare_ptx.py record"
    )


def changed_by(before: str, after: str) -> list[str]:
    """What is another than recorded if the program has other words."""
    text = PROGRAMS["examples/vector_add"].content
    assert isinstance(text, str)
    assert before in text
    changed = Program("examples/vector_add", text.replace(before, after))
    return changed_stages(recorded()["examples/vector_add"]["sm_80"], digests(changed, "sm_80"))


def test_another_instruction_is_other_code() -> None:
    assert changed_by("addf", "subf") == ["llvmir"]


def test_another_parameter_is_another_manifest() -> None:
    assert "manifest" in changed_by("entry @", "entry @other_")
