"""What all commands have in common."""

from __future__ import annotations

import importlib

import pytest

from tessera_tools.cli.manual import COMMANDS


@pytest.mark.parametrize("option", ["--help", "--version"])
@pytest.mark.parametrize("name", COMMANDS)
def test_what_only_tells_succeeds(name: str, option: str) -> None:
    done = importlib.import_module(f"tessera_tools.cli.{name}").run([option])
    assert done.exit_code == 0 and done.stderr == b""
    assert f"tessera-{name}".encode() in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_is_refused(name: str) -> None:
    done = importlib.import_module(f"tessera_tools.cli.{name}").run(["--no-such-option"])
    assert done.exit_code == 1
    assert b"--no-such-option" in done.stderr and done.stdout == b""
