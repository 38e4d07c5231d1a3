"""Launch files from strangers: every odd value is refused at its place, and no file outside the folder is touched."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.ptx import SCALE

from tessera_tools.cli.run import run
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.runtime import device
from tessera_tools.runtime.launch_file import BufferImage, LaunchFile

ARGS = [{"pointer": "A"}, {"i32": 8}, {"f32": 2.0}]
GOOD: dict[str, Any] = {"entry": "scale", "grid": [1], "buffers": {"A": {"size": 32}}, "args": ARGS}


def launch(folder: Path, content: str | bytes, *options: str) -> tuple[int, str]:
    """Status and messages of a launch; a fault of ours fails the test."""
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    (folder / "launch.json").write_bytes(raw)
    done = run(["--launch=launch.json", *options], SCALE.encode(), str(folder))
    said = done.stderr.decode()
    assert "internal fault" not in said
    assert "Traceback" not in said
    return done.exit_code, said


def test_a_launch_file_is_run(tmp_path: Path) -> None:
    status, said = launch(tmp_path, json.dumps(GOOD))
    assert status == 0, said


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"grid": [10**30]}, ": grid: found"),
        ({"shared": 10**30}, ": shared: found"),
        ({"buffers": {"A": {"size": 10**30}}}, "buffers.A.size: found"),
        ({"buffers": {"A": {"size": 1 << 36}}}, "bytes of zeros"),
        ({"args": [{"pointer": "A", "offset": 10**30}, *ARGS[1:]]}, "args[0].offset: found"),
        ({"args": [*ARGS[:2], {"f32": 10**400}]}, "args[2]: found"),
        ({"args": [ARGS[0], {"i32": 10**30}, ARGS[2]]}, "args[1]: found"),
        ({"buffers": {"A": {"file": "a\0b"}}}, "buffers.A.file: found"),
        ({"buffers": {"A": {"file": "\ud800"}}}, "buffers.A.file: found"),
        ({"buffers": {"A": {"file": "\x1b[31m"}}}, "buffers.A.file: found"),
        ({"entry": "\0"}, ": entry: found"),
        ({"buffers": {"A": {"size": 32, "pointers": [{"at": 10**30, "to": "A"}]}}}, "pointers[0].at: found"),
    ],
)
def test_odd_values_are_refused_at_their_place(changed: dict[str, Any], says: str, tmp_path: Path) -> None:
    status, said = launch(tmp_path, json.dumps(GOOD | changed))
    assert status == 1
    assert says in said


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe{}", b"{" * 100_000, b"[" * 100_000, b'{"shared": ' + b"9" * 5000 + b"}", b"\0", b""],
)
def test_what_is_no_json_is_refused(content: bytes, tmp_path: Path) -> None:
    status, said = launch(tmp_path, content)
    assert status == 1
    assert "launch.json" in said


@pytest.mark.parametrize("file", ["../secret", "/etc/hostname", "link", "below/../../secret"])
def test_files_outside_the_folder_are_refused(file: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(bytes(32))
    (folder / "link").symlink_to(tmp_path / "secret")
    for key, buffer in (("file", {"file": file}), ("out", {"size": 32, "out": file})):
        status, said = launch(folder, json.dumps(GOOD | {"buffers": {"A": buffer}}))
        assert status == 1
        assert f"buffers.A.{key}: '{file}' is outside the folder of the launch file" in said
        assert "note: --allow-outside allows it" in said
    assert (tmp_path / "secret").read_bytes() == bytes(32)


def test_files_outside_are_taken_when_the_user_says_so(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "image").write_bytes(bytes(32))
    content = json.dumps(GOOD | {"buffers": {"A": {"file": "../image"}}})
    status, said = launch(tmp_path / "folder", content, "--allow-outside")
    assert status == 0, said


def test_devices_are_refused(tmp_path: Path) -> None:
    content = json.dumps(GOOD | {"buffers": {"A": {"file": "/dev/zero"}}})
    status, said = launch(tmp_path, content, "--allow-outside")
    assert status == 1
    assert "'/dev/zero' is a device; expected a file" in said
    done = run(["--launch=/dev/zero"], SCALE.encode(), str(tmp_path))
    assert done.exit_code == 1
    assert b"is a device" in done.stderr


def test_a_file_below_the_folder_is_taken(tmp_path: Path) -> None:
    os.makedirs(tmp_path / "below")
    (tmp_path / "below" / "image").write_bytes(bytes(32))
    buffers = {"A": {"file": "below/image", "out": "below/after"}}
    status, said = launch(tmp_path, json.dumps(GOOD | {"buffers": buffers}))
    assert status == 0, said
    assert (tmp_path / "below" / "after").stat().st_size == 32


def test_a_pointer_may_point_inside_its_buffer(tmp_path: Path) -> None:
    """The kernel doubles the eight numbers from the third on."""
    (tmp_path / "image").write_bytes(np.arange(12, dtype="<f4").tobytes())
    buffers = {"A": {"file": "image", "out": "after"}}
    arguments = [{"pointer": "A", "offset": 8}, *ARGS[1:]]
    status, said = launch(tmp_path, json.dumps({**GOOD, "buffers": buffers, "args": arguments}))
    assert status == 0, said
    after = np.frombuffer((tmp_path / "after").read_bytes(), "<f4")
    assert after.tolist() == [0, 1, *range(4, 20, 2), 10, 11]


def linked(at: int) -> LaunchFile:
    """Byte `at` of the 16 bytes of A contains the address of the second word of B."""
    images = BufferImage("A", None, 16, None, ((at, "B", 4),)), BufferImage("B", None, 8, None)
    return LaunchFile("launch.json", buffers={image.name: image for image in images})


def test_a_pointer_in_a_buffer_may_point_inside_another() -> None:
    file = linked(8)
    made = file.place(device("sim"), file.images())
    assert made["A"].array().view("<u8").tolist() == [0, made["B"].address + 4]


def test_a_pointer_ends_within_its_buffer() -> None:
    with pytest.raises(DiagnosticError, match="found a pointer at byte 9 of 16, expected 8 bytes inside"):
        linked(9).images()
