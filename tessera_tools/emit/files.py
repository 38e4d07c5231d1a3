"""Atomic output files: a set of outputs is written as a whole or not at all.

    OutputSet.add("gemm.cubin", bytes), .add("gemm.json", text) ──commit()──▶ both files, or neither and an error

Every byte goes to a temporary file in the output's own folder first; `os.replace` then puts it in place,
which a reader sees as one step. What fails before leaves the old file, or none, and no temporary file.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from types import TracebackType

from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.tools import os_reason
from tessera_tools.process import forget, leave_nothing

__all__ = ["OutputSet", "write_output"]

STDOUT = "-"


def write_output(path: str, data: bytes | str, *, sync: bool = False) -> None:
    """Write one output; `-` is stdout. Text is written as UTF-8. See `OutputSet.commit` for the errors."""
    with OutputSet(sync=sync) as outputs:
        outputs.add(path, data)


class OutputSet:
    """Several outputs that belong together, such as a cubin and its launch manifest.

    `add` writes each to its temporary file, so that a full disk shows there; `commit` puts them all in place.
    As a context manager it commits at the end, and drops everything when the block raises. `sync=True` waits
    until the disk has the bytes: for outputs that must survive a power cut.
    """

    def __init__(self, *, sync: bool = False) -> None:
        self._sync = sync
        self._pending: list[tuple[str, str]] = []
        self._stdout: list[bytes] = []

    def add(self, path: str, data: bytes | str) -> None:
        """Prepare one output. Raises ToolError when it cannot be written where it should go."""
        raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        if path == STDOUT:
            self._stdout.append(raw)
            return
        # A symbolic link stays a link. The file that it points to is replaced.
        final = os.path.realpath(path)
        try:
            # By its own name: /dev/stdout leads to a pipe, of which `final` is no name.
            mode = os.stat(path).st_mode
        except OSError:
            mode = None
        if mode is not None and stat.S_ISDIR(mode):
            raise ToolError(f"the output '{path}' is a directory", "name a file in it")
        if mode is not None and not stat.S_ISREG(mode):
            # A device or a pipe (/dev/null, a process substitution) has nothing to replace.
            self._write_through(path, raw)
            return
        if mode is not None and not os.access(final, os.W_OK):
            # Replacing it would work where the folder can be written, but its owner has said no.
            raise ToolError(f"the output '{path}' cannot be written: permission denied")
        temporary = os.path.join(
            os.path.dirname(final),
            f".{os.path.basename(final)[:100]}.{os.getpid()}-{os.urandom(4).hex()}.tmp",
        )
        leave_nothing(temporary)
        try:
            self._write_temporary(temporary, raw, mode)
        except OSError as failure:
            _unlink(temporary)
            raise _unwritable(path, failure) from None
        except BaseException:
            _unlink(temporary)
            raise
        self._pending.append((temporary, path))

    def _write_temporary(self, temporary: str, raw: bytes, mode: int | None) -> None:
        # O_EXCL: a link that somebody put there is not followed. 0o666 less the umask, as `open` does it.
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            _write_all(descriptor, raw)
            if mode is not None:
                os.fchmod(descriptor, stat.S_IMODE(mode))
            if self._sync:
                os.fsync(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        # A network file system may report a full disk no earlier than here.
        os.close(descriptor)

    def _write_through(self, path: str, raw: bytes) -> None:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                _write_all(descriptor, raw)
            finally:
                os.close(descriptor)
        except OSError as failure:
            raise _unwritable(path, failure) from None

    def commit(self) -> None:
        """Put every output in place, then write to stdout what goes there.

        Raises ToolError when an output cannot be put in place; then the old files are all back. A stdout
        whose reader has gone is no error (`tessera-opt … | head`).
        """
        pending, self._pending = self._pending, []
        undo: list[tuple[str, str | None]] = []
        try:
            for temporary, path in pending:
                final = os.path.realpath(path)
                try:
                    # One output alone needs no way back: replacing it is a single step.
                    kept = _keep(final) if len(pending) > 1 else None
                    os.replace(temporary, final)
                except OSError as failure:
                    raise _unwritable(path, failure) from None
                undo.append((final, kept))
        except BaseException:
            _restore(undo)
            raise
        finally:
            for left in (*(temporary for temporary, _ in pending), *(kept for _, kept in undo if kept)):
                _unlink(left)
        if self._sync:
            for folder in {os.path.dirname(final) for final, _ in undo}:
                _sync_folder(folder)
        chunks, self._stdout = self._stdout, []
        if chunks:
            _write_stdout(b"".join(chunks))

    def drop(self) -> None:
        """Forget every output that is not in place."""
        for temporary, _ in self._pending:
            _unlink(temporary)
        self._pending.clear()
        self._stdout.clear()

    def __enter__(self) -> OutputSet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.drop()


def _write_all(descriptor: int, raw: bytes) -> None:
    view = memoryview(raw)
    while view:
        view = view[os.write(descriptor, view) :]


def _write_stdout(raw: bytes) -> None:
    binary = getattr(sys.stdout, "buffer", None)
    try:
        if binary is None:
            # A stand-in for stdout, as test runners use: it takes text only.
            sys.stdout.write(raw.decode("utf-8", "surrogateescape"))
            return
        sys.stdout.flush()
        binary.write(raw)
        binary.flush()
    except OSError as failure:
        # What is left in the buffer would fail once more when stdout is flushed at the end.
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(failure, BrokenPipeError):
            raise _unwritable("<stdout>", failure) from None


def _unwritable(path: str, failure: OSError) -> ToolError:
    hint = None
    if isinstance(failure, FileNotFoundError):
        hint = "create the directory first"
    return ToolError(f"the output '{path}' cannot be written: {os_reason(failure)}", hint)


def _keep(path: str) -> str | None:
    """A second name for the file at `path`; None where there is no file."""
    name = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.old"
    try:
        os.link(path, name)
    except FileNotFoundError:
        return None
    return name


def _restore(undo: list[tuple[str, str | None]]) -> None:
    for final, kept in reversed(undo):
        with suppress(OSError):
            if kept is None:
                os.unlink(final)
            else:
                os.replace(kept, final)


def _unlink(path: str) -> None:
    with suppress(OSError):  # it may never have been made
        os.unlink(path)
    forget(path)


def _sync_folder(folder: str) -> None:
    """Make a rename durable; some file systems have no such call, and then it is durable or nobody can help."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
