"""The ranks of a plan over MPI: processes of the user's mpiexec, or of one that is started here.

    mpiexec -n N tessera-run …          ─▶ member(): this process is a rank; rank 0 gathers
    tessera-run --ranks=N … ─▶ run_job() ──job file──▶ mpiexec -n N python -m … ──a file a rank──▶ outcomes

MPI transfers the bytes. Reductions are computed here, in float64 and in rank order, so that all ranks have the same
bits. Every message begins with a header that describes the sender's operation, so that a mismatch is detected.
"""

from __future__ import annotations

import ctypes
import fcntl
import importlib.util
import os
import pickle
import signal
import sys
import termios
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.emit.plan import Plan
from tessera_tools.emit.tools import TemporaryFolder, find_tool
from tessera_tools.process import at_end, end_all, end_with_parent, fork, run, signal_name
from tessera_tools.runtime.ranks_transport import LostRankError, Transport, combined
from tessera_tools.runtime.ranks_worker import Outcome, RankResult, Settings, outcome, run_rank
from tessera_tools.runtime.types import Array, Type

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Member", "MpiTransport", "has_mpi", "member", "run_job"]


_RANK_VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
"""Environment variables that the launchers of MPICH, OpenMPI and Slurm set for each process."""
_LONGEST_JOB = 20 * 86400.0
_LONGEST = 200
"""Characters of the description of an exchange."""


def has_mpi() -> bool:
    """True if mpi4py can be imported, without importing it."""
    return importlib.util.find_spec("mpi4py") is not None


def _world() -> MPI.Intracomm:
    """The communicator of all ranks of mpi4py's MPI, initialized. Raises DiagnosticError if there is no MPI library."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError, OSError) as failure:
        reason = " ".join(str(failure).split())[:300]
        raise error(
            None, f"MPI cannot be started: {reason}", "pip install 'tessera-tools[distributed]'"
        ) from None
    return MPI.COMM_WORLD


class MpiTransport(Transport):
    """A rank of a communicator. `time_limit`: timeout in seconds of one exchange."""

    name = "MPI"

    def __init__(self, comm: MPI.Intracomm, time_limit: float) -> None:
        self.comm = comm
        self.rank = comm.Get_rank()
        self.time_limit = time_limit
        self.count = 0

    def all_reduce(self, array: Array, type: Type, combine: str, group: Sequence[int]) -> Array:
        flat = array.reshape(-1)
        each = -(-flat.size // len(group))
        padded = np.zeros(each * len(group), flat.dtype)
        padded[: flat.size] = flat
        parts = np.split(padded, len(group))
        own = combined(self._swap("all_reduce", parts, group), type, combine)
        gathered = self._swap("all_reduce", [own] * len(group), group)
        return np.concatenate(gathered)[: flat.size].reshape(array.shape)

    def all_gather(self, array: Array, group: Sequence[int]) -> list[Array]:
        return self._swap("all_gather", [array] * len(group), group)

    def reduce_scatter(self, parts: Sequence[Array], type: Type, combine: str, group: Sequence[int]) -> Array:
        return combined(self._swap("reduce_scatter", parts, group), type, combine)

    def all_to_all(self, parts: Sequence[Array], group: Sequence[int]) -> list[Array]:
        return self._swap("all_to_all", parts, group)

    def close(self) -> None:
        """Check that all ranks are at their end. The job owns the communicator."""
        self._meet("at its end", range(self.comm.Get_size()))

    def _swap(self, kind: str, parts: Sequence[Array], group: Sequence[int]) -> list[Array]:
        """Send each rank of the group its part; returns the parts from all of them, of the same shape."""
        sent = {rank: np.ascontiguousarray(part) for rank, part in zip(group, parts, strict=True)}
        of = f" of {self.doing}" if self.doing else ""
        self._meet(f"in {kind}{of} with parts of {sent[self.rank].nbytes:,} bytes", group)
        found = {rank: np.empty_like(part) for rank, part in sent.items()}
        requests: dict[int, list[MPI.Request]] = {}
        for rank in group:
            if rank != self.rank:
                requests[rank] = [
                    self.comm.Irecv(found[rank].reshape(-1).view(np.uint8), rank, 1),
                    self.comm.Isend(sent[rank].reshape(-1).view(np.uint8), rank, 1),
                ]
        self._wait(requests)
        found[self.rank] = sent[self.rank].copy()
        return [found[rank] for rank in group]

    def _meet(self, doing: str, group: Sequence[int]) -> None:
        """Compare with all ranks what each is about to do, and with which ranks. Raises DiagnosticError.

        The ranks outside of the group also take part: a rank whose partner is in another group would wait forever.
        """
        self.count += 1
        doing = doing.replace("\0", "?")[:_LONGEST]
        mine = _header(doing, group, self.comm.Get_size())
        others = [rank for rank in range(self.comm.Get_size()) if rank != self.rank]
        theirs = {rank: np.zeros_like(mine) for rank in others}
        self._wait(
            {
                rank: [self.comm.Irecv(theirs[rank], rank, 0), self.comm.Isend(mine, rank, 0)]
                for rank in others
            }
        )
        for rank in others:
            what, ranks = _read_header(theirs[rank])
            share = rank in group or self.rank in ranks
            if what != doing or (share and ranks != list(group)):
                raise error(
                    None,
                    f"exchange {self.count} does not match: rank {rank} is {what}, among ranks {_list(ranks)}; "
                    f"rank {self.rank} is {doing}, among ranks {_list(group)}",
                    "every rank must run the same program",
                )

    def _wait(self, requests: dict[int, list[MPI.Request]]) -> None:
        """Wait for all requests, by rank. Raises LostRankError past the time limit."""
        deadline = time.monotonic() + self.time_limit
        pause = 0.0001
        open_requests = dict(requests)
        while True:
            open_requests = {
                rank: left
                for rank, of_rank in open_requests.items()
                if (left := [request for request in of_rank if not request.Test()])
            }
            if not open_requests:
                return
            if time.monotonic() > deadline:
                late = ", ".join(map(str, sorted(open_requests)))
                raise LostRankError(f"no message from rank {late} within {self.time_limit:g} s")
            # MPI's own wait would occupy a whole core per rank.
            time.sleep(pause)
            pause = min(pause * 1.5, 0.005)


def _header(doing: str, group: Sequence[int], ranks: int) -> Array:
    """The description of an exchange, in as many bytes on every rank: UTF-8 takes up to 4 bytes for each character."""
    size = 4 * _LONGEST + 1 + len(_list(range(ranks))) + 1
    return np.frombuffer(f"{doing}\0{_list(group)}".encode().ljust(size, b"\0"), np.uint8)


def _read_header(header: Array) -> tuple[str, list[int]]:
    """What a rank does, and with which ranks."""
    doing, group, *_ = header.tobytes().decode().split("\0")
    return doing, [int(rank) for rank in group.split(", ")]


def _list(group: Sequence[int]) -> str:
    return ", ".join(map(str, group))


# -- as a process of the user's mpiexec


class Member:
    """This process as a rank of a job that the user has started."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self.comm = comm
        self.rank = comm.Get_rank()
        self.size = comm.Get_size()
        at_end(self._leave)

    def agree(self, failure: DiagnosticError | None) -> None:
        """Continue if no rank has failed so far; otherwise rank 0 raises the first one's error, and the others exit."""
        failures = self.comm.allgather(None if failure is None else failure.diagnostics)
        for rank, diagnostics in enumerate(failures):
            if diagnostics is not None:
                if self.rank:
                    self._wait()
                if rank:
                    diagnostics[0].note(f"on rank {rank}")
                raise DiagnosticError(*diagnostics)

    def run(
        self, plan: Plan, settings: Settings, arguments: Sequence[Array], time_limit: float
    ) -> list[RankResult]:
        """Do this rank's work; on rank 0, returns every rank's result; the other ranks exit after the gather."""
        failure: DiagnosticError | None = None
        if self.size != plan.ranks:
            failure = error(
                None, f"mpiexec started {self.size} processes, but the plan has {plan.ranks} ranks"
            )
        self.agree(failure)
        self.agree(self._same_program(plan, arguments))
        transport = MpiTransport(self.comm, time_limit)
        kind, value = outcome(
            lambda: run_rank(plan, settings, self.rank, None, arguments, transport, self._ordinal())
        )
        if kind != "done":
            from tessera_tools.diagnostics import render

            text = "".join(map(render, value)) if kind == "failed" else f"error: {value}\n"
            sys.stderr.write(f"{text.replace('<unknown>:0: ', '')}note: on rank {self.rank}\n")
            _wait_until_read()
            self.comm.Abort(1)
        gathered: list[RankResult] | None = self.comm.gather(value, root=0)
        if gathered is None:
            self._wait()
        return gathered

    def _same_program(self, plan: Plan, arguments: Sequence[Array]) -> DiagnosticError | None:
        """The error if this rank has another plan than rank 0, or other arguments."""
        sums = [zlib.crc32(array.tobytes()) for array in arguments]
        first: tuple[Plan, list[int]] = self.comm.bcast((plan, sums), root=0)
        if first[0] != plan:
            one, other = (
                f"'{it.name}' of {len(it.steps)} step{'s' * (len(it.steps) != 1)}" for it in (plan, first[0])
            )
            version = "another version of " if one == other else ""
            return error(
                None,
                f"this rank runs {version}{one}, but rank 0 runs {other}",
                "every rank must run the same program",
            )
        for number, mine, there in zip(plan.arguments, sums, first[1], strict=True):
            if mine != there:
                name = plan.tensors[number].name
                return error(
                    None,
                    f"argument '{name}' has other contents on this rank than on rank 0",
                    "every rank must read the same whole arguments; it takes its own part of them",
                )
        return None

    def _wait(self) -> NoReturn:
        """On the other ranks: exit together with rank 0, which does the remaining work."""
        end_all()
        self._meet()
        end_in_order()

    def _meet(self) -> None:
        """A barrier with the other ranks that does not occupy a core."""
        request = self.comm.Ibarrier()
        while not request.Test():
            time.sleep(0.005)

    def _leave(self, status: int) -> None:
        """The last step of rank 0.

        On success, all ranks finalize MPI together. On an error, Abort sets the exit status.
        """
        if status:
            _wait_until_read()
            with suppress(OSError):
                # MPI would report the abort on stderr.
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            self.comm.Abort(status)
        self._meet()
        end_in_order()

    def _ordinal(self) -> int:
        """The rank of this process within its machine."""
        from mpi4py import MPI

        return self.comm.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()


@cache
def member() -> Member | None:
    """This process's rank in a job of mpiexec; None outside a job."""
    rank = _rank_of_launcher()
    if rank is None or not has_mpi():
        return None

    def tell(status: int) -> None:
        if status < 0:  # otherwise it has reported why it ends
            os.write(2, f"error: rank {rank} was killed by {signal_name(-status)}\n".encode())
            _wait_until_read()

    _work_in_child(tell)
    return Member(_world())


def _rank_of_launcher() -> int | None:
    """The rank of this process according to the environment; None outside a job."""
    found = [os.environ[name] for name in _RANK_VARIABLES if name in os.environ]
    return int(found[0]) if found and found[0].isdecimal() else None


def _work_in_child(tell: Callable[[int], None]) -> None:
    """Returns in a child of this process, which does the work of the rank. This process waits, and ends as it does.

    `tell` is called before, with the exit status of the child, or its signal as a negative number. mpiexec cannot tell
    which rank was the first to end, because it kills the others.
    """
    actions = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    child = fork()
    if not child:
        os.setpgid(0, 0)  # Each signal arrives once, through the parent.
        for number, action in actions.items():
            signal.signal(number, action)
        return

    def forward(number: int, _frame: object) -> None:
        with suppress(ProcessLookupError):  # it has ended
            os.kill(child, number)

    for number, action in actions.items():
        if action != signal.SIG_IGN:
            signal.signal(number, forward)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    tell(status)
    if status == 0:
        os._exit(0)
    if status > 0:
        time.sleep(1)  # After an abort, mpiexec ends this process, and exits with the status of the abort.
    # mpiexec (MPICH 5.0) ignores the exit status of a rank that has not initialized MPI; the others would wait for it.
    os.kill(os.getpid(), signal.SIGKILL)


def finish() -> None:
    """Finalize MPI, if it is initialized in this process: mpiexec treats any other exit as a crash."""
    module = sys.modules.get("mpi4py.MPI")
    if module is not None and module.Is_initialized() and not module.Is_finalized():
        module.Finalize()


def _wait_until_read() -> None:
    """Wait, for at most a second, until mpiexec has read what this process has written.

    After an abort, mpiexec (MPICH 5.0) drops what is still in the pipes of the ranks.
    """
    end = time.monotonic() + 1.0
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
            while fcntl.ioctl(stream.fileno(), termios.FIONREAD, b"\0" * 4) != b"\0" * 4:
                if time.monotonic() > end:
                    return
                time.sleep(0.005)
    # It still has to pass on what it has read.
    time.sleep(0.05)


def end_in_order() -> NoReturn:
    """End this process with status 0 after leaving MPI.

    An exit handler of the C library tells mpiexec (MPICH 5.0) that the process has ended in good order. `os._exit`
    skips these handlers, and mpiexec then kills the ranks that still run and returns status 9.
    """
    finish()
    ctypes.CDLL(None).exit(0)
    os._exit(0)


# -- as processes of a private mpiexec


def run_job(
    plan: Plan, settings: Settings, arguments: Sequence[Array], time_limit: float
) -> dict[int, Outcome]:
    """Run every rank under an mpiexec on this machine; returns each rank's outcome, in the order of their ends."""
    with TemporaryFolder("tessera-ranks") as folder:
        folder.write("job", pickle.dumps((plan, settings, list(arguments), time_limit)))
        command = [_mpiexec(), "-n", str(plan.ranks), sys.executable, "-c", _BOOTSTRAP, folder.path]
        environment = {**os.environ, "TESSERA_PATH": os.pathsep.join(filter(None, sys.path))}
        finished = run(command, time_limit=_LONGEST_JOB, env=environment)
        ended: list[tuple[int, int, Outcome]] = []
        for rank in range(plan.ranks):
            # The folder is private to this user, and only child processes write to it.
            with suppress(FileNotFoundError), open(os.path.join(folder.path, f"rank-{rank}"), "rb") as file:
                ended.append((os.fstat(file.fileno()).st_mtime_ns, rank, pickle.load(file)))
    found = {rank: outcome for _, rank, outcome in sorted(ended)}
    if len(found) < plan.ranks and all(kind == "done" for kind, _ in found.values()):
        output = " ".join(finished.text.split())[:300] or f"status {finished.status}"
        raise error(None, f"mpiexec ended without the results of {plan.ranks} ranks: {output}")
    return found


_BOOTSTRAP = (
    "import os, sys; sys.path[:] = os.environ['TESSERA_PATH'].split(os.pathsep); "
    "from tessera_tools.runtime.ranks_mpi import run_rank_of_job; run_rank_of_job(sys.argv[1])"
)


def run_rank_of_job(folder: str) -> None:
    """A process of `run_job`'s mpiexec: do a rank's work, and write its outcome to `folder`."""
    end_with_parent(os.getppid())
    number = _rank_of_launcher()

    def tell(status: int) -> None:
        path = os.path.join(folder, f"rank-{number}")
        if status < 0 or not os.path.exists(path):
            how = f"was killed by {signal_name(-status)}" if status < 0 else f"exited with status {status}"
            _put(path, ("ended", f"{how} before all ranks were done"))
            os.kill(os.getpid(), signal.SIGKILL)  # mpiexec then ends the others.

    _work_in_child(tell)
    comm = _world()
    rank = comm.Get_rank()
    with open(os.path.join(folder, "job"), "rb") as file:
        plan, settings, arguments, time_limit = pickle.load(file)
    transport = MpiTransport(comm, time_limit)
    found = outcome(lambda: run_rank(plan, settings, rank, None, arguments, transport, rank))
    _put(os.path.join(folder, f"rank-{rank}"), found)
    if found[0] != "done":
        comm.Abort(1)
    end_in_order()


def _put(path: str, found: Outcome) -> None:
    """Write an outcome; the file is complete as soon as it exists."""
    with open(f"{path}.tmp", "wb") as file:
        pickle.dump(found, file)
    os.replace(f"{path}.tmp", path)


def _mpiexec() -> str:
    """The mpiexec of this Python's environment, where the wheel `mpich` puts it, else the one on PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "mpiexec")
    if os.environ.get("TESSERA_MPIEXEC") is None and os.access(beside, os.X_OK):
        return beside
    return find_tool("mpiexec", option=None, wheel="mpich")
