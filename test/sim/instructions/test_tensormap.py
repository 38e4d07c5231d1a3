"""tensormap.replace in global memory, and the fences that a changed map needs before a copy uses it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sim.kernels import HEADER, REGISTERS

from tessera_tools import sim

BODY = """
  mov.u32 %r0, bar; mov.u32 %r1, s;
  mbarrier.init.shared::cta.b64 [%r0], 1; fence.mbarrier_init.release.cluster;
  {replace}
  {release}
  {acquire}
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd20, [%r0], 32;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd0, {{0, 1}}], [%r0];
AGAIN: mbarrier.try_wait.shared::cta.b64 %p0, [%r0], %rd20; @!%p0 bra AGAIN;
  ld.shared.v4.u32 {{%r2, %r3, %r4, %r5}}, [%r1]; st.global.v4.u32 [%rd1], {{%r2, %r3, %r4, %r5}};
  ld.shared.v4.u32 {{%r2, %r3, %r4, %r5}}, [%r1+16]; st.global.v4.u32 [%rd1+16], {{%r2, %r3, %r4, %r5}};
"""
RELEASE = "fence.proxy.tensormap::generic.release.gpu;"
ACQUIRE = "fence.proxy.tensormap::generic.acquire.gpu [%rd0], 128;"


def run(replace: str, release: str = RELEASE, acquire: str = ACQUIRE) -> tuple[Any, list[int]]:
    """A 4 x 2 box at row 1 of a matrix 0, 1, … of 8 columns and 4 rows, whose map the kernel changes first."""
    body = BODY.format(replace=replace, release=release, acquire=acquire)
    text = f"""{HEADER}.shared .align 128 .b8 s[1024]; .shared .align 8 .b64 bar;
.visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2) {{{REGISTERS}
  ld.param.u64 %rd0, [p0]; ld.param.u64 %rd1, [p1]; ld.param.u64 %rd2, [p2];
{body}
  ret;
}}"""
    module = sim.load(text)
    memory = module.memory
    matrix = memory.allocate(np.arange(32, dtype=np.uint32), "matrix")
    other = memory.allocate(np.arange(100, 132, dtype=np.uint32), "other")
    made = np.frombuffer(sim.tensor_map("u32", matrix, (8, 4), (4, 2)), np.uint8)
    out = memory.allocate(np.zeros(8, np.uint32), "out")
    result = module.launch(
        "k", (1,), (1,), [memory.allocate(made, "map"), out, other], max_instructions=100_000
    )
    return result, out.array().tolist()


@pytest.mark.parametrize(
    ("field", "wanted"),
    [
        ("global_address.global.b1024.b64 [%rd0], %rd2", [108, 109, 110, 111, 116, 117, 118, 119]),
        ("global_dim.global.b1024.b32 [%rd0], 1, 2", [8, 9, 10, 11, 0, 0, 0, 0]),
        ("global_dim.global.b1024.b32 [%rd0], 0, 3", [8, 9, 10, 0, 16, 17, 18, 0]),
        ("global_stride.global.b1024.b64 [%rd0], 0, 48", [12, 13, 14, 15, 24, 25, 26, 27]),
        ("swizzle_mode.global.b1024.b32 [%rd0], 0", [8, 9, 10, 11, 16, 17, 18, 19]),
    ],
)
def test_a_field_is_replaced(field: str, wanted: list[int]) -> None:
    result, out = run(f"tensormap.replace.tile.{field};")
    assert not result.findings, result.findings.text()
    assert out == wanted


EVERY_FIELD = "".join(
    f"tensormap.replace.tile.{field};\n"
    for field in (
        "global_address.global.b1024.b64 [%rd0], %rd2",
        "rank.global.b1024.b32 [%rd0], 1",
        "box_dim.global.b1024.b32 [%rd0], 0, 4",
        "box_dim.global.b1024.b32 [%rd0], 1, 2",
        "global_dim.global.b1024.b32 [%rd0], 0, 8",
        "global_dim.global.b1024.b32 [%rd0], 1, 4",
        "global_stride.global.b1024.b64 [%rd0], 0, 32",
        "element_stride.global.b1024.b32 [%rd0], 0, 1",
        "element_stride.global.b1024.b32 [%rd0], 1, 1",
        "elemtype.global.b1024.b32 [%rd0], 2",
        "interleave_layout.global.b1024.b32 [%rd0], 0",
        "swizzle_mode.global.b1024.b32 [%rd0], 0",
        "fill_mode.global.b1024.b32 [%rd0], 0",
    )
)
ZERO = "mov.b64 %rd9, 0;" + "".join(f"st.global.b64 [%rd0+{at}], %rd9;" for at in range(0, 128, 8))


def test_every_field_of_a_zeroed_map_is_replaced() -> None:
    result, out = run(ZERO + EVERY_FIELD)
    assert not result.findings, result.findings.text()
    assert out == [108, 109, 110, 111, 116, 117, 118, 119]


def test_a_zeroed_map_whose_box_nobody_set_is_refused() -> None:
    result, _ = run(
        ZERO + EVERY_FIELD.replace("box_dim.global.b1024.b32 [%rd0], 1, 2", "rank.global.b1024.b32 [%rd0], 1")
    )
    assert "a box of (4, 0)" in result.findings.text()


def test_bytes_that_are_no_map_are_not_replaced() -> None:
    result, _ = run("st.global.u32 [%rd0], 5; tensormap.replace.tile.rank.global.b1024.b32 [%rd0], 1;")
    assert "neither a tensor map nor all zero" in result.findings.text()


@pytest.mark.parametrize(("release", "acquire"), [("", ACQUIRE), (RELEASE, ""), ("", "")])
def test_a_changed_map_needs_a_release_and_an_acquire(release: str, acquire: str) -> None:
    result, _ = run("tensormap.replace.tile.global_dim.global.b1024.b32 [%rd0], 1, 2;", release, acquire)
    lacks = "acquired" if release else "released by fence.proxy.tensormap"
    assert [(found.kind, found.message.partition(": ")[2]) for found in result.findings][-1] == (
        "proxy",
        f"the kernel changed its tensor map, and the change was not {lacks}: release it, then "
        "fence.proxy.tensormap::generic.acquire before the copy",
    )


def test_a_map_that_the_host_made_needs_no_fence() -> None:
    result, out = run("", "", "")
    assert not result.findings
    assert out == [8, 9, 10, 11, 16, 17, 18, 19]


def test_a_plain_store_to_a_map_is_seen() -> None:
    result, _ = run("st.global.u32 [%rd0+28], 1;", "", "")
    assert [(found.kind, found.message.partition(": ")[2]) for found in result.findings] == [
        ("proxy", "the kernel stored to its tensor map with no fence.proxy.tensormap since")
    ]
