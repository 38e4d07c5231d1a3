"""Other programs, run with a time limit and ended by process id.

    argv ──posix_spawn, own process group──▶ run(): poll both pipes until the limit ──▶ Finished(status, text)

`os.posix_spawn` instead of `subprocess`: importing the latter alone costs as much as the whole start of a
worker, and a compiler's front end pays it on every run.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

__all__ = ["Finished", "kill_group", "reap", "run", "signal_name", "spawn"]

_SIGKILL = 9  # signal.SIGKILL, without the import of `signal`
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended. Exactly one of `status` (exit status) and `signal` is set, unless it timed out."""

    status: int | None
    signal: int | None
    timed_out: bool
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def succeeded(self) -> bool:
        return self.status == 0 and not self.timed_out

    @property
    def text(self) -> str:
        """What the program said, on either stream."""
        return (self.stdout + self.stderr).decode("utf-8", "replace")


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11; `signal 99` for a number without a name."""
    import signal  # only on the way to an error

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def spawn(
    argv: Sequence[str], *, stdin: int | None, stdout: int, stderr: int, env: Mapping[str, str] | None = None
) -> int:
    """Start `argv[0]`, a path, in a process group of its own; its pid. The caller owns the descriptors.

    `stdin=None` is an empty input. Raises OSError when the program cannot be started.
    """
    first = (
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        if stdin is None
        else (os.POSIX_SPAWN_DUP2, stdin, 0)
    )
    actions = [first, (os.POSIX_SPAWN_DUP2, stdout, 1), (os.POSIX_SPAWN_DUP2, stderr, 2)]
    environment = os.environ if env is None else env
    return os.posix_spawn(argv[0], list(argv), environment, file_actions=actions, setpgroup=0)


def kill_group(pid: int) -> None:
    """End the process group that `spawn` made for `pid`; no error if it is already gone."""
    # A zombie's group answers EPERM on some systems: it is over either way.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, _SIGKILL)


def reap(pid: int, deadline: float) -> int | None:
    """Wait for `pid` until `deadline` (time.monotonic); its wait status, or None when it still runs."""
    pause = 0.0005
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(pause, left))
        pause = min(pause * 2, 0.02)


def run(argv: Sequence[str], *, time_limit: float, env: Mapping[str, str] | None = None) -> Finished:
    """Run `argv` to its end or for `time_limit` seconds, after which its whole process group is killed.

    Raises OSError when the program cannot be started.
    """
    begin = time.monotonic()
    deadline = begin + time_limit
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    streams: dict[int, bytearray] = {out_read: bytearray(), err_read: bytearray()}
    try:
        try:
            pid = spawn(argv, stdin=None, stdout=out_write, stderr=err_write, env=env)
        finally:
            os.close(out_write)
            os.close(err_write)
        ended: int | None = None
        try:
            ended = reap(pid, deadline) if _drain(streams, deadline) else None
        finally:
            # On the limit, and on an exception such as the user's Ctrl-C: nothing is left running.
            timed_out = ended is None
            if timed_out:
                kill_group(pid)
                ended = os.waitpid(pid, 0)[1]
    finally:
        os.close(out_read)
        os.close(err_read)
    raw = ended or 0
    exited = os.WIFEXITED(raw)
    return Finished(
        status=os.WEXITSTATUS(raw) if exited else None,
        signal=None if exited else os.WTERMSIG(raw),
        timed_out=timed_out,
        stdout=bytes(streams[out_read]),
        stderr=bytes(streams[err_read]),
        seconds=time.monotonic() - begin,
    )


def _drain(streams: dict[int, bytearray], deadline: float) -> bool:
    """Read every stream to its end; False when the deadline came first."""
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
            else:
                poll.unregister(descriptor)
                open_streams -= 1
    return True
