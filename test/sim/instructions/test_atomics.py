"""atom and red: every operation on conflicting and separate addresses, and what they order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sim.elements import refused
from sim.kernels import kernel, run

GENERATOR = np.random.default_rng(8)
SHARED = ".shared .align 16 .b8 s[4096];"

# %rd0: the table, %rd1: what each thread saw, %rd2: values, %rd3: places
PLACES = """
  mov.u32 %r0, %tid.x; mul.wide.u32 %rd9, %r0, 4; add.s64 %rd3, %rd3, %rd9; ld.global.u32 %r1, [%rd3];
  mul.wide.u32 %rd10, %r1, {size}; add.s64 %rd0, %rd0, %rd10;
  mul.wide.u32 %rd9, %r0, {size}; add.s64 %rd1, %rd1, %rd9; add.s64 %rd2, %rd2, %rd9;
"""

OPERATIONS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "add": ("u", lambda old, b: old + b), "min": ("s", min), "max": ("u", max), "exch": ("b", lambda old, b: b),
    "and": ("b", lambda old, b: old & b), "or": ("b", lambda old, b: old | b), "xor": ("b", lambda old, b: old ^ b),
}  # fmt: skip


def atomically(
    name: str, type: str, table: Any, values: Any, places: Any, threads: int = 32
) -> tuple[Any, Any]:
    """The table afterwards, and what each thread saw."""
    bits = 8 * table.dtype.itemsize
    body = PLACES.format(size=bits // 8) + (
        f"ld.global.b{bits} %v, [%rd2]; atom.global.{name}.{type} %w, [%rd0], %v; st.global.b{bits} [%rd1], %w;"
    )
    body = f".reg .b{bits} %v, %w;\n" + body
    result, arrays = run(
        kernel(body, 4), table, np.zeros(threads, table.dtype), values, places, block=(threads,)
    )
    assert not result.findings, result.findings.text()
    return arrays[0], arrays[1]


@pytest.mark.parametrize("spread", [1, 3, 64])
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", OPERATIONS)
def test_lanes_with_one_address_follow_each_other(name: str, bits: int, spread: int) -> None:
    kind, function = OPERATIONS[name]
    dtype = np.dtype(f"{'i' if kind == 's' else 'u'}{bits // 8}")
    info = np.iinfo(dtype)
    table = GENERATOR.integers(info.min, info.max, 64, dtype)
    values = GENERATOR.integers(info.min, info.max, 32, dtype)
    places = (GENERATOR.permutation(64)[:32] if spread == 64 else np.arange(32) % spread).astype(np.uint32)
    after, seen = atomically(name, f"{kind}{bits}", table, values, places)
    model = table.tolist()
    for lane in range(32):
        assert seen[lane] == model[places[lane]]
        model[places[lane]] = function(model[places[lane]], int(values[lane])) % (1 << bits)
        if info.min < 0 and model[places[lane]] > info.max:
            model[places[lane]] -= 1 << bits
    assert after.tolist() == model


def test_inc_and_dec_wrap_at_their_bound() -> None:
    places = np.zeros(32, np.uint32)
    after, seen = atomically("inc", "u32", np.array([0], np.uint32), np.full(32, 9, np.uint32), places)
    assert seen.tolist() == [n % 10 for n in range(32)]
    after, seen = atomically("dec", "u32", np.array([2], np.uint32), np.full(32, 9, np.uint32), places)
    assert seen.tolist()[:5] == [2, 1, 0, 9, 8]
    assert after[0] == (2 - 32) % 10


@pytest.mark.parametrize("dtype,type", [(np.float32, "f32"), (np.float64, "f64")])
def test_floating_sums_are_made_in_lane_order(dtype: Any, type: str) -> None:
    values = GENERATOR.normal(size=32).astype(dtype)
    after, seen = atomically("add", type, np.array([0.5], dtype), values, np.zeros(32, np.uint32))
    model = dtype(0.5)
    for lane in range(32):
        assert seen[lane] == model
        model = dtype(model + values[lane])
    assert after[0] == model


def test_f32_sums_flush_subnormals_in_global_memory() -> None:
    tiny = np.array([1e-40], np.float32)
    after, _ = atomically("add", "f32", tiny, np.full(32, 1e-41, np.float32), np.zeros(32, np.uint32))
    assert after[0] == 0


def test_compare_and_swap_takes_the_first_that_matches() -> None:
    body = """
  mov.u32 %r0, %tid.x; atom.global.cas.b32 %r1, [%rd0], 7, %r0;
  mul.wide.u32 %rd9, %r0, 4; add.s64 %rd1, %rd1, %rd9; st.global.u32 [%rd1], %r1;
"""
    _, (table, seen) = run(kernel(body, 2), np.array([7], np.uint32), np.zeros(32, np.uint32))
    assert table[0] == 0
    assert seen.tolist() == [7] + [0] * 31


def test_half_and_vector_forms() -> None:
    body = """
  mov.b32 %r1, 0x3c004000; red.global.add.noftz.f16x2 [%rd0], %r1;
  mov.f32 %f0, 0f3f800000; mov.f32 %f1, 0f40000000; atom.global.v2.f32.add {%f2, %f3}, [%rd1], {%f0, %f1};
""".replace("v2.f32.add", "add.v2.f32")
    _, (half, single) = run(kernel(body, 2), np.zeros(2, np.float16), np.zeros(2, np.float32))
    assert half.tolist() == [64, 32]
    assert single.tolist() == [32, 64]


def test_shared_atomics_do_not_race_with_each_other() -> None:
    body = """
  mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.u32 %r1, s; mov.u32 %r2, 0; @%p0 st.shared.u32 [%r1], %r2;
  bar.sync 0;
  red.shared.add.u32 [%r1], 1;
  {barrier}
  ld.shared.u32 %r3, [%r1]; mul.wide.u32 %rd9, %r0, 4; add.s64 %rd0, %rd0, %rd9; st.global.u32 [%rd0], %r3;
"""
    result, (out,) = run(
        kernel(body.replace("{barrier}", "bar.sync 0;"), module=SHARED),
        np.zeros(128, np.uint32),
        block=(128,),
    )
    assert not result.findings, result.findings.text()
    assert set(out.tolist()) == {128}
    result, _ = run(
        kernel(body.replace("{barrier}", ""), module=SHARED), np.zeros(128, np.uint32), block=(128,)
    )
    assert result.findings.kinds() == {"race"}


HANDOVER = """
  mov.u32 %r0, %tid.x; setp.ge.u32 %p0, %r0, 32; @%p0 bra READ;
  mov.u32 %r1, 42; setp.eq.u32 %p1, %r0, 0; @!%p1 bra DONE;
  st.global.u32 [%rd0], %r1; {publish}
  bra DONE;
READ:
  setp.eq.u32 %p1, %r0, 32; @!%p1 bra DONE;
SPIN: {observe} setp.eq.u32 %p2, %r2, 0; @%p2 bra SPIN;
  {after}
  ld.global.u32 %r3, [%rd0]; st.global.u32 [%rd0+8], %r3;
DONE:
"""
RELEASE = "st.release.gpu.global.u32 [%rd0+4], 1;"
ACQUIRE = "ld.acquire.gpu.global.u32 %r2, [%rd0+4];"
RELAXED = "ld.relaxed.gpu.global.u32 %r2, [%rd0+4];"


@pytest.mark.parametrize(
    "publish,observe,after",
    [(RELEASE, ACQUIRE, ""),
     ("fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd0+4], 1;", RELAXED, "fence.acq_rel.gpu;"),
     ("membar.gl; st.volatile.global.u32 [%rd0+4], 1;", "ld.volatile.global.u32 %r2, [%rd0+4];", "membar.gl;"),
     ("atom.add.release.gpu.global.u32 %r4, [%rd0+4], 1;".replace("add.release.gpu.global", "release.gpu.global.add"),
      "atom.acquire.gpu.global.add.u32 %r2, [%rd0+4], 0;", "")],
)  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_a_release_that_is_acquired_orders_what_came_before(
    publish: str, observe: str, after: str, seed: int
) -> None:
    body = HANDOVER.format(publish=publish, observe=observe, after=after)
    result, (out,) = run(kernel(body), np.zeros(3, np.uint32), block=(64,), seed=seed)
    assert not result.findings, result.findings.text()
    assert out.tolist() == [42, 1, 42]


@pytest.mark.parametrize(
    "publish,observe,after",
    [("st.relaxed.gpu.global.u32 [%rd0+4], 1;", ACQUIRE, ""), (RELEASE, RELAXED, ""),
     ("st.volatile.global.u32 [%rd0+4], 1;", "ld.volatile.global.u32 %r2, [%rd0+4];", "membar.gl;")],
)  # fmt: skip
def test_half_of_a_handover_is_a_race(publish: str, observe: str, after: str) -> None:
    body = HANDOVER.format(publish=publish, observe=observe, after=after)
    result, _ = run(kernel(body), np.zeros(3, np.uint32), block=(64,))
    assert result.findings.kinds() == {"race"}


def test_a_race_in_global_memory_within_a_cta_is_found_and_a_barrier_ends_it() -> None:
    body = """
  mov.u32 %r0, %tid.x; mul.wide.u32 %rd9, %r0, 4; add.s64 %rd1, %rd0, %rd9; st.global.u32 [%rd1], %r0;
  {barrier}
  xor.b32 %r1, %r0, 32; mul.wide.u32 %rd9, %r1, 4; add.s64 %rd1, %rd0, %rd9; ld.global.u32 %r2, [%rd1];
"""
    result, _ = run(kernel(body.replace("{barrier}", "")), np.zeros(64, np.uint32), block=(64,))
    assert result.findings.kinds() == {"race"}
    assert "array 0" in result.findings.text()
    result, _ = run(kernel(body.replace("{barrier}", "bar.sync 0;")), np.zeros(64, np.uint32), block=(64,))
    assert not result.findings


def test_threads_that_store_the_same_value_do_not_race() -> None:
    result, _ = run(
        kernel("  mov.u32 %r0, 5; st.global.u32 [%rd0], %r0;"), np.zeros(1, np.uint32), block=(128,)
    )
    assert not result.findings


def test_the_history_follows_accesses_of_every_width() -> None:
    body = """
  mov.u32 %r0, %tid.x; mov.u32 %r1, s; add.u32 %r2, %r1, %r0; cvt.u16.u32 %h0, %r0; st.shared.u8 [%r2], %h0;
  bar.warp.sync -1;
  and.b32 %r3, %r0, 28; add.u32 %r3, %r3, %r1; ld.shared.u32 %r4, [%r3];
  {barrier} shl.b32 %r5, %r0, 1; and.b32 %r5, %r5, 30; add.u32 %r5, %r5, %r1; setp.lt.u32 %p0, %r0, 16;
  @%p0 st.shared.u16 [%r5], %h0;
"""
    result, _ = run(
        kernel(body.replace("{barrier}", "bar.warp.sync -1;"), module=SHARED), np.zeros(1), block=(32,)
    )
    assert not result.findings, result.findings.text()
    result, _ = run(kernel(body.replace("{barrier}", ""), module=SHARED), np.zeros(1), block=(32,))
    assert result.findings.kinds() == {"race"}


@pytest.mark.parametrize(
    "body",
    ["atom.global.add.f16 %h0, [%rd0], %h1;", "atom.global.min.f32 %f0, [%rd0], %f1;",
     "red.global.exch.b32 [%rd0], %r1;",
     "red.acquire.gpu.global.add.u32 [%rd0], %r1;", "atom.global.and.u32 %r0, [%rd0], %r1;",
     "atom.shared.add.v2.f32 {%f0, %f1}, [%r0], {%f2, %f3};", "atom.const.add.u32 %r0, [%rd0], %r1;",
     "ld.release.gpu.global.u32 %r0, [%rd0];", "ld.acquire.global.u32 %r0, [%rd0];",
     "ld.weak.gpu.global.u32 %r0, [%rd0];",
     "fence.acq_rel;", "membar.gpu;"],
)  # fmt: skip
def test_a_form_that_ptx_does_not_have_is_refused_at_load(body: str) -> None:
    assert body.split(maxsplit=1)[0].rstrip(";") in refused(body)
