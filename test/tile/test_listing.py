"""The listing of flash attention as it stands: what its ops say, no more and no less."""

from __future__ import annotations

import numpy as np
import pytest
from programs import TARGETS, decode, empty, fresh_seed, random
from tile.flash_attention import listing
from tile.kernels import example, launch, strided


@pytest.mark.parametrize("mode", ["late", "early"])
def test_the_listing_does_what_its_ops_say(mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    shape = (1, 2, 256, 64)
    q, k, v = (random("bf16", shape, rng) for _ in range(3))
    o = empty("bf16", shape)
    target = str(rng.choice(TARGETS))
    args = [a for array in (q, k, v, o) for a in strided(array)]
    arrays, result = launch(example("flash_attention_listing"), *args, target=target, grid=(2, 2), mode=mode)
    assert not result.findings, result.findings.text("listing")
    found = decode("bf16", arrays[3])
    for head in range(2):
        expected = listing(*(decode("bf16", a[0, head]) for a in (q, k, v)))
        np.testing.assert_allclose(found[0, head], expected, rtol=3e-2, atol=1e-2)
