"""Results that the workers of a test run share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from run_cache import VARIABLE, make_folder, once_in_a_run, remove_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run of its own."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return tmp_path


def worker(calls: list[tuple[str, int]]) -> Callable[..., str]:
    """The function as one worker has it: nothing is kept in its memory yet."""

    @once_in_a_run
    def made(text: str, level: int = 3) -> str:
        calls.append((text, level))
        if text == "bad":
            raise ValueError(text)
        return text * level

    return made


def test_a_second_worker_reads_what_the_first_has_made(folder: Path) -> None:
    calls: list[tuple[str, int]] = []
    assert worker(calls)("a") == worker(calls)("a") == "aaa"
    assert calls == [("a", 3)]


def test_other_arguments_give_another_result(folder: Path) -> None:
    calls: list[tuple[str, int]] = []
    assert [worker(calls)("a", level=level) for level in (1, 2)] == ["a", "aa"]
    assert worker(calls)("b", 2) == "bb"
    assert len(calls) == 3


def test_a_default_value_that_is_written_is_the_same_call(folder: Path) -> None:
    calls: list[tuple[str, int]] = []
    one = worker(calls)
    assert one("a") == one("a", 3) == one(level=3, text="a") == worker(calls)("a", 3)
    assert calls == [("a", 3)]


def test_a_forgotten_result_is_read_again(folder: Path, tmp_path: Path) -> None:
    calls: list[tuple[str, int]] = []

    @once_in_a_run
    def made() -> str:
        calls.append(("", 0))
        return "a"

    assert made() == "a"
    next(tmp_path.iterdir()).unlink()
    made.cache_clear()
    assert made() == "a" and len(calls) == 2


def test_a_failure_is_not_kept(folder: Path) -> None:
    calls: list[tuple[str, int]] = []
    for _ in range(2):
        with pytest.raises(ValueError):
            worker(calls)("bad")
    assert len(calls) == 2
    assert not list(folder.iterdir())


def test_nothing_but_whole_results_is_left(folder: Path) -> None:
    worker([])("a")
    assert [path.suffix for path in folder.iterdir()] == [""]


def test_without_a_run_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    calls: list[tuple[str, int]] = []
    assert worker(calls)("a") == worker(calls)("a")
    assert len(calls) == 2


def test_the_folder_is_private_and_goes_with_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    made = make_folder()
    assert made is not None
    assert make_folder() is None
    assert os.stat(made).st_mode & 0o077 == 0
    remove_folder(made)
    assert not os.path.exists(made)
    assert VARIABLE not in os.environ
