"""What all command lines have in common."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module

import click
import pytest

from tessera_tools.cli import opt, translate
from tessera_tools.cli.command_line import CommandLine

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


def command_lines(line: CommandLine, seed: int) -> Iterator[list[str]]:
    """Random command lines of flags, options and inputs, right and wrong."""
    rng = random.Random(seed)
    for _ in range(100):
        argv: list[str] = []
        for _ in range(rng.randrange(5)):
            flag, name = rng.choice(list(line.flags)), rng.choice(list(line.values))
            kind = line.kinds.get(name)
            value = rng.choice(kind) if isinstance(kind, tuple) else rng.choice(("3", "x", "-", "a=b"))
            dashes = "-" if len(name) == 1 else "--"
            spelled = [dashes + name, value] if line.values[name][2] is None else [f"--{name}={value}"]
            argv += rng.choice(([f"--{flag}"], [f"--{flag}=false"], spelled, spelled, ["f.mlir"]))
        yield argv


@pytest.mark.parametrize("line", [translate.COMMAND_LINE, opt.COMMAND_LINE], ids=lambda line: line.name)
def test_what_is_read_without_click_is_what_click_reads(
    line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def outcome(argv: list[str]) -> object:
        try:
            return line.read(argv)
        except click.ClickException as failure:
            return failure.format_message()

    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    found = [(argv, outcome(argv)) for argv in command_lines(line, seed)]
    monkeypatch.setattr(CommandLine, "_read_plain", lambda *_: None)
    for argv, expected in found:
        assert outcome(argv) == expected, argv


def test_a_plain_command_line_does_not_load_click() -> None:
    code = (
        "import sys; from tessera_tools.cli.translate import COMMAND_LINE as line; "
        "print(line.read(['--mlir-to-ptx', '-O2', 'f.mlir'])['level'], 'click' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "2 False\n"
