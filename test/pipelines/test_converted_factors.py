"""Factors that an agent of its own computes from what TMA brings, and left factors of 8 and 32 bits in registers."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import assembled, compiled, decode, fresh_seed, launch
from trials import Trial, missed, mutants, near

from oracles import require_tool
from tessera_tools.diagnostics import DiagnosticError

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_attention import Attention
from programs_of_products import Product

F8 = "f8E4M3FN"
SMALL = Attention(rows=64, keys=64, width=64, element=F8)
CONVERTED = Product(m=64, n=64, k=32, b_in="i8", steps=5)


def registers_of_a(ptx: str) -> list[int]:
    """The registers of A of each product; 0 where it is in shared memory."""
    found = re.findall(r"wgmma\.mma_async\S+ \{[^}]*\}, (\{[^}]*\}|%rd\d+)", ptx)
    return [len(a.split(",")) if a.startswith("{") else 0 for a in found]


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("blocks", [1, 4])
def test_attention_of_bytes(blocks: int, mode: str) -> None:
    """The probabilities stay in registers, in the order of the terms in which threads have them; the values are
    transposed in that order."""
    rng = np.random.default_rng(fresh_seed())
    args, expected = SMALL.case(64, 64 * blocks - int(rng.integers(0, 64)), rng)
    arrays, result = launch(SMALL.text(), *args, target="sm_90a", mode=mode)
    assert not result.findings
    np.testing.assert_allclose(decode(F8, arrays[3]), expected, atol=0.15)


def test_probabilities_of_bytes_stay_in_registers() -> None:
    ptx = compiled(SMALL.text(), "sm_90a").ptx
    assert set(registers_of_a(ptx)) == {0, 4}
    # Each word of A is two conversions of two neighbors, without bytes in between.
    assert (
        "cvt.rn.satfinite.e4m3x2" in ptx
        and "shr.u16" not in ptx.split("wgmma.mma_async", 1)[1].split("div")[0]
    )


@pytest.mark.parametrize("size", [(128, 128, 128), (128, 64, 64), (64, 128, 64)])
def test_attention_of_bytes_neither_spills_nor_serializes(size: tuple[int, int, int]) -> None:
    require_tool("ptxas")
    made = compiled(Attention(*size, element=F8).text(), "sm_90a")
    assert [w for w in assembled(made.ptx, "sm_90a").warnings if "C75" in w or "spill" in w] == []


@pytest.mark.parametrize("mode", ["late", "early"])
def test_a_converted_right_factor(mode: str) -> None:
    """The agent converts integers to f16, and runs ahead of the consumer as the producer does."""
    rng = np.random.default_rng(fresh_seed())
    args, expected = integers(CONVERTED, rng)
    arrays, result = launch(CONVERTED.text(), *args, target="sm_90a", mode=mode)
    assert not result.findings
    np.testing.assert_array_equal(arrays[2], expected)


def integers(product: Product, rng: np.random.Generator) -> tuple[list[Any], Any]:
    """Arguments of a product of small integers, and what it computes."""
    m, n, k = product.m, product.n, product.steps * product.k
    a = rng.integers(-4, 5, (m, k)).astype(np.int8 if product.a_in else np.float16)
    b = rng.integers(-4, 5, (k, n)).astype(np.int8)
    arrays = (a, b, np.zeros((m, n), np.float32))
    return [v for x in arrays for v in (x, *map(np.int32, (*x.shape, x.shape[1])))], a.astype(float) @ b


@pytest.mark.parametrize(
    "product, threads, registers",
    [
        (CONVERTED, 256, []),
        (Product(m=128, n=128, k=32, b_in="i8"), 512, [24, 56, 216]),
        (Attention(128, 128, 128, F8), 384, [24, 240]),
    ],
    ids=["one warpgroup", "two", "two with many sums"],
)
def test_the_warps_of_the_agent(product: Product | Attention, threads: int, registers: list[int]) -> None:
    """Two in the warpgroup of the producer; a warpgroup of its own where the consumers need fewer registers."""
    ptx = compiled(product.text(), "sm_90a").ptx
    assert re.search(r"reqntid (\d+)", ptx)[1] == str(threads)  # type: ignore[index]
    assert [int(n) for n in re.findall(r"setmaxnreg\.\w+\.sync\.aligned\.u32 \t(\d+)", ptx)] == registers


def test_consumers_that_take_tiles_in_turn_cannot_have_the_agent() -> None:
    with pytest.raises(DiagnosticError, match="an agent of its own computes a factor"):
        compiled(CONVERTED.text(), "sm_90a", ping_pong="tiles", persistent="static")


@pytest.mark.parametrize("kind", ["bytes", "converted"])
def test_every_synchronization_is_needed(kind: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    if kind == "bytes":
        args, expected = SMALL.case(64, 64 * 6, rng)
        made, right = compiled(SMALL.text(), "sm_90a"), near(3, expected, 0.15, F8)
    else:
        # A is converted in registers: its stages are released before the products that read those of B.
        product = Product(m=64, n=64, k=32, a_in="i8", b_in="i8", steps=12)
        args, expected = integers(product, rng)
        made, right = compiled(product.text(), "sm_90a"), near(2, expected, 0.1)
    assert missed(made, mutants(made.ptx), Trial(args, "sm_90a", (1,), right)) == []
