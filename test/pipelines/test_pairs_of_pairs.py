"""Clusters of several pairs of CTAs (tcgen05 with cta_group::2): pairs that need the same factor copy it together."""

from __future__ import annotations

import re
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dots.test_scaled import looped
from programs import assembled, compiled, decode, fresh_seed, launch
from trials import Trial, changed_lines, missed, mutants, near, without_synchronization_of_cluster

from oracles import require_tool
from tessera_tools.emit.sass import Nvdisasm, opcodes
from tessera_tools.passes.tileas import cluster_price
from tessera_tools.target import Target
from tessera_tools.target.timing import timing

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_attention import Attention
from programs_of_products import Product
from test_pairs import TARGET, is_paired, remarks
from test_products import check

F16 = Product(m=128, n=128)
MULTICAST = re.compile(r"cp\.async\.bulk\.tensor\S*\.multicast::cluster")


def columns_first(text: str) -> str:
    """The program on a grid whose first axis is that of the columns."""
    changed = text.replace("%x, %y, %z = get_tile_block_id", "%y, %x, %z = get_tile_block_id")
    assert changed != text
    return changed


def arguments(rng: np.random.Generator, m: int, n: int, k: int) -> tuple[list[Any], Any]:
    """Those of a product of f16, and its result in float64."""
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    arrays = (a, b, np.zeros((m, n), np.float32))
    given = [v for array in arrays for v in (array, *map(np.int32, (*array.shape, array.shape[1])))]
    return given, a.astype(np.float64) @ b


# -- results


@pytest.mark.parametrize("persistent", ["never", "static"])
@pytest.mark.parametrize("cluster", ["blocks:2x2", "blocks:4x1", "blocks:4x2"])
def test_results(cluster: str, persistent: str) -> None:
    """On a grid of 2 x 2 tile blocks: a cluster of eight CTAs has four without a tile block."""
    rng = np.random.default_rng(fresh_seed())
    options: dict[str, Any] = {"cluster": cluster, "persistent": persistent}
    assert is_paired(F16.text(), **options)
    check(F16, bool(rng.integers(2)), str(rng.choice(["late", "early"])), rng, TARGET, **options)


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("cluster", ["blocks:2x2", "blocks:4x1"])
def test_the_result_is_that_of_the_plain_kernel(cluster: str, mode: str) -> None:
    """To the bit."""
    rng = np.random.default_rng(fresh_seed())
    product = Product(m=128, n=64, k=32)
    given, _ = arguments(rng, 512, 128, 96)
    plain, found = (
        launch(product.text(), *given, target=TARGET, grid=(4, 2), mode=mode, cluster=chosen)[0][2]
        for chosen in ("auto", cluster)
    )
    np.testing.assert_array_equal(found, plain)


@pytest.mark.parametrize(
    ("product", "cluster"),
    [
        (Product("f8E4M3FN", m=128, k=128, b_t="permute"), "blocks:2x2"),
        (Product("i8", "i32", m=128, k=128, b_t="view"), "blocks:4x1"),
        (Product("tf32", m=128, k=32, b_t="permute"), "blocks:2x2"),
        (Product(m=128, n=128, a_t="view", b_t="permute"), "blocks:4x1"),
        (Product(m=128, n=32, outer=True), "blocks:4x1"),
        (Product(m=128, n=64, a_in="i8"), "blocks:2x2"),
    ],
    ids=["f8", "i8", "tf32", "both transposed", "several tiles", "a converted"],
)
def test_types_and_orders(product: Product, cluster: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    assert is_paired(product.text(), cluster=cluster)
    check(product, bool(rng.integers(2)), str(rng.choice(["late", "early"])), rng, TARGET, cluster=cluster)


@pytest.mark.parametrize(
    ("product", "cluster"),
    [
        (Product(m=256, n=128, k=32), "2x2"),
        (Product(m=512, n=64, k=32), "4x1"),
        (Product(m=512, n=128, k=32), "4x2"),
    ],
    ids=["2x2", "4x1", "4x2"],
)
def test_the_parts_of_a_tile_block(product: Product, cluster: str) -> None:
    """A tile block is a cluster; a pair has 256 rows of it."""
    rng = np.random.default_rng(fresh_seed())
    assert is_paired(product.text(), cluster=cluster)
    check(product, True, str(rng.choice(["late", "early"])), rng, TARGET, cluster=cluster)


def test_the_hint_of_a_program() -> None:
    """cuTile's `num_ctas`: four CTAs are two pairs."""
    rng = np.random.default_rng(fresh_seed())
    text = (
        Product(m=512, n=64, k=32)
        .text()
        .replace(") {\n", ") optimization_hints=<sm_100 = {num_cta_in_cga = 4}> {\n", 1)
    )
    ptx = compiled(text, TARGET).ptx
    assert "cta_group::2" in ptx and ".reqnctapercluster 4" in ptx
    given, expected = arguments(rng, 500, 64, 72)
    found = launch(text, *given, target=TARGET, grid=(1, 1), mode="late")[0][2]
    assert np.abs(found - expected).max() < 0.1


@pytest.mark.parametrize("cluster", ["blocks:2x2", "blocks:2x4"])
def test_pairs_lie_along_the_axis_of_the_rows(cluster: str) -> None:
    """Neighbors along the first axis of the grid have other columns, and could not multiply together."""
    rng = np.random.default_rng(fresh_seed())
    text = columns_first(Product(m=128, n=64, k=32).text())
    assert is_paired(text, cluster=cluster)
    given, expected = arguments(rng, 300, 184, 88)
    for persistent in ("never", "static"):
        found = launch(
            text, *given, target=TARGET, grid=(3, 3), mode="late", cluster=cluster, persistent=persistent
        )[0][2]
        assert np.abs(found - expected).max() < 0.1


def test_attention() -> None:
    """Four blocks of queries; the two pairs copy keys and values together."""
    rng = np.random.default_rng(fresh_seed())
    kernel = Attention()
    assert is_paired(kernel.text(), cluster="blocks:4x1")
    args, expected = kernel.case(
        3 * kernel.rows + int(rng.integers(1, kernel.rows)), 3 * kernel.keys - 5, rng
    )
    found = launch(kernel.text(), *args, target=TARGET, grid=(4,), mode="late", cluster="blocks:4x1")[0][3]
    np.testing.assert_allclose(decode(kernel.element, found), expected, rtol=2e-2, atol=2e-2)


def test_factors_of_blocks() -> None:
    """Each CTA stores the scales of its rows, and those of all of its columns."""
    text, found, expected, bound = looped(256, 128, 64, 3, TARGET, "f8E4M3FN", mode="late", cluster="2x2")
    assert np.all(np.abs(found - expected) <= 1e-5 * bound)
    assert is_paired(text, cluster="2x2")


# -- the code


@pytest.mark.parametrize(
    ("cluster", "copies"), [("blocks:2x1", 0), ("blocks:2x2", 1), ("blocks:4x1", 1), ("blocks:1x2", 1)]
)
def test_tiles_that_several_ctas_need_are_multicast(cluster: str, copies: int) -> None:
    """2x2: A, by two CTAs.  4x1: each half of B, by two CTAs.  1x2: A, by CTAs that multiply alone."""
    assert len(MULTICAST.findall(compiled(F16.text(), TARGET, cluster=cluster).ptx)) == copies


@pytest.mark.parametrize(
    ("cluster", "boxes"),
    [("blocks:2x1", (128, 64)), ("blocks:2x2", (64, 64)), ("blocks:2x4", (32, 64)), ("blocks:4x2", (64, 32))],
)
def test_each_cta_copies_its_slice_of_what_several_need(cluster: str, boxes: tuple[int, int]) -> None:
    """Of 128 rows of A a half or a quarter, by two or four CTAs with the same rows; of 64 rows of half of B, a half, by
    two pairs."""
    maps = compiled(F16.text(), TARGET, cluster=cluster).manifest.kernels[0].tensor_maps
    assert tuple(one.box[-1] for one in maps) == boxes


@pytest.mark.parametrize("target", [TARGET, "sm_103a"])
@pytest.mark.parametrize("cluster", ["blocks:2x2", "blocks:4x1"])
def test_ptxas_assembles_them_without_a_warning(cluster: str, target: str) -> None:
    used = assembled(compiled(F16.text(), target, cluster=cluster).ptx, target)
    assert used.report is not None and used.warnings == []
    assert {(r.spill_stores, r.spill_loads) for r in used.report.entries.values()} == {(0, 0)}


def test_the_instructions_are_those_of_two_ctas() -> None:
    """In SASS: copies by TMA to several pairs."""
    used = assembled(compiled(F16.text(), TARGET, cluster="blocks:2x2").ptx, TARGET)
    cubin = used.stages["cubin"]
    assert isinstance(cubin, bytes)
    names = opcodes(Nvdisasm(require_tool("nvdisasm")).disassemble(cubin), modifiers=True)
    for name in ("UTCHMMA.2CTA", "UTMALDG.2D.MULTICAST.2CTA", "UTMALDG.2D.2CTA", "UTCBAR.2CTA.MULTICAST"):
        assert any(found.startswith(name) for found in names), (name, names)


# -- by price


class _SlowL2:
    """The numbers of the clock, but for L2, which gives a fifth of the bytes."""

    def __init__(self, target: Target) -> None:
        self.table: Any = timing(target)

    def value(self, name: str) -> float:
        return self.table.value(name) / (5 if name == "l2_chip_rate" else 1)


def test_several_pairs_are_chosen_where_l2_bounds_a_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 16 KiB of A and 8 KiB of B, a CTA loads 16 KiB in a cluster of 2 x 2, 20 KiB in one of 4 x 1, 24 KiB in a
    pair."""
    product = Product(m=128, n=128, k=64)
    told = remarks(product.text(), "auto", "large")
    assert any("384 cycles a step with clusters of 2 x 1 tile blocks" in one for one in told)
    monkeypatch.setattr(cluster_price, "timing", _SlowL2)
    told = remarks(product.text(), "auto", "large")
    assert any("cycles a step with clusters of 2 x 2 tile blocks" in one for one in told)


# -- synchronization


def _of_pairs(text: str) -> list[str] | None:
    """Without a wait, an arrival or a copy; a signal does not get to a pair."""
    if mask := re.search(r"\.multicast::cluster\S*\s.*(%rs\d+);", text):
        return [f"and.b16 {mask[1]}, {mask[1]}, 3;", text]
    return without_synchronization_of_cluster(
        r"barrier\.cluster|mbarrier\.arrive.*cluster|cp\.async\.bulk\.tensor.*cta_group::2"
    )(text)


@pytest.mark.parametrize(
    ("cluster", "grid", "persistent"),
    [("blocks:2x2", (2, 6), "static"), ("blocks:4x1", (4, 1), "never")],
    ids=["2x2", "4x1"],
)
def test_every_synchronization_is_needed(cluster: str, grid: tuple[int, int], persistent: str) -> None:
    """2x2: two pairs with the same rows; 4x1: with the same columns.  Several tiles one after the other, of one cluster
    that stays, or in a loop of the program."""
    rng = np.random.default_rng(fresh_seed())
    product = Product(m=128, n=32, k=32, outer=grid[1] == 1)
    text = product.text().replace("%columns = constant <i32: 2>", "%columns = constant <i32: 4>")
    made = compiled(text, TARGET, cluster=cluster, persistent=persistent)
    given, expected = arguments(rng, 128 * grid[0], 128 if product.outer else 32 * grid[1], 192)

    trial = Trial(
        given, TARGET, grid, near(2, expected, 0.1),
        [("early", 0), ("late", 0), ("late", 1), ("early", 1)],
        {"max_instructions": 80_000, "resident": 1},
    )  # fmt: skip
    changed = list(chain(changed_lines(made.ptx, _of_pairs), mutants(made.ptx)))
    assert missed(made, changed, trial) == []
    assert len(changed) > 35
