"""The resident server: commands start as copies of a process that has loaded Tessera tools already.

    client ──connect──▶ serve() ──fork──▶ one command; serve() reports its status

It runs only for a user who sets `TESSERA_SERVER`, listens on a socket in the user's private cache folder, and serves
only that user. It ends when it has been idle, when the files of the package change, and at SIGTERM. The server itself
does not compile after its start, so a command cannot change a later one.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import io
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias

from tessera_tools.cli.client import ShortPath, identity, server_folder
from tessera_tools.cli.start import SERVED, main_of
from tessera_tools.emit.compile_cache import own_identity
from tessera_tools.emit.worker import preload
from tessera_tools.process import fork, reap_ended

__all__ = ["IDLE_SECONDS", "serve"]

IDLE_SECONDS = 600.0
"""The server ends after this time without a command."""

_REQUEST_BYTES = 16 << 20
"""The largest request; the system allows 2 MiB of arguments and environment."""
_REQUEST_SECONDS = 10.0

# Products, elementwise ops, a reduction, a loop, a store: most of what kernels need is loaded when this is compiled.
_WARM_UP = """
cuda_tile.module @m {
  entry @k(%p: tile<ptr<f16>>, %n: tile<i32>, %q: tile<ptr<f32>>) {
    %a = assume div_by<16>, %p : tile<ptr<f16>>
    %s = assume div_by<8>, %n : tile<i32>
    %b = assume div_by<16>, %q : tile<ptr<f32>>
    %v = make_tensor_view %a, shape = [%s, %s], strides = [%s, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %w = make_partition_view %v : partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?,1]>>
    %x, %y, %z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %init = constant <f32: 0.0> : tile<64x64xf32>
    %t = make_token : token
    %sum = for %i in (%zero to %s, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<64x64xf32>) {
      %l, %t1 = load_view_tko weak %w[%x, %i] token=%t
        : partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<64x64xf16>, token
      %r, %t2 = load_view_tko weak %w[%i, %y] token=%t
        : partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<64x64xf16>, token
      %m = mmaf %l, %r, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      continue %m : tile<64x64xf32>
    }
    %most = reduce %sum dim=1 identities=[0xff800000 : f32] : tile<64x64xf32> -> tile<64xf32>
      (%u: tile<f32>, %o: tile<f32>) { %g = maxf %u, %o : tile<f32>
        yield %g : tile<f32> }
    %e = exp %most : tile<64xf32>
    %ov = make_tensor_view %b, shape = [%s], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %op = make_partition_view %ov : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
    %t3 = store_view_tko weak %e, %op[%x] token=%t
      : tile<64xf32>, partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
    return
  }
}
"""


def serve() -> NoReturn:
    """Be the server of this Python, unless there is one; does not return."""
    folder = server_folder()
    if folder is None:
        os._exit(1)
    name = os.path.join(folder, identity())
    import fcntl

    lock = os.open(f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os._exit(0)  # another process is the server
    os.chdir("/")
    _widen()
    state = own_identity()
    _warm_up()
    os._exit(_Server(f"{name}.sock", state, lock).run())


def _widen() -> None:
    """Give up the limits of the command that started the server, as far as a process may; its copies have their own."""
    import resource

    for name in ("CPU", "FSIZE", "NOFILE", "NPROC", "MEMLOCK"):
        limit = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(limit)[1]
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(limit, (hard, hard))
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))


def _warm_up() -> None:
    """Load what commands need, by compiling a kernel for two targets."""
    from tessera_tools.cli import opt, run, run_session, translate  # noqa: F401
    from tessera_tools.cli.tileiras import command  # noqa: F401
    from tessera_tools.passes.llvm.lowering import all_lowerings

    preload()
    all_lowerings()
    program = _WARM_UP.encode()
    for target in ("sm_80", "sm_90a"):
        for argv in (["--mlir-to-ptx"], ["--mlir-to-cudatilebc", "-o", "/dev/null"]):
            translate.run([*argv, f"--gpu-name={target}", "--cache=off", "-"], program)
    opt.run(["-"], program)
    gc.collect()
    gc.freeze()  # what is loaded is not written by the collector, so copies of this process share it


class _Server:
    def __init__(self, path: str, state: list[str], lock: int) -> None:
        self.path = path
        self.lock = lock
        """The descriptor of the lock file. The lock would last as long as any process has a copy of it."""
        self.state = state
        """`own_identity` of what was loaded."""
        self.clients: dict[int, socket.socket] = {}
        """Process of each command → its client."""
        self.ending = False
        self.poll = select.epoll()
        self.wakers: tuple[socket.socket, ...] = ()

    def run(self) -> int:
        """Serve until the end; returns the exit status."""
        listener = self._listen()
        self.wakers = woken, wake = socket.socketpair()
        for end in self.wakers:
            end.setblocking(False)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, self._signaled)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.poll.register(listener, select.EPOLLIN)
        self.poll.register(woken, select.EPOLLIN)
        last = time.monotonic()
        while not (self.ending and not self.clients):
            if self.clients:
                last = time.monotonic()
            left = -1.0 if self.clients else max(0.0, IDLE_SECONDS - (time.monotonic() - last))
            events = self.poll.poll(left)
            if not events and not self.clients:
                break
            for descriptor, _ in events:
                if descriptor == listener.fileno():
                    last = time.monotonic()
                    self._accept(listener)
                elif descriptor == woken.fileno():
                    with contextlib.suppress(BlockingIOError):
                        woken.recv(4096)
                else:
                    self._gone(descriptor)
            self._reap()
            if self.ending:
                self._stop_listening(listener)
        self._stop_listening(listener)
        return 0

    def _listen(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        temporary = f"{self.path}.{os.getpid()}"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        with ShortPath(temporary) as path:
            listener.bind(path)
        os.chmod(temporary, 0o600)
        listener.listen(64)
        listener.setblocking(False)
        os.rename(temporary, self.path)  # instead of the socket of a server that was killed
        return listener

    def _stop_listening(self, listener: socket.socket) -> None:
        if listener.fileno() >= 0:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
            self.poll.unregister(listener)
            listener.close()

    def _signaled(self, number: int, _frame: object) -> None:
        if number == signal.SIGTERM:
            self.ending = True

    def _accept(self, listener: socket.socket) -> None:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        owner = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
        if owner != os.geteuid():
            client.close()
            return
        if own_identity() != self.state:
            client.close()  # the client runs its command itself, and the next one starts a new server
            self.ending = True
            return
        pid = fork()
        if pid == 0:
            self._become_command(client, listener)
        self.clients[pid] = client
        self.poll.register(client, select.EPOLLRDHUP)

    def _become_command(self, client: socket.socket, listener: socket.socket) -> NoReturn:
        """In the child: read the request and run it."""
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            self.poll.close()
            os.close(self.lock)
            for ours in (listener, *self.wakers, *self.clients.values()):
                ours.close()
            os.setpgid(0, 0)
            program, run = _receive(client)
            client.close()
        except _TooNarrowError:
            os.kill(os.getppid(), signal.SIGTERM)  # a client starts the next server
            os._exit(1)
        except BaseException:
            os._exit(1)
        run()
        _main_of(program)()
        os._exit(1)

    def _gone(self, descriptor: int) -> None:
        """A client has ended: its command ends too."""
        self.poll.unregister(descriptor)
        for pid, client in self.clients.items():
            if client.fileno() == descriptor:
                with contextlib.suppress(OSError):
                    os.killpg(pid, signal.SIGTERM)

    def _reap(self) -> None:
        while ended := reap_ended():
            pid, status = ended
            client = self.clients.pop(pid, None)
            if client is None:
                continue
            with contextlib.suppress(FileNotFoundError):
                self.poll.unregister(client)
            code = os.waitstatus_to_exitcode(status)
            answer = bytes((code, 0)) if code >= 0 else bytes((0, -code))
            with contextlib.suppress(OSError):
                client.send(answer, socket.MSG_DONTWAIT)
            client.close()


def _receive(client: socket.socket) -> tuple[str, Callable[[], None]]:
    """The program that a client wants, and what turns this process into it. Raises OSError, ValueError."""
    client.settimeout(_REQUEST_SECONDS)
    client.sendall(os.getpid().to_bytes(8, "little"))
    head, descriptors, _, _ = socket.recv_fds(client, 8, 4)
    size = int.from_bytes(head, "little")
    if len(head) != 8 or len(descriptors) != 4 or size > _REQUEST_BYTES:
        raise ValueError("not a request")
    data = bytearray()
    while len(data) < size:
        part = client.recv(min(size - len(data), 1 << 20))
        if not part:
            raise ValueError("an incomplete request")
        data += part
    request: Request = ast.literal_eval(data.decode("ascii"))
    if request["program"] not in (*SERVED, "status", "stop"):
        raise ValueError("an unknown program")
    try:
        _adopt(request)
    except OSError as failure:
        raise _TooNarrowError from failure
    client.sendall(b"r")
    if client.recv(1) != b"g":
        raise ValueError("the client ended")
    return request["program"], lambda: _enter(request, descriptors)


class _TooNarrowError(Exception):
    """The server was started with less than this client has: the client runs its command itself."""


Request: TypeAlias = Mapping[str, Any]
"""What the client sends, as Python's literals."""


def _adopt(request: Request) -> None:
    """Take the resource limits, priority and processors of the client. Raises OSError if that is not permitted."""
    import resource

    for name, pair in request["limits"].items():
        try:
            resource.setrlimit(getattr(resource, name), tuple(pair))
        except ValueError as failure:  # a hard limit above that of the server
            raise OSError(str(failure)) from None
    os.setpriority(os.PRIO_PROCESS, 0, request["nice"])
    policy, priority = request["scheduler"]
    if [os.sched_getscheduler(0), os.sched_getparam(0).sched_priority] != [policy, priority]:
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    os.sched_setaffinity(0, request["processors"])
    if sorted(os.sched_getaffinity(0)) != request["processors"]:
        raise OSError("other processors")


def _enter(request: Request, descriptors: list[int]) -> None:
    """Take over the streams, working directory, environment and umask of the client."""
    for number, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, number)
    os.fchdir(descriptors[3])
    for descriptor in descriptors:
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.umask(request["umask"])
    sys.argv[:] = request["argv"]
    (stdin, ours), (stdout, theirs), (stderr, last) = request["encodings"]
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), stdin, ours)  # noqa: SIM115
    sys.stdout = _writer(1, stdout, theirs)
    sys.stderr = _writer(2, stderr, last, line_buffering=True)


def _writer(number: int, encoding: str, errors: str, line_buffering: bool = False) -> io.TextIOWrapper:
    buffer = open(number, "wb", closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(buffer, encoding, errors, line_buffering=line_buffering or os.isatty(number))


def _main_of(program: str) -> Callable[[], NoReturn]:
    if program == "status":
        return lambda: _say(f"the server is process {os.getppid()}")
    if program == "stop":
        os.kill(os.getppid(), signal.SIGTERM)
        return lambda: _say(f"the server, process {os.getppid()}, ends")
    return main_of(program)


def _say(text: str) -> NoReturn:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
    os._exit(0)
