"""The processes that answer the page of `tessera-play`: one for each request, started ahead, ended at a limit.

request ──Pool.answer──▶ play_worker.py (waiting, everything loaded) ──▶ answer       the next one starts
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from contextlib import suppress

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.emit.tools import TemporaryFolder
from tessera_tools.process import end, spawn
from tessera_tools.records import dataclass

__all__ = ["BusyError", "FailedError", "Limits", "Pool"]

LARGEST_ANSWER = 24 << 20
"""Bytes of an answer."""
_WAITING = 8
"""Requests that may wait for their turn."""
_START_SECONDS = 60.0
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Limits:
    """seconds: for a request. memory: of each of its processes, in MiB. parallel: requests at the same time.
    program: bytes of a program, and of a request without it."""

    seconds: float
    memory: int
    parallel: int
    program: int


class FailedError(Exception):
    """A request without an answer, with the reason for the user."""


class BusyError(Exception):
    """Too many requests wait."""


class Worker:
    """A process that answers one request. It starts at once, and loads while nobody waits for it. All of its files are
    in a folder of its own. Raises OSError and DiagnosticError if it cannot start."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._transports: list[asyncio.BaseTransport] = []
        requests_read, self._requests = os.pipe()
        self._answers, answers_write = os.pipe()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        self._folder = TemporaryFolder("tessera-play")
        folder = self._folder.__enter__().path
        module = "tessera_tools.cli.play_worker"
        argv = [sys.executable, "-P", "-m", module, str(os.getpid()), str(limits.memory), folder]
        environment = {**os.environ, "TMPDIR": folder}
        for name in ("TESSERA_SERVER", "TESSERA_DEBUG"):
            environment.pop(name, None)
        errors = 2 if os.environ.get("TESSERA_DEBUG") == "1" else nowhere
        try:
            self._pid = spawn(
                argv,
                stdin=requests_read,
                stdout=answers_write,
                stderr=errors,
                env=environment,
                guards_itself=True,
            )
        finally:
            for descriptor in (requests_read, answers_write, nowhere):
                os.close(descriptor)
        self._ready = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        reading, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(self._answers, "rb")
        )
        self._transports.append(reading)
        writing, flow = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(self._requests, "wb")
        )
        self._transports.append(writing)
        if not await reader.readline():
            raise FailedError("the compiler cannot start; --memory-limit may be too small")
        return reader, asyncio.StreamWriter(writing, flow, None, loop)

    async def answer(self, request: bytes) -> bytes:
        """The answer to the request, a line. Raises FailedError if the process ends early or exceeds a limit."""
        try:
            async with asyncio.timeout(_START_SECONDS):
                reader, writer = await asyncio.shield(self._ready)
            async with asyncio.timeout(self._limits.seconds):
                writer.write(request + b"\n")
                await writer.drain()
                return await self._read(reader)
        except TimeoutError:
            raise FailedError(f"stopped after {self._limits.seconds:g} s; --time-limit allows more") from None
        except OSError:
            raise FailedError(self._ended()) from None

    async def _read(self, reader: asyncio.StreamReader) -> bytes:
        answer = bytearray()
        while part := await reader.read(_CHUNK):
            answer += part
            if len(answer) > LARGEST_ANSWER:
                raise FailedError(f"the answer is larger than {LARGEST_ANSWER >> 20} MiB")
        if not answer:
            raise FailedError(self._ended())
        return bytes(answer)

    def _ended(self) -> str:
        return f"the compiler ended; it may need more memory than --memory-limit={self._limits.memory}"

    def stop(self) -> None:
        """End the process with its children, and remove its files."""
        if self._ready.done():
            with suppress(BaseException):
                self._ready.exception()  # nobody may have asked for it
        self._ready.cancel()
        end(self._pid)
        for transport in self._transports:
            if not transport.is_closing():
                transport.close()
        for name in os.listdir(self._folder.path):
            path = os.path.join(self._folder.path, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
        self._folder.__exit__(None, None, None)


class Pool:
    """Answers requests, some at the same time; few may wait."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._slots = asyncio.Semaphore(limits.parallel)
        self._waiting = 0
        self._spare: Worker | None = None
        self._busy: set[Worker] = set()

    def start(self) -> None:
        """Start the process for the next request."""
        if self._spare is None:
            with suppress(OSError, DiagnosticError):
                self._spare = Worker(self.limits)

    async def answer(self, request: bytes) -> bytes:
        """The answer to a request. Canceled, it ends the process. Raises FailedError, BusyError."""
        if self._waiting >= _WAITING:
            raise BusyError
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        try:
            self.start()
            worker, self._spare = self._spare, None
            if worker is None:
                raise FailedError("the compiler cannot start")
            self._busy.add(worker)
            try:
                return await worker.answer(request)
            finally:
                self._busy.discard(worker)
                _stop(worker)
                self.start()
        finally:
            self._slots.release()

    def close(self) -> None:
        """End all processes."""
        for worker in (*self._busy, *([self._spare] if self._spare is not None else ())):
            _stop(worker)
        self._spare = None


def _stop(worker: Worker) -> None:
    with suppress(OSError):
        worker.stop()
