"""Delta debugging over numbered parts."""

from __future__ import annotations

import random
import secrets

import pytest

from tessera_tools.reduce.search import Budget, Exhausted, remove_parts


def smallest(parts: list[int], needed: set[int], limit: int = 10_000) -> tuple[list[int], int]:
    """What is left of the parts if a candidate fails with all that are needed, and the number of tests."""
    budget = Budget(lambda data: needed <= set(data), most=limit, seconds=60.0)

    def attempt(begin: int, end: int) -> int | None:
        nonlocal parts
        rest = parts[:begin] + parts[end:]
        if not budget.interesting(bytes(rest)):
            return None
        parts = rest
        return len(parts)

    remove_parts(len(parts), attempt)
    return parts, budget.tests


def test_what_is_needed_is_left() -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(50):
        parts = list(range(rng.randrange(1, 100)))
        needed = set(rng.sample(parts, rng.randrange(len(parts) + 1)))
        assert smallest(parts, needed)[0] == sorted(needed)


def test_one_of_many_parts_is_found_in_few_tests() -> None:
    found, tests = smallest(list(range(128)), {77})
    assert found == [77]
    assert tests < 30


def test_equal_candidates_are_tested_once() -> None:
    budget = Budget(lambda _: True, most=1, seconds=60.0)
    assert budget.interesting(b"x")
    assert budget.interesting(b"x")
    assert budget.tests == 1


def test_the_budget_ends_the_search() -> None:
    with pytest.raises(Exhausted):
        smallest(list(range(100)), set(range(0, 100, 2)), limit=5)


def test_time_ends_the_search() -> None:
    with pytest.raises(Exhausted):
        Budget(lambda _: True, most=10, seconds=0.0).interesting(b"x")


def test_candidates_that_are_smaller_are_counted_and_handed_on() -> None:
    handed: list[bytes] = []
    budget = Budget(lambda data: data != b"no", most=10, seconds=60.0, better=handed.append)
    assert [budget.interesting(data) for data in (b"x", b"no", b"y", b"x")] == [True, False, True, True]
    assert (budget.tests, budget.found, handed) == (3, 2, [b"x", b"y"])


@pytest.mark.parametrize("needed", [0, 3])
def test_whether_any_part_was_removed_is_returned(needed: int) -> None:
    left = 3

    def attempt(begin: int, end: int) -> int | None:
        nonlocal left
        if left - (end - begin) < needed:
            return None
        left -= end - begin
        return left

    assert remove_parts(3, attempt) is (needed < 3)
    assert left == needed
