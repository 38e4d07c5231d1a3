"""wgmma: every type and shape against NumPy, every descriptor, and what its missing synchronization leads to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sim.instructions.matrices import KINDS, a_place, c_place, collect, distribute, pack
from sim.kernels import HEADER

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.sim import machine
from tessera_tools.sim.instructions import wgmma
from tessera_tools.sim.matrix_descriptor import encode

DEPTH = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256}
A_AT, B_AT = 1024, 1024 + 32768
"""Shared addresses of A and B: the first KiB is the system's."""


def swizzled(address: int, swizzle: int) -> int:
    """The ISA's figures: within rows of 128 bytes, 16-byte chunks are permuted by the row."""
    if not swizzle:
        return address
    return address ^ (address >> 7 & (swizzle // 16 - 1)) << 4


def image(words: np.ndarray, swizzle: int, at: int, *, transposed: bool) -> tuple[np.ndarray, int, int]:
    """Rows of bytes [rows, 32] (transposed: [k, 2 * extent]) → shared memory's bytes, leading and stride offset."""
    content = np.zeros(32768, np.uint8)
    rows = words.view(np.uint8).reshape(len(words), -1)
    step = swizzle or 16
    count = len(rows)
    if not transposed:
        leading, stride = (128, 256) if not swizzle else (16, 8 * step)
        if not swizzle:
            stride, leading = 128, 16 * count
        for row in range(count):
            for chunk in range(2):
                offset = row % 8 * step + row // 8 * stride + chunk * (16 if swizzle else leading)
                put = swizzled(at + offset, swizzle) - at
                content[put : put + 16] = rows[row, 16 * chunk : 16 * chunk + 16]
        return content, leading, stride
    chunks = rows.shape[1] // 16
    if not swizzle:
        stride, leading = 128, 128 * chunks
    else:
        stride, leading = 8 * step, 16 * step
    wide = step // 16
    for k in range(count):
        for chunk in range(chunks):
            if swizzle:
                offset = chunk % wide * 16 + chunk // wide * leading + k % 8 * step + k // 8 * stride
            else:
                offset = chunk * stride + k % 8 * 16 + k // 8 * leading
            put = swizzled(at + offset, swizzle) - at
            content[put : put + 16] = rows[k, 16 * chunk : 16 * chunk + 16]
    return content, leading, stride


def names(prefix: str, count: int) -> str:
    return "{" + ", ".join(f"%{prefix}{i}" for i in range(count)) + "}"


def kernel(instruction: str, registers: int, *, from_registers: bool = False, **drop: str) -> str:
    """A warpgroup that copies two images to shared memory, runs `instruction`, and stores D.

    `drop` replaces parts: fence, proxy, wait, between.
    """
    fence = drop.get("fence", "wgmma.fence.sync.aligned;")
    proxy = drop.get("proxy", "fence.proxy.async.shared::cta;")
    wait = drop.get("wait", "wgmma.wait_group.sync.aligned 0;")
    loads = "\n".join(f"ld.global.b32 %d{i}, [%rd4+{512 * i}];" for i in range(registers))
    loads_a = "\n".join(f"ld.global.b32 %a{i}, [%rd5+{512 * i}];" for i in range(4 if from_registers else 0))
    stores = "\n".join(f"st.global.b32 [%rd4+{512 * i}], %d{i};" for i in range(registers))
    return f"""{HEADER}
.extern .shared .align 1024 .b8 memory[];
.visible .entry k(.param .u64 image, .param .u64 d, .param .u64 a, .param .u64 da, .param .u64 db, .param .u32 scale) {{
  .reg .b64 %rd<16>; .reg .b32 %r<16>; .reg .b32 %d<256>; .reg .b32 %a<4>; .reg .pred %p<4>; .reg .b64 %x<4>;
  ld.param.u64 %rd0, [image]; ld.param.u64 %rd1, [d]; ld.param.u64 %rd2, [a];
  ld.param.u64 %rd6, [da]; ld.param.u64 %rd7, [db]; ld.param.u32 %r5, [scale];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd3, %r0, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  {loads}
  {loads_a}
  mul.wide.u32 %rd8, %r0, 16; add.s64 %rd9, %rd0, %rd8;
  mov.u32 %r1, memory; shl.b32 %r2, %r0, 4; add.s32 %r1, %r1, %r2; mov.u32 %r3, 0;
copy:
  ld.global.v2.b64 {{%x0, %x1}}, [%rd9];
  st.shared.v2.b64 [%r1], {{%x0, %x1}};
  add.s64 %rd9, %rd9, 2048; add.s32 %r1, %r1, 2048; add.s32 %r3, %r3, 1;
  setp.lt.u32 %p0, %r3, 32; @%p0 bra copy;
  {proxy}
  bar.sync 0;
  setp.ne.u32 %p1, %r5, 0;
  {fence}
  {instruction}
  {drop.get("between", "")}
  wgmma.commit_group.sync.aligned;
  {wait}
  {stores}
  ret;
}}
"""


def run(text: str, memory: np.ndarray, d: np.ndarray, a: np.ndarray, descriptors: tuple[int, int], scale: int,
        **options: Any) -> tuple[Any, np.ndarray]:  # fmt: skip
    module = sim.load(text, file="k.ptx")
    buffers = [module.memory.allocate(array, name) for name, array in (("image", memory), ("d", d), ("a", a))]
    result = module.launch(
        "k",
        (1,),
        (128,),
        [*buffers, *descriptors, scale],
        shared_bytes=65536,
        max_instructions=100_000,
        **options,
    )
    return result, buffers[1].array()


def shape_of(a: str, n: int) -> str:
    return f"m64n{n}k{DEPTH[a]}"


class Case:
    """One product: random operands, their images, the kernel, and the expected D."""

    def __init__(self, a: str, b: str, d: str, n: int, *, swizzles: tuple[int, int] = (128, 128),
                 transposes: tuple[int, int] = (0, 0), signs: tuple[int, int] = (1, 1), from_registers: bool = False,
                 seed: int = 0, saturate: bool = False) -> None:  # fmt: skip
        rng = np.random.default_rng(seed)
        k = DEPTH[a]
        ka, kb = KINDS[a], KINDS[b]
        self.a = ka.draw(rng, (64, k))
        self.b = kb.draw(rng, (k, n))
        self.n, self.kind = n, d
        halves, floats = a in ("f16", "bf16"), d != "s32"
        left = pack(self.a.T if transposes[0] else self.a, ka.bits)
        right = pack(self.b if transposes[1] else np.ascontiguousarray(self.b.T), kb.bits)
        first, lead_a, stride_a = image(left, swizzles[0], A_AT, transposed=bool(transposes[0]))
        second, lead_b, stride_b = image(right, swizzles[1], B_AT, transposed=bool(transposes[1]))
        self.memory = np.concatenate([first, second])
        self.descriptors = (
            encode(A_AT, lead_a, stride_a, swizzles[0]),
            encode(B_AT, lead_b, stride_b, swizzles[1]),
        )
        self.bits = 16 if d == "f16" else 32
        self.count = n // 2 * self.bits // 32
        start = {
            "f32": lambda: rng.standard_normal((64, n)).astype(np.float32).view(np.uint32),
            "f16": lambda: rng.standard_normal((64, n)).astype(np.float16).view(np.uint16),
            "s32": lambda: rng.integers(-1000, 1000, (64, n)).astype(np.int32).view(np.uint32),
        }[d]()
        self.c = start
        self.d = np.concatenate(
            [distribute(start[16 * w : 16 * w + 16], n // 2, self.bits, c_place) for w in range(4)], axis=1
        )
        self.registers = np.concatenate(
            [
                distribute(self.a[16 * w : 16 * w + 16], k * ka.bits * 16 // 32 // ka.bits, ka.bits,
                           lambda lane, i: a_place(16, ka.bits, lane, i))
                for w in range(4)
            ],
            axis=1,
        )  # fmt: skip
        operands = [names("d", self.count), names("a", 4) if from_registers else "%rd6", "%rd7", "%p1"]
        operands += [str(sign) for sign in signs] if floats else []
        operands += [str(t) for t in (transposes[1:] if from_registers else transposes)] if halves else []
        kinds = f".{d}.{a}.{b}" + (".and.popc" if a == "b1" else "")
        sat = ".satfinite" if saturate else ""
        self.instruction = f"wgmma.mma_async.sync.aligned.{shape_of(a, n)}{sat}{kinds} {', '.join(operands)};"
        self.from_registers = from_registers
        self.product = signs[0] * signs[1] * (ka.value(self.a) @ kb.value(self.b))

    def value(self, patterns: np.ndarray) -> np.ndarray:
        dtype: Any = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[self.kind]
        return patterns.view(dtype).astype(np.float64)

    def run(self, scale: int = 1, **options: Any) -> tuple[Any, np.ndarray]:
        drop = {key: options.pop(key) for key in ("fence", "proxy", "wait", "between") if key in options}
        text = kernel(self.instruction, self.count, from_registers=self.from_registers, **drop)
        result, d = run(text, self.memory, self.d, self.registers, self.descriptors, scale, **options)
        parts = [collect(d[:, 32 * w : 32 * w + 32], (16, self.n), self.bits, c_place) for w in range(4)]
        return result, self.value(np.concatenate(parts))

    def check(self, scale: int = 1, **options: Any) -> None:
        result, found = self.run(scale, **options)
        assert not result.findings, result.findings.text()
        expected = self.product + (self.value(self.c) if scale else 0)
        if self.kind == "s32":
            assert np.array_equal(found, expected)
        else:
            size = np.abs(expected).max()
            assert np.abs(found - expected).max() <= size * (2.0**-23 if self.kind == "f32" else 2.0**-10)


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize(
    ("a", "b", "d"),
    [
        ("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32"),
        ("e4m3", "e4m3", "f32"), ("e4m3", "e5m2", "f16"), ("e5m2", "e4m3", "f32"), ("e5m2", "e5m2", "f16"),
        ("s8", "s8", "s32"), ("s8", "u8", "s32"), ("u8", "s8", "s32"), ("u8", "u8", "s32"), ("b1", "b1", "s32"),
    ],
)  # fmt: skip
def test_every_type_multiplies_and_accumulates(a: str, b: str, d: str, mode: str):
    Case(a, b, d, 16).check(mode=mode)


@pytest.mark.parametrize("a", ["f16", "bf16", "tf32", "e4m3", "s8", "u8", "b1"])
def test_a_may_come_from_registers(a: str):
    Case(a, a, "s32" if a in ("s8", "u8", "b1") else "f32", 24, from_registers=True).check()


@pytest.mark.parametrize("n", range(8, 257, 8))
def test_every_n_of_f16(n: int):
    Case("f16", "f16", "f32", n, seed=n).check(seed=n)


@pytest.mark.parametrize("n", [8, 16, 24, 32, 48, 256])
def test_every_n_of_integers_up_to_24_is_a_multiple_of_8_then_of_16(n: int):
    Case("s8", "s8", "s32", n).check()


@pytest.mark.parametrize("swizzle_b", [0, 32, 64, 128])
@pytest.mark.parametrize("swizzle_a", [0, 32, 64, 128])
@pytest.mark.parametrize("transposes", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_every_swizzle_and_transpose(swizzle_a: int, swizzle_b: int, transposes: tuple[int, int]):
    Case("f16", "f16", "f32", 128, swizzles=(swizzle_a, swizzle_b), transposes=transposes).check()


@pytest.mark.parametrize("signs", [(1, -1), (-1, 1), (-1, -1)])
def test_scales_negate_a_and_b(signs: tuple[int, int]):
    Case("f16", "f16", "f32", 8, signs=signs).check()


def test_scale_d_of_zero_ignores_d():
    Case("bf16", "bf16", "f32", 8).check(scale=0)


def test_satfinite_clamps_integers():
    case = Case("s8", "s8", "s32", 8, saturate=True)
    case.a[:], case.b[:] = 0x7F, 0x7F
    left, *_ = image(pack(case.a, 8), 128, A_AT, transposed=False)
    right, *_ = image(pack(np.ascontiguousarray(case.b.T), 8), 128, B_AT, transposed=False)
    case.memory = np.concatenate([left, right])
    case.d[:] = 0x7FFFFFF0
    _, found = case.run()
    assert (found == 2**31 - 1).all()


@pytest.mark.parametrize("mode", ["late", "early"])
def test_a_missing_wait_is_found(mode: str):
    result, _ = Case("f16", "f16", "f32", 8).run(wait="", mode=mode)
    assert "in-flight" in result.findings.kinds()


def test_without_its_wait_the_accumulator_is_poison():
    _, found = Case("f16", "f16", "f32", 8).run(wait="")
    assert np.isnan(found).all()


@pytest.mark.parametrize("mode", ["late", "early"])
def test_a_missing_fence_is_found(mode: str):
    result, _ = Case("f16", "f16", "f32", 8).run(fence="", mode=mode)
    assert result.findings.kinds() == {"asynchronous"}


@pytest.mark.parametrize("mode", ["late", "early"])
def test_a_missing_proxy_fence_is_found(mode: str):
    result, _ = Case("f16", "f16", "f32", 8).run(proxy="", mode=mode)
    assert result.findings.kinds() == {"proxy"}


@pytest.mark.parametrize("mode", ["late", "early"])
def test_a_missing_proxy_fence_after_cp_async_is_a_warning(mode: str):
    """Kernels of CUTLASS and Triton have none."""
    case = Case("f16", "f16", "f32", 8)
    text = kernel(case.instruction, case.count, proxy="cp.async.wait_all;")
    text = text.replace("ld.global.v2.b64 {%x0, %x1}, [%rd9];", "")
    text = text.replace("st.shared.v2.b64 [%r1], {%x0, %x1};", "cp.async.cg.shared.global [%r1], [%rd9], 16;")
    result, _ = run(text, case.memory, case.d, case.registers, case.descriptors, 1, mode=mode)
    assert [(found.kind, found.severity) for found in result.findings] == [("proxy", "warning")]
    fenced = text.replace("cp.async.wait_all;", "cp.async.wait_all; fence.proxy.async;")
    result, _ = run(fenced, case.memory, case.d, case.registers, case.descriptors, 1, mode=mode)
    assert not result.findings
    stored = text.replace("bar.sync 0;", "st.shared.b32 [%r1+-65536], 0; bar.sync 0;")
    result, _ = run(stored, case.memory, case.d, case.registers, case.descriptors, 1, mode=mode)
    assert ("proxy", "error") in [(found.kind, found.severity) for found in result.findings]


def test_writing_an_a_register_before_the_wait_is_found_and_felt():
    case = Case("f16", "f16", "f32", 8, from_registers=True)
    result, found = case.run(between="mov.b32 %a0, 0;")
    assert result.findings.kinds() == {"in-flight"}
    assert not np.allclose(found, case.product + case.value(case.c))


def test_a_use_between_two_wgmmas_needs_another_fence():
    case = Case("f16", "f16", "f32", 8)
    again = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; add.u32 %d0, %d0, 0;"
    result, _ = case.run(between=f"{again} {case.instruction}")
    assert result.findings.kinds() == {"asynchronous"}
    result, _ = case.run(between=f"{again} wgmma.fence.sync.aligned; {case.instruction}")
    assert not result.findings


@pytest.mark.parametrize("mode", ["late", "early"])
def test_accumulators_may_follow_each_other_without_a_fence(mode: str):
    case = Case("f16", "f16", "f32", 8)
    result, found = case.run(between=case.instruction, mode=mode)
    assert not result.findings
    assert np.allclose(found, 2 * case.product + case.value(case.c), atol=1e-5)


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("commit", ["", "wgmma.commit_group.sync.aligned;"])
def test_products_in_flight_may_read_the_same_registers(commit: str, mode: str):
    case = Case("f16", "f16", "f32", 8, from_registers=True)
    result, found = case.run(between=f"{commit} {case.instruction}", mode=mode)
    assert not result.findings
    assert np.allclose(found, 2 * case.product + case.value(case.c), atol=1e-5)


@pytest.mark.parametrize("mode", ["late", "early"])
def test_overwriting_shared_memory_before_the_wait_is_found(mode: str):
    result, _ = Case("f16", "f16", "f32", 8).run(between="bar.sync 0; st.shared.b32 [memory], 0;", mode=mode)
    (found,) = (found for found in result.findings if found.kind == "in-flight")
    assert "write of 4 bytes" in found.message and "still being read by an asynchronous" in found.message
    assert found.instruction == "st.shared.b32"


@pytest.mark.parametrize("transposes", [(0, 0), (1, 1)])
def test_any_number_of_its_warps_may_issue_it_together(
    transposes: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: set[int] = set()
    begin = wgmma._Product.start

    def start(self: Any, warps: list[Any], *rest: Any) -> None:
        counts.add(len(warps))
        begin(self, warps, *rest)

    monkeypatch.setattr(wgmma._Product, "start", start)
    monkeypatch.setattr(machine, "_TOGETHER", 0.6)
    for seed in range(40):
        Case("f16", "f16", "f32", 24, transposes=transposes, seed=seed).check(seed=seed)
    assert counts == {1, 2, 3, 4}


def test_a_descriptor_outside_shared_memory_is_found():
    case = Case("f16", "f16", "f32", 8)
    case.descriptors = (case.descriptors[0], encode(200 * 1024, 16, 1024, 128))
    result, _ = case.run()
    assert "out-of-bounds" in result.findings.kinds()


def test_a_part_of_a_warpgroup_cannot_run_it():
    case = Case("f16", "f16", "f32", 8)
    module = sim.load(kernel(case.instruction, case.count), file="k.ptx")
    buffers = [module.memory.allocate(np.zeros(65536, np.uint8)) for _ in range(3)]
    result = module.launch("k", (1,), (64,), [*buffers, *case.descriptors, 1], shared_bytes=65536)
    assert "illegal" in result.findings.kinds()


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%d0}, %rd6, %rd7, %p1, 1, 1, 0, 0;", "has N of 12"),
        ("wgmma.mma_async.sync.aligned.m64n8k8.f32.f16.f16 {%d0}, %rd6, %rd7, %p1, 1, 1, 0, 0;", "has .m64n8k8"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f16.bf16.bf16 {%d0}, %rd6, %rd7, %p1, 1, 1, 0, 0;", "has D of .f16"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.bf16 {%d0}, %rd6, %rd7, %p1, 1, 1, 0, 0;", "multiplies"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0}, %rd6, %rd7, %p1, 1, 1, 0, 0;", "1 registers for D"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0}, %rd6, %rd7, %p1, 1, 1;", "has 6 operands"),
        ("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%d0}, %rd6, %rd7, %p1, 1, 1;", "has 6 operands"),
        ("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%d0}, %rd6, %rd7, %r0, 0, %p1, 1, 1, 0, 0;", "sparse"),
    ],
)  # fmt: skip
def test_what_is_no_wgmma_is_refused(instruction: str, message: str):
    with pytest.raises(DiagnosticError, match=message):
        sim.load(kernel(instruction, 4), file="k.ptx")
