"""The front of the package: every name loads, and reading a layout loads little."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tessera_tools.layout as layout


@pytest.mark.parametrize("name", layout.__all__)
def test_every_exported_name_loads(name: str) -> None:
    assert getattr(layout, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        layout.nothing  # noqa: B018


def test_reading_a_layout_loads_neither_numpy_nor_the_planning() -> None:
    script = (
        "import sys; from tessera_tools.layout import from_text; from_text('lane = [[1]]');"
        "print([m for m in ('numpy', 'tessera_tools.ir', 'tessera_tools.layout.conversion') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
