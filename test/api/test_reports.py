"""What is recorded of an input for a report."""

from __future__ import annotations

import pytest

from tessera_tools.api.reports import record_input
from tessera_tools.emit.compiled import Options
from tessera_tools.target import lookup

PTX = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n"


@pytest.mark.parametrize(
    ("program", "asked", "recorded"),
    [
        (PTX, None, "sm_80"),
        (PTX, "sm_90a", "sm_90a"),
        (PTX.replace(b"sm_80", b"sm_35"), None, "sm_100a"),
    ],
    ids=["of the program", "asked for", "of the options"],
)
def test_the_target_is_the_one_asked_for_or_that_of_the_program(
    program: bytes, asked: str | None, recorded: str
) -> None:
    options = Options(lookup(asked or "sm_100a"), "ptx")
    found = record_input(program, "k.ptx", options, lookup(asked) if asked is not None else None)
    assert found.target == recorded
