"""Pairs of CTAs (tcgen05 with cta_group::2): which products they do together, and that those are right."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dots.test_scaled import looped
from programs import assembled, compiled, decode, fresh_seed, launch, launch_ptx
from trials import Trial, changed_lines, missed, mutants, near, without_synchronization_of_cluster

from oracles import require_tool
from tessera_tools.diagnostics import collect
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.emit.sass import Nvdisasm, opcodes
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_attention import Attention
from programs_of_products import Product
from test_products import check

TARGET = "sm_100a"
BLOCKS = "blocks:2x1"
"""Two tile blocks next to each other along the rows of the product."""
PAIRED = {
    "f16": Product(m=128, n=128),
    "f16 sums": Product(m=128, n=32, accumulator="f16"),
    "bf16": Product("bf16", m=128, n=64),
    "tf32": Product("tf32", m=128, k=32, b_t="permute"),
    "f8": Product("f8E4M3FN", m=128, k=128, b_t="permute"),
    "f8 along N": Product("f8E5M2", m=128, n=64, k=64),
    "i8": Product("i8", "i32", m=128, k=128, b_t="view"),
    "256 columns": Product(m=128, n=256, k=32),
    "two tiles of rows": Product(m=256, n=128, k=32),
    "both transposed": Product(m=128, n=128, a_t="view", b_t="permute"),
    "a converted": Product(m=128, n=64, a_in="i8"),
    "several tiles": Product(m=128, n=32, outer=True),
}


def is_paired(text: str, **options: Any) -> bool:
    """Whether the tcgen05 instructions are those of pairs: all of a kernel are, or none."""
    ptx = compiled(text, TARGET, **options).ptx
    assert ("cta_group::1" in ptx) != ("cta_group::2" in ptx)
    return "cta_group::2" in ptx


# -- results


@pytest.mark.parametrize("persistent", ["never", "static"])
@pytest.mark.parametrize("name", PAIRED)
def test_results(name: str, persistent: str) -> None:
    """Over whole tiles, or over edges within tiles; with an odd number of tile blocks, a CTA of the last pair has none
    of its own."""
    rng = np.random.default_rng(fresh_seed())
    options: dict[str, Any] = {"cluster": BLOCKS, "persistent": persistent}
    assert is_paired(PAIRED[name].text(), **options)
    check(PAIRED[name], bool(rng.integers(2)), str(rng.choice(["late", "early"])), rng, TARGET, **options)


@pytest.mark.parametrize("mode", ["late", "early"])
def test_the_two_parts_of_a_tile_block(mode: str) -> None:
    """A tile block of 256 rows is a cluster, of which each CTA has 128."""
    rng = np.random.default_rng(fresh_seed())
    product = Product(m=256, n=64, k=32)
    assert is_paired(product.text(), cluster="2x1")
    check(product, True, mode, rng, TARGET, cluster="2x1")


@pytest.mark.parametrize("mode", ["late", "early"])
def test_factors_of_blocks(mode: str) -> None:
    """Each CTA stores the scales of its rows, and those of all columns."""
    text, found, expected, bound = looped(256, 64, 64, 3, TARGET, "f8E4M3FN", mode=mode, cluster="2x1")
    assert np.all(np.abs(found - expected) <= 1e-5 * bound)
    assert is_paired(text, cluster="2x1")


@pytest.mark.parametrize("mode", ["late", "early"])
def test_attention(mode: str) -> None:
    """Both products of two blocks of queries, which read the same keys and values."""
    rng = np.random.default_rng(fresh_seed())
    kernel = Attention()
    assert is_paired(kernel.text(), cluster=BLOCKS)
    args, expected = kernel.case(kernel.rows + int(rng.integers(1, kernel.rows)), 3 * kernel.keys - 5, rng)
    found = launch(kernel.text(), *args, target=TARGET, grid=(2,), mode=mode, cluster=BLOCKS)[0][3]
    np.testing.assert_allclose(decode(kernel.element, found), expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("blocks", [2, 3])
def test_causal_attention(mode: str, blocks: int) -> None:
    """The loops of the two blocks of queries have different lengths: both CTAs multiply as often as the longer one,
    also where the last cluster has one block."""
    rng = np.random.default_rng(fresh_seed())
    kernel = Attention(causal=True)
    assert is_paired(kernel.text(), cluster=BLOCKS)
    rows = (blocks - 1) * kernel.rows + int(rng.integers(1, kernel.rows))
    args, expected = kernel.case(rows, rows, rng)
    found = launch(kernel.text(), *args, target=TARGET, grid=(blocks,), mode=mode, cluster=BLOCKS)[0][3]
    np.testing.assert_allclose(decode(kernel.element, found), expected, rtol=2e-2, atol=2e-2)


def in_the_loop(kernel: Attention, *lines: str) -> str:
    """A kernel that also has these lines in its loop over blocks of keys %j < %steps, of which `%more` is added to the
    number of the first key."""
    old = "%first = muli %j, %cn : tile<i32>"
    text = kernel.text()
    assert old in text
    new = [*lines, "%own1 = muli %j, %cn : tile<i32>", "%first = addi %own1, %more : tile<i32>"]
    return text.replace(old, "\n  ".join(new))


_LEFT = "%left0 = subi %steps, %j : tile<i32>"


@pytest.mark.parametrize(
    ("lines", "paired"),
    [
        (["%more = divi %c0, %cn signed : tile<i32>"], True),
        ([_LEFT, "%more = divi %c0, %left0 signed : tile<i32>"], False),
        (
            [_LEFT, "%left1 = assume div_by<1>, %left0 : tile<i32>", "%more = muli %left1, %c0 : tile<i32>"],
            True,
        ),
        ([_LEFT, "%more = assume bounded<1, ?>, %left0 : tile<i32>"], False),
        (["%more = assume bounded<0, ?>, %j : tile<i32>"], True),
    ],
    ids=["constant divisor", "divisor", "no bounds", "bounds of the program", "bounds of the counter"],
)
def test_iterations_of_another_program_are_defined(lines: list[str], paired: bool) -> None:
    """Behind the end of a program's own loop, its divisor would be 0, and a promise of it does not hold."""
    assert is_paired(in_the_loop(Attention(causal=True), *lines), cluster=BLOCKS) is paired


@pytest.mark.parametrize("inbounds", ["", " inbounds = [true, true]"])
def test_loads_that_are_declared_in_bounds_stay_there(inbounds: str) -> None:
    """A bias whose columns a program reads from its last one on: behind the end of its loop, before the first one."""
    rng = np.random.default_rng(fresh_seed())
    kernel = Attention(causal=True)
    shape = f"{kernel.rows}x{kernel.keys}"
    tensor = "tensor_view<?x?xf32, strides=[?,1]>"
    part = f"partition_view<tile=({shape}), padding_value = zero, {tensor}>"
    text = kernel.text()
    for old, new in (
        ("%scale: tile<f32>)", "%bP: tile<ptr<f32>>, %br: tile<i32>, %scale: tile<f32>)"),
        (
            "%x, %y, %z = get",
            f"%bT = make_tensor_view %bP, shape = [%br, %br], strides = [%br, 1] : tile<i32> -> {tensor}\n"
            f"  %bV = make_partition_view %bT : {part}\n  %x, %y, %z = get",
        ),
        (
            "%scaled = mulf %qk,",
            "%left0 = subi %steps, %j : tile<i32>\n  %left1 = subi %left0, %c1 : tile<i32>\n"
            f"  %b, %bt = load_view_tko weak %bV[%x, %left1] token = %token{inbounds} : {part}, tile<i32> -> "
            f"tile<{shape}xf32>, token\n  %biased = addf %qk, %b : tile<{shape}xf32>\n  %scaled = mulf %biased,",
        ),
    ):
        assert old in text
        text = text.replace(old, new)
    assert is_paired(text, cluster=BLOCKS) is not bool(inbounds)
    size = 2 * kernel.rows
    args, expected = kernel.case(size, size, rng)
    args[-1:] = [np.zeros((size, size), np.float32), np.int32(size), args[-1]]
    found = launch(text, *args, target=TARGET, grid=(2,), mode="late", cluster=BLOCKS)[0][3]
    np.testing.assert_allclose(decode(kernel.element, found), expected, rtol=2e-2, atol=2e-2)


def test_ptxas_assembles_causal_attention_without_a_warning() -> None:
    for kernel in (Attention(causal=True), Attention(keys=128, width=128, element="bf16", causal=True)):
        used = assembled(compiled(kernel.text(), TARGET, cluster=BLOCKS).ptx, TARGET)
        assert used.report is not None and used.warnings == []
        assert {(r.spill_stores, r.spill_loads) for r in used.report.entries.values()} == {(0, 0)}


# -- the code


@pytest.mark.parametrize("name", ["f16", "f8", "i8", "several tiles"])
def test_ptxas_assembles_them_without_a_warning(name: str) -> None:
    used = assembled(compiled(PAIRED[name].text(), TARGET, cluster=BLOCKS).ptx, TARGET)
    assert used.report is not None and used.warnings == []
    assert {(r.spill_stores, r.spill_loads) for r in used.report.entries.values()} == {(0, 0)}


LARGE = {
    "512 x 256": Product(m=512, n=256, k=32),
    "512 x 256, whole rows of 16 bytes": Product(m=512, n=256, k=64, d_assumed=True),
    "attention 256 x 128": Attention(rows=256, keys=128),
}
"""Tiles of which a thread has 128 registers at a time."""


@pytest.mark.parametrize("cluster", [BLOCKS, "auto"])
@pytest.mark.parametrize("name", LARGE)
def test_large_tiles_do_not_spill(name: str, cluster: str) -> None:
    used = assembled(compiled(LARGE[name].text(), TARGET, cluster=cluster).ptx, TARGET)
    assert used.report is not None and used.warnings == []
    assert {(r.spill_stores, r.spill_loads) for r in used.report.entries.values()} == {(0, 0)}


def test_the_result_of_large_tiles_of_attention() -> None:
    rng = np.random.default_rng(fresh_seed())
    kernel = Attention(rows=256, keys=128)
    args, expected = kernel.case(kernel.rows + int(rng.integers(1, kernel.rows)), 2 * kernel.keys - 5, rng)
    mode = str(rng.choice(["late", "early"]))
    found = launch(kernel.text(), *args, target=TARGET, grid=(2,), mode=mode, cluster=BLOCKS)[0][3]
    np.testing.assert_allclose(decode(kernel.element, found), expected, rtol=2e-2, atol=2e-2)


def test_the_result_of_many_rows_that_threads_store() -> None:
    """A thread has 32 rows, each a dynamic stride from the one before."""
    rng = np.random.default_rng(fresh_seed())
    check(Product(m=512, n=256, k=32), True, "late", rng, TARGET, cluster="2x1")


def test_the_instructions_are_those_of_two_ctas() -> None:
    """In SASS: products, copies by TMA, and commits to both CTAs."""
    used = assembled(compiled(PAIRED["f16"].text(), TARGET, cluster=BLOCKS).ptx, TARGET)
    cubin = used.stages["cubin"]
    assert isinstance(cubin, bytes)
    names = opcodes(Nvdisasm(require_tool("nvdisasm")).disassemble(cubin), modifiers=True)
    for name in ("UTCHMMA.2CTA", "UTMALDG.2D.2CTA", "UTCBAR.2CTA.MULTICAST"):
        assert any(found.startswith(name) for found in names), (name, names)


def test_each_cta_loads_half_of_the_right_factor() -> None:
    """128 x 64 elements of the left one, and 32 x 64 of 64 x 64 of the right one; the leader announces all of them."""
    product = Product(m=128, n=64, b_t="permute")
    ptx = compiled(product.text(), TARGET, cluster=BLOCKS).ptx
    announced = re.search(r"mov\.b32 \t(%r\d+), (\d+);\n\tmbarrier\.arrive\.expect_tx\S+ \S+ \S+ \1;", ptx)
    assert announced is not None and int(announced[2]) == 2 * (128 + 32) * 64 * 2
    plain = compiled(product.text(), TARGET).ptx
    announced = re.search(r"mov\.b32 \t(%r\d+), (\d+);\n\tmbarrier\.arrive\.expect_tx\S+ \S+ \S+ \1;", plain)
    assert announced is not None and int(announced[2]) == (128 + 64) * 64 * 2


# -- what stays with one CTA


def remarks(text: str, cluster: str = BLOCKS, launches: str = "any") -> list[str]:
    """What the compiler says of pairs and clusters."""
    with collect() as told:
        options = Options(lookup(TARGET), until="llvm", explains=True, cluster=cluster, launches=launches)
        compile_module(parse_module(text, "program.mlir"), options)
    return [one.message for one in told if re.search("multiplies alone|multiply|cluster", one.message)]


@pytest.mark.parametrize(
    ("product", "cluster", "why"),
    [
        (Product(m=64, n=64), BLOCKS, "has sums of 64x64; a pair of CTAs has multiples of 128 rows each"),
        (Product(m=128, n=16), BLOCKS, "has sums of 128x16; a pair"),
        (Product(m=128, b_twice=True), BLOCKS, "has a right factor that the consumer computes"),
        (Product(m=128, n=64), "blocks:1x2", "has another right factor in each CTA of a cluster"),
    ],
    ids=["64 rows", "16 columns", "right factor computed", "right factors differ"],
)
def test_other_products_stay_with_one_cta(product: Product, cluster: str, why: str) -> None:
    assert not is_paired(product.text(), cluster=cluster)
    assert any(
        f"each CTA multiplies alone: nv_tileas.dot {why}" in one for one in remarks(product.text(), cluster)
    )


def test_a_remark_says_that_ctas_multiply_together() -> None:
    text = "two CTAs multiply 256x128 together, and each loads half of the right factor"
    assert any(text in one for one in remarks(PAIRED["f16"].text()))


def test_right_factors_of_three_dimensions_stay_with_one_cta() -> None:
    """A CTA would load half of an axis that the tile has elsewhere."""
    text = Product(m=128, n=64).text()
    for old, new in (
        ("shape = [%br, %bc], strides = [%bL, 1]", "shape = [1, %br, %bc], strides = [%bL, %bL, 1]"),
        ("tile=(64x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>",
         "tile=(1x64x64), padding_value = zero, tensor_view<1x?x?xf16, strides=[?,?,1]>"),
        ("%b, %bt = load_view_tko weak %bV[%k, %y]", "%b3, %bt = load_view_tko weak %bV[%c0, %k, %y]"),
        ("-> tile<64x64xf16>, token",
         "-> tile<1x64x64xf16>, token\n  %b = reshape %b3 : tile<1x64x64xf16> -> tile<64x64xf16>"),
    ):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    text = re.sub(
        r"(%bT = .*)tensor_view<\?x\?xf16, strides=\[\?,1\]>",
        r"\1tensor_view<1x?x?xf16, strides=[?,?,1]>",
        text,
    )
    assert not is_paired(text, cluster=BLOCKS)
    why = "nv_tileas.tiled_load reads a tile of another shape than the factor, which has no halves"
    assert f"each CTA multiplies alone: {why}: load a tile of the factor's shape" in remarks(text)


def test_loops_of_different_lengths_stay_with_one_cta() -> None:
    """The leader could not multiply for a CTA that has left the loop."""
    text = PAIRED["f16"].text().replace("(%c0 to %steps, step %c1)", "(%x to %steps, step %c1)")
    assert text != PAIRED["f16"].text() and not is_paired(text, cluster=BLOCKS)


# -- by price


def test_large_launches_have_pairs_where_shared_memory_bounds_a_product() -> None:
    """Alone, each CTA reads and writes 96 KiB a step, for which shared memory takes 768 cycles; in a pair 64 KiB."""
    product = Product(m=128, n=256, k=64, out="f16")
    assert is_paired(product.text(), launches="large") and not is_paired(product.text())
    told = remarks(product.text(), "auto", "large")
    assert any("512 cycles a step with clusters of 2 x 1 tile blocks" in one for one in told)
    assert any("768 without: shared memory bounds it" in one for one in told)


def test_large_launches_have_no_pairs_where_they_are_as_fast() -> None:
    """Products whose CTAs could not do them together."""
    assert not is_paired(Product(m=64, n=256).text(), launches="large")


# -- synchronization


def _of_pairs(text: str) -> list[str] | None:
    """Without a wait, an arrival or a copy; a signal goes to the other CTA."""
    if mapped := re.match(r"(mapa\.\S+\s+\S+ \S+) 0;", text):
        return [f"{mapped[1]} 1;"]
    return without_synchronization_of_cluster(
        r"barrier\.cluster|mbarrier\.arrive.*cluster|cp\.async\.bulk\.tensor.*cta_group::2"
    )(text)


def test_a_cta_waits_for_what_the_leader_does_to_its_barriers() -> None:
    """The leader's last commits arrive at the mbarriers of the other CTA, which must not have exited."""
    rng = np.random.default_rng(fresh_seed())
    made = compiled(Product(m=128, n=32, k=32).text(), TARGET, cluster=BLOCKS)
    waits = re.findall(r"mbarrier\.try_wait\.parity\.acquire\.cluster\S* (%p\d+), [^;]*;", made.ptx)
    arrays = [rng.standard_normal(s).astype(np.float16) for s in ((256, 96), (96, 32))]
    given = [
        v
        for a in (*arrays, np.zeros((256, 32), np.float32))
        for v in (a, *map(np.int32, (*a.shape, a.shape[1])))
    ]
    ptx = made.ptx
    for predicate in waits[-4:]:
        ptx = re.sub(rf"mbarrier\.try_wait\S* {predicate}, [^;]*;", f"setp.eq.u32 {predicate}, 0, 0;", ptx)
    for changed, is_found in ((made.ptx, False), (ptx, True)):
        one = replace(made, ptx=changed)
        _, result = launch_ptx(one, given, TARGET, (2, 1), file="k.ptx", mode="late", seed=0)
        assert bool(result.findings) == is_found
        assert not is_found or "which has exited" in result.findings.text("k")


def test_every_synchronization_is_needed() -> None:
    """Four tiles one after the other use both stages of the sums twice."""
    rng = np.random.default_rng(fresh_seed())
    product = Product(m=128, n=32, k=32, outer=True)
    text = product.text().replace("%columns = constant <i32: 2>", "%columns = constant <i32: 4>")
    made = compiled(text, TARGET, cluster=BLOCKS)
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((256, 192), (192, 128)))
    arrays = (a, b, np.zeros((256, 128), np.float32))
    given = [v for array in arrays for v in (array, *map(np.int32, (*array.shape, array.shape[1])))]

    trial = Trial(
        given, TARGET, (2, 1), near(2, a.astype(np.float64) @ b, 0.1),
        [("early", 0), ("late", 0), ("late", 1), ("early", 1)],
    )  # fmt: skip
    changed = list(chain(changed_lines(made.ptx, _of_pairs), mutants(made.ptx)))
    assert missed(made, changed, trial) == []
    assert len(changed) > 40
