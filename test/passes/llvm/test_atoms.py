"""Copy atoms changed by hand at the last stage of nv_tileas: what is compiled is what they say, or they are refused."""

from __future__ import annotations

import functools
import re
from collections import Counter
from pathlib import Path

import pytest
from programs import worker

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.ir.printing import print_op
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.table import pipeline_for
from tessera_tools.target import lookup

TARGET = "sm_90a"
GEMM = (Path(__file__).parents[2] / "corpus/gemm_f16_64x64x32.mlir").read_text()
SPELLINGS = [
    *(f"sm80_{word}_{bits}_f16" for word in ("ldg", "stg", "lds", "sts", "cp_async") for bits in (8, 16, 32, 64, 128)),
    *(f"sm75_ldmatrix{trans}_x{count}_f16" for trans in ("", "_trans") for count in (1, 2, 4)),
    *(f"sm90_stmatrix{trans}_x{count}_f16" for trans in ("", "_trans") for count in (1, 2, 4)),
    "sm90_tma_load_2d_f16", "sm90_tma_store_2d_f16", "sm80_ldg_128_f32", "sm80_lds_64_bf16",
]  # fmt: skip
INSTRUCTIONS = {
    "ldg": r"ld\.global\S*", "stg": r"st\.global\S*", "lds": r"ld\.shared\S*", "sts": r"st\.shared\S*",
    "cp_async": r"cp\.async\.c[ag]\S*.*, (\d+)", "ldmatrix": r"ldmatrix\.sync\S*",
    "stmatrix": r"stmatrix\.sync\S*",
}  # fmt: skip


ATOMS = ["sm90_stmatrix_x4_f16"]
"""The copy atoms of the GEMM at that stage."""


@functools.cache
def last_stage() -> str:
    """The GEMM with its barriers, as text."""
    module = parse_module(GEMM, "gemm.mlir")
    names = [step.text for step in pipeline_for("sm_90")]
    pipeline = Pipeline("builtin.module")
    for text in names[: names.index("tileas-insert-barriers") + 1]:
        pipeline.add(parse_pass(text))
    PassManager(pipeline).run(module)
    return print_op(module)


def ptx(text: str) -> str:
    """The PTX of a module at that stage."""
    module = parse_module(text, "stage.mlir")
    verify_or_raise(module)
    return compile_module(module, Options(lookup(TARGET), until="ptx"), worker=worker()).text("ptx")


def width(instruction: str) -> int:
    """Bits that one thread moves by a load or store of PTX."""
    count = int(m[1]) if (m := re.search(r"\.v(\d)", instruction)) else 1
    size = re.search(r"\.[bfus](\d+)", instruction)
    assert size is not None
    return count * int(size[1])


def moved(text: str) -> Counter[str]:
    """How many instructions of each kind and width a PTX text has, spelled as atoms spell them."""
    found: Counter[str] = Counter()
    for line in text.splitlines():
        for word, pattern in INSTRUCTIONS.items():
            match = re.search(pattern, line)
            if match is None:
                continue
            if word.endswith("matrix"):
                trans = "_trans" if ".trans" in match[0] else ""
                number = re.search(r"\.x(\d)", match[0])
                assert number is not None
                found[f"{word}{trans}_x{number[1]}"] += 1
            else:
                found[f"{word}_{8 * int(match[1]) if word == 'cp_async' else width(match[0])}"] += 1
    return found


@functools.cache
def before() -> Counter[str]:
    """What the GEMM moves as it is."""
    return moved(ptx(last_stage()))


def test_the_atoms_are_those_of_the_stage() -> None:
    assert sorted(set(re.findall(r"#cute\.copy_atom<(\w+)>", last_stage()))) == ATOMS


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("old", ATOMS)
def test_an_atom_is_honored_or_refused(old: str, spelling: str):
    text = last_stage().replace(f"copy_atom<{old}>", f"copy_atom<{spelling}>")
    assert text != last_stage() or spelling == old
    word, old_word = (re.sub(r"sm\d+_(\w+)_f16", r"\1", atom) for atom in (spelling, old))
    try:
        made = ptx(text)
    except DiagnosticError as failure:
        assert "atom" in failure.diagnostics[0].message
        assert spelling != old
        return
    found = moved(made)
    assert found[word] > 0
    if spelling != old:
        assert found[word] > before()[word], "what was asked for is not what is done"
        assert found[old_word] < before()[old_word]
