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

REFUSED = [
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
    ("cvt.rn.satfinite.f32.s32 %f0, %r0;", "has .satfinite for .f32"),
    ("cvt.rn.relu.f16.f64 %h0, %d0;", "has .relu from .f64 to .f16"),
    ("cvt.ftz.f64.f16 %d0, %h0;", "has .ftz without .f32"),
    ("cvt.rna.f16.f32 %h0, %f0;", "has .rna for .f16; only .tf32 has it"),
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
]
"""An instruction, and what its error says after its name."""

LENIENT = ["ld.global.u32 %r0, [%h0];", "rcp.rn.ftz.f64 %d0, %d1;", "mov.u16 %h0, s;"]
"""What ptxas takes, though the PTX ISA has no such form."""


def module(lines: list[str], target: str = "sm_90a") -> str:
    """A kernel with one instruction per line."""
    return HEADER.format(target=target) + DECLARED + "".join(f"{line}\n" for line in lines) + "ret;\n}\n"


FIRST = module([]).count("\n", 0, module([]).index("ret;")) + 1
"""The line of the first instruction."""


@pytest.mark.parametrize(("line", "message"), REFUSED, ids=lambda text: text.split(" ")[0])
def test_an_instruction_that_does_not_exist_is_refused_where_it_stands(line: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        load(module(["  " + line]), file="k.ptx")
    (diagnostic,) = caught.value.diagnostics
    assert message in diagnostic.message
    assert diagnostic.location is not None
    assert diagnostic.location.start() == ("k.ptx", FIRST, 3)


def test_ptxas_refuses_them_too(tmp_path: Path) -> None:
    ptxas = find_tool("ptxas")
    if ptxas is None:
        pytest.skip("no ptxas")
    left = [line for line, _ in REFUSED]
    path = tmp_path / "k.ptx"
    # One run reports all errors up to the first one of syntax.
    while True:
        path.write_text(module(left))
        command = [str(ptxas), "-arch=sm_90a", str(path), "-o", str(tmp_path / "k.cubin")]
        found = subprocess.run(command, capture_output=True, text=True, check=False).stderr
        wrong = {int(line) - FIRST for line in re.findall(r"line (\d+); (?:error|fatal)", found)}
        if not wrong:
            break
        left = [line for number, line in enumerate(left) if number not in wrong]
    assert left == LENIENT
