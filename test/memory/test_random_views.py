"""Random tensors, views and places against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from memory.view_programs import Case
from programs import TARGETS, fresh_seed

ELEMENTS = ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "tf32", "f64", "f8E4M3FN", "f8E5M2")


def random_case(rng: np.random.Generator) -> tuple[Case, tuple[Any, ...]]:
    """A case, and indices of a tile that starts inside, or at a negative index."""

    def choice(items: Any) -> Any:
        return items[int(rng.integers(len(items)))]

    rank = int(rng.integers(1, 6))
    kind = choice(("partition", "strided", "gather"))
    most = {1: 8, 2: 5, 3: 3, 4: 2, 5: 2}[rank]
    tile = tuple(1 << int(rng.integers(0, most + 1)) for _ in range(rank))
    order = tuple(int(i) for i in rng.permutation(rank)) if kind != "gather" and rng.integers(2) else ()
    axes = order or tuple(range(rank))
    along = [0] * rank
    for d, axis in enumerate(axes):
        along[axis] = tile[d]
    aligned = rank < 4 and bool(rng.integers(3) == 0)
    extents = tuple(int(rng.integers(1, 3 * n + 2)) for n in along)
    if aligned:
        extents = tuple(-(-n // 16) * 16 for n in extents)
    strides = [0] * rank
    step = 1
    for axis in rng.permutation(rank) if rng.integers(2) else reversed(range(rank)):
        strides[axis] = step
        slack = 0 if rng.integers(2) else (16 if aligned else int(rng.integers(0, 5)))
        step = step * extents[axis] + slack
        if aligned:
            step = -(-step // 16) * 16
    distance = tuple(int(rng.integers(1, 2 * n + 2)) for n in tile) if kind == "strided" else ()
    element = choice(ELEMENTS)
    paddings = ["zero", None]
    if not element.startswith("i"):
        paddings += ["neg_zero", "nan"]
        if element != "f8E4M3FN":
            paddings += ["pos_inf", "neg_inf"]
    sparse = int(rng.integers(rank))
    case = Case(
        extents, tuple(strides), tile, kind=kind, distance=distance, sparse=sparse, order=order,
        padding=choice(paddings), element=element, dynamic=bool(rng.integers(2)) or aligned,
        numbers=choice(("i32", "i64")), index=choice(("i16", "i32", "i64")), aligned=aligned,
        ordering="relaxed device" if rng.integers(5) == 0 else "weak",
    )  # fmt: skip
    indices: list[Any] = []
    for d, axis in enumerate(case.axes):
        if case.is_sparse(d):
            # Beyond the end too, but no place twice.
            indices.append(rng.permutation(extents[axis] + tile[d])[: tile[d]] - int(rng.integers(0, 2)))
        elif rng.integers(8) == 0:
            indices.append(-int(rng.integers(1, 4)))
        else:
            indices.append(int(rng.integers(0, -(-extents[axis] // case.steps[d]))))
    return case, tuple(indices)


@pytest.mark.parametrize("number", range(12))
def test_a_tile_anywhere(number: int) -> None:
    rng = np.random.default_rng(fresh_seed())
    case, indices = random_case(rng)
    print(case, indices)
    target = TARGETS[number % len(TARGETS)]
    case.check_load(indices, rng, target)
    if case.kind != "strided" or all(s >= n for s, n in zip(case.distance, case.tile, strict=True)):
        case.check_store(indices, rng, target)
