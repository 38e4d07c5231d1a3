"""Float formats: rounding, range, and MLIR's spelling (goldens taken from mlir-opt 22)."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera_tools.ir import floats
from tessera_tools.ir.types import FLOAT_WIDTHS


def test_every_builtin_type_has_a_format_of_its_width() -> None:
    assert {k: f.width for k, f in floats.FORMATS.items()} == FLOAT_WIDTHS


@given(st.floats(width=32, allow_nan=False))
def test_f32_agrees_with_the_hardware(value: float) -> None:
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    assert floats.encode(value, "f32") == bits
    assert floats.decode(bits, "f32") == value


@given(st.floats(min_value=-65519, max_value=65519))
def test_f16_rounds_as_the_hardware_does(value: float) -> None:
    assert floats.encode(value, "f16") == struct.unpack("<H", struct.pack("<e", value))[0]


@pytest.mark.parametrize("keyword", [k for k, w in FLOAT_WIDTHS.items() if w <= 8])
def test_every_code_of_a_narrow_format_survives_the_way_through_a_float(keyword: str) -> None:
    for bits in range(1 << FLOAT_WIDTHS[keyword]):
        if not floats.is_nan(bits, keyword):
            assert floats.encode(floats.decode(bits, keyword), keyword) == bits


@pytest.mark.parametrize("keyword", FLOAT_WIDTHS)
def test_text_reads_back_as_the_same_bits(keyword: str) -> None:
    form = floats.FORMATS[keyword]
    for value in (1.0, 0.75, 1.1, 3.0, 0.3, 448.0):
        bits = floats.encode(value, keyword)
        assert floats.parse(floats.to_text(bits, keyword), keyword) == bits, form


@pytest.mark.parametrize(
    ("value", "keyword", "text"),
    [
        (1.0, "f32", "1.000000e+00"),
        (0.1, "f32", "1.000000e-01"),
        (0.7, "f32", "0.699999988"),
        (0.7, "f64", "0.69999999999999996"),
        (3.14159265358979, "f64", "3.14159265358979"),
        (1e300, "f64", "1.000000e+300"),
        (-0.0, "f32", "-0.000000e+00"),
        (0.7, "f16", "7.001950e-01"),
        (math.nan, "f32", "0x7FC00000"),
        (math.inf, "f32", "0x7F800000"),
        (-math.inf, "f16", "0xFC00"),
        (12345678.0, "f32", "0x4B3C614E"),
        (math.nan, "f8E4M3FN", "0x7F"),
        (math.nan, "f8E5M2FNUZ", "0x80"),
    ],
)
def test_numbers_are_written_as_mlir_writes_them(value: float, keyword: str, text: str) -> None:
    assert floats.to_text(floats.encode(value, keyword), keyword) == text


@pytest.mark.parametrize(
    ("value", "keyword", "expected"),
    [
        (65520.0, "f16", math.inf),
        (65519.0, "f16", 65504.0),
        (464.0, "f8E4M3FN", 448.0),
        (5.0, "f4E2M1FN", 4.0),
        (7.0, "f4E2M1FN", 6.0),
        (1e9, "f4E2M1FN", 6.0),
        (1.5, "f8E8M0FNU", 2.0),
        (1e-30, "f8E5M2", 0.0),
    ],
)
def test_rounding_and_overflow(value: float, keyword: str, expected: float) -> None:
    assert floats.decode(floats.encode(value, keyword), keyword) == expected


def test_overflow_of_a_format_without_infinity_is_nan() -> None:
    assert floats.is_nan(floats.encode(465.0, "f8E4M3FN"), "f8E4M3FN")


def test_formats_with_one_zero_drop_its_sign() -> None:
    assert floats.encode(-0.0, "f8E4M3FNUZ") == 0
    assert floats.encode(-1e-9, "f8E4M3FNUZ") == 0


@pytest.mark.parametrize(
    ("value", "keyword"), [(math.nan, "f4E2M1FN"), (0.0, "f8E8M0FNU"), (-1.0, "f8E8M0FNU")]
)
def test_values_without_a_code_are_refused(value: float, keyword: str) -> None:
    with pytest.raises(ValueError):
        floats.encode(value, keyword)


def test_hex_literals_are_the_bits() -> None:
    assert floats.parse("0x7FC00001", "f32") == 0x7FC00001


@pytest.mark.parametrize(
    ("text", "keyword", "message"),
    [
        ("0x1FFFF", "f16", "out of range for type f16"),
        ("-0x1", "f16", "should not have a leading minus"),
        ("one", "f16", "expected a floating point literal"),
    ],
)
def test_wrong_literals_are_refused(text: str, keyword: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        floats.parse(text, keyword)


def test_f80_keeps_its_explicit_one() -> None:
    assert floats.encode(1.0, "f80") == 0x3FFF8000000000000000
    assert floats.decode(0x3FFF8000000000000000, "f80") == 1.0
