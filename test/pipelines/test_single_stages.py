"""Loops whose tiles have no room for two stages each: some pipelines have one, and the products stay asynchronous."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import compiled, decode, fresh_seed, launch

from tessera_tools.cli.translate import run as run_translate

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_attention import Attention
from programs_of_products import Product

WIDE = Attention(rows=64, keys=128, width=256)
LATENT = Attention(rows=256, keys=128, width=128, element="bf16", more=64)
"""As the prefill of multi-head latent attention."""
KERNELS = {
    ("wide", "sm_90a"): (WIDE, [1, 1]),
    ("wide", "sm_100a"): (WIDE, [1, 1]),
    ("wide, two loops", "sm_100a"): (Attention(64, 128, 256, causal=True, split=True), [1, 1]),
    ("latent", "sm_100a"): (LATENT, [2, 1, 1]),
}


def translated(text: str, target: str, *flags: str) -> tuple[str, str]:
    """(PTX, remarks)."""
    result: Any = run_translate(
        [f"--gpu-name={target}", "--cache=off", "--mlir-to-ptx", "--remarks=text", "-o", "-", *flags],
        text.encode(),
    )
    return result.stdout.decode(), result.stderr.decode()


@pytest.mark.parametrize("name", KERNELS, ids=", ".join)
def test_a_second_stage_goes_to_the_tiles_that_are_used_first(name: tuple[str, str]) -> None:
    kernel, stages = KERNELS[name]
    ptx, told = translated(kernel.text(), name[1])
    assert ("wgmma.mma_async" if name[1] == "sm_90a" else "tcgen05.mma") in ptx and "mma.sync" not in ptx
    why = r"(?:two of each pipeline would take \d+ bytes|the others have no room for a second)"
    found = re.findall(rf"pipeline of (\d) stages? of \d+ bytes: {why}", told)
    assert [int(number) for number in found] == stages


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("name", KERNELS, ids=", ".join)
def test_results(name: tuple[str, str], mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    kernel, _ = KERNELS[name]
    queries = kernel.rows + int(rng.integers(1, kernel.rows))
    keys = int(rng.integers(1, 4)) * kernel.keys + int(rng.integers(1, kernel.keys))
    keys = queries if kernel.causal else keys
    args, expected = kernel.case(queries, keys, rng)
    found = launch(kernel.text(), *args, target=name[1], grid=(2,), mode=mode)[0][3]
    np.testing.assert_allclose(decode(kernel.element, found), expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_one_pipeline_has_two_stages_of_fewer_terms(target: str) -> None:
    """Nothing else would go on while its single stage is loaded."""
    ptx, told = translated(Product(m=64, n=64, k=512).text(), target)
    assert "mma.sync" not in ptx
    assert "terms at a time: an SM has no room for two stages of 64x64x512" in told


def test_pipelines_of_other_loops_do_not_go_on() -> None:
    """Neither of the loops, each with one pipeline, has anything to do while its stage is loaded."""
    text = Product(m=64, n=128, k=256).text()
    (loop,) = re.findall(r"  %sum = for (?:.*\n)*?  }\n", text)
    first = loop.replace("%sum", "%half")
    second = loop.replace("%old = %zero", "%old = %half").replace("(%c0 to", "(%c1 to")
    ptx, _ = translated(text.replace(loop, first + second), "sm_90a")
    assert "mma.sync" in ptx


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_a_tile_of_an_outer_loop_may_have_one_stage(target: str) -> None:
    """The queries of a persistent kernel, whose keys and values are loaded in the loop within."""
    ptx, told = translated(Attention(rows=128, keys=128, width=256).text(), target, "--persistent=static")
    assert "mma.sync" not in ptx
    assert told.count("pipeline of 1 stage of 65536 bytes") == 3


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_tiles_that_do_not_fit_once_are_refused(target: str) -> None:
    ptx, told = translated(Attention(rows=64, keys=256, width=256).text(), target)
    assert "mma.sync" in ptx
    assert "stages of 262144 bytes; two of them do not fit in shared memory" in told


def test_agents_are_those_with_which_the_tiles_fit() -> None:
    """Probabilities are in the columns of their scores, to which two products add, where an agent changes the sums."""
    _, told = translated(LATENT.text(), "sm_100a")
    assert "if the consumer carried the sums in registers, the tiles would not fit in shared memory" in told
    assert compiled(LATENT.text(), "sm_100a").ptx.count("setmaxnreg") == 3


def test_probabilities_are_in_tensor_memory_where_shared_memory_has_no_room() -> None:
    """Otherwise, scores have two stages there, and probabilities are in shared memory."""
    _, told = translated(Attention(rows=128, keys=128, width=256).text(), "sm_100a")
    assert "left operand of tile 128x128xf16 goes to tensor memory through registers" in told
