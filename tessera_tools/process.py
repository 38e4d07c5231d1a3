"""Child processes of the commands, and the cleanup at exit.

    argv ──spawn──▶ a program in its own process group ──────┐
    fork() ───────▶ a copy of this process ──────────────────┴─▶ registered until reap(); end_all() kills the rest

A child never outlives its parent: the system kills it when the parent dies (Linux, `PR_SET_PDEATHSIG`), and a parent
that receives a termination signal kills its children and their process groups.

`subprocess` is not used: its import takes as long as the start of a worker, on every run of a compiler.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from tessera_tools.records import dataclass

__all__ = [
    "Finished",
    "at_end",
    "end",
    "end_all",
    "end_with_parent",
    "forget",
    "forget_child",
    "fork",
    "leave",
    "leave_nothing",
    "reap",
    "reap_ended",
    "run",
    "run_forked",
    "signal_name",
    "spawn",
    "spawn_copy",
    "spawn_detached",
]

OUTPUT_LIMIT = 16 << 20
"""The default limit of each output stream of `run`, in bytes; more than any compiler prints."""

_SIGKILL = 9  # signal.SIGKILL, without the import of `signal`
_CHUNK = 1 << 16
_PR_SET_PDEATHSIG = 1

_children: dict[int, bool] = {}
"""Process id of each child that has not been reaped → whether it is the leader of a process group."""
_at_end: list[Callable[[int], None]] = []
_leftovers: set[str] = set()
"""Files and folders that exist only while this process runs."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a program. Exactly one of `status` (exit status) and `signal` is set, unless `run` ended it."""

    status: int | None
    signal: int | None
    timed_out: bool
    stdout: bytes
    stderr: bytes
    seconds: float
    flooded: bool = False
    """The program was ended because it exceeded the output limit; the streams hold the output until then."""

    @property
    def succeeded(self) -> bool:
        return self.status == 0 and not self.timed_out and not self.flooded

    @property
    def text(self) -> str:
        """The output on either stream."""
        return (self.stdout + self.stderr).decode("utf-8", "replace")


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11; `signal 99` for a number without a name."""
    import signal  # only needed for an error

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# -- cleanup at exit


def leave_nothing(path: str) -> None:
    """Register a temporary file, or a folder of files, which `end_all` removes."""
    _leftovers.add(path)


def forget(path: str) -> None:
    """Unregister a file or folder, because it was removed or must be kept."""
    _leftovers.discard(path)


def end_all() -> None:
    """Kill all children, and remove all temporary files. Called when this process is about to end."""
    for pid, group in list(_children.items()):
        _kill(pid, group)
    for path in list(_leftovers):
        with suppress(OSError):
            for name in os.listdir(path) if os.path.isdir(path) else ():
                with suppress(OSError):
                    os.unlink(os.path.join(path, name))
            (os.rmdir if os.path.isdir(path) else os.unlink)(path)
    _leftovers.clear()


def at_end(function: Callable[[int], None]) -> None:
    """Call the function with this process's exit status just before a command ends the process."""
    _at_end.append(function)


def leave(status: int) -> NoReturn:
    """End this process at once, after the functions of `at_end`."""
    for function in _at_end:
        function(status)
    os._exit(status)


def end_with_parent(parent: int) -> None:
    """In a child: request SIGKILL when the creating thread ends, and exit now if `parent` has already ended."""
    set_death_signal = _prctl()
    if set_death_signal is not None:
        set_death_signal(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _prctl() -> Any:
    """The C library's `prctl`, or None on a system without it."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    return getattr(ctypes.CDLL(None), "prctl", None)


# -- starting and ending children


def fork() -> int:
    """`os.fork` for a child that ends with its parent; the child has no registered children and files."""
    prctl = _prctl()  # loaded here, to do as little as possible between fork and prctl
    parent = os.getpid()
    pid = os.fork()
    if pid:
        _children[pid] = False
        return pid
    _children.clear()
    _leftovers.clear()
    if prctl is not None:
        end_with_parent(parent)
    if "signal" in sys.modules:
        import signal

        for number in (signal.SIGTERM, signal.SIGHUP):
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
    return 0


_ALLOCATION = ":".join(
    f"glibc.malloc.{one}"
    for one in ("hugetlb=1", "top_pad=67108864", "mmap_threshold=33554432", "trim_threshold=1073741824")
)


def allocating() -> dict[str, str]:
    """The environment for a program that allocates much and soon ends: glibc gets large pages, and returns nothing.

    ptxas and LLVM spend a tenth of a small compilation, or more, in page faults. Other C libraries ignore it.
    """
    return {"GLIBC_TUNABLES": _ALLOCATION, **os.environ}


def spawn(
    argv: Sequence[str],
    *,
    stdin: int | None,
    stdout: int,
    stderr: int,
    env: Mapping[str, str] | None = None,
    guards_itself: bool = False,
) -> int:
    """Start `argv[0]`, a path, in its own process group; returns its pid. The caller owns the descriptors.

    `stdin=None` is an empty input. A program that `guards_itself` calls `end_with_parent`; for others the death signal
    is set before exec. Raises OSError if the program cannot be started.
    """
    environment = os.environ if env is None else env
    # A fork copies the page table of this process, whose pages are then copied or faulted in again as it writes to
    # them: 10 ms after a small compilation. posix_spawn does not, but cannot set a death signal.
    guard = [] if guards_itself else _death_signal_of(argv[0])
    if guard is not None or not sys.platform.startswith("linux"):
        argv = [*(guard or ()), *argv]
        first = (
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
            if stdin is None
            else (os.POSIX_SPAWN_DUP2, stdin, 0)
        )
        actions = [first, (os.POSIX_SPAWN_DUP2, stdout, 1), (os.POSIX_SPAWN_DUP2, stderr, 2)]
        pid = os.posix_spawn(argv[0], list(argv), environment, file_actions=actions, setpgroup=0)
    else:
        pid = _fork_and_execute(argv, stdin, stdout, stderr, environment)
    _children[pid] = True
    return pid


_SETPRIV = ("/usr/bin/setpriv", "/bin/setpriv")
_setpriv: list[str] = []
"""util-linux's setpriv, or "" if there is none, once it was looked for."""


def _death_signal_of(program: str) -> list[str] | None:
    """The words before a command line that make the program end with this process; None if nothing here does that.

    setpriv becomes the program. If this process is killed in the millisecond before, the program runs to its end.
    """
    if not sys.platform.startswith("linux"):
        return None
    if not _setpriv:
        _setpriv.append(next(filter(_sets_death_signals, _SETPRIV), ""))
    # The error for what is not a program must be exec's: setpriv gives what the system does not execute to a shell.
    if not _setpriv[0] or not os.access(program, os.X_OK) or not _is_of_this_machine(program):
        return None
    return [_setpriv[0], "--pdeathsig", "KILL", "--"]


def _sets_death_signals(path: str) -> bool:
    # busybox has another setpriv, and util-linux has had the option since 2.33.
    return _contains(path, b"pdeathsig", 1 << 20) and os.path.basename(os.path.realpath(path)) == "setpriv"


def _is_of_this_machine(path: str) -> bool:
    """Whether a file begins as the program of this process does: ELF with its class, byte order and machine.
    Source: System V ABI, "ELF Header"."""
    try:
        with open(path, "rb", buffering=0) as file, open("/proc/self/exe", "rb", buffering=0) as own:
            one, other = file.read(20), own.read(20)
    except OSError:
        return False
    return one.startswith(b"\x7fELF") and (one[:6], one[18:]) == (other[:6], other[18:])


def _contains(path: str, word: bytes, most: int) -> bool:
    """Whether the first `most` bytes of a file contain a word."""
    try:
        with open(path, "rb", buffering=0) as file:
            return word in file.read(most)
    except OSError:
        return False


def spawn_copy(body: Callable[[], int], *, stdin: int, stdout: int, stderr: int) -> int:
    """As `spawn`, for a function of this program: the child has only these descriptors, and `body` returns its exit
    status. What it changes in memory is lost with it."""
    pid = fork()
    if pid:
        _children[pid] = True
        with suppress(OSError):  # the child has ended, or has done it
            os.setpgid(pid, pid)
        return pid
    status = 70
    try:
        os.setpgid(0, 0)
        _take_streams(stdin, stdout, stderr)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        status = body()
    finally:
        os._exit(status)


def _take_streams(*descriptors: int) -> None:
    """Make these descriptors the streams of this process."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)


def spawn_detached(argv: Sequence[str]) -> None:
    """Start `argv[0]`, a path, as a process that outlives this one, with empty streams. Raises OSError."""
    streams = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    os.posix_spawn(argv[0], list(argv), os.environ, file_actions=streams, setsid=True)


def reap_ended() -> tuple[int, int] | None:
    """A child that has ended, and its wait status; None if there is none."""
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    if pid == 0:
        return None
    _children.pop(pid, None)
    return pid, status


def _fork_and_execute(
    argv: Sequence[str], stdin: int | None, stdout: int, stderr: int, environment: Mapping[str, str]
) -> int:
    prctl = _prctl()
    parent = os.getpid()
    failed, failure = os.pipe()  # closed by a successful execve; otherwise it transfers errno
    pid = os.fork()
    if not pid:
        try:
            os.setpgid(0, 0)
            if prctl is not None:
                end_with_parent(parent)
            _take_streams(os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin, stdout, stderr)
            os.execve(argv[0], list(argv), environment)
        except OSError as error:
            os.write(failure, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(failure)
    try:
        number = os.read(failed, 16)
    finally:
        os.close(failed)
    if number:
        os.waitpid(pid, 0)
        raise OSError(int(number), os.strerror(int(number)), argv[0])
    return pid


def _kill(pid: int, group: bool) -> None:
    # For a zombie's group, some systems return EPERM: it has ended in either case.
    with suppress(ProcessLookupError, PermissionError):
        (os.killpg if group else os.kill)(pid, _SIGKILL)


def end(pid: int) -> int:
    """Kill a child, with its process group if it leads one, and wait for it; returns its wait status."""
    _kill(pid, _children.get(pid, False))
    status = 0
    with suppress(ChildProcessError):
        status = os.waitpid(pid, 0)[1]
    _children.pop(pid, None)
    return status


def forget_child(pid: int) -> None:
    """Unregister a child for which other code has waited: its id may be another process's by now."""
    _children.pop(pid, None)


def reap(pid: int, deadline: float | None = None) -> int | None:
    """Wait for a child until `deadline` (time.monotonic); returns its wait status, or None if it is still running."""
    if deadline is None:
        status = os.waitpid(pid, 0)[1]
        _children.pop(pid, None)
        return status
    pause = 0.0005
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            _children.pop(pid, None)
            return status
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(pause, left))
        pause = min(pause * 2, 0.02)


def run(
    argv: Sequence[str],
    *,
    time_limit: float,
    env: Mapping[str, str] | None = None,
    output_limit: int = OUTPUT_LIMIT,
) -> Finished:
    """Run `argv` for at most `time_limit` seconds and `output_limit` bytes on each stream.

    If it exceeds a limit, its process group is killed. Raises OSError if the program cannot be started.
    """
    begin = time.monotonic()
    deadline = begin + time_limit
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    try:
        try:
            pid = spawn(argv, stdin=None, stdout=out_write, stderr=err_write, env=env)
        finally:
            os.close(out_write)
            os.close(err_write)
        return _finish(pid, out_read, err_read, begin, deadline, output_limit)
    finally:
        os.close(out_read)
        os.close(err_read)


def _finish(pid: int, stdout: int, stderr: int, begin: float, deadline: float, output_limit: int) -> Finished:
    """Read the streams of a child until it ends, or until it exceeds a limit and is killed."""
    streams: dict[int, bytearray] = {stdout: bytearray(), stderr: bytearray()}
    ended: int | None = None
    try:
        complete = _drain(streams, deadline, output_limit)
        ended = reap(pid, deadline) if complete else None
    finally:
        # At a limit, or after an exception such as the user's Ctrl-C, nothing is left running.
        stopped = ended is None
        if ended is None:
            ended = end(pid)
    flooded = any(len(stream) > output_limit for stream in streams.values())
    exited = os.WIFEXITED(ended)
    return Finished(
        status=os.WEXITSTATUS(ended) if exited else None,
        signal=None if exited else os.WTERMSIG(ended),
        timed_out=stopped and not flooded,
        stdout=bytes(streams[stdout][:output_limit]),
        stderr=bytes(streams[stderr][:output_limit]),
        seconds=time.monotonic() - begin,
        flooded=flooded,
    )


def run_forked(body: Callable[[], int], *, time_limit: float, output_limit: int = OUTPUT_LIMIT) -> Finished:
    """As `run`, for a function of this program, which has loaded everything: `body` returns the exit status.

    The child has no input. What it changes in memory is lost with it.
    """
    begin = time.monotonic()
    deadline = begin + time_limit
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    pid = fork()
    if pid == 0:
        _be_forked(body, out_write, err_write)
    os.close(out_write)
    os.close(err_write)
    try:
        return _finish(pid, out_read, err_read, begin, deadline, output_limit)
    finally:
        os.close(out_read)
        os.close(err_read)


def _be_forked(body: Callable[[], int], stdout: int, stderr: int) -> NoReturn:
    """In a child: run `body` with these streams, and exit."""
    import io

    status = 70
    try:
        _take_streams(os.open(os.devnull, os.O_RDONLY), stdout, stderr)
        sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), "utf-8", "surrogateescape")  # noqa: SIM115
        sys.stderr = io.TextIOWrapper(open(2, "wb", closefd=False), "utf-8", "backslashreplace")  # noqa: SIM115
        status = body()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        end_all()
        os._exit(status)


def _drain(streams: dict[int, bytearray], deadline: float, limit: int) -> bool:
    """Read every stream to its end; False after the deadline or more than `limit` bytes."""
    poll = select.poll()
    for descriptor in streams:
        poll.register(descriptor, select.POLLIN)
    open_streams = len(streams)
    while open_streams:
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        for descriptor, _ in poll.poll(left * 1000):
            data = os.read(descriptor, _CHUNK)
            if data:
                streams[descriptor] += data
                if len(streams[descriptor]) > limit:
                    return False
            else:
                poll.unregister(descriptor)
                open_streams -= 1
    return True
