"""The compile cache: the same result again, a new one when anything changes, and nothing from a damaged entry."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tessera_tools.diagnostics import Diagnostic, Position, Remark, collect
from tessera_tools.emit import compile_cache
from tessera_tools.emit.compile_cache import Entry, clear, entries, key_of, leftovers, load, once, store
from tessera_tools.emit.compiled import Compiled, Options
from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.manifest import Kernel, Manifest, Parameter
from tessera_tools.emit.resources import Message, Report, Resources
from tessera_tools.target import lookup

OPTIONS = Options(lookup("sm_90a"), "llvmir")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, turned on."""
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TESSERA_CACHE_LIMIT", raising=False)
    return tmp_path / "cache" / "tessera-tools" / "compile"


def key(data: bytes = b"input", name: str = "a.mlir", options: Options = OPTIONS, **more: object) -> str:
    found = key_of(data, name, options, options.target, **more)
    assert found is not None
    return found


def some() -> Entry:
    """An entry with something in every field."""
    kernel = Kernel("k", (Parameter("a", "ptr", 8, 0),), (128, 1, 1), registers=40)
    used = Resources(registers=40, spill_stores=4, constants={0: 360}, is_entry=True)
    made = Compiled(
        stages={"ptx": ".version 8.0\n// \u00b5", "cubin": b"\x7fELF\0\xff"},
        report=Report({"k": used}, [Message("warning", "slow", 7)], 12, {3: 8}),
        manifest=Manifest("sm_90a", "8.0", (kernel,)),
        warnings=["ptxas: slow"],
        ptxas_command=["ptxas", "-v"],
        ptxas_output="info",
    )
    warning = Diagnostic("warning", Position("a.mlir", 3, 5), "odd").note("because")
    remark = Remark("remark", None, "chosen", [], "tileas-assign-layouts", "layout", "layout", "k", "passed")
    return Entry(made, [warning, remark], {"seconds": {"cse": 0.5}})


def test_an_entry_comes_back_as_it_was() -> None:
    store(key(), some(), source="a.mlir")
    assert load(key()) == some()


def test_what_was_not_stored_is_not_there() -> None:
    assert load(key()) is None


@pytest.mark.parametrize(
    "other",
    [
        lambda: key(b"input "),
        lambda: key(name="b.mlir"),
        lambda: key(options=replace(OPTIONS, level=2)),
        lambda: key(options=replace(OPTIONS, until="ptx")),
        lambda: key(options=replace(OPTIONS, off=frozenset({"cse"}))),
        lambda: key_of(b"input", "a.mlir", OPTIONS, None),
        lambda: key(options=replace(OPTIONS, target=lookup("sm_100a"))),
        lambda: key(allow_unregistered_dialect=True),
    ],
    ids=["input", "name", "level", "until", "off", "no target", "target", "more"],
)
def test_whatever_the_result_depends_on_is_in_the_key(other: object) -> None:
    assert callable(other)
    assert other() != key()


def test_the_code_of_a_family_is_not_that_of_one_gpu() -> None:
    keys = {key(options=replace(OPTIONS, target=lookup(gpu))) for gpu in ("sm_100a", "sm_100f")}
    assert len(keys) == 2


def test_another_ptxas_is_another_key(tmp_path: Path) -> None:
    ptxas = tmp_path / "ptxas"
    ptxas.write_text("#!/bin/sh\n")
    ptxas.chmod(0o755)
    options = replace(OPTIONS, until="cubin", ptxas=str(ptxas))
    before = key(options=options)
    ptxas.write_text("#!/bin/sh\n# newer\n")
    assert key(options=options) != before


def test_llvm_ir_does_not_depend_on_ptxas_unless_all_stages_are_kept(tmp_path: Path) -> None:
    ptxas = tmp_path / "ptxas"
    ptxas.write_text("#!/bin/sh\n")
    ptxas.chmod(0o755)
    options = replace(OPTIONS, ptxas=str(ptxas))
    before = [key(options=one) for one in (options, replace(options, all_stages=True))]
    ptxas.write_text("#!/bin/sh\n# newer\n")
    after = [key(options=one) for one in (options, replace(options, all_stages=True))]
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False]


def test_a_changed_compiler_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    monkeypatch.setattr(compile_cache, "own_identity", lambda: ["changed"])
    assert key() != before


def test_another_llvm_is_another_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version of llvmlite that is imported, the first on the path, is known without an import of it."""
    version = tmp_path / "llvmlite" / "_version.py"
    version.parent.mkdir()
    version.write_text("__version__ = '1'\n")
    installed = compile_cache.own_identity()
    monkeypatch.syspath_prepend(tmp_path)
    first = compile_cache.own_identity()
    version.write_text("__version__ = '1.1'\n")
    second = compile_cache.own_identity()
    assert len({tuple(one) for one in (installed, first, second)}) == 3
    monkeypatch.setattr("sys.path", [str(tmp_path / "nothing")])
    assert compile_cache.own_identity() not in (installed, first, second)


def test_line_information_depends_on_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, lines = key(), key(options=replace(OPTIONS, lineinfo=True))
    monkeypatch.chdir(tmp_path)
    assert key() == plain
    assert key(options=replace(OPTIONS, lineinfo=True)) != lines


def test_line_information_in_a_removed_folder_has_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "removed"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert key_of(b"", "a", replace(OPTIONS, lineinfo=True), None) is None
    assert key_of(b"", "a", OPTIONS, None) is not None


def test_a_missing_tool_has_no_key() -> None:
    assert key_of(b"", "a", replace(OPTIONS, until="cubin", ptxas="/nowhere/ptxas"), None) is None


def test_it_is_made_once_and_says_the_same_again() -> None:
    made: list[int] = []

    def make() -> Entry:
        made.append(1)
        compile_cache.emit(Diagnostic("warning", None, "odd"))
        return Entry(Compiled({"llvmir": "; text"}))

    stages: list[tuple[str, str | bytes]] = []
    for _ in range(2):
        with collect() as emitted:
            found = once(key(), "a.mlir", make, on_stage=lambda stage, data: stages.append((stage, data)))
        assert found.compiled.stages == {"llvmir": "; text"}
        assert [one.message for one in emitted] == ["odd"]
    assert made == [1]
    assert stages == [("llvmir", "; text")]


def test_an_error_is_not_kept() -> None:
    def fail() -> Entry:
        raise ToolError("no")

    with pytest.raises(ToolError):
        once(key(), "a.mlir", fail)
    assert not entries()


def test_a_damaged_entry_is_removed_and_counts_as_absent(cache: Path) -> None:
    store(key(), some(), source="a.mlir")
    path = cache / key()
    whole = path.read_bytes()
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chosen = random.Random(seed)
    for _ in range(50):
        at = chosen.randrange(len(whole))
        cut = bytes([whole[at] ^ (1 << chosen.randrange(8))]) + whole[at + 1 :]
        for damaged in (whole[:at] + cut, whole[:at]):
            path.write_bytes(damaged)
            assert load(key()) is None
            assert not path.exists()


def test_an_entry_is_a_file_of_the_user_alone(cache: Path) -> None:
    store(key(), some(), source="a.mlir")
    assert os.stat(cache).st_mode & 0o077 == 0
    assert [path.name for path in cache.iterdir()] == [key()]


def test_what_was_not_used_for_the_longest_time_goes_first(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESSERA_CACHE_LIMIT", "1")
    big = Entry(Compiled({"cubin": bytes(400 << 10)}))
    keys = [key(bytes([number])) for number in range(3)]
    for number, one in enumerate(keys):
        if number == 2:
            assert load(keys[0]) is not None  # used, and so younger than the second
        store(one, big, source="a.mlir")
        if number < 2:
            os.utime(cache / one, (number, number))
    assert [load(one) is not None for one in keys] == [True, False, True]


def test_an_entry_over_the_limit_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_CACHE_LIMIT", "1")
    store(key(), Entry(Compiled({"cubin": bytes(2 << 20)})), source="a.mlir")
    assert not entries()


def test_a_limit_of_0_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_CACHE_LIMIT", "0")
    assert key_of(b"", "a", OPTIONS, None) is None


@pytest.mark.parametrize("limit", ["-1", "1G", "1e3", "9" * 10])
def test_a_limit_that_is_no_number_is_an_error(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_CACHE_LIMIT", limit)
    with pytest.raises(ToolError, match=f"TESSERA_CACHE_LIMIT is '{limit}'"):
        key_of(b"", "a", OPTIONS, None)


def test_a_link_in_place_of_the_folder_is_not_followed(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    cache.parent.mkdir(parents=True, mode=0o700)
    cache.symlink_to(tmp_path / "elsewhere")
    assert key_of(b"", "a", OPTIONS, None) is None


def test_the_list_names_what_was_compiled() -> None:
    store(key(), some(), source="a.mlir")
    (one,) = entries()
    assert (one.key, one.source, one.target, one.until) == (key(), "a.mlir", "sm_90a", "cubin")
    assert one.used <= time.time() + 1


def test_the_list_names_the_end_of_a_long_path() -> None:
    store(key(), some(), source="folder/" * 1000 + "a.mlir")
    (one,) = entries()
    assert one.source.endswith("folder/a.mlir")
    assert len(one.source) == 500


def test_the_list_shows_a_damaged_entry_as_such(cache: Path) -> None:
    store(key(), some(), source="a.mlir")
    (cache / key()).write_bytes(b"nothing")
    (one,) = entries()
    assert one.source == "(damaged)"


def test_clearing_removes_all_entries() -> None:
    for number in range(3):
        store(key(bytes([number])), some(), source="a.mlir")
    assert clear() == 3
    assert not entries()


def test_an_entry_under_the_name_of_another_is_not_used(cache: Path) -> None:
    store(key(), some(), source="a.mlir")
    (cache / key()).rename(cache / key(b"other"))
    assert load(key(b"other")) is None
    assert not (cache / key(b"other")).exists()


def test_a_pipe_in_place_of_an_entry_blocks_nobody(cache: Path) -> None:
    cache.mkdir(parents=True, mode=0o700)
    cache.parent.chmod(0o700)
    os.mkfifo(cache / key())
    assert load(key()) is None
    assert entries() == []
    store(key(), some(), source="a.mlir")
    assert load(key()) == some()


def test_a_link_in_place_of_an_entry_is_not_followed(cache: Path, tmp_path: Path) -> None:
    store(key(), some(), source="a.mlir")
    target = tmp_path / "elsewhere"
    (cache / key()).rename(target)
    (cache / key()).symlink_to(target)
    before = target.read_bytes()
    assert load(key()) is None
    store(key(), Entry(Compiled({"ptx": "new"})), source="a.mlir")
    assert target.read_bytes() == before
    assert load(key()) == Entry(Compiled({"ptx": "new"}))


def test_incomplete_files_of_ended_processes_are_counted_and_removed(cache: Path) -> None:
    store(key(), some(), source="a.mlir")
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], check=True, capture_output=True
    )
    left = cache / f".{key()}.{int(ended.stdout)}-0badcafe.tmp"
    mine = cache / f".{key()}.{os.getpid()}-0badcafe.tmp"
    for path in (left, mine):
        path.write_bytes(b"x" * 1000)
    assert leftovers() == 1000
    assert len(entries()) == 1
    store(key(b"other"), some(), source="b.mlir")
    assert not left.exists() and mine.exists()
    os.utime(mine, (0, 0))  # nothing was written for long
    assert leftovers() == 1000
    assert clear() == 2
    assert not mine.exists()


def test_many_processes_write_and_read_whole_entries() -> None:
    """Four processes store and load the same three entries; each that is found is whole."""
    code = (
        "import sys\n"
        "from tessera_tools.emit.compile_cache import Entry, load, store\n"
        "from tessera_tools.emit.compiled import Compiled\n"
        "for turn in range(60):\n"
        "    key = f'{turn % 3:064}'\n"
        "    store(key, Entry(Compiled({'cubin': bytes([turn % 3]) * 50_000})), source='a')\n"
        "    found = load(key)\n"
        "    assert found is None or found.compiled.stages['cubin'] == bytes([turn % 3]) * 50_000\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).resolve().parents[2])
        for _ in range(4)
    ]
    assert [one.wait() for one in running] == [0] * 4
    assert len(entries()) == 3
