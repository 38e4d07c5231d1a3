"""Products with factors of blocks by tcgen05.mma: 8 and 4 bits, against float64, in both modes of the simulated GPU."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import assembled, compiled, fresh_seed, launch

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_scales import Scaled

TARGET = "sm_100a"
NVFP4 = Scaled(n=64, k=128)
MXFP4 = Scaled(n=64, k=128, scale="f8E8M0FNU", block=32)
PROGRAMS = {
    "nvfp4": NVFP4,
    "mxfp4": MXFP4,
    "mxfp8": Scaled(n=64, k=128, element="f8E4M3FN", scale="f8E8M0FNU", block=32),
    "f4 with exponents for 16": Scaled(n=64, k=128, scale="f8E8M0FNU"),
    "a block of K": Scaled(n=64, k=64, scale="f8E8M0FNU", block=32),
    "two tiles of rows": Scaled(m=256, n=64, k=128),
    "all columns": Scaled(n=256, k=128),
    "B is packed by the consumer": Scaled(n=64, k=64, b_rows=True),
}


def check(product: Scaled, extents: tuple[int, int, int], mode: str, **options: Any) -> None:
    rng = np.random.default_rng(fresh_seed())
    args, expected, bound = product.case(*extents, rng)
    grid = product.grid(*extents[:2])
    found = launch(product.text(), *args, target=TARGET, grid=grid, mode=mode, **options)[0][4]
    assert np.all(np.abs(found - expected) <= 1e-6 * bound)


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name: str, mode: str) -> None:
    product = PROGRAMS[name]
    ptx = compiled(product.text(), TARGET).ptx
    assert "tcgen05.mma" in ptx and "mma.sync" not in ptx
    check(product, (product.m, product.n, 3 * product.k), mode)


@pytest.mark.parametrize("name", ["nvfp4", "mxfp4"])
def test_edges(name: str) -> None:
    """Rows, columns and blocks that end within a tile."""
    rng = np.random.default_rng(fresh_seed())
    product = PROGRAMS[name]
    m, n, blocks = int(rng.integers(129, 256)), 4 * int(rng.integers(17, 31)), int(rng.integers(5, 12))
    check(product, (m, n, blocks * product.block), str(rng.choice(["late", "early"])))


@pytest.mark.parametrize("cluster", ["blocks:2x1", "2x1"])
def test_pairs(cluster: str) -> None:
    """Two CTAs multiply together: of two tile blocks, or of the halves of one."""
    product = Scaled(m=256 if cluster == "2x1" else 128, n=64, k=128)
    ptx = compiled(product.text(), TARGET, cluster=cluster).ptx
    assert "tcgen05.mma.cta_group::2.kind::mxf4nvf4" in ptx
    check(product, (256, 64, 320), "late", cluster=cluster)


KINDS = {
    "nvfp4": "kind::mxf4nvf4.block_scale.block16",
    "mxfp4": "kind::mxf4.block_scale.block32",
    "mxfp8": "kind::mxf8f6f4.block_scale.block32",
    "f4 with exponents for 16": "kind::mxf4nvf4.block_scale.block16",
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds(name: str) -> None:
    """One instruction for each 32 bytes along K."""
    product = PROGRAMS[name]
    ptx = compiled(product.text(), TARGET).ptx
    steps = product.k * (1 if "f8" in product.element else 0.5) // 32
    assert re.findall(r"tcgen05\.mma\.cta_group::1\.(\S+?)\.collector", ptx) == [KINDS[name]] * int(steps)


@pytest.mark.parametrize("target", ["sm_100a", "sm_103a", "sm_110a"])
def test_ptxas_assembles_them_without_a_warning(target: str) -> None:
    for name in ("nvfp4", "mxfp4"):
        used = assembled(compiled(PROGRAMS[name].text(), target).ptx, target)
        assert used.report is not None and used.warnings == []
        assert {r.spill_stores for r in used.report.entries.values()} == {0}
