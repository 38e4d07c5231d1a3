"""Tiles through views of every kind, run on the simulated GPU against NumPy: every element once, nothing outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from memory.view_programs import PADDINGS, Case
from programs import TARGETS, check_tools, fresh_seed

# case, indices
CASES: dict[str, tuple[Case, tuple[Any, ...]]] = {
    "inside": (Case((64,), (1,), (16,), dynamic=False, padding="zero"), (2,)),
    "ragged": (Case((70,), (1,), (32,), padding="zero"), (2,)),
    "one element apart": (Case((70,), (3,), (32,), padding="neg_inf"), (1,)),
    "columns": (Case((9, 13), (1, 11), (8, 8), padding="nan"), (1, 1)),
    "transposed": (Case((9, 13), (13, 1), (8, 4), order=(1, 0), padding="pos_inf"), (1, 2)),
    "rank 3": (Case((3, 5, 9), (60, 11, 1), (2, 4, 8), padding="zero"), (1, 1, 1)),
    "rank 3 turned": (Case((3, 5, 9), (60, 11, 1), (8, 2, 4), order=(2, 0, 1), padding="zero"), (1, 1, 0)),
    "rank 4": (Case((2, 3, 5, 6), (90, 30, 6, 1), (1, 2, 4, 4), padding="zero"), (1, 1, 1, 1)),
    "rank 5": (Case((2, 3, 2, 3, 5), (90, 30, 15, 5, 1), (1, 2, 2, 2, 4), padding="zero"), (1, 1, 0, 1, 1)),
    "overlapping": (Case((20,), (1,), (8,), kind="strided", distance=(3,), padding="zero"), (5,)),
    "with gaps": (
        Case((20, 20), (20, 1), (4, 2), kind="strided", distance=(5, 7), padding="zero"),
        (3, 2),
    ),
    "strided, transposed": (
        Case((20, 21), (21, 1), (4, 2), kind="strided", distance=(5, 3), order=(1, 0), padding="zero"),
        (4, 6),
    ),
    "rows": (
        Case((10, 33), (40, 1), (4, 16), kind="gather", sparse=0, padding="zero"),
        (np.array([9, 0, 77, 3]), 20),
    ),
    "gathered columns": (
        Case((10, 33), (40, 1), (4, 8), kind="gather", sparse=1, padding="nan"),
        (8, np.array([32, 33, 1, 2, -1, 0, 5, 31])),
    ),
    "gathered planes": (
        Case((4, 5, 6), (30, 6, 1), (2, 4, 4), kind="gather", sparse=1, padding="zero"),
        (3, np.array([4, 1, 5, 0]), 3),
    ),
    "long extents": (Case((70, 9), (9, 1), (32, 4), numbers="i64", padding="zero"), (2, 2)),
    "long indices": (Case((70,), (1,), (32,), index="i64", padding="zero"), (2,)),
    "long everything": (
        Case(
            (70, 9),
            (9, 1),
            (32, 4),
            kind="strided",
            distance=(30, 4),
            numbers="i64",
            index="i64",
            padding="zero",
        ),
        (2, 2),
    ),
    "gather with long numbers": (
        Case((70, 9), (9, 1), (4, 4), kind="gather", numbers="i64", index="i64", padding="zero"),
        (np.array([69, 1 << 32, -1, 0]), 6),
    ),
    "short numbers": (Case((200,), (1,), (32,), numbers="i8", index="i8", padding="zero"), (6,)),
    "short unsigned indices": (Case((200,), (1,), (1,), index="i8", padding="zero"), (199,)),
    "i1 indices": (Case((20,), (1,), (16,), index="i8", numbers="i16", padding="zero"), (1,)),
    "promised inside": (Case((64, 10), (10, 1), (32, 8), padding="zero", inbounds=(True, False)), (1, 1)),
    "promised inside, long": (
        Case((64, 10), (10, 1), (32, 8), padding="zero", inbounds=(True, False), numbers="i64"),
        (1, 1),
    ),
    "promised rows": (
        Case((10, 33), (40, 1), (4, 16), kind="gather", padding="zero", inbounds=(True, False)),
        (np.array([9, 0, 7, 3]), 20),
    ),
    "aligned": (Case((48, 64), (64, 1), (32, 32), aligned=True, padding="zero"), (1, 1)),
    "aligned rows": (
        Case((48, 64), (64, 1), (4, 32), kind="gather", aligned=True, padding="zero"),
        (np.array([47, 48, 3, 4]), 32),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_tile_is_loaded_with_its_padding(name: str) -> None:
    case, indices = CASES[name]
    case.check_load(indices, np.random.default_rng(fresh_seed()), "sm_80")


@pytest.mark.parametrize("name", CASES)
def test_a_tile_is_stored_where_it_lies_inside(name: str) -> None:
    case, indices = CASES[name]
    if name == "overlapping":
        indices = (2,)
    case.check_store(indices, np.random.default_rng(fresh_seed()), "sm_80")


def test_a_gather_may_name_a_place_twice() -> None:
    case = Case((10, 33), (40, 1), (8, 16), kind="gather", padding="zero")
    case.check_load((np.array([3, 3, 9, 10, 3, 0, 9, -7]), 5), np.random.default_rng(fresh_seed()), "sm_80")


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("element", ["f32", "bf16", "f8E5M2", "f64", "tf32"])
def test_any_padding_of_any_format(element: str, padding: str) -> None:
    case = Case((11,), (1,), (8,), padding=padding, element=element)
    case.check_load((1,), np.random.default_rng(fresh_seed()), "sm_80")


@pytest.mark.parametrize("kind", ["partition", "strided", "gather"])
@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_scales_are_padded_with_the_byte_0_or_a_nan(padding: str, kind: str) -> None:
    case = Case((11,), (1,), (8,), kind=kind, distance=(8,), padding=padding, element="f8E8M0FNU")
    place: Any = np.array([3, 8, 9, 10, 11, 12, 13, 2]) if kind == "gather" else 1
    case.check_load((place,), np.random.default_rng(fresh_seed()), "sm_100a")


@pytest.mark.parametrize("kind", ["partition", "gather"])
@pytest.mark.parametrize("element", ["i1", "i8", "i16", "i32", "i64", "f16", "f8E4M3FN"])
def test_elements_of_any_width(element: str, kind: str) -> None:
    case = Case((12, 35), (35, 1), (8, 16), kind=kind, padding="zero", element=element)
    indices = (1, 2) if kind == "partition" else (np.array([11, 12, 0, 5, 3, 6, 7, 8]), 30)
    rng = np.random.default_rng(fresh_seed())
    case.check_load(indices, rng, "sm_80")
    case.check_store(indices, rng, "sm_80")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["rank 5", "strided, transposed", "rows", "long everything"])
def test_every_target_takes_it(name: str, target: str) -> None:
    case, indices = CASES[name]
    case.check_load(indices, np.random.default_rng(fresh_seed()), target)
    check_tools([case.program(store) for store in (False, True)], target)
