"""The client of the resident server (`server.py`), which is used where `TESSERA_SERVER` is set.

    argv, environment, limits ─JSON─▶ server ──fork──▶ the command, on this process's own streams and working directory
    status ◀──────────────────────────┘

It imports parts of the interpreter only: `socket`, `json`, `signal` and `contextlib` would double the time of its
start.
If anything is wrong with the server, the command runs in this process, as it does without a server.
"""

from __future__ import annotations

import _socket
import os
import sys

from tessera_tools.cache import cache_folder, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
    from types import TracebackType
else:
    import _signal

__all__ = ["PROTOCOL", "ShortPath", "ask", "identity", "run_on_server", "server_folder", "wanted"]

PROTOCOL = 4

_SECONDS = 5.0
"""How long the server may take to answer before the command has started."""
_UNDER_MPI = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")


def wanted() -> bool:
    """True if the user wants a server, and this process can use one."""
    if os.environ.get("TESSERA_SERVER", "") in ("", "0", "off") or not sys.platform.startswith("linux"):
        return False
    # Other descriptors, such as that of the shell's <(command), are not passed.
    if any(folder in argument for argument in sys.argv[1:] for folder in ("/dev/fd/", "/proc/self/")):
        return False
    # A rank must be a child of mpiexec.
    return None not in (sys.stdin, sys.stdout, sys.stderr) and not any(
        one in os.environ for one in _UNDER_MPI
    )


def identity() -> str:
    """What a server must have in common with its clients, because its copies cannot take it over: 16 digits.

    It is the Python, its environment and its path, and the privileges, namespaces and control groups of the process.
    """
    variables = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("PYTHON", "LC_")) or name in ("LANG", "LANGUAGE")
    }
    # The first folder is that of the console script.
    python = [sys.executable, sys.version, sys.path[1:], sorted(variables.items()), __file__]
    parts = [PROTOCOL, python, os.getresuid(), os.getresgid(), sorted(os.getgroups()), _confinement()]
    return digest(ascii(parts).encode("ascii"), 8).hex()


def _confinement() -> list[str]:
    """The namespaces, root, control groups and capabilities of this process."""
    found: list[str] = []
    try:
        found += [os.readlink(f"/proc/self/ns/{name}") for name in sorted(os.listdir("/proc/self/ns"))]
    except OSError:
        pass
    root = os.stat("/")
    found.append(f"root {root.st_dev} {root.st_ino}")
    for name in ("cgroup", "status", "oom_score_adj"):
        kept = ("Cap", "NoNewPrivs", "Seccomp:") if name == "status" else ""
        try:
            with open(f"/proc/self/{name}") as file:
                found += [line for line in file if line.startswith(kept)]
        except OSError:
            pass
    return found


def server_folder() -> str | None:
    """The private folder of the sockets; None if there is none."""
    base = cache_folder()
    if base is None:
        return None
    folder = os.path.join(base, "server")
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError:  # a file system that is full or read-only
        return None
    return folder


def _connect() -> _socket.socket | None:
    """A connection to the server; None if there is no server."""
    folder = server_folder()
    if folder is None:
        return None

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(_SECONDS)
    try:
        with ShortPath(os.path.join(folder, f"{identity()}.sock")) as path:
            connection.connect(path)
    except OSError:
        connection.close()
        return None
    return connection


class ShortPath:
    """Another path of the same file, in a `with` block: the address of a socket has at most 107 bytes."""

    def __init__(self, path: str) -> None:
        self._folder, self._name = os.path.split(path)

    def __enter__(self) -> str:
        self._descriptor = os.open(self._folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{self._descriptor}/{self._name}"

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)


def run_on_server(program: str) -> None:
    """Run this process's command line on the server and exit; returns if the command must run in this process.

    A server that is missing is started, for later commands.
    """
    if _memory_is_limited():
        return
    connection = _connect()
    if connection is None:
        _start()
    else:
        _run(connection, program)


def ask(question: str) -> None:
    """Print the server's answer to "status" or "stop" and exit; returns if there is no server."""
    connection = _connect()
    if connection is not None:
        _run(connection, question)


def _memory_is_limited() -> bool:
    """True if a limit counts the address space of a process: the server's is larger than that of a command."""
    import resource

    return any(
        resource.getrlimit(limit)[0] != resource.RLIM_INFINITY
        for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    )


def _run(connection: _socket.socket, program: str) -> None:
    try:
        pid = _submit(connection, program)
    except (OSError, ValueError):
        connection.close()
        return
    _await(connection, pid)


def _submit(connection: _socket.socket, program: str) -> int:
    """Send the request; returns the process of the command, which has not started yet. Raises OSError, ValueError."""
    import resource

    request: dict[str, object] = {
        "program": program,
        "argv": sys.argv,
        "environment": dict(os.environ),
        "umask": _umask(),
        "limits": {
            name: resource.getrlimit(getattr(resource, name))
            for name in dir(resource)
            if name.startswith("RLIMIT_")
        },
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "scheduler": [os.sched_getscheduler(0), os.sched_getparam(0).sched_priority],
        "processors": sorted(os.sched_getaffinity(0)),
        "encodings": [[stream.encoding, stream.errors] for stream in (sys.stdin, sys.stdout, sys.stderr)],
    }
    data = ascii(request).encode("ascii")  # `ast.literal_eval` reads it
    # A server that does not answer must not hold the streams: the reader of a pipe would wait for their end.
    answer = connection.recv(8)
    if len(answer) != 8:
        raise ValueError("the server does not accept the request")
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        passed = b"".join(one.to_bytes(4, sys.byteorder) for one in (0, 1, 2, folder))
        head = len(data).to_bytes(8, "little")
        connection.sendmsg([head], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)])
    finally:
        os.close(folder)
    connection.sendall(data)
    if connection.recv(1) != b"r":
        raise ValueError("the server does not accept the request")
    return int.from_bytes(answer, "little")


def _umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value


def _await(connection: _socket.socket, pid: int) -> None:
    """Let the command start, forward signals to it, and exit as it does. Ctrl-Z stops both processes."""

    def forward(number: int, _frame: object) -> None:
        _unless_ended(os.kill, pid, number)

    for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
        if _signal.getsignal(number) is not _signal.SIG_IGN:
            _signal.signal(number, forward)

    def stop(number: int, _frame: object) -> None:
        _unless_ended(os.killpg, pid, _signal.SIGSTOP)
        _signal.signal(number, _signal.SIG_DFL)
        os.kill(os.getpid(), number)  # returns when this process continues
        _signal.signal(number, stop)
        _unless_ended(os.killpg, pid, _signal.SIGCONT)

    if _signal.getsignal(_signal.SIGTSTP) == _signal.SIG_DFL:
        _signal.signal(_signal.SIGTSTP, stop)
    connection.settimeout(None)
    connection.sendall(b"g")
    try:
        answer = connection.recv(2)
    except OSError:
        answer = b""
    if len(answer) != 2:
        sys.stderr.write("error: the resident server ended; run the command again\n")
        os._exit(1)
    status, number = answer
    if number:
        _signal.signal(number, _signal.SIG_DFL)
        os.kill(os.getpid(), number)  # so that the parent sees the signal
    os._exit(status)


def _unless_ended(kill: Callable[[int, int], None], pid: int, number: int) -> None:
    """Send a signal to the command, which may have ended."""
    try:
        kill(pid, number)
    except OSError:
        pass


def _start() -> None:
    """Start a server that outlives this process. It does not answer before it has loaded everything."""
    # Not '', the working directory: its files could have the names of modules.
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = [package, *sys.path[1:]]
    run = f"import sys; sys.path[:] = {path!r}; from tessera_tools.cli.server import serve; serve()"
    from tessera_tools.process import spawn_detached

    try:
        spawn_detached([sys.executable, "-c", run])
    except OSError:
        pass  # this command and later ones run without a server
