"""cp.async.bulk and cp.reduce.async.bulk without a tensor map: what is read before the copy is complete."""

from __future__ import annotations

import numpy as np
import pytest
from sim.kernels import kernel, run

SHARED = ".shared .align 16 .b8 s[64]; .shared .align 8 .b64 bar;"
FILL = """
  mov.u32 %r1, s; mov.u32 %r2, bar; mbarrier.init.shared.b64 [%r2], 1;
  st.shared.v4.u32 [%r1], {5, 5, 5, 5}; st.shared.v4.u32 [%r1+16], {1, 1, 1, 1};
  fence.proxy.async; mbarrier.arrive.expect_tx.shared::cta.b64 %rd5, [%r2], 16; add.u32 %r3, %r1, 16;
"""
WAIT = "W: mbarrier.try_wait.shared::cta.b64 %p1, [%r2], %rd5; @!%p1 bra W;\n"
LOOK = "ld.shared.u32 %r4, [%r1]; st.global.u32 [%rd0], %r4;"
COPY = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r2];\n"
ADD = "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r1], [%r3], 16, [%r2];\n"
POISON = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("copy", "wait", "mode", "value"),
    [
        (COPY, WAIT, "late", 7),
        (COPY, "", "late", POISON),
        (COPY, "", "early", 7),
        (ADD, WAIT, "late", 6),
        (ADD, "", "late", 5),
        (ADD, "", "early", 6),
    ],
    ids=["copy", "copy, late", "copy, early", "reduction", "reduction, late", "reduction, early"],
)
def test_a_copy_leaves_poison_until_it_is_complete_and_a_reduction_what_was_there(
    copy: str, wait: str, mode: str, value: int
) -> None:
    ptx = kernel(FILL + copy + wait + LOOK, 2, module=SHARED).replace(".version 8.0", ".version 8.6")
    result, (out, _) = run(ptx, np.zeros(1, np.uint32), np.full(4, 7, np.uint32), block=(1,), mode=mode)
    assert (out[0], bool(result.findings.kinds())) == (value, not wait)
