"""shfl, vote, match, redux, elect, activemask against lane-by-lane models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sim.elements import evaluate, evaluate_all, refused
from sim.kernels import kernel, run

LANES = np.arange(32, dtype=np.uint32)
VALUES = np.random.default_rng(9).integers(0, 1 << 32, 32, np.uint32)


def source(mode: str, lane: int, step: int, control: int) -> tuple[int, bool]:
    """The lane that is read and whether it was in range, as the PTX ISA's description of shfl.sync has it."""
    clamp, segment = control & 31, control >> 8 & 31
    top = (lane & segment) | (clamp & ~segment)
    if mode == "up":
        wanted, inside = lane - step, lane - step >= top
    elif mode == "down":
        wanted, inside = lane + step, lane + step <= top
    elif mode == "bfly":
        wanted, inside = lane ^ step, lane ^ step <= top
    else:
        wanted = (lane & segment) | (step & ~segment)
        inside = wanted <= top
    return (wanted if inside else lane), inside


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("width", [32, 16, 8, 1])
@pytest.mark.parametrize("step", [0, 1, 3, 16, 31])
def test_shuffles(mode: str, width: int, step: int) -> None:
    control = (32 - width) << 8 | (0 if mode == "up" else 31)
    body = f"shfl.sync.{mode}.b32 %d0|%p0, %a, {step}, {control}, -1; selp.u32 %d1, 1, 0, %p0;"
    row, inside = evaluate_all(body, ["u4", "u4"], VALUES)
    wanted = [source(mode, lane, step, control) for lane in range(32)]
    assert row.tolist() == [int(VALUES[lane]) for lane, _ in wanted]
    assert inside.tolist() == [flag for _, flag in wanted]


def test_each_lane_may_name_its_own_source() -> None:
    order = np.random.default_rng(1).permutation(32).astype(np.uint32)
    assert (evaluate("shfl.sync.idx.b32 %d0, %a, %b, 31, -1;", "u4", VALUES, order) == VALUES[order]).all()


def test_a_shuffle_waits_for_its_members() -> None:
    body = """
  mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 1; setp.eq.u32 %p0, %r1, 0; @%p0 bra EVEN;
  mov.u32 %r2, 7; shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1; bra JOIN;
EVEN: mov.u32 %r2, 9; shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;
JOIN: mul.wide.u32 %rd9, %r0, 4; add.s64 %rd0, %rd0, %rd9; st.global.u32 [%rd0], %r3;
"""
    result, _ = run(kernel(body), np.zeros(32, np.uint32))
    assert "divergence" in result.findings.kinds()


def test_reading_from_a_lane_that_does_not_take_part_is_found() -> None:
    body = """
  mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 16; @!%p0 bra DONE;
  shfl.sync.bfly.b32 %r3, %r0, 16, 31, 0xffff;
DONE:
"""
    result, _ = run(kernel(body), np.zeros(1, np.uint32))
    assert result.findings.kinds() == {"illegal"}


@pytest.mark.parametrize("bits", [0, 0xFFFFFFFF, 0x0000FF01])
def test_votes(bits: int) -> None:
    x = np.array([bits >> n & 1 for n in range(32)], np.uint32)
    body = """setp.ne.u32 %p0, %a, 0; vote.sync.ballot.b32 %d0, %p0, -1; vote.sync.all.pred %p1, %p0, -1;
      vote.sync.any.pred %p2, %p0, -1; vote.sync.uni.pred %p3, %p0, -1; vote.sync.all.pred %p4, !%p0, -1;
      selp.u32 %d1, 1, 0, %p1; selp.u32 %d2, 1, 0, %p2; selp.u32 %d3, 1, 0, %p3; selp.u32 %d4, 1, 0, %p4;"""
    found = evaluate_all(body, ["u4"] * 5, x)
    assert [int(row[0]) for row in found] == [bits, bits == 0xFFFFFFFF, bits != 0, bits != 0xFF01, bits == 0]


def test_matches() -> None:
    x = np.array([n % 5 for n in range(32)], np.uint32)
    wanted = [sum(1 << m for m in range(32) if x[m] == x[n]) for n in range(32)]
    assert evaluate("match.any.sync.b32 %d0, %a, -1;", "u4", x).tolist() == wanted
    body = "match.all.sync.b32 %d0|%p0, %a, -1; selp.u32 %d1, 1, 0, %p0;"
    mask, same = evaluate_all(body, ["u4", "u4"], x)
    assert (mask[0], same[0]) == (0, 0)
    mask, same = evaluate_all(body, ["u4", "u4"], np.full(32, 3, np.uint32))
    assert (mask[0], same[0]) == (0xFFFFFFFF, 1)


@pytest.mark.parametrize(
    "op,dtype,function",
    [("add.u32", np.uint32, lambda v: sum(v) % (1 << 32)), ("min.s32", np.int32, min), ("max.s32", np.int32, max),
     ("min.u32", np.uint32, min), ("xor.b32", np.uint32, lambda v: int(np.bitwise_xor.reduce(np.array(v, np.uint32)))),
     ("and.b32", np.uint32, lambda v: int(np.bitwise_and.reduce(np.array(v, np.uint32))))],
)  # fmt: skip
def test_reductions(op: str, dtype: Any, function: Any) -> None:
    x = VALUES.view(dtype)
    found = evaluate(f"redux.sync.{op} %d0, %a, -1;", np.dtype(dtype).str[1:], x)
    assert set(found.tolist()) == {function(x.tolist())}


def test_float_reductions_skip_nan_unless_told() -> None:
    x = np.random.default_rng(2).normal(size=32).astype(np.float32)
    x[5] = np.nan
    assert evaluate("redux.sync.max.f32 %d0, %a, -1;", "f4", x)[0] == np.nanmax(x)
    assert evaluate("redux.sync.min.abs.f32 %d0, %a, -1;", "f4", x)[0] == np.nanmin(np.abs(x))
    assert np.isnan(evaluate("redux.sync.max.NaN.f32 %d0, %a, -1;", "f4", x)[0])


def test_one_lane_is_elected() -> None:
    body = """
  mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 4; @%p0 bra DONE;
  elect.sync %r1|%p1, 0xfffffff0; @%p1 st.global.u32 [%rd0], %r0; st.global.u32 [%rd0+4], %r1;
DONE:
"""
    result, (out,) = run(kernel(body), np.zeros(2, np.uint32))
    assert not result.findings, result.findings.text()
    assert out.tolist() == [4, 4]


@pytest.mark.parametrize(
    "body",
    ["shfl.sync.b32 %r0, %r1, 1, 31, -1;", "shfl.sync.idx.b64 %rd0, %rd1, 1, 31, -1;", "vote.sync.ballot.b32 %r0, %p0;",
     "match.any.sync.b32 %r0|%p0, %r1, -1;", "redux.sync.add.f32 %f0, %f1, -1;", "elect.sync %r0, -1;"],
)  # fmt: skip
def test_a_form_that_ptx_does_not_have_is_refused_at_load(body: str) -> None:
    assert body.split(maxsplit=1)[0] in refused(body)
