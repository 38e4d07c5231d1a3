"""The ranks of a plan over MPI: as processes of the user's mpiexec, or of one that is started here.

    mpiexec -n N tessera-run …          ─▶ member(): this process is a rank; rank 0 gathers
    tessera-run --ranks=N … ─▶ run_job() ──job file──▶ mpiexec -n N python -m … ──a file a rank──▶ outcomes

MPI moves the bytes; sums are made here, in float64 and in the order of the ranks, so that all ranks have the same
bits. Every message begins with what the sender is about to do: ranks that do not do the same are told apart.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import re
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.emit.plan import Plan
from tessera_tools.emit.tools import TemporaryFolder, find_tool
from tessera_tools.process import end_with_parent, run
from tessera_tools.runtime.ranks_transport import LostRankError, Transport, combined
from tessera_tools.runtime.ranks_worker import Outcome, RankResult, Settings, outcome, run_rank
from tessera_tools.runtime.types import Type

__all__ = ["Member", "MpiTransport", "has_mpi", "member", "run_job"]

Array = np.ndarray[Any, Any]

_RANK_VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
"""What MPICH, OpenMPI and Slurm's launchers set for each process."""
_LONGEST_JOB = 20 * 86400.0
_HEADER = 4
"""Words of a header: exchange number, what is exchanged, the part's bytes, the ranks of the group."""
_KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")


def has_mpi() -> bool:
    """Whether mpi4py can be imported; it is not."""
    return importlib.util.find_spec("mpi4py") is not None


def _mpi() -> Any:
    """mpi4py's MPI, initialized. Raises DiagnosticError where there is no MPI library."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError, OSError) as failure:
        reason = " ".join(str(failure).split())[:300]
        raise error(
            None, f"MPI cannot be started: {reason}", "pip install 'tessera-tools[distributed]'"
        ) from None
    return MPI


class MpiTransport(Transport):
    """A rank of a communicator. `time_limit`: seconds to wait for the others in one exchange."""

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
        """Nothing: the communicator is the job's."""

    def _swap(self, kind: str, parts: Sequence[Array], group: Sequence[int]) -> list[Array]:
        """Give each rank of the group its part; what each of them gives this one, of the same shape."""
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
                    f"the exchange does not match: {_told(theirs[rank], f'rank {rank}')}; "
                    f"{_told(header[rank], f'rank {self.rank}')}",
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
                raise LostRankError(f"nothing came from rank {late} in {self.time_limit:g} s")
            # MPI's own waiting would take a whole core for each rank.
            time.sleep(pause)
            pause = min(pause * 1.5, 0.005)


def _told(header: Array, who: str) -> str:
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
        self._others_wait = False

    def agree(self, failure: DiagnosticError | None) -> None:
        """Go on if no rank has failed so far: else rank 0 raises what the first one says, and the others end."""
        failures = self.comm.allgather(None if failure is None else failure.diagnostics)
        for rank, diagnostics in enumerate(failures):
            if diagnostics is not None:
                if self.rank:
                    self.end(1)
                if rank:
                    diagnostics[0].note(f"on rank {rank}")
                raise DiagnosticError(*diagnostics)

    def run(
        self, plan: Plan, settings: Settings, arguments: Sequence[Array], time_limit: float
    ) -> list[RankResult]:
        """Do this rank's work; on rank 0 every rank's result, the others end when it is gathered."""
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
            sys.stderr.flush()
            self.comm.Abort(1)
        gathered: list[RankResult] | None = self.comm.gather(value, root=0)
        self._others_wait = True
        if gathered is None:
            # mpiexec's status is one of its processes': all end with the same.
            self.end(self.comm.bcast(0, root=0))
        assert gathered is not None
        return gathered

    def conclude(self, status: int) -> None:
        """On rank 0: let the others end with this process's status, and leave MPI."""
        if self._others_wait:
            self.comm.bcast(status, root=0)
            self._others_wait = False
        finish()

    def _ordinal(self) -> int:
        """Which of its machine's ranks this one is."""
        MPI = _mpi()
        return self.comm.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()

    def end(self, status: int) -> None:
        """Leave the job, and this process."""
        finish()
        raise SystemExit(status)


@cache
def member() -> Member | None:
    """This process's place in a job of mpiexec; None where it is in none."""
    if not any(name in os.environ for name in _RANK_VARIABLES) or not has_mpi():
        return None
    return Member(_mpi().COMM_WORLD)


def finish() -> None:
    """Leave MPI in good order, if this process is in it: mpiexec takes any other end for a crash."""
    module = sys.modules.get("mpi4py.MPI")
    if module is not None and module.Is_initialized() and not module.Is_finalized():
        module.Finalize()


# -- as processes of an mpiexec of our own


def run_job(
    plan: Plan, settings: Settings, arguments: Sequence[Array], time_limit: float
) -> dict[int, Outcome]:
    """Run every rank under an mpiexec on this machine; what came of each."""
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
            # The folder is this user's alone, and what is in it is our own children's.
            with suppress(FileNotFoundError), open(os.path.join(folder.path, f"rank-{rank}"), "rb") as file:
                found[rank] = pickle.load(file)
    if len(found) < plan.ranks and all(kind == "done" for kind, _ in found.values()):
        said = " ".join(finished.text.split())[:300]
        if len(begun) < plan.ranks:
            raise error(
                None, f"mpiexec could not start {plan.ranks} ranks: {said or f'status {finished.status}'}"
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
    """A process of `run_job`'s mpiexec: do a rank's work, and leave in `folder` what came of it."""
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
    finish()
    os._exit(0)


def _mpiexec() -> str:
    """The mpiexec of this Python's environment, where the wheel `mpich` puts it, else the one on PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "mpiexec")
    if os.environ.get("TESSERA_MPIEXEC") is None and os.access(beside, os.X_OK):
        return beside
    return find_tool("mpiexec", option=None, wheel="mpich")


_BANNER = re.compile(r"PID (\d+) RUNNING AT")
_HOW = re.compile(r"EXIT STRING: (.+)")


def _first_to_end(text: str, begun: dict[str, int]) -> tuple[int | None, str]:
    """The rank that mpiexec names as the one that ended first, and how; None where it names none.

    `begun` has each rank by its process id.
    """
    banner, how = _BANNER.search(text), _HOW.search(text)
    rank = begun.get(banner[1]) if banner is not None else None
    if how is None:
        return rank, "it exited without a result"
    # mpiexec kills the other ranks when one ends, and may name one of those.
    who = "it or another rank" if how[1].startswith("Killed") else "it"
    return rank, f"{who} exited without a result: {how[1]}"
