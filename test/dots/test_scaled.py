"""mmaf_scaled against NumPy: 8- and 4-bit floats with a scale for each block along K, scales from the whole range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from programs import (
    TARGETS,
    assembled,
    check_tools,
    compiled,
    decode,
    empty,
    encode,
    fresh_seed,
    program,
    random,
    run,
    tile,
)

KINDS = [
    ("f8E4M3FN", "f8E8M0FNU", 32), ("f8E5M2", "f8E8M0FNU", 32), ("f4E2M1FN", "f8E8M0FNU", 32),
    ("f4E2M1FN", "f8E8M0FNU", 16), ("f4E2M1FN", "f8E4M3FN", 16),
]  # fmt: skip
"""(operands, scales, block): what the verifier of mmaf_scaled admits."""


def shapes_of(m: int, n: int, k: int, block: int, batch: Sequence[int] = ()) -> dict[str, tuple[int, ...]]:
    return {
        "a": (*batch, m, k), "b": (*batch, k, n), "c": (*batch, m, n),
        "sa": (*batch, m, k // block), "sb": (*batch, k // block, n),
    }  # fmt: skip


def text_of(shapes: dict[str, tuple[int, ...]], element: str, scale: str) -> str:
    types = {"a": element, "b": element, "c": "f32", "sa": scale, "sb": scale}
    spelled = ", ".join(tile(types[v], s) for v, s in shapes.items())
    inputs = {v: (types[v], s) for v, s in shapes.items()}
    if element != "f4E2M1FN":
        body = f"%y = mmaf_scaled %a, %b, %c, %sa, %sb : {spelled}"
        return program(body, inputs, {"y": ("f32", shapes["c"])})
    # Elements of 4 bits come in bytes, two in each.
    lines = []
    for v in "ab":
        flat, count = shapes[v], int(np.prod(shapes[v]))
        inputs[v + "B"] = ("i8", (count // 2,))
        del inputs[v]
        lines.append(f"%{v}F = unpack %{v}B : {tile('i8', (count // 2,))} -> {tile(element, (count,))}")
        lines.append(f"%{v} = reshape %{v}F : {tile(element, (count,))} -> {tile(element, flat)}")
    lines.append(f"%y = mmaf_scaled %a, %b, %c, %sa, %sb : {spelled}")
    ordered = {v if v in inputs else v + "B": inputs.get(v, inputs.get(v + "B")) for v in shapes}
    return program("\n  ".join(lines), ordered, {"y": ("f32", shapes["c"])})  # type: ignore[arg-type]


def packed(codes: Any) -> Any:
    """4-bit codes two to a byte, the first in the low half."""
    flat = codes.reshape(-1)
    return (flat[0::2] | flat[1::2] << 4).astype(np.uint8).view(np.int8)


def check(shapes: dict[str, tuple[int, ...]], element: str, scale: str, target: str, spread: int) -> None:
    rng = np.random.default_rng(fresh_seed())
    c = random("f32", shapes["c"], rng)
    scales = {}
    for v in ("sa", "sb"):
        if scale == "f8E8M0FNU":
            # Exponents of both signs whose sum stays within f32, though one alone may be as large as there is.
            middle = 127 + (spread if v == "sa" else -spread)
            codes = rng.integers(middle - 6, middle + 6, shapes[v]).clip(0, 254).astype(np.uint8)
        else:
            codes = rng.integers(0, 127, shapes[v]).astype(np.uint8)
        scales[v] = codes
    if element == "f4E2M1FN":
        codes = [rng.integers(0, 16, shapes[v]).astype(np.uint8) for v in "ab"]
        table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
        left, right = (np.where(x & 8, -1, 1) * table[x & 7] for x in codes)
        given = [packed(x) for x in codes]
    else:
        given = [random(element, shapes[v], rng, 4.0) for v in "ab"]
        left, right = (decode(element, x) for x in given)
    as_scales = {v: x.view(empty(scale, (1,)).dtype) for v, x in scales.items()}
    y = run(
        text_of(shapes, element, scale), *given, c, as_scales["sa"], as_scales["sb"], empty("f32", shapes["c"]),
        target=target,
    )[-1]  # fmt: skip
    block = left.shape[-1] // scales["sa"].shape[-1]
    wide_a = np.repeat(decode(scale, as_scales["sa"]), block, axis=-1)
    wide_b = np.repeat(decode(scale, as_scales["sb"]), block, axis=-2)
    expected = (left * wide_a) @ (right * wide_b) + c
    bound = np.abs(left * wide_a) @ np.abs(right * wide_b) + np.abs(c)
    assert np.all(np.abs(decode("f32", y) - expected) <= 1e-5 * bound)


@pytest.mark.parametrize("shape", [(1, 2, 32), (64, 16, 64)], ids=str)
@pytest.mark.parametrize(("element", "scale", "block"), KINDS)
def test_products_with_scales(shape: tuple[int, int, int], element: str, scale: str, block: int) -> None:
    check(shapes_of(*shape, block), element, scale, "sm_80", 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("element", "scale", "block"), KINDS)
def test_other_targets(element: str, scale: str, block: int, target: str) -> None:
    text = text_of(shapes_of(32, 16, 64, block), element, scale)
    check(shapes_of(32, 16, 64, block), element, scale, target, 3)
    check_tools(text, target)


@pytest.mark.parametrize("spread", [-120, 120])
def test_large_scales_of_opposite_signs(spread: int) -> None:
    check(shapes_of(16, 8, 64, 32), "f8E4M3FN", "f8E8M0FNU", "sm_90a", spread)


def test_batches() -> None:
    check(shapes_of(16, 8, 64, 32, [4]), "f8E5M2", "f8E8M0FNU", "sm_80", 0)


def test_a_scale_that_is_no_number() -> None:
    shapes = shapes_of(16, 8, 32, 32)
    ones = [encode("f8E4M3FN", np.ones(shapes[v])) for v in "ab"]
    codes = np.full(shapes["sa"], 127, np.uint8)
    codes[3] = 255
    scales = [codes, np.full(shapes["sb"], 127, np.uint8)]
    dtype = empty("f8E8M0FNU", (1,)).dtype
    c = np.zeros(shapes["c"], np.float32)
    text = text_of(shapes, "f8E4M3FN", "f8E8M0FNU")
    y = run(text, *ones, c, *(s.view(dtype) for s in scales), empty("f32", shapes["c"]))[-1]
    expected = np.full(shapes["c"], 32.0)
    expected[3] = np.nan
    np.testing.assert_array_equal(decode("f32", y), expected)


def looped(
    m: int, n: int, k: int, steps: int, target: str, element: str = "f8E5M2", **options: Any
) -> tuple[str, Any, Any, Any]:
    """A product over steps of K: (its text, what it computes on a target, what NumPy does, the sums of magnitudes)."""
    shapes: dict[str, tuple[int, ...]] = {"a": (m, k), "b": (k, n), "sa": (m, k // 32), "sb": (k // 32, n)}
    lines = ["%tok = make_token : token"]
    for name, count in (("zero", 0), ("one", 1), ("steps", steps)):
        lines.append(f"%{name} = constant <i32: {count}> : tile<i32>")
    loads = []
    for v, part in shapes.items():
        stored = element if len(v) == 1 else "f8E8M0FNU"
        along = 1 if v in ("a", "sa") else 0
        whole = tuple(size * steps if axis == along else size for axis, size in enumerate(part))
        view = f"tensor_view<{whole[0]}x{whole[1]}x{stored}, strides=[{whole[1]},1]>"
        parts = f"partition_view<tile=({part[0]}x{part[1]}), {view}>"
        lines.append(f"%{v}A = assume div_by<16>, %{v}P : tile<ptr<{stored}>>")
        extents = f"shape = [{whole[0]}, {whole[1]}], strides = [{whole[1]}, 1]"
        lines.append(f"%{v}V = make_tensor_view %{v}A, {extents} : {view}")
        lines.append(f"%{v}Q = make_partition_view %{v}V : {parts}")
        index = "%zero, %i" if along else "%i, %zero"
        loads.append(
            f"%{v}, %{v}T = load_view_tko weak %{v}Q[{index}] token = %tok : {parts}, tile<i32> -> "
            f"{tile(stored, part)}, token"
        )
        shapes[v] = whole
    acc, view = tile("f32", (m, n)), f"tensor_view<{m}x{n}xf32, strides=[{n},1]>"
    spelled = f"{tile(element, (m, k))}, {tile(element, (k, n))}, {acc}"
    spelled += f", {tile('f8E8M0FNU', (m, k // 32))}, {tile('f8E8M0FNU', (k // 32, n))}"
    lines += [
        f"%none = constant <f32: 0.0> : {acc}",
        f"%y = for %i in (%zero to %steps, step %one) : tile<i32> iter_values(%c = %none) -> ({acc}) {{",
        *loads,
        f"%d = mmaf_scaled %a, %b, %c, %sa, %sb : {spelled}",
        f"continue %d : {acc}",
        "}",
        f"%yV = make_tensor_view %yP, shape = [{m}, {n}], strides = [{n}, 1] : {view}",
        f"%yQ = make_partition_view %yV : partition_view<tile=({m}x{n}), {view}>",
        f"%yT = store_view_tko weak %y, %yQ[%zero, %zero] token = %tok : {acc}, "
        f"partition_view<tile=({m}x{n}), {view}>, tile<i32> -> token",
        "return",
    ]
    parameters = f"%aP: tile<ptr<{element}>>, %bP: tile<ptr<{element}>>"
    parameters += ", %saP: tile<ptr<f8E8M0FNU>>, %sbP: tile<ptr<f8E8M0FNU>>"
    text = f"entry @kernel({parameters}, %yP: tile<ptr<f32>>) {{\n" + "\n".join(lines) + "\n}\n"
    rng = np.random.default_rng(fresh_seed())
    a, b = (random(element, shapes[v], rng) for v in "ab")
    dtype = empty("f8E8M0FNU", (1,)).dtype
    sa, sb = (rng.integers(120, 134, shapes[v]).astype(np.uint8).view(dtype) for v in ("sa", "sb"))
    y = run(text, a, b, sa, sb, empty("f32", (m, n)), target=target, **options)[-1]
    left = decode(element, a) * np.repeat(decode("f8E8M0FNU", sa), 32, axis=1)
    right = decode(element, b) * np.repeat(decode("f8E8M0FNU", sb), 32, axis=0)
    return text, decode("f32", y), left @ right, np.abs(left) @ np.abs(right)


@pytest.mark.parametrize("target", ["sm_80", "sm_120a"])
def test_in_a_loop_over_k(target: str) -> None:
    """Operands come by asynchronous copies, a slice for each block of scales."""
    text, found, expected, bound = looped(32, 16, 64, 3, target)
    assert np.all(np.abs(found - expected) <= 1e-5 * bound)
    assert "cp.async" in compiled(text, target).ptx


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize(
    ("m", "n", "k", "element"),
    [
        (128, 64, 128, "f8E4M3FN"),
        (128, 64, 32, "f8E4M3FN"),
        (128, 256, 32, "f8E5M2"),
        (256, 128, 64, "f8E4M3FN"),
        (128, 128, 256, "f8E5M2"),
    ],
)
def test_tensor_memory_has_the_scales(m: int, n: int, k: int, element: str, mode: str) -> None:
    """tcgen05.mma multiplies by scales of 32 elements itself."""
    text, found, expected, bound = looped(m, n, k, 3, "sm_100a", element, mode=mode)
    assert np.all(np.abs(found - expected) <= 1e-5 * bound)
    ptx = compiled(text, "sm_100a").ptx
    assert "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale" in ptx and "mma.sync" not in ptx
    used = assembled(ptx, "sm_100a")
    assert used.warnings == []
