"""Products with factors of blocks by tcgen05.mma: 8 and 4 bits, against float64, in both modes of the simulated GPU."""

from __future__ import annotations

import re
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import assembled, compiled, fresh_seed, launch
from trials import Trial, missed, mutants

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
    "both factors of blocks are copied": Scaled(k=64),
    "mxfp8, copied": Scaled(k=128, element="f8E5M2", scale="f8E8M0FNU", block=32),
    "in atoms": Scaled(n=256, k=128, atoms=True),
    "mxfp4, in atoms": Scaled(m=256, k=128, scale="f8E8M0FNU", block=32, atoms=True),
}


def check(product: Scaled, extents: tuple[int, int, int], mode: str, **options: Any) -> None:
    rng = np.random.default_rng(fresh_seed())
    args, expected, bound = product.case(*extents, rng)
    grid = product.grid(*extents[:2])
    options = {"target": TARGET, **options}
    found = launch(product.text(), *args, grid=grid, mode=mode, **options)[0][4]
    assert np.all(np.abs(found - expected) <= 1e-6 * bound)


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name: str, mode: str) -> None:
    product = PROGRAMS[name]
    ptx = compiled(product.text(), TARGET).ptx
    assert "tcgen05.mma" in ptx and "mma.sync" not in ptx
    check(product, (product.m, product.n, 3 * product.k), mode)


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("name", ["a", "b"])
def test_a_factor_with_scales_of_which_nothing_is_known(name: str, mode: str) -> None:
    """Threads of the producer bring its bytes, one at a time.  They do not pack 4 bits, which stay with mma.sync."""
    known, unknown = (f"%{name}Q = assume div_by<{n}>" for n in (16, 1))
    product = PROGRAMS["mxfp8, copied"]
    text = product.text().replace(known, unknown)
    ptx = compiled(text, TARGET).ptx
    assert "tcgen05.mma" in ptx and "mma.sync" not in ptx
    extents = product.m, product.n, 3 * product.k
    args, expected, bound = product.case(*extents, np.random.default_rng(fresh_seed()))
    found = launch(text, *args, grid=product.grid(*extents[:2]), mode=mode, target=TARGET)[0][4]
    assert np.all(np.abs(found - expected) <= 1e-6 * bound)
    assert "tcgen05" not in compiled(NVFP4.text().replace(known, unknown), TARGET).ptx


@pytest.mark.parametrize("atoms", [False, True])
def test_factors_of_blocks_that_are_loaded_before_a_loop(atoms: bool) -> None:
    """Those of A are copied once; those of B, and the sums, go through two rounds of their stages."""
    product = Scaled(k=128, atoms=atoms, a_once=True)
    ptx = compiled(product.text(), TARGET).ptx
    assert ptx.count("tcgen05.cp") == 4 and "mma.sync" not in ptx
    mode = str(np.random.default_rng(fresh_seed()).choice(["late", "early"]))
    check(product, (128, 1280 if atoms else 640, 128), mode)


@pytest.mark.parametrize("name", ["nvfp4", "mxfp4"])
def test_edges(name: str) -> None:
    """Rows, columns and blocks that end within a tile."""
    rng = np.random.default_rng(fresh_seed())
    product = PROGRAMS[name]
    m, n, blocks = int(rng.integers(129, 256)), 4 * int(rng.integers(17, 31)), int(rng.integers(5, 12))
    check(product, (m, n, blocks * product.block), str(rng.choice(["late", "early"])))


TYPES = [
    ("f8E4M3FN", "f8E8M0FNU", 32), ("f8E5M2", "f8E8M0FNU", 32), ("f4E2M1FN", "f8E8M0FNU", 32),
    ("f4E2M1FN", "f8E8M0FNU", 16), ("f4E2M1FN", "f8E4M3FN", 16),
]  # fmt: skip
"""(elements, factors, block) that mmaf_scaled admits."""


@pytest.mark.parametrize("types", TYPES, ids=["-".join(map(str, types)) for types in TYPES])
@pytest.mark.parametrize(("target", "instruction"), [(TARGET, "tcgen05.mma"), ("sm_120a", "mma.sync")])
def test_any_tile_and_extents(types: tuple[str, str, int], target: str, instruction: str) -> None:
    """By tensor memory, and by mma.sync; each order of B, edges of all axes."""
    rng = np.random.default_rng(fresh_seed())
    rows, columns, k = (int(rng.choice(sizes)) for sizes in ([64, 128], [64, 128], [64, 128]))
    if target == TARGET:
        rows = 128
    product = Scaled(rows, columns, k, *types, b_rows=bool(rng.integers(2)))
    assert instruction in compiled(product.text(), target).ptx
    extents = int(rng.integers(1, 2 * rows)), 4 * int(rng.integers(1, columns // 2))
    blocks = int(rng.integers(1, 3 * product.blocks))
    check(product, (*extents, blocks * product.block), str(rng.choice(["late", "early"])), target=target)


@pytest.mark.parametrize(("cluster", "atoms"), [("blocks:2x1", False), ("2x1", False), ("blocks:2x1", True)])
def test_pairs(cluster: str, atoms: bool) -> None:
    """Two CTAs multiply together: of two tile blocks, or of the halves of one.  Each copies its own factors."""
    product = Scaled(m=256 if cluster == "2x1" else 128, n=128, k=128, atoms=atoms)
    ptx = compiled(product.text(), TARGET, cluster=cluster).ptx
    assert "tcgen05.mma.cta_group::2.kind::mxf4nvf4" in ptx
    assert "tcgen05.cp.cta_group::2.32x128b.warpx4" in ptx and "tcgen05.st" not in ptx
    rng = np.random.default_rng(fresh_seed())
    check(product, (256, 128, 320), str(rng.choice(["late", "early"])), cluster=cluster)


@pytest.mark.parametrize(
    ("cluster", "atoms"), [("blocks:2x2", True), ("blocks:2x2", False), ("blocks:4x1", True)]
)
def test_clusters_of_several_pairs(cluster: str, atoms: bool) -> None:
    """Pairs that need the same factors copy them together; the scales are copied on by each pair."""
    product = Scaled(m=128, n=128, k=128, atoms=atoms)
    ptx = compiled(product.text(), TARGET, cluster=cluster).ptx
    assert "tcgen05.mma.cta_group::2.kind::mxf4nvf4" in ptx and "multicast::cluster" in ptx
    rng = np.random.default_rng(fresh_seed())
    check(product, (512, 256, 320), str(rng.choice(["late", "early"])), cluster=cluster)


def test_clusters_are_compared_for_factors_of_4_bits() -> None:
    text = Scaled(m=128, n=128, k=128).text()
    assert "tcgen05.mma" in compiled(text, TARGET, launches="large").ptx


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


COPIES = {
    "nvfp4": (2, 1),
    "both factors of blocks are copied": (2, 0),
    "in atoms": (6, 0),
    "a block of K": (0, 2),
}
"""Copies by tcgen05.cp, of 128 rows of four blocks each; and stores, of factors that are fewer."""


@pytest.mark.parametrize("name", COPIES)
def test_factors_of_blocks_are_copied_in_atoms(name: str) -> None:
    ptx = compiled(PROGRAMS[name].text(), TARGET).ptx
    words = "tcgen05.cp.cta_group::1.32x128b.warpx4", "tcgen05.st.sync"
    assert tuple(ptx.count(word) for word in words) == COPIES[name]


@pytest.mark.parametrize(
    "options", [{"cluster": "blocks:2x2"}, {"cluster": "auto", "launches": "large"}], ids=["2x2", "by price"]
)
def test_clusters_of_4_bit_factors(options: dict[str, Any]) -> None:
    """The choice of a cluster leaves the products as they were."""
    rng = np.random.default_rng(fresh_seed())
    product = Scaled(n=64, k=64)
    args, expected, bound = product.case(128, 64, 192, rng)
    found = launch(product.text(), *args, target=TARGET, grid=product.grid(128, 64), mode="late", **options)[
        0
    ][4]
    assert np.all(np.abs(found - expected) <= 1e-5 * bound)


def test_factors_of_blocks_are_stored_in_words() -> None:
    """Four blocks of a row, for both factors."""
    ptx = compiled(Scaled(n=256).text(), TARGET).ptx
    stored = re.findall(r"st\.shared\.(\S+)", ptx.split("tcgen05.ld")[0])
    assert stored and set(stored) <= {"b32", "u32", "v2.b32", "v4.b32"}


def test_tma_brings_factors_of_blocks_that_lie_in_atoms() -> None:
    """The consumer has nothing to do in the loop."""
    ptx = compiled(PROGRAMS["in atoms"].text(), TARGET).ptx
    assert ptx.count("cp.async.bulk.tensor.4d.shared::cta.global") == 2
    assert "st.shared" not in ptx.split("tcgen05.ld")[0]


@pytest.mark.parametrize("atoms", [False, True], ids=["stored by the consumer", "in atoms"])
def test_every_synchronization_is_needed(atoms: bool) -> None:
    """Each stage of the factors is filled twice at least."""
    product = Scaled(k=64, atoms=atoms)
    extents = 128, 128, 64 * (9 if atoms else 5)
    made = compiled(product.text(), TARGET)
    args, expected, bound = product.case(*extents, np.random.default_rng(fresh_seed()))
    trial = Trial(
        args,
        TARGET,
        product.grid(*extents[:2]),
        lambda arrays: bool(np.all(np.abs(arrays[4] - expected) <= 1e-5 * bound)),
        # A fence of the consumer hides the missing one of the mbarriers unless TMA begins before it.
        [(mode, seed) for seed in range(8) for mode in ("late", "early")],
    )
    changed = list(chain(mutants(made.ptx), mutants(made.ptx, ("tcgen05.cp",))))
    assert missed(made, changed, trial) == []


@pytest.mark.parametrize("target", ["sm_100a", "sm_103a", "sm_110a"])
def test_ptxas_assembles_them_without_a_warning(target: str) -> None:
    for name in ("nvfp4", "mxfp4", "in atoms"):
        used = assembled(compiled(PROGRAMS[name].text(), target).ptx, target)
        assert used.report is not None and used.warnings == []
        assert {r.spill_stores for r in used.report.entries.values()} == {0}
