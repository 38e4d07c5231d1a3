"""Attention by TMA and tcgen05.mma: the consumer hands the probabilities to the agent that multiplies."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from programs import (
    Array,
    Compiled,
    assembled,
    compiled,
    decode,
    fresh_seed,
    launch,
    launch_ptx,
)
from trials import Trial, missed, mutants

from tessera_tools.diagnostics import collect
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_attention import Attention

TARGET = "sm_100a"

KERNELS = {
    "d64": Attention(),
    "d64, 64 rows": Attention(rows=64),
    "d64, many keys": Attention(keys=128),
    "d128": Attention(keys=128, width=128, element="bf16"),
    "d64, causal": Attention(keys=128, causal=True),
    "d64, 256 rows": Attention(rows=256),
    "d128, causal, two loops": Attention(
        rows=256, keys=128, width=128, element="bf16", causal=True, split=True
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_both_products_are_in_tensor_memory(name: str) -> None:
    """Nothing spills, with the registers that consumers of several warpgroups request."""
    made = compiled(KERNELS[name].text(), TARGET).ptx
    assert "tcgen05.mma" in made and "tcgen05.st" in made and "mma.sync" not in made
    used = assembled(made, TARGET)
    assert used.report is not None
    assert used.warnings == []
    assert {(r.spill_stores, r.spill_loads) for r in used.report.entries.values()} == {(0, 0)}


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("name", KERNELS)
def test_results(name: str, mode: str) -> None:
    """Several blocks of keys, and edges within tiles of queries and of keys."""
    rng = np.random.default_rng(fresh_seed())
    kernel = KERNELS[name]
    queries = kernel.rows + int(rng.integers(1, kernel.rows))
    keys = int(rng.integers(1, 4)) * kernel.keys + int(rng.integers(1, kernel.keys))
    keys = queries if kernel.causal else keys
    args, expected = kernel.case(queries, keys, rng)
    found = launch(kernel.text(), *args, target=TARGET, grid=(2,), mode=mode)[0][3]
    np.testing.assert_allclose(decode(kernel.element, found), expected, rtol=2e-2, atol=2e-2)


def test_an_agent_of_its_own_changes_the_sums_between_products() -> None:
    """It has registers of its own, and an iteration of the schedule takes less time."""
    kernel = KERNELS["d64, many keys"]
    assert re.findall(r"setmaxnreg\S+ \t(\d+)", compiled(kernel.text(), TARGET).ptx) == ["40", "160", "232"]
    with collect() as told:
        options = Options(lookup(TARGET), until="llvm", explains=True)
        compile_module(parse_module(kernel.text(), "program.mlir"), options)
    said = "an agent changes the sums in tensor memory between products"
    (text,) = (one.message for one in told if said in one.message)
    with_agent, without = map(int, re.findall(r"(\d+) (?:cycles|if the consumer)", text))
    assert with_agent < without


def test_a_loop_without_masks_and_one_with_them_share_tensor_memory() -> None:
    """As one loop, which the author splits for the masks: the columns, buffers and instructions are those of one."""
    one, two = (
        compiled(Attention(keys=128, causal=True, split=split).text(), TARGET) for split in (False, True)
    )
    assert one.manifest.kernels[0].dynamic_shared == two.manifest.kernels[0].dynamic_shared
    for instruction in ("tcgen05.mma", "tcgen05.ld", "tcgen05.st", "cp.async.bulk.tensor", "mbarrier.init"):
        assert one.ptx.count(instruction) == two.ptx.count(instruction)


def test_two_warpgroups_take_turns() -> None:
    """Each has the rows of one instruction; probabilities are in the columns of their scores: 128, and 128 of sums."""
    made = compiled(KERNELS["d64, 256 rows"].text(), TARGET).ptx
    assert re.findall(r"setmaxnreg\S+ \t(\d+)", made) == ["32", "64", "208"]
    (columns,) = re.findall(r"tcgen05.alloc\S+ \t\[\S+\], (%r\d+);", made)
    assert re.findall(rf"mov.b32 \t{columns}, (\d+);", made) == ["256"]


def test_sums_that_are_multiplied_by_one_stay_as_they_are() -> None:
    """A warp whose rows keep their maximum has nothing to do; the results are those of a warp that multiplies."""
    rng = np.random.default_rng(fresh_seed())
    kernel = KERNELS["d64, many keys"]
    made = compiled(kernel.text(), TARGET)
    args, _ = kernel.case(kernel.rows, 7 * kernel.keys, rng)
    always = re.sub(r"(vote\.sync\.any\.pred \t%p\d+), %p\d+, -1;", r"\1, 1, -1;", made.ptx)
    assert always != made.ptx
    found = [
        launch_ptx(replace(made, ptx=ptx), args, TARGET, (1,), file="k.ptx", mode="late", seed=0)[0][3]
        for ptx in (made.ptx, always)
    ]
    np.testing.assert_array_equal(*found)


def missed_mutants(made: Compiled, kernel: Attention, blocks: int = 11) -> list[str]:
    """The instructions whose removal is not found, with so many blocks of keys and with none."""
    programs = 5 if kernel.causal else 1
    instructions = 40_000 * programs * -(-kernel.rows // 128)
    rng = np.random.default_rng(fresh_seed())

    def trial(blocks: int) -> Trial:
        args, expected = kernel.case(programs * kernel.rows, max(blocks, 1) * kernel.keys, rng)
        args[3] = np.int32(blocks * kernel.keys)

        def is_right(arrays: list[Array]) -> bool:
            found = decode(kernel.element, arrays[3])
            return not blocks or np.allclose(found, expected, rtol=2e-2, atol=2e-2)

        return Trial(args, TARGET, (programs,), is_right, options={"max_instructions": instructions})

    return missed(made, mutants(made.ptx), trial(blocks), trial(0))


@pytest.mark.parametrize("causal", [False, True])
def test_every_synchronization_is_needed(causal: bool) -> None:
    """Also each fence: the one behind the wait for a stage of the probabilities is also for the sums that products have
    left right behind its release."""
    kernel = Attention(rows=64, keys=32, width=32, causal=causal)
    assert missed_mutants(compiled(kernel.text(), TARGET), kernel) == []


def test_every_synchronization_of_parts_of_rows_is_needed() -> None:
    """Of 256 rows, with enough blocks that each stage is used again.  The agent that changes sums waits for products of
    the second part only: those of the first are complete when it has the factors of the next iteration, and behind the
    loop, when those of the second are."""
    kernel = Attention(rows=256, keys=32, width=64)
    made = compiled(kernel.text(), TARGET)
    assert made.ptx.count("setmaxnreg") == 3
    assert missed_mutants(made, kernel, blocks=7) == []


def test_every_synchronization_of_an_agent_that_changes_sums_is_needed() -> None:
    """The wait for a stage of the probabilities says that one of the factors is empty, for which there is no other
    wait."""
    kernel = Attention(rows=64, keys=32, width=32)
    made = compiled(kernel.text(), TARGET, agents="correction")
    assert made.ptx.count("setmaxnreg") == 3
    assert missed_mutants(made, kernel) == []
