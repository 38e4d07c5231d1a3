"""A confined process, and what it starts, reaches only the files that it needs."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tessera_tools.cli import play_confinement

PROGRAM = """
import json, os, socket, subprocess, sys
from tessera_tools.cli.play_confinement import _readable, confine
print(*_readable(), file=sys.stderr)
folder, other, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
if not confine(folder):
    print("null")
    sys.exit()

def may(work):
    try:
        work()
    except OSError:
        return False
    return True

shell = f"cat {other}/secret || echo > {other}/written"
print(json.dumps({
    "read": may(lambda: open(f"{other}/secret")),
    "list": may(lambda: os.listdir(other)),
    "write": may(lambda: open(f"{other}/written", "w")),
    "passwd": may(lambda: open("/etc/passwd")),
    "environment of others": may(lambda: open(f"/proc/{os.getppid()}/environ").read()),
    "child": subprocess.run(["/bin/sh", "-c", shell], capture_output=True).returncode == 0,
    "link": may(lambda: (os.symlink(f"{other}/secret", f"{folder}/link"), open(f"{folder}/link"))),
    "connect": may(lambda: socket.create_connection(("127.0.0.1", port), 5)),
    "own folder": may(lambda: open(f"{folder}/mine", "w").write("x")),
    "Python": may(lambda: open(json.__file__)),
    "null device": may(lambda: open("/dev/null", "w").write("x")),
}))
"""


def has_landlock() -> bool:
    """Whether the kernel tells a version of Landlock (landlock_create_ruleset)."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    return call(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1)) >= 1


@pytest.mark.parametrize(("version", "rules"), [(-1, -1), (0, -1), (5, -1)])
def test_what_the_kernel_refuses_is_told(
    version: int, rules: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No Landlock, one that is off, and one that makes no set of rules."""
    answers = iter((version, rules))

    class Library:
        @staticmethod
        def syscall(*_: object) -> int:
            return next(answers)

    monkeypatch.setattr(play_confinement.ctypes, "CDLL", lambda *_, **__: Library)
    assert play_confinement.confine(str(tmp_path)) is False


def test_files_of_others_cannot_be_reached(tmp_path: Path) -> None:
    import socket

    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    (other / "secret").write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = str(listening.getsockname()[1])
        command = [sys.executable, "-c", PROGRAM, str(own), str(other), port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if found is None:
        assert not has_landlock(), "the kernel has Landlock, and the process is not confined"
        pytest.skip("the kernel has no Landlock")
    allowed = {name for name, may in found.items() if may}
    # Kernels before 6.7 cannot deny connections.
    assert allowed - {"connect"} == {"own folder", "Python", "null device"}, f"readable: {done.stderr}"
    assert not (other / "written").exists()
