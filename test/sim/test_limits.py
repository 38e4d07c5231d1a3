"""PTX and launches that ask for much: refused, or in little memory."""

from __future__ import annotations

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
