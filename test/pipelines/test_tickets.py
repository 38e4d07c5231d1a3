"""Agents of kernels whose CTAs take their programs while they run: from a counter, or by canceling launches."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import Array, assembled, compiled, decode, empty, fresh_seed, launch, random
from trials import Trial, changed_lines, missed, mutants, near, without_synchronization_of_cluster

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_attention import Attention
from programs_of_products import Product

CORPUS = Path(__file__).parents[1] / "corpus"
GEMM = (CORPUS / "gemm_f16_128x256x64.mlir").read_text()
WITH_BIAS = (CORPUS / "gemm_nt_bias_f16_128x128x64.mlir").read_text()
SMALL = (Path(__file__).parents[2] / "examples" / "gemm.mlir").read_text()
IN_TURN = Product(m=64, n=32, k=32, out="f16", d_assumed=True)
"""Two consumers take its tiles in turn, if they shall."""

SCHEDULERS = [("sm_90a", "counter"), ("sm_100a", "counter"), ("sm_100a", "cancel")]
every_scheduler = pytest.mark.parametrize(("target", "persistent"), SCHEDULERS)
both_modes = pytest.mark.parametrize("mode", ["late", "early"])


def arguments(*arrays: Array) -> list[Any]:
    return [v for a in arrays for v in (a, *(np.int32(n) for n in (*a.shape, a.shape[1], 1)))]


def strided(*arrays: Array) -> list[Any]:
    return [v for a in arrays for v in (a, *(np.int32(n) for n in (*a.shape, a.shape[1])))]


# -- what stays


@every_scheduler
def test_agents_and_their_instructions_stay(target: str, persistent: str) -> None:
    """The products are those of the kernel that is not persistent, and nothing spills."""
    made, plain = (compiled(GEMM, target, persistent=p).ptx for p in (persistent, "never"))
    products = "wgmma.mma_async" if target == "sm_90a" else "tcgen05.mma"
    for name in (products, "cp.async.bulk.tensor", "setmaxnreg"):
        assert made.count(name) == plain.count(name) > 0
    assert "mma.sync" not in made
    used = assembled(made, target)
    assert used.report is not None and used.warnings == []
    assert {(r.spill_stores, r.spill_loads) for r in used.report.entries.values()} == {(0, 0)}


@pytest.mark.parametrize("persistent", ["counter", "cancel"])
def test_one_thread_takes_each_ticket(persistent: str) -> None:
    made = compiled(GEMM, "sm_100a", persistent=persistent).ptx
    assert made.count("clusterlaunchcontrol.try_cancel") == (persistent == "cancel")
    assert len(re.findall(r"atom\S+global\S*add", made)) == (persistent == "counter")
    # The producer, the thread that multiplies, and the consumers read it.
    assert made.count("clusterlaunchcontrol.query_cancel.is_canceled") == 3 * (persistent == "cancel")


# -- results


@both_modes
@every_scheduler
def test_a_ragged_product(target: str, persistent: str, mode: str) -> None:
    """CTAs with no program, one, and several; sums without terms are 0."""
    rng = np.random.default_rng(fresh_seed())
    m, n = int(rng.integers(65, 190)), 8 * int(rng.integers(9, 24))
    for k, resident in ((0, 1), (8 * int(rng.integers(1, 30)), 1), (72, 3), (72, 100)):
        a, b = random("f16", (m, k), rng), random("f16", (k, n), rng)
        found = launch(
            SMALL, *arguments(a, b, empty("f16", (m, n))), target=target, grid=(-(-m // 64), -(-n // 64)),
            persistent=persistent, resident=resident, mode=mode,
        )[0][2]  # fmt: skip
        np.testing.assert_allclose(found, a.astype(np.float64) @ b, rtol=1e-2, atol=5e-2)


@every_scheduler
def test_a_product_in_large_tiles(target: str, persistent: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    m, n, k = int(rng.integers(129, 256)), 8 * int(rng.integers(33, 64)), 8 * int(rng.integers(1, 30))
    a, b = random("f16", (m, k), rng), random("f16", (k, n), rng)
    options: dict[str, Any] = {"target": target, "persistent": persistent, "resident": 2, "grid": (2, 2)}
    for mode in ("late", "early"):
        found = launch(GEMM, *arguments(a, b, empty("f16", (m, n))), **options, mode=mode)[0][2]
        np.testing.assert_allclose(found, a.astype(np.float64) @ b, rtol=1e-2, atol=5e-2)


@both_modes
@every_scheduler
def test_a_bias(target: str, persistent: str, mode: str) -> None:
    """Each program reads a tile of its own behind its products."""
    rng = np.random.default_rng(fresh_seed())
    m, n, k = int(rng.integers(129, 300)), 8 * int(rng.integers(17, 40)), 8 * int(rng.integers(1, 20))
    a, b, c = random("f16", (m, k), rng), random("f16", (n, k), rng), random("f32", (m, n), rng)
    found = launch(
        WITH_BIAS, *arguments(a, b, c, empty("f32", (m, n))), target=target, grid=(-(-m // 128), -(-n // 128)),
        persistent=persistent, resident=2, mode=mode,
    )[0][3]  # fmt: skip
    np.testing.assert_allclose(found, a.astype(np.float64) @ b.astype(np.float64).T + c, rtol=1e-3, atol=1e-3)


@both_modes
@pytest.mark.parametrize("resident", [1, 2, 5])
def test_consumers_that_take_tiles_in_turn(resident: int, mode: str) -> None:
    """Each of them reads all tickets, also those of the tiles that it leaves out."""
    rng = np.random.default_rng(fresh_seed())
    m, n = int(rng.integers(129, 192)), 8 * int(rng.integers(5, 12))
    for k in (0, 8 * int(rng.integers(1, 20))):
        a, b = random("f16", (m, k), rng), random("f16", (k, n), rng)
        found = launch(
            IN_TURN.text(), *strided(a, b, empty("f16", (m, n))), target="sm_90a", grid=(3, -(-n // 32)),
            ping_pong="tiles", persistent="counter", resident=resident, mode=mode,
        )[0][2]  # fmt: skip
        np.testing.assert_allclose(found, a.astype(np.float64) @ b, rtol=1e-2, atol=5e-2)


ATTENTION = {
    "d64": Attention(),
    "d64, causal": Attention(keys=128, causal=True),
    "d128": Attention(keys=128, width=128, element="bf16"),
    "d128, causal": Attention(keys=128, width=128, causal=True),
}


@pytest.mark.parametrize(
    "name",
    ["d64", "d128, causal", "d64, causal", "d128"],
)
@every_scheduler
def test_attention(target: str, persistent: str, name: str) -> None:
    """Also with an agent for the correction, and with programs of different lengths."""
    rng, kernel = np.random.default_rng(fresh_seed()), ATTENTION[name]
    queries = 3 * kernel.rows + int(rng.integers(1, kernel.rows))
    keys = queries if kernel.causal else kernel.keys + int(rng.integers(1, kernel.keys))
    args, expected = kernel.case(queries, keys, rng)
    options: dict[str, Any] = {"target": target, "grid": (4,), "persistent": persistent, "resident": 2}
    for mode in ("late", "early"):
        found = launch(kernel.text(), *args, **options, mode=mode)[0][3]
        np.testing.assert_allclose(decode(kernel.element, found), expected, rtol=2e-2, atol=2e-2)


@both_modes
@every_scheduler
def test_programs_without_a_loop(target: str, persistent: str, mode: str) -> None:
    """Products of which the next is not known before its program begins are in no schedule across programs."""
    text = """entry @k(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f32>>, %m: tile<i32>) {
  %token = make_token : token
  %a1 = assume div_by<16>, %a : tile<ptr<f16>>
  %b1 = assume div_by<16>, %b : tile<ptr<f16>>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %start = constant <f32: 0.0> : tile<64x64xf32>
  %at = make_tensor_view %a1, shape = [%m, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf16, strides=[64,1]>
  %bt = make_tensor_view %b1, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf16, strides=[64,1]>
  %ct = make_tensor_view %c, shape = [%m, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
  %av = make_partition_view %at : partition_view<tile=(64x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>
  %bv = make_partition_view %bt : partition_view<tile=(64x64), padding_value = zero, tensor_view<64x64xf16, strides=[64,1]>>
  %cv = make_partition_view %ct : partition_view<tile=(64x64), tensor_view<?x64xf32, strides=[64,1]>>
  %p, %t1 = load_view_tko weak %av[%x, %zero] token = %token : partition_view<tile=(64x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
  %q, %t2 = load_view_tko weak %bv[%zero, %zero] token = %token : partition_view<tile=(64x64), padding_value = zero, tensor_view<64x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
  %s = mmaf %p, %q, %start : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  %d = store_view_tko weak %s, %cv[%x, %zero] token = %token : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}
"""  # noqa: E501
    rng = np.random.default_rng(fresh_seed())
    m = int(rng.integers(200, 320))
    a, b = random("f16", (m, 64), rng), random("f16", (64, 64), rng)
    found = launch(
        text, a, b, empty("f32", (m, 64)), np.int32(m), target=target, grid=(-(-m // 64),), persistent=persistent,
        resident=2, mode=mode,
    )[0][2]  # fmt: skip
    np.testing.assert_allclose(found, a.astype(np.float64) @ b, rtol=1e-3, atol=1e-2)


# -- clusters


CLUSTERS = [
    ("sm_90a", "counter", "1x2"),
    ("sm_90a", "counter", "blocks:2x1"),
    ("sm_100a", "counter", "blocks:2x1"),
    ("sm_100a", "cancel", "blocks:2x1"),
    ("sm_100a", "cancel", "blocks:1x2"),
    ("sm_100a", "cancel", "2x1"),
    ("sm_100a", "cancel", "blocks:2x2"),
    ("sm_100a", "counter", "blocks:4x1"),
]


@pytest.mark.parametrize(("target", "persistent", "cluster"), CLUSTERS)
def test_clusters_take_tickets_together(target: str, persistent: str, cluster: str) -> None:
    """Clusters at the end of the grid have fewer programs than CTAs, and some clusters none."""
    rng = np.random.default_rng(fresh_seed())
    m, n, k = int(rng.integers(129, 190)), 8 * int(rng.integers(9, 24)), 8 * int(rng.integers(1, 30))
    a, b = random("f16", (m, k), rng), random("f16", (k, n), rng)
    options: dict[str, Any] = {"target": target, "persistent": persistent, "cluster": cluster}
    for mode, resident in (("late", 1), ("early", 50), ("early", 1)):
        found = launch(
            SMALL, *arguments(a, b, empty("f16", (m, n))), grid=(3, -(-n // 64)), **options, resident=resident,
            mode=mode,
        )[0][2]  # fmt: skip
        np.testing.assert_allclose(found, a.astype(np.float64) @ b, rtol=1e-2, atol=5e-2)


@pytest.mark.parametrize("persistent", ["counter", "cancel"])
def test_pairs_that_multiply_together_stay(persistent: str) -> None:
    """The first CTA asks once for all; the one that does not multiply reads the answers, too."""
    made = compiled(GEMM, "sm_100a", persistent=persistent, cluster="blocks:2x1")
    assert "tcgen05.mma.cta_group::2" in made.ptx
    assert made.ptx.count("multicast::cluster::all") == (persistent == "cancel")
    assert made.ptx.count("query_cancel.is_canceled") == 4 * (persistent == "cancel")
    (kernel,) = made.manifest.kernels
    assert kernel.persistent is not None and kernel.persistent.scheduler == persistent
    # With clusters, the grid of a launch counts them, so that the one that the caller asks for is hidden.
    assert kernel.persistent.blocks == (2, 1) and kernel.persistent.grid == (15, 16, 17)
    used = assembled(made.ptx, "sm_100a")
    assert used.warnings == []


def test_attention_in_pairs() -> None:
    """Both CTAs of a pair run loops of the same length, also with a causal mask."""
    rng, kernel = np.random.default_rng(fresh_seed()), Attention(rows=128, keys=64, width=64, causal=True)
    queries = 3 * kernel.rows + int(rng.integers(1, kernel.rows))
    args, expected = kernel.case(queries, queries, rng)
    options: dict[str, Any] = {"target": "sm_100a", "grid": (4,), "cluster": "blocks:2x1"}
    for persistent, mode in (("cancel", "late"), ("counter", "early")):
        found = launch(kernel.text(), *args, **options, persistent=persistent, resident=1, mode=mode)[0][3]
        np.testing.assert_allclose(decode(kernel.element, found), expected, rtol=2e-2, atol=2e-2)


# -- synchronization


@both_modes
def test_each_reader_of_an_answer_has_a_fence_behind_it(mode: str) -> None:
    """Also those in the second CTA of a pair, whose agent reads for the sake of the first one alone."""
    made = compiled(GEMM, "sm_100a", persistent="cancel", cluster="blocks:2x1")
    rng = np.random.default_rng(fresh_seed())
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((200, 32), (32, 1504)))
    given = arguments(a, b, np.ones((200, 1504), np.float16))
    right = near(2, a.astype(np.float64) @ b, 0.1)
    fences = re.compile(r"(?<=\n)\s*fence\.proxy\.async[^\n]*;")
    reads = [found.start() for found in re.finditer("query_cancel.is_canceled", made.ptx)]
    behind = [found for at in reads if (found := fences.search(made.ptx, at)) is not None]
    changed = [(str(n), made.ptx[: f.start()] + made.ptx[f.end() :]) for n, f in enumerate(behind)]
    assert len({ptx for _, ptx in changed}) == 4
    options = {"resident": 1, "max_instructions": 400_000}
    assert missed(made, changed, Trial(given, "sm_100a", (2, 6), right, [(mode, 0)], options)) == []


@pytest.mark.parametrize(
    ("target", "persistent"), [("sm_90a", "counter"), ("sm_100a", "counter"), ("sm_100a", "cancel")]
)
def test_every_synchronization_of_clusters_is_needed(target: str, persistent: str) -> None:
    """Each wait, arrival and fence, also those of other CTAs."""
    made = compiled(SMALL, target, persistent=persistent, cluster="blocks:2x1")
    rng = np.random.default_rng(fresh_seed())

    def trial(k: int) -> Trial:
        a, b = (rng.standard_normal(s).astype(np.float16) for s in ((100, k), (k, 640)))
        given = arguments(a, b, np.ones((100, 640), np.float16))
        right = near(2, a.astype(np.float64) @ b, 0.1)
        schedules = [("late", 0), ("early", 1), ("late", 2), ("early", 3)]
        return Trial(given, target, (2, 10), right, schedules, {"resident": 1, "max_instructions": 400_000})

    changed = [*mutants(made.ptx), *mutants(made.ptx, ("clusterlaunchcontrol.try", "st.shared::cluster"))]
    changed += changed_lines(made.ptx, without_synchronization_of_cluster())
    assert missed(made, changed, trial(96), trial(0)) == []


@pytest.mark.parametrize(
    ("target", "persistent", "ping_pong"),
    [*((*one, "auto") for one in SCHEDULERS), ("sm_90a", "counter", "tiles")],
)
def test_every_synchronization_is_needed(target: str, persistent: str, ping_pong: str) -> None:
    """Each wait, arrival and count of the tickets too. More programs than stages of tickets, with terms and without."""
    in_turn = ping_pong == "tiles"
    text, columns = (IN_TURN.text(), 32) if in_turn else (SMALL, 64)
    made = compiled(text, target, ping_pong=ping_pong, persistent=persistent)
    rng = np.random.default_rng(fresh_seed())

    def trial(k: int) -> Trial:
        a, b = (rng.standard_normal(s).astype(np.float16) for s in ((64, k), (k, 10 * columns)))
        given = (strided if in_turn else arguments)(a, b, np.ones((64, 10 * columns), np.float16))
        right = near(2, a.astype(np.float64) @ b, 0.1)
        schedules = [("late", 0), ("early", 1), ("late", 2), ("early", 3)]
        return Trial(given, target, (1, 10), right, schedules, {"resident": 1, "max_instructions": 400_000})

    changed = [*mutants(made.ptx), *mutants(made.ptx, ("clusterlaunchcontrol.try",))]
    assert missed(made, changed, trial(96), trial(0)) == []
