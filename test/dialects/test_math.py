"""Folders of `math` against upstream's, which call the C library."""

from __future__ import annotations

import pytest
from dialects.folding import assert_folds_agree, canonical, function

UNARY = {
    "absf": ("-1.5", "-0.0"), "acos": ("0.5", "1.0"), "asin": ("0.5", "-1.0"),
    "atan": ("0.5",), "atanh": ("0.5",), "ceil": ("1.2", "-1.2", "-0.5"), "cos": ("0.5", "3.0"), "cosh": ("0.5",),
    "erf": ("0.5",), "erfc": ("0.5",), "exp": ("1.0", "-80.0"), "exp2": ("3.0", "0.5"), "expm1": ("1.0e-5",),
    "floor": ("1.8", "-1.2", "0x7F800000"), "log": ("2.0",), "log10": ("1000.0",), "log1p": ("1.0e-5",),
    "log2": ("8.0", "3.0"), "round": ("0.5", "-2.5", "1.4"), "roundeven": ("0.5", "1.5", "-2.5"), "sin": ("0.5",),
    "sinh": ("0.5",), "sqrt": ("2.0", "9.0"), "tan": ("0.5",), "tanh": ("0.5",), "trunc": ("1.8", "-1.8"),
}  # fmt: skip


@pytest.mark.parametrize("mnemonic", UNARY)
def test_functions_of_a_constant_fold_as_upstream(mnemonic: str) -> None:
    functions = [
        function(i, (f"{number} : f32",), f"math.{mnemonic} %0 : f32", "f32")
        for i, number in enumerate(UNARY[mnemonic])
    ]
    assert_folds_agree(functions, more=True)


def test_inverse_hyperbolic_functions_fold_to_the_nearest_number() -> None:
    # asinh(1/2) = 0.481211825…, between the f32 numbers …811 and …841; upstream's C library gives the farther one.
    assert "0.481211811" in canonical(function(0, ("0.5 : f32",), "math.asinh %0 : f32", "f32"))


def test_functions_of_two_constants_fold_as_upstream() -> None:
    cases = [
        ("atan2", "1.0", "-2.0"),
        ("copysign", "1.5", "-0.0"),
        ("powf", "2.0", "0.5"),
        ("powf", "-2.0", "3.0"),
    ]
    assert_folds_agree(
        [
            function(i, (f"{a} : f32", f"{b} : f32"), f"math.{name} %0, %1 : f32", "f32")
            for i, (name, a, b) in enumerate(cases)
        ],
        more=True,
    )


@pytest.mark.parametrize(("base", "exponent"), [("0.0", "-1.0"), ("-1.0", "0.5"), ("1.0e30", "1.0e30")])
def test_a_power_that_is_no_number_stays(base: str, exponent: str) -> None:
    operands = (f"{base} : f32", f"{exponent} : f32")
    assert "math.powf" in canonical(function(0, operands, "math.powf %0, %1 : f32", "f32"))


@pytest.mark.parametrize("mnemonic", ("absi", "ctlz", "cttz", "ctpop"))
def test_functions_of_integers_fold_as_upstream(mnemonic: str) -> None:
    numbers = (0, 1, -1, 40, -2147483648)
    functions = [
        function(i, (f"{n} : i32",), f"math.{mnemonic} %0 : i32", "i32") for i, n in enumerate(numbers)
    ]
    assert_folds_agree(functions, more=True)


def test_powers_of_integers_fold_as_upstream() -> None:
    pairs = [(3, 4), (2, -1), (1, -3), (-1, -3), (-1, 2), (0, 0), (7, 0)]
    assert_folds_agree(
        [
            function(i, (f"{a} : i32", f"{b} : i32"), "math.ipowi %0, %1 : i32", "i32")
            for i, (a, b) in enumerate(pairs)
        ],
        more=True,
    )


def test_questions_about_a_number_fold() -> None:
    functions = [
        function(i, (f"{n} : f32",), f"math.{q} %0 : f32", "i1")
        for i, (q, n) in enumerate(
            (q, n)
            for q in ("isnan", "isinf", "isfinite", "isnormal")
            for n in ("0x7FC00000", "0xFF800000", "1.0", "0x00000001")
        )
    ]
    assert_folds_agree(functions, more=True)


def test_rounding_twice_is_rounding_once() -> None:
    text = (
        "func.func @f(%x: f32) -> f32 { %0 = math.floor %x : f32  %1 = math.floor %0 : f32  return %1 : f32 }"
    )
    assert canonical(text).count("math.floor") == 1


def test_a_logarithm_of_a_negative_number_is_left_alone() -> None:
    assert "math.log" in canonical(function(0, ("-1.0 : f32",), "math.log %0 : f32", "f32"))
