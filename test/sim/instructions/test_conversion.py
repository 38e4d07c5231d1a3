"""cvt between every pair of types, against exact integers and fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sim.elements import evaluate, refused
from sim.ieee import BF16, F16, F32, F64, FORMATS, Binary, quiet, tuples

INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
TF32 = Binary("tf32", 8, 10, "u4", 0x3FFFF)


def dtype(name: str) -> Any:
    return np.dtype(("i" if name[0] == "s" else "u") + str(int(name[1:]) // 8))


def integers(name: str, count: int = 300) -> Any:
    info = np.iinfo(dtype(name))
    generator = np.random.default_rng(5)
    whole = generator.integers(info.min, info.max, count, dtype(name), endpoint=True)
    bits = generator.integers(0, info.bits, count)
    edges = [0, 1, 2, info.max, info.max - 1, info.min, info.min + 1, *(1 << n for n in range(info.bits - 1))]
    edges += [(1 << n) + (1 << max(n - 24, 0)) for n in range(info.bits - 1)]
    edges += [(1 << n) - 1 for n in range(info.bits - 1)]
    return np.concatenate(
        [np.array([e for e in edges if e <= info.max], dtype(name)), whole, whole >> bits.astype(dtype(name))]
    )


def has_all_of(to: str, source: str) -> bool:
    """Whether an integer type has every number of another one."""
    return np.can_cast(dtype(source), dtype(to))


PAIRS = list(itertools.product(INTEGERS, INTEGERS))
CONVERTED = [pair for pair in itertools.product(FORMATS, INTEGERS) if pair[0] != "bf16" or pair[1][1:] != "8"]


@pytest.mark.parametrize(
    ("to", "source", "sat"),
    [(*pair, "") for pair in PAIRS] + [(*pair, ".sat") for pair in PAIRS if not has_all_of(*pair)],
)
def test_integer_to_integer(to: str, source: str, sat: str) -> None:
    x = integers(source, 64)
    info = np.iinfo(dtype(to))
    found = evaluate(f"cvt{sat}.{to}.{source} %d0, %a;", dtype(to).str[1:], x)
    for value, result in zip(x.tolist(), found.tolist(), strict=True):
        wanted = min(max(value, info.min), info.max) if sat else value % (1 << info.bits)
        if not sat and info.min < 0 and wanted > info.max:
            wanted -= 1 << info.bits
        assert result == wanted


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(("to", "source"), CONVERTED)
def test_integer_to_float_rounds_once(to: str, source: str, mode: str) -> None:
    form = FORMATS[to]
    x = integers(source, 40)
    found = evaluate(f"cvt.{mode}.{to}.{source} %d0, %a;", form.dtype, x)
    assert found.tolist() == [form.pattern(Fraction(int(v)), mode) for v in x]


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@pytest.mark.parametrize(("source", "to"), CONVERTED)
def test_float_to_integer_rounds_and_clamps(source: str, to: str, mode: str) -> None:
    form = FORMATS[source]
    (x,) = tuples(form, 1, 60)
    halves = np.array([form.pattern(Fraction(n, 2)) for n in range(-9, 10)], form.dtype)
    x = np.concatenate([x, halves])
    found = evaluate(f"cvt.{mode}.{to}.{source} %d0, %a;", dtype(to).str[1:], x)
    info = np.iinfo(dtype(to))
    whole = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode]
    for pattern, result in zip(x.tolist(), found.tolist(), strict=True):
        value = form.value(pattern)
        if math.isnan(value):
            is_wide = source == "f64" or info.bits == 64
            wanted = (info.min or 1 << info.bits - 1) if is_wide else 0
        elif math.isinf(value):
            wanted = info.max if value > 0 else info.min
        else:
            wanted = min(max(whole(Fraction(value)), info.min), info.max)
        assert result == wanted, (hex(pattern), value)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("source,to", [(F64, F32), (F64, F16), (F64, BF16), (F32, F16), (F32, BF16)])
def test_float_to_narrower_float_rounds_once(source: Any, to: Any, mode: str) -> None:
    (x,) = tuples(source, 1, 100)
    ties = [source.value(int(p)) for p in tuples(to, 1, 60)[0]]
    near = np.array(
        [source.pattern(v * (1 + 2.0 ** -(to.mantissa + 1))) for v in ties if math.isfinite(v)], source.dtype
    )
    x = np.concatenate([x, near])
    found = evaluate(f"cvt.{mode}.{to.name}.{source.name} %d0, %a;", to.dtype, x)
    wanted = [to.pattern(source.value(int(p)), mode) if not math.isfinite(source.value(int(p)))
              else to.pattern(Fraction(source.value(int(p))), mode, math.copysign(1, source.value(int(p))))
              for p in x]  # fmt: skip
    assert found.tolist() == wanted


@pytest.mark.parametrize("source,to", [(F16, F32), (F16, F64), (BF16, F32), (BF16, F64), (F32, F64)])
def test_float_to_wider_float_is_exact(source: Any, to: Any) -> None:
    (x,) = tuples(source, 1, 100)
    found = evaluate(f"cvt.{to.name}.{source.name} %d0, %a;", to.dtype, x)
    wanted = np.array([to.pattern(source.value(int(p))) for p in x], to.dtype)
    assert (quiet(to, found) == wanted).all()


@pytest.mark.parametrize("mode", ["rn", "rna", "rz"])
def test_tf32_keeps_ten_bits_of_mantissa(mode: str) -> None:
    (x,) = tuples(F32, 1, 200)
    found = evaluate(f"cvt.{mode}.tf32.f32 %d0, %a;", "u4", x)

    def wanted(pattern: int) -> int:
        value = F32.value(pattern)
        exact = Fraction(value) if math.isfinite(value) else value
        return TF32.pattern(exact, mode, math.copysign(1, value)) << 13

    assert found.tolist() == [wanted(int(p)) for p in x]


def test_integral_values_in_the_same_format() -> None:
    x = np.array([0.5, 1.5, -0.5, 2.7, -2.7, np.inf], np.float32)
    for mode, function in (("rni", np.rint), ("rzi", np.trunc), ("rmi", np.floor), ("rpi", np.ceil)):
        found = evaluate(f"cvt.{mode}.f32.f32 %d0, %a;", "u4", x)
        assert found.tolist() == function(x).view(np.uint32).tolist()


@pytest.mark.parametrize("name", ["f16x2", "bf16x2"])
def test_two_floats_are_packed_the_first_on_top(name: str) -> None:
    form = FORMATS[name[:-2]]
    x, y = tuples(F32, 2)
    found = evaluate(f"cvt.rn.{name}.f32 %d0, %a, %b;", "u4", x[-600:], y[-600:])

    def one(pattern: int) -> int:
        value = F32.value(pattern)
        return form.pattern(Fraction(value) if math.isfinite(value) else value, "rn", math.copysign(1, value))

    wanted = [one(int(p)) << 16 | one(int(q)) for p, q in zip(x[-600:], y[-600:], strict=True)]
    assert found.tolist() == wanted


SMALL = {
    "e4m3": (8, 4, 3, 7, 448.0), "e5m2": (8, 5, 2, 15, 57344.0), "e2m3": (6, 2, 3, 1, 7.5),
    "e3m2": (6, 3, 2, 3, 28.0), "e2m1": (4, 2, 1, 1, 6.0),
}  # fmt: skip


def small_values(name: str) -> dict[int, float]:
    """Finite patterns of a small format and their values, written out from its definition."""
    bits, _, mantissa, bias, largest = SMALL[name]
    found = {}
    for pattern in range(1 << bits):
        sign = -1.0 if pattern >> bits - 1 else 1.0
        field = pattern >> mantissa & (1 << bits - 1 - mantissa) - 1
        low = pattern & (1 << mantissa) - 1
        value = (low if field == 0 else low + (1 << mantissa)) * 2.0 ** (max(field, 1) - bias - mantissa)
        if value <= largest:
            found[pattern] = sign * value
    return found


@pytest.mark.parametrize("name", SMALL)
def test_small_formats_round_to_nearest_and_saturate(name: str) -> None:
    values = small_values(name)
    top = max(values.values())
    generator = np.random.default_rng(2)
    plain = sorted(set(values.values()))
    middles = [(a + b) / 2 for a, b in itertools.pairwise(plain)]
    inputs = np.array(
        [*plain, *middles, top * 4, -top * 4, np.inf, *generator.normal(0, top / 3, 300)], np.float32
    )
    out = "u1" if name == "e2m1" else "u2"
    shift, keep = {4: (4, 15), 6: (8, 255), 8: (8, 255)}[SMALL[name][0]]
    if name == "e2m1":
        body = "{.reg .b8 %e; cvt.rn.satfinite.e2m1x2.f32 %e, %a, %b; cvt.u16.u8 %d0, %e;}"
    else:
        body = f"cvt.rn.satfinite.{name}x2.f32 %d0, %a, %b;"
    found = evaluate(body, out, inputs, inputs[::-1].copy())
    for index, value in enumerate(inputs.tolist()):
        high = int(found[index]) >> shift & keep
        low = int(found[len(inputs) - 1 - index]) & keep
        assert high == low
        clipped = min(max(value, -top), top)
        best = min(abs(v - clipped) for v in values.values())
        candidates = [p for p, v in values.items() if abs(v - clipped) == best]
        if value:
            candidates = [
                p for p in candidates if (values[p] < 0 or math.copysign(1, values[p]) < 0) == (value < 0)
            ] or candidates
        if len({values[p] for p in candidates}) > 1:
            candidates = [p for p in candidates if p & 1 == 0]
        assert high in candidates, (value, high, candidates)


@pytest.mark.parametrize("name", [n for n in SMALL if n != "e2m1"])
def test_small_formats_widen_to_f16_exactly(name: str) -> None:
    values = small_values(name)
    patterns = np.array([p | (p << 8) for p in values], np.uint16)
    found = evaluate(f"cvt.rn.f16x2.{name}x2 %d0, %a;", "u4", patterns)
    assert found.view(np.float16)[::2].tolist() == list(values.values())
    assert found.view(np.float16)[1::2].tolist() == list(values.values())


def test_f4_widens_to_f16_exactly() -> None:
    values = small_values("e2m1")
    patterns = np.array([p | (p << 4) for p in values], np.uint16)
    found = evaluate("{.reg .b8 %e; cvt.u8.u16 %e, %a; cvt.rn.f16x2.e2m1x2 %d0, %e;}", "u4", patterns)
    assert found.view(np.float16)[::2].tolist() == list(values.values())
    assert found.view(np.float16)[1::2].tolist() == list(values.values())


@pytest.mark.parametrize("mode, up", [("rz", 0), ("rp", 1)])
def test_powers_of_two_are_rounded_towards_zero_or_up(mode: str, up: int) -> None:
    """ue8m0 is the exponent: of the magnitude, at least that of 2^-127, with .satfinite at most that of 2^127."""
    least, most = np.float32(2.0**-127), np.float32(2.0**127)
    x = np.array([1, 1.5, -3, 4, least, least * 1.5, 0, most, most * 1.5, np.inf, np.nan], np.float32)
    found = evaluate(f"cvt.{mode}.satfinite.ue8m0x2.f32 %d0, %a, %b;", "u2", x, x)
    assert (found >> 8).tolist() == (found & 255).tolist()
    assert (found & 255).tolist() == [127, 127 + up, 128 + up, 129, 0, up, 0, 254, 254, 254, 255]


def test_a_nan_becomes_the_fp8_nan() -> None:
    x = np.array([np.nan], np.float32)
    assert evaluate("cvt.rn.satfinite.e4m3x2.f32 %d0, %a, %a;", "u2", x)[0] == 0x7F7F
    assert evaluate("cvt.rn.satfinite.e5m2x2.f32 %d0, %a, %a;", "u2", x)[0] == 0x7F7F


def test_relu_and_sat() -> None:
    x = np.array([-2.0, 0.5, 2.0, np.nan], np.float32)
    assert evaluate("cvt.rn.relu.f16.f32 %d0, %a;", "f2", x).tolist()[:3] == [0, 0.5, 2]
    assert evaluate("cvt.rn.sat.f16.f32 %d0, %a;", "f2", x).tolist() == [0, 0.5, 1, 0]
    assert evaluate("cvt.sat.f32.f32 %d0, %a;", "f4", x).tolist() == [0, 0.5, 1, 0]


@pytest.mark.parametrize("modifier", ["relu", "sat"])
def test_relu_and_sat_clamp_what_is_just_below_zero_to_positive_zero(modifier: str) -> None:
    x = np.array([-0.5, -0.0, 0.5], np.float32)
    assert evaluate(f"cvt.rn.{modifier}.f16.f32 %d0, %a;", "u2", x).tolist() == [0, 0, 0x3800]


def test_relu_clamps_both_elements_of_a_pair() -> None:
    x, y = np.array([-0.5, 2], np.float32), np.array([1, -0.25], np.float32)
    found = evaluate("cvt.rn.relu.bf16x2.f32 %d0, %a, %b;", "u4", x, y)
    assert [hex(v) for v in found] == ["0x3f80", "0x40000000"]


def test_ftz_flushes_f32_on_either_side() -> None:
    x = np.array([1e-40, -1e-40], np.float32)
    assert evaluate("cvt.ftz.f64.f32 %d0, %a;", "u8", x).tolist() == [0, 1 << 63]
    wide = np.array([1e-40], np.float64)
    assert evaluate("cvt.rn.ftz.f32.f64 %d0, %a;", "u4", wide)[0] == 0


def test_pack_clamps_and_joins() -> None:
    x, y, z = (np.array(v, np.int32) for v in ([300, -300], [5, -7], [0x1234, 0x5678]))
    assert [hex(v) for v in evaluate("cvt.pack.sat.s8.s32.b32 %d0, %a, %b, %c;", "u4", x, y, z)] == [
        "0x12347f05", "0x567880f9"]  # fmt: skip
    assert hex(evaluate("cvt.pack.sat.u16.s32 %d0, %a, %b;", "u4", x, y)[0]) == "0x12c0005"


@pytest.mark.parametrize(
    "body",
    ["cvt.f32.s32 %f0, %r1;", "cvt.rn.f64.f32 %fd0, %f1;", "cvt.s32.f32 %r0, %f1;", "cvt.rn.s32.f32 %r0, %f1;",
     "cvt.f16.f32 %h0, %f1;", "cvt.rn.s32.s64 %r0, %rd1;", "cvt.rn.e4m3x2.f32 %h0, %f1, %f2;",
     "cvt.rni.f16x2.f32 %r0, %f1, %f2;", "cvt.rn.relu.f32.f64 %f0, %fd1;", "cvt.rna.f16.f32 %h0, %f1;"],
)  # fmt: skip
def test_a_form_that_ptx_does_not_have_is_refused_at_load(body: str) -> None:
    assert body.split(maxsplit=1)[0] in refused(body)


def test_a_float_in_a_wider_register_is_a_pattern_below_zeros() -> None:
    """PTX ISA, "Operand Size Exceeding Instruction-Type Size"."""
    x = np.array([1.5, -2.0, np.inf, 0.0], np.float32)
    whole = np.trunc(x)
    assert (
        evaluate("cvt.rn.f16.f32 %d0, %a;", "u4", x).tolist() == x.astype(np.float16).view(np.uint16).tolist()
    )
    assert evaluate("cvt.rzi.f32.f32 %d0, %a;", "u8", x).tolist() == whole.view(np.uint32).tolist()
