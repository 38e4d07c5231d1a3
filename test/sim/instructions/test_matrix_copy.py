"""ldmatrix, stmatrix, movmatrix: which lane gets which element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sim.kernels import kernel, run

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError

FILL = """
  .shared .align 16 .b8 tile[1024];
  mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 4; mov.u32 %r2, tile; add.s32 %r3, %r2, %r1;
  mul.wide.u32 %rd10, %r1, 1; add.s64 %rd11, %rd0, %rd10;
  ld.global.v2.b64 {%rd12, %rd13}, [%rd11];
  st.shared.v2.b64 [%r3], {%rd12, %rd13};
  bar.warp.sync 0xffffffff;
"""
"""Lane i copies row i, 16 bytes, of array 0 to the tile; %r3 is its address."""


def store_words(count: int) -> str:
    return "mul.wide.u32 %rd14, %r0, 4; add.s64 %rd15, %rd1, %rd14;" + "\n".join(
        f"st.global.b32 [%rd15+{128 * i}], %r{10 + i};" for i in range(count)
    )


def words(count: int) -> str:
    return "{" + ", ".join(f"%r{10 + i}" for i in range(count)) + "}"


def load(form: str, count: int, rows: Any, **options: Any) -> tuple[Any, Any]:
    text = kernel(f"{FILL} ldmatrix.sync.aligned.{form} {words(count)}, [%r3]; {store_words(count)}", 2)
    result, arrays = run(text, rows, np.zeros((count, 32), np.uint32), **options)
    return result, arrays[1]


def random_rows(seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (32, 16)).astype(np.uint8)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_m8n8(count: int, transposed: bool):
    rows = random_rows(count)
    result, found = load(f"m8n8.x{count}{'.trans' * transposed}.shared.b16", count, rows, stats=True)
    assert not result.findings
    assert sum(result.stats.wavefronts.values()) >= count
    halves = rows.view(np.uint16).reshape(4, 8, 8)
    for matrix in range(count):
        for lane in range(32):
            for i in range(2):
                row, col = lane // 4, 2 * (lane % 4) + i
                element = halves[matrix, col, row] if transposed else halves[matrix, row, col]
                assert found[matrix, lane] >> (16 * i) & 0xFFFF == element


@pytest.mark.parametrize("count", [1, 2])
def test_m16n16_of_bytes_is_transposed(count: int):
    rows = random_rows(7)
    _, found = load(f"m16n16.x{count}.trans.shared.b8", 2 * count, rows)
    octets = found.view(np.uint8).reshape(2 * count, 32, 4)
    for register in range(2 * count):
        for lane in range(32):
            for i in range(4):
                row = 4 * (lane % 4) + 2 * (register % 2) + i % 2
                assert octets[register, lane, i] == rows[16 * (register // 2) + row, lane // 4 + 8 * (i // 2)]


@pytest.mark.parametrize(("source", "bits"), [("b6x16_p32", 6), ("b4x16_p64", 4)])
def test_m8n16_unpacks_narrow_elements_into_bytes(source: str, bits: int):
    rows = random_rows(bits)
    _, found = load(f"m8n16.x2.shared.b8x16.{source}", 2, rows)
    octets = found.view(np.uint8).reshape(2, 8, 16)
    for matrix in range(2):
        for row in range(8):
            whole = int.from_bytes(rows[8 * matrix + row].tobytes(), "little")
            for col in range(16):
                assert octets[matrix, row, col] == whole >> (bits * col) & ((1 << bits) - 1)


def test_a_row_must_be_16_byte_aligned():
    text = kernel(f"{FILL} add.s32 %r3, %r3, 8; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r10}}, [%r3];", 2)
    result, _ = run(text, random_rows(0), np.zeros(32, np.uint32))
    assert result.findings.kinds() == {"misaligned"}


@pytest.mark.parametrize("space", ["shared", "generic"])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_stmatrix_is_the_inverse_of_ldmatrix(count: int, transposed: bool, space: str):
    trans = ".trans" * transposed
    rows = random_rows(count)
    name, at = ("", "%rd20") if space == "generic" else (".shared", "%r4")
    body = f"""{FILL} .shared .align 16 .b8 back[1024];
    ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {words(count)}, [%r3];
    mov.u32 %r4, back; add.s32 %r4, %r4, %r1; cvt.u64.u32 %rd19, %r4; cvta.shared.u64 %rd20, %rd19;
    stmatrix.sync.aligned.m8n8.x{count}{trans}{name}.b16 [{at}], {words(count)};
    bar.warp.sync 0xffffffff;
    setp.lt.u32 %p0, %r0, {8 * count}; @!%p0 ret;
    ld.shared.v2.b64 {{%rd12, %rd13}}, [%r4];
    add.s64 %rd15, %rd1, %rd10; st.global.v2.b64 [%rd15], {{%rd12, %rd13}};"""
    result, arrays = run(kernel(body, 2), rows, np.zeros((32, 16), np.uint8))
    assert not result.findings
    assert np.array_equal(arrays[1][: 8 * count], rows[: 8 * count])


def test_stmatrix_m16n8_stores_columns():
    body = f"""{FILL} shl.b32 %r5, %r0, 2; add.s32 %r6, %r2, %r5; ld.shared.b32 %r10, [%r6];
    .shared .align 16 .b8 back[1024]; mov.u32 %r4, back; add.s32 %r4, %r4, %r1;
    stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r4], {{%r10}};
    bar.warp.sync 0xffffffff; setp.lt.u32 %p0, %r0, 8; @!%p0 ret;
    ld.shared.v2.b64 {{%rd12, %rd13}}, [%r4];
    add.s64 %rd15, %rd1, %rd10; st.global.v2.b64 [%rd15], {{%rd12, %rd13}};"""
    rows = random_rows(3)
    _, arrays = run(kernel(body, 2), rows, np.zeros((8, 16), np.uint8))
    for lane in range(32):
        for i in range(4):
            column, row = 2 * (lane % 4) + i % 2, lane // 4 + 8 * (i // 2)
            assert arrays[1][column, row] == rows.reshape(-1)[4 * lane + i]


def test_movmatrix_transposes_in_registers():
    body = """mov.u32 %r0, %tid.x; mul.wide.u32 %rd10, %r0, 4; add.s64 %rd11, %rd0, %rd10; add.s64 %rd12, %rd1, %rd10;
    ld.global.b32 %r1, [%rd11]; movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1; st.global.b32 [%rd12], %r2;"""
    matrix = np.random.default_rng(1).integers(0, 1 << 16, (8, 8)).astype(np.uint16)
    _, arrays = run(kernel(body, 2), matrix, np.zeros((8, 8), np.uint16))
    assert np.array_equal(arrays[1], matrix.T)


@pytest.mark.parametrize(
    "form", ["m8n8.x1.shared.b8", "m16n16.x1.shared.b8", "m16n16.x4.trans.shared.b8", "m8n16.x1.shared.b8x16"]
)
def test_what_is_no_form_is_refused(form: str):
    with pytest.raises(DiagnosticError, match="not a form of this instruction"):
        sim.load(kernel(f"ldmatrix.sync.aligned.{form} {{%r0}}, [%r1];"), file="k.ptx")


def test_operands_may_follow_the_modifiers_at_once() -> None:
    text = kernel("mov.b64{%r0, %r1}, 0x300000002; add.s32%r2, %r0, %r1; st.global.b32[%rd0], %r2;", 1)
    result, (found,) = run(text, np.zeros(1, np.uint32))
    assert not result.findings
    assert found.tolist() == [5]
