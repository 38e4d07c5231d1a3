"""Element types: values to patterns and back."""

from __future__ import annotations

import numpy as np
import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.runtime.types import TYPES, lookup_type, type_of_array


@pytest.mark.parametrize(
    ("name", "value", "pattern"),
    [
        ("bf16", 1.00390625, 0x3F80),  # a tie, to even
        ("bf16", 1.01171875, 0x3F82),
        ("bf16", -np.inf, 0xFF80),
        ("f8e4m3", 448.0, 0x7E),
        ("f8e4m3", 1.0, 0x38),
        ("f8e5m2", 57344.0, 0x7B),
        ("f8e8m0", 2.0, 0x80),
        ("f16", 65504.0, 0x7BFF),
        ("i8", -1, 0xFF),
        ("u8", 255, 0xFF),
        ("i1", 1, 1),
    ],
)
def test_a_value_has_its_pattern(name: str, value: float, pattern: int) -> None:
    made = TYPES[name].encode(np.array([value]))
    assert made.view(f"<u{made.itemsize}").tolist() == [pattern]
    assert made.dtype == TYPES[name].storage


@pytest.mark.parametrize("name", ["bf16", "f8e4m3", "f8e5m2", "f16"])
def test_every_number_comes_back(name: str) -> None:
    kind = TYPES[name]
    patterns = np.arange(1 << kind.bits, dtype=f"<u{kind.size}")
    values = kind.decode(patterns.view(kind.storage))
    real = ~np.isnan(values)
    assert np.array_equal(kind.encode(values[real]).view(patterns.dtype), patterns[real])


def test_tf32_is_an_f32_with_a_short_mantissa() -> None:
    made = TYPES["tf32"].encode(np.array([1 + 2.0**-10, 1 + 2.0**-12]))
    assert made.dtype == np.float32
    assert made.tolist() == [1 + 2.0**-10, 1.0]


def test_integers_must_fit() -> None:
    with pytest.raises(DiagnosticError, match="256 does not fit u8"):
        TYPES["u8"].encode(np.array([256]))
    with pytest.raises(DiagnosticError, match="i32 expects integers"):
        TYPES["i32"].encode(np.array([0.5]))


def test_names_of_mlir_and_ptx_are_known() -> None:
    assert lookup_type("f8E4M3FN") is TYPES["f8e4m3"]
    assert lookup_type("s32") is TYPES["i32"]
    assert lookup_type("e5m2") is TYPES["f8e5m2"]
    assert lookup_type("float") is None


def test_arrays_have_types() -> None:
    assert type_of_array(np.zeros(1, np.uint16)) is TYPES["u16"]
    assert type_of_array(np.zeros(1, np.bool_)) is TYPES["i1"]
    assert type_of_array(np.zeros(1, np.complex64)) is None
