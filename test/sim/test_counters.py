"""What a launch counts: the wavefronts of requests to shared memory."""

from __future__ import annotations

import numpy as np
import pytest

from tessera_tools.sim.counters import wavefronts


@pytest.mark.parametrize(
    "stride, width, expected",
    [
        (4, 4, (1, 1)),  # a word of each bank
        (8, 4, (2, 1)),  # every second bank, twice
        (128, 4, (32, 1)),  # one bank
        (132, 4, (1, 1)),  # a row of 33 words: each lane has its own bank
        (0, 4, (1, 1)),  # one word for all
        (8, 8, (2, 2)),  # two words for each lane, half a warp at a time
        (16, 16, (4, 4)),  # four words for each lane, a quarter of a warp at a time
        (128, 16, (32, 4)),  # in each quarter, eight lanes in the same four banks
    ],
)
def test_wavefronts_and_the_fewest_for_the_bytes(stride: int, width: int, expected: tuple[int, int]) -> None:
    assert wavefronts(np.arange(32, dtype=np.uint64) * np.uint64(stride), width) == expected
