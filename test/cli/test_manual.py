"""The sections of the help, shell completion and man pages: all from one table of options."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tessera_tools.cli.manual import COMMANDS, command_lines, completion, man_page, write_man_pages
from tessera_tools.cli.tools import run

LINES = {line.name: line for line in command_lines()}


def options(name: str) -> set[str]:
    line = LINES[name]
    return {*line.flags, *line.values, *line.repeated}


@pytest.mark.parametrize("name", LINES)
def test_every_option_is_in_one_section(name: str) -> None:
    shown = [option for names in LINES[name].sections().values() for option in names]
    assert sorted(shown) == sorted(options(name))


@pytest.mark.parametrize("name", LINES)
def test_at_most_ten_options_come_first(name: str) -> None:
    line = LINES[name]
    assert len(line.first) <= 10
    assert set(line.first) <= options(name)
    assert not line.first or next(iter(line.sections())) == "Most used options"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_begins_with_the_first_section(name: str) -> None:
    import importlib

    module = importlib.import_module(f"tessera_tools.cli.{name}")
    text = module.run(["--help"]).stdout.decode()
    titles = re.findall(r"^(\w[\w ]*):$", text, re.MULTILINE)
    line = module.COMMAND_LINE
    assert titles[0] == ("Actions" if line.actions else next(iter(line.sections())))
    for option in (*module.COMMAND_LINE.flags, *module.COMMAND_LINE.values):
        assert re.search(rf"^ +--?{option}\b", text, re.MULTILINE)


def complete(*words: str) -> list[str]:
    """What bash offers for the last word of a command line."""
    array = " ".join(f"'{word}'" for word in words)
    function = f"_{words[0].replace('-', '_')}"
    script = f"""{completion("bash")}
compopt() {{ :; }}
COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}
{function}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=60, text=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_actions() -> None:
    assert complete("tessera-cache", "l") == ["list"]
    assert complete("tessera-tools", "completion-z") == ["completion-zsh"]
    assert complete("tessera-cache", "--v") == ["--version"]


def test_every_command_has_a_completion_and_a_page() -> None:
    from tessera_tools.cli.tools import COMMANDS as LISTED

    assert sorted(LINES) == sorted([*LISTED, "tessera-tools"])
    assert complete("tessera-tileiras", "--gpu-name", "=", "sm_9") == ["sm_90"]


def test_bash_completes_options_and_passes() -> None:
    assert complete("tessera-opt", "--mlir-print-value") == ["--mlir-print-value-users"]
    assert complete("tessera-opt", "--pass-pip") == ["--pass-pipeline="]
    assert complete("tessera-opt", "--canon") == ["--canonicalize"]
    assert "--mlir-to-ptx" in complete("tessera-translate", "--mlir-to-")


def test_bash_completes_values() -> None:
    assert complete("tessera-opt", "--color", "=", "a") == ["auto", "always"]
    assert complete("tessera-run", "--modes", "=") == ["late", "early", "both"]


def test_bash_completes_the_stages_and_passes_of_a_pipeline() -> None:
    assert complete("tessera-opt", "--to", "=", "nv_") == ["nv_tileaa", "nv_tileas"]
    assert complete("tessera-opt", "--to", "=", "tileas-sch") == ["tileas-schedule"]
    assert complete("tessera-opt", "--to", "=", "cse-all") == []


def test_bash_completes_gpus() -> None:
    assert complete("tessera-opt", "--tessera-pipeline", "=", "sm_107") == ["sm_107", "sm_107a"]
    assert complete("tessera-run", "--gpu-name", "=", "sm_9") == ["sm_90", "sm_90a"]


def test_bash_completes_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernel.mlir").touch()
    monkeypatch.chdir(tmp_path)
    assert complete("tessera-opt", "ker") == ["kernel.mlir"]


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_every_shell_knows_every_option(shell: str) -> None:
    text = run([f"completion-{shell}"]).stdout.decode()
    for name in LINES:
        for option in options(name):
            spelled = f"-l {option} " if shell == "fish" else f"--{option}"
            assert spelled in text or f"-s {option} " in text or f"-{option}" in text
    program = shutil.which(shell)
    if program is not None:
        assert (
            subprocess.run([program, "-n"], input=text, capture_output=True, text=True, timeout=60).stderr
            == ""
        )


@pytest.mark.parametrize("name", LINES)
def test_a_man_page_has_every_option_and_no_warning(name: str) -> None:
    page = man_page(LINES[name])
    for option in options(name):
        assert option.replace("-", "\\-") in page
    groff = shutil.which("groff")
    if groff is not None:
        done = subprocess.run(
            [groff, "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, timeout=60
        )
        assert done.stderr == ""
        assert f"{name.upper()}(1)" in done.stdout


def test_the_pages_are_written(tmp_path: Path) -> None:
    paths = write_man_pages(str(tmp_path / "man1"))
    assert sorted(path.name for path in (tmp_path / "man1").iterdir()) == sorted(f"{n}.1" for n in LINES)
    assert len(paths) == len(LINES)
