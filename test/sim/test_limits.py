"""PTX and launches that ask for much: refused, or in little memory."""

from __future__ import annotations

import numpy as np
import pytest
from sim.kernels import HEADER, kernel

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError


@pytest.mark.parametrize(("space", "most"), [("global", 1 << 32), ("local", 512 << 10), ("shared", 1 << 20)])
def test_a_variable_larger_than_its_memory_is_refused(space: str, most: int) -> None:
    with pytest.raises(DiagnosticError, match=f"'x' has {10**12} bytes; expected at most {most} in .{space}"):
        sim.load(f"{HEADER}.visible .entry k() {{ .{space} .b8 x[{10**12}]; ret; }}")


def test_a_grid_of_a_hundred_million_needs_no_memory_for_it() -> None:
    import tracemalloc

    module = sim.load(kernel("", 0))
    tracemalloc.start()
    try:
        result = module.launch("k", (100_000_000,), (32,), max_instructions=2_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [finding.kind for finding in result.findings] == ["limit"]
    assert peak < 8 << 20


def test_a_launch_takes_less_than_ten_bytes_for_each_byte_of_its_traffic() -> None:
    """Buffers, the last accesses of their bytes, and the state of each byte; every thread copies 32 bytes."""
    import tracemalloc

    module = sim.load(
        kernel(
            """
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1; mul.wide.u32 %rd2, %r2, 32;
  add.s64 %rd3, %rd0, %rd2; add.s64 %rd4, %rd1, %rd2;
  ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd3]; st.global.v4.u32 [%rd4], {%r3, %r4, %r5, %r6};
  ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd3+16]; st.global.v4.u32 [%rd4+16], {%r3, %r4, %r5, %r6};
""",
            2,
        )
    )
    ctas = 512
    tracemalloc.start()
    try:
        source, target = (
            module.memory.allocate(np.zeros(ctas * 128 * 8, np.uint32), name) for name in ("source", "target")
        )
        result = module.launch("k", (ctas,), (128,), [source, target], max_instructions=1_000_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert not result.findings
    assert peak < 10 * 2 * ctas * 128 * 32
