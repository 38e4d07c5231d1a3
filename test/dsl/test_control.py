"""Loops, branches and functions of the DSL: what they compute is what Python computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tessera_tools as tt
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dsl import *  # noqa: F403
from tessera_tools.dsl import (
    arange,
    array,
    constexpr,
    f32,
    i32,
    i64,
    int_to_ptr,
    kernel,
    load,
    ptr,
    ptr_to_int,
    select,
    static_range,
    store,
    where,
    zeros,
)


@pytest.fixture
def random() -> np.random.Generator:
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}")
    return np.random.default_rng(seed)


def run(function: Any, *numbers: int, results: int = 4) -> list[int]:
    """Launch a kernel that stores i32 results at its first argument."""
    out = np.full(results, -1, np.int32)
    function[1](out, *numbers)
    return out.tolist()


@kernel
def collatz(out: ptr[i32], n: i32):
    steps = 0
    highest = n
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        highest = max(highest, n)
        steps += 1
    store(out, steps)
    store(out + 1, highest)


def test_a_while_loop_carries_what_it_assigns(random: np.random.Generator) -> None:
    for n in (1, int(random.integers(2, 1000))):
        value, steps, highest = n, 0, n
        while value != 1:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            highest, steps = max(highest, value), steps + 1
        assert run(collatz, n)[:2] == [steps, highest]


@kernel
def least_factor(out: ptr[i32], n: i32):
    found = n
    for i in range(2, n):
        if i * i > n:
            break
        if n % i != 0:
            continue
        found = i
        break
    store(out, found)


def test_a_counted_loop_is_left_by_break(random: np.random.Generator) -> None:
    for n in (2, 91, int(random.integers(3, 2000))):
        expected = next((i for i in range(2, n) if n % i == 0), n)
        assert run(least_factor, n)[0] == expected


@kernel
def counted(out: ptr[i32], first: i32, last: i32, step: i32):
    count = 0
    for _i in range(first, last, step):
        count += 1
        if count == 9:
            break
    store(out, count)


@pytest.mark.parametrize(
    "bounds",
    [
        (2**31 - 2, 2**31 - 1, 2),
        (2**31 - 11, 2**31 - 2, 2**29),
        (-(2**31), 2**31 - 1, 2**30),
        (5, 5, 7),
        (0, 100, 99),
        (0, 100, 100),
    ],
)
def test_a_loop_that_may_be_left_does_not_wrap_around(bounds: tuple[int, int, int]) -> None:
    assert run(counted, *bounds)[0] == len(range(*bounds))


@kernel
def down(out: ptr[i32], start: i32, stop: i32, first: i32):
    numbers = 0
    for i in range(start, stop, -1):
        numbers = numbers * 10 + i
    last = -1
    for i in range(start, stop, -3):
        last = i
        if i < first:
            break
    store(out, numbers)
    store(out + 1, last)


@pytest.mark.parametrize("bounds", [(4, 0), (7, -1), (3, 3), (2, 5)], ids=str)
def test_a_negative_step_counts_down(bounds: tuple[int, int]) -> None:
    numbers = list(range(*bounds, -1))
    steps = [i for i in range(*bounds, -3) if i + 3 >= 4 or i == bounds[0]]
    found = run(down, *bounds, 4, results=2)
    assert found == [int("".join(map(str, numbers)) or 0), steps[-1] if steps else -1]


def test_a_loop_may_count_down_to_the_least_number() -> None:
    least = -(1 << 31)
    assert run(down, least + 1, least, 0, results=2) == [least + 1, least + 1]


@kernel
def sum_of_odd(out: ptr[i32], n: i32):
    total = 0
    for i in range(n):
        if i % 2 == 0:
            continue
        total += i
    store(out, total)


def test_continue_keeps_the_carried_values() -> None:
    for n in (0, 1, 10):
        assert run(sum_of_odd, n)[0] == sum(range(1, n, 2))


@kernel
def search(out: ptr[i32], n: i32):
    for i in range(1, 100):
        for j in range(i, 100):
            if i * j == n:
                store(out, i)
                store(out + 1, j)
                if i > 1:
                    store(out + 2, i + j)
                    return
    store(out + 3, 7)


def test_a_return_ends_the_kernel_from_inside_of_loops() -> None:
    assert run(search, 15) == [3, 5, 8, -1]
    assert run(search, 97) == [1, 97, -1, 7]


@kernel
def sign(out: ptr[i32], n: i32):
    if n > 0:
        word, scale = 1, 10
    elif n < 0:
        word = -1
        scale = 20
    else:
        word, scale = 0, 10
    store(out, word)
    store(out + 1, scale)
    store(out + 2, n if n >= 0 else -n)
    if n == 3 or (n > 5 and not n > 8):
        store(out + 3, 1)
    else:
        store(out + 3, 0)


def test_a_branch_merges_what_its_sides_assign() -> None:
    for n in (-4, 0, 3, 5, 7, 9):
        flag = int(n == 3 or 5 < n <= 8)
        assert run(sign, n) == [int(np.sign(n)), 20 if n < 0 else 10, abs(n), flag]


@kernel
def truths(out: ptr[i32], n: i32, m: i32):
    if n and m:
        store(out, 1)
    if not (n or m):
        store(out + 1, 1)
    store(out + 2, 1 if n and 5 else 0)
    both = (n > 0 and m > 0) or False
    store(out + 3, both.to(i32))


def test_numbers_are_conditions_where_only_their_truth_counts() -> None:
    for n, m in ((0, 0), (0, 2), (4, 2), (-1, 2)):
        expected = [1 if n and m else -1, 1 if not (n or m) else -1, 1 if n else 0, int(n > 0 and m > 0)]
        assert run(truths, n, m) == expected


@kernel
def powers(out: ptr[i32], base: i32, count: constexpr = 4):
    power = 1
    for i in static_range(count):
        if i == 3:
            break
        store(out + i, power)
        power *= base
    if count > 8:
        this_is_no_error_because_it_is_not_compiled()  # noqa: F405


def test_what_is_known_at_compile_time_is_not_compiled() -> None:
    assert run(powers, 3) == [1, 3, 9, -1]
    assert run(powers.bind(count=2), 3) == [1, 3, -1, -1]
    text = tt.to_text(powers.bind(count=2).__tessera_module__()[0])
    assert "for " not in text
    assert "if " not in text


@kernel
def nested(out: ptr[i32], n: i32):
    total = 0.0
    for i in range(n):
        for j in range(i):
            total += j
    store(out, total.to(i32))


def test_a_number_before_nested_loops_takes_the_type_of_the_sums() -> None:
    assert run(nested, 5)[0] == sum(j for i in range(5) for j in range(i))


@kernel
def widened(x: ptr[f32], out: ptr[f32], n: i32):
    acc = 0.0
    for i in range(n):
        acc += load(x + 8 * i + arange(8))
    store(out + arange(8), acc)


def test_a_number_before_a_loop_becomes_a_tile(random: np.random.Generator) -> None:
    x = random.standard_normal((3, 8)).astype(np.float32)
    out = np.zeros(8, np.float32)
    widened[1](x, out, 3)
    np.testing.assert_allclose(out, x.sum(0), rtol=1e-6)


def halved(value, times):
    for _ in range(times):
        value = value * 0.5
    return value


def scaled(value, factor=3.0):
    def twice(x):
        return x + x

    return twice(value) * factor


@kernel
def calls(x: ptr[f32], out: ptr[f32]):
    v = load(x + arange(4))
    store(out + arange(4), halved(scaled(v), 2) + scaled(v, factor=1.0))


def test_functions_are_compiled_where_they_are_called() -> None:
    x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    calls[1](x, out)
    assert np.array_equal(out, x * 6 / 4 + x * 2)


@kernel
def in_place(x: ptr[i32], n: i32):
    for i in range(n):
        for j in range(2):
            store(x + i + 1, load(x + i) + load(x + i + j))


def test_accesses_to_one_array_are_in_the_order_of_the_program() -> None:
    x = np.arange(1, 12, dtype=np.int32)
    expected = x.copy()
    for i in range(9):
        for j in range(2):
            expected[i + 1] = expected[i] + expected[i + j]
    in_place[1](x, 9)
    assert x.tolist() == expected.tolist()


@kernel
def copies(a: ptr[i32], b: ptr[i32]):
    for i in range(4):
        store(b + i + 1, load(a + i) + 1)


def test_arrays_of_a_launch_that_share_memory_are_ordered() -> None:
    x = np.zeros(5, np.int32)
    copies[1](x, x)
    assert x.tolist() == [0, 1, 2, 3, 4]
    text = tt.to_text(copies.__tessera_module__((x, x))[0])
    assert "join_tokens" in text
    assert "join_tokens" not in tt.to_text(copies.__tessera_module__((x, x.copy()))[0])


@kernel
def three(a: array[i32, 1], b: array[i32, 1], c: array[i32, 1]):
    pass


def test_an_array_that_holds_several_others_shares_memory_with_each() -> None:
    x = np.zeros(64, np.int32)
    bound = {"a": x, "b": x[4:8], "c": x[16:20]}
    assert three._signature(bound).shared == (("a", "b"), ("a", "c"))
    assert three._signature({**bound, "a": x[60:]}).shared == ()


@kernel
def swapped(a: ptr[i32], b: ptr[i32], n: i32):
    p, q = a, b
    for i in range(n):
        store(q, load(p) + i)
        p, q = q, p


def test_pointers_that_a_loop_exchanges_are_ordered() -> None:
    a, b = np.array([5], np.int32), np.array([9], np.int32)
    swapped[1](a, b, 4)
    x, y = 5, 9
    for i in range(4):
        y = x + i
        x, y = y, x
    assert [a[0], b[0]] == [x, y]


@kernel
def by_branch(a: ptr[i32], b: ptr[i32], n: i32):
    p = a
    if n > 0:
        p = b
    store(p, 7)
    store(a + 1, load(b))


@kernel
def by_branch_of_an_address(a: ptr[i32], b: ptr[i32], n: i32):
    p = int_to_ptr(ptr_to_int(b, i64), result=ptr[i32])
    if n > 0:
        p = a
    store(p, 7)
    store(a + 1, load(b))


@kernel
def by_select_of_an_address(a: ptr[i32], b: ptr[i32], n: i32):
    p = int_to_ptr(ptr_to_int(b, i64), result=ptr[i32])
    store(select(n > 0, a, p), 7)
    store(a + 1, load(b))


@kernel
def by_loop(a: ptr[i32], b: ptr[i32], n: i32):
    p = a
    for _ in range(n):
        store(p, 7)
        store(a + 1, load(b))
        p = b


@kernel
def by_loop_of_an_address(a: ptr[i32], b: ptr[i32], n: i32):
    p = a
    for _ in range(n):
        store(p, 7)
        store(a + 1, load(b))
        p = int_to_ptr(ptr_to_int(b, i64), result=ptr[i32])


@kernel
def by_continue(a: ptr[i32], b: ptr[i32], n: i32):
    p = a
    for i in range(n):
        store(p, 7)
        store(a + 1, load(b))
        if i == 1:
            p = b
            continue
        store(a + 2, 5)


@kernel
def by_break(a: ptr[i32], b: ptr[i32], n: i32):
    p = a
    for i in range(n):
        if i == 1:
            p = b
            break
    store(p, 7)
    store(a + 1, load(b))


def waits_of_loads(function: Any) -> list[bool]:
    """Whether each load of a kernel of two arrays waits for a token."""
    a, b = np.zeros(4, np.int32), np.zeros(4, np.int32)
    module = function.__tessera_module__((a, b, 3))[0]
    return [op.token is not None for op in module.walk() if isinstance(op, ct.LoadPtrTko)]


@pytest.mark.parametrize(
    "function",
    [
        by_branch,
        by_branch_of_an_address,
        by_select_of_an_address,
        by_loop,
        by_loop_of_an_address,
        by_continue,
        by_break,
    ],
    ids=lambda function: function.__name__,
)
def test_a_load_waits_for_a_store_to_a_pointer_that_may_be_the_same(function: Any) -> None:
    assert waits_of_loads(function) == [True]


@kernel
def apart(a: ptr[i32], b: ptr[i32], n: i32):
    p = a
    if n > 0:
        p = a + 1
    for i in range(n):
        store(p + i, load(b))


def test_a_load_does_not_wait_for_stores_to_another_array() -> None:
    assert waits_of_loads(apart) == [False]


@kernel
def stores_until(a: ptr[i32], b: ptr[i32], n: i32):
    for i in range(n):
        store(a + i, i)
        if i == 2:
            break
    store(b, load(a))


@kernel
def stores_for(a: ptr[i32], b: ptr[i32], n: i32):
    for i in range(n):
        store(a + i, i)
    store(b, load(a))


@pytest.mark.parametrize("function", [stores_until, stores_for], ids=lambda function: function.__name__)
def test_a_load_behind_a_loop_waits_for_its_stores(function: Any) -> None:
    a, b = np.zeros(4, np.int32), np.zeros(4, np.int32)
    module = function.__tessera_module__((a, b, 3))[0]
    [token] = [op.token for op in module.walk() if isinstance(op, ct.LoadPtrTko)]
    assert isinstance(token.defining_op, ct.Loop | ct.For)


@kernel
def reuses(out: ptr[i32], n: i32):
    t = 1
    for i in range(n):
        t = arange(4) * i
        store(out + arange(4), t)
    for i in range(1):
        t = i
    acc = zeros(tile[4, i32])  # noqa: F405
    if n > 100:
        store(out + arange(4), acc)


def test_a_name_may_be_used_for_another_type_again() -> None:
    assert run(reuses, 3) == [0, 2, 4, 6]


@kernel
def chained(out: ptr[i32], n: i32):
    store(out, where(2 < n < 5, 1, 0))
    store(out + 1, where(1 < 2 < n, 1, 0))
    store(out + 2, where(n > 2 > 1, 1, 0))
    store(out + 3, where(n > 2 > 3, 1, 0))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_comparisons_may_be_chained(n: int) -> None:
    assert run(chained, n) == [int(found) for found in (2 < n < 5, 1 < 2 < n, n > 2 > 1, n > 2 > 3)]
