"""Atomic output files: a set of outputs is written as a whole or not at all.

    OutputSet.add("gemm.cubin", bytes), .add("gemm.json", text) ──commit()──▶ both files, or neither and an error

All data is first written to a temporary file in the folder of the output. Then `os.replace` moves it into place, which
is atomic for readers. After a failure, the old file, if any, is unchanged, and no temporary file remains.
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

    `add` writes each to its temporary file, so it reports a full disk; `commit` puts all of them in place.
    A context manager: commits at the end of the block, and discards everything if the block raises. `sync=True`
    waits until the data is on the disk, for outputs that must survive a power failure.
    """

    def __init__(self, *, sync: bool = False) -> None:
        self._sync = sync
        self._pending: list[tuple[str, str]] = []
        self._stdout: list[bytes] = []

    def add(self, path: str, data: bytes | str) -> None:
        """Prepare one output. Raises ToolError if it cannot be written at its path."""
        raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        if path == STDOUT:
            self._stdout.append(raw)
            return
        # A symbolic link is kept; the file that it points to is replaced.
        final = os.path.realpath(path)
        try:
            # By the given path: /dev/stdout refers to a pipe, for which `final` is not a path.
            mode = os.stat(path).st_mode
        except OSError:
            mode = None
        if mode is not None and stat.S_ISDIR(mode):
            raise ToolError(f"the output '{path}' is a directory", "name a file in it")
        if mode is not None and not stat.S_ISREG(mode):
            # A device or a pipe (/dev/null, a process substitution) cannot be replaced.
            self._write_through(path, raw)
            return
        if mode is not None and not os.access(final, os.W_OK):
            # Replacing it would succeed if the folder is writable, but the file is read-only.
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
        # O_EXCL: do not follow a link that was placed there. The mode is 0o666 minus the umask, as with `open`.
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
        # A network file system may report a full disk only here.
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
        """Put every output in place, then write the outputs for stdout.

        Raises ToolError if an output cannot be put in place; all old files are then restored. A closed
        stdout is not an error (`tessera-opt … | head`).
        """
        pending, self._pending = self._pending, []
        undo: list[tuple[str, str | None]] = []
        try:
            for temporary, path in pending:
                final = os.path.realpath(path)
                try:
                    # A single output needs no backup: replacing it is atomic.
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
        """Discard every output that is not in place."""
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
            # A replacement of stdout, as in test runners: it accepts text only.
            sys.stdout.write(raw.decode("utf-8", "surrogateescape"))
            return
        sys.stdout.flush()
        binary.write(raw)
        binary.flush()
    except OSError as failure:
        # The rest of the buffer would fail again when stdout is flushed at exit.
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
    """Create a hard link to the file at `path` as a backup; None if there is no file."""
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
    with suppress(OSError):  # it may not exist
        os.unlink(path)
    forget(path)


def _sync_folder(folder: str) -> None:
    """Make a rename durable, on file systems that support it."""
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
