"""The cache folder: private, absolute, and never one that somebody else may write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tessera_tools.cache import cache_folder

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that TESSERA_CACHE names."""
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path))
    return tmp_path


def test_it_is_made_for_this_user_alone(base: Path) -> None:
    folder = cache_folder()
    assert folder == str(base / "tessera-tools")
    assert os.stat(folder).st_mode & 0o777 == 0o700


def test_one_that_others_can_write_is_not_used(base: Path) -> None:
    for mode in (0o777, 0o770, 0o702):
        (base / "tessera-tools").mkdir(exist_ok=True)
        (base / "tessera-tools").chmod(mode)
        assert cache_folder() is None


def test_one_that_others_can_only_read_is_closed_to_them(base: Path) -> None:
    (base / "tessera-tools").mkdir()
    (base / "tessera-tools").chmod(0o755)
    assert cache_folder() is not None
    assert os.stat(base / "tessera-tools").st_mode & 0o777 == 0o700


def test_a_link_is_not_used(base: Path) -> None:
    (base / "elsewhere").mkdir(mode=0o700)
    (base / "tessera-tools").symlink_to(base / "elsewhere")
    assert cache_folder() is None


def test_a_folder_of_another_user_is_not_used(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_folder() is not None
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(base).st_uid + 1)
    assert cache_folder() is None


@pytest.mark.parametrize("home", ["", ".", "relative"])
def test_a_home_that_is_no_absolute_path_never_means_the_current_folder(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TESSERA_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", home)
    monkeypatch.chdir(tmp_path)
    folder = cache_folder()
    assert folder is None or not folder.startswith(str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_user_without_a_home_has_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TESSERA_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    # As for a user id that the system has no entry for.
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.chdir(tmp_path)
    assert cache_folder() is None


def test_what_lies_in_the_cache_is_never_run(base: Path) -> None:
    """Every file of a full cache is replaced by a pickle that would leave a trace if it were loaded."""
    source = ROOT / "examples" / "vector_add.mlir"
    arguments = ["--grid=1"]
    for name in ("a=zeros", "b=zeros", "c=zeros"):
        arguments += ["--arg", f"{name}:f32:16", "--arg", "i32:16", "--arg", "i32:1"]
    command = [
        sys.executable,
        "-c",
        "from tessera_tools.cli.run import main; main()",
        str(source),
        *arguments,
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run(command, env=environment, capture_output=True).returncode == 0
    planted = f"cos\nsystem\n(S'touch {base}/ran'\ntR.".encode()
    names = list((base / "tessera-tools").iterdir())
    assert any(name.name.startswith("ptx-") for name in names)
    for name in names:
        name.write_bytes(planted)
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (base / "ran").exists()
