"""mma.sync with block scales against NumPy, for each kind, type of scale and selector."""

from __future__ import annotations

import secrets

import numpy as np
import pytest
from sim.instructions.test_tcgen05_mma import draw, small

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError

SEED = secrets.randbits(32)


def kernel(instruction: str, arch: str = "sm_120a") -> str:
    """One warp: %a, %b, %d and the scales from `words` [12, 32], D to the first four rows."""
    loads = "\n".join(f"ld.global.b32 %w{i}, [%rd1+{128 * i}];" for i in range(12))
    stores = "\n".join(f"st.global.b32 [%rd1+{128 * i}], %w{i};" for i in range(4))
    return f"""
.version 9.1
.target {arch}
.address_size 64
.visible .entry k(.param .u64 words) {{
  .reg .b64 %rd<4>; .reg .b32 %w<12>; .reg .b32 %r0;
  ld.param.u64 %rd1, [words]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 4; add.s64 %rd1, %rd1, %rd2;
  {loads}
  {instruction}
  {stores}
  ret;
}}
"""


def registers(patterns: np.ndarray, place: object, packed: int, count: int) -> np.ndarray:
    """A matrix of patterns as registers [count, 32], where `place(lane, element)` names row and column."""
    words = np.zeros((count, 32), np.uint64)
    bits = 32 // packed
    for lane in range(32):
        for element in range(count * packed):
            row, column = place(lane, element)  # type: ignore[operator]
            words[element // packed, lane] |= np.uint64(
                int(patterns[row, column]) << bits * (element % packed)
            )
    return words.astype(np.uint32)


CASES = [
    ("mxf8f6f4", "e4m3", "e5m2", "ue8m0", ".scale_vec::1X", 32),
    ("mxf8f6f4", "e2m1", "e3m2", "ue8m0", "", 32),
    ("mxf4", "e2m1", "e2m1", "ue8m0", ".scale_vec::2X", 32),
    ("mxf4nvf4", "e2m1", "e2m1", "ue8m0", ".scale_vec::2X", 32),
    ("mxf4nvf4", "e2m1", "e2m1", "ue4m3", ".scale_vec::4X", 16),
]


@pytest.mark.parametrize(("kind", "a", "b", "scale", "vector", "block"), CASES)
@pytest.mark.parametrize("last", [False, True])
def test_each_kind(kind: str, a: str, b: str, scale: str, vector: str, block: int, last: bool) -> None:
    rng = np.random.default_rng(SEED)
    k = 32 if kind == "mxf8f6f4" else 64
    packed = 4 if k == 32 else 8
    (pa, va), (pb, vb) = draw(rng, a, (16, k)), draw(rng, b, (8, k))
    shift = {name: 2 if name == "e2m1" and k == 32 else 0 for name in (a, b)}
    c = rng.standard_normal((16, 8)).astype(np.float32)
    count = k // block
    fa, fb = (rng.integers(120, 134) + rng.integers(0, 3, (rows, count)) for rows in (16, 8))
    if scale == "ue4m3":
        fa, fb = (rng.integers(0, 127, (rows, count)) for rows in (16, 8))
    worth = [2.0 ** (f - 127.0) if scale == "ue8m0" else small(f, "e4m3") for f in (fa, fb)]
    byte = 4 - count if last else 0
    thread_a, thread_b = (1, 3) if last else (0, 0)
    words = rng.integers(0, 1 << 32, (12, 32), np.uint32)

    def at_a(lane: int, element: int) -> tuple[int, int]:
        register, part = divmod(element, packed)
        return lane // 4 + 8 * (register & 1), lane % 4 * packed + part + 4 * packed * (register >> 1)

    def at_b(lane: int, element: int) -> tuple[int, int]:
        register, part = divmod(element, packed)
        return lane // 4, lane % 4 * packed + part + 4 * packed * register

    words[0:4] = registers(
        c.view(np.uint32), lambda lane, i: (lane // 4 + 8 * (i >> 1), lane % 4 * 2 + (i & 1)), 1, 4
    )
    words[4:8] = registers(pa << shift[a], at_a, packed, 4)
    words[8:10] = registers(pb << shift[b], at_b, packed, 2)
    octets = words[10:12].view(np.uint8).reshape(2, 32, 4)
    for lane in range(32):
        if lane % 4 // 2 == thread_a:
            octets[0, lane, byte : byte + count] = fa[lane // 4 + 8 * (lane % 2)]
        if lane % 4 == thread_b:
            octets[1, lane, byte : byte + count] = fb[lane // 4]
    text = (
        f"mma.sync.aligned.m16n8k{k}.row.col.kind::{kind}.block_scale{vector}.f32.{a}.{b}.f32.{scale} "
        "{%w0, %w1, %w2, %w3}, {%w4, %w5, %w6, %w7}, {%w8, %w9}, {%w0, %w1, %w2, %w3}, "
        f"{{%w10}}, {{{byte}, {thread_a}}}, {{%w11}}, {{{byte}, {thread_b}}};"
    )
    module = sim.load(kernel(text), file="k.ptx")
    held = module.memory.allocate(words, "words")
    result = module.launch("k", (1,), (32,), [held])
    assert not result.findings, result.findings.text("k")
    found = held.array()[:4].view(np.float32)
    left, right = va * np.repeat(worth[0], block, 1), vb * np.repeat(worth[1], block, 1)
    exact, error = left @ right.T + c, np.abs(left) @ np.abs(right).T + np.abs(c)
    for lane in range(32):
        for i in range(4):
            row, column = lane // 4 + 8 * (i >> 1), lane % 4 * 2 + (i & 1)
            assert abs(float(found[i, lane]) - exact[row, column]) <= error[row, column] * 2.0**-22, (
                f"seed {SEED}"
            )


def test_invalid_forms_are_refused() -> None:
    good = (
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 "
        "{%w0, %w1, %w2, %w3}, {%w4, %w5, %w6, %w7}, {%w8, %w9}, {%w0, %w1, %w2, %w3}, "
        "{%w10}, {0, 0}, {%w11}, {0, 0};"
    )
    for text, arch, message in (
        (good, "sm_90a", "expected sm_120a"),
        (good.replace("ue8m0", "ue4m3"), "sm_120a", "ue4m3"),
        (good.replace("scale_vec::2X", "scale_vec::1X"), "sm_120a", "scale_vec::1X"),
        (good.replace("{%w10}, {0, 0}", "{%w10}, 0"), "sm_120a", "byte-id"),
    ):
        with pytest.raises(DiagnosticError, match=message):
            sim.load(kernel(text, arch), file="k.ptx").launch("k", (1,), (32,), [0])
    module = sim.load(kernel(good.replace("{%w10}, {0, 0}", "{%w10}, {3, 0}")), file="k.ptx")
    words = module.memory.allocate(np.zeros((12, 32), np.uint32))
    result = module.launch("k", (1,), (32,), [words])
    assert any("byte-id 3" in finding.message for finding in result.findings)
