"""ftof of every pair of formats: every code of small sources, and where the rounding of large ones changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import programs
import pytest
from casts.reference import FLOATS, NARROW, codes_of, encode, held, packed, storage, values_of

Array = np.ndarray[Any, Any]
TILE = 1024


def modes(source: str, target: str) -> list[str]:
    """The rounding modes that the op takes, and that differ there."""
    if target == "f8E8M0FNU":
        return ["zero", "positive_inf"]
    if (source, target) == ("f64", "f32"):
        return ["nearest_even", "zero", "positive_inf", "negative_inf"]
    if (source, target) == ("f32", "tf32"):
        return ["nearest_even", "zero", "nearest_away"]
    if {source, target} == {"f16", "bf16"}:
        return ["nearest_even", "zero"]
    widths = {
        **dict.fromkeys(NARROW, 8),
        "f4E2M1FN": 4,
        "f16": 16,
        "bf16": 16,
        "tf32": 19,
        "f32": 32,
        "f64": 64,
    }
    return ["nearest_even", "zero"] if widths[target] < widths[source] else ["nearest_even"]


def expected(source: str, target: str, codes: Array, mode: str) -> Array:
    """What a launch should hold."""
    values = values_of(source, codes)
    if target == "f64":
        return values.view(np.uint64)
    if target == "f32":
        with np.errstate(over="ignore", invalid="ignore"):
            near = values.astype(np.float32)
        wide = near.astype(np.float64)
        with np.errstate(over="ignore"):
            if mode == "zero":
                near = np.where(
                    (np.abs(wide) > np.abs(values)) & np.isfinite(values),
                    np.nextafter(near, np.float32(0)),
                    near,
                )
            if mode == "positive_inf":
                near = np.where(wide < values, np.nextafter(near, np.float32(np.inf)), near)
            if mode == "negative_inf":
                near = np.where(wide > values, np.nextafter(near, np.float32(-np.inf)), near)
        return near.view(np.uint32)
    found = encode(target, values, mode, saturate=target in NARROW)
    return (found << 13 if target == "tf32" else found).astype(storage(target))


def program(source: str, pairs: list[tuple[str, str]], count: int) -> str:
    """Every conversion from one source; f4E2M1FN comes and goes packed."""
    lines = []
    inputs = {"x": (source, (count,))}
    if source == "f4E2M1FN":
        inputs = {"p": ("i8", (count // 2,))}
        lines.append(f"%x = unpack %p : tile<{count // 2}xi8> -> tile<{count}x{source}>")
    outputs = {}
    for i, (target, mode) in enumerate(pairs):
        rounding = "" if mode == "nearest_even" else f" rounding<{mode}>"
        name = f"y{i}"
        if target == "f4E2M1FN":
            lines.append(f"%n{i} = ftof %x{rounding} : tile<{count}x{source}> -> tile<{count}x{target}>")
            lines.append(f"%{name} = pack %n{i} : tile<{count}x{target}> -> tile<{count // 2}xi8>")
            outputs[name] = ("i8", (count // 2,))
        else:
            lines.append(f"%{name} = ftof %x{rounding} : tile<{count}x{source}> -> tile<{count}x{target}>")
            outputs[name] = (target, (count,))
    return programs.program("\n".join(lines), inputs, outputs)


def is_nan(name: str, codes: Array) -> Array:
    """True if codes are NaNs, of which f32 and f64 have many."""
    return np.isnan(values_of(name, codes)) if name in ("f32", "f64") else np.zeros(len(codes), np.bool_)


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", programs.TARGETS)
def test_every_pair(source: str, target: str) -> None:
    """Each code of the source becomes the code that the table of the other format says; on one target, every one of
    16 bits."""
    pairs = [(name, mode) for name in FLOATS if name != source for mode in modes(source, name)]
    rng = np.random.default_rng(programs.fresh_seed())
    codes = codes_of(source, rng, TILE)
    count = min(TILE, len(codes))
    if len(codes) > 1 << 15 and target != programs.TARGETS[0]:
        codes = rng.permutation(codes)[: 8 * count]
    text = program(source, pairs, count)
    for start in range(0, len(codes), count):
        part = codes[start : start + count]
        outputs = [
            programs.empty("i8", (count // 2,)) if name == "f4E2M1FN" else programs.empty(name, (count,))
            for name, _ in pairs
        ]
        got = programs.run(text, held(source, part), *outputs, target=target)[1:]
        for (name, mode), result in zip(pairs, got, strict=True):
            wanted = expected(source, name, part, mode)
            nan = is_nan(name, wanted)
            if name == "f4E2M1FN":
                found, wanted = result.view(np.uint8), packed(wanted).view(np.uint8)
            else:
                found = result.view(storage(name))
                assert is_nan(name, found)[nan].all()
                found, wanted = found[~nan], wanted[~nan]
            wrong = np.flatnonzero(found != wanted)
            assert not len(wrong), (
                f"{source} to {name} {mode}: {[hex(c) for c in part[wrong[:4]]]} gave "
                f"{[hex(c) for c in found[wrong[:4]]]} for {[hex(c) for c in wanted[wrong[:4]]]}"
            )


@pytest.mark.parametrize("source", ["f64", "f8E8M0FNU"])
def test_tools(source: str) -> None:
    """mlir-opt and ptxas take what every pair becomes."""
    pairs = [(name, mode) for name in FLOATS if name != source for mode in modes(source, name)]
    programs.check_tools(program(source, pairs, 256), *programs.TARGETS)


@pytest.mark.parametrize("element", ["bf16", "tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU"])
def test_a_number_as_a_parameter(element: str) -> None:
    """Numbers of formats that LLVM does not have are passed as their bits, or as an f32."""
    text = programs.program(
        f"%w = ftof %s : tile<{element}> -> tile<f32>\n%y = reshape %w : tile<f32> -> tile<1xf32>",
        {},
        {"y": ("f32", (1,))},
        {"s": element},
    )
    code = {"bf16": 3.5, "tf32": 3.5, "f8E4M3FN": 0x46, "f8E5M2": 0x43, "f8E8M0FNU": 0x81}[element]
    (found,) = programs.run(text, programs.empty("f32", (1,)), code)
    assert found == (4.0 if element == "f8E8M0FNU" else 3.5)
