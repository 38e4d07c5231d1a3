"""Factors of f32 that the program rounds to tf32: TMA does it, by the element type of the tensor map."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from programs import compiled, decode, empty, fresh_seed, launch

import tessera_tools as tt
from tessera_tools.parser import parse_module

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_products import Product
from test_products import check

ORDERS = {
    "along K": Product("tf32", a_in="f32", b_in="f32", m=128, k=32, b_t="permute"),
    "along K, through a view": Product("tf32", a_in="f32", b_in="f32", m=128, k=32, b_t="view"),
    "B along N": Product("tf32", a_in="f32", b_in="f32", m=128, k=32),
    "A along M, B along N": Product("tf32", a_in="f32", b_in="f32", m=128, k=32, a_t="permute"),
}
TARGETS = {"sm_90a": "wgmma.mma_async", "sm_100a": "tcgen05.mma"}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("order", ORDERS)
def test_tma_rounds_both_factors(order: str, target: str) -> None:
    made = compiled(ORDERS[order].text(), target)
    assert TARGETS[target] in made.ptx and "mma.sync" not in made.ptx
    assert "cvt.rn.tf32" not in made.ptx
    (kernel,) = made.manifest.kernels
    assert [m.element_type for m in kernel.tensor_maps if m.base in (0, 4)] == ["tf32", "tf32"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("order", ORDERS)
def test_results(order: str, target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    check(ORDERS[order], bool(rng.integers(2)), str(rng.choice(["late", "early"])), rng, target)


def test_tcgen05_reads_factors_across_k_in_units_of_32_bytes() -> None:
    (kernel,) = compiled(ORDERS["B along N"].text(), "sm_100a").manifest.kernels
    assert [m.swizzle for m in kernel.tensor_maps if m.base in (0, 4)] == ["128B", "128B_atom_32B"]


@pytest.mark.parametrize("target", ["sm_80", *TARGETS])
def test_factors_are_rounded_to_nearest_even(target: str) -> None:
    """The product with the identity has the rounded factor."""
    rng = np.random.default_rng(fresh_seed())
    product = ORDERS["along K"]
    a = rng.standard_normal((128, 32)).astype(np.float32)
    bits = a.view(np.uint32)
    bits[:, 0] = bits[:, 0] & 0xFFFFE000 | 0x1000  # In the middle between two numbers.
    b, c = np.eye(64, 32, dtype=np.float32), empty("f32", (128, 64))
    sizes = [np.int32(n) for n in (128, 32, 32, 32, 64, 32, 128, 64, 64)]
    given = [a, *sizes[:3], b, *sizes[3:6], c, *sizes[6:]]
    found = launch(product.text(), *given, target=target, grid=(1, 1))[0][2]
    nearest = bits + 0xFFF + (bits >> 13 & 1) & 0xFFFFE000
    assert (np.asarray(decode("f32", found))[:, :32] == nearest.view(np.float32)).all()


ANOTHER_ROUNDING = ("ftof %ai", "ftof %ai rounding<nearest_away>")
ANOTHER_USE = (
    "%new = mmaf %a, %b, %old",
    """%twice = addf %ai, %ai : tile<128x32xf32>
    %both = ftof %twice : tile<128x32xf32> -> tile<128x32xtf32>
    %first = mmaf %both, %b, %old : tile<128x32xtf32>, tile<32x64xtf32>, tile<128x64xf32>
    %new = mmaf %a, %b, %first""",
)


@pytest.mark.parametrize("change", [ANOTHER_ROUNDING, ANOTHER_USE], ids=["another rounding", "another use"])
def test_threads_round_what_tma_does_not(change: tuple[str, str]) -> None:
    text = ORDERS["along K"].text()
    assert change[0] in text
    made = compiled(text.replace(*change), "sm_90a")
    (kernel,) = made.manifest.kernels
    assert {m.base: m.element_type for m in kernel.tensor_maps} == {0: "f32", 4: "tf32"}


def test_a_remark_says_that_tma_rounds() -> None:
    made = tt.compile(parse_module(ORDERS["along K"].text(), "product.mlir"), "sm_90a")
    texts = [remark.message for remark in made.remarks if remark.rule == "tma"]
    assert "load by TMA in boxes of 128x32 elements, swizzled by 128 bytes, rounded to tf32" in texts
