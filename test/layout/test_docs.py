"""The examples of docs/layouts.md are true."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "layouts.md"


def test_the_examples_of_the_page_run() -> None:
    failures, count = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert count > 20
    assert failures == 0
