"""Tensor memory: shapes of ld, st and cp by the figures of the ISA; allocation; missing synchronization."""

from __future__ import annotations

import re
import secrets

import numpy as np
import pytest
from sim.instructions.tensor_memory_kernel import B_AT, COLUMNS, kernel, run
from sim.instructions.test_tcgen05_mma import Case, octets, place

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError

SEED = secrets.randbits(32)


def names(count: int, first: int = 0) -> str:
    return "{" + ", ".join(f"%d{first + number}" for number in range(count)) + "}"


def cell(shape: str, thread: int, register: int, split: int) -> tuple[int, int]:
    """Lane and column of a register, by the figures of the ISA."""
    if shape == "32x32b":
        return thread, register
    if shape == "16x64b":
        return thread // 4 + 8 * (thread & 1), 2 * register + (thread >> 1 & 1)
    if shape == "16x128b":
        return thread // 4 + 8 * (register & 1), 4 * (register >> 1) + thread % 4
    if shape == "16x256b":
        return thread // 4 + 8 * (register >> 1 & 1), 8 * (register >> 2) + 2 * (thread % 4) + (register & 1)
    return thread % 16, register + (split if thread >= 16 else 0)


REGISTERS = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}


def registers_kernel(body: str, count: int, arch: str = "sm_100a") -> str:
    """Each thread has `count` words in %d0 and on, from and to `words`[thread]; %mine is the warp's first lane."""
    loads = "\n".join(f"ld.global.b32 %d{i}, [%rd1+{4 * i}];" for i in range(count))
    stores = "\n".join(f"st.global.b32 [%rd1+{4 * i}], %d{i};" for i in range(count))
    return f"""
.version 8.8
.target {arch}
.address_size 64
.visible .entry k(.param .u64 words) {{
  .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .b32 %d<300>; .reg .pred %p<4>; .reg .b32 %t; .reg .b32 %mine;
  .shared .align 8 .b8 place[8];
  ld.param.u64 %rd1, [words]; mov.u32 %r0, %tid.x; shr.u32 %r2, %r0, 5; setp.eq.u32 %p0, %r2, 0;
  mul.wide.u32 %rd2, %r0, {4 * count}; add.s64 %rd1, %rd1, %rd2;
  @%p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 512;
  bar.sync 0;
  ld.shared.u32 %t, [place]; shl.b32 %mine, %r2, 21; add.s32 %mine, %mine, %t;
  {loads}
  {body}
  {stores}
  bar.sync 0;
  @%p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 512;
  ret;
}}
"""


def run_registers(body: str, words: np.ndarray, **options: object) -> tuple[sim.Result, np.ndarray]:
    arch = str(options.pop("arch", "sm_100a"))
    module = sim.load(registers_kernel(body, words.shape[1], arch), file="k.ptx")
    held = module.memory.allocate(words, "words")
    result = module.launch("k", (1,), (len(words),), [held], max_instructions=100_000, **options)  # type: ignore[arg-type]
    return result, held.array()


WAITS = "tcgen05.wait::st.sync.aligned;", "tcgen05.wait::ld.sync.aligned;"


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize(("shape", "count"), [("32x32b", 1), ("32x32b", 128), ("16x64b", 8), ("16x128b", 4),
                                              ("16x256b", 2),
                                              ("16x32bx2", 4)])  # fmt: skip
def test_shapes_of_ld_and_st(shape: str, count: int, mode: str) -> None:
    registers = count * REGISTERS[shape]
    words = np.random.default_rng(SEED).integers(0, 1 << 32, (128, max(128, registers)), np.uint32)
    split = ", 64" if shape == "16x32bx2" else ""
    # Stored in rows of 32x32b, loaded in the shape.
    body = f"""tcgen05.st.sync.aligned.32x32b.x128.b32 [%mine], {names(128)};
  {WAITS[0]}
  tcgen05.ld.sync.aligned.{shape}.x{count}.b32 {names(registers)}, [%mine]{split};
  {WAITS[1]}"""
    result, after = run_registers(body, words, mode=mode)
    assert not result.findings, result.findings.text("k")
    for thread in range(128):
        for register in range(registers):
            lane, column = cell(shape, thread % 32, register, 64)
            assert after[thread, register] == words[thread // 32 * 32 + lane, column], f"seed {SEED}"
    # Stored in the shape, loaded in rows.
    body = f"""tcgen05.st.sync.aligned.32x32b.x128.b32 [%mine], {names(128)};
  {WAITS[0]}
  tcgen05.st.sync.aligned.{shape}.x{count}.b32 [%mine]{split}, {names(registers)};
  {WAITS[0]}
  tcgen05.ld.sync.aligned.32x32b.x128.b32 {names(128)}, [%mine];
  {WAITS[1]}"""
    result, after = run_registers(body, words, mode=mode)
    assert not result.findings, result.findings.text("k")
    expected = words.copy()
    for thread in range(128):
        for register in range(registers):
            lane, column = cell(shape, thread % 32, register, 64)
            expected[thread // 32 * 32 + lane, column] = words[thread, register]
    assert (after[:, :128] == expected[:, :128]).all()


@pytest.mark.parametrize("columns", ["-8", "512", "0xFFFFFFFFFFFFFFFF", "1.5", "%d0"])
def test_the_halves_are_a_number_of_columns_apart(columns: str) -> None:
    text = f"tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {{%d1}}, [%t], {columns};"
    with pytest.raises(DiagnosticError, match="needs 0 to 511 columns between the halves"):
        run_registers(text, np.zeros((128, 4), np.uint32))


def test_packed_halves_use_two_columns_each() -> None:
    words = np.random.default_rng(SEED).integers(0, 1 << 32, (128, 16), np.uint32)
    body = f"""tcgen05.st.sync.aligned.32x32b.x4.unpack::16b.b32 [%mine], {names(4)};
  {WAITS[0]}
  tcgen05.ld.sync.aligned.32x32b.x8.b32 {names(8, 4)}, [%mine];
  {WAITS[1]}
  tcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32 {names(4, 12)}, [%mine];
  {WAITS[1]}"""
    result, after = run_registers(body, words)
    assert not result.findings
    assert (after[:, 4:12:2] == words[:, :4] & 0xFFFF).all() and (
        after[:, 5:12:2] == words[:, :4] >> 16
    ).all()
    assert (after[:, 12:16] == words[:, :4]).all()


def test_reductions_of_loads() -> None:
    words = np.random.default_rng(SEED).standard_normal((128, 12)).astype(np.float32)
    body = f"""tcgen05.st.sync.aligned.32x32b.x4.b32 [%mine], {names(4)};
  {WAITS[0]}
  tcgen05.ld.red.sync.aligned.32x32b.x4.max.f32 {names(4, 4)}, %d8, [%mine];
  tcgen05.ld.red.sync.aligned.32x32b.x4.min.abs.f32 {names(4, 20)}, %d9, [%mine];
  {WAITS[1]}"""
    result, after = run_registers(body, words.view(np.uint32), arch="sm_103a")
    assert not result.findings, result.findings.text("k")
    assert (after[:, 8].view(np.float32) == words[:, :4].max(axis=1)).all()
    assert (after[:, 9].view(np.float32) == np.abs(words[:, :4]).min(axis=1)).all()
    with pytest.raises(
        DiagnosticError,
        match="needs tcgen05.ld.red, .* expected one of sm_103a, sm_107a, sm_110a",
    ):
        run_registers(body, words.view(np.uint32))


COPIES = {
    "128x256b": (128, 2, lambda row: [row]),
    "128x128b": (128, 1, lambda row: [row]),
    "4x256b": (4, 2, lambda row: [32 * row]),
    "64x128b.warpx2::02_13": (64, 1, lambda row: [row, row + 64]),
    "64x128b.warpx2::01_23": (64, 1, lambda row: [row % 32 + row // 32 * 64, row % 32 + row // 32 * 64 + 32]),
    "32x128b.warpx4": (32, 1, lambda row: [row, row + 32, row + 64, row + 96]),
}


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("shape", COPIES)
def test_shapes_of_cp(shape: str, group: int) -> None:
    rng = np.random.default_rng(SEED)
    count, units, lanes = COPIES[shape]
    image = np.zeros((group, 65536), np.uint8)
    words = rng.integers(0, 1 << 32, (group, 128, 16), np.uint32)
    rows = rng.integers(0, 256, (group, count, 16 * units)).astype(np.uint8)
    descriptor = 0
    for cta in range(group):
        descriptor = place(rows[cta], B_AT, 0, image[cta])
    result, after = run(f"tcgen05.cp.cta_group::{group}.{shape} [%t+4], %x0;", image, words, (descriptor, 0, 0, 0),
                        group=group)  # fmt: skip
    assert not result.findings, result.findings.text("k")
    expected = words.copy()
    for cta in range(group):
        for row in range(count):
            for lane in lanes(row):
                expected[cta, lane, 4 : 4 + 4 * units] = rows[cta, row].view(np.uint32)
    assert (after == expected).all(), f"seed {SEED}"


def test_cp_takes_the_descriptor_of_a_matrix() -> None:
    """Bits 46 to 48 are 1, as in the descriptors of tcgen05.mma."""
    image = np.zeros((1, 65536), np.uint8)
    words = np.zeros((1, 128, 8), np.uint32)
    wrong = place(np.zeros((32, 16), np.uint8), B_AT, 0, image[0]) & ~(1 << 46)
    result, _ = run("tcgen05.cp.cta_group::1.32x128b.warpx4 [%t], %x0;", image, words, (wrong, 0, 0, 0))
    assert any("of the source; expected 1 in bits 46 to 48" in one.message for one in result.findings)


@pytest.mark.parametrize(("name", "format"), [("e2m1", "b4x16_p64"), ("e3m2", "b6x16_p32")])
def test_cp_unpacks_elements_to_bytes(name: str, format: str) -> None:
    patterns = (
        np.random.default_rng(SEED).integers(0, 16 if name == "e2m1" else 64, (128, 16)).astype(np.uint8)
    )
    image = np.zeros((1, 65536), np.uint8)
    descriptor = place(octets(patterns, name, "f8f6f4"), B_AT, 0, image[0])
    words = np.zeros((1, 128, 8), np.uint32)
    text = f"tcgen05.cp.cta_group::1.128x128b.b8x16.{format} [%t], %x0;"
    result, after = run(text, image, words, (descriptor, 0, 0, 0))
    assert not result.findings
    found = np.ascontiguousarray(after[0, :, :4]).view(np.uint8)
    assert (found == (patterns << 2 if name == "e2m1" else patterns)).all()


def test_shift_moves_31_lanes_down() -> None:
    words = np.random.default_rng(SEED).integers(0, 1 << 32, (1, 128, 16), np.uint32)
    result, after = run(
        f"tcgen05.shift.cta_group::1.down [%t+{(32 << 16) + 8}];", np.zeros((1, 65536), np.uint8), words
    )
    assert not result.findings
    expected = words.copy()
    expected[0, 32:63, 8:16] = words[0, 33:64, 8:16]
    assert (after == expected).all()


# -- missing synchronization

SYNCHRONIZATIONS = ["proxy", "wait_store", "before", "after", "commit", "wait", "after_wait", "wait_load"]


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("missing", SYNCHRONIZATIONS)
def test_a_product_without_one_of_its_synchronizations_is_reported(
    missing: str, group: int, mode: str
) -> None:
    case = Case("f16", "f16", "f16", m=128 * group, n=32, group=group)
    result, _ = run(
        case.text, case.image, case.words, case.parameters, group=group, mode=mode, **{missing: ""}
    )
    assert result.findings


@pytest.mark.parametrize("missing", ["wait_store", "before", "after", "after_wait"])
def test_a_report_names_the_operation_that_is_still_under_way(missing: str) -> None:
    case = Case("f16", "f16", "f16", m=128, n=32, group=1)
    result, _ = run(case.text, case.image, case.words, case.parameters, group=1, **{missing: ""})
    notes = {note.partition(" at ")[0] for finding in result.findings for note in finding.notes}
    kind = "mma.cta_group::1.kind::f16" if missing == "after_wait" else "st.sync.aligned.32x32b.x1.b32"
    assert notes == {f"the other access: tcgen05.{kind}"}


def findings(body: str, mode: str = "late", **options: object) -> list[tuple[str, str]]:
    words = np.ones((128, 16), np.uint32)
    result, _ = run_registers(body, words, mode=mode, **options)
    return [(finding.kind, finding.message) for finding in result.findings]


STORE = f"tcgen05.st.sync.aligned.32x32b.x4.b32 [%mine], {names(4)};"
LOAD = f"tcgen05.ld.sync.aligned.32x32b.x4.b32 {names(4)}, [%mine];"


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (f"{STORE} {LOAD} {WAITS[1]}", "in-flight", "tcgen05.wait::st"),
        (f"{STORE} {WAITS[0]} {LOAD}", "in-flight", "no tcgen05.wait::ld since"),
        (f"{LOAD} {WAITS[1]}", "uninitialized", "never written"),
        (f"{STORE} {WAITS[0]} {LOAD} {STORE} {WAITS[1]} {WAITS[0]}", "in-flight", "tcgen05.wait::ld"),
        (STORE.replace("[%mine]", "[%mine+508]").replace(".x4", ".x8").replace(names(4), names(8)) + WAITS[0],
         "out-of-bounds", "512 columns"),
        (STORE.replace("[%mine]", "[%t]") + WAITS[0], "illegal", "by warp "),
        (STORE.replace("[%mine]", f"[%mine+{16 << 16}]") + WAITS[0], "illegal", "32 lanes of its place"),
        ("@%p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place+4], 32;", "deadlock", "wait"),
        ("@%p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place+4], 48;", "illegal", "power of two"),
        ("@%p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 256;", "illegal", "the allocation has 512"),
        ("@%p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 512;", "illegal", "was freed at PTX line"),
        ("@%p0 tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;", "illegal", "cta_group::2, where"),
    ],
)  # fmt: skip
def test_a_wrong_use_is_reported(body: str, kind: str, message: str, mode: str) -> None:
    found = findings(body, mode)
    assert any(one == kind and message in text for one, text in found), found


def test_use_after_dealloc_and_alloc_after_relinquish() -> None:
    free = "bar.sync 0; @%p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 512; bar.sync 0;"
    again = "@%p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 512; bar.sync 0;"
    found = findings(f"{free} {STORE} {WAITS[0]}")
    assert any("tcgen05.dealloc at PTX line" in text for _, text in found), found
    permit = "@%p0 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"
    found = findings(f"{permit} {free} {again}")
    assert any("after the CTA's relinquish_alloc_permit" in text for _, text in found), found
    assert not findings(f"{free} {again} {permit}")


def test_an_allocation_waits_for_columns() -> None:
    body = """setp.eq.u32 %p1, %r2, 1; @!%p1 bra other;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place+4], 512;
  ld.shared.u32 %d0, [place+4];
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d0, 512;
  bra join;
other: setp.eq.u32 %p2, %r2, 0; @!%p2 bra join;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 512;
join: bar.sync 0;
  @%p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 512; bar.sync 0; ld.shared.u32 %t, [place];"""
    assert not findings(body)


def test_columns_that_are_never_freed() -> None:
    text = re.sub(r"@%p2 tcgen05.dealloc.*", "", kernel("", 8))
    module = sim.load(text, file="k.ptx")
    image, words = (module.memory.allocate(np.zeros(n, np.uint8)) for n in (65536, 4096))
    result = module.launch("k", (1,), (128,), [image, words, 0, 0, 0, 0], shared_bytes=65552)
    assert any(f"{COLUMNS} columns of tensor memory" in one.message for one in result.findings)


def test_pipelined_pairs_need_no_wait_and_others_do() -> None:
    case = Case("f16", "f16", "f16", accumulate=False)
    other = case.text.replace("[%t+0]", "[%t+64]")
    again = case.text + case.text
    for text, right in (
        (again, True),
        (other + case.text, True),
        (case.text + case.text.replace("[%t+0]", "[%t+16]"), False),
    ):
        result, _ = run(text, case.image, case.words, case.parameters)
        assert bool(result.findings) != right, result.findings.text("k")
    copy = "tcgen05.cp.cta_group::1.128x256b [%t+8], %x0;"
    result, _ = run(copy + copy, case.image, case.words, case.parameters)
    assert any("tcgen05.cp still writes" in one.message for one in result.findings)


def test_copies_of_a_thread_to_the_same_cells_are_a_warning() -> None:
    """CUTLASS copies the scale factors of a stage over those of the stage before."""
    copy = "tcgen05.cp.cta_group::1.32x128b.warpx4 [%t+4], %x0;"
    image = np.zeros((1, 65536), np.uint8)
    descriptor = place(np.zeros((32, 16), np.uint8), B_AT, 0, image[0])
    result, _ = run(copy + copy, image, np.zeros((1, 128, 16), np.uint32), (descriptor, 0, 0, 0))
    (found,) = result.findings
    assert found.severity == "warning"
    assert "tcgen05.cp still writes" in found.message


def test_copies_of_two_threads_to_the_same_cells_are_an_error() -> None:
    copy = "tcgen05.cp.cta_group::1.32x128b.warpx4 [%t+4], %x0;"
    other = f"issued: setp.eq.u32 %p6, %r0, 32; @%p6 {copy}"
    text = kernel(copy, 16).replace("issued:", other)
    module = sim.load(text, file="k.ptx")
    image, words = (module.memory.allocate(np.zeros(n, np.uint8)) for n in (65536, 512 * 16))
    descriptor = place(np.zeros((32, 16), np.uint8), B_AT, 0, np.zeros(65536, np.uint8))
    result = module.launch("k", (1,), (128,), [image, words, descriptor, 0, 0, 0], shared_bytes=65552)
    assert any(
        one.severity == "error" and "tcgen05.cp still writes" in one.message for one in result.findings
    )
