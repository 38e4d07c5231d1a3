"""Outputs are written whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tessera_tools.emit import files
from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.files import OutputSet, write_output


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_bytes_and_text_are_written(tmp_path: Path):
    write_output(str(tmp_path / "a"), b"\x00\xff")
    write_output(str(tmp_path / "b"), "tensor ⊗\n", sync=True)
    assert (tmp_path / "a").read_bytes() == b"\x00\xff"
    assert (tmp_path / "b").read_text() == "tensor ⊗\n"
    assert names(tmp_path) == ["a", "b"]


def test_the_permissions_of_a_replaced_file_stay(tmp_path: Path):
    out = tmp_path / "out"
    out.write_text("old")
    out.chmod(0o640)
    write_output(str(out), "new")
    assert out.read_text() == "new"
    assert out.stat().st_mode & 0o777 == 0o640


def test_a_new_file_gets_the_permissions_of_the_umask(tmp_path: Path):
    old = os.umask(0o027)
    try:
        write_output(str(tmp_path / "out"), "x")
    finally:
        os.umask(old)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640


def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path: Path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    write_output(str(tmp_path / "link"), "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_directory_as_output_is_refused(tmp_path: Path):
    with pytest.raises(ToolError, match="is a directory"):
        write_output(str(tmp_path), "x")


def test_a_missing_folder_is_refused_with_what_to_do(tmp_path: Path):
    with pytest.raises(ToolError, match=r"cannot be written: no such file or directory") as caught:
        write_output(str(tmp_path / "no" / "out"), "x")
    assert caught.value.hint == "create the directory first"


def test_a_file_as_folder_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ToolError, match="not a directory"):
        write_output(str(tmp_path / "file" / "out"), "x")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_protected_folder_is_refused(tmp_path: Path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(ToolError, match="permission denied"):
            write_output(str(tmp_path / "out"), "x")
    finally:
        tmp_path.chmod(0o700)


def test_a_protected_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = tmp_path / "out"
    out.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ToolError, match="permission denied"):
        write_output(str(out), "new")
    assert out.read_text() == "old"


@pytest.mark.parametrize("step", ["write", "close", "fsync"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
):
    out = tmp_path / "out"
    out.write_text("old")
    real = getattr(os, step)

    def full(descriptor: int, *arguments: object) -> object:
        if step == "close":
            real(descriptor)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(files.os, step, full)
        with pytest.raises(ToolError, match="no space left on device"):
            write_output(str(out), b"new" * 1000, sync=True)
    assert out.read_text() == "old"
    assert names(tmp_path) == ["out"]


def test_a_full_device_is_an_error():
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    with pytest.raises(ToolError, match="no space left on device"):
        write_output("/dev/full", "x")


def test_a_device_is_written_through_and_not_replaced():
    write_output(os.devnull, "x")
    assert not os.path.isfile(os.devnull)


def test_several_outputs_appear_together(tmp_path: Path):
    with OutputSet() as outputs:
        outputs.add(str(tmp_path / "k.cubin"), b"cubin")
        outputs.add(str(tmp_path / "k.json"), "{}")
        assert not (tmp_path / "k.cubin").exists()
    assert names(tmp_path) == ["k.cubin", "k.json"]


def test_no_output_appears_when_one_cannot_be_written(tmp_path: Path):
    with pytest.raises(ToolError), OutputSet() as outputs:
        outputs.add(str(tmp_path / "k.cubin"), b"cubin")
        outputs.add(str(tmp_path / "no" / "k.json"), "{}")
    assert names(tmp_path) == []


def test_no_output_appears_when_the_work_between_fails(tmp_path: Path):
    with pytest.raises(KeyboardInterrupt), OutputSet() as outputs:
        outputs.add(str(tmp_path / "k.cubin"), b"cubin")
        raise KeyboardInterrupt
    assert names(tmp_path) == []


def test_a_failing_replacement_brings_the_old_files_back(tmp_path: Path):
    (tmp_path / "old").write_text("old")
    outputs = OutputSet()
    for name in ("old", "new", "last"):
        outputs.add(str(tmp_path / name), "written")
    (tmp_path / "last").mkdir()  # between the two steps
    with pytest.raises(ToolError, match="'.*/last' cannot be written: "):
        outputs.commit()
    assert names(tmp_path) == ["last", "old"]
    assert (tmp_path / "old").read_text() == "old"


def test_several_files_are_replaced_without_leaving_the_old_ones(tmp_path: Path):
    for text in ("first", "second"):
        with OutputSet(sync=True) as outputs:
            outputs.add(str(tmp_path / "a"), text)
            outputs.add(str(tmp_path / "b"), text)
    assert names(tmp_path) == ["a", "b"]
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text() == "second"


def test_a_disk_that_takes_only_a_part_leaves_the_old_file(tmp_path: Path):
    (tmp_path / "out").write_text("old")
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        f"try: write_output({str(tmp_path / 'out')!r}, b'x' * 100000)\n"
        "except Exception as e: print(type(e).__name__, e, file=sys.stderr)"
    )
    assert run(code).stderr.endswith(b"cannot be written: file too large\n")
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out").read_text() == "old"


def run(code: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-B", "-c", "from tessera_tools.emit.files import write_output\n" + code],
        timeout=60,
        stderr=subprocess.PIPE,
        **options,  # pyright: ignore[reportArgumentType, reportCallIssue]
    )


def test_a_dash_is_stdout():
    done = run("write_output('-', b'\\x00\\xff')", stdout=subprocess.PIPE)
    assert (done.stdout, done.stderr) == (b"\x00\xff", b"")


def test_a_full_stdout_is_an_error_of_one_line():
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    code = (
        "try: write_output('-', 'x')\n"
        "except Exception as e: print(type(e).__name__, e, file=__import__('sys').stderr); __import__('os')._exit(1)"
    )
    with open("/dev/full", "wb") as full:
        done = run(code, stdout=full)
    assert done.returncode == 1
    assert done.stderr == b"ToolError the output '<stdout>' cannot be written: no space left on device\n"


def test_a_reader_of_stdout_that_has_gone_is_no_error():
    read, write = os.pipe()
    os.close(read)
    done = run("write_output('-', b'x' * 1000000)", stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
