"""The attribute that tells a launcher of a persistent kernel what it passes."""

from __future__ import annotations

import pytest

from tessera_tools.analysis.persistent import Persistent, persistent_of
from tessera_tools.parser import parse_attribute


@pytest.mark.parametrize(
    "kernel",
    [
        Persistent("static", (3, 4, 5)),
        Persistent("counter", (3, 4, 5), counter=6),
        Persistent("cancel", None),
        Persistent("never", (0, 1, 2), blocks=(2, 1)),
        Persistent("static", (0, 1, 2), blocks=(1, 2)),
    ],
)
def test_what_is_written_is_read(kernel: Persistent) -> None:
    assert persistent_of(kernel.attribute()) == kernel


@pytest.mark.parametrize(
    "text",
    [
        "6 : i64",
        "{grid = [3, 4, 5]}",
        "{scheduler = 1 : i64}",
        '{scheduler = "static", grid = [3, 4]}',
        '{scheduler = "static", blocks = [2]}',
    ],
)
def test_another_attribute_is_none(text: str) -> None:
    assert persistent_of(parse_attribute(text)) is None
