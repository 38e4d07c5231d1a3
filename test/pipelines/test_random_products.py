"""Random kernels of products give the same with TMA and wgmma and without, and what NumPy gives."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from programs import fresh_seed

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from random_products import Case, check, compiled

CASES = 4


@pytest.mark.parametrize("number", range(CASES))
def test_random_product(number: int) -> None:
    seed = fresh_seed(f"kernel {number}: tools/random_products.py --count 1 --seed")
    case = Case.random(np.random.default_rng(seed))
    problem, _ = check(case, seed)
    assert problem is None, f"{case}\n{problem}"


@pytest.mark.parametrize("extents", [(0, 32, 64), (64, 0, 64), (64, 32, 0)])
def test_extents_of_zero(extents: tuple[int, int, int]) -> None:
    """A tensor map has no extent of zero; the launch makes one of an element that is zero."""
    case = Case.of("f16", "f32", (64, 32, 32), extents, loop="none")
    assert check(case, fresh_seed()) == (None, True)


def test_scratch_between_stages() -> None:
    """A is converted through scratch in each iteration: the pipeline does not order one iteration's scratch behind the
    last one's, since its next stage is another."""
    assert check(Case.of("f16", "f32", (64, 32, 32), (64, 32, 96), extra="scaled"), fresh_seed()) == (
        None,
        True,
    )


@pytest.mark.parametrize("element", ["f16", "i8"])
@pytest.mark.parametrize("extra", ["load in branch", "added"])
def test_a_factor_that_is_computed(extra: str, element: str) -> None:
    """The consumer writes B to shared memory; A comes by TMA."""
    accumulator = "i32" if element == "i8" else "f32"
    case = Case.of(
        element,
        accumulator,
        (64, 32, 32),
        (64, 32, 96),
        extra=extra,
        signs=" signed signed" * (element == "i8"),
    )
    assert check(case, fresh_seed()) == (None, True)


def test_products_of_two_kinds() -> None:
    """One product is asynchronous, the other is not: nothing is known of its tensor."""
    case = Case.of("f16", "f32", (64, 32, 32), (64, 32, 96), extra="half")
    assert check(case, fresh_seed()) == (None, True)
    ptx = compiled(case.text(), False)[0]
    assert "wgmma.mma_async" in ptx and "mma.sync" in ptx


@pytest.mark.parametrize("loop", ["steps", "persistent", "pointer"])
@pytest.mark.parametrize("extra", ["branch", "causal"])
def test_a_product_in_a_branch(extra: str, loop: str) -> None:
    """The producer takes the branch, too, if the loads stand in it."""
    case = Case.of("f16", "f32", (64, 32, 32), (190, 32, 160), loop=loop, extra=extra)
    assert check(case, fresh_seed()) == (None, True)
    assert "mma.sync" not in compiled(case.text(), False)[0]


@pytest.mark.parametrize("tile", [(64, 16, 512), (512, 16, 16)], ids=str)
def test_tiles_of_more_rows_than_a_box(tile: tuple[int, int, int]) -> None:
    """A box has at most 256 elements along an axis; an axis of 512 takes two."""
    m, n, k = tile
    case = Case.of("f16", "f32", tile, (m + 30, n, k + 100))
    assert check(case, fresh_seed()) == (None, True)


def test_products_of_two_kinds_from_one_zero() -> None:
    """The sums of both begin with the same constant, and lie in layouts of their own: one has too few terms."""
    case = Case.of(
        "f8E4M3FN", "f32", (256, 64, 16), (256, 64, 64), extra="chain", transposed=("", "permute", "view")
    )
    assert check(case, fresh_seed()) == (None, True)
    ptx = compiled(case.text(), False)[0]
    assert "wgmma.mma_async" in ptx and "mma.sync" in ptx


def test_a_computed_factor_takes_room() -> None:
    """Two stages do not fit in shared memory beside the buffer of the factor that the consumer writes: the tile is
    computed in parts."""
    case = Case.of("tf32", "f32", (128, 128, 128), (87, 130, 130), extra="same load")
    assert "wgmma.mma_async.sync.aligned.m64n64k8" in compiled(case.text(), plain=False)[0]
    assert check(case, fresh_seed()) == (None, True)


@pytest.mark.parametrize("extra", ["gathered", "alias"])
def test_a_gathered_factor_and_a_result_in_place(extra: str) -> None:
    n = 32 if extra == "gathered" else 64
    extents = (100, n, 200 if extra == "gathered" else 64)
    case = Case.of("f16", "f16", (64, n, 64), extents, extra=extra)
    assert check(case, fresh_seed()) == (None, True)


@pytest.mark.parametrize("extra", ["ordered", "joined"])
def test_what_stays_as_it_is(extra: str) -> None:
    case = Case.of("f16", "f32", (64, 32, 32), (64, 32, 96), extra=extra)
    assert check(case, fresh_seed()) == (None, False)


def test_batches_of_a_tensor_without_known_strides() -> None:
    """One warpgroup has registers for the addresses of the producer; each of two that take turns does not."""
    case = Case.of("f16", "f32", (64, 64, 64), (64, 128, 96), loop="twice", batches=2)
    assert check(case, fresh_seed())[0] is None
