"""Division, roots and transcendental functions: exact roundings, and the documented bounds of .approx."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sim.elements import evaluate, refused
from sim.ieee import F32, F64, quiet, quotients, roots, tuples

MODES = ("rn", "rz", "rm", "rp")


def expect(form: Any, function: Any, mode: str, *arrays: Any) -> Any:
    return np.array([function(form, mode, *map(int, row)) for row in zip(*arrays, strict=True)], form.dtype)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", [F32, F64], ids=lambda f: f.name)
def test_division_rounds_once_in_every_direction(form: Any, mode: str) -> None:
    x, y = (array[-700:] for array in tuples(form, 2))
    found = evaluate(f"div.{mode}.{form.name} %d0, %a, %b;", form.dtype, x, y)
    assert (quiet(form, found) == quiet(form, expect(form, quotients, mode, x, y))).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", [F32, F64], ids=lambda f: f.name)
def test_reciprocals_and_roots_round_once(form: Any, mode: str) -> None:
    (x,) = tuples(form, 1, 300)
    one = np.full(len(x), {32: 0x3F800000, 64: 0x3FF0000000000000}[form.bits], form.dtype)
    found = evaluate(f"rcp.{mode}.{form.name} %d0, %a;", form.dtype, x)
    assert (quiet(form, found) == quiet(form, expect(form, quotients, mode, one, x))).all()
    found = evaluate(f"sqrt.{mode}.{form.name} %d0, %a;", form.dtype, x)
    assert (quiet(form, found) == quiet(form, expect(form, roots, mode, x))).all()


@pytest.mark.parametrize(
    "name,function,bound",
    [
        ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x), 2**-22.9),
        ("rcp.approx.f32", lambda x: 1 / x, 2**-23),
        ("sqrt.approx.f32", np.sqrt, 2**-23),
        ("ex2.approx.f32", np.exp2, 2**-22.5),
        ("tanh.approx.f32", np.tanh, 2**-11),
        ("lg2.approx.f32", np.log2, 2**-22.6),
    ],
)
def test_approximations_stay_within_their_documented_bound(name: str, function: Any, bound: float) -> None:
    x = np.linspace(0.01, 20, 512, dtype=np.float32)
    found = evaluate(f"{name} %d0, %a;", "f4", x).astype(np.float64)
    wanted = function(x.astype(np.float64))
    scale = np.where(name.startswith("lg2") & (np.abs(wanted) < 1), 1, np.abs(wanted))
    assert (np.abs(found - wanted) <= bound * scale).all()


def test_sine_and_cosine_stay_within_their_absolute_bound() -> None:
    x = np.linspace(-np.pi, np.pi, 512, dtype=np.float32)
    for name, function in (("sin", np.sin), ("cos", np.cos)):
        found = evaluate(f"{name}.approx.f32 %d0, %a;", "f4", x)
        assert np.abs(found - function(x.astype(np.float64))).max() <= 2**-20.5


def test_special_values_of_the_approximations() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0], np.float32)
    inf = np.inf
    assert evaluate("rsqrt.approx.f32 %d0, %a;", "f4", x).tolist()[:3] == [inf, -inf, 0.0]
    assert evaluate("lg2.approx.f32 %d0, %a;", "f4", x).tolist()[:3] == [-inf, -inf, inf]
    assert evaluate("ex2.approx.f32 %d0, %a;", "f4", x).tolist()[:4] == [1, 1, inf, 0]
    found = evaluate("sqrt.approx.f32 %d0, %a;", "u4", x)
    assert [hex(v) for v in found] == ["0x0", "0x80000000", "0x7f800000"] + ["0x7fffffff"] * 3


def test_division_by_a_huge_number_is_zero_in_approx_only() -> None:
    x, y = np.array([2.0**127], np.float32), np.array([2.0**126.5], np.float32)
    assert evaluate("div.approx.f32 %d0, %a, %b;", "f4", x, y)[0] == 0
    assert evaluate("div.full.f32 %d0, %a, %b;", "f4", x, y)[0] == pytest.approx(2**0.5)


def test_the_f64_approximations_have_zeros_in_their_low_words() -> None:
    x = np.linspace(0.1, 9, 64)
    found = evaluate("rcp.approx.ftz.f64 %d0, %a;", "f8", x)
    assert not (found.view(np.uint64) & np.uint64(0xFFFFFFFF)).any()
    assert np.allclose(found, 1 / x, rtol=2**-19)


@pytest.mark.parametrize(
    "name", ["ex2.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.f16", "tanh.approx.bf16"]
)
def test_half_precision_functions(name: str) -> None:
    single = np.linspace(-3, 3, 128, dtype=np.float32)
    is_half = name.endswith(".f16")
    bits = (
        single.astype(np.float16).view(np.uint16)
        if is_half
        else (single.view(np.uint32) >> 16).astype(np.uint16)
    )
    found = evaluate(f"{name} %d0, %a;", "u2", bits)

    def widen(p: Any) -> Any:
        return p.view(np.float16).astype(float) if is_half else (p.astype(np.uint32) << 16).view(np.float32)

    function = np.exp2 if "ex2" in name else np.tanh
    assert np.allclose(widen(found), function(widen(bits)), rtol=2**-7 if not is_half else 2**-9.9)


@pytest.mark.parametrize(
    "body",
    ["div.f32 %f0, %f1, %f2;", "div.full.f64 %fd0, %fd1, %fd2;", "sqrt.approx.f64 %fd0, %fd1;",
     "sin.f32 %f0, %f1;", "ex2.approx.bf16 %h0, %h1;", "lg2.approx.sat.f32 %f0, %f1;"],
)  # fmt: skip
def test_a_form_that_ptx_does_not_have_is_refused_at_load(body: str) -> None:
    assert body.split(maxsplit=1)[0] in refused(body)
