"""Finds NVIDIA's programs, and creates private folders for their files.

option ▶ TESSERA_<NAME> ▶ the NVIDIA wheel in site-packages ▶ PATH
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from tessera_tools.emit.errors import ToolError
from tessera_tools.process import forget, leave_nothing

__all__ = ["TemporaryFolder", "find_tool", "identity", "os_reason"]


def find_tool(name: str, *, option: str | None, wheel: str) -> str:
    """The path of the program `name`.

    `option` is the value of `--<name>=`: a path, or a name to look up on PATH. Raises ToolError if the program is not
    found, or if the option or `TESSERA_<NAME>` names a file that cannot be executed: an explicit choice
    is never replaced silently.
    """
    variable = "TESSERA_" + name.upper()
    for source, chosen in ((f"--{name}", option), (variable, os.environ.get(variable))):
        if chosen:
            return _chosen(name, source, chosen)
    for candidate in _in_wheels(name):
        if _runnable(candidate):
            return candidate
    on_path = _on_path(name)
    if on_path is None:
        raise ToolError(
            f"{name} was not found: not in the wheel {wheel}, and not on PATH",
            f"pip install {wheel}, or specify its path with --{name}=PATH or {variable}",
        )
    return on_path


def identity(path: str) -> str:
    """The identity of a program: an update in place changes its time or size. Raises OSError."""
    status = os.stat(path)
    return f"{status.st_mtime_ns} {status.st_size} {os.path.realpath(path)}"


def _chosen(name: str, source: str, chosen: str) -> str:
    found = chosen if os.sep in chosen else _on_path(chosen)
    if found is None or not os.path.exists(found):
        raise ToolError(
            f"{name} was not found at '{chosen}' (from {source})", f"correct {source}, or omit it"
        )
    if not _runnable(found):
        raise ToolError(
            f"'{chosen}' (from {source}) cannot be executed as {name}", "expected an executable file"
        )
    return os.path.abspath(found)


def _runnable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _on_path(name: str) -> str | None:
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        candidate = os.path.join(folder or ".", name)
        if _runnable(candidate):
            return candidate
    return None


def _in_wheels(name: str) -> Iterator[str]:
    """`nvidia/cu13/bin` (wheels since CUDA 13) and `nvidia/cuda_nvcc/bin` (CUDA 12), the newest first."""
    for folder in sys.path:
        nvidia = os.path.join(folder, "nvidia")
        try:
            packages = os.listdir(nvidia)
        except OSError:
            continue
        numbered = [package for package in packages if package[:2] == "cu" and package[2:].isdigit()]
        numbered.sort(key=lambda package: int(package[2:]), reverse=True)
        for package in (*numbered, *sorted(p for p in packages if p.startswith("cuda_"))):
            yield os.path.join(nvidia, package, "bin", name)


def os_reason(failure: OSError) -> str:
    """The system's error message, in lower case, for the end of a sentence."""
    reason = failure.strerror or str(failure)
    return reason[:1].lower() + reason[1:]


_PREFIXES = (
    "tessera-lsp",
    "tessera-nvdisasm",
    "tessera-play",
    "tessera-ptxas",
    "tessera-ranks",
    "tessera-reduce",
)
_MOST_ENTRIES = 10_000
"""How many entries of the directory for temporary files are looked at for abandoned folders."""


class TemporaryFolder:
    """A new folder that only this user can enter, removed with its files at the end of the `with` block.

    A process that is killed cannot remove its folder. The lock on the folder ends with the process, and the next
    process that makes a folder removes those without a lock. `prefix` is one of `_PREFIXES`.

    `tempfile` makes such a folder too, but its import takes longer than `ptxas --version`.
    """

    def __init__(self, prefix: str) -> None:
        self._base = next((b for b in map(os.environ.get, ("TMPDIR", "TEMP", "TMP")) if b), "/tmp")
        self._prefix = prefix
        self.path = ""
        self._descriptor = -1

    def __enter__(self) -> TemporaryFolder:
        try:
            while not self._make():
                forget(self.path)
        except OSError as failure:
            raise ToolError(
                f"cannot create a temporary directory at '{self.path}': {os_reason(failure)}",
                "set TMPDIR to a writable directory",
            ) from None
        _remove_abandoned(self._base)
        return self

    def _make(self) -> bool:
        """Make a folder and lock it; False if another process has removed it before it was locked."""
        self.path = os.path.join(self._base, f"{self._prefix}-{os.urandom(8).hex()}")
        leave_nothing(self.path)
        os.mkdir(self.path, 0o700)
        try:
            self._descriptor = _open_folder(self.path)
        except FileNotFoundError:
            return False
        try:
            locked = _lock(self._descriptor, self.path, wait=True)
        except OSError:
            return True  # a file system without locks, where no process can lock the folder to remove it
        if not locked:
            os.close(self._descriptor)
        return locked

    def write(self, name: str, data: bytes) -> str:
        """Write a file in the folder; return its path."""
        path = os.path.join(self.path, name)
        try:
            with open(path, "wb") as file:
                file.write(data)
        except OSError as failure:
            raise ToolError(
                f"the temporary file '{path}' cannot be written: {os_reason(failure)}",
                "set TMPDIR to a directory with more free space",
            ) from None
        return path

    def __exit__(self, *_: object) -> None:
        try:
            _remove(self.path, self._descriptor)
            forget(self.path)
        except OSError:
            pass  # a file that another program left open or protected does not fail the compilation
        finally:
            os.close(self._descriptor)


def _open_folder(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _lock(descriptor: int, path: str, *, wait: bool) -> bool:
    """Lock an open folder until the descriptor is closed; False if it is not at `path` any more. Raises OSError."""
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _remove(path: str, descriptor: int) -> None:
    """Remove a folder, which is open. Raises OSError."""
    for name in os.listdir(descriptor):
        try:
            os.unlink(name, dir_fd=descriptor)
        except IsADirectoryError:
            import shutil

            shutil.rmtree(name, dir_fd=descriptor)
    os.rmdir(path)


def _remove_abandoned(base: str) -> None:
    """Remove the folders of `TemporaryFolder` whose processes were killed."""
    with suppress(OSError), os.scandir(base) as entries:
        for entry in islice(entries, _MOST_ENTRIES):
            prefix, _, digits = entry.name.rpartition("-")
            if prefix in _PREFIXES and len(digits) == 16 and not set(digits) - set("0123456789abcdef"):
                with suppress(OSError):
                    _remove_if_abandoned(entry.path)


def _remove_if_abandoned(path: str) -> None:
    descriptor = _open_folder(path)
    try:
        if os.fstat(descriptor).st_uid == os.geteuid() and _lock(descriptor, path, wait=False):
            _remove(path, descriptor)
    finally:
        os.close(descriptor)
