"""`tessera-lsp` in Emacs, with editors/emacs/tessera.el: emacs.el is the session, and prints what it sees."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oracles import missing, require_tool

ROOT = Path(__file__).parents[2]
MODE = ROOT / "editors" / "emacs" / "tessera.el"
PROGRAM = """\
// RUN: tessera-opt %s --cse
func.func @f(%a: i32) -> i32 {
  %b = arith.addi %nobody, %a : i32
  return %b : i32
}
"""


def emacs(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Emacs without a user's settings; the site's settings have the packages of the system."""
    return subprocess.run(
        ["emacs", "--batch", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=240,
    )


def needs(package: str) -> None:
    """Skip the test without Emacs and a package."""
    require_tool("emacs")
    if emacs("--eval", "(package-initialize)", "--eval", f"(require '{package})").returncode:
        missing(package, f"Debian's package elpa-{package}")


@pytest.fixture(scope="module", params=["eglot", "lsp-mode"])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a user sees with one of the two clients."""
    needs(request.param)
    folder = tmp_path_factory.mktemp("emacs")
    (folder / "program.mlir").write_text(PROGRAM)
    kernel = (ROOT / "examples" / "vector_add.mlir").read_text()
    (folder / "kernel.mlir").write_text(kernel.replace("--gpu-name=sm_90 ", ""))
    done = emacs(
        "-l", Path(__file__).with_name("emacs.el"), MODE.parent, folder, request.param,
        HOME=str(folder),
        TESSERA_LSP=json.dumps([sys.executable, "-m", "tessera_tools.cli.lsp"]),
        PYTHONPATH=str(ROOT),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("SEEN "))
    return json.loads(line.removeprefix("SEEN "))


def test_the_mode_of_a_file(seen: dict[str, Any]) -> None:
    assert seen["mode"] == "tessera-mode"


def test_an_error_is_at_its_line(seen: dict[str, Any]) -> None:
    ((line, message),) = seen["errors"]
    assert line == 3
    assert message.endswith("use of undeclared SSA value name '%nobody'")


def test_hover_is_the_documentation_of_the_operation(seen: dict[str, Any]) -> None:
    assert "arith.addi" in seen["hover"]


def test_the_definition_of_a_value(seen: dict[str, Any]) -> None:
    assert seen["definition"] == [3, 2]


def test_a_rename_changes_all_uses(seen: dict[str, Any]) -> None:
    renamed = seen["renamed"].splitlines()
    assert renamed[2:4] == ["  %twice = arith.addi %a, %a : i32", "  return %twice : i32"]


def test_a_run_line_is_shown(seen: dict[str, Any]) -> None:
    assert "%twice = arith.addi" in seen["run"]


def test_the_ptx_is_for_the_gpu_of_the_settings(seen: dict[str, Any]) -> None:
    assert ".visible .entry vector_add(" in seen["ptx"]
    assert ".target sm_100a" in seen["ptx"]


def test_an_operation_is_a_keyword(seen: dict[str, Any]) -> None:
    assert seen["face"] == "font-lock-keyword-face"


def test_the_mode_is_compiled_without_warnings(tmp_path: Path) -> None:
    require_tool("emacs")
    shutil.copy(MODE, tmp_path)
    done = emacs(
        "--eval", "(setq byte-compile-error-on-warn t)", "-f", "batch-byte-compile", tmp_path / MODE.name
    )
    assert done.returncode == 0, done.stderr
