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
    assert "2 of 3 arrivals and 128 bytes missing" in finding.notes[0]


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


def test_a_try_wait_without_a_retry_loop_is_found_by_most_seeds() -> None:
    body = """
  mov.u32 %r0, bar; mov.u32 %r1, s; mbarrier.init.shared::cta.b64 [%r0], 1; fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd2, [%r0], 16;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 16, [%r0];
  mbarrier.try_wait.shared::cta.b64 %p0, [%r0], %rd2; ld.shared.u32 %r2, [%r1]; st.global.u32 [%rd1], %r2;
AGAIN: mbarrier.try_wait.shared::cta.b64 %p0, [%r0], %rd2; @!%p0 bra AGAIN;
"""
    text = kernel(body, 2, ".shared .align 16 .b8 s[16]; .shared .align 8 .b64 bar;")
    words = np.arange(4, dtype=np.uint32)
    found = [bool(run(text, words, words, block=(1,), seed=seed)[0].findings) for seed in range(8)]
    assert sum(found) >= 6
