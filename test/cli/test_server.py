"""The resident server: the same outputs and errors as without it, and its end."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tessera_tools.cli import client, server, tools

ROOT = Path(__file__).parents[2]
ADD = ROOT / "examples" / "vector_add.mlir"
GRID = "--grid=1 --arg a=rand:f32:1024 --arg i32:1024 --arg i32:1 --arg b=rand:f32:1024 --arg i32:1024 --arg i32:1"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the server needs Linux")


def script(program: str) -> list[str]:
    """The command line of a console script."""
    code = f"import sys; sys.argv[0] = 'tessera-{program}'; from tessera_tools.cli.start import {program}; {program}()"
    return [sys.executable, "-c", code]


def until(ready: Callable[[], object]) -> bool:
    """Wait for a state, as long as a busy machine may take; whether it came."""
    limit = time.monotonic() + 120
    while not (came := bool(ready())) and time.monotonic() < limit:
        time.sleep(0.02)
    return came


def _unread(pipe: int) -> int:
    """The bytes in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


class Place:
    """A folder, a cache folder, and perhaps a server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "TESSERA_CACHE": str(folder / "cache"),
            "TESSERA_CACHE_LIMIT": "0",
        }

    def run(
        self, program: str, *argv: str, served: bool = True, **options: object
    ) -> subprocess.CompletedProcess[bytes]:
        environment = self.environment | ({"TESSERA_SERVER": "1"} if served else {})
        settings: dict[str, object] = {"cwd": self.folder, "capture_output": True, "timeout": 120} | options
        return subprocess.run([*script(program), *argv], env=environment, check=False, **settings)  # type: ignore[call-overload]

    def waiting(self, **options: int) -> subprocess.Popen[bytes]:
        """A command on the server that has read a line of its input, and waits for more."""
        process = subprocess.Popen(
            [*script("opt"), "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env=self.environment | {"TESSERA_SERVER": "1"},
            # A run of the tests in the background of a shell ignores it, and so would the command.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
            **options,  # type: ignore[call-overload]
        )
        assert process.stdin is not None
        pipe = process.stdin
        pipe.write(b"\n")
        pipe.flush()
        assert until(lambda: not _unread(pipe.fileno()))
        return process

    def status(self) -> str:
        return self.run("tools", "server-status").stdout.decode().strip()

    def await_server(self) -> int:
        """The process of the server, which a command has started."""
        assert until(lambda: list(self.folder.rglob("*.sock")))
        words = self.status().split()
        assert words[-1].isdigit(), words
        return int(words[-1])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A folder with a server of its own, started by the first command."""
    found = Place(tmp_path_factory.mktemp("server"))
    first = found.run("opt", "--version")
    assert first.returncode == 0
    pid = found.await_server()
    yield found
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


@pytest.mark.parametrize(
    "line",
    [
        f"translate --mlir-to-ptx --gpu-name=sm_90a {ADD}",
        f"translate --mlir-to-sass --gpu-name=sm_80 --lineinfo {ADD}",
        f"translate --mlir-to-cubin {ADD} -o out.cubin --resource-usage --remarks=text",
        "translate --mlir-to-ptx missing.mlir",
        f"translate --mlir-to-ptx --mlir-to-sass {ADD}",
        f"opt {ADD} --canonicalize --cse --color=always",
        f"opt {ADD} --no-such-pass",
        "opt --help",
        f"run {ADD} {GRID} --arg c=zeros:f32:1024 --arg i32:1024 --arg i32:1 --seed=7 --print",
        f"run {ADD} --grid=1",
        "tileiras --gpu-name=sm_70 x.bc",
    ],
)
def test_a_command_does_on_the_server_what_it_does_alone(line: str, place: Place) -> None:
    def outcome(served: bool) -> tuple[int, bytes, bytes, dict[str, bytes]]:
        done = place.run(*line.split(), served=served)
        files = {path.name: path.read_bytes() for path in place.folder.glob("out.*")}
        for name in files:
            (place.folder / name).unlink()
        return done.returncode, done.stdout, done.stderr, files

    assert outcome(served=True) == outcome(served=False)


def test_the_command_is_a_child_of_the_server(place: Place) -> None:
    pid = place.await_server()
    process = place.waiting()
    try:
        assert len(_children(pid, 1)) == 1
    finally:
        process.communicate(b"", timeout=60)
    assert not _children(pid, 0)


def _runs(pid: int) -> bool:
    """Whether a process has not ended."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def _children(pid: int, wanted: int) -> list[int]:
    """The children of a process, when there are as many as wanted."""

    def found() -> list[int]:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    until(lambda: len(found()) == wanted)
    return found()


def test_input_umask_and_folder_are_those_of_the_client(place: Place, tmp_path: Path) -> None:
    place.run(
        "opt", "-", "-o", "out.mlir",
        input=b"func.func @f() {\n  return\n}\n", cwd=tmp_path, preexec_fn=lambda: os.umask(0o077),
    )  # fmt: skip
    assert (tmp_path / "out.mlir").read_text().count("func.func @f") == 1
    assert (tmp_path / "out.mlir").stat().st_mode & 0o777 == 0o600


def test_the_environment_is_that_of_the_client(place: Place) -> None:
    place.environment["TESSERA_PTXAS"] = "/no/such/ptxas"
    try:
        done = place.run("translate", "--mlir-to-cubin", str(ADD), "-o", "out.cubin")
    finally:
        del place.environment["TESSERA_PTXAS"]
    assert done.returncode == 1
    assert b"/no/such/ptxas" in done.stderr


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_signal_ends_the_command_as_it_does_alone(number: int, status: int, place: Place) -> None:
    pid = place.await_server()
    process = place.waiting()
    assert _children(pid, 1)
    process.send_signal(number)
    assert process.wait(60) == status
    assert not _children(pid, 0)


def test_a_command_ends_with_its_client(place: Place) -> None:
    pid = place.await_server()
    process = place.waiting()
    assert _children(pid, 1)
    process.kill()
    process.wait(60)
    assert not _children(pid, 0)
    assert process.stdin is not None
    process.stdin.close()


def _state(pid: int, wanted: str) -> str:
    """The state of a process (`T`: stopped), when it is the wanted one."""

    def state() -> str:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]

    until(lambda: state() == wanted)
    return state()


def test_ctrl_z_stops_the_command_too(place: Place) -> None:
    pid = place.await_server()
    process = place.waiting(process_group=0)
    (command,) = _children(pid, 1)
    assert _state(command, "S") == "S"
    process.send_signal(signal.SIGTSTP)
    assert [_state(one, "T") for one in (process.pid, command)] == ["T", "T"]
    process.send_signal(signal.SIGCONT)
    assert [_state(one, "S") for one in (process.pid, command)] == ["S", "S"]
    process.communicate(b"", timeout=60)
    assert process.returncode == 0


LIMITS = """
import os, resource
found = [resource.getrlimit(getattr(resource, one)) for one in dir(resource) if one.startswith("RLIMIT_")]
found += [sorted(os.sched_getaffinity(0)), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)]
with open(f"{__file__}.limits", "w") as file:
    file.write(str(found))
raise SystemExit(1)
"""
"""In place of ptxas: writes down what it has inherited from the command, and fails."""


def _limit_everything() -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    os.nice(5)
    for name, most in (("NOFILE", 200), ("CPU", 1000), ("FSIZE", 1 << 30), ("STACK", 4 << 20)):
        kind = getattr(resource, f"RLIMIT_{name}")
        resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def test_limits_priority_and_processors_are_those_of_the_client(place: Place, tmp_path: Path) -> None:
    program, file = tmp_path / "ptxas", tmp_path / "ptxas.limits"
    program.write_text(f"#!{sys.executable}\n{LIMITS}")
    program.chmod(0o700)

    def limits(served: bool, prepare: Callable[[], None] | None) -> str:
        line = ("--mlir-to-cubin", str(ADD), "-o", "limits.cubin", "--cache=off", f"--ptxas={program}")
        assert place.run("translate", *line, served=served, preexec_fn=prepare).returncode == 1
        found = file.read_text()
        file.unlink()
        return found

    assert limits(True, None) == limits(False, None)
    assert limits(True, _limit_everything) == limits(False, _limit_everything) != limits(False, None)


def test_a_server_has_no_limit_of_the_command_that_started_it(tmp_path: Path) -> None:
    own = Place(tmp_path)
    own.run("opt", "--version", preexec_fn=_limit_everything)
    pid = own.await_server()
    try:
        assert len(os.sched_getaffinity(pid)) == len(os.sched_getaffinity(0))
        assert resource.prlimit(pid, resource.RLIMIT_CPU) == resource.getrlimit(resource.RLIMIT_CPU)
    finally:
        os.kill(pid, signal.SIGTERM)


def _without_privileges() -> None:
    """Root may raise its limits: drop CAP_SYS_NICE and CAP_SYS_RESOURCE for the program that is executed."""
    import ctypes

    for capability in (23, 24):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def _without_privileges_and_limited() -> None:
    _without_privileges()
    resource.setrlimit(resource.RLIMIT_NOFILE, (500, 500))


def test_a_server_with_less_than_the_client_does_not_run_its_command(tmp_path: Path) -> None:
    own = Place(tmp_path)
    own.run("opt", "--version", preexec_fn=_without_privileges_and_limited)
    (path,) = _found(tmp_path, "*.sock", 1)
    done = own.run("opt", str(ADD), preexec_fn=_without_privileges)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"@vector_add" in done.stdout
    assert not _found(tmp_path, path.name, 0), "the server ends, and a command with more starts the next one"


def _found(folder: Path, pattern: str, wanted: int) -> list[Path]:
    """The files in a folder, when there are as many as wanted."""
    until(lambda: len(list(folder.rglob(pattern))) == wanted)
    return list(folder.rglob(pattern))


def test_a_limit_of_memory_needs_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(client, "_connect", lambda: asked.append("connected"))
    monkeypatch.setattr(client, "_start", lambda: asked.append("started"))
    client.run_on_server("opt")
    assert asked == ["connected", "started"]
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 40, resource.RLIM_INFINITY))
    client.run_on_server("opt")
    assert asked == ["connected", "started"]


@pytest.mark.parametrize("what", ["groups", "namespace", "capabilities"])
def test_other_privileges_are_another_server(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = client.identity()
    assert client.identity() == before
    if what == "groups":
        monkeypatch.setattr(os, "getgroups", lambda: [12345])
    elif what == "namespace":
        real = os.readlink
        monkeypatch.setattr(os, "readlink", lambda path: "net:[1]" if path.endswith("/net") else real(path))
    else:
        monkeypatch.setattr(client, "_confinement", lambda: ["CapEff:\t0\n"])
    assert client.identity() != before


def test_a_command_does_not_hold_the_lock_of_its_server(tmp_path: Path) -> None:
    own = Place(tmp_path)
    own.run("opt", "--version")
    pid = own.await_server()
    process = own.waiting()
    try:
        (command,) = _children(pid, 1)
        assert _state(command, "S") == "S"
        opened = [os.readlink(one) for one in Path(f"/proc/{command}/fd").iterdir()]
        assert not [one for one in opened if one.endswith(".lock") or "epoll" in one]
    finally:
        process.communicate(b"", timeout=60)
        os.kill(pid, signal.SIGTERM)


@pytest.mark.parametrize("data", [b"", b"\0" * 8, b"\xff" * 8, (100).to_bytes(8, "little") + b"{" * 100])
def test_a_request_that_is_not_one_ends_alone(
    data: bytes, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    (path,) = (place.folder / "cache" / "tessera-tools" / "server").glob("*.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        with client.ShortPath(str(path)) as short:
            connection.connect(short)
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(60)
        received = b""
        with contextlib.suppress(ConnectionResetError):  # it was closed before all was read
            while part := connection.recv(8):
                received += part
        assert received[-2:] in (b"", b"\x01\x00", b"\x00\x0f")  # the status of a command that never was
    assert place.await_server()


def test_a_stopped_server_does_not_hold_the_output(place: Place) -> None:
    """The reader of a pipe sees its end, although the server has not."""
    pid = place.await_server()
    os.kill(pid, signal.SIGSTOP)
    try:
        done = place.run("opt", "--version", timeout=60)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"tessera-opt")


def test_input_through_a_descriptor_of_the_shell(place: Place) -> None:
    assert place.await_server()
    with ADD.open() as file:
        done = place.run("opt", f"/dev/fd/{file.fileno()}", pass_fds=(file.fileno(),))
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"@vector_add" in done.stdout


def test_without_the_variable_no_server_is_started(tmp_path: Path) -> None:
    alone = Place(tmp_path)
    assert alone.run("opt", "--version", served=False).returncode == 0
    assert alone.status() == "no server runs"
    assert not list(tmp_path.rglob("*.lock"))


def test_the_server_ends_on_request(tmp_path: Path) -> None:
    own = Place(tmp_path)
    own.run("opt", "--version")
    pid = own.await_server()
    assert own.run("tools", "server-stop").stdout.decode() == f"the server, process {pid}, ends\n"
    assert until(lambda: not _runs(pid))
    assert own.status() == "no server runs"
    assert not list(tmp_path.rglob("*.sock"))


def test_a_server_imports_nothing_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr("tessera_tools.process.spawn_detached", started.append)
    client._start()
    (tmp_path / "json.py").write_text("raise SystemExit(9)\n")
    program, flag, code = started[0]
    load = code.removesuffix("; serve()")
    assert load != code
    assert subprocess.run([program, flag, load], cwd=tmp_path, check=False, timeout=60).returncode == 0


def test_a_client_loads_nothing_but_its_own_module_and_parts_of_the_interpreter(place: Place) -> None:
    """Its start is a fifth of the time of a small compilation."""
    assert place.await_server()
    code = (
        "import sys; before = set(sys.modules)\n"
        "def end(status): print(*sorted(set(sys.modules) - before), file=sys.stderr, flush=True); leave(status)\n"
        "import os; leave, os._exit = os._exit, end\n"
        "sys.argv = ['tessera-opt', '--version']; from tessera_tools.cli.start import opt; opt()"
    )
    environment = place.environment | {"TESSERA_SERVER": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, timeout=60)
    assert done.returncode == 0
    loaded = {
        one for one in done.stderr.decode().split() if one.partition(".")[0] not in ("__future__", "os")
    }
    ours = {"", ".cache", ".cli", ".cli.client", ".cli.start"}
    assert loaded == {f"tessera_tools{one}" for one in ours} | {"_blake2", "_socket", "resource"}


def test_only_one_server_of_a_kind_runs(place: Place) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from tessera_tools.cli.server import serve; serve()"],
        env=place.environment,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0


def test_the_server_is_asked_only_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, expected in (("", False), ("0", False), ("off", False), ("1", True)):
        monkeypatch.setenv("TESSERA_SERVER", value)
        assert client.wanted() == expected
    monkeypatch.setenv("PMI_RANK", "0")
    assert not client.wanted()


def test_another_environment_of_python_is_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    before = client.identity()
    monkeypatch.setenv("TESSERA_CACHE_LIMIT", "7")
    assert client.identity() == before
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    assert client.identity() != before


def test_a_client_whose_files_are_newer_is_turned_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    one = server._Server(str(tmp_path / "s.sock"), ["another state"], lock=-1)
    listener = one._listen()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        with client.ShortPath(one.path) as path:
            connection.connect(path)
        one._accept(listener)
        assert connection.recv(8) == b""
    assert one.ending
    one.poll.register(listener)
    one._stop_listening(listener)
    assert not (tmp_path / "s.sock").exists()


def test_a_cache_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path))
    (tmp_path / "tessera-tools").mkdir(mode=0o700)

    def refuse(path: str, mode: int) -> None:
        if path.endswith("server"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        raise FileExistsError(path)

    monkeypatch.setattr(os, "mkdir", refuse)
    assert client.server_folder() is None


def test_there_is_no_server_to_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path))
    assert tools.run(["server-status"]).stdout == b"no server runs\n"
    assert tools.run(["server-stop"]).stdout == b"no server runs\n"
