"""Every atom of the table is reachable: some program leads to it, and its instruction is in the PTX.

    (table: dialects/atoms.py)  a primitive of copies   ─ `COPYING` ─▶ the atom at the last stage of nv_tileas, the PTX
                                an instruction for products ─ `product` ─▶ the PTX

What is added to the table and not chosen, or chosen and not emitted, is named here.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from dots.test_products import shapes_of, text_of
from dots.test_scaled import shapes_of as scaled_shapes
from dots.test_scaled import text_of as scaled_text
from pipelines.programs_of_products import Product as Gemm
from pipelines.programs_of_scales import Scaled
from programs import compiled, program
from run_cache import once_in_a_run

from tessera_tools.dialects.atoms import COPIES, FMA, PRODUCTS, UMMA, WGMMA, Product
from tessera_tools.ir.printing import print_op
from tessera_tools.ir.types import IntegerType, Type
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass
from tessera_tools.passes.table import pipeline_for
from tessera_tools.target import Feature, lookup, targets

GEMM = (Path(__file__).parents[1] / "corpus/gemm_f16_64x64x32.mlir").read_text()
ADD = program("%y = addf %x, %x : tile<256xf32>", {"x": ("f32", (256,))}, {"y": ("f32", (256,))})
SUMS = text_of(shapes_of(32, 32, 16), "f32", "f32")
EIGHT_BITS = text_of(shapes_of(64, 64, 64), "i8", "i32", "mmai", "signed signed")

COPYING = {
    "ldg": (ADD, "sm_80", r"ld\.global"),
    "stg": (ADD, "sm_80", r"st\.global"),
    "lds": (SUMS, "sm_80", r"ld\.shared"),
    "sts": (SUMS, "sm_80", r"st\.shared"),
    "cp_async": (GEMM, "sm_80", r"cp\.async\.cg\.shared\.global"),
    "ldmatrix": (GEMM, "sm_80", r"ldmatrix\.sync\.aligned\.m8n8\.x4\.shared"),
    "ldmatrix_trans": (GEMM, "sm_80", r"ldmatrix\.sync\.aligned\.m8n8\.x4\.trans"),
    "stmatrix": (
        Gemm(out="f16", d_assumed=True).text(),
        "sm_90",
        r"stmatrix\.sync\.aligned\.m8n8\.x4\.shared",
    ),
    "stmatrix_trans": (
        Gemm(out="f16", d_assumed=True, d_t=True).text(),
        "sm_90",
        r"stmatrix\.sync\.aligned\.m8n8\.x4\.trans",
    ),
    "tma_load": (Gemm().text(), "sm_90", r"cp\.async\.bulk\.tensor\.2d\.shared"),
    "tma_store": (Gemm(d_assumed=True).text(), "sm_90", r"cp\.async\.bulk\.tensor\.2d\.global"),
}
"""Primitive of copies → (a program, the target, its instruction)."""


@once_in_a_run
def last_stage(text: str, target: str) -> str:
    """The module behind the last pass on nv_tileas, as text."""
    module = parse_module(text, "program.mlir")
    pipeline = Pipeline("builtin.module")
    for step in pipeline_for(target):
        pipeline.add(parse_pass(step.text))
        if step.text == "tileas-insert-barriers":
            break
    PassManager(pipeline).run(module)
    return print_op(module)


def test_every_copy_has_a_program() -> None:
    assert set(COPYING) == set(COPIES), "add a program to COPYING that leads to the primitive"


@pytest.mark.parametrize("word", COPYING)
def test_a_copy_is_chosen_and_emitted(word: str) -> None:
    text, target, instruction = COPYING[word]
    verb = word.removeprefix("tma_")
    names = rf"copy_atom<sm\d+_{word}_(x?\d+|\dd)_" + ("" if verb == word else rf"|tma{verb}<{verb}_")
    assert re.search(names, last_stage(text, target)), f"no pass chooses {word} where it would serve"
    assert re.search(instruction, compiled(text, lookup(target).cpu).ptx), f"{word} is not emitted"


# -- products


def spelled(type: Type) -> str:
    return f"i{type.width}" if isinstance(type, IntegerType) else str(type)


def product(row: Product, operand: str, accumulator: str) -> str:
    """A program whose product the instruction serves."""
    if row.primitive == UMMA and operand == "f4E2M1FN":
        return Scaled(m=row.m, n=64, k=2 * row.k).text()
    if row.primitive in (WGMMA, UMMA):
        b_t = "" if operand in ("f16", "bf16") else "permute"
        return Gemm(operand, accumulator, m=row.m, k=2 * row.k, b_t=b_t).text()
    if row.scaled or operand == "f4E2M1FN":
        return scaled_text(scaled_shapes(32, 32, 64, 32), operand, "f8E8M0FNU")
    op, signs = ("mmai", "signed signed") if operand.startswith("i") else ("mmaf", "")
    return text_of(shapes_of(32, 32, 2 * max(row.k, 16)), operand, accumulator, op, signs)


WORDS = {
    "f16": "f16", "bf16": "bf16", "tf32": "tf32", "f32": "f32", "f64": "f64", "i8": "s8", "i32": "s32",
    "f8E4M3FN": "e4m3", "f8E5M2": "e5m2",
}  # fmt: skip
"""PTX's words for the types."""


def instruction(row: Product, operand: str, accumulator: str) -> str:
    """The instruction in PTX, as a regular expression."""
    if row.primitive == FMA:
        return r"fma\.rn\.f32"
    # f4 without scales of blocks, and f8 where the row has f16's depth, are converted in registers.
    a = "f16" if operand == "f4E2M1FN" or (operand.startswith("f8") and row.k == 16) else WORDS[operand]
    d = WORDS[accumulator]
    if row.primitive == UMMA and operand == "f4E2M1FN":
        return r"tcgen05\.mma\.cta_group::1\.kind::mxf4nvf4\.block_scale\.block16"
    if row.scaled:
        kind, vector = ("mxf8f6f4", "1X") if row.k == 32 else ("mxf4", "2X")
        return rf"mma\.sync\.aligned\.m16n8k{row.k}\.row\.col\.kind::{kind}\.block_scale\.scale_vec::{vector}"
    if row.primitive == WGMMA:
        return rf"wgmma\.mma_async\.sync\.aligned\.m64n\d+k{row.k}\.{d}\.{a}\.{a}"
    if row.primitive == UMMA:
        kind = {"bf16": "f16", "s8": "i8"}.get(a, "f8f6f4" if operand.startswith("f8") else a)
        return rf"tcgen05\.mma\.cta_group::1\.kind::{kind}"
    shape = f"m{row.m}n{row.n[0]}k{row.k}"
    return rf"mma\.sync\.aligned\.{shape}\.row\.col\.(satfinite\.)?{d}\.{a}\.{a}\.{d}"


ROWS = [
    (row, spelled(a), spelled(c)) for row, a, c in (
        (row, a, c) for row in PRODUCTS for a, c in itertools.product(row.operands, row.accumulators)
    )
    if spelled(a) != "f4E2M1FN" or spelled(c) == "f32"
]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "operand", "accumulator"),
    ROWS,
    ids=[f"{r.primitive}-{r.since}-m{r.m}-k{r.k}-{a}-{c}" for r, a, c in ROWS],
)
def test_an_instruction_is_chosen_and_emitted(row: Product, operand: str, accumulator: str) -> None:
    target = next(t for t in targets() if row.feature is None or t.has(row.feature))
    ptx = compiled(product(row, operand, accumulator), target.cpu).ptx
    assert re.search(instruction(row, operand, accumulator), ptx), f"{row} is not chosen, or not emitted"


@pytest.mark.parametrize(
    "feature", sorted({f for row in (*COPIES.values(), *PRODUCTS) if (f := row.feature)}, key=str)
)
def test_a_feature_that_an_atom_needs_is_one_of_a_target(feature: Feature) -> None:
    assert any(target.has(feature) for target in targets()), f"no target in target/table.py has {feature}"
