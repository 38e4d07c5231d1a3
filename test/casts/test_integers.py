"""itof, ftoi, exti, trunci of every pair of types, against Python's integers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import programs
import pytest
from casts.reference import FLOATS, FORMATS, codes_of, encode, held, storage, values_of

Array = np.ndarray[Any, Any]
TILE = 256
INTEGERS = ("i1", "i8", "i16", "i32", "i64")
PRECISION = {**{name: form.fraction + 1 for name, form in FORMATS.items()}, "f32": 24, "f64": 53}


def width(name: str) -> int:
    return int(name[1:])


def integers(name: str, rng: np.random.Generator) -> Array:
    """Integers of every length, and the ends of the range: int64 of the bits."""
    bits = width(name)
    if bits <= 8:
        return np.resize(np.arange(1 << bits), TILE)
    lengths = rng.integers(1, bits + 1, TILE)
    found = [int(rng.integers(0, 1 << 62)) << 2 >> 64 - n for n in map(int, lengths)]
    # Near a power of two, where 53, 24, 11, 8, 4, 3 or 2 digits are not enough.
    found[: TILE // 2] = [
        (1 << n) + (1 << max(n - p, 0)) + int(rng.integers(-2, 3))
        for n, p in zip(
            map(int, lengths), rng.choice([53, 24, 11, 8, 4, 3, 2], TILE // 2).tolist(), strict=False
        )
    ]
    found[:4] = [0, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1]
    signs = rng.integers(0, 2, TILE)
    return np.array(
        [(-v if s else v) & (1 << bits) - 1 for v, s in zip(found, signs.tolist(), strict=True)], np.uint64
    )


def launched(name: str, bits: Array) -> Array:
    """Integers as a launch takes them."""
    return bits.astype(f"u{max(width(name), 8) // 8}").view("u1" if name == "i1" else f"i{width(name) // 8}")


def signed(value: int, bits: int) -> int:
    """The signed reading of bits."""
    return value - (1 << bits) if value >> bits - 1 else value


def nearest(value: int, precision: int) -> float:
    """The nearest number of so many binary digits, ties to even."""
    magnitude = abs(value)
    dropped = max(magnitude.bit_length() - precision, 0)
    kept, rest = divmod(magnitude, 1 << dropped)
    half = 1 << dropped >> 1
    kept += rest > half or (dropped > 0 and rest == half and kept & 1)
    return math.copysign(float(kept << dropped), value)


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", programs.TARGETS)
def test_to_floats(source: str, target: str) -> None:
    """The nearest number; infinity beyond the range, or NaN, or the largest number."""
    rng = np.random.default_rng(programs.fresh_seed())
    bits = integers(source, rng)
    names = [(f, s) for f in FLOATS if f != "f8E8M0FNU" for s in ("signed", "unsigned")]
    lines, outputs = [], {}
    for i, (name, sign) in enumerate(names):
        result = f"%n{i}" if name == "f4E2M1FN" else f"%y{i}"
        lines.append(f"{result} = itof %x {sign} : tile<{TILE}x{source}> -> tile<{TILE}x{name}>")
        outputs[f"y{i}"] = (name, (TILE,))
        if name == "f4E2M1FN":
            lines.append(f"%y{i} = pack %n{i} : tile<{TILE}x{name}> -> tile<{TILE // 2}xi8>")
            outputs[f"y{i}"] = ("i8", (TILE // 2,))
    text = programs.program("\n".join(lines), {"x": (source, (TILE,))}, outputs)
    got = programs.run(
        text, launched(source, bits), *(programs.empty(*o) for o in outputs.values()), target=target
    )[1:]
    for (name, sign), result in zip(names, got, strict=True):
        values = [signed(v, width(source)) if sign == "signed" else v for v in map(int, bits)]
        near = np.array([nearest(v, PRECISION[name]) for v in values])
        if name in ("f32", "f64"):
            wanted = near.astype(f"f{width(name) // 8}")
        else:
            codes = encode(name, near)
            wanted = held(name, (codes << 13 if name == "tf32" else codes).astype(storage(name)))
        assert (result.view("u1") == wanted.view("u1")).all(), (name, sign)


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", programs.TARGETS)
def test_from_floats(source: str, target: str) -> None:
    """Towards zero; the nearest integer of the type beyond its range, and 0 of a NaN."""
    rng = np.random.default_rng(programs.fresh_seed())
    codes = codes_of(source, rng, TILE)
    if source in ("f32", "f64"):
        exponents = rng.integers(-2, 66, TILE)
        numbers = np.ldexp(rng.uniform(1, 2, TILE) * rng.choice([-1, 1], TILE), exponents)
        edges = np.array(
            [s * (1 << n) + d for n in (1, 7, 8, 15, 16, 31, 32, 63, 64) for s in (1, -1) for d in (-1, 0, 1)]
        )
        codes = np.concatenate([codes, numbers.astype(f"f{width(source) // 8}").view(codes.dtype)])
        codes[: len(edges)] = edges.astype(f"f{width(source) // 8}").view(codes.dtype)
    count = min(TILE, len(codes))
    codes = rng.permutation(codes)[:count] if len(codes) > 4 * TILE else codes[: len(codes) // count * count]
    names = [(i, s) for i in INTEGERS for s in ("signed", "unsigned")]
    lines = []
    inputs = {"x": (source, (count,))}
    if source == "f4E2M1FN":
        inputs = {"p": ("i8", (count // 2,))}
        lines.append(f"%x = unpack %p : tile<{count // 2}xi8> -> tile<{count}x{source}>")
    for i, (name, sign) in enumerate(names):
        lines.append(f"%y{i} = ftoi %x {sign} : tile<{count}x{source}> -> tile<{count}x{name}>")
    outputs = {f"y{i}": (name, (count,)) for i, (name, _) in enumerate(names)}
    text = programs.program("\n".join(lines), inputs, outputs)
    for start in range(0, len(codes), count):
        part = codes[start : start + count]
        got = programs.run(
            text, held(source, part), *(programs.empty(*o) for o in outputs.values()), target=target
        )[1:]
        values = values_of(source, part)
        for (name, sign), result in zip(names, got, strict=True):
            bits = width(name)
            least, most = (
                (-(1 << bits - 1), (1 << bits - 1) - 1) if sign == "signed" else (0, (1 << bits) - 1)
            )
            clipped = [
                0 if math.isnan(v) else max(least, min(most, int(max(-1e30, min(1e30, v))))) for v in values
            ]
            wanted = np.array([v & (1 << bits) - 1 for v in clipped], np.uint64)
            found = result.view(f"u{result.itemsize}").astype(np.uint64)
            assert (found == wanted).all(), (name, sign, values[found != wanted], found[found != wanted])


@pytest.mark.parametrize("target", programs.TARGETS)
def test_widths(target: str) -> None:
    """exti and trunci of i1, i4, i8, i16, i32, i64, either signedness."""
    rng = np.random.default_rng(programs.fresh_seed())
    names = ("i1", "i4", *INTEGERS[1:])
    start = integers("i64", rng)
    lines, outputs, wanted = [], {}, []

    def store(value: str, name: str, expected: list[int]) -> None:
        key = f"y{len(wanted)}"
        if name == "i4":
            lines.append(f"%{key} = pack {value} : tile<{TILE}xi4> -> tile<{TILE // 2}xi8>")
            outputs[key] = ("i8", (TILE // 2,))
            wanted.append(held("i4", np.array(expected)))
        else:
            # Each value is stored, and so needs a name of its own.
            lines.append(f"%{key} = bitcast {value} : tile<{TILE}x{name}> -> tile<{TILE}x{name}>")
            outputs[key] = (name, (TILE,))
            wanted.append(launched(name, np.array(expected, np.uint64)))

    for i, old in enumerate(names):
        bits = [int(v) & (1 << width(old)) - 1 for v in start]
        value = "%x" if old == "i64" else f"%t{i}"
        if old != "i64":
            lines.append(f"{value} = trunci %x : tile<{TILE}xi64> -> tile<{TILE}x{old}>")
            store(value, old, bits)
        for new in names[i + 1 :]:
            for sign in ("signed", "unsigned"):
                made = f"%e{i}{new}{sign}"
                lines.append(f"{made} = exti {value} {sign} : tile<{TILE}x{old}> -> tile<{TILE}x{new}>")
                extended = [signed(v, width(old)) if sign == "signed" else v for v in bits]
                store(made, new, [v & (1 << width(new)) - 1 for v in extended])
                back = f"%b{i}{new}{sign}"
                lines.append(f"{back} = trunci {made} : tile<{TILE}x{new}> -> tile<{TILE}x{old}>")
                store(back, old, bits)
    text = programs.program("\n".join(lines), {"x": ("i64", (TILE,))}, outputs)
    got = programs.run(
        text, launched("i64", start), *(programs.empty(*o) for o in outputs.values()), target=target
    )[1:]
    for key, result, expected in zip(outputs, got, wanted, strict=True):
        assert (result.view("u1") == expected.view("u1")).all(), key


def test_wrapping_flags() -> None:
    """The flags of trunci promise what the numbers keep, and change nothing then."""
    x = np.arange(-64, 64, dtype=np.int32)
    body = """%a = trunci %x overflow<no_signed_wrap> : tile<128xi32> -> tile<128xi8>
    %m = constant <i32: 127> : tile<128xi32>
    %p = andi %x, %m : tile<128xi32>
    %b = trunci %p overflow<no_wrap> : tile<128xi32> -> tile<128xi8>"""
    text = programs.program(body, {"x": ("i32", (128,))}, {"a": ("i8", (128,)), "b": ("i8", (128,))})
    _, a, b = programs.run(text, x, programs.empty("i8", (128,)), programs.empty("i8", (128,)))
    assert (a == x).all() and (b == x & 127).all()
