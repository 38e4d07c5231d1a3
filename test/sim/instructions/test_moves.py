"""mov, selp, cvta, isspacep: packing, addresses, windows."""

from __future__ import annotations

import numpy as np
import pytest
from sim.elements import evaluate, evaluate_all, refused
from sim.kernels import kernel, run

WORDS = np.array([0x44332211, 0x88776655], np.uint32)


def test_vectors_are_packed_and_unpacked_low_end_first() -> None:
    (whole,) = evaluate_all("mov.b64 %d0, {%a, %b};", ["u8"], WORDS, WORDS[::-1].copy())
    assert [hex(v) for v in whole] == ["0x8877665544332211", "0x4433221188776655"]
    low, high = evaluate_all("mov.b32 {%d0, %d1}, %a;", ["u2", "u2"], WORDS)
    assert [hex(v) for v in (low[0], high[0])] == ["0x2211", "0x4433"]
    assert evaluate("mov.b32 {_, %d0}, %a;", "u2", WORDS).tolist() == [0x4433, 0x8877]


def test_four_halves_make_a_double_word() -> None:
    body = "mov.b32 {%h0, %h1}, %a; mov.b64 %d0, {%h1, %h0, %h0, %h1};"
    assert hex(evaluate(body, "u8", WORDS)[0]) == "0x4433221122114433"


def test_selp_takes_a_negated_predicate() -> None:
    x = np.array([0, 1], np.uint32)
    assert evaluate("setp.ne.u32 %p0, %a, 0; selp.b32 %d0, 7, 9, %p0;", "u4", x).tolist() == [9, 7]


def test_special_registers_and_constants() -> None:
    x = np.zeros(64, np.uint32)
    lane, size = evaluate_all("mov.u32 %d0, %laneid; mov.u32 %d1, WARP_SZ;", ["u4", "u4"], x)
    assert lane.tolist() == [*range(32)] * 2
    assert set(size.tolist()) == {32}
    assert evaluate("mov.f32 %d0, 0f3FC00000;", "f4", x)[0] == 1.5
    assert evaluate("mov.f64 %d0, 0d3FF8000000000000;", "f8", x)[0] == 1.5


def test_a_float_is_loaded_into_a_wider_register_below_zeros() -> None:
    """PTX ISA, "Operand Size Exceeding Instruction-Type Size"."""
    body = """
  ld.global.f32 %rd5, [%rd0]; st.global.u64 [%rd0], %rd5;
  ld.global.s16 %rd5, [%rd0+8]; st.global.u64 [%rd0+8], %rd5;
"""
    _, (out,) = run(kernel(body), np.array([0xDEAD3FC00000, 0xFFFE], np.uint64), block=(1,))
    assert [hex(value) for value in out] == ["0x3fc00000", "0xfffffffffffffffe"]


def test_the_cluster_is_explicit_or_not() -> None:
    x = np.zeros(1, np.uint32)
    assert evaluate("mov.pred %p0, %is_explicit_cluster; selp.b32 %d0, 7, 9, %p0;", "u4", x).tolist() == [9]


def test_special_registers_are_elements_of_vectors() -> None:
    body = "mov.u32 %r1, 5; st.global.v2.u32 [%rd0], {%ntid.x, %r1};"
    _, (out,) = run(kernel(body), np.zeros(2, np.uint32), block=(1,))
    assert out.tolist() == [1, 5]


def test_generic_addresses_lead_back_to_their_space() -> None:
    body = """
  mov.u32 %r0, s; cvt.u64.u32 %rd5, %r0; cvta.shared.u64 %rd6, %rd5; mov.u32 %r1, 77; st.u32 [%rd6], %r1;
  ld.shared.u32 %r2, [s]; cvta.to.shared.u64 %rd7, %rd6; sub.u64 %rd7, %rd7, %rd5; cvt.u32.u64 %r3, %rd7;
  isspacep.shared %p0, %rd6; selp.u32 %r4, 1, 0, %p0; isspacep.global %p0, %rd6; selp.u32 %r5, 1, 0, %p0;
  st.global.v4.u32 [%rd0], {%r2, %r3, %r4, %r5};
"""
    result, (out,) = run(
        kernel(body, module=".shared .align 4 .b8 s[16];"), np.zeros(4, np.uint32), block=(1,)
    )
    assert not result.findings, result.findings.text()
    assert out.tolist() == [77, 0, 1, 0]


@pytest.mark.parametrize(
    "body",
    ["mov.b64 {%r0, %r1}, {%r2, %r3};", "cvta.foo.u64 %rd0, %rd1;", "selp.b32 %r0, %r1, %r2;"],
)
def test_a_form_that_ptx_does_not_have_is_refused_at_load(body: str) -> None:
    assert body.split(maxsplit=1)[0] in refused(body)


def test_addresses_of_parameters_and_constants_fit_in_32_bits() -> None:
    body = """
  mov.b32 %r0, p1; cvt.u64.u32 %rd5, %r0; cvta.param.u64 %rd6, %rd5; ld.u64 %rd7, [%rd6];
  mov.b32 %r1, table; cvt.u64.u32 %rd8, %r1; cvta.const.u64 %rd9, %rd8; ld.u32 %r2, [%rd9+4]; ld.const.u32 %r3, [%r1];
  cvta.to.param.u64 %rd10, %rd6; ld.param.u64 %rd11, [%rd10]; xor.b64 %rd11, %rd11, %rd7; cvt.u32.u64 %r4, %rd11;
  cvt.u32.u64 %r5, %rd7; st.global.v4.u32 [%rd0], {%r2, %r3, %r4, %r5};
"""
    text = kernel(body, 2, ".const .align 4 .u32 table[2] = {7, 9};")
    result, (out, _) = run(text, np.zeros(4, np.uint32), np.zeros(1, np.uint32), block=(1,))
    assert not result.findings, result.findings.text()
    assert out[:3].tolist() == [9, 7, 0]
    assert out[3] != 0


@pytest.mark.parametrize("name", ["%envreg0", "%envreg31", "%reserved_smem_offset_0"])
def test_registers_that_the_driver_fills_can_be_read(name: str) -> None:
    assert evaluate(f"mov.b32 %d0, {name};", "u4", np.ones(4, np.uint32)).tolist() == [0] * 4
