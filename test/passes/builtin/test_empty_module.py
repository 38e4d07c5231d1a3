"""A module that the generic form writes without a block is an empty module to every pass."""

from __future__ import annotations

import pytest

from tessera_tools.cli.opt import run
from tessera_tools.passes.table import PASSES


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_takes_it(name: str) -> None:
    done = run([f"--{name}"], b'"builtin.module"() ({}) : () -> ()\n')
    assert b"internal fault" not in done.stderr
    assert b"Traceback" not in done.stderr
