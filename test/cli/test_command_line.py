"""What all command lines have in common."""

from __future__ import annotations

from importlib import import_module

import pytest

LIMITS = [
    ("reduce", "test-timeout"),
    ("reduce", "time-limit"),
    ("reduce", "tolerance"),
    ("run", "time-limit"),
    ("translate", "ptxas-timeout"),
    ("tune", "candidate-timeout"),
    ("tune", "tolerance"),
]


@pytest.mark.parametrize(("command", "option"), LIMITS)
def test_a_limit_is_a_number(command: str, option: str) -> None:
    result = import_module(f"tessera_tools.cli.{command}").run([f"--{option}=nan"], b"")
    assert result.exit_code == 1
    assert "'nan' is not a valid number" in result.stderr.decode()


@pytest.mark.parametrize(("command", "option"), LIMITS)
def test_a_limit_is_not_negative(command: str, option: str) -> None:
    result = import_module(f"tessera_tools.cli.{command}").run([f"--{option}=-1"], b"")
    assert result.exit_code == 1
    assert f"'--{option}'" in result.stderr.decode()
