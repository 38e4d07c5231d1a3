"""What a product needs of its factors, given the parts of the sums that the CTAs of a cluster have."""

from __future__ import annotations

import pytest

from tessera_tools.dialects import nv_tileas
from tessera_tools.parser import parse_module
from tessera_tools.passes.tileas.cta_arms import BACKWARD, FORWARD, Conflict, arm_of
from tessera_tools.passes.tileas.cta_layouts import Blocks

ATOM = "#cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>"


def product(batch: str) -> nv_tileas.Dot:
    a, b, c = (f"tensor<{batch}{tile}>" for tile in ("128x32xf16", "32x64xf16", "128x64xf32"))
    module = parse_module(
        f"func.func @f(%a: {a}, %b: {b}, %c: {c}) {{\n"
        f"%d = nv_tileas.dot %a, %b, %c {{atom = {ATOM}}} : {a}, {b}, {c}\nreturn\n}}",
        "product.mlir",
    )
    (dot,) = (op for op in module.walk() if isinstance(op, nv_tileas.Dot))
    return dot


ROWS, COLUMNS = ((64, 0),), ((0, 32),)
NEEDED = [
    ("", ROWS, ((64, 0),), ((0, 0),)),
    ("", COLUMNS, ((0, 0),), ((0, 32),)),
    ("", (*ROWS, *COLUMNS), ((64, 0), (0, 0)), ((0, 0), (0, 32))),
    ("2x", ((0, 64, 0),), ((0, 64, 0),), ((0, 0, 0),)),
    ("2x", ((0, 0, 32),), ((0, 0, 0),), ((0, 0, 32),)),
    ("2x", ((1, 0, 0),), ((1, 0, 0),), ((1, 0, 0),)),
]


@pytest.mark.parametrize(("batch", "sums", "left", "right"), NEEDED)
def test_a_part_of_the_sums_needs_rows_of_a_and_columns_of_b(
    batch: str, sums: Blocks, left: Blocks, right: Blocks
) -> None:
    dot = product(batch)
    arm = arm_of(dot, BACKWARD)
    assert arm is not None
    assert dict(arm.step(dot, dot.res, sums)) == {dot.c: sums, dot.a: left, dot.b: right}


@pytest.mark.parametrize(("batch", "sums", "left", "right"), NEEDED)
def test_a_part_of_a_factor_gives_its_part_of_the_sums(
    batch: str, sums: Blocks, left: Blocks, right: Blocks
) -> None:
    dot = product(batch)
    arm = arm_of(dot, FORWARD)
    assert arm is not None
    assert dict(arm.step(dot, dot.a, left)) == {dot.res: left}
    assert dict(arm.step(dot, dot.b, right)) == {dot.res: right}


@pytest.mark.parametrize(("factor", "along_k"), [("a", (0, 16)), ("b", (16, 0))])
def test_a_part_of_the_terms_gives_no_part_of_the_sums(factor: str, along_k: tuple[int, int]) -> None:
    dot = product("")
    arm = arm_of(dot, FORWARD)
    assert arm is not None
    with pytest.raises(Conflict, match="adds along an axis of which each CTA of a cluster would have a part"):
        list(arm.step(dot, getattr(dot, factor), (along_k,)))
