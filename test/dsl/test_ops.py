"""Every op of cuda_tile as a function of the DSL, and what the operators and functions compute."""

from __future__ import annotations

import builtins
import inspect
from typing import Any

import numpy as np
import pytest

import tessera_tools as tt
import tessera_tools.dsl as tl
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dsl import *  # noqa: F403
from tessera_tools.dsl import array, constexpr, f16, f32, i8, i32, i64, kernel, ops, ptr, tile
from tessera_tools.dsl.types import type_of
from tessera_tools.opdef.dialect import find_dialect


@pytest.fixture
def random() -> np.random.Generator:
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}")
    return np.random.default_rng(seed)


def test_every_op_is_a_function_or_syntax() -> None:
    dialect = find_dialect("cuda_tile")
    assert dialect is not None
    syntax = {
        "module",
        "entry",
        "global",
        "return",
        "continue",
        "break",
        "yield",
        "for",
        "loop",
        "if",
        "reduce",
        "scan",
    }
    older = {
        name for name, op in dialect.ops.items() if "legacy" in op.__module__ or "testing" in op.__module__
    }
    wanted = {name.partition(".")[2] for name in dialect.ops if name not in older} - syntax
    assert wanted == {name.rstrip("_") for name in ops.names()}
    for name in ops.names():
        assert callable(getattr(tl, name))
        assert ops.function(name).__doc__


def test_a_function_has_the_parameters_and_documentation_of_its_op() -> None:
    assert str(inspect.signature(tl.fma)) == (
        "(lhs, rhs, acc, result=None, *, rounding_mode=None, flush_to_zero=None)"
    )
    assert (tl.fma.__doc__ or "").startswith("`lhs * rhs + acc`, rounded once, elementwise.")


@kernel
def raw(x: ptr[f32], out: ptr[f32]):
    p = tl.offset(tl.broadcast(tl.reshape(x, (1,)), (8,)), tl.iota(result=tile[8, i32]))
    v, token = tl.load_ptr_tko(p, token=tl.make_token())
    w = tl.fma(v, v, 1.0, rounding_mode="zero")
    w = tl.maxf(w, 2.0, propagate_nan=True)
    low, high = tl.extract(w, [0], (4,)), tl.extract(w, [1], (4,))
    w = tl.cat(high, low, 0)
    w = tl.select(tl.cmpf(w, 3.0, "greater_than"), w, tl.negf(w))
    n = tl.exti(tl.ftoi(w, i8), i32)
    w = tl.itof(n, f32)
    w = tl.bitcast(tl.bitcast(w, i32), f32)
    w = tl.insert(tl.full((4,), 9.0, f32), w, [1])
    q = tl.int_to_ptr(tl.ptr_to_int(out, i64), result=ptr[f32])
    i = tl.permute(tl.reshape(tl.iota(result=tile[8, i32]), (2, 4)), (1, 0))
    tl.store_ptr_tko(tl.offset(tl.broadcast(tl.reshape(q, (1,)), (8,)), tl.reshape(i, (8,))), w, token=token)


def test_ops_by_their_own_names(random: np.random.Generator) -> None:
    x = random.uniform(-3, 3, 8).astype(np.float32)
    out = np.zeros(8, np.float32)
    raw[1](x, out)
    w = np.maximum((x.astype(np.float64) ** 2 + 1).astype(np.float32), 2)
    w = np.concatenate([w[4:], w[:4]])
    w = np.trunc(np.where(w > 3, w, -w))
    w[4:] = 9
    expected = np.zeros(8, np.float32)
    expected[np.arange(8).reshape(2, 4).T.ravel()] = w
    assert np.array_equal(out, expected)


@kernel
def integers(a: ptr[i32], b: ptr[i32], out: ptr[i32], n: constexpr):
    i = tl.arange(n)
    x, y = tl.load(a + i), tl.load(b + i)
    results = (
        x + y, x - y, x * y, x // y, x % y, x & y, x | y, x ^ y, ~x, -x, abs(x), max(x, y), min(x, y), x << 3, x >> 2,
        7 - x, 100 // y, tl.cdiv(x, y), x**3, tl.where(x < y, x, 5), (x == y).to(i32) + (x != 3) + (x >= y),
        (x / y).to(i32), x + 3_000_000_000 - 3_000_000_000 == x,
    )  # fmt: skip
    for number, value in enumerate_(results):
        tl.store(out + number * n + i, value.to(i32))


def enumerate_(values):
    pairs = ()
    for number in tl.static_range(len(values)):
        pairs = (*pairs, (number, values[number]))
    return pairs


def test_integer_operators_are_those_of_python(random: np.random.Generator) -> None:
    n = 64
    a = random.integers(-1000, 1000, n).astype(np.int32)
    b = random.integers(1, 50, n).astype(np.int32) * random.choice([-1, 1], n).astype(np.int32)
    out = np.zeros((23, n), np.int32)
    integers[1](a, b, out, n)
    x, y = a.astype(np.int64), b.astype(np.int64)
    expected = [
        x + y, x - y, x * y, x // y, x % y, x & y, x | y, x ^ y, ~x, -x, abs(x), np.maximum(x, y), np.minimum(x, y),
        x << 3, x >> 2, 7 - x, 100 // y, -(-x // y), x**3, np.where(x < y, x, 5),
        (x == y).astype(int) + (x != 3) + (x >= y), np.trunc((a / b).astype(np.float32)), np.ones(n),
    ]  # fmt: skip
    for number, (one, found) in enumerate(zip(expected, out, strict=True)):
        assert np.array_equal(found, one.astype(np.int32)), f"result {number}"


@kernel
def floats(a: ptr[f32], b: ptr[f32], out: ptr[f32], n: constexpr):
    i = tl.arange(n)
    x, y = tl.load(a + i), tl.load(b + i)
    results = (
        x + y, 2 - x, x * 0.5, x / y, x // y, x % y, -x, abs(x), max(x, y, 0.25), x**2, tl.exp(x), tl.sqrt(abs(x)),
        tl.rsqrt(abs(x) + 1), tl.floor(x), tl.maximum(x, 0), x + i, tl.atan2(x, y), x.to(f16).to(f32),
    )  # fmt: skip
    for number, value in enumerate_(results):
        tl.store(out + number * n + i, value)


def test_float_operators(random: np.random.Generator) -> None:
    n = 32
    a, b = (random.uniform(-9, 9, n).astype(np.float32) for _ in range(2))
    out = np.zeros((18, n), np.float32)
    floats[1](a, b, out, n)
    x, y, i = a.astype(np.float64), b.astype(np.float64), np.arange(n)
    expected = [
        x + y, 2 - x, x * 0.5, x / y, x // y, x % y, -x, abs(x), np.maximum(np.maximum(x, y), 0.25), x**2, np.exp(x),
        np.sqrt(abs(x)), 1 / np.sqrt(abs(x) + 1), np.floor(x), np.maximum(x, 0), x + i, np.arctan2(x, y),
        a.astype(np.float16),
    ]  # fmt: skip
    for number, (one, found) in enumerate(zip(expected, out, strict=True)):
        np.testing.assert_allclose(found, one, rtol=2e-5, atol=2e-6, err_msg=f"result {number}")


@kernel
def shapes(x: array[f32, 2], out: ptr[f32]):
    view = tl.make_partition_view(x, tile=(8, 16))
    v = tl.load(view, (0, tl.program_id(0)))
    i = tl.arange(8)
    tl.store(out + i, sum(v, axis=1))
    tl.store(out + 8 + i, tl.max(v, 1))
    tl.store(out + 16 + i, min(v, axis=-1))
    tl.store(out + 24 + i, tl.reduce(v, 1, lambda a, b: a * b, 1.0))
    tl.store(out + 32 + tl.arange(128), tl.scan(v, 1, lambda a, b: a + b, 0.0, reverse=True).reshape(128))
    tl.store(out + 160 + tl.arange(128), tl.softmax(v, 1).reshape(128))
    tl.store(out + 288, sum(v))
    outer = tl.arange(8)[:, None] * 10 + tl.arange(2)[None, :]
    tl.store(out + 289 + tl.arange(16), outer.T.reshape((16,)).to(f32))
    tl.store(out + 305, tl.num_tiles(view, 0) * 100 + tl.num_tiles(view, 1) * 10 + tl.num_programs(0) + 0.0)


def test_reductions(random: np.random.Generator) -> None:
    x = random.uniform(-1.5, 1.5, (8, 16)).astype(np.float32)
    out = np.zeros(320, np.float32)
    shapes[1](x, out)
    d = x.astype(np.float64)
    e = np.exp(d - d.max(1, keepdims=True))
    outer = np.arange(8)[:, None] * 10 + np.arange(2)[None, :]
    expected = np.concatenate([
        d.sum(1), d.max(1), d.min(1), d.prod(1), np.cumsum(d[:, ::-1], 1)[:, ::-1].ravel(),
        (e / e.sum(1, keepdims=True)).ravel(), [d.sum()], outer.T.ravel(), [111],
    ])  # fmt: skip
    np.testing.assert_allclose(out[: expected.size], expected, rtol=1e-4, atol=1e-5)


@kernel
def products(a: ptr[f16], b: ptr[f16], out: ptr[f32], acc: ptr[f32]):
    x = tl.load(tl.make_partition_view(a, [32, 16], tile=(32, 16)), (0, 0))
    y = tl.load(tl.make_partition_view(b, [32, 16], tile=(32, 16)), (0, 0))
    sums = tl.make_partition_view(acc, [32, 32], tile=(32, 32))
    tl.store(tl.make_partition_view(out, [32, 32], tile=(32, 32)), (0, 0), tl.load(sums, (0, 0)) + x @ y.T)


def test_a_product_adds_to_its_accumulator(random: np.random.Generator) -> None:
    a, b = (random.standard_normal((32, 16)).astype(np.float16) for _ in range(2))
    acc, out = random.standard_normal((32, 32)).astype(np.float32), np.zeros((32, 32), np.float32)
    products[1](a, b, out, acc)
    np.testing.assert_allclose(out, acc + a.astype(float) @ b.T.astype(float), rtol=1e-4, atol=1e-3)
    text = tt.to_text(products.__tessera_module__()[0])
    assert "addf" not in text
    assert text.count("mmaf") == 1


@kernel
def scattered(x: ptr[i32], counts: ptr[i32], out: array[i32, 2], n: i32):
    i = tl.program_id(0) * 64 + tl.arange(64)
    v = tl.load(x + i, mask=i < n, other=0)
    before = tl.atomic("add", counts + v, 1, mask=i < n)
    view = tl.make_gather_scatter_view(out, tile=(64, 4))
    tl.store(view, (before * 0 + i, 0), tl.broadcast(v.reshape(64, 1), (64, 4)))


def test_gathers_scatters_and_atomics(random: np.random.Generator) -> None:
    x = random.integers(0, 5, 100).astype(np.int32)
    counts, out = np.zeros(5, np.int32), np.zeros((100, 4), np.int32)
    scattered[2](x, counts, out, 100)
    assert counts.tolist() == np.bincount(x, minlength=5).tolist()
    assert np.array_equal(out, np.repeat(x[:, None], 4, 1))


def test_accesses_are_weak_and_atomics_relaxed_on_the_device() -> None:
    text = tt.to_text(scattered.__tessera_module__()[0])
    assert "load_ptr_tko weak" in text
    assert "atomic_rmw_tko relaxed device" in text


@kernel
def prints(n: i32):
    i = tl.program_id(0)
    print("block %d of %d", i, n)
    print("twice", i * 2)
    assert n > 0, "n is positive"


def test_print_and_assert(capfd: Any) -> None:
    result = prints[1](7)
    text = capfd.readouterr().out + str(getattr(result, "output", ""))
    assert "block 0 of 7" in text
    assert "twice 0" in text


def first_of_greatest(a: Any, b: Any) -> Any:
    (x, i), (y, j) = a, b
    better = (y > x) | ((y == x) & (j < i))
    return tl.where(better, y, x), tl.where(better, j, i)


@kernel
def of_several(x: ptr[f32], greatest: ptr[f32], place: ptr[i32], powers: ptr[i32]):
    v, i = tl.reduce((tl.load(x + tl.arange(16)), tl.arange(16)), 0, first_of_greatest, (float("-inf"), 16))
    tl.store(greatest, v)
    tl.store(place, i)
    # 3 y + element, from the back.
    three = tl.full((16,), 3, i32)
    made = tl.scan(
        [three, tl.arange(16)], 0, lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1, 0), reverse=True
    )
    tl.store(powers + tl.arange(16), made[1])


def test_reductions_and_scans_of_several_tiles() -> None:
    """An element is a tuple. The order counts in scans."""
    x = np.random.default_rng().integers(-3, 4, 16).astype(np.float32)
    greatest, place, powers = np.zeros(1, np.float32), np.zeros(1, np.int32), np.zeros(16, np.int32)
    of_several[1](x, greatest, place, powers)
    assert (greatest[0], place[0]) == (x.max(), x.argmax())
    expected, y = [], 0
    for element in reversed(range(16)):
        y = 3 * y + element
        expected.append(y)
    assert powers.tolist() == expected[::-1]


@kernel
def compares(n: i32):
    print("%d < 8", n)
    print("a <", n)
    assert n < 8


def test_text_with_an_angle_bracket_is_text(capfd: Any) -> None:
    """No attribute as MLIR text, which has one too. An assertion without a message says its condition."""
    result = compares[1](7)
    text = capfd.readouterr().out + str(getattr(result, "output", ""))
    assert "7 < 8" in text and "a < 7" in text
    with pytest.raises(tt.FindingsError, match="n < 8 is false"):
        compares[1](8)


def test_a_package_may_replace_the_print_of_python(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    old = builtins.print

    def safe_print(*args: Any, **keywords: Any) -> None:
        old(*args, **keywords)

    @kernel
    def says(n: i32):
        print("n is %d", n)

    monkeypatch.setattr(builtins, "print", safe_print)
    result = says[1](7)
    assert "n is 7" in capfd.readouterr().out + str(getattr(result, "output", ""))


def test_imported_functions_of_python_are_those_of_kernels() -> None:
    from tessera_tools.dsl import abs, load, max, range, store, sum

    @kernel
    def aggregate(x: ptr[f32], n: i32):
        total = load(x)
        for _ in range(n):
            total = max(total, sum(load(x + tl.arange(4)))) + abs(total) * max(1, 2)
        store(x, total)

    numbers = np.array([1, 2, -3, 5], np.float32)
    aggregate[1](numbers, 2)
    assert numbers[0] == 7 + 14


def test_a_number_after_a_tile_is_an_axis_of_the_reduction_only() -> None:
    """`max(x, 1)` is elementwise as Python's, imported or not; `tl.max(x, 1)` goes along axis 1, as `tl.sum(x, 1)`."""
    from tessera_tools.dsl import max

    @kernel
    def both(x: array[f32, 2], out: ptr[f32]):
        v = tl.load(tl.make_partition_view(x, tile=(4, 8)), (0, 0))
        tl.store(out + tl.arange(4), tl.max(v, 1))
        tl.store(out + 4 + tl.arange(32), max(v, 1).reshape(32))
        tl.store(out + 36 + tl.arange(32), min(v, 1).reshape(32))

    x = np.arange(32, dtype=np.float32).reshape(4, 8) - 15
    out = np.zeros(68, np.float32)
    both[1](x, out)
    np.testing.assert_array_equal(out[:4], x.max(1))
    np.testing.assert_array_equal(out[4:36], np.maximum(x, 1).ravel())
    np.testing.assert_array_equal(out[36:], np.minimum(x, 1).ravel())


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("f16", "f16"),
        ("tile<4xi32>", "!cuda_tile.tile<4xi32>"),
        ("!cuda_tile.tile<ptr<f32>>", "tile<ptr<f32>>"),
        ("!cuda_tile.token", "token"),
    ],
)
def test_a_type_may_be_given_as_text_of_any_dialect(text: str, same: str) -> None:
    assert type_of(text) is type_of(same)
    assert str(type_of(text)).endswith(same.rpartition(".")[2])


@kernel
def views(x: array[f32, 2]):
    tl.make_partition_view(x, tile=(4, 8), dim_map=(0, 1))
    tl.make_partition_view(x, tile=(4, 8))
    tl.make_partition_view(x, tile=(4, 8), dim_map=(1, 0))


def test_dimensions_in_their_order_are_no_map() -> None:
    module = views.__tessera_module__((np.zeros((8, 8), np.float32),))[0]
    in_order, default, turned = (
        op.result.type for op in module.walk() if isinstance(op, ct.MakePartitionView)
    )
    assert in_order is default
    assert in_order.dim_map == ()
    assert turned.dim_map == (1, 0)
