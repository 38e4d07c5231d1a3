"""LLVM in a separate process. It starts early, serves requests later, and may crash without ending the compiler.

    Worker.start() ─▶ child loads LLVM │ the front end parses and lowers │ worker.compile(ir) ─▶ Reply(ptx, times)

LLVM ends its process on a fatal error, can loop, and takes time to load. In a separate process, none of this affects
the compiler. `llvm_child.py` is the other end of the pipes. The next request replaces a child that has ended.
"""

from __future__ import annotations

import atexit
import faulthandler
import marshal
import os
import re
import select
import sys
import time
from _thread import _local
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tessera_tools.diagnostics import Position
from tessera_tools.emit.errors import ToolError
from tessera_tools.process import allocating, end, forget_child, reap, signal_name, spawn, spawn_copy
from tessera_tools.records import dataclass, field

if TYPE_CHECKING:
    from tessera_tools.emit.llvm_child import Llvm

__all__ = ["LlvmInfo", "Reply", "Worker", "close_warm", "preload", "warm"]

_CHUNK = 1 << 20
_STDERR_KEPT = 64 << 10
_START_LIMIT = 30.0
"""Time limit for loading LLVM, in seconds; far more than a cold disk needs."""
_QUIT_LIMIT = 0.2


@dataclass(frozen=True, slots=True)
class LlvmInfo:
    """Version, CPUs and PTX versions of the child's LLVM. PTX versions are times ten: 90 for 9.0."""

    version: tuple[int, int, int]
    cpus: tuple[str, ...]
    ptx_versions: tuple[int, ...]
    start_seconds: float
    """Time for loading and initializing LLVM, in the child, without the start of Python."""

    @property
    def max_ptx(self) -> int:
        return self.ptx_versions[-1]


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of one request: texts by the requested name, and seconds by step."""

    texts: dict[str, str]
    seconds: dict[str, float]
    """`parse`, `verify`, `optimize`, `codegen`, `print`: in the child; `wall`: in the caller."""
    warnings: list[str] = field(default_factory=list[str])
    """Lines that LLVM printed on stderr, and limits that applied."""


_BLOCK = re.compile(r"^[\w.$-]+:", re.MULTILINE)


_preloaded: list[tuple[Llvm, dict[str, object]]] = []
"""LLVM and its description, if `preload` has loaded it in this process."""


def preload() -> None:
    """Load LLVM in this process, whose workers are from now on copies of it.

    It compiles nothing here. Without LLVM, nothing is loaded: the first request to a worker reports that.
    """
    from tessera_tools.emit.llvm_child import LlvmError, load

    with suppress(OSError, AttributeError, LlvmError, ToolError):
        _preloaded[:] = [load(_library(), [])]


class _ChildEnded(Exception):
    """The child's end of the pipe is closed."""


class Worker:
    """One LLVM process. Use as a context manager, or call `close`.

    `options` are LLVM's own command-line options (`-print-after=finalize-isel`), LLVM ignores unknown
    ones. `time_limit` is the limit for each request, in seconds.
    """

    def __init__(self, options: Sequence[str] = (), *, time_limit: float = 120.0) -> None:
        self._options = list(options)
        self._time_limit = time_limit
        self._pid = 0
        self._requests = self._replies = self._stderr = -1
        self._tail = bytearray()
        self._size = ""
        self._info: LlvmInfo | None = None

    @classmethod
    def start(cls, options: Sequence[str] = (), *, time_limit: float = 120.0) -> Worker:
        """Start a worker and return without waiting for its child. The first request reports a failure to start."""
        worker = cls(options, time_limit=time_limit)
        worker._spawn()
        return worker

    # Requests

    def info(self) -> LlvmInfo:
        """Describes this LLVM. Waits until the child is ready. Raises ToolError if the child does not start."""
        if self._info is None:
            if not self._pid:
                self._spawn()
            try:
                head, _ = self._receive(time.monotonic() + _START_LIMIT, "starting")
            except BaseException:
                self._discard()
                raise
            if "error" in head:
                text = str(head["text"])
                self.close()
                raise ToolError(f"LLVM cannot be loaded: {_first_line(text)}", _INSTALL, details=text)
            self._info = LlvmInfo(
                version=head["version"],
                cpus=tuple(head["cpus"]),
                ptx_versions=tuple(head["ptx"]),
                start_seconds=head["start"],
            )
        return self._info

    def verify(self, ir: str) -> Reply:
        """Parse and verify LLVM IR. Raises ToolError, with the line if LLVM gives one."""
        return self.compile(ir, ("verify",), cpu="", features="", level=0)

    def compile(
        self,
        ir: str,
        want: Sequence[str] = ("ptx",),
        *,
        cpu: str,
        features: str,
        level: int = 3,
        code_level: int | None = None,
        optimize: bool = True,
        passes: Sequence[str] = (),
        stop_after: str = "",
        time_passes: bool = False,
    ) -> Reply:
        """Run LLVM on `ir` and return the texts in `want`: `verify`, `llvm` (optimized IR), `ptx`, `mir`.

        `level` 0 to 3 chooses LLVM's pipeline and the level of its code generator. `code_level` overrides the level of
        the code generator, `passes` replaces the pipeline, and `optimize=False` omits it. `mir` is the machine IR after
        the pass `stop_after`. The child cannot be used afterwards: use a separate worker, as `llvm.emit_mir` does.

        Raises ToolError if LLVM refuses the IR (with `line` and `column` if LLVM gives them), if LLVM ends its process
        (`details` is its stderr), and after the time limit.
        """
        if "\0" in ir:
            raise ToolError(
                "the LLVM IR contains a NUL character",
                "write it as \\00 inside a string",
                line=ir[: ir.index("\0")].count("\n") + 1,
            )
        self.info()
        begin = time.monotonic()
        deadline = begin + self._time_limit
        # A large kernel spends most of its time in code generation, which grows faster than the number of blocks.
        self._size = f"its IR has {len(_BLOCK.findall(ir)):,} basic blocks in {ir.count(chr(10)):,} lines; "
        text = ir.encode("utf-8", "surrogateescape")
        request: dict[str, object] = {
            "want": list(want),
            "cpu": cpu,
            "features": features,
            "level": level,
            "code_level": level if code_level is None else code_level,
            "optimize": optimize,
            "passes": list(passes),
            "stop_after": stop_after,
            "time_passes": time_passes,
            "lengths": [len(text)],
        }
        packed = marshal.dumps(request)
        self._tail.clear()
        try:
            self._send(len(packed).to_bytes(8, "little") + packed + text, deadline)
            head, results = self._receive(deadline, "compiling")
        except BaseException:
            # The child is in an unknown state: the next request starts a new one.
            self._discard()
            raise
        if "error" in head:
            raise _refusal(str(head["error"]), str(head["text"]))
        names = [name for name in want if name != "verify"] + (["timing"] if time_passes else [])
        texts = {name: data.decode("utf-8", "replace") for name, data in zip(names, results, strict=True)}
        seconds: dict[str, float] = {**head["times"], "wall": time.monotonic() - begin}
        return Reply(texts, seconds, self._stderr_lines())

    # The child

    def _spawn(self) -> None:
        start = self._start_copy if _preloaded and not self._options else self._start_program
        request_read, self._requests = os.pipe()
        self._replies, reply_write = os.pipe()
        self._stderr, stderr_write = os.pipe()
        try:
            self._pid = start(request_read, reply_write, stderr_write)
        except OSError as failure:
            self._close_pipes()
            raise ToolError(f"the LLVM process cannot be started: {failure.strerror}") from None
        except ToolError:
            self._close_pipes()
            raise
        finally:
            for descriptor in (request_read, reply_write, stderr_write):
                os.close(descriptor)
        os.set_blocking(self._requests, False)
        self._tail.clear()
        self._info = None

    def _start_program(self, stdin: int, stdout: int, stderr: int) -> int:
        library = _library()
        if not sys.executable:
            raise ToolError("the LLVM process cannot be started: sys.executable is not set")
        # `-I -S`: ignore the user's environment and the start-up hooks of site-packages.
        bootstrap = (
            f"import sys; sys.path.append({os.path.dirname(os.path.abspath(__file__))!r}); "
            f"import llvm_child; llvm_child.main({os.getpid()})"
        )
        argv = [sys.executable, "-I", "-S", "-c", bootstrap, library, *self._options]
        return spawn(argv, stdin=stdin, stdout=stdout, stderr=stderr, env=allocating(), guards_itself=True)

    def _start_copy(self, stdin: int, stdout: int, stderr: int) -> int:
        from tessera_tools.emit.llvm_child import serve_until_end

        def serve() -> int:
            # What Python writes on a signal would be taken for LLVM's reason.
            faulthandler.disable()
            return serve_until_end(lambda: _preloaded[0])

        return spawn_copy(serve, stdin=stdin, stdout=stdout, stderr=stderr)

    def _send(self, data: bytes, deadline: float) -> None:
        poll = select.poll()
        poll.register(self._requests, select.POLLOUT)
        poll.register(self._stderr, select.POLLIN)
        view = memoryview(data)
        while view:
            for descriptor, _ in poll.poll(self._milliseconds(deadline, "compiling")):
                if descriptor == self._stderr:
                    self._read_stderr(poll)
                    continue
                try:
                    view = view[os.write(self._requests, view) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    raise self._death("compiling") from None

    def _receive(self, deadline: float, doing: str) -> tuple[dict[str, Any], list[bytes]]:
        poll = select.poll()
        poll.register(self._replies, select.POLLIN)
        poll.register(self._stderr, select.POLLIN)
        buffered = bytearray()

        def take(count: int) -> bytes:
            while len(buffered) < count:
                for descriptor, _ in poll.poll(self._milliseconds(deadline, doing)):
                    if descriptor == self._stderr:
                        self._read_stderr(poll)
                        continue
                    data = os.read(self._replies, _CHUNK)
                    if not data:
                        raise _ChildEnded
                    buffered.extend(data)
            result = bytes(buffered[:count])
            del buffered[:count]
            return result

        try:
            while "phase" in (head := marshal.loads(take(int.from_bytes(take(8), "little")))):
                doing = head["phase"]
            return head, [take(length) for length in head["lengths"]]
        except _ChildEnded:
            raise self._death(doing) from None

    def _milliseconds(self, deadline: float, doing: str) -> float:
        """Returns the milliseconds until the deadline. After the deadline, ends the child and raises ToolError."""
        left = deadline - time.monotonic()
        if left > 0:
            return left * 1000
        self._discard()
        limit = _START_LIMIT if doing == "starting" else self._time_limit
        raise ToolError(
            f"LLVM was still {doing} after {limit:g} s and was stopped",
            f"{self._size}a smaller tile or a lower -O compiles faster; --llvm-timeout sets the limit",
            details="\n".join(self._stderr_lines()),
        )

    def _read_stderr(self, poll: select.poll | None = None) -> bool:
        data = os.read(self._stderr, _CHUNK)
        if not data and poll is not None:
            poll.unregister(self._stderr)
        self._tail += data
        del self._tail[: max(0, len(self._tail) - _STDERR_KEPT)]
        return bool(data)

    def _stderr_lines(self) -> list[str]:
        return [line for line in self._tail.decode("utf-8", "replace").splitlines() if line.strip()]

    def _death(self, doing: str) -> ToolError:
        """The error for a child that has closed its pipes: why it ended, and its last output."""
        deadline = time.monotonic() + 5.0
        os.set_blocking(self._stderr, False)
        status = reap(self._pid, deadline)
        try:
            while self._read_stderr():
                pass
        except BlockingIOError:
            pass
        if status is None:
            how = "closed its pipes"
        elif os.WIFSIGNALED(status):
            how = f"died of {signal_name(os.WTERMSIG(status))}"
        else:
            how = f"exited with status {os.WEXITSTATUS(status)}"
        if status is not None:
            self._pid = 0
        lines = self._stderr_lines()
        self._discard()
        reason, location = _fatal_message(lines)
        return ToolError(
            f"LLVM failed while {doing}: {reason}" if reason else f"LLVM {how} while {doing}",
            f"the LLVM process {how}",
            location=location,
            details="\n".join(lines),
        )

    def _discard(self) -> None:
        """End the child now."""
        if self._pid:
            end(self._pid)
            self._pid = 0
        self._close_pipes()
        self._info = None

    def _close_pipes(self) -> None:
        for descriptor in (self._requests, self._replies, self._stderr):
            if descriptor >= 0:
                os.close(descriptor)
        self._requests = self._replies = self._stderr = -1

    def refresh(self) -> None:
        """Start a child now if there is none, or if it has ended since the last request."""
        if self._pid:
            try:
                ended = reap(self._pid, 0.0) is not None
            except ChildProcessError:  # other code of this process has waited for it
                ended = True
                forget_child(self._pid)
            if not ended:
                return
            self._pid = 0
            self._discard()
        self._spawn()

    def abandon(self) -> None:
        """Close this process's ends of the pipes. The child is another process's, which has forked this one."""
        self._pid = 0
        self._close_pipes()

    def close(self) -> None:
        """Close the child's input, and kill the child if it does not end shortly after."""
        if self._requests >= 0:
            os.close(self._requests)
            self._requests = -1
        if self._pid and reap(self._pid, time.monotonic() + (_QUIT_LIMIT if self._info else 0.0)) is not None:
            self._pid = 0
        self._discard()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Kept:
    """The worker that a thread keeps. The system ends the child with the thread, which therefore cannot share it."""

    def __init__(self) -> None:
        self.worker = Worker()
        self._owner = os.getpid()

    @property
    def is_ours(self) -> bool:
        """False in a process that was forked after the worker was made."""
        return self._owner == os.getpid()

    def close(self) -> None:
        """End the child, if it is this process's."""
        if self.is_ours:
            self.worker.close()
        else:
            self.worker.abandon()

    __del__ = close


_of_thread = _local()


def warm() -> Worker:
    """The worker of this thread, which serves compilation after compilation. The caller does not close it.

    It is started or replaced here if necessary, and ends with the thread, or with `close_warm`. A process that is
    forked from this one starts its own.
    """
    kept: _Kept | None = getattr(_of_thread, "kept", None)
    if kept is None or not kept.is_ours:
        kept = _of_thread.kept = _Kept()
        atexit.unregister(close_warm)
        atexit.register(close_warm)
    kept.worker.refresh()
    return kept.worker


def close_warm() -> None:
    """End the worker that `warm` has started for this thread, if there is one."""
    kept: _Kept | None = _of_thread.__dict__.pop("kept", None)
    if kept is not None:
        kept.close()


_INSTALL = "pip install 'llvmlite>=0.50,<0.51' installs LLVM 22"


def _library() -> str:
    """llvmlite's shared library, found without importing llvmlite. Raises ToolError if it is missing."""
    import importlib.machinery

    for folder in sys.path:
        # Only the path finder, folder by folder: importing `importlib.util` would take longer than the lookup.
        binding = os.path.join(folder or ".", "llvmlite", "binding")
        for suffix in (".so", ".dylib"):
            candidate = os.path.join(binding, "libllvmlite" + suffix)
            if os.path.exists(candidate):
                return os.path.abspath(candidate)
    found = importlib.machinery.PathFinder.find_spec("llvmlite")
    where = f" beside {found.origin}" if found and found.origin else ""
    raise ToolError(f"llvmlite's LLVM library was not found{where}", _INSTALL)


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "no reason given"


_PARSE_ERROR = re.compile(r"<string>:(\d+):(\d+): error: (.*)")


def _refusal(stage: str, text: str) -> ToolError:
    """The error for LLVM IR that LLVM refuses."""
    located = _PARSE_ERROR.search(text)
    if located:
        return ToolError(
            f"LLVM cannot parse the IR: {located[3]}",
            line=int(located[1]),
            column=int(located[2]),
            details=text,
        )
    verb = {"verify": "rejects its IR", "parse": "cannot parse its IR"}.get(stage, f"failed in {stage}")
    return ToolError(f"LLVM {verb}: {_first_line(text)}", details=text)


_PLACED = re.compile(r"(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?P<text>.*)")


def _fatal_message(lines: list[str]) -> tuple[str, Position | None]:
    """LLVM's reason, from the lines that it prints when it aborts, and the source position if it gives one."""
    for marker in ("LLVM ERROR: ", "error: ", "Assertion "):
        for line in lines:
            if marker not in line:
                continue
            reason = line[line.index(marker) :].removeprefix("LLVM ERROR: ").removeprefix("error: ").strip()
            placed = _PLACED.fullmatch(reason)
            if placed is None:
                return reason, None
            # `<unknown>:0:0:` means an instruction without a debug location.
            known = int(placed["line"]) > 0
            place = Position(placed["file"], int(placed["line"]), max(1, int(placed["column"])))
            return placed["text"], place if known else None
    return "", None
