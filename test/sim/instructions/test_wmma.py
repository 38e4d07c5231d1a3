"""wmma: every shape and type loads, multiplies and stores as NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sim.instructions.matrices import KINDS, pack
from sim.kernels import kernel, run

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.sim.instructions.mma import extents

LARGE = ("m16n16k16", "m8n32k16", "m32n8k16")
DTYPES: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "s32": np.int32, "f64": np.float64}
CASES = [
    *[(shape, "f16", "f16", d) for shape in LARGE for d in ("f16", "f32")],
    *[(shape, "bf16", "bf16", "f32") for shape in LARGE],
    *[(shape, a, a, "s32") for shape in LARGE for a in ("s8", "u8")],
    ("m16n16k8", "tf32", "tf32", "f32"),
    ("m8n8k4", "f64", "f64", "f64"),
    *[("m8n8k32", a, a, "s32") for a in ("s4", "u4")],
]
REGISTERS = {"f16": (8, 8), "tf32": (4, 4), "f64": (1, 1), "s4": (1, 1), "u4": (1, 1), "b1": (1, 1)}


def registers(shape: str, a: str, d: str) -> tuple[int, int, int]:
    """Registers of A, B and D, as the ISA's tables have them."""
    m, n, k = extents(shape)
    bits = KINDS[a].bits
    first, second = REGISTERS.get(a, (m * k * bits // 1024, k * n * bits // 1024))
    return first, second, m * n * (16 if d == "f16" else 32) // 1024 if d != "f64" else 2


def names(prefix: str, count: int) -> str:
    return "{" + ", ".join(f"%{prefix}{i}" for i in range(count)) + "}"


def program(
    shape: str, a: str, b: str, d: str, layouts: tuple[str, str, str], mma: str, strides: tuple[int, ...]
) -> str:
    wide = "b64" if a == "f64" else "b32"
    count_a, count_b, count_d = registers(shape, a, d)
    pad_a, pad_b, pad_d = strides
    return kernel(
        f""".reg .{wide} %a<8>; .reg .{wide} %b<8>; .reg .{wide} %c<8>; .reg .{wide} %z<8>;
        wmma.load.a.sync.aligned.{layouts[0]}.{shape}.global.{a} {names("a", count_a)}, [%rd0], {pad_a};
        mov.u32 %r3, {pad_b};
        wmma.load.b.sync.aligned.{layouts[1]}.{shape}.global.{b} {names("b", count_b)}, [%rd1], %r3;
        wmma.load.c.sync.aligned.{layouts[2]}.{shape}.global.{d} {names("c", count_d)}, [%rd2], {pad_d};
        {mma} {names("z", count_d)}, {names("a", count_a)}, {names("b", count_b)}, {names("c", count_d)};
        wmma.store.d.sync.aligned.{layouts[2]}.{shape}.global.{d} [%rd3], {names("z", count_d)}, {pad_d};""",
        4,
    )


def padded(matrix: np.ndarray, bits: int, by_rows: bool) -> tuple[np.ndarray, int]:
    """Memory with 32 bytes between the rows (or columns), and the stride in elements."""
    words = pack(matrix if by_rows else np.ascontiguousarray(matrix.T), bits).view(np.uint8)
    rows = words.reshape(matrix.shape[0] if by_rows else matrix.shape[1], -1)
    wide = np.zeros((rows.shape[0], rows.shape[1] + 32), np.uint8)
    wide[:, : rows.shape[1]] = rows
    return wide, wide.shape[1] * 8 // bits


@pytest.mark.parametrize("layouts", [("row", "col", "row"), ("col", "row", "col"), ("row", "row", "row")])
@pytest.mark.parametrize(("shape", "a", "b", "d"), CASES)
def test_every_shape_and_type(shape: str, a: str, b: str, d: str, layouts: tuple[str, str, str]):
    if KINDS[a].bits < 8 and layouts[:2] != ("row", "col"):
        layouts = ("row", "col", layouts[2])
    rng = np.random.default_rng(2)
    m, n, k = extents(shape)
    left, right = KINDS[a].draw(rng, (m, k)), KINDS[b].draw(rng, (k, n))
    c = (rng.integers(-9, 9, (m, n)) if d == "s32" else rng.standard_normal((m, n))).astype(DTYPES[d])
    bits = c.itemsize * 8
    types = f"{d}.{d}" if a == "f16" else f"{d}.{a}.{b}.{d}"
    mma = f"wmma.mma.sync.aligned.{layouts[0]}.{layouts[1]}.{shape}.{types}"
    memory_a, stride_a = padded(left, KINDS[a].bits, layouts[0] == "row")
    memory_b, stride_b = padded(right, KINDS[b].bits, layouts[1] == "row")
    memory_c, stride_c = padded(c.view(f"<u{bits // 8}"), bits, layouts[2] == "row")
    text = program(shape, a, b, d, layouts, mma, (stride_a, stride_b, stride_c))
    result, arrays = run(text, memory_a, memory_b, memory_c, np.zeros_like(memory_c), stats=True)
    assert not result.findings
    assert result.stats.flops["wmma"] == 2 * m * n * k
    found = np.ascontiguousarray(arrays[3][:, :-32]).view(DTYPES[d])
    found = found if layouts[2] == "row" else found.T
    expected = KINDS[a].value(left) @ KINDS[b].value(right) + c.astype(np.float64)
    if d == "s32":
        assert np.array_equal(found, expected)
    else:
        error = {"f16": 2.0**-10, "f32": 2.0**-23, "f64": 2.0**-50}[d]
        assert np.abs(found - expected).max() <= np.abs(expected).max() * error


@pytest.mark.parametrize("operation", ["xor", "and"])
def test_single_bits(operation: str):
    rng = np.random.default_rng(4)
    left, right = KINDS["b1"].draw(rng, (8, 128)), KINDS["b1"].draw(rng, (128, 8))
    c = rng.integers(0, 9, (8, 8)).astype(np.int32)
    mma = f"wmma.mma.{operation}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"
    text = program("m8n8k128", "b1", "b1", "s32", ("row", "col", "row"), mma, (128, 128, 8))
    memory_b = pack(np.ascontiguousarray(right.T), 1)
    _, arrays = run(text, pack(left, 1), memory_b, c, np.zeros_like(c))
    combine = np.bitwise_xor if operation == "xor" else np.bitwise_and
    assert np.array_equal(arrays[3], combine(left[:, :, None], right[None]).sum(axis=1, dtype=np.int64) + c)


@pytest.mark.parametrize(
    ("mma", "message"),
    [
        ("wmma.mma.sync.aligned.row.col.m8n8k4.f32.f32", "has .m8n8k4 with .f16"),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.s32.f16.f16.s32", "multiplies"),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32", "names 1 types"),
    ],
)
def test_what_is_no_product_is_refused(mma: str, message: str):
    with pytest.raises(DiagnosticError, match=message):
        sim.load(
            program("m16n16k16", "f16", "f16", "f32", ("row", "col", "row"), mma, (16, 16, 16)), file="k.ptx"
        )
