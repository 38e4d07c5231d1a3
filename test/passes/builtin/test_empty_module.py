"""A module that the generic form writes without a block is an empty module to every pass."""

from __future__ import annotations

import pytest

from tessera_tools.cli.opt import run
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.parser import parse_module
from tessera_tools.passes.base import PassContext
from tessera_tools.passes.table import PASSES, find_pass


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_takes_it(name: str) -> None:
    done = run([f"--{name}"], b'"builtin.module"() ({}) : () -> ()\n')
    assert b"internal fault" not in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_says_that_it_changes_nothing(name: str) -> None:
    """Or it does not say: then the verifier runs."""
    module = parse_module("module {\n}\n")
    before = str(module)
    kind = find_pass(name)
    assert kind is not None
    try:
        changed = kind().run(module, PassContext())
    except DiagnosticError:
        return
    assert not changed or str(module) != before
