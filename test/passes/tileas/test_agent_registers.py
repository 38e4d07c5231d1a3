"""How agents share registers: several CTAs on a multiprocessor where the consumer needs few."""

from __future__ import annotations

import re

import numpy as np
import pytest
from docs.pages import ROOT
from programs import compiled

import tessera_tools.dsl as tl
from tessera_tools.passes.tileas.agent_registers import registers_of_one, registers_of_several
from tessera_tools.passes.tileas.umma_fills import MORE_REGISTERS, MULTIPLIER_REGISTERS, REGISTERS
from tessera_tools.target import launched_registers, lookup, occupancy

HOPPER = lookup("sm_90a")


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("least", range(24, 256, 8))
def test_what_agents_request_is_there_for_as_many_ctas(groups: int, least: int) -> None:
    ctas, registers = registers_of_several(groups, least, HOPPER, 4)
    if registers is None:
        assert ctas == 1
        return
    producer, consumer = registers
    threads = 128 * (groups + 1)
    launched = launched_registers(HOPPER, threads, ctas)
    assert consumer >= least
    assert 128 * (producer + groups * consumer) <= threads * launched
    assert occupancy(HOPPER, threads=threads, registers=launched).blocks >= ctas
    # setmaxnreg takes multiples of 8, of which the producer's is a decrease, and the consumer's an increase.
    assert producer % 8 == consumer % 8 == 0 and 24 <= producer < launched < consumer


@pytest.mark.parametrize("groups", [2, 4])
@pytest.mark.parametrize(("by_threads", "sums"), [(False, 64), (True, 64), (True, 128)])
def test_what_agents_request_is_there_at_the_launch(groups: int, by_threads: bool, sums: int) -> None:
    producer, consumer = registers_of_one(groups, by_threads, sums)
    assert producer + groups * consumer <= (groups + 1) * launched_registers(HOPPER, 128 * (groups + 1))


@pytest.mark.parametrize("groups", REGISTERS)
def test_what_agents_request_is_there_beside_a_warpgroup_that_multiplies(groups: int) -> None:
    producer, consumer = REGISTERS[groups]
    launched = launched_registers(lookup("sm_100a"), 128 * (groups + 2))
    requested = producer + MULTIPLIER_REGISTERS + groups * consumer
    assert requested == (groups + 2) * launched if producer else consumer == launched
    assert sum(MORE_REGISTERS) + MULTIPLIER_REGISTERS <= 3 * launched_registers(lookup("sm_100a"), 128 * 3)


@pytest.mark.parametrize(
    ("least", "most", "expected"),
    [
        (80, 4, (1, None)),
        (88, 4, (4, (40, 88))),
        (96, 4, (4, (24, 104))),
        (120, 4, (1, None)),
        (136, 4, (3, (24, 136))),
        (144, 4, (2, (40, 216))),
        (144, 1, (1, None)),
        (240, 4, (1, None)),
    ],
)
def test_the_most_ctas_that_leave_the_consumer_enough(
    least: int, most: int, expected: tuple[int, tuple[int, int] | None]
) -> None:
    assert registers_of_several(1, least, HOPPER, most) == expected


def test_a_target_without_setmaxnreg_shares_nothing() -> None:
    assert registers_of_several(1, 80, lookup("sm_80"), 4) == (1, None)


def requested(program: str) -> tuple[str | None, list[str]]:
    """(registers at the launch, those that the agents request) of a program of the corpus."""
    ptx = compiled((ROOT / "test" / "corpus" / f"{program}.mlir").read_text(), "sm_90a").ptx
    limit = re.search(r"\.maxnreg (\d+)", ptx)
    return limit and limit[1], re.findall(r"setmaxnreg\.(\w+)\.sync\.aligned\.u32\s+(\d+)", ptx)  # type: ignore[return-value]


def test_a_product_of_few_registers_has_room_for_others_as_it_is() -> None:
    assert requested("gemm_f16_64x64x32") == (None, [])


def test_a_softmax_of_64_rows_leaves_room_for_two() -> None:
    assert requested("attention_causal_f16_d64") == ("128", [("dec", "40"), ("inc", "216")])


def test_sums_of_128x256_take_all_registers() -> None:
    assert requested("gemm_f16_128x256x64") == (None, [("dec", "40"), ("inc", "232")])


@tl.kernel
def recurrence(x: tl.array[tl.f16, 2], w: tl.array[tl.f16, 2], y: tl.array[tl.f16, 2]):
    inputs, results = tl.make_partition_view(x, tile=(64, 64)), tl.make_partition_view(y, tile=(64, 64))
    weights = tl.load(tl.make_partition_view(w, tile=(64, 64)), (0, 0))
    state = tl.zeros(tl.tile[64, 64, tl.f16])
    for step in tl.range(tl.num_tiles(inputs, 0)):
        state = tl.tanh(tl.load(inputs, (step, 0)).to(tl.f32) + state @ weights).to(tl.f16)
        tl.store(results, (step, 0), state)


def test_addresses_of_a_loop_take_registers() -> None:
    x, w = np.zeros((128, 56), np.float16), np.zeros((56, 56), np.float16)
    kernel = recurrence.compiled((x, w, x.copy()), target="sm_90a")
    assert "wgmma.mma_async" in kernel.ptx
    assert kernel.resources.spill_stores == 0


@tl.kernel
def wide_sums(x: tl.array[tl.f16, 2], w: tl.array[tl.f16, 2], y: tl.array[tl.f32, 2]):
    rows, columns = tl.make_partition_view(x, tile=(64, 64)), tl.make_partition_view(w, tile=(64, 256))
    squares = tl.make_partition_view(w, tile=(64, 64))
    sums = tl.zeros(tl.tile[64, 256, tl.f32])
    for step in tl.range(tl.num_tiles(rows, 1)):
        factor = (tl.load(rows, (0, step)) @ tl.load(squares, (step, 0))).to(tl.f16)
        sums += factor @ tl.load(columns, (step, 0))
    tl.store(tl.make_partition_view(y, tile=(64, 256)), (0, 0), sums)


def test_one_warpgroup_holds_128_sums_where_rows_cannot_be_divided() -> None:
    x, w, y = (
        np.zeros((64, 128), np.float16),
        np.zeros((128, 256), np.float16),
        np.zeros((64, 256), np.float32),
    )
    assert "wgmma.mma_async" in wide_sums.compiled((x, w, y), target="sm_90a").ptx
