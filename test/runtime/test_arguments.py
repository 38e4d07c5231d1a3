"""`--arg`, `--out` and `--expect` as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.runtime.arguments import (
    BufferSpec,
    MapSpec,
    parse_argument,
    parse_expectation,
    parse_output,
)
from tessera_tools.runtime.compare import compare, same_bits
from tessera_tools.runtime.signature import Scalar
from tessera_tools.runtime.types import TYPES


def made(text: str, seed: int = 0) -> Any:
    spec = parse_argument(text)
    assert isinstance(spec, BufferSpec)
    return spec.array(np.random.default_rng(seed))


@pytest.mark.parametrize("name", sorted(TYPES))
def test_random_arrays_of_every_type(name: str) -> None:
    array, kind = made(f"A=rand:{name}:16x8")
    assert array.shape == (16, 8)
    assert array.dtype == kind.storage
    values = kind.decode(array).astype(np.float64)
    assert np.isfinite(values).all()
    assert len(np.unique(values)) > 1
    assert np.array_equal(array, made(f"A=rand:{name}:16x8")[0])
    assert not np.array_equal(array, made(f"A=rand:{name}:16x8", seed=1)[0])


@pytest.mark.parametrize("name", sorted(TYPES))
def test_counting_arrays_of_every_type(name: str) -> None:
    array, kind = made(f"A=arange:{name}:3000")
    assert kind.decode(array)[:2].tolist() == ([1, 2] if name == "f8e8m0" else [0, 1])


@pytest.mark.parametrize(
    ("name", "period"),
    [
        *(("i1", 2), ("i8", 128), ("u8", 128), ("f16", 2048), ("bf16", 256), ("f8e4m3", 16), ("f8e5m2", 8)),
        *((name, 3000) for name in ("i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64")),
    ],
)
def test_counting_begins_anew_behind_the_last_number_that_the_type_counts_to(name: str, period: int) -> None:
    array, kind = made(f"A=arange:{name}:3000")
    assert kind.decode(array).tolist() == [number % period for number in range(3000)]


def test_zeros_and_one_value() -> None:
    assert made("zeros:i16:3")[0].tolist() == [0, 0, 0]
    assert made("full:bf16:2:1.5")[0].tolist() == [0x3FC0, 0x3FC0]
    assert made("full:i8:2:-3")[0].tolist() == [-3, -3]


def test_files(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6, dtype=">f4").reshape(2, 3))
    array, kind = made(f"A=@{tmp_path}/a.npy")
    assert (kind.name, array.shape, array.dtype) == ("f32", (2, 3), np.dtype("<f4"))
    (tmp_path / "a.bin").write_bytes(b"\x01\0\x02\0")
    assert made(f"@{tmp_path}/a.bin:i16:2")[0].tolist() == [1, 2]
    np.save(tmp_path / "b.npy", np.array([0x3F80], np.uint16))
    assert made(f"@{tmp_path}/b.npy:bf16")[1].name == "bf16"


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(5))
    with pytest.raises(DiagnosticError, match=r"has 5 bytes; the shape needs 4"):
        made(f"@{tmp_path}/a.bin:i16:2")
    np.save(tmp_path / "a.npy", np.zeros(3))
    with pytest.raises(DiagnosticError, match="holds f64; expected f32"):
        made(f"@{tmp_path}/a.npy:f32")
    with pytest.raises(DiagnosticError, match="has shape 3; expected 4"):
        made(f"@{tmp_path}/a.npy:f64:4")
    (tmp_path / "c.npy").write_bytes(b"not numpy")
    with pytest.raises(DiagnosticError, match="is not a .npy file that can be read"):
        made(f"@{tmp_path}/c.npy")


def test_numbers() -> None:
    assert parse_argument("i32:-5") == Scalar(-5, TYPES["i32"])
    assert parse_argument("n=i32:0xffffffff") == Scalar(-1, TYPES["i32"])
    assert parse_argument("f32:0.125") == Scalar(0.125, TYPES["f32"])
    assert parse_argument("f16:inf") == Scalar(float("inf"), TYPES["f16"])
    assert parse_argument("ptr:0") == Scalar(0, TYPES["u64"])
    assert parse_argument("bytes:00ff") == Scalar(b"\0\xff")


def test_tensor_maps() -> None:
    text = "tensormap:A:64x32:swizzle=128B"
    assert parse_argument(text) == MapSpec("", "A", (64, 32), "128B", "zeros", text)
    with pytest.raises(DiagnosticError, match="unknown option 'swizle=1'"):
        parse_argument("tensormap:A:64:swizle=1")


def test_expectations() -> None:
    one = parse_expectation("A=@want.npy:rtol=1e-3:atol=1e-4")
    assert (one.buffer, one.path, one.rtol, one.atol) == ("A", "want.npy", 1e-3, 1e-4)
    typed = parse_expectation("A=@w.bin:f16:2x3:atol=1")
    assert typed.source is not None
    assert typed.source.shape == (2, 3)
    for text in ("A", "A=", "=@x.npy"):
        with pytest.raises(DiagnosticError, match="expected BUFFER=@FILE"):
            parse_expectation(text)
    with pytest.raises(DiagnosticError, match="rtol is 'x'; expected a number of 0 or more"):
        parse_expectation("A=@w.npy:rtol=x")
    with pytest.raises(DiagnosticError, match="expected a file, zeros, full or arange"):
        parse_expectation("A=rand:f32:3")


def test_outputs() -> None:
    assert parse_output("A=dir/a=b.npy") == ("A", "dir/a=b.npy")
    with pytest.raises(DiagnosticError, match="expected BUFFER=FILE"):
        parse_output("A")


def test_comparing_counts_and_places_what_is_wrong() -> None:
    f32 = TYPES["f32"]
    x = np.array([[1, np.nan], [np.inf, 4]], np.float32)
    y = np.array([[1, np.nan], [np.inf, 4.5]], np.float32)
    found = compare(x, f32, y, f32, 0, 0)
    assert (found.wrong, found.total, found.error, found.place) == (1, 4, 0.5, (1, 1))
    assert (found.relative, found.found, found.expected) == (0.5 / 4.5, 4, 4.5)
    assert not compare(x, f32, y, f32, 0.2, 0).wrong
    assert compare(np.array([np.nan], np.float32), f32, np.array([0], np.float32), f32, 1, 1).wrong == 1
    big = TYPES["u64"]
    assert compare(np.array([2**63 + 1], np.uint64), big, np.array([2**63], np.uint64), big, 0, 0).wrong == 1


def test_the_greatest_relative_error_leaves_out_zeros_and_infinities() -> None:
    f64 = TYPES["f64"]
    x, y = np.array([3.0, 1.0, np.inf, 9.0]), np.array([4.0, 0.0, np.inf, 10.0])
    found = compare(x, f64, y, f64, 0, 2)
    assert (found.wrong, found.error, found.relative) == (0, 1, 0.25)
    # A tolerance that is met exactly.
    assert compare(x, f64, y, f64, 0, 1).wrong == 0
    assert compare(x, f64, y, f64, 0.25, 0).wrong == 1


def test_the_same_bits() -> None:
    assert same_bits(np.array([0.0]), np.array([0.0])) == (True, 0)
    assert same_bits(np.array([1.0, 0.0]), np.array([1.0, -0.0])) == (False, 1)
