"""Floating-point arithmetic against exact fractions, rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sim.elements import evaluate, refused
from sim.ieee import BF16, F16, F32, F64, FORMATS, fused, products, quiet, sums, tuples

Array = Any
MODES = ("rn", "rz", "rm", "rp")


def expect(form: Any, function: Any, mode: str, *arrays: Array) -> Array:
    rows = zip(*[map(int, array) for array in arrays], strict=True)
    return np.array([function(form, mode, *row) for row in rows], form.dtype)


def same(form: Any, found: Array, wanted: Array, *inputs: Array) -> None:
    if form is F64:
        found, wanted = quiet(form, found), quiet(form, wanted)
    wrong = np.flatnonzero(found != wanted)
    shown = [tuple(hex(int(a[n])) for a in (*inputs, found, wanted)) for n in wrong[:5]]
    assert not len(wrong), f"{len(wrong)} of {len(found)}: (inputs, found, wanted) = {shown}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("op,function", [("add", sums), ("mul", products)])
@pytest.mark.parametrize("form", [F32, F64], ids=lambda f: f.name)
def test_add_and_mul_round_once_in_every_direction(form: Any, op: str, function: Any, mode: str) -> None:
    x, y = tuples(form, 2)
    found = evaluate(f"{op}.{mode}.{form.name} %d0, %a, %b;", form.dtype, x, y)
    same(form, found, expect(form, function, mode, x, y), x, y)


@pytest.mark.parametrize("op,function", [("add", sums), ("mul", products)])
@pytest.mark.parametrize("form", [F16, BF16], ids=lambda f: f.name)
def test_half_precision_arithmetic_rounds_once(form: Any, op: str, function: Any) -> None:
    x, y = tuples(form, 2)
    found = evaluate(f"{op}.rn.{form.name} %d0, %a, %b;", form.dtype, x, y)
    same(form, found, expect(form, function, "rn", x, y), x, y)


@pytest.mark.parametrize("form", FORMATS.values(), ids=lambda f: f.name)
def test_sub_is_the_sum_with_the_other_sign(form: Any) -> None:
    x, y = tuples(form, 2)
    found = evaluate(f"sub.rn.{form.name} %d0, %a, %b;", form.dtype, x, y)
    sign = np.array(1 << form.bits - 1, form.dtype)
    same(form, found, expect(form, sums, "rn", x, y ^ sign), x, y)


@pytest.mark.parametrize(
    "form,mode", [(F32, m) for m in MODES] + [(F64, m) for m in MODES] + [(F16, "rn"), (BF16, "rn")],
    ids=lambda p: getattr(p, "name", p),
)  # fmt: skip
def test_fma_rounds_once(form: Any, mode: str) -> None:
    x, y, z = tuples(form, 3, 1500)
    found = evaluate(f"fma.{mode}.{form.name} %d0, %a, %b, %c;", form.dtype, x, y, z)
    same(form, found, expect(form, fused, mode, x, y, z), x, y, z)


def test_fma_where_two_roundings_would_differ() -> None:
    # 1 + 2^-12 squared is 1 + 2^-11 + 2^-24: a tie for f32, which the addend of 2^-60 decides.
    x = np.array([0x3F800800] * 3, np.uint32)
    z = np.array([0x21800000, 0xA1800000, 0], np.uint32)
    found = evaluate("fma.rn.f32 %d0, %a, %a, %b;", "u4", x, z)
    assert [hex(v) for v in found] == ["0x3f801001", "0x3f801000", "0x3f801000"]


def test_fma_where_two_roundings_of_subnormal_results_would_differ() -> None:
    # 2^-150 (1 - 2^-46) more than an odd multiple of 2^-149: less than a tie, which float64 cannot tell.
    x, y = np.array([(1 + 2.0**-23) * 2.0**-75] * 32), np.array([(1 - 2.0**-23) * 2.0**-75] * 32)
    z = np.array([0x00400001] * 32, np.uint32)
    a, b = (v.astype(np.float32).view(np.uint32) for v in (x, y))
    assert (evaluate("fma.rn.f32 %d0, %a, %b, %c;", "u4", a, b, z) == z).all()


def test_fma_f64_where_the_product_is_needed_whole() -> None:
    x = np.array([1 + 2.0**-52, 1e300, 5e-324, 2.0**-600, 1e308], np.float64)
    y = np.array([1 - 2.0**-52, 1e300, 0.5, 2.0**-600, 10.0], np.float64)
    z = np.array([-1.0, -np.inf, 5e-324, -5e-324, -1e308], np.float64)
    found = evaluate("fma.rn.f64 %d0, %a, %b, %c;", "u8", *(a.view(np.uint64) for a in (x, y, z)))
    wanted = expect(F64, fused, "rn", *(a.view(np.uint64) for a in (x, y, z)))
    assert (found == wanted).all()
    assert found.view(np.float64)[0] == -(2.0**-104)


def test_sat_clamps_to_zero_and_one_and_turns_nan_to_zero() -> None:
    x = np.array([-1, 0.25, 0.75, np.nan, np.inf, -np.inf, -0.0], np.float32)
    found = evaluate("add.sat.f32 %d0, %a, %a;", "f4", x)
    assert found.tolist() == [0, 0.5, 1, 0, 1, 0, 0]
    assert not np.signbit(found).any()


def test_ftz_flushes_subnormal_operands_and_results_with_their_sign() -> None:
    tiny = np.float32(1e-40)
    x = np.array([tiny, -tiny, 2**-126, -(2**-126)], np.float32)
    found = evaluate("mul.ftz.f32 %d0, %a, %b;", "u4", x, np.array([2**20, 2**20, 0.5, 0.5], np.float32))
    assert [hex(v) for v in found] == ["0x0", "0x80000000", "0x0", "0x80000000"]


def test_an_f32_nan_is_canonical() -> None:
    x = np.array([0x7F800001, 0xFFC12345, 0x7F800000, 0x00000000], np.uint32)
    y = np.array([0x3F800000, 0x3F800000, 0xFF800000, 0x3F800000], np.uint32)
    assert [hex(v) for v in evaluate("add.f32 %d0, %a, %b;", "u4", x, y)] == ["0x7fffffff"] * 3 + [
        "0x3f800000"
    ]


@pytest.mark.parametrize(
    "instruction", ["add.f16 %d0, %a, %b;", "mul.f16 %d0, %b, %a;", "fma.rn.f16 %d0, %a, %b, %b;"]
)
def test_an_f16_nan_is_canonical(instruction: str) -> None:
    """Whatever the payload and the sign of a NaN operand, quiet or signaling."""
    x = np.array([0x7E01, 0xFE55, 0x7C01, 0xFFFF], np.uint16)
    y = np.full(4, 0x3C00, np.uint16)
    assert [hex(v) for v in evaluate(instruction, "u2", x, y)] == ["0x7fff"] * 4


def test_the_lanes_that_do_not_run_keep_their_nan() -> None:
    x = np.full(32, 0xFFC12345, np.uint32)
    found = evaluate("mov.b32 %d0, %a; and.b32 %t3, %t0, 1; setp.eq.u32 %p0, %t3, 0; @%p0 add.f32 %d0, %a, %a;",
                     "u4", x)  # fmt: skip
    assert [hex(v) for v in found[:2]] == ["0x7fffffff", "0xffc12345"]


@pytest.mark.parametrize("name", ["f16x2", "bf16x2", "f32x2"])
def test_packed_arithmetic_works_on_each_element(name: str) -> None:
    form = FORMATS[name[:-2]]
    wide = {2: "u4", 4: "u8"}[np.dtype(form.dtype).itemsize]
    parts = [array[:256] for array in tuples(form, 3)]
    packed = [np.ascontiguousarray(part).view(wide) for part in parts]
    found = evaluate(f"fma.rn.{name} %d0, %a, %b, %c;", wide, *packed).view(form.dtype)
    same(form, found, expect(form, fused, "rn", *parts), *parts)


def test_relu_clamps_negative_results() -> None:
    """Also those just below zero; a negative zero becomes a positive one."""
    x = np.array([1, -1, 0.5, -0.0, np.nan], np.float16)
    y = np.array([1, 1, 0.5, 1, 1], np.float16)
    z = np.array([1, -4, -0.5, -0.0, 0], np.float16)
    found = evaluate("fma.rn.relu.f16 %d0, %a, %b, %c;", "u2", x, y, z)
    assert [hex(v) for v in found] == ["0x4000", "0x0", "0x0", "0x0", "0x7fff"]


@pytest.mark.parametrize("form", FORMATS.values(), ids=lambda f: f.name)
@pytest.mark.parametrize("op", ["min", "max"])
def test_min_and_max_order_zeros_and_drop_nan(form: Any, op: str) -> None:
    x, y = tuples(form, 2)

    def pick(form: Any, mode: str, p: int, q: int) -> int:
        a, b = form.value(p), form.value(q)
        if a != a or b != b:
            return form.nan if a != a and b != b else (p if b != b else q)
        if a == b:
            first_negative = p >> form.bits - 1
            return (p if first_negative else q) if op == "min" else (q if first_negative else p)
        return (p if a < b else q) if op == "min" else (p if a > b else q)

    found = evaluate(f"{op}.{form.name} %d0, %a, %b;", form.dtype, x, y)
    same(form, found, expect(form, pick, "", x, y), x, y)


def test_min_nan_and_xorsign_abs() -> None:
    x = np.array([0x3F800000, 0xC0000000, 0x7FC00000, 0xBF800000], np.uint32)
    y = np.array([0xC0400000, 0xBF800000, 0x3F800000, 0x3F000000], np.uint32)
    assert [hex(v) for v in evaluate("min.NaN.f32 %d0, %a, %b;", "u4", x, y)] == [
        "0xc0400000", "0xc0000000", "0x7fffffff", "0xbf800000"]  # fmt: skip
    assert [hex(v) for v in evaluate("max.xorsign.abs.f32 %d0, %a, %b;", "u4", x, y)] == [
        "0xc0400000", "0x40000000", "0x3f800000", "0xbf800000"]  # fmt: skip


def test_neg_abs_copysign_and_testp() -> None:
    x = np.array([1.5, -2.0, -0.0, np.inf], np.float32)
    assert evaluate("neg.f32 %d0, %a;", "u4", x).tolist() == (-x).view(np.uint32).tolist()
    assert evaluate("abs.f32 %d0, %a;", "f4", x).tolist() == [1.5, 2, 0, np.inf]
    assert evaluate("copysign.f32 %d0, %a, %b;", "f4", x, np.full(4, 3, np.float32)).tolist() == [
        3,
        -3,
        -3,
        3,
    ]
    found = evaluate("testp.finite.f32 %p0, %a; selp.u32 %d0, 1, 0, %p0;", "u4", x)
    assert found.tolist() == [1, 1, 1, 0]


def test_mixed_precision_adds_a_half_to_a_float() -> None:
    half, single = np.array([1.5, 2.0], np.float16), np.array([0.25, 1e9], np.float32)
    assert evaluate("add.rn.f32.f16 %d0, %a, %b;", "f4", half, single).tolist() == [1.75, np.float32(1e9)]


@pytest.mark.parametrize(
    "body",
    [
        "add.rz.f16 %h0, %h1, %h2;",
        "add.ftz.f64 %fd0, %fd1, %fd2;",
        "fma.f32 %f0, %f1, %f2, %f3;",
        "fma.rn.sat.relu.f16 %h0, %h1, %h2, %h3;",
        "min.xorsign.f32 %f0, %f1, %f2;",
        "add.bogus.f32 %f0, %f1, %f2;",
        "add.f32 %fd0, %f1, %f2;",
        "max.NaN.f64 %fd0, %fd1, %fd2;",
    ],
)
def test_a_form_that_ptx_does_not_have_is_refused_at_load(body: str) -> None:
    assert body.split(maxsplit=1)[0] in refused(body)
