"""Logic, shifts and permutations against Python's integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sim.elements import evaluate, evaluate_all, refused

RANDOM = np.random.default_rng(6)
X, Y, Z = (RANDOM.integers(0, 1 << 32, 256, np.uint32) for _ in range(3))
AMOUNT = RANDOM.integers(0, 70, 256).astype(np.uint32)


def model(function: Any, *arrays: Any) -> list[int]:
    return [function(*row) % (1 << 32) for row in zip(*[a.tolist() for a in arrays], strict=True)]


@pytest.mark.parametrize(
    "table", [0x80, 0xFE, 0x96, 0xEA, 0xF8, 0xCA, 0x78, 0x6A, 0x00, 0xFF, 0x1B, 0xE8, 0x39]
)
def test_lop3_is_its_truth_table(table: int) -> None:
    def function(a: int, b: int, c: int) -> int:
        bits = ((table >> ((a >> n & 1) * 4 + (b >> n & 1) * 2 + (c >> n & 1)) & 1) << n for n in range(32))
        return sum(bits)

    assert evaluate(f"lop3.b32 %d0, %a, %b, %c, {table:#x};", "u4", X, Y, Z).tolist() == model(
        function, X, Y, Z
    )


def test_lop3_gives_a_predicate_too() -> None:
    body = "setp.ne.u32 %p1, %c, 0; lop3.or.b32 %d0|%p0, %a, %b, 0, 0xc0, %p1; selp.u32 %d1, 1, 0, %p0;"
    a, b, c = (np.array(v, np.uint32) for v in ([3, 4, 4], [1, 1, 3], [0, 0, 1]))
    row, chosen = evaluate_all(body, ["u4", "u4"], a, b, c)
    assert row.tolist() == [1, 0, 0]
    assert chosen.tolist() == [1, 0, 1]


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts_clamp_their_amount(bits: int) -> None:
    x = RANDOM.integers(0, (1 << bits) - 1, 256, f"u{bits // 8}", endpoint=True)
    out = f"u{bits // 8}"
    assert evaluate(f"shl.b{bits} %d0, %a, %b;", out, x, AMOUNT).tolist() == [
        (v << n) % (1 << bits) for v, n in zip(x.tolist(), AMOUNT.tolist(), strict=True)]  # fmt: skip
    assert evaluate(f"shr.u{bits} %d0, %a, %b;", out, x, AMOUNT).tolist() == [
        v >> n for v, n in zip(x.tolist(), AMOUNT.tolist(), strict=True)]  # fmt: skip
    signed = x.view(f"i{bits // 8}")
    assert evaluate(f"shr.s{bits} %d0, %a, %b;", f"i{bits // 8}", x, AMOUNT).tolist() == [
        v >> n for v, n in zip(signed.tolist(), AMOUNT.tolist(), strict=True)]  # fmt: skip


@pytest.mark.parametrize("mode", ["clamp", "wrap"])
def test_funnel_shifts(mode: str) -> None:
    def amount(n: int) -> int:
        return n % 32 if mode == "wrap" else min(n, 32)

    left = model(lambda a, b, n: (b << 32 | a) << amount(n) >> 32, X, Y, AMOUNT)
    assert evaluate(f"shf.l.{mode}.b32 %d0, %a, %b, %c;", "u4", X, Y, AMOUNT).tolist() == left
    right = model(lambda a, b, n: (b << 32 | a) >> amount(n), X, Y, AMOUNT)
    assert evaluate(f"shf.r.{mode}.b32 %d0, %a, %b, %c;", "u4", X, Y, AMOUNT).tolist() == right


def test_prmt_chooses_bytes_or_their_signs() -> None:
    def function(a: int, b: int, c: int) -> int:
        pool = (b << 32 | a).to_bytes(8, "little")
        chosen = []
        for n in range(4):
            nibble = c >> 4 * n & 15
            byte = pool[nibble & 7]
            chosen.append((0xFF if byte >> 7 else 0) if nibble & 8 else byte)
        return int.from_bytes(bytes(chosen), "little")

    assert evaluate("prmt.b32 %d0, %a, %b, %c;", "u4", X, Y, Z).tolist() == model(function, X, Y, Z)


@pytest.mark.parametrize(
    "mode,rows",
    [("f4e", ["3210", "4321", "5432", "6543"]), ("b4e", ["5670", "6701", "7012", "0123"]),
     ("rc8", ["0000", "1111", "2222", "3333"]), ("ecl", ["3210", "3211", "3222", "3333"]),
     ("ecr", ["0000", "1110", "2210", "3210"]), ("rc16", ["1010", "3232", "1010", "3232"])],
)  # fmt: skip
def test_prmt_modes(mode: str, rows: list[str]) -> None:
    a = np.full(4, 0x33221100, np.uint32)
    b = np.full(4, 0x77665544, np.uint32)
    found = evaluate(f"prmt.b32.{mode} %d0, %a, %b, %c;", "u4", a, b, np.arange(4, dtype=np.uint32))
    assert [f"{v:08x}"[::2] for v in found] == rows


def test_not_and_cnot() -> None:
    x = np.array([0, 1, 5], np.uint32)
    assert evaluate("not.b32 %d0, %a;", "u4", x).tolist() == [v ^ 0xFFFFFFFF for v in x.tolist()]
    assert evaluate("cnot.b32 %d0, %a;", "u4", x).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    "body",
    ["and.u32 %r0, %r1, %r2;", "lop3.b32 %r0, %r1, %r2, %r3, 256;", "shf.l.b32 %r0, %r1, %r2, %r3;",
     "prmt.b32.xyz %r0, %r1, %r2, %r3;", "shl.u32.foo %r0, %r1, %r2;"],
)  # fmt: skip
def test_a_form_that_ptx_does_not_have_is_refused_at_load(body: str) -> None:
    assert body.split(maxsplit=1)[0] in refused(body)
