"""PTX for tests of launchers: small, and without a compiler in between."""

from __future__ import annotations

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"

SCALE = (
    HEADER
    + """
.visible .entry scale(.param .u64 x, .param .u32 n, .param .f32 by)
.reqntid 64, 1, 1
{
  .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<4>;
  ld.param.u64 %rd0, [x];
  ld.param.u32 %r0, [n];
  ld.param.f32 %f0, [by];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  shl.b32 %r3, %r1, 6;
  add.u32 %r4, %r3, %r2;
  setp.ge.u32 %p0, %r4, %r0;
  @%p0 bra done;
  mul.wide.u32 %rd1, %r4, 4;
  add.u64 %rd2, %rd0, %rd1;
  ld.global.f32 %f1, [%rd2];
  mul.f32 %f2, %f1, %f0;
  st.global.f32 [%rd2], %f2;
done:
  ret;
}
"""
)
"""x[i] *= by for i < n, in blocks of 64."""

SPIN = HEADER + "\n.visible .entry spin()\n.reqntid 32\n{\nagain:\n  bra again;\n}\n"
"""Never ends; it spins at line 9."""

RACE = (
    HEADER
    + """
.visible .entry race(.param .u64 x)
.reqntid 64
{
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [x];
  mov.u32 %r0, %tid.x;
  st.global.u32 [%rd0], %r0;
  ret;
}
"""
)
"""Every thread stores its number to the same word."""

COPY = (
    HEADER
    + """
.visible .entry copy(.param .u64 to, .param .u64 table)
.reqntid 1
{
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [to];
  ld.param.u64 %rd1, [table];
  ld.global.u64 %rd2, [%rd1];
  ld.global.u32 %r0, [%rd2];
  st.global.u32 [%rd0], %r0;
  ret;
}
"""
)
"""*to = **table: reads through a pointer in memory."""

COUNT = (
    HEADER
    + """
.visible .entry count(.param .u64 x)
.reqntid 32
{
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [x];
  red.global.add.u32 [%rd0], 1;
  ret;
}
"""
)
"""Every thread adds one to the same word."""
