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
import re
import sys
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NoReturn

import numpy as np

from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.emit.plan import Plan
from tessera_tools.emit.tools import TemporaryFolder, find_tool
from tessera_tools.process import at_end, end_all, end_with_parent, run
from tessera_tools.runtime.ranks_transport import LostRankError, Transport, combined
from tessera_tools.runtime.ranks_worker import Outcome, RankResult, Settings, outcome, run_rank
from tessera_tools.runtime.types import Array, Type

__all__ = ["Member", "MpiTransport", "has_mpi", "member", "run_job"]


_RANK_VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
"""Environment variables that the launchers of MPICH, OpenMPI and Slurm set for each process."""
_LONGEST_JOB = 20 * 86400.0
_HEADER = 4
"""Words of a header: exchange number, operation, the part's bytes, the ranks of the group."""
_KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")


def has_mpi() -> bool:
    """True if mpi4py can be imported, without importing it."""
    return importlib.util.find_spec("mpi4py") is not None


def _mpi() -> Any:
    """mpi4py's MPI, initialized. Raises DiagnosticError if there is no MPI library."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError, OSError) as failure:
        reason = " ".join(str(failure).split())[:300]
        raise error(
            None, f"MPI cannot be started: {reason}", "pip install 'tessera-tools[distributed]'"
        ) from None
    return MPI


class MpiTransport(Transport):
    """A rank of a communicator. `time_limit`: timeout in seconds of one exchange."""

    name = "MPI"

    def __init__(self, comm: Any, time_limit: float) -> None:
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
        """Does nothing: the job owns the communicator."""

    def _swap(self, kind: str, parts: Sequence[Array], group: Sequence[int]) -> list[Array]:
        """Send each rank of the group its part; returns the parts from all of them, of the same shape."""
        self.count += 1
        others = [rank for rank in group if rank != self.rank]
        sent = {rank: np.ascontiguousarray(part) for rank, part in zip(group, parts, strict=True)}
        header = {
            rank: np.array([self.count, _KINDS.index(kind), sent[rank].nbytes, len(group)], np.int64)
            for rank in others
        }
        theirs = {rank: np.zeros(_HEADER, np.int64) for rank in others}
        requests: dict[int, list[Any]] = {}
        for rank in others:
            requests[rank] = [self.comm.Irecv(theirs[rank], rank, 0), self.comm.Isend(header[rank], rank, 0)]
        self._wait(requests)
        for rank in others:
            if not np.array_equal(theirs[rank], header[rank]):
                raise error(
                    None,
                    f"the exchange does not match: {_described(theirs[rank], f'rank {rank}')}; "
                    f"{_described(header[rank], f'rank {self.rank}')}",
                    "every rank must run the same program",
                )
        found = {rank: np.empty_like(part) for rank, part in sent.items()}
        requests = {}
        for rank in others:
            requests[rank] = [
                self.comm.Irecv(found[rank].reshape(-1).view(np.uint8), rank, 1),
                self.comm.Isend(sent[rank].reshape(-1).view(np.uint8), rank, 1),
            ]
        self._wait(requests)
        found[self.rank] = sent[self.rank].copy()
        return [found[rank] for rank in group]

    def _wait(self, requests: dict[int, list[Any]]) -> None:
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


def _described(header: Array, who: str) -> str:
    number, kind, size, ranks = map(int, header)
    what = _KINDS[kind] if 0 <= kind < len(_KINDS) else f"kind {kind}"
    return f"{who} is in exchange {number}, {what} of {size:,} bytes among {ranks} ranks"


# -- as a process of the user's mpiexec


class Member:
    """This process as a rank of a job that the user has started."""

    def __init__(self, comm: Any) -> None:
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
        if self.size != plan.ranks:
            self.agree(
                error(None, f"mpiexec started {self.size} processes, but the plan has {plan.ranks} ranks")
            )
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
        MPI = _mpi()
        return self.comm.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()


@cache
def member() -> Member | None:
    """This process's rank in a job of mpiexec; None outside a job."""
    if not any(name in os.environ for name in _RANK_VARIABLES) or not has_mpi():
        return None
    return Member(_mpi().COMM_WORLD)


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
    """Run every rank under an mpiexec on this machine; returns each rank's outcome."""
    with TemporaryFolder("tessera-ranks") as folder:
        folder.write("job", pickle.dumps((plan, settings, list(arguments), time_limit)))
        command = [_mpiexec(), "-n", str(plan.ranks), sys.executable, "-c", _BOOTSTRAP, folder.path]
        environment = {**os.environ, "TESSERA_PATH": os.pathsep.join(filter(None, sys.path))}
        finished = run(command, time_limit=_LONGEST_JOB, env=environment)
        found: dict[int, Outcome] = {}
        begun: dict[str, int] = {}
        for rank in range(plan.ranks):
            with suppress(FileNotFoundError), open(os.path.join(folder.path, f"pid-{rank}")) as file:
                begun[file.read()] = rank
            # The folder is private to this user, and only child processes write to it.
            with suppress(FileNotFoundError), open(os.path.join(folder.path, f"rank-{rank}"), "rb") as file:
                found[rank] = pickle.load(file)
    if len(found) < plan.ranks and all(kind == "done" for kind, _ in found.values()):
        output = " ".join(finished.text.split())[:300]
        if len(begun) < plan.ranks:
            raise error(
                None, f"mpiexec could not start {plan.ranks} ranks: {output or f'status {finished.status}'}"
            )
        rank, how = _first_to_end(finished.text, begun)
        if rank is None:
            rank = min(set(range(plan.ranks)) - set(found))
            how = f"it or another rank exited without a result, with status {finished.status}"
        found[rank] = ("ended", how)
    return found


_BOOTSTRAP = (
    "import os, sys; sys.path[:] = os.environ['TESSERA_PATH'].split(os.pathsep); "
    "from tessera_tools.runtime.ranks_mpi import run_rank_of_job; run_rank_of_job(sys.argv[1])"
)


def run_rank_of_job(folder: str) -> None:
    """A process of `run_job`'s mpiexec: do a rank's work, and write its outcome to `folder`."""
    end_with_parent(os.getppid())
    MPI = _mpi()
    comm = MPI.COMM_WORLD
    rank = comm.Get_rank()
    with open(os.path.join(folder, "job"), "rb") as file:
        plan, settings, arguments, time_limit = pickle.load(file)
    with open(os.path.join(folder, f"pid-{rank}"), "w") as file:
        file.write(str(os.getpid()))
    transport = MpiTransport(comm, time_limit)
    found = outcome(lambda: run_rank(plan, settings, rank, None, arguments, transport, rank))
    path = os.path.join(folder, f"rank-{rank}")
    with open(f"{path}.tmp", "wb") as file:
        pickle.dump(found, file)
    os.replace(f"{path}.tmp", path)
    if found[0] != "done":
        comm.Abort(1)
    end_in_order()


def _mpiexec() -> str:
    """The mpiexec of this Python's environment, where the wheel `mpich` puts it, else the one on PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "mpiexec")
    if os.environ.get("TESSERA_MPIEXEC") is None and os.access(beside, os.X_OK):
        return beside
    return find_tool("mpiexec", option=None, wheel="mpich")


_BANNER = re.compile(r"PID (\d+) RUNNING AT")
_HOW = re.compile(r"EXIT STRING: (.+)")


def _first_to_end(text: str, begun: dict[str, int]) -> tuple[int | None, str]:
    """The rank that mpiexec reports as the first to end, and its exit status; None if it reports none.

    `begun` maps process ids to ranks.
    """
    banner, how = _BANNER.search(text), _HOW.search(text)
    rank = begun.get(banner[1]) if banner is not None else None
    if how is None:
        return rank, "it exited without a result"
    # mpiexec kills the other ranks when one ends, and may report one of those.
    who = "it or another rank" if how[1].startswith("Killed") else "it"
    return rank, f"{who} exited without a result: {how[1]}"
