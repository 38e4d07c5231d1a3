"""Integer arithmetic against Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sim.elements import evaluate, evaluate_all, refused

TYPES = ("u16", "s16", "u32", "s32", "u64", "s64")


def dtype(name: str) -> Any:
    return np.dtype(("i" if name[0] == "s" else "u") + str(int(name[1:]) // 8))


def out(name: str) -> str:
    return dtype(name).str[1:]


def wrap(value: int, name: str) -> int:
    """A value modulo 2^n, in the type's range."""
    bits = int(name[1:])
    value %= 1 << bits
    return value - (1 << bits) if name[0] == "s" and value >> bits - 1 else value


def samples(name: str, count: int, arity: int) -> list[Any]:
    """Edge values against each other, then random ones of every size."""
    info = np.iinfo(dtype(name))
    edges = np.array(
        [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, info.max // 2, info.max // 3],
        dtype(name),
    )
    generator = np.random.default_rng(3)
    result = []
    for number in range(arity):
        part = (
            np.repeat(edges, len(edges))
            if number == 0
            else np.tile(edges, len(edges))
            if number == 1
            else (generator.choice(edges, len(edges) ** 2))
        )
        whole = generator.integers(info.min, info.max, count, dtype(name), endpoint=True)
        result.append(
            np.concatenate([part, whole >> generator.integers(0, info.bits, count).astype(dtype(name))])
        )
    return result


def check(body: str, result: str, function: Callable[..., int], *arrays: Any) -> None:
    found = evaluate(body, out(result), *arrays).tolist()
    rows = list(zip(*[array.tolist() for array in arrays], strict=True))
    wanted = [wrap(function(*row), result) for row in rows]
    wrong = [(row, f, w) for row, f, w in zip(rows, found, wanted, strict=True) if f != w]
    assert not wrong, wrong[:5]


def quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) if y else -1


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize(
    "op,function",
    [("add", lambda x, y: x + y), ("sub", lambda x, y: x - y), ("mul.lo", lambda x, y: x * y), ("min", min),
     ("max", max), ("div", quotient), ("rem", lambda x, y: x - quotient(x, y) * y if y else x)],
)  # fmt: skip
def test_two_operands(op: str, function: Any, name: str) -> None:
    check(f"{op}.{name} %d0, %a, %b;", name, function, *samples(name, 200, 2))


@pytest.mark.parametrize("name", TYPES)
def test_the_high_half_of_a_product(name: str) -> None:
    bits = int(name[1:])
    x, y, z = samples(name, 200, 3)
    check(f"mul.hi.{name} %d0, %a, %b;", name, lambda p, q: p * q >> bits, x, y)
    check(f"mad.hi.{name} %d0, %a, %b, %c;", name, lambda p, q, r: (p * q >> bits) + r, x, y, z)
    check(f"mad.lo.{name} %d0, %a, %b, %c;", name, lambda p, q, r: p * q + r, x, y, z)


@pytest.mark.parametrize("name", TYPES[:4])
def test_the_whole_product(name: str) -> None:
    wide = f"{name[0]}{2 * int(name[1:])}"
    x, y = samples(name, 200, 2)
    check(f"mul.wide.{name} %d0, %a, %b;", wide, lambda p, q: p * q, x, y)
    (z,) = samples(wide, len(x) - 121, 1)
    check(f"mad.wide.{name} %d0, %a, %b, %c;", wide, lambda p, q, r: p * q + r, x, y, z[: len(x)])


@pytest.mark.parametrize("name", TYPES)
def test_sad_adds_the_distance(name: str) -> None:
    check(f"sad.{name} %d0, %a, %b, %c;", name, lambda x, y, z: z + abs(x - y), *samples(name, 200, 3))


@pytest.mark.parametrize("name", ["s16", "s32", "s64"])
def test_neg_and_abs(name: str) -> None:
    (x,) = samples(name, 200, 1)
    check(f"neg.{name} %d0, %a;", name, lambda p: -p, x)
    check(f"abs.{name} %d0, %a;", name, abs, x)


def test_saturating_forms() -> None:
    x, y, z = samples("s32", 200, 3)
    low, top = -(1 << 31), (1 << 31) - 1
    check("add.sat.s32 %d0, %a, %b;", "s32", lambda p, q: min(max(p + q, low), top), x, y)
    check("sub.sat.s32 %d0, %a, %b;", "s32", lambda p, q: min(max(p - q, low), top), x, y)
    check(
        "mad.hi.sat.s32 %d0, %a, %b, %c;",
        "s32",
        lambda p, q, r: min(max((p * q >> 32) + r, low), top),
        x,
        y,
        z,
    )
    check("min.relu.s32 %d0, %a, %b;", "s32", lambda p, q: max(min(p, q), 0), x, y)


@pytest.mark.parametrize("name", ["u32", "s32"])
def test_24_bit_products(name: str) -> None:
    def low(value: int) -> int:
        value &= 0xFFFFFF
        return value - (1 << 24) if name == "s32" and value >> 23 else value

    x, y, z = samples(name, 200, 3)
    check(f"mul24.lo.{name} %d0, %a, %b;", name, lambda p, q: low(p) * low(q), x, y)
    check(f"mul24.hi.{name} %d0, %a, %b;", name, lambda p, q: low(p) * low(q) >> 16, x, y)
    check(f"mad24.lo.{name} %d0, %a, %b, %c;", name, lambda p, q, r: low(p) * low(q) + r, x, y, z)


@pytest.mark.parametrize("first", ["u32", "s32"])
@pytest.mark.parametrize("second", ["u32", "s32"])
def test_dot_products_of_bytes_and_halves(first: str, second: str) -> None:
    def part(value: int, index: int, width: int, name: str) -> int:
        return wrap(value >> index * width, ("s" if name == "s32" else "u") + str(width))

    x, y, z = samples("u32", 200, 3)
    check(f"dp4a.{first}.{second} %d0, %a, %b, %c;", "u32",
          lambda p, q, r: r + sum(part(p, n, 8, first) * part(q, n, 8, second) for n in range(4)), x, y, z)  # fmt: skip
    for half, start in (("lo", 0), ("hi", 2)):
        check(f"dp2a.{half}.{first}.{second} %d0, %a, %b, %c;", "u32",
              lambda p, q, r, s=start: r + sum(part(p, n, 16, first) * part(q, s + n, 8, second) for n in range(2)),
              x, y, z)  # fmt: skip


@pytest.mark.parametrize("name", ["u32", "u64"])
def test_carries_make_sums_of_two_words(name: str) -> None:
    bits = int(name[1:])
    low, high, other, top = samples(name, 200, 2) + samples(name, 200, 2)[::-1]
    both = [h << bits | v for h, v in zip(high.tolist(), low.tolist(), strict=True)]
    more = [h << bits | v for h, v in zip(top.tolist(), other.tolist(), strict=True)]
    for op, sign in (("add", 1), ("sub", -1)):
        body = f"{op}.cc.{name} %d0, %a, %c; {op}c.{name} %d1, %b, %d;"
        first, second = evaluate_all(body, [out(name)] * 2, low, high, other, top)
        found = [h << bits | v for h, v in zip(second.tolist(), first.tolist(), strict=True)]
        assert found == [(p + sign * q) % (1 << 2 * bits) for p, q in zip(both, more, strict=True)]


def test_mad_carries_make_a_product_of_two_words() -> None:
    x, y = samples("u32", 300, 2)
    z, w = x[::-1].copy(), y[::-1].copy()
    body = "mad.lo.cc.u32 %d0, %a, %b, %c; madc.hi.u32 %d1, %a, %b, %d;"
    low, high = evaluate_all(body, ["u4", "u4"], x, y, z, w)
    for a, b, c, d, found_low, found_high in zip(*(v.tolist() for v in (x, y, z, w, low, high)), strict=True):
        assert found_high << 32 | found_low == (a * b + (d << 32) + c) % (1 << 64)


@pytest.mark.parametrize("name", ["u32", "u64"])
def test_bit_counts(name: str) -> None:
    bits = int(name[1:])
    (x,) = samples(name, 300, 1)
    check(f"popc.b{bits} %d0, %a;", "u32", lambda p: p.bit_count(), x)
    check(f"clz.b{bits} %d0, %a;", "u32", lambda p: bits - p.bit_length(), x)
    check(f"bfind.u{bits} %d0, %a;", "u32", lambda p: p.bit_length() - 1, x)
    check(f"bfind.shiftamt.u{bits} %d0, %a;", "u32", lambda p: bits - p.bit_length() if p else -1, x)
    check(f"brev.b{bits} %d0, %a;", name, lambda p: int(f"{p:0{bits}b}"[::-1], 2), x)
    (s,) = samples(f"s{bits}", 300, 1)
    check(f"bfind.s{bits} %d0, %a;", "u32", lambda p: (~p if p < 0 else p).bit_length() - 1, s)


@pytest.mark.parametrize("name", ["u32", "s32", "u64", "s64"])
def test_bit_fields(name: str) -> None:
    bits = int(name[1:])
    x, y = samples(name, 300, 2)
    generator = np.random.default_rng(1)
    place = generator.integers(0, 70, len(x)).astype(np.uint32)
    length = generator.integers(0, 70, len(x)).astype(np.uint32)

    def extract(value: int, at: int, count: int) -> int:
        if count == 0:
            return 0
        if value < 0:
            return (value >> at) if count >= bits else wrap((value >> at) % (1 << count), f"s{count}")
        field = value >> at & (1 << min(count, bits)) - 1
        return wrap(field, f"s{count}") if name[0] == "s" and at + count <= bits else field

    check(f"bfe.{name} %d0, %a, %b, %c;", name, extract, x, place, length)
    if name[0] == "u":

        def insert(a: int, b: int, at: int, count: int) -> int:
            field = ((1 << min(count, bits)) - 1) << at & (1 << bits) - 1
            return (b & ~field) | (a << at & field)

        check(f"bfi.b{bits} %d0, %a, %b, %c, %d;", name, insert, x, y, place, length)


def test_bmsk_and_szext() -> None:
    generator = np.random.default_rng(4)
    x = generator.integers(0, 1 << 32, 300, np.uint32)
    a, b = (generator.integers(0, 40, 300).astype(np.uint32) for _ in range(2))
    check("bmsk.clamp.b32 %d0, %a, %b;", "u32", lambda p, q: ((1 << min(q, 32)) - 1) << min(p, 32), a, b)
    check("bmsk.wrap.b32 %d0, %a, %b;", "u32", lambda p, q: ((1 << q % 32) - 1) << p % 32, a, b)
    check("szext.clamp.u32 %d0, %a, %b;", "u32", lambda p, q: p % (1 << min(q, 32)), x, a)
    check("szext.wrap.s32 %d0, %a, %b;", "s32", lambda p, q: wrap(p, f"s{q % 32}") if q % 32 else 0, x, a)


def test_fns_finds_the_nth_set_bit() -> None:
    mask = np.array([0b101100, 0b101100, 0b101100, 0b101100, 0], np.uint32)
    base = np.array([0, 5, 3, 4, 0], np.uint32)
    offset = np.array([2, -2, 0, 0, 1], np.int32)
    found = evaluate("fns.b32 %d0, %a, %b, %c;", "u4", mask, base, offset)
    assert found.tolist() == [3, 3, 3, 0xFFFFFFFF, 0xFFFFFFFF]


@pytest.mark.parametrize("name", ["u16x2", "s16x2"])
def test_packed_halves(name: str) -> None:
    half = np.int16 if name[0] == "s" else np.uint16
    x, y = samples("u32", 300, 2)
    for op, function in (("add", np.add), ("min", np.minimum), ("max", np.maximum)):
        found = evaluate(f"{op}.{name} %d0, %a, %b;", "u4", x, y)
        assert (found.view(half) == function(x.view(half), y.view(half))).all()


@pytest.mark.parametrize(
    "body",
    ["add.sat.u32 %r0, %r1, %r2;", "mul.u32 %r0, %r1, %r2;", "mul.wide.u64 %rd0, %rd1, %rd2;", "neg.u32 %r0, %r1;",
     "popc.u32 %r0, %r1;", "addc.f32 %r0, %r1, %r2;", "min.relu.u32 %r0, %r1, %r2;", "bmsk.b32 %r0, %r1, %r2;",
     "add.u32 %r0, %r1;", "add.s8 %h0, %h1, %h2;"],
)  # fmt: skip
def test_a_form_that_ptx_does_not_have_is_refused_at_load(body: str) -> None:
    assert body.split(maxsplit=1)[0] in refused(body)
