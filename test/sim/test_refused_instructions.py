"""Instructions that do not exist are refused where they stand, with what was found and what was expected. ptxas refuses
them too."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from oracles import find_tool
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.sim import load

HEADER = ".version 8.8\n.target {target}\n.address_size 64\n"
DECLARED = """.visible .entry k(.param .u64 p0) {
.reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .f64 %d<8>;
.reg .b128 %q<2>;
.shared .align 128 .b8 s[1024];
"""

FLOATS = "{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}"
WORDS = "{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}"
SCALED = (
    "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4{}.f32.e4m3.e4m3.f32.{}"
    " {{%f0,%f1,%f2,%f3}}, {{%r0,%r1,%r2,%r3}}, {{%r4,%r5}}, {{%f0,%f1,%f2,%f3}}, {}, {{%r7}}, {{0,0}};"
)

REFUSED = [
    # Operands.
    ("add.u32 %r0, %r1, %smid;", "uses '%smid', which only mov and cvt of integers may read"),
    ("abs.f32 %f0, 0;", "has a number for .f32; expected a floating-point number, such as 0f3F800000"),
    ("neg.f16 %h0, 0f3F800000;", "has a number for .f16; expected a register"),
    ("fma.rn.bf16x2 %r0, %r1, 1, %r2;", "has a number for .bf16x2; expected a register"),
    ("mov.u32 %r0, 0f3F800000;", "has a number for .u32; expected an integer"),
    ("mov.b64 %rd0, 0f3F800000;", "has a number for .b64; expected an integer"),
    ("max.s16 %r0, %h1, %h2;", "uses '%r0', a .b32 register, as .s16"),
    ("add.f32 %f0, %f1, %d1;", "uses '%d1', a .f64 register, as .f32"),
    ("add.u32 %r0, %f1, %r1;", "uses '%f1', a .f32 register, as .u32"),
    ("cvt.rn.bf16.f32 %r0, %f0;", "uses '%r0', a .b32 register, as .bf16"),
    # Memory.
    (
        "ld.relaxed.global.u32 %r0, [%rd0];",
        "has .relaxed without a scope; expected .cta, .cluster, .gpu, .sys",
    ),
    ("ld.weak.gpu.global.u32 %r0, [%rd0];", "has the scope .gpu without .relaxed, .acquire or .release"),
    ("ld.release.gpu.global.u32 %r0, [%rd0];", "has .release, which belongs to the other direction"),
    ("st.acquire.gpu.global.u32 [%rd0], %r0;", "has .acquire, which belongs to the other direction"),
    ("st.param.u32 [p0], %r0;", "writes to .param, which is read-only here"),
    ("ld.global.u32 %r0, %rd0;", "has '%rd0'; expected an address in brackets"),
    (
        "ld.global.f16 %h0, [%rd0];",
        "has type .f16; expected .b8, .b16, .b32, .b64, .b128, .u8",
    ),
    ("ld.global.u32 %r0, [%rd0], %rd1;", "has 3 operands; expected 2"),
    ("ld.global.L2::cache_hint.u32 %r0, [%rd0];", "has 2 operands; expected 3"),
    # Barriers.
    (
        "mbarrier.arrive.relaxed.shared.b64 _, [%r0];",
        "has .relaxed without a scope; expected .cta or .cluster",
    ),
    ("mbarrier.arrive.cluster.shared.b64 _, [%r0];", "has the scope .cluster without .release or .relaxed"),
    (
        "mbarrier.expect_tx.relaxed.shared.b64 [%r0], 8;",
        "has .relaxed without a scope; expected .cta or .cluster",
    ),
    # Matrices.
    (
        "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.u8.s32 "
        + WORDS
        + ", {%r0,%r1}, {%r2,%r3}, "
        + WORDS
        + ";",
        "multiplies .s8 by .u8 and adds .s32 to .s32",
    ),
    (
        "wmma.load.b.sync.aligned.row.m8n8k32.global.s4 {%r0}, [%rd0], 32;",
        "has .row for B of .m8n8k32; expected .col",
    ),
    (
        "wmma.load.c.sync.aligned.row.m16n16k8.global.s32 " + WORDS + ", [%rd0], 16;",
        "has .m16n16k8 with .s32 for C; expected .m16n16k16, .m8n32k16, .m32n8k16, .m8n8k32, .m8n8k128",
    ),
    (
        "mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32 {%r0,%r1}, {%r2}, 5, {%r4,%r5};",
        "has no list of registers in braces for B; expected 1",
    ),
    ("st.global.u32 %r0, [%rd0];", "has '%r0'; expected an address in brackets"),
    ("ld.global.u32 %r0, [%h0];", "has an address in '%h0', of 16 bits; expected 32 or 64"),
    ("mapa.u64 %rd0, [%rd1], %r0;", "expects an address without brackets"),
    # Atomics.
    ("red.acquire.gpu.global.add.u32 [%rd0], %r0;", "has .acquire; expected .relaxed or .release"),
    ("red.global.exch.b32 [%rd0], %r0;", "has .exch, which only atom has"),
    ("atom.global.v4.f32.exch %f0, [%rd0], %f1;", "has no vector form of .exch.f32"),
    ("atom.shared.v2.f32.add {%f0, %f1}, [%r0], {%f2, %f3};", "has a vector form outside .global"),
    ("atom.global.add.f16 %h0, [%rd0], %h1;", "needs .noftz for .f16"),
    ("atom.global.add.noftz.f32 %f0, [%rd0], %f1;", "has .noftz for .f32"),
    # Barriers, votes, shuffles.
    ("barrier.sync;", "has 0 operands; expected a barrier and a thread count"),
    ("barrier.arrive 1;", "has 1 operands; expected a barrier and a thread count"),
    ("match.any.sync.b32 %r0|%p0, %r1, -1;", "has a predicate, which only match.all has"),
    ("elect.sync %r0, -1;", "needs a predicate after its destination"),
    # Bulk copies.
    (
        "cp.reduce.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.add.u32 [%r0], [%rd0], 16, [%r1];",
        "reduces from .global; expected .shared::cta",
    ),
    (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%rd0], [%r0], 16;",
        "requires .noftz for, and only for, adding .f16 or .bf16",
    ),
    (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.noftz.f16 [%rd0], [%r0], 16;",
        "requires .noftz for, and only for, adding .f16 or .bf16",
    ),
    ("cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.s32 [%rd0], [%r0], 16;", "has no .inc of .s32"),
    (
        "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r0];",
        "has 2 operands besides a cache policy; expected 3",
    ),
    (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%rd0], 16;",
        "has 3 operands besides a cache policy; expected 4",
    ),
    (
        "cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
        " [%r0], [%rd0, {%r1, %r2}], [%r3], {%h0};",
        "has im2col for fewer than 3 dimensions",
    ),
    (
        "cp.async.bulk.tensor.3d.global.shared::cta.tile::scatter4.bulk_group [%rd0, {%r1, %r2, %r3}], [%r0];",
        "has .tile::scatter4 for 3 dimensions; expected .2d",
    ),
    (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%rd0], [%r3];",
        "needs [tensorMap, {coordinates}]",
    ),
    (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%rd0, {%r1}], [%r3];",
        "has 1 coordinates; expected 2",
    ),
    (
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
        " [%r0], [%rd0, {%r1, %r2, %r3, %r4}], [%r5], {%h0};",
        "has 1 im2col offsets; expected 2",
    ),
    (
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd0, {%r1, %r2}], [%r0], [%r3];",
        "has 3 operands besides a cache policy; expected 2",
    ),
    ("cp.async.ca.shared.global [%r0], [%rd0];", "has 2 operands"),
    # Calls and control.
    ("call 5;", "names no function"),
    ("brx.idx %r0, %r1;", "names no .branchtargets list"),
    ("bra %r1;", "jumps to '%r1', which is not a label in this scope"),
    # Comparisons.
    ("set.eq.ftz.u32.f64 %r0, %d0, %d1;", "has .ftz for .f64"),
    ("slct.ftz.u32.s32 %r0, %r1, %r2, %r3;", "has .ftz without .f32"),
    # Conversions.
    ("cvt.rn.satfinite.f32.s32 %f0, %r0;", "has .satfinite from .s32 to .f32"),
    ("cvt.rn.relu.f16.f64 %h0, %d0;", "has .relu from .f64 to .f16"),
    ("cvt.ftz.f64.f16 %d0, %h0;", "has .ftz from .f16 to .f64"),
    ("cvt.rn.ftz.tf32.f32 %r0, %f0;", "has .ftz from .f32 to .tf32"),
    ("cvt.rna.f16.f32 %h0, %f0;", "has .rna; only .tf32 without .relu has it"),
    ("cvt.rna.relu.tf32.f32 %r0, %f0;", "has .rna; only .tf32 without .relu has it"),
    ("cvt.rm.relu.f16.f32 %h0, %f0;", "rounds to .f16 by .rm; expected .rn or .rz"),
    ("cvt.rp.tf32.f32 %r0, %f0;", "rounds to .tf32 by .rp; expected .rn or .rz"),
    ("cvt.sat.u32.u16 %r0, %h0;", "has .sat from .u16 to .u32"),
    ("cvt.rn.sat.bf16.f32 %h0, %f0;", "has .sat from .f32 to .bf16"),
    ("cvt.rni.u8.bf16 %h0, %h1;", "converts .bf16 to .u8, which is no conversion of PTX"),
    ("cvt.f32.tf32 %f0, %r0;", "converts .tf32 to .f32, which is no conversion of PTX"),
    ("cvt.f32.e4m3 %f0, %h0;", "converts .e4m3 to .f32, which is no conversion of PTX"),
    ("cvt.rn.satfinite.f16x2.e4m3x2 %r0, %h0;", "has .satfinite from .e4m3x2 to .f16x2"),
    ("cvt.rzi.s32.s16 %r0, %h0;", "rounds from .s16 to .s32"),
    ("cvt.s32.f32 %r0, %f0;", "to .s32 needs .rni, .rzi, .rmi or .rpi"),
    ("cvt.rn.s32.f32 %r0, %f0;", "to .s32 needs .rni, .rzi, .rmi or .rpi"),
    ("cvt.f32.s32 %f0, %r0;", "from .s32 to .f32 needs .rn, .rz, .rm or .rp"),
    ("cvt.rn.f64.f32 %d0, %f0;", "rounds from .f32 to .f64, which loses nothing"),
    ("cvt.rn.f32.f32 %f0, %f1;", "rounds from .f32 to itself; expected .rni, .rzi, .rmi or .rpi"),
    ("cvt.f32.f64 %f0, %d0;", "from .f64 to .f32 needs a rounding"),
    ("cvt.rm.f16x2.f32 %r0, %f0, %f1;", "from .f32 to .f16x2 needs .rn or .rz"),
    ("cvt.rn.e4m3x2.f32 %h0, %f0, %f1;", "to .e4m3x2 needs .satfinite"),
    ("cvt.rz.satfinite.e4m3x2.f32 %h0, %f0, %f1;", "from .f32 to .e4m3x2 needs .rn"),
    ("cvt.rn.f16x2.f64 %r0, %d0, %d1;", "converts .f64 to .f16x2; expected .f32"),
    ("cvt.rna.f16x2.f32 %r0, %f0, %f1;", "supports .rn, .rz, .rp, .relu and .satfinite only"),
    ("cvt.pack.u16.s32 %r0, %r1, %r2;", "needs .sat"),
    ("cvt.pack.sat.u32.s32 %r0, %r1, %r2;", "needs one of .s16, .u16, .s8, .u8, .s4, .u4, .s2, .u2"),
    # Floating point.
    ("add.rz.f16 %h0, %h1, %h2;", "rounds .f16 by .rz; it has .rn only"),
    ("min.xorsign.f32 %f0, %f1, %f2;", "has .xorsign without .abs"),
    ("min.abs.f32 %f0, %f1, %f2;", "has .abs without .xorsign"),
    ("fma.rn.sat.relu.f16 %h0, %h1, %h2, %h3;", "has both .sat and .relu"),
    ("sqrt.approx.f64 %d0, %d1;", "has .approx for .f64, where only rcp.approx.ftz.f64 exists"),
    ("rcp.approx.f64 %d0, %d1;", "has .approx for .f64, where only rcp.approx.ftz.f64 exists"),
    ("rcp.rn.ftz.f64 %d0, %d1;", "has .ftz for .f64"),
    ("ex2.approx.bf16 %h0, %h1;", "of .bf16 needs .ftz"),
    # Integers.
    ("add.sat.u32 %r0, %r1, %r2;", "saturates a type other than .s32"),
    ("min.relu.u32 %r0, %r1, %r2;", "has .relu for .u32; expected .s32 or .s16x2"),
    ("mul.wide.u64 %rd0, %rd1, %rd2;", "widens .u64; expected .u16, .s16, .u32 or .s32"),
    ("mad.lo.sat.s32 %r0, %r1, %r2, %r3;", "saturates a form other than .hi.s32"),
    ("mad.hi.sat.u32 %r0, %r1, %r2, %r3;", "saturates a form other than .hi.s32"),
    ("mul.lo.u16x2 %r0, %r1, %r2;", "does not exist for .u16x2"),
    ("mad24.hi.sat.u32 %r0, %r1, %r2, %r3;", "saturates a type other than .s32"),
    ("lop3.or.b32 %r0, %r1, %r2, %r3, 0x3f, %p1;", "needs a predicate after its destination"),
    ("mov.b64 {%r0, %r1}, {%r2, %r3};", "has a vector on both sides"),
    ("mov.u32 %r0;", "has 1 operands; expected 2"),
    ("mov.u32 5, %r0;", "expected a destination register"),
    ("mov.u16 %h0, s;", "takes the address of 's' as .u16"),
    ("mov.u32 %r0, nowhere;", "uses 'nowhere', which is not declared"),
    ("mov.u32 nowhere, %r0;", "writes to 'nowhere', which is not a declared register"),
    ("add.u32 %r0, %h0, %r1;", "uses '%h0', a .b16 register, as .u32"),
    ("add.u32 %r0, !%p0, %r1;", "negates '%p0', which is not a predicate"),
    ("add.u32 %r0, {%r1, %r2}, %r1;", "expected a register or a number"),
    ("selp.u32 %r0, %r1, %r2, {%p0, %p1};", "expected a predicate"),
    ("add %r0, %r1, %r2;", "needs a type"),
    ("frobnicate.u32 %r0, %r1;", "unknown instruction 'frobnicate.u32'"),
    ("add.u32.wide %r0, %r1, %r2;", "has the modifier '.wide', which 'add' does not support here"),
    # Proxies and tensor maps.
    (
        "fence.proxy.tensormap::generic.acquire.gpu [%rd0], 64;",
        "has a size other than 128",
    ),
    (
        "tensormap.replace.tile.global_dim.global.b1024.b32 [%rd0], 5, %r0;",
        "needs an ordinal from 0 to 4",
    ),
    (
        "tensormap.replace.tile.global_stride.global.b1024.b64 [%rd0], -1, %rd1;",
        "needs an ordinal from 0 to 3",
    ),
    # Matrices.
    (
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.bf16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2}, {%f0,%f1,%f2,%f3};",
        "multiplies .f16 by .bf16",
    ),
    (
        "mma.sync.aligned.m16n8k64.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2}, {%f0,%f1,%f2,%f3};",
        "has .m16n8k64 with .f16; expected .",
    ),
    (
        "mma.sync.aligned.m16n8k8.col.row.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2}, {%f0,%f1,%f2,%f3};",
        "has .col.row; expected .row.col",
    ),
    (
        "mma.sync.aligned.m16n8k8.row.col.f16.bf16.bf16.f16 {%r0,%r1}, {%r0,%r1}, {%r2}, {%r0,%r1};",
        "has D of .f16 with A of .bf16; expected .f32",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k32.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd0, %rd1, 1, 1, 1, 0, 0;",
        "has .m64n8k32 with .f16; expected .m64nNk16",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd0, %rd1, 1, 1, 1, 0, 0;",
        "has N of 12; expected a multiple of 8, 8 to 256",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n264k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd0, %rd1, 1, 1, 1, 0, 0;",
        "has N of 264; expected a multiple of 8, 8 to 256",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 {%r0,%r1,%r2,%r3}, %rd0, %rd1, 1;",
        "has N of 40; expected a multiple of 16 (or 8, 24), 8 to 256",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd0, %rd1;",
        "has 3 operands; expected d, a, b and scale-d at least",
    ),
    (
        "wgmma.mma_async.sync.aligned.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd0, %rd1, 1, 1, 1, 0, 0;",
        "needs a shape .m64nNkK",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd0, %rd1, 1, %r0, 1, 0, 0;",
        "needs numbers for scales and transposes",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd0, %rd1, 1, 2, 1, 0, 0;",
        "has a scale other than 1 and -1, or a transpose other than 0 and 1",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd0, %rd1, 1, 1, 1, 0, 2;",
        "has a scale other than 1 and -1, or a transpose other than 0 and 1",
    ),
    # Operands.
    ("add.u32 %r0, [%r1], %r2;", "has an address; expected a register or a number"),
    ("add.u32 %r0, %r1+4, %r2;", "adds 4 to '%r1'; expected a register or a number"),
    ("and.pred %p0, !%p1, %p2;", "has '!%p1' where a negated predicate is not allowed"),
    ("selp.u32 %r0, %r1, %r2, [%p0];", "has an address; expected a predicate"),
    ("add.u32 {%r0, %r1}, %r1, %r2;", "has a vector; expected a destination register"),
    ("cvt.u64.u32 %rd0, %clock;", "uses '%clock' where only mov may read it"),
    ("add.u64 %rd0, %clock64, %rd1;", "uses '%clock64', which only mov and cvt of integers may read"),
    # Copies, vectors, conversions.
    (
        "cp.async.ca.shared.global.L2::cache_hint [%r0], [%rd0], 16;",
        "has 3 operands; expected 3 or 4, and a cache policy with .L2::cache_hint",
    ),
    ("cp.async.ca.shared.global [%r0], [%rd0], 2;", "needs a copy size of 16, 8 or 4 bytes"),
    ("cp.async.cg.shared.global [%r0], [%rd0], 8;", "needs a copy size of 16 bytes"),
    ("cp.async.bulk.global.global.bulk_group [%rd0], [%rd1], 16;", "copies from .global to .global"),
    ("cp.async.bulk.prefetch.L2.global [%rd0];", "needs an address and a size"),
    ("cp.async.bulk.prefetch.L2.global.L2::cache_hint;", "has no cache policy"),
    ("atom.global.v2.f32.add {%f0, %f1}, [%rd0], {%f2, %f3, %f4, %f5};", "expects vectors of 2"),
    ("atom.global.v2.f32.add {%f0, %f1, %f2, %f3}, [%rd0], {%f2, %f3};", "expects vectors of 2"),
    ("cvt.f32.pred %f0, %p0;", "converts .pred to .f32, which is no conversion of PTX"),
    # More matrices.
    (
        "mma.sync.aligned.m16n8k8.row.col.rz.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2}, {%f0,%f1,%f2,%f3};",
        "has .rz, which only .f64 supports",
    ),
    (
        "mma.sync.aligned.m16n8k8.row.col.satfinite.f32.f16.f16.f32"
        " {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2}, {%f0,%f1,%f2,%f3};",
        "has .satfinite, which only integers support",
    ),
    (
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32"
        " {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
        "multiplies by .kind::f8f6f4, which mma.sync of sm_90a does not; expected sm_120a or sm_121a",
    ),
    (
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f32 {%r0,%r1}, {%r2,%r3}, {%r4}, {%f0,%f1,%f2,%f3};",
        "has D of .f16 and C of .f32; expected one type",
    ),
    (
        "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32"
        " {%r0,%r1,%r2,%r3}, {%r0,%r1}, {%r2,%r3}, {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7};",
        "has .f16.f16.f16.f32; expected .f16 elements and .f16 or .f32 for D and C",
    ),
    (
        SCALED.format(".block_scale", "ue8m0", "{%r6}, {0,0}"),
        "scales blocks, which mma.sync of sm_90a does not; expected sm_120a or sm_121a",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.satfinite.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd0, %rd1, 1, 1, 1, 0, 0;",
        "has .satfinite, which only integers support",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,_}, %rd0, %rd1, 1, 1, 1, 0, 0;",
        "has D in something else than 32-bit registers",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,5}, %rd1, 1, 1, 1, 0;",
        "has A in something else than 32-bit registers",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
        " {%r0,%r1,%r2,%r3}, {%r0,%r4,%r5,%r6}, %rd1, 1, 1, 1, 0;",
        "has a register of A among those of D",
    ),
    (
        f"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16.f32 {FLOATS},{WORDS},{WORDS},{FLOATS};",
        "names 3 types; expected .dtype.ctype or .dtype.atype.btype.ctype",
    ),
    (
        f"wmma.mma.sync.aligned.row.col.m16n16k16.rz.f32.f32 {FLOATS},{WORDS},{WORDS},{FLOATS};",
        "has .rz, which only .f64 supports",
    ),
]
"""An instruction, and what its error says after its name."""

ELSEWHERE = [
    (
        "sm_100a",
        "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r0, %r1}, %q0;",
        "needs a vector of four registers",
    ),
    (
        "sm_100a",
        "tcgen05.mma.ws.cta_group::2.kind::f16 [%r0], %rd0, %rd1, %r2, %p0;",
        "has .cta_group::2; .ws needs .cta_group::1",
    ),
    (
        "sm_100a",
        "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::1X [%r0], %rd0, %rd1, %r2, [%r3], [%r4], %p0;",
        "has .kind::mxf4 with .scale_vec::1X; expected none or .scale_vec::2X or .block32",
    ),
    (
        "sm_100a",
        "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale [%r0], %rd0, %rd1, %r2, [%r3], [%r4], %p0;",
        "has .kind::mxf4nvf4 with no scale vector; expected .scale_vec::2X or .block32 or .scale_vec::4X or .block16",
    ),
    (
        "sm_100a",
        "tcgen05.mma.cta_group::1.kind::f16.scale_vec::1X [%r0], %rd0, %rd1, %r2, %p0;",
        "has .scale_vec::1X, which needs block scales",
    ),
    (
        "sm_100a",
        "tcgen05.mma.cta_group::1.kind::f16.ashift [%r0], %rd0, %rd1, %r2, %p0;",
        "has .ashift with A in shared memory; expected [a-tmem]",
    ),
    (
        "sm_100a",
        "tcgen05.mma.cta_group::1.kind::f16.ashift.collector::a::fill [%r0], [%r1], %rd1, %r2, %p0;",
        "has .collector::a::fill with .ashift; expected ::lastuse or ::discard",
    ),
    (
        "sm_100a",
        "tcgen05.mma.cta_group::1.kind::f16.collector::b0::fill [%r0], %rd0, %rd1, %r2, %p0;",
        "has .collector::b0::fill; expected .collector::a and ::fill, ::use, ::lastuse or ::discard",
    ),
    (
        "sm_100a",
        "tcgen05.mma.ws.cta_group::1.kind::f16.collector::a::fill [%r0], %rd0, %rd1, %r2, %p0;",
        "has .collector::a::fill; expected .collector::b0 and ::fill, ::use, ::lastuse or ::discard",
    ),
    (
        "sm_100a",
        "tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd0, %rd1, %r2, {%r3, %r4}, %p0;",
        "has 2 words of disabled lanes; expected 4",
    ),
    (
        "sm_100a",
        "tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd0, %rd1, %r2, {%r3, %r4, %r5, %r6};",
        "needs a predicate enable-input-d",
    ),
    ("sm_100a", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, %r1;", "needs [taddr]"),
    (
        "sm_100a",
        "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r0, %rd0}, [%r2];",
        "uses '%rd0', a .b64 register, as .b32",
    ),
    (
        "sm_120a",
        "mma.sync.aligned.m16n8k8.row.col.kind::f8f6f4.f32.f16.f16.f32"
        " {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2}, {%f0,%f1,%f2,%f3};",
        "has .kind::f8f6f4 with .m16n8k8.f16; expected .m16n8k32 and an 8-, 6- or 4-bit float",
    ),
    ("sm_100a", "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r2], {%r0, 5};", "needs 32-bit registers"),
    (
        "sm_103a",
        "tcgen05.ld.red.sync.aligned.16x64b.x2.min.u32 {%r0, %r1}, %r3, [%r2];",
        "has .16x64b.x2; expected .32x32b or .16x32bx2, and .x2 or more",
    ),
    (
        "sm_103a",
        "tcgen05.ld.red.sync.aligned.32x32b.x1.min.u32 {%r0}, %r3, [%r2];",
        "has .32x32b.x1; expected .32x32b or .16x32bx2, and .x2 or more",
    ),
    (
        "sm_103a",
        "tcgen05.ld.red.sync.aligned.32x32b.x2.pack::16b.min.u32 {%r0, %r1}, %r3, [%r2];",
        "has .pack::16b, which only tcgen05.ld has",
    ),
    (
        "sm_103a",
        "tcgen05.ld.red.sync.aligned.32x32b.x2.min.abs.u32 {%r0, %r1}, %r3, [%r2];",
        "has .abs or .NaN, which only .f32 has",
    ),
    ("sm_120a", SCALED.format("", "ue8m0", "{%r6}, {0,0}"), "has .kind::mxf8f6f4 without .block_scale"),
    (
        "sm_120a",
        SCALED.format(".block_scale", "ue4m3", "{%r6}, {0,0}"),
        "has .kind::mxf8f6f4 with .ue4m3; expected .ue8m0 or .scale_vec::1X and .ue8m0",
    ),
    (
        "sm_120a",
        SCALED.format(".block_scale.scale_vec::2X", "ue8m0", "{%r6}, {0,0}"),
        "has .kind::mxf8f6f4 with .scale_vec::2X and .ue8m0; expected .ue8m0 or .scale_vec::1X and .ue8m0",
    ),
    (
        "sm_120a",
        SCALED.format(".block_scale", "ue8m0", "{%r6}, %h0"),
        "needs a register of scale factors, and {byte-id, thread-id}",
    ),
]
"""An architecture, an instruction, and what its error says after its name."""

NOT_SIMULATED = [
    (
        "sm_90a",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
        " {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2,%r3}, {%f0,%f1,%f2,%f3}, %r4, 0;",
        "multiplies a sparse matrix, which the simulated GPU does not; expected a dense mma.sync",
    ),
    (
        "sm_90a",
        "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"
        " {%f0,%f1,%f2,%f3}, %rd0, %rd1, %r0, 0, 1, 1, 1, 0, 0;",
        "multiplies a sparse matrix, which the simulated GPU does not; expected wgmma.mma_async",
    ),
    (
        "sm_100a",
        "tcgen05.mma.sp.cta_group::1.kind::f16 [%r0], %rd0, %rd1, [%r1], %r2, %p0;",
        "multiplies a sparse matrix, which the simulated GPU does not; expected tcgen05.mma",
    ),
    (
        "sm_100a",
        "tcgen05.mma.ws.sp.cta_group::1.kind::f16 [%r0], %rd0, %rd1, [%r1], %r2, %p0;",
        "multiplies a sparse matrix, which the simulated GPU does not; expected tcgen05.mma",
    ),
]
"""What exists, but the simulated GPU does not support."""

LENIENT = [
    "cvt.u64.u32 %rd0, %clock;",
    "ld.global.u32 %r0, [%h0];",
    "rcp.rn.ftz.f64 %d0, %d1;",
    "mov.u16 %h0, s;",
    "add.u32 %r0, %r1+4, %r2;",
    "and.pred %p0, !%p1, %p2;",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,5}, %rd1, 1, 1, 1, 0;",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
    " {%r0,%r1,%r2,%r3}, {%r0,%r4,%r5,%r6}, %rd1, 1, 1, 1, 0;",
    "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r2], {%r0, 5};",
]
"""What ptxas takes, though the PTX ISA has no such form."""


def module(lines: list[str], target: str = "sm_90a") -> str:
    """A kernel with one instruction per line."""
    return HEADER.format(target=target) + DECLARED + "".join(f"{line}\n" for line in lines) + "ret;\n}\n"


FIRST = module([]).count("\n", 0, module([]).index("ret;")) + 1
"""The line of the first instruction."""


EVERY = [("sm_90a", *row) for row in REFUSED] + ELSEWHERE


@pytest.mark.parametrize(
    ("target", "line", "message"), EVERY + NOT_SIMULATED, ids=lambda text: text.split(" ")[0]
)
def test_an_instruction_is_refused_where_it_stands(target: str, line: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        load(module(["  " + line], target), file="k.ptx")
    (diagnostic,) = caught.value.diagnostics
    assert message in diagnostic.message
    assert diagnostic.location is not None
    assert diagnostic.location.start() == ("k.ptx", FIRST, 3)


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a", "sm_103a", "sm_120a"])
def test_ptxas_refuses_them_too(target: str, tmp_path: Path) -> None:
    ptxas = find_tool("ptxas")
    if ptxas is None:
        pytest.skip("no ptxas")
    left = [line for each, line, _ in EVERY if each == target]
    lenient = [line for line in left if line in LENIENT]
    path = tmp_path / "k.ptx"
    # One run reports all errors up to the first one of syntax.
    while True:
        path.write_text(module(left, target))
        command = [str(ptxas), f"-arch={target}", str(path), "-o", str(tmp_path / "k.cubin")]
        found = subprocess.run(command, capture_output=True, text=True, check=False).stderr
        wrong = {int(line) - FIRST for line in re.findall(r"line (\d+); (?:error|fatal)", found)}
        if not wrong:
            break
        left = [line for number, line in enumerate(left) if number not in wrong]
    assert left == lenient
