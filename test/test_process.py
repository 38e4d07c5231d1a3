"""Running other programs under a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tessera_tools import process
from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.tools import TemporaryFolder
from tessera_tools.process import run, signal_name

SH = "/bin/sh"


def gone(pid: int, tries: int = 100) -> bool:
    """True if the process has ended; an orphan is reaped by init, which may take a moment."""
    for _ in range(tries):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_status_and_both_streams_come_back():
    done = run([SH, "-c", "echo out; echo err >&2; exit 3"], time_limit=20)
    assert (done.status, done.signal, done.timed_out, done.succeeded) == (3, None, False, False)
    assert (done.stdout, done.stderr, done.text) == (b"out\n", b"err\n", "out\nerr\n")


def test_a_signal_is_told_from_a_status():
    done = run([SH, "-c", "kill -ABRT $$"], time_limit=20)
    assert done.status is None
    assert signal_name(done.signal or 0) == "SIGABRT"


def test_a_signal_without_a_name_is_told_by_number():
    assert signal_name(63) == "signal 63"


def test_more_output_than_a_pipe_holds_comes_back():
    done = run([SH, "-c", "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2"], time_limit=20)
    assert (len(done.stdout), len(done.stderr)) == (1000000, 1000000)


def test_stdin_is_empty():
    assert run([SH, "-c", "cat"], time_limit=20).succeeded


def test_a_hanging_program_is_ended_with_all_it_started():
    for limit in (0.5, 5, 50):
        done = run([SH, "-c", "sleep 1000 & echo $! $$; wait"], time_limit=limit)
        assert done.timed_out
        if done.stdout:  # a busy machine may not have come so far
            break
    assert len(done.stdout.split()) == 2
    assert not done.succeeded
    assert done.seconds < limit + 15
    assert all(gone(int(pid)) for pid in done.stdout.split())


def test_a_program_that_closes_its_streams_and_hangs_is_ended():
    done = run([SH, "-c", "exec >&- 2>&-; sleep 1000"], time_limit=0.5)
    assert done.timed_out


@pytest.mark.parametrize("setpriv", ["", "/usr/bin/setpriv"])
def test_a_program_is_started_with_and_without_setpriv(setpriv: str, monkeypatch: pytest.MonkeyPatch):
    if setpriv and not os.path.exists(setpriv):
        pytest.skip("no setpriv")
    monkeypatch.setattr(process, "_setpriv", [setpriv])
    done = run([SH, "-c", "echo $0 $1; exit 3", "a", "b"], time_limit=20)
    assert (done.status, done.stdout) == (3, b"a b\n")


def test_a_file_that_is_no_program_is_an_os_error(tmp_path: Path):
    file = tmp_path / "program"
    file.write_text("no program")
    file.chmod(0o755)
    with pytest.raises(OSError, match="Exec format error"):
        run([str(file)], time_limit=20)


@pytest.mark.parametrize("machine", [3, 0x102], ids=["i386", "LoongArch"])
def test_a_program_of_another_machine_is_an_os_error_and_no_shell_reads_it(machine: int, tmp_path: Path):
    """setpriv gives a shell what the system does not execute."""
    header = bytearray(Path(SH).read_bytes()[:20])
    header[18:] = machine.to_bytes(2, sys.byteorder)
    told = tmp_path / "told"
    file = tmp_path / "program"
    file.write_bytes(bytes(header) + f"\necho shell > {told}\n".encode())
    file.chmod(0o755)
    with pytest.raises(OSError, match="Exec format error"):
        run([str(file)], time_limit=20)
    assert not told.exists()


def test_the_users_own_tunables_of_glibc_stay(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.check=1")
    assert process.allocating()["GLIBC_TUNABLES"] == "glibc.malloc.check=1"
    monkeypatch.delenv("GLIBC_TUNABLES")
    assert "glibc.malloc.hugetlb=1" in process.allocating()["GLIBC_TUNABLES"]


def test_a_program_that_is_not_there_is_an_os_error():
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError):
        run(["/no/such/program"], time_limit=1)
    assert len(os.listdir("/proc/self/fd")) == before


def test_no_descriptor_is_left_open():
    before = len(os.listdir("/proc/self/fd"))
    run([SH, "-c", ":"], time_limit=20)
    assert len(os.listdir("/proc/self/fd")) == before


def test_endless_output_is_cut_off_and_its_program_ended():
    for command in ("exec yes", "exec yes >&2", "while :; do echo line; done"):
        done = run([SH, "-c", command], time_limit=60, output_limit=100_000)
        assert done.flooded
        assert not (done.succeeded or done.timed_out)
        assert len(done.stdout) + len(done.stderr) == 100_000
        assert done.seconds < 30


def test_output_of_just_the_limit_is_no_flood():
    done = run([SH, "-c", "head -c 1000 /dev/zero"], time_limit=20, output_limit=1000)
    assert done.succeeded
    assert len(done.stdout) == 1000


DEFAULT_SIGNALS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
"""A shell that runs the tests in the background has them ignore Ctrl-C, and so would their children."""

PARENT = (
    f"""\
{DEFAULT_SIGNALS}signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""
    + """\
import os, sys
from tessera_tools import process
from tessera_tools.cli.common import as_process
from tessera_tools.emit.tools import TemporaryFolder

def program():
    with TemporaryFolder("tessera-ptxas") as folder:
        print(folder.path, flush=True)
        process.run(["/bin/sh", "-c", f"echo $$ > {sys.argv[1]}; exec sleep 1000"], time_limit=1000)

def copy():
    import time
    child = process.fork()
    if not child:
        time.sleep(1000)
    with TemporaryFolder("tessera-ptxas") as folder:
        print(folder.path, flush=True)
        open(sys.argv[1], "w").write(str(child))
        process.reap(child)

as_process(lambda argv: globals()[argv[1]]() or 0)
"""
)


def test_a_file_that_cannot_be_written_names_tmpdir() -> None:
    with (
        TemporaryFolder("tessera-ptxas") as folder,
        pytest.raises(
            ToolError, match="the temporary file '.*gone/a.ptx' cannot be written: no such file"
        ) as caught,
    ):
        folder.write("gone/a.ptx", b"")
    (note,) = caught.value.diagnostics[0].notes
    assert note.message == "set TMPDIR to a directory with more free space"


@pytest.mark.parametrize("kind", ["program", "copy"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_children_end_with_their_parent_however_it_ends(kind: str, number: signal.Signals, tmp_path: Path):
    file = tmp_path / "pid"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(file), kind],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not (file.exists() and file.read_text().strip()) and time.monotonic() < deadline:
            time.sleep(0.02)
        child = int(file.read_text())
        assert not gone(child, tries=1)
        parent.send_signal(number)
        _, said = parent.communicate(timeout=60)
    finally:
        parent.kill()
    assert gone(child)
    assert b"Traceback" not in said
    if number == signal.SIGINT:
        assert (parent.returncode, said) == (130, b"interrupted\n")
    else:
        assert parent.returncode == -number
    if number == signal.SIGKILL:
        make_a_folder(tmp_path)  # the next process removes what a killed one has left
    assert [path.name for path in tmp_path.iterdir()] == ["pid"]


def make_a_folder(base: Path):
    code = "from tessera_tools.emit.tools import TemporaryFolder\nwith TemporaryFolder('tessera-ptxas'): pass"
    subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(base)}, check=True, timeout=60
    )


def test_only_abandoned_folders_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    kept = [
        "tessera-ptxas-0123",
        "tessera-ptxas-0123456789abcdeg",
        "tessera-other-0123456789abcdef",
        "outside",
    ]
    for name in (*kept, "tessera-nvdisasm-0123456789abcdef"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("")
    (tmp_path / "tessera-ranks-0123456789abcdef").symlink_to(tmp_path / "outside")
    (tmp_path / "tessera-ptxas-0123456789abcdef").write_text("a file")
    kept += ["tessera-ranks-0123456789abcdef", "tessera-ptxas-0123456789abcdef"]
    with TemporaryFolder("tessera-ptxas") as ours:
        ours.write("kernel.ptx", b"")
        make_a_folder(tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, Path(ours.path).name])
        assert os.listdir(ours.path) == ["kernel.ptx"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
    assert os.listdir(tmp_path / "outside") == ["file"]


def test_processes_that_make_folders_together_leave_nothing(tmp_path: Path):
    code = (
        "from tessera_tools.emit.tools import TemporaryFolder\n"
        "for n in range(100):\n"
        "    with TemporaryFolder('tessera-ptxas') as folder: open(folder.write('kernel.ptx', b'')).read()\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    processes = [subprocess.Popen([sys.executable, "-c", code], env=environment) for _ in range(4)]
    assert [process.wait(120) for process in processes] == [0] * 4
    assert not list(tmp_path.iterdir())


def test_an_ignored_signal_stays_ignored(tmp_path: Path):
    code = "from tessera_tools.cli.common import as_process; import os, signal\n"
    code += "as_process(lambda argv: os.kill(os.getpid(), signal.SIGHUP) or 7)"
    done = subprocess.run(
        ["nohup", sys.executable, "-c", code], cwd=tmp_path, capture_output=True, timeout=60
    )
    assert done.returncode == 7


def test_ctrl_c_while_a_command_is_loading_prints_no_traceback():
    code = DEFAULT_SIGNALS + (
        "import os, sys, tessera_tools.cli.start as start\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'tessera_tools.cli.opt': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "start.opt()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


SWALLOWING = {
    "as another error": "raise ImportError('cannot initialise') from None",
    "in a destructor": "Broken(); raise ImportError('cannot initialise') from None",
}
"""What an extension module makes of KeyboardInterrupt."""


@pytest.mark.parametrize("how", SWALLOWING)
def test_ctrl_c_ends_a_command_whatever_a_module_makes_of_it(how: str):
    code = DEFAULT_SIGNALS + (
        "import os, sys, tessera_tools.cli.start as start\n"
        "class Broken:\n"
        "    def __del__(self): os.kill(os.getpid(), signal.SIGINT)\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name != 'numpy': return None\n"
        "        try: os.kill(os.getpid(), signal.SIGINT)\n"
        f"        except KeyboardInterrupt: {SWALLOWING[how]}\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "sys.argv[1:] = ['examples/vector_add.mlir', '--grid=1']\n"
        "start.run()\n"
    )
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, b"interrupted\n")


def test_a_program_that_cannot_be_started_is_an_os_error(tmp_path: Path):
    (tmp_path / "text").write_text("no program")
    for path, error in ((tmp_path / "missing", FileNotFoundError), (tmp_path / "text", PermissionError)):
        with pytest.raises(error):
            run([str(path)], time_limit=20)


@pytest.mark.parametrize("deadline", [None, 60])
def test_a_child_that_has_ended_is_reaped_with_its_status(deadline: int | None) -> None:
    child = process.fork()
    if not child:
        os._exit(7)
    status = process.reap(child, None if deadline is None else time.monotonic() + deadline)
    assert status is not None and os.waitstatus_to_exitcode(status) == 7
