"""tools/bench/corpus.py: what the sections of a cubin say."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from programs import assembled

sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "bench"))

from corpus import registers_of, sections, static_shared_of

PTX = """.version 8.0
.target sm_90a
.address_size 64
{shared}
.visible .entry k(.param .u64 out)
{{
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  {load}
  st.global.u32 [%rd1], %r1;
  ret;
}}
"""


def cubin_of(ptx: str) -> bytes:
    """The cubin of PTX."""
    found = assembled(ptx, "sm_90a").stages["cubin"]
    assert isinstance(found, bytes)
    return found


@pytest.mark.parametrize("size", [0, 1024, 40000])
def test_shared_memory_that_a_kernel_declares(size: int) -> None:
    text = PTX.format(
        shared=f".shared .align 4 .b8 place[{size}];" if size else "",
        load="ld.shared.u32 %r1, [place];" if size else "",
    )
    cubin = cubin_of(text)
    # ptxas adds the 1 KiB that the system reserves from sm_90 on.
    assert static_shared_of(cubin) == (size + 1024 if size else 0)
    assert 0 < registers_of(cubin) < 32


def test_sections_are_named() -> None:
    cubin = cubin_of(PTX.format(shared="", load=""))
    names = [name for name, _, _ in sections(cubin)]
    assert ".text.k" in names
    assert ".nv.info.k" in names
