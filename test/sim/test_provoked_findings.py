"""Findings of single instructions: a body per finding, with its kind, its line and its whole message."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sim.kernels import HEADER, REGISTERS, kernel, run

SHARED = ".shared .align 128 .b8 s[1024]; .shared .align 16 .b64 bar;"
LANE = "mov.u32 %r0, %tid.x; mov.u32 %r1, s; mov.u32 %r2, bar;\n"
CLUSTER = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
RANK = "mov.u32 %r3, %cluster_ctarank; setp.eq.u32 %p1, %r3, 0;\n"
ONE = {"block": (1,)}
PAIR = {"block": (1,), "grid": (2,), "cluster": (2, 1, 1)}
TENSOR_MEMORY = {"target": "sm_100a"}
ALLOC = (
    LANE
    + "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;\nbar.sync 0; ld.shared.u32 %r4, [%r1];\n"
)
DEALLOC = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 32;"

CASES: list[tuple[str, dict[str, Any], str, int, str]] = [
    # Copies.
    (
        LANE + "mov.u32 %r3, 9; cp.async.ca.shared.global [%r1], [%rd0], 8, %r3; cp.async.wait_all;",
        ONE,
        "illegal",
        9,
        "a source size above the copy size of 8 bytes",
    ),
    # Barriers.
    (
        "barrier.sync 16;",
        {},
        "barrier",
        8,
        "barrier 16 with all threads; barriers are 0 to 15, thread counts multiples of 32",
    ),
    (
        "barrier.sync 1, 33;",
        {},
        "barrier",
        8,
        "barrier 1 with 33 threads; barriers are 0 to 15, thread counts multiples of 32",
    ),
    (
        LANE + "setp.lt.u32 %p0, %r0, 32; @%p0 bra A; barrier.arrive 1, 64; bra B; A: barrier.sync 1, 96; B:",
        {"block": (64,)},
        "barrier",
        9,
        "barrier 1 awaits 64 threads; here it is 96",
    ),
    (
        LANE + "setp.lt.u32 %p0, %r0, 32; @%p0 bra A; barrier.arrive 1, 64; bra B; A: barrier.sync 1; B:",
        {"block": (64,)},
        "barrier",
        9,
        "barrier 1 awaits 64 threads; here it is all",
    ),
    (
        "barrier.cluster.arrive.aligned;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;",
        {},
        "barrier",
        9,
        "barrier.cluster.arrive twice with no barrier.cluster.wait between",
    ),
    (
        "barrier.cluster.wait.aligned;",
        {},
        "barrier",
        8,
        "barrier.cluster.wait without a barrier.cluster.arrive before",
    ),
    # Control.
    (
        "mov.u32 %r0, 2; L: .branchtargets A, B; brx.idx %r0, L; A: B:",
        ONE,
        "illegal",
        8,
        "index 2 into a list of 2 labels",
    ),
    ("trap;", ONE, "trap", 8, "the kernel executed a trap"),
    ("brkpt;", ONE, "trap", 8, "the kernel executed a breakpoint"),
    # Matrices.
    (
        LANE + "setp.lt.u32 %p0, %r0, 16; @%p0 mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
        "{%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2}, {%f0,%f1,%f2,%f3};",
        {},
        "illegal",
        9,
        "16 of 32 lanes run it; it needs the whole warp",
    ),
    # Warps.
    (
        LANE + "vote.sync.any.pred %p0, %p1, 0xffff;",
        {},
        "illegal",
        9,
        "lanes 0xffff0000 run it, but are not in the mask 0x0000ffff",
    ),
    (
        LANE + "setp.lt.u32 %p0, %r0, 31; @%p0 shfl.sync.down.b32 %r2, %r0, 1, 31, 0x7fffffff;",
        {},
        "illegal",
        9,
        "reads from lane 31, which does not take part",
    ),
    # mbarriers.
    (
        LANE + "mbarrier.init.shared::cta.b64 [%r2], 1;\nmbarrier.init.shared::cta.b64 [%r2], 1;",
        ONE,
        "mbarrier",
        10,
        "mbarrier.init of a live object at shared byte 2048; mbarrier.inval first",
    ),
    (
        LANE
        + "mbarrier.init.shared::cta.b64 [%r2], 1;\nmbarrier.test_wait.parity.shared::cta.b64 %p0, [%r2], 2;",
        ONE,
        "mbarrier",
        10,
        "the parity is 2; expected 0 or 1",
    ),
    (
        LANE
        + RANK
        + "mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster;\n"
        + CLUSTER
        + "cvta.shared.u64 %rd1, bar; mapa.u64 %rd2, %rd1, 1; @%p1 mbarrier.test_wait.parity.b64 %p0, [%rd2], 0;\n"
        + CLUSTER,
        PAIR,
        "mbarrier",
        12,
        "a wait at the mbarrier at shared byte 2048 of CTA (1, 0, 0), of another CTA",
    ),
    # Bulk copies.
    (
        LANE + "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 272;",
        ONE,
        "out-of-bounds",
        9,
        "'cp.async.bulk.global.shared::cta.bulk_group' at PTX line 9: 272 bytes at global address 0x7f0000100000, of "
        "array 0, which ends 16 bytes before that does",
    ),
    (
        LANE
        + "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 16, [0x01000000];",
        ONE,
        "mbarrier",
        9,
        "'cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes' at PTX line 9: "
        "0x1000000 is not an address of the cluster's shared memory",
    ),
    (
        LANE
        + RANK
        + "mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster;\n"
        + CLUSTER
        + "mapa.shared::cluster.u32 %r4, %r1, 1; @%p1 "
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd0], 16, "
        "[%r2];\n" + CLUSTER,
        PAIR,
        "mbarrier",
        12,
        "'cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes' at PTX line 12: its "
        "mbarrier is not in the CTA that it writes to",
    ),
    # Shared memory of another CTA.
    (
        LANE
        + RANK
        + "mapa.shared::cluster.u32 %r4, %r1, 1; @%p1 st.shared::cluster.u32 [%r4], %r3;\n"
        + CLUSTER,
        PAIR,
        "race",
        10,
        "access to shared memory of CTA (1, 0, 0), which may not have started yet; use a cluster barrier",
    ),
    (
        LANE
        + RANK
        + CLUSTER
        + "mapa.shared::cluster.u32 %r4, %r1, 1; @!%p1 exit; mov.u32 %r5, 0; A: add.u32 %r5, %r5, "
        "1; setp.lt.u32 %p2, %r5, 200; @%p2 bra A; @%p1 st.shared::cluster.u32 [%r4], %r3;\n",
        PAIR,
        "race",
        11,
        "access to shared memory of CTA (1, 0, 0), which has exited; use a cluster barrier at the end",
    ),
    (
        LANE
        + RANK
        + CLUSTER
        + "mapa.shared::cluster.u32 %r4, %r1, 1; @%p1 st.shared::cluster.u32 [%r4], %r3; @%p1 "
        "exit; mov.u32 %r5, 0; A: add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 200; @%p2 bra A; \n",
        PAIR,
        "race",
        11,
        "access to shared memory of CTA (1, 0, 0), which has exited; use a cluster barrier at the end",
    ),
    # Threads that wait for ever, and races.
    ("bar.sync 1, 64;", {}, "deadlock", 8, "1 warp waits, and no thread can wake them"),
    (
        LANE + "st.shared.u32 [%r1], 5;\n",
        {"block": (64,)},
        "race",
        9,
        "write of 4 bytes at byte 0 of 's' (byte 1024 of shared memory): no barrier orders it "
        "after another thread's access; it stores the value that is already there",
    ),
    # setmaxnreg.
    (
        LANE + "setp.lt.u32 %p0, %r0, 32; @%p0 bra A; setmaxnreg.dec.sync.aligned.u32 40; bra B; A: "
        "setmaxnreg.dec.sync.aligned.u32 64; B:",
        {"block": (128,)},
        "illegal",
        9,
        "setmaxnreg to 64, where another warp of the warpgroup asked for 40",
    ),
    (
        LANE + "setp.lt.u32 %p0, %r0, 32; @!%p0 bra B; setmaxnreg.dec.sync.aligned.u32 64; B:",
        {"block": (128,)},
        "illegal",
        10,
        "setmaxnreg ran [1, 0, 0, 0] times in the warps 0 to 3: all warps of a warpgroup must execute it",
    ),
    # clusterlaunchcontrol.
    (
        LANE
        + "mov.b128 %q0, {%rd1, %rd2}; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p0, %q0;",
        {**ONE, **TENSOR_MEMORY},
        "illegal",
        9,
        "a response that clusterlaunchcontrol.try_cancel has not written",
    ),
    (
        LANE
        + "mov.b128 %q0, {%rd1, %rd2}; clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r0, %q0;",
        {**ONE, **TENSOR_MEMORY},
        "illegal",
        9,
        "the first CTA of a cluster that was not canceled",
    ),
    # Tensor memory.
    (
        ALLOC,
        TENSOR_MEMORY,
        "illegal",
        12,
        "the threads of CTA (0, 0, 0) exited, and 32 columns of tensor memory from 480 on are "
        "still allocated; expected tcgen05.dealloc",
    ),
    (
        LANE + "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 48;",
        TENSOR_MEMORY,
        "illegal",
        9,
        "48 columns; expected a power of two, 32 to 512",
    ),
    (
        LANE + "add.u32 %r3, %r0, 32; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], %r3;",
        TENSOR_MEMORY,
        "illegal",
        9,
        "the number of columns differs between the lanes",
    ),
    (
        ALLOC + "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 64;",
        TENSOR_MEMORY,
        "illegal",
        11,
        "tcgen05.dealloc of 64 columns; the allocation has 32",
    ),
    (
        ALLOC + DEALLOC + "\n" + DEALLOC,
        TENSOR_MEMORY,
        "illegal",
        12,
        "tcgen05.dealloc of 0x1e0, which was freed at PTX line 11",
    ),
    (
        LANE + "tcgen05.dealloc.cta_group::1.sync.aligned.b32 7, 32;",
        TENSOR_MEMORY,
        "illegal",
        9,
        "tcgen05.dealloc of 0x7, which no tcgen05.alloc returned",
    ),
    (
        "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n" + ALLOC + DEALLOC,
        TENSOR_MEMORY,
        "illegal",
        10,
        "tcgen05.alloc after the CTA's relinquish_alloc_permit at PTX line 8",
    ),
    (
        ALLOC + "add.u32 %r5, %r4, 0x200000; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r6}, [%r5]; "
        "tcgen05.wait::ld.sync.aligned;\n" + DEALLOC,
        TENSOR_MEMORY,
        "illegal",
        11,
        "tcgen05.ld from lane 32 of tensor memory by warp 0; a warp accesses the 32 lanes of its "
        "place in the warpgroup, here from lane 0",
    ),
    (
        ALLOC + "tcgen05.wait::ld.sync.aligned;\n tcgen05.shift.cta_group::1.down [0x00100000];\n" + DEALLOC,
        TENSOR_MEMORY,
        "illegal",
        12,
        "'tcgen05.shift' at PTX line 12 from lane 16; expected a multiple of 32",
    ),
    (
        LANE + "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r1], 32;",
        TENSOR_MEMORY,
        "illegal",
        9,
        "cta_group::2 in CTA (0, 0, 0), whose cluster has no peer for it",
    ),
    # Calls.
    (
        "mov.u64 %rd1, 64; P: .callprototype _ (); call %rd1, (), P;",
        {**ONE, "module": ".func f() { ret; }"},
        "illegal",
        8,
        "an indirect call of 0x40, which is not a function of this type",
    ),
    (
        "{ .param .b64 a; st.param.b64 [a], %rd0; call.uni free, (a); }",
        {**ONE, "module": ".extern .func free(.param .b64 a);"},
        "illegal",
        8,
        "free of 0x7f0000100000, which was not allocated by malloc",
    ),
    # Scale factors.
    (
        LANE
        + "mov.u32 %r5, 0; cvt.u16.u32 %h0, %r0; "
        + "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 "
        "{%f0,%f1,%f2,%f3}, {%r5,%r5,%r5,%r5}, {%r5,%r5}, {%f0,%f1,%f2,%f3}, {%r5}, {%h0,0}, "
        "{%r5}, {0,0};",
        {"target": "sm_120a"},
        "illegal",
        9,
        "the selectors of the scale factors differ between the lanes",
    ),
    (
        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 "
        "{%f0,%f1,%f2,%f3}, {%r5,%r5,%r5,%r5}, {%r5,%r5}, {%f0,%f1,%f2,%f3}, {%r5}, {4,0}, "
        "{%r5}, {0,0};",
        {"target": "sm_120a"},
        "illegal",
        8,
        "byte-id 4 and thread-id 0 for 1 scale factors; expected a multiple of 1 up to 3, and up to 1",
    ),
    (
        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 "
        "{%f0,%f1,%f2,%f3}, {%r5,%r5,%r5,%r5}, {%r5,%r5}, {%f0,%f1,%f2,%f3}, {%r5}, {0,2}, "
        "{%r5}, {0,0};",
        {"target": "sm_120a"},
        "illegal",
        8,
        "byte-id 0 and thread-id 2 for 1 scale factors; expected a multiple of 1 up to 3, and up to 1",
    ),
    # Tensor maps.
    (
        "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [0x0, {0, 0}];",
        ONE,
        "illegal",
        8,
        "'cp.async.bulk.prefetch.tensor.2d.L2.global.tile' at PTX line 8: its tensor map is in "
        "unmapped memory; expected .param, .const or .global",
    ),
    (
        "cvta.shared.u64 %rd1, s; cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {0, 0}];",
        ONE,
        "illegal",
        8,
        "'cp.async.bulk.prefetch.tensor.2d.L2.global.tile' at PTX line 8: its tensor map is in "
        "shared memory; expected .param, .const or .global",
    ),
    # clusterlaunchcontrol.
    (
        LANE + "mbarrier.init.shared::cta.b64 [%r2], 2; fence.mbarrier_init.release.cluster; mov.b128 "
        "%q0, {%rd1, 0x200000000}; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p0, "
        "%q0;\nmbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [%r2], 16; "
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 "
        "[%r1], [%r2];",
        {**ONE, "target": "sm_100a"},
        "illegal",
        10,
        "'clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128' "
        "at PTX line 10 after the CTA has learned that no cluster is left",
    ),
    # Proxies.
    (
        LANE + "mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster; "
        "st.shared.u32 [%r1], %r0;\nmbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r2], 16;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 16, "
        "[%r2];\nA: mbarrier.try_wait.shared::cta.b64 %p0, [%r2], %rd1; @!%p0 bra A;",
        ONE,
        "proxy",
        11,
        "'cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes' at PTX line 11 "
        "writes byte 0 of 's' (byte 1024 of shared memory), which was stored through the generic "
        "proxy with no fence.proxy.async since that orders it",
    ),
    (
        LANE + "setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared::cta.b64 [%r2], 1; "
        "fence.mbarrier_init.release.cluster; bar.sync 0; setp.eq.u32 %p2, %r0, 32; @%p2 "
        "st.shared.u32 [%r1], %r0;\n"
        "fence.proxy.async; @!%p1 exit; mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r2], "
        "16;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], "
        "16, [%r2];\nA: mbarrier.try_wait.shared::cta.b64 %p0, [%r2], %rd1; @!%p0 bra A;",
        {"block": (64,)},
        "race",
        11,
        "'cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes' at PTX line 11 "
        "writes byte 0 of 's' (byte 1024 of shared memory): no barrier orders it after another "
        "thread's write",
    ),
    (
        LANE
        + RANK
        + CLUSTER
        + "mapa.shared::cluster.u32 %r4, %r1, 1; @%p1 st.shared::cluster.u32 [%r4], %r3; @%p1 bra "
        "E; mov.u32 %r5, 0; A: add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 200; @%p2 bra A; E:\n",
        PAIR,
        "race",
        11,
        "access to shared memory of CTA (1, 0, 0), which has exited; use a cluster barrier at the end",
    ),
    (
        LANE
        + RANK
        + CLUSTER
        + "mapa.shared::cluster.u32 %r4, %r1, 0; @!%p1 st.shared::cluster.u32 [%r4], %r3; @!%p1 "
        "bra E; mov.u32 %r5, 0; A: add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 200; @%p2 bra A; "
        "E:\n",
        PAIR,
        "race",
        13,
        "the threads of CTA (0, 0, 0) exited, and nothing orders a write of byte 0 of 's' (byte "
        "1024 of shared memory) by another CTA before that: use a cluster barrier at the end",
    ),
    # Commits.
    (
        LANE
        + RANK
        + "mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster;\n"
        + CLUSTER
        + "mapa.shared::cluster.u32 %r4, %r2, 1; @!%p1 exit; mov.u32 %r5, 0;\n"
        "A: add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 200; @%p2 bra A;\n"
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];",
        {**PAIR, "target": "sm_100a"},
        "race",
        14,
        "an arrival at the mbarrier at shared byte 2048 of CTA (1, 0, 0), which has exited; let it wait for its "
        "barriers before it does",
    ),
    (
        LANE + "mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster;\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r2], 16;\n"
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2];",
        {**ONE, "target": "sm_100a"},
        "mbarrier",
        11,
        "an arrival at the mbarrier at shared byte 2048 of CTA (0, 0, 0), whose phase 0 awaits none",
    ),
    (
        LANE + "setp.eq.u32 %p0, %r0, 0; @%p0 st.shared.u32 [%r1], 1;\n"
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
        "[%rd0], [%r1], 128;",
        {},
        "race",
        10,
        "the warp copies byte 0 of 's' (byte 1024 of shared memory), which one of its threads has changed: "
        "no bar.warp.sync orders the copy after the change",
    ),
]
"""A body, options of the launch, and a finding: its kind, its line and its message."""


@pytest.mark.parametrize(
    ("body", "options", "kind", "line", "message"), CASES, ids=[row[-1][-50:] for row in CASES]
)
def test_a_finding_is_reported_at_its_instruction(
    body: str, options: dict[str, Any], kind: str, line: int, message: str
) -> None:
    given = dict(options)
    text = kernel(body, module=SHARED + given.pop("module", ""))
    text = text.replace(HEADER, HEADER.replace("8.0", "8.8").replace("sm_90a", given.pop("target", "sm_90a")))
    text = text.replace(REGISTERS, REGISTERS + ".reg .b128 %q<2>; ")
    result, _ = run(text, np.zeros(64, np.uint32), **given)
    assert (kind, line, message) in [(found.kind, found.line, found.message) for found in result.findings]


@pytest.mark.parametrize(
    ("place", "found"), [(0, []), (60, []), (61, ["out-of-bounds"]), (64, ["out-of-bounds"])]
)
def test_local_memory_ends_with_the_last_byte_of_its_frame(place: int, found: list[str]) -> None:
    body = f".local .align 4 .b8 buffer[64]; st.local.b32 [buffer+{place}], 7; ld.local.b32 %r0, [buffer+{place}];"
    result, (out,) = run(kernel(body + "st.global.b32 [%rd0], %r0;"), np.zeros(1, np.uint32))
    assert sorted(result.findings.kinds()) == found
    assert out[0] == 7 or found
