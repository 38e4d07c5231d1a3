"""PTX that asks for too much is refused where it does."""

from __future__ import annotations

import pytest
from sim.kernels import HEADER, kernel

from tessera_tools import sim
from tessera_tools.diagnostics import DiagnosticError

LONG = "9" * 10_000


@pytest.mark.parametrize(
    "body",
    [
        f"mov.u32 %r1, {LONG};",
        f"mov.u32 %r1, 0x{'f' * 10_000};",
        f"mov.f32 %f1, {LONG}.0;",
        f"ld.global.u32 %r1, [%rd1+{LONG}];",
        f".loc 1 {LONG} 1",
        f".local .b8 z[{LONG}];",
    ],
)
def test_a_number_of_ten_thousand_digits_is_refused_at_its_place(body: str) -> None:
    with pytest.raises(
        DiagnosticError, match="a number of 1000[0-9] digits; expected one that fits in 64 bits"
    ):
        sim.load(kernel(body, 0))


def test_long_names_and_long_strings_are_no_numbers() -> None:
    text = kernel(f"mov.u32 %r1, x{LONG};", 0, f'.global .u32 x{LONG};\n.file 1 "{LONG}"')
    assert not sim.load(text).launch("k", (1,), (32,)).findings


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
