"""`tessera-tools`, and cuTile with our `tileiras` on PATH."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tessera_tools.cli import tools

ROOT = Path(__file__).parents[2]

CUTILE = """\
import importlib.metadata as metadata, io, sys, tempfile
import numpy as np

real = metadata.version
def version(name):
    if name == "nvidia-cuda-tileiras":
        raise metadata.PackageNotFoundError(name)  # cuTile would prefer NVIDIA's wheel to PATH
    return real(name)
metadata.version = version

import cuda.tile as ct
from cuda.tile import _compile
from cuda.tile.compilation import export_kernel
from tessera_tools.api.cutile import Arguments

@ct.kernel
def add(a, b, c, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(c, index=(i,), tile=ct.load(a, index=(i,), shape=(T,)) + ct.load(b, index=(i,), shape=(T,)))

array = np.zeros(4096, np.float32)
cubin = io.BytesIO()
signature = Arguments(add, [array, array, array, 1024]).signature()
export_kernel(add, [signature], cubin, gpu_code="sm_90", output_format="cubin")
print(_compile._find_compiler_bin().path)
print(_compile._get_max_supported_bytecode_version(tempfile.gettempdir()).as_string())
print(_compile._tileiras_supports_remarks(tempfile.gettempdir()))
print(cubin.getvalue()[:4])
print(_compile._bytecode_to_mlir_text(open(sys.argv[1], "rb").read()).splitlines()[0])
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own."""
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_man_pages_are_where_man_finds_them(cache: Path) -> None:
    folder = Path(tools.run(["man-path"]).stdout.decode().strip())
    assert folder.is_relative_to(cache)
    pages = {page.name for page in (folder / "man1").iterdir()}
    assert pages == {f"{name}.1" for name in [*tools.COMMANDS, "tessera-tools"]}


def drop_in() -> Path:
    done = tools.run(["tileiras-path"])
    assert done.exit_code == 0, done.stderr
    return Path(done.stdout.decode().strip())


def test_every_command_is_listed() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    listed = [line.split()[0] for line in tools.run([]).stdout.decode().splitlines()]
    assert sorted([*listed, "tessera-tools"]) == sorted(scripts)


def test_the_folder_holds_programs_that_only_the_user_can_change(cache: Path) -> None:
    folder = drop_in()
    assert folder.is_relative_to(cache)
    assert sorted(path.name for path in folder.iterdir()) == ["tileiras", "tileirdisasm"]
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o700}


@pytest.mark.parametrize("action", ["tileiras-path", "man-path"])
def test_the_folder_is_refused_where_others_can_write(cache: Path, action: str) -> None:
    (cache / "tessera-tools").mkdir(parents=True)
    (cache / "tessera-tools").chmod(0o777)
    done = tools.run([action])
    assert done.exit_code == 1
    assert "error: there is no private folder for " in done.stderr.decode()
    assert "note: set TESSERA_CACHE to a folder of yours" in done.stderr.decode()


def test_a_program_of_the_folder_runs_from_another_folder(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('imported from the working directory')\n")
    done = subprocess.run(
        [drop_in() / "tileiras", "--list-versions"], cwd=tmp_path, capture_output=True, check=True, timeout=60
    )
    assert done.stdout.split()[0] == b"13.1"


def test_cutile_compiles_with_the_programs_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(CUTILE)
    folder = drop_in()
    done = subprocess.run(
        [sys.executable, "program.py", str(ROOT / "test/corpus/inputs/vector_add_f32.tileirbc")],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    path, version, remarks, magic, text = done.stdout.splitlines()
    assert path == str(folder / "tileiras")
    assert version == "13.4"
    assert remarks == "True"
    assert magic == "b'\\x7fELF'"
    assert text.startswith("entry @vector_add_f32")
