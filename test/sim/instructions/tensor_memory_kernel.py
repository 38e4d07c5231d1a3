"""Kernels around tcgen05 instructions: they fill shared and tensor memory, run the instructions, and return the latter.

bytes of shared memory, words of tensor memory [lane, column] ──run(instructions)──▶ words of tensor memory
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_tools import sim

A_AT, B_AT = 1024, 1024 + 32768
"""Offsets of A and B in the shared window of the CTA: the first KiB is the system's."""
BARRIER = 1024 + 65536
PLACE = BARRIER + 8
COLUMNS = 512


def kernel(instructions: str, columns: int, group: int = 1, *, arch: str = "sm_100a", **drop: str) -> str:
    """Four warps of each CTA. One thread runs `instructions`: %t is the address of tensor memory, %x0… are parameters.

    `drop` replaces parts: proxy, wait_store, before, after, commit, wait, after_wait, wait_load.
    """

    def part(name: str, text: str) -> str:
        return drop.get(name, text)

    cluster = ".reqnctapercluster 2, 1, 1" if group == 2 else ""
    everyone = (
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" if group == 2 else "bar.sync 0;"
    )
    commit = f"tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster"
    commit += ".multicast::cluster.b64 [%bar], 3;" if group == 2 else ".b64 [%bar];"
    leader = "setp.eq.u32 %p1, %r0, 0;" + (
        "mov.u32 %r3, %cluster_ctarank; setp.eq.and.u32 %p1, %r3, 0, %p1;" if group == 2 else ""
    )
    return f"""
.version 8.8
.target {arch}
.address_size 64
.extern .shared .align 1024 .b8 memory[];
.visible .entry k(.param .u64 image, .param .u64 words, .param .u64 x0, .param .u64 x1, .param .u64 x2, .param .u32 x3)
    {cluster} {{
  .reg .b64 %rd<16>; .reg .b32 %r<16>; .reg .b32 %d<256>; .reg .pred %p<8>; .reg .b64 %v<4>; .reg .b64 %x<3>;
  .reg .b32 %x3; .reg .b32 %t; .reg .b32 %bar; .reg .b32 %place; .reg .b32 %mine;
  ld.param.u64 %rd0, [image]; ld.param.u64 %rd1, [words];
  ld.param.u64 %x0, [x0]; ld.param.u64 %x1, [x1]; ld.param.u64 %x2, [x2]; ld.param.u32 %x3, [x3];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; shr.u32 %r2, %r0, 5; mov.u32 %bar, memory+{BARRIER - A_AT};
  mov.u32 %place, memory+{PLACE - A_AT};
  setp.eq.u32 %p0, %r0, 0;
  @%p0 mbarrier.init.shared.b64 [%bar], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  setp.eq.u32 %p2, %r2, 0;
  @%p2 tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [%place], {COLUMNS};
  mul.wide.u32 %rd2, %r1, 65536; add.s64 %rd0, %rd0, %rd2; mul.wide.u32 %rd2, %r0, 16; add.s64 %rd0, %rd0, %rd2;
  shl.b32 %r5, %r0, 4; mov.u32 %r6, memory; add.s32 %r5, %r5, %r6; mov.u32 %r6, 0;
copy:
  ld.global.v2.b64 {{%v0, %v1}}, [%rd0];
  st.shared.v2.b64 [%r5], {{%v0, %v1}};
  add.s64 %rd0, %rd0, 2048; add.s32 %r5, %r5, 2048; add.s32 %r6, %r6, 1;
  setp.lt.u32 %p3, %r6, 32; @%p3 bra copy;
  {part("proxy", "fence.proxy.async.shared::cta;")}
  {everyone}
  ld.shared.u32 %t, [%place];
  shl.b32 %mine, %r2, 21; add.s32 %mine, %mine, %t;
  mul.wide.u32 %rd3, %r1, {
        512 * columns
    }; add.s64 %rd1, %rd1, %rd3; mul.wide.u32 %rd3, %r0, 4; add.s64 %rd1, %rd1, %rd3;
  mov.u64 %rd4, %rd1; mov.u32 %r6, 0; mov.u32 %r7, %mine;
fill:
  ld.global.b32 %d0, [%rd4];
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r7], {{%d0}};
  add.s64 %rd4, %rd4, 512; add.s32 %r7, %r7, 1; add.s32 %r6, %r6, 1;
  setp.lt.u32 %p3, %r6, {columns}; @%p3 bra fill;
  {part("wait_store", "tcgen05.wait::st.sync.aligned;")}
  {part("before", "tcgen05.fence::before_thread_sync;")}
  {everyone}
  {part("after", "tcgen05.fence::after_thread_sync;")}
  setp.ne.u32 %p4, %x3, 0;
  {leader}
  @!%p1 bra issued;
  {instructions}
  {part("commit", commit)}
issued:
{
        part(
            "wait",
            '''wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%bar], 0;
  @!%p5 bra wait;''',
        )
    }
  {part("after_wait", "tcgen05.fence::after_thread_sync;")}
  mov.u64 %rd4, %rd1; mov.u32 %r6, 0; mov.u32 %r7, %mine;
read:
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%d0}}, [%r7];
  {part("wait_load", "tcgen05.wait::ld.sync.aligned;")}
  st.global.b32 [%rd4], %d0;
  add.s64 %rd4, %rd4, 512; add.s32 %r7, %r7, 1; add.s32 %r6, %r6, 1;
  setp.lt.u32 %p3, %r6, {columns}; @%p3 bra read;
  {everyone}
  @%p2 tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;
  @%p2 tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %t, {COLUMNS};
  ret;
}}
"""


def run(
    instructions: str, image: np.ndarray, words: np.ndarray, parameters: tuple[int, int, int, int] = (0, 0, 0, 0),
    *, group: int = 1, arch: str = "sm_100a", mode: str = "late", seed: int = 0, **drop: str,
) -> tuple[Any, np.ndarray]:  # fmt: skip
    """Images of shared memory [cta, 65536] and tensor memory [cta, lane, column] → result and tensor memory."""
    columns = words.shape[-1]
    module = sim.load(kernel(instructions, columns, group, arch=arch, **drop), file="k.ptx")
    bytes_in = module.memory.allocate(np.ascontiguousarray(image), "image")
    held = module.memory.allocate(np.ascontiguousarray(np.swapaxes(words, -1, -2)), "words")
    result = module.launch(
        "k", (group,), (128,), [bytes_in, held, *parameters], shared_bytes=65536 + 16, mode=mode, seed=seed,
        max_instructions=300_000,
    )  # fmt: skip
    return result, np.swapaxes(held.array(), -1, -2)
