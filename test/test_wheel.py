"""The wheel, installed alone in an empty environment and another folder, gives working commands."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "gemm.mlir"
VECTOR_ADD = ROOT / "examples" / "vector_add.mlir"


def run(command: list[str], cwd: Path, seconds: int = 300) -> subprocess.CompletedProcess[str]:
    """Run without anything of this checkout on Python's path; fail with the command's own words."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PIP_NO_COMPILE"] = "1"  # nothing here runs often
    if "pip" not in command:  # pip's own cache spares the downloads
        environment["XDG_CACHE_HOME"] = str(cwd / "cache")
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done


def new_environment(folder: Path, *options: str) -> Path:
    """The `bin` folder of a new virtual environment that holds pip alone."""
    run([sys.executable, "-m", "venv", *options, str(folder)], folder.parent)
    return folder / "bin"


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment with pip and `build`, and none of the project's requirements.

    pip hides an isolated build's requirements from a process that drops `PYTHONPATH`, and `build` does not: a wheel
    that either of them makes may fail in the other.
    """
    tools = new_environment(tmp_path_factory.mktemp("builder") / "venv")
    run([str(tools / "python"), "-m", "pip", "install", "-q", "build"], tools)
    return tools


@pytest.fixture(scope="module")
def sdist(builder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, built from this checkout in isolation."""
    folder = tmp_path_factory.mktemp("sdist")
    run([str(builder / "python"), "-m", "build", "--sdist", "--outdir", str(folder), str(ROOT)], folder)
    (built,) = folder.glob("tessera_tools-*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(builder: Path, sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by pip from the source distribution in isolation."""
    folder = tmp_path_factory.mktemp("wheel")
    run(
        [str(builder / "python"), "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(sdist)],
        folder,
    )
    (built,) = folder.glob("tessera_tools-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(builder: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an empty environment with only the wheel and its dependencies."""
    commands = new_environment(tmp_path_factory.mktemp("elsewhere") / "venv", "--without-pip")
    pip = [str(builder / "python"), "-m", "pip", "--python", str(commands / "python")]
    run([*pip, "install", "-q", str(wheel)], commands)
    return commands


def test_it_holds_the_grammars_and_their_tables(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"tessera_tools/_grammar/table.json", "tessera_tools/_grammar/ptx.json"} <= names
    grammars = {str(path.relative_to(ROOT / "grammar")) for path in (ROOT / "grammar").rglob("*.lark")}
    assert grammars
    assert {f"tessera_tools/_grammar/{name}" for name in grammars} <= names


def test_it_holds_the_page_to_play_and_its_examples(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        f"tessera_tools/cli/static/{name}" for name in ("play.html", "play.css", "play.js", "editor.js")
    } <= names
    examples = {path.name for path in (ROOT / "examples").glob("*.mlir")}
    assert {
        name.removeprefix("tessera_tools/_examples/") for name in names if "/_examples/" in name
    } == examples


def test_tessera_opt_works_from_it(installed: Path, tmp_path: Path) -> None:
    done = run([str(installed / "tessera-opt"), str(EXAMPLE)], tmp_path)
    assert "entry @gemm(" in done.stdout


def test_tessera_translate_works_from_it(installed: Path, tmp_path: Path) -> None:
    command = [str(installed / "tessera-translate"), "--mlir-to-ptx", "--gpu-name=sm_80", str(EXAMPLE)]
    assert ".target sm_80" in run(command, tmp_path).stdout


def test_tessera_run_works_from_it(installed: Path, tmp_path: Path) -> None:
    vector = ["--arg", "i32:1024", "--arg", "i32:1"]
    arguments = ["--arg", "a=rand:f32:1024", *vector, "--arg", "b=rand:f32:1024", *vector]
    arguments += ["--arg", "c=zeros:f32:1024", *vector, "--out", "c=c.npy"]
    run([str(installed / "tessera-run"), str(VECTOR_ADD), "--grid=1", *arguments], tmp_path)
    assert (tmp_path / "c.npy").stat().st_size > 1024 * 4
    # The tables that the wheel ships are used: none is made and kept.
    assert not list((tmp_path / "cache").rglob("*.json"))
