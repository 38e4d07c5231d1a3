"""PTX from strangers: numbers without end and other odd text are refused at their line, never by a fault of ours."""

from __future__ import annotations

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.sim.reader import read

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
LONG = "9" * 10_000


def kernel(line: str) -> str:
    return f"{HEADER}.visible .entry k()\n{{\n.reg .b32 %r<4>;\n{line}\nret;\n}}\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (kernel(f"mov.b32 %r0, {LONG};"), 7),
        (kernel(f"mov.b32 %r0, -{LONG};"), 7),
        (kernel(f"mov.b32 %r0, 0x{'f' * 10_000};"), 7),
        (kernel(f"mov.b32 %r0, 0{'7' * 10_000};"), 7),
        (kernel(f"ld.global.b32 %r0, [%r1+{LONG}];"), 7),
        (kernel(f".shared .align 4 .b8 a[{LONG}];"), 7),
        (kernel(f".shared .align {LONG} .b8 a[4];"), 7),
        (kernel(f".reg .b32 %x<{LONG}>;"), 7),
        (kernel(f".loc 1 {LONG} 1"), 7),
        (HEADER + f".global .b32 a = {LONG};\n", 4),
        (HEADER + f".global .b64 b;\n.global .b64 a = b+{LONG};\n", 5),
        (HEADER + f".visible .entry k()\n.reqntid {LONG}\n{{\nret;\n}}\n", 5),
        (f".version 8.{LONG}\n", 1),
        (".version 8.0e5\n", 1),
        (f".version 8.0\n.target sm_80\n.address_size {LONG}\n", 3),
    ],
    ids=lambda value: str(value)[-40:] if isinstance(value, str) else None,
)
def test_numbers_without_end_are_refused_at_their_line(text: str, line: int) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read(text, "k.ptx")
    place = caught.value.diagnostics[0].location
    assert place is not None
    found = place.start()
    assert found is not None
    assert found[:2] == ("k.ptx", line)
    assert len(caught.value.diagnostics[0].message) < 200


@pytest.mark.parametrize(
    "text",
    ["", "{", "}", ".version", HEADER + ".entry", HEADER + ".entry k(", HEADER + "\0", kernel("\x1b[31m;")],
)
def test_text_that_is_not_ptx_is_refused(text: str) -> None:
    with pytest.raises(DiagnosticError):
        read(text)
