"""mbarrier: phases, states and parities, transactions, misuse, and what a deadlock says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sim.kernels import kernel, run

from tessera_tools.diagnostics import DiagnosticError

SHARED = ".shared .align 8 .b64 bar;"
INIT = "mov.u32 %r0, bar; mbarrier.init.shared::cta.b64 [%r0], {count};"


def single(body: str, count: int = 1, cells: int = 4) -> tuple[Any, list[int]]:
    """Run the body in one thread; its results are the words at %rd0."""
    result, (out,) = run(
        kernel(INIT.format(count=count) + body, module=SHARED), np.zeros(cells, np.uint32), block=(1,)
    )
    return result, out.tolist()


def test_a_phase_ends_with_its_last_arrival_and_flips_the_parity() -> None:
    result, out = single(
        """
  mbarrier.test_wait.parity.shared::cta.b64 %p0, [%r0], 0; selp.u32 %r1, 1, 0, %p0; st.global.u32 [%rd0], %r1;
  mbarrier.test_wait.parity.shared::cta.b64 %p0, [%r0], 1; selp.u32 %r1, 1, 0, %p0; st.global.u32 [%rd0+4], %r1;
  mbarrier.arrive.shared::cta.b64 %rd1, [%r0]; mbarrier.arrive.shared::cta.b64 %rd2, [%r0];
  mbarrier.test_wait.parity.shared::cta.b64 %p0, [%r0], 0; selp.u32 %r1, 1, 0, %p0; st.global.u32 [%rd0+8], %r1;
  mbarrier.test_wait.parity.shared::cta.b64 %p0, [%r0], 1; selp.u32 %r1, 1, 0, %p0; st.global.u32 [%rd0+12], %r1;
""",
        count=2,
    )
    assert not result.findings
    assert out == [0, 1, 1, 0]


def test_arrive_gives_the_state_before_it_and_its_pending_count() -> None:
    result, out = single(
        """
  mbarrier.arrive.shared::cta.b64 %rd1, [%r0], 2; mbarrier.pending_count.b64 %r1, %rd1; st.global.u32 [%rd0], %r1;
  mbarrier.arrive.noComplete.shared::cta.b64 %rd2, [%r0], 1; mbarrier.pending_count.b64 %r1, %rd2;
  st.global.u32 [%rd0+4], %r1;
  mbarrier.test_wait.shared::cta.b64 %p0, [%r0], %rd1; selp.u32 %r1, 1, 0, %p0; st.global.u32 [%rd0+8], %r1;
  mbarrier.arrive.shared::cta.b64 %rd2, [%r0], 2;
  mbarrier.test_wait.shared::cta.b64 %p0, [%r0], %rd1; selp.u32 %r1, 1, 0, %p0; st.global.u32 [%rd0+12], %r1;
""",
        count=5,
    )
    assert not result.findings
    assert out == [5, 3, 0, 1]


def test_arrive_drop_lowers_the_count_of_the_phases_that_follow() -> None:
    result, out = single(
        """
  mbarrier.arrive_drop.shared::cta.b64 %rd1, [%r0]; mbarrier.arrive.shared::cta.b64 %rd1, [%r0];
  mbarrier.arrive.shared::cta.b64 %rd2, [%r0]; mbarrier.pending_count.b64 %r1, %rd2; st.global.u32 [%rd0], %r1;
  mbarrier.test_wait.shared::cta.b64 %p0, [%r0], %rd2; selp.u32 %r1, 1, 0, %p0; st.global.u32 [%rd0+4], %r1;
""",
        count=2,
    )
    assert not result.findings
    assert out[:2] == [1, 1]


def test_a_phase_waits_for_its_bytes() -> None:
    result, out = single(
        """
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r0], 64;
  mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r0], 16;
  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r0], 64;
  mbarrier.test_wait.shared::cta.b64 %p0, [%r0], %rd1; selp.u32 %r1, 1, 0, %p0; st.global.u32 [%rd0], %r1;
  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r0], 16;
  mbarrier.test_wait.shared::cta.b64 %p0, [%r0], %rd1; selp.u32 %r1, 1, 0, %p0; st.global.u32 [%rd0+4], %r1;
"""
    )
    assert not result.findings
    assert out[:2] == [0, 1]


def test_a_wait_that_nobody_ends_is_a_deadlock_that_says_what_is_missing() -> None:
    result, _ = single(
        """
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r0], 128;
AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], 0; @!%p0 bra AGAIN;
""",
        count=3,
    )
    (finding,) = result.findings
    assert finding.kind == "deadlock"
    assert (
        "parity 0 of the mbarrier at shared byte 1024 of CTA (0, 0, 0): phase 0 (parity 0)"
        in finding.notes[0]
    )
    assert "2 of 3 arrivals and 128 bytes missing; arrived: warp 0 at PTX line " in finding.notes[0]


def test_a_deadlock_is_certain_when_a_retry_changes_nothing() -> None:
    """The loop is not tried hundreds of times."""
    result, _ = single("AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], 0; @!%p0 bra AGAIN;")
    assert [finding.kind for finding in result.findings] == ["deadlock"]
    assert result.instructions < 50


def test_a_thread_that_counts_its_retries_is_no_deadlock() -> None:
    result, out = single(
        """
  mov.u32 %r1, 0;
AGAIN: add.u32 %r1, %r1, 1; setp.eq.u32 %p1, %r1, 100; @%p1 bra DONE;
  mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], 0; @!%p0 bra AGAIN;
DONE: st.global.u32 [%rd0], %r1;
"""
    )
    assert not result.findings
    assert out[0] == 100


def test_a_phase_at_which_nobody_arrived_names_no_arrivals() -> None:
    result, _ = single(
        "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], 0; @!%p0 bra AGAIN;", count=3
    )
    (finding,) = result.findings
    assert "3 of 3 arrivals missing" in finding.notes[0]
    assert "arrived" not in finding.notes[0]


def test_bytes_that_nobody_announced_are_named() -> None:
    result, _ = single(
        """
  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r0], 32; mbarrier.arrive.shared::cta.b64 %rd1, [%r0];
AGAIN: mbarrier.try_wait.shared::cta.b64 %p0, [%r0], %rd1; @!%p0 bra AGAIN;
"""
    )
    mismatch, deadlock = result.findings
    assert mismatch.kind == "mbarrier"
    assert (
        "expect_tx announced 0 bytes" in mismatch.message
        and "transferred 32: the phase cannot end" in mismatch.message
    )
    assert "32 bytes arrived without an expect_tx" in deadlock.notes[0]
    assert mismatch.thread == (0, 0, 0)


def test_bytes_that_nobody_announced_are_named_though_arrivals_are_missing() -> None:
    result, _ = single(
        """
  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r0], 32; mbarrier.arrive.shared::cta.b64 %rd1, [%r0];
AGAIN: mbarrier.try_wait.shared::cta.b64 %p0, [%r0], %rd1; @!%p0 bra AGAIN;
""",
        count=2,
    )
    assert result.findings.kinds() == {"mbarrier", "deadlock"}


@pytest.mark.parametrize(("between", "kinds"), [("", {"race"}), ("bar.sync 0;", set[str]())])
def test_an_object_is_used_after_its_initialization_by_another_warp(between: str, kinds: set[str]) -> None:
    """Without a barrier between, nothing orders the two, even if they come in this order."""
    body = (
        "mov.u32 %r1, %tid.x; mov.u32 %r0, bar; setp.ne.u32 %p1, %r1, 0; setp.ne.u32 %p2, %r1, 32;"
        f"@!%p1 mbarrier.init.shared::cta.b64 [%r0], 1; {between} @!%p2 mbarrier.arrive.shared::cta.b64 %rd1, [%r0];"
    )
    found = [
        run(kernel(body, module=SHARED), np.zeros(1, np.uint32), block=(64,), seed=seed)[0].findings
        for seed in range(20)
    ]
    # If the use comes first, there is no object yet.
    used = [
        one for one in found if not any("has no initialized mbarrier" in finding.message for finding in one)
    ]
    assert used and all(one.kinds() == kinds for one in used)
    messages = {finding.message.partition(": ")[2] for one in used for finding in one}
    assert messages == (
        {"nothing orders its initialization by another thread before this use"} if kinds else set()
    )


def test_the_thread_that_announced_the_bytes_is_named() -> None:
    """Thread 37 announces 64 bytes, of which 32 come: its phase cannot end, whoever waits for it."""
    result, _ = run(
        kernel(
            """
  mov.u32 %r1, %tid.x; mov.u32 %r0, bar; setp.ne.u32 %p1, %r1, 37; @%p1 bra END;
  mbarrier.init.shared::cta.b64 [%r0], 1; mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r0], 64;
  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r0], 32;
AGAIN: mbarrier.try_wait.shared::cta.b64 %p0, [%r0], %rd1; @!%p0 bra AGAIN;
END:
""",
            module=SHARED,
        ),
        np.zeros(1, np.uint32),
        block=(64,),
    )
    mismatch = next(finding for finding in result.findings if finding.kind == "mbarrier")
    assert "announced 64 bytes for phase 0" in mismatch.message
    assert "transferred 32" in mismatch.message
    assert mismatch.thread == (37, 0, 0)
    assert "expect_tx" in mismatch.instruction
    # The thread that initialized the object may use it at once.
    assert result.findings.kinds() == {"mbarrier", "deadlock"}


def test_bytes_behind_an_object_outlive_it() -> None:
    ptx = kernel(
        INIT.format(count=1) + "st.shared.u32 [%r0+8], 77; mbarrier.inval.shared::cta.b64 [%r0];"
        "ld.shared.u32 %r1, [%r0+8]; st.global.u32 [%rd0], %r1;",
        module=".shared .align 8 .b8 bar[16];",
    )
    result, (out,) = run(ptx, np.zeros(1, np.uint32), block=(1,))
    assert not result.findings
    assert out[0] == 77


def test_the_bytes_of_an_object_that_ended_have_no_value() -> None:
    result, _ = single(
        "mbarrier.inval.shared::cta.b64 [%r0]; ld.shared.u32 %r1, [%r0+4]; st.global.u32 [%rd0], %r1;"
    )
    assert result.findings.kinds() == {"uninitialized"}


WAITED = """
  mov.u32 %r1, %tid.x; mov.u32 %r0, bar; setp.ne.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, 32;
  @!%p1 mbarrier.init.shared::cta.b64 [%r0], 1;
  bar.sync 0; @%p2 bra ARRIVE;
AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], 0; @!%p0 bra AGAIN; bra END;
ARRIVE: @!%p1 mbarrier.arrive.shared::cta.b64 %rd1, [%r0];
END: bar.sync 0; @!%p1 mbarrier.inval.shared::cta.b64 [%r0];
"""


def test_an_object_whose_waits_are_over_may_end() -> None:
    for seed in range(10):
        result, _ = run(kernel(WAITED, module=SHARED), np.zeros(1, np.uint32), block=(96,), seed=seed)
        assert not result.findings, result.findings.text()


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("mbarrier.arrive.shared::cta.b64 %rd1, [%r0], 2;", "mbarrier", "awaits only 1"),
        ("mbarrier.arrive.noComplete.shared::cta.b64 %rd1, [%r0], 1;", "mbarrier", "completes its phase"),
        ("mbarrier.init.shared::cta.b64 [%r0], 1;", "mbarrier", "live object"),
        ("mbarrier.arrive.shared::cta.b64 %rd1, [%r0+4];", "misaligned", "multiple of 8"),
        ("mbarrier.inval.shared::cta.b64 [%r0]; mbarrier.arrive.shared::cta.b64 %rd1, [%r0];", "mbarrier", "has no"),
        ("st.shared.u32 [%r0], 7; mbarrier.arrive.shared::cta.b64 %rd1, [%r0];", "mbarrier", "overwritten"),
        ("mbarrier.test_wait.parity.shared::cta.b64 %p0, [%r0], 2;", "mbarrier", "parity is 2"),
        (
            "mbarrier.arrive.shared::cta.b64 %rd1, [%r0]; mbarrier.arrive.shared::cta.b64 %rd2, [%r0];"
            "mbarrier.test_wait.shared::cta.b64 %p0, [%r0], %rd1;",
            "mbarrier",
            "a state of phase 0",
        ),
    ],
)  # fmt: skip
def test_misuse_is_found(body: str, kind: str, message: str) -> None:
    result, _ = single(body)
    assert any(finding.kind == kind and message in finding.message for finding in result.findings)


@pytest.mark.parametrize(("count", "is_found"), [(0, True), (1, False), (1048575, False), (1048576, True)])
def test_a_count_is_one_to_the_largest(count: int, is_found: bool) -> None:
    result, _ = single("", count=count)
    expected = {f"mbarrier.init with a count of {count}; expected 1 to 1048575"} if is_found else set[str]()
    assert {finding.message for finding in result.findings} == expected


@pytest.mark.parametrize(("amount", "is_found"), [(1048575, False), (1048576, True)])
def test_a_phase_awaits_no_more_bytes_than_an_object_can_count(amount: int, is_found: bool) -> None:
    result, _ = single(f"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r0], {amount};")
    expected = (
        {
            f"the mbarrier at shared byte 1024 of CTA (0, 0, 0) awaits {amount} bytes; at most 1048575 are allowed"
        }
        if is_found
        else set[str]()
    )
    assert {finding.message for finding in result.findings} == expected


def test_bytes_taken_ahead_of_their_announcement_are_limited_too() -> None:
    result, _ = single(
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r0], 1048575;"
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r0], 2;"
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r0], 1;"
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r0], 1;"
    )
    assert [finding.message.partition(" awaits ")[2] for finding in result.findings] == [
        "-1048576 bytes; at most 1048575 are allowed"
    ]


@pytest.mark.parametrize(
    ("offset", "kinds"),
    [(0, set[str]()), (8, set[str]()), (16, {"out-of-bounds"}), (-1024, {"out-of-bounds"})],
)
def test_an_object_lies_within_shared_memory(offset: int, kinds: set[str]) -> None:
    """Two objects have room. What is below the first byte is reserved for the system."""
    ptx = kernel(
        f"mov.u32 %r0, bar; add.s32 %r0, %r0, {offset}; mbarrier.init.shared::cta.b64 [%r0], 1;",
        module=".shared .align 8 .b64 bar[2];",
    )
    result, _ = run(ptx, np.zeros(1, np.uint32), block=(1,))
    assert result.findings.kinds() == kinds


def test_an_object_is_not_in_global_memory() -> None:
    result, _ = single("mbarrier.arrive.b64 %rd1, [%rd0];")
    (finding,) = result.findings
    assert finding.kind == "mbarrier"
    assert "is not an address of shared memory of this cluster" in finding.message


def test_an_overwritten_object_is_found_once() -> None:
    """The first use reports it, and the object goes on."""
    result, out = single(
        """
  st.shared.u32 [%r0+4], 7; mbarrier.arrive.shared::cta.b64 %rd1, [%r0];
  mbarrier.test_wait.shared::cta.b64 %p0, [%r0], %rd1; selp.u32 %r1, 1, 0, %p0; st.global.u32 [%rd0], %r1;
"""
    )
    (finding,) = result.findings
    assert finding.message == "the mbarrier at shared byte 1024 of CTA (0, 0, 0) was overwritten"
    assert out[0] == 1


def test_an_object_whose_phase_is_awaited_does_not_end() -> None:
    body = """
  mov.u32 %r1, %tid.x; mov.u32 %r0, bar; setp.ne.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, 32;
  @!%p1 mbarrier.init.shared::cta.b64 [%r0], 1;
  bar.sync 0; @%p2 bra INVAL;
AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], 0; @!%p0 bra AGAIN; bra END;
INVAL: nanosleep.u32 1000; @!%p1 mbarrier.inval.shared::cta.b64 [%r0];
END:
"""
    messages = {
        finding.message
        for seed in range(5)
        for finding in run(kernel(body, module=SHARED), np.zeros(1, np.uint32), block=(64,), seed=seed)[
            0
        ].findings
    }
    assert "mbarrier.inval of the mbarrier at shared byte 1024 of CTA (0, 0, 0), where 1 wait" in messages


REMOTE = """
  mov.u32 %r0, bar; mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p0, %r1, 0;
  @%p0 mbarrier.init.shared::cta.b64 [%r0], 1; @%p0 fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive; barrier.cluster.wait;
  @%p0 bra FIRST;
  mov.u32 %r2, 0; mapa.shared::cluster.u32 %r3, %r0, %r2; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
  bra END;
FIRST: {owner}
END: {end}
"""


@pytest.mark.parametrize(
    ("owner", "end", "is_found"),
    [
        ("", "", True),
        ("", "barrier.cluster.arrive; barrier.cluster.wait;", False),
        (
            "AGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r0], 0; @!%p1 bra AGAIN;",
            "",
            False,
        ),
    ],
)
def test_an_arrival_at_another_cta_happens_before_its_end(owner: str, end: str, is_found: bool) -> None:
    """The owner of the object waits for the arrival, or for the other CTA. Otherwise its memory may be gone."""
    text = kernel(REMOTE.format(owner=owner, end=end), module=SHARED)
    for seed in range(5):
        result, _ = run(text, np.zeros(1), grid=(2,), block=(1,), cluster=(2, 1, 1), seed=seed)
        assert result.findings.kinds() == ({"race"} if is_found else set[str]())
        assert all(
            "CTA (0, 0, 0)" in finding.message
            and "exited" in finding.message
            and finding.severity == "warning"
            for finding in result.findings
        )


def test_a_generic_address_names_the_same_object() -> None:
    result, out = single(
        """
  cvta.shared.u64 %rd5, %rd4; mov.u64 %rd4, bar; cvta.shared.u64 %rd5, %rd4;
  mbarrier.arrive.b64 %rd1, [%rd5];
  mbarrier.test_wait.b64 %p0, [%rd5], %rd1; selp.u32 %r1, 1, 0, %p0; st.global.u32 [%rd0], %r1;
"""
    )
    assert not result.findings
    assert out[0] == 1


def test_a_state_from_another_cta_is_refused_at_load_time() -> None:
    with pytest.raises(Exception, match="returns no state for .shared::cluster"):
        single("mbarrier.arrive.release.cluster.shared::cluster.b64 %rd1, [%r0];")


def test_an_arrival_that_expects_bytes_says_how_many() -> None:
    with pytest.raises(DiagnosticError, match="needs an address and a count"):
        run(kernel("  mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r0];"), np.zeros(1, np.uint32))


TABLE = ".shared .align 16 .b8 s[1024]; .shared .align 8 .b64 bar;"
START = """
  mov.u32 %r0, bar; mov.u32 %r1, s; mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r0], {count}; @%p1 fence.mbarrier_init.release.cluster; bar.sync 0;
  shl.b32 %r3, %r2, 2; add.u32 %r4, %r1, %r3; cvt.u64.u32 %rd9, %r3;
  add.s64 %rd8, %rd0, %rd9; add.s64 %rd7, %rd1, %rd9; ld.global.u32 %r7, [%rd8];
"""
END = """
  xor.b32 %r5, %r2, 32; shl.b32 %r5, %r5, 2; add.u32 %r5, %r5, %r1; ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd7], %r6;
"""
"""Each thread writes the word of a thread of the other warp."""
WAIT = "AGAIN: mbarrier.try_wait.parity.acquire.{scope}.shared::cta.b64 %p0, [%r0], 0;"
RETRY = "@!%p0 bra AGAIN;"

PROGRAMS = {
    "threads of both warps arrive": (64, "cta", """
  st.shared.u32 [%r4], %r7; mbarrier.arrive.shared::cta.b64 _, [%r0];
""", ""),
    "one thread arrives, and one waits": (1, "cta", """
  setp.ge.u32 %p2, %r2, 32; @%p2 bra OTHER; st.shared.u32 [%r4], %r7; bar.warp.sync 0xffffffff;
  @%p1 mbarrier.arrive.shared::cta.b64 _, [%r0]; ret;
OTHER: setp.ne.u32 %p3, %r2, 32; @%p3 ret;
""", ""),
    "a bulk copy completes bytes": (1, "cta", """
  @!%p1 bra WAIT; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r0], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 256, [%r0];
WAIT:
""", ""),
    "cp.async arrives": (64, "cta", """
  cp.async.ca.shared.global [%r4], [%rd8], 4; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r0];
""", ""),
    "threads of another CTA arrive": (64, "cluster", """
  barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r10, %cluster_ctarank; xor.b32 %r10, %r10, 1;
  mapa.shared::cluster.u32 %r12, %r0, %r10; mapa.shared::cluster.u32 %r13, %r4, %r10;
  st.shared::cluster.u32 [%r13], %r7; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12];
""", "barrier.cluster.arrive; barrier.cluster.wait;"),
}  # fmt: skip
"""Name → count of the barrier, scope of the wait, what comes before it, and after it."""


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_try_wait_without_a_retry_loop_is_found_by_nearly_every_seed(name: str, mode: str) -> None:
    count, scope, before, after = PROGRAMS[name]
    words = np.arange(64, dtype=np.uint32)
    settings: dict[str, Any] = {"grid": (2,), "cluster": (2, 1, 1)} if scope == "cluster" else {}

    def found(retry: str) -> int:
        body = START.format(count=count) + before + WAIT.format(scope=scope) + retry + END + after
        return sum(
            bool(
                run(kernel(body, 2, TABLE), words, words, block=(64,), seed=seed, mode=mode, **settings)[
                    0
                ].findings
            )
            for seed in range(20)
        )

    assert found("") >= 18
    assert found(RETRY) == 0


def test_a_wait_for_a_phase_whose_arrivals_a_barrier_orders_needs_no_retry_loop() -> None:
    arrive = "st.shared.u32 [%r4], %r7; mbarrier.arrive.shared::cta.b64 _, [%r0]; bar.sync 0;"
    body = START.format(count=64) + arrive + WAIT.format(scope="cta") + "@!%p0 trap;" + END
    words = np.arange(64, dtype=np.uint32)
    for seed in range(20):
        result, (_, out) = run(kernel(body, 2, TABLE), words, words, block=(64,), seed=seed)
        assert not result.findings
        assert (out == words ^ 32).all()


def test_a_thread_that_has_seen_the_end_of_a_phase_sees_it_again() -> None:
    arrive = "st.shared.u32 [%r4], %r7; mbarrier.arrive.shared::cta.b64 _, [%r0];"
    wait = WAIT.format(scope="cta")
    body = START.format(count=64) + arrive + wait + RETRY + wait.removeprefix("AGAIN: ") + "@!%p0 trap;" + END
    words = np.arange(64, dtype=np.uint32)
    assert not any(
        run(kernel(body, 2, TABLE), words, words, block=(64,), seed=seed)[0].findings for seed in range(20)
    )
