"""cp.async: sizes, zero fill, groups; what is read before its wait; both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sim.kernels import kernel, run

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError

MODES = pytest.mark.parametrize("mode", ["late", "early"])


def copy_back(copy: str, width: int, wait: str = "cp.async.wait_all;", after: str = "") -> str:
    """Lane i copies `width` bytes of array 0 by `copy` ([%r3] from [%rd11]), and stores them to array 1."""
    elements = {4: ("b32", "%r10"), 8: ("b64", "%rd20"), 16: ("v2.b64", "{%rd20, %rd21}")}[width]
    return kernel(
        f""".shared .align 16 .b8 tile[1024];
        mov.u32 %r0, %tid.x; mul.lo.u32 %r1, %r0, {width}; mov.u32 %r2, tile; add.s32 %r3, %r2, %r1;
        cvt.u64.u32 %rd10, %r1; add.s64 %rd11, %rd0, %rd10; add.s64 %rd12, %rd1, %rd10;
        setp.lt.u32 %p0, %r0, 16; mov.u32 %r5, 3; and.b32 %r6, %r0, {width - 1};
        {copy}
        {wait}
        {after}
        ld.shared.{elements[0]} {elements[1]}, [%r3]; st.global.{elements[0]} [%rd12], {elements[1]};""",
        2,
    )


def launch(text: str, width: int, **options: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    source = np.random.default_rng(width).integers(1, 256, (32, width)).astype(np.uint8)
    result, arrays = run(text, source, np.zeros((32, width), np.uint8), **options)
    return result, source, arrays[1]


@MODES
@pytest.mark.parametrize(
    ("form", "width"), [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16), ("ca.L2::128B", 4)]
)  # fmt: skip
def test_every_size(form: str, width: int, mode: str):
    cache, _, level = form.partition(".")
    name = f"cp.async.{cache}.shared.global" + f".{level}" * bool(level)
    result, source, found = launch(
        copy_back(f"{name} [%r3], [%rd11], {width};", width), width, mode=mode, stats=True
    )
    assert not result.findings
    assert np.array_equal(found, source)
    assert result.stats.bytes["cp.async.global"] == 32 * width


def test_a_cache_policy_changes_nothing():
    text = copy_back(
        "mov.b64 %rd30, 0; cp.async.cg.shared.global.L2::cache_hint [%r3], [%rd11], 16, %rd30;", 16
    )
    result, source, found = launch(text, 16)
    assert not result.findings and np.array_equal(found, source)


@MODES
@pytest.mark.parametrize("width", [4, 8, 16])
def test_what_the_source_size_leaves_is_zero(width: int, mode: str):
    result, source, found = launch(
        copy_back(f"cp.async.ca.shared.global [%r3], [%rd11], {width}, %r6;", width), width, mode=mode
    )
    assert not result.findings
    for lane in range(32):
        size = lane % width
        assert np.array_equal(found[lane, :size], source[lane, :size]) and not found[lane, size:].any()


@pytest.mark.parametrize("guard", ["%p0", "!%p0"])
def test_an_ignored_source_gives_zeros(guard: str):
    _, source, found = launch(copy_back(f"cp.async.cg.shared.global [%r3], [%rd11], 16, {guard};", 16), 16)
    ignored = slice(0, 16) if guard == "%p0" else slice(16, 32)
    read = slice(16, 32) if guard == "%p0" else slice(0, 16)
    assert not found[ignored].any() and np.array_equal(found[read], source[read])


def test_an_ignored_source_need_not_exist():
    body = "@%p0 mov.b64 %rd11, 0; cp.async.cg.shared.global [%r3], [%rd11], 16, %p0;"
    result, _, _ = launch(copy_back(body, 16), 16)
    assert not result.findings


def test_a_source_outside_its_allocation_is_found():
    result, _, _ = launch(
        copy_back("add.s64 %rd11, %rd11, 16; cp.async.cg.shared.global [%r3], [%rd11], 16;", 16), 16
    )
    assert result.findings.kinds() == {"out-of-bounds"}


def test_a_destination_that_is_misaligned_is_found():
    result, _, _ = launch(
        copy_back("add.s32 %r4, %r3, 4; cp.async.cg.shared.global [%r4], [%rd11], 16;", 16), 16
    )
    assert "misaligned" in result.findings.kinds()


@MODES
def test_a_missing_wait_is_found_and_gives_poison(mode: str):
    text = copy_back("cp.async.cg.shared.global [%r3], [%rd11], 16;", 16, wait="")
    result, source, found = launch(text, 16, mode=mode)
    assert result.findings.kinds() == {"in-flight"}
    assert (found == 0xFF).all() if mode == "late" else np.array_equal(found, source)


def test_a_store_into_a_copy_that_was_not_waited_for_is_found():
    text = copy_back("cp.async.cg.shared.global [%r3], [%rd11], 16;\nst.shared.b32 [%r3], 0;", 16)
    result, _, _ = launch(text, 16)
    (found,) = result.findings
    assert found.kind == "in-flight" and "write of 4 bytes" in found.message
    assert "still being written by an asynchronous operation" in found.message
    assert text.splitlines()[found.line - 1] == "st.shared.b32 [%r3], 0;"


def test_a_wait_for_older_groups_leaves_the_newest_in_flight():
    copy = "cp.async.cg.shared.global [%r3], [%rd11], 16; cp.async.commit_group;"
    result, _, _ = launch(copy_back(copy, 16, wait="cp.async.wait_group 1;"), 16)
    assert result.findings.kinds() == {"in-flight"}
    result, source, found = launch(
        copy_back(copy + "cp.async.commit_group;", 16, wait="cp.async.wait_group 1;"), 16
    )
    assert not result.findings and np.array_equal(found, source)


def test_wait_group_does_not_end_what_is_in_no_group():
    copy = "cp.async.cg.shared.global [%r3], [%rd11], 16;"
    result, _, _ = launch(copy_back(copy, 16, wait="cp.async.wait_group 0;"), 16)
    assert result.findings.kinds() == {"in-flight"}


def test_each_thread_waits_for_its_own_groups():
    copy = "@%p0 cp.async.cg.shared.global [%r3], [%rd11], 16; @!%p0 cp.async.cg.shared.global [%r3], [%rd11], 16;"
    result, _, _ = launch(
        copy_back(copy + "@%p0 cp.async.commit_group;", 16, wait="cp.async.wait_group 0;"), 16
    )
    assert result.findings.kinds() == {"in-flight"}


@MODES
def test_the_late_mode_reads_the_source_late(mode: str):
    copy = "cp.async.ca.shared.global [%r3], [%rd11], 4; st.global.b32 [%rd11], 0;"
    _, source, found = launch(copy_back(copy, 4), 4, mode=mode)
    assert np.array_equal(found, source if mode == "early" else np.zeros_like(source))


@MODES
def test_another_thread_needs_a_barrier_after_the_wait(mode: str):
    copy = "cp.async.ca.shared.global [%r3], [%rd11], 4;"
    turn = "xor.b32 %r3, %r3, 4;"
    result, _, _ = launch(copy_back(copy, 4, after=turn), 4, mode=mode)
    assert result.findings.kinds() == {"race"}
    result, _, _ = launch(copy_back(copy, 4, after="bar.warp.sync -1;" + turn), 4, mode=mode)
    assert not result.findings


@MODES
def test_a_barrier_before_the_wait_does_not_order_the_copy(mode: str):
    copy = "cp.async.ca.shared.global [%r3], [%rd11], 4; bar.warp.sync -1;"
    result, _, _ = launch(copy_back(copy, 4, after="xor.b32 %r3, %r3, 4;"), 4, mode=mode)
    assert result.findings.kinds() == {"race"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cp.async.cg.shared.global [%r0], [%rd0], 8;", "copy size of 16"),
        ("cp.async.ca.shared.global [%r0], [%rd0], 12;", "copy size of 16"),
        ("cp.async.ca.shared.global [%r0], [%rd0];", "has 2 operands"),
        ("cp.async.ca.global.shared.foo [%r0], [%rd0], 4;", "modifier '.foo'"),
        ("cp.async.wait_group %r0;", "number of groups"),
    ],
)
def test_what_is_no_copy_is_refused(text: str, message: str):
    with pytest.raises(DiagnosticError, match=message):
        sim.load(kernel(text), file="k.ptx")


ARRIVAL = """.shared .align 8 .b64 full;
  mov.u32 %r7, full; setp.eq.u32 %p1, %r0, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r7], 32;
  bar.warp.sync -1;
  cp.async.ca.shared.global [%r3], [%rd11], 4;
  """
WAITING = """again: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r7], 0; @!%p2 bra again;
  xor.b32 %r3, %r3, 4;"""


@MODES
@pytest.mark.parametrize(
    "arrive",
    [
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r7];",
        "cp.async.mbarrier.arrive.shared.b64 [%r7]; mbarrier.arrive.shared::cta.b64 %rd22, [%r7];",
    ],
)
def test_an_mbarrier_can_wait_for_the_copies_of_every_thread(arrive: str, mode: str):
    result, source, found = launch(copy_back(ARRIVAL + arrive, 4, wait=WAITING), 4, mode=mode)
    assert not result.findings, result.findings.text()
    assert np.array_equal(found, source.reshape(16, 2, 4)[:, ::-1].reshape(32, 4))


def test_an_arrival_before_the_copies_have_landed_is_no_wait():
    text = copy_back(ARRIVAL + "mbarrier.arrive.shared::cta.b64 %rd22, [%r7];", 4, wait=WAITING)
    result, _, _ = launch(text, 4)
    assert "in-flight" in result.findings.kinds()


@MODES
def test_copies_land_at_their_mbarrier_though_the_warp_has_ended(mode: str):
    body = """.shared .align 16 .b8 tile[128]; .shared .align 8 .b64 full;
      mov.u32 %r0, %tid.x; and.b32 %r8, %r0, 31; shl.b32 %r1, %r8, 2; mov.u32 %r2, tile; add.s32 %r3, %r2, %r1;
      cvt.u64.u32 %rd10, %r1; add.s64 %rd11, %rd0, %rd10; add.s64 %rd12, %rd1, %rd10; mov.u32 %r7, full;
      setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared::cta.b64 [%r7], 32;
      bar.sync 0; setp.lt.u32 %p0, %r0, 32; @!%p0 bra consumer;
      cp.async.ca.shared.global [%r3], [%rd11], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [%r7];
      ret;
    consumer:
      mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r7], 0; @!%p2 bra consumer;
      ld.shared.b32 %r10, [%r3]; st.global.b32 [%rd12], %r10;"""
    source = np.arange(32, dtype=np.uint32)
    result, arrays = run(kernel(body, 2), source, np.zeros(32, np.uint32), block=(64,), mode=mode)
    assert not result.findings, result.findings.text()
    assert np.array_equal(arrays[1], source)
