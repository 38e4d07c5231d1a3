"""Resident blocks, against values worked out by hand from the rules of the CUDA occupancy calculator."""

from __future__ import annotations

import pytest

from tessera_tools.target import lookup, max_registers_for, occupancy, targets


def test_a_small_block_is_limited_by_the_number_of_blocks():
    result = occupancy(lookup("sm_80"), threads=32, registers=16)
    assert (result.blocks, result.limited_by) == (32, ("blocks",))


def test_threads_limit_a_block_with_few_registers():
    result = occupancy(lookup("sm_80"), threads=256, registers=32)
    assert (result.blocks, result.fraction) == (8, 1.0)
    assert "threads" in result.limited_by


def test_registers_are_rounded_up_to_the_granularity_of_a_warp():
    # 33 registers × 32 lanes = 1056, rounded to 1280: 12 warps a partition, 48 an SM, six blocks of 8.
    assert occupancy(lookup("sm_80"), threads=256, registers=33).limits["registers"] == 6


def test_registers_are_handed_out_by_partition():
    # 168 × 32 = 5376: three warps fit a partition's 16384 registers, 12 an SM, though 65536 / 5376 is 12.19.
    assert occupancy(lookup("sm_90"), threads=128, registers=168).limits["registers"] == 3
    # 255 × 32, rounded: 8192, two a partition.
    assert occupancy(lookup("sm_90"), threads=128, registers=255).blocks == 2


def test_each_block_pays_for_the_reserved_shared_memory():
    assert occupancy(lookup("sm_90"), threads=128, registers=32, shared=113 * 1024).blocks == 2
    assert occupancy(lookup("sm_90"), threads=128, registers=32, shared=114 * 1024).blocks == 1


def test_the_whole_shared_memory_is_one_block():
    for target in targets():
        assert occupancy(target, threads=128, registers=64, shared=target.max_shared_per_block).blocks == 1


@pytest.mark.parametrize(
    "block",
    [{"threads": 1025}, {"registers": 256}, {"shared": 227 * 1024 + 1}, {"threads": 1024, "registers": 72}],
)
def test_a_block_that_cannot_be_launched_has_no_occupancy(block: dict[str, int]):
    assert occupancy(lookup("sm_90"), **{"threads": 128, "registers": 32, **block}).blocks == 0


def test_no_thread_is_an_error():
    with pytest.raises(ValueError, match="no block has 0 threads"):
        occupancy(lookup("sm_90"), threads=0, registers=32)


@pytest.mark.parametrize(("threads", "blocks"), [(128, 1), (128, 4), (256, 1), (256, 2), (384, 1), (1024, 1)])
def test_the_most_registers_for_an_occupancy_reach_it_and_one_more_does_not(threads: int, blocks: int):
    target = lookup("sm_90")
    registers = max_registers_for(target, threads=threads, blocks=blocks)
    assert occupancy(target, threads=threads, registers=registers).blocks >= blocks
    if registers < target.max_registers_per_thread:
        assert occupancy(target, threads=threads, registers=registers + 1).blocks < blocks


def test_no_register_count_holds_more_threads_than_the_sm_has_registers_for():
    assert max_registers_for(lookup("sm_90"), threads=1024, blocks=65) == 0
