"""Integers whose first byte says how long they are."""

from __future__ import annotations

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.mlir_bytecode.cursor import Cursor, Writer


def read(data: bytes) -> Cursor:
    return Cursor(data, 0, "f.mlirbc")


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (0, "01"),
        (1, "03"),
        (127, "ff"),
        (128, "0202"),
        ((1 << 14) - 1, "feff"),
        (1 << 14, "040002"),
        (1 << 49, "8000000000000002"),
        ((1 << 56) - 1, "80ffffffffffffff"),
        (1 << 56, "000000000000000001"),
        ((1 << 64) - 1, "00ffffffffffffffff"),
    ],
)
def test_integers(value: int, data: str) -> None:
    w = Writer()
    w.varint(value)
    assert w.data.hex() == data
    c = read(bytes.fromhex(data))
    assert c.varint() == value
    assert not c.remaining


@pytest.mark.parametrize("value", [0, -1, 1, -64, 64, -(1 << 63), (1 << 63) - 1])
def test_signed_integers(value: int) -> None:
    w = Writer()
    w.signed(value)
    assert read(bytes(w.data)).signed() == value


@pytest.mark.parametrize("data", ["", "02", "0000", "80ffff"])
def test_an_integer_that_ends_too_early(data: str) -> None:
    with pytest.raises(
        DiagnosticError, match="malformed bytecode at byte 0: (unexpected end|an integer takes)"
    ):
        read(bytes.fromhex(data)).varint()


def test_padding_is_counted_from_the_start_of_the_file() -> None:
    c = Cursor(bytes(8), 3, "f.mlirbc")
    c.pad(8)
    assert c.pos == 5


def test_a_section_is_aligned_as_its_contents_need() -> None:
    inner = Writer()
    inner.pad(8)
    inner.data += b"x" * 8
    outer = Writer()
    outer.byte(0)
    outer.section(5, inner)
    assert outer.data.index(b"x") == 8
    assert outer.data[1] == 5 | 0x80
