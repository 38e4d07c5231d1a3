"""PTX to cubin with NVIDIA's ptxas, as a process with a time limit.

    PTX ──Ptxas.assemble()──▶ argv, temporary files ──ptxas──▶ cubin, resources, messages
                                                       └─ refuses ─▶ ToolError at the location of the IR

ptxas reports lines of the PTX; `locate` maps them to source positions by `.loc` and `.file`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from tessera_tools.cache import cache_folder
from tessera_tools.diagnostics import Diagnostic, HasStart, Position
from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.resources import Message, Report, parse_report
from tessera_tools.emit.tools import TemporaryFolder, find_tool, identity, os_reason
from tessera_tools.process import OUTPUT_LIMIT, Finished, allocating, run, signal_name
from tessera_tools.records import dataclass, replace

__all__ = ["Assembled", "Ptxas", "locate", "max_ptx_of_release"]

# The newest PTX ISA version of each CUDA release, both as major * 10 + minor: "PTX ISA Release History" in the
# PTX ISA document. A release that is not listed supports the version of the previous listed one.
_PTX_OF_RELEASE = (
    (110, 70),
    (111, 71),
    (112, 72),
    (113, 73),
    (114, 74),
    (115, 75),
    (116, 76),
    (117, 77),
    (118, 78),
    (120, 80),
    (121, 81),
    (122, 82),
    (123, 83),
    (124, 84),
    (125, 85),
    (127, 86),
    (128, 87),
    (129, 88),
    (130, 90),
    (131, 91),
    (132, 92),
    (133, 93),
    (134, 94),
    (135, 95),
)
_MOST_REPORTED = 10
_VERSION_LIMIT = 20.0
_DETAILS_KEPT = 64 << 10
"""Characters of a long output that an error keeps."""
_CUBIN_LIMIT = 1 << 30
"""Limit of a cubin, in bytes; the largest kernels have a few million."""
_ELF_HEADER = 64
_NOBITS = 8
"""The type of a section without bytes in the file."""


def max_ptx_of_release(major: int, minor: int) -> int:
    """The newest PTX ISA version (times ten) that the ptxas of this CUDA release reads."""
    known = [ptx for release, ptx in _PTX_OF_RELEASE if release <= major * 10 + minor]
    if not known:
        raise ToolError(
            f"this ptxas is from CUDA {major}.{minor}; expected CUDA 11.0 or later",
            "pip install nvidia-cuda-nvcc",
        )
    return known[-1]


_WARNS = re.compile("Performance Loss|Overriding|[Ii]gnor")


@dataclass(frozen=True, slots=True)
class Assembled:
    """The output of ptxas for one PTX module."""

    cubin: bytes
    report: Report
    command: list[str]
    seconds: float
    output: str = ""
    """The messages of ptxas, with `-v`."""

    @property
    def warnings(self) -> list[Message]:
        """Warnings, and two kinds of `info` messages: lost performance, and overridden options."""
        return [
            message
            for message in self.report.messages
            if message.severity == "warning" or _WARNS.search(message.text)
        ]


class Ptxas:
    """A ptxas executable. Usually created by `Ptxas.find()`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._release: tuple[int, int] | None = None

    @classmethod
    def find(cls, option: str | None = None) -> Ptxas:
        """By `option`, TESSERA_PTXAS, the wheel, PATH, in that order. Raises ToolError if there is none."""
        return cls(find_tool("ptxas", option=option, wheel="nvidia-cuda-nvcc"))

    @property
    def release(self) -> tuple[int, int]:
        """Its CUDA release: (13, 5). The answer is stored in the user's cache folder."""
        if self._release is None:
            self._release = _cached_release(self.path) or self._query_release()
        return self._release

    @property
    def max_ptx(self) -> int:
        """The newest PTX ISA version (times ten) that it reads."""
        return max_ptx_of_release(*self.release)

    def _query_release(self) -> tuple[int, int]:
        finished = self._run([self.path, "--version"], _VERSION_LIMIT)
        found = re.search(r"release (\d+)\.(\d+)", finished.text)
        if not finished.succeeded or not found:
            raise ToolError(
                f"'{self.path}' does not respond to --version like ptxas",
                "expected NVIDIA's ptxas from CUDA 11.0 or later",
                details=finished.text,
            )
        release = int(found[1]), int(found[2])
        _remember_release(self.path, release)
        return release

    def assemble(
        self,
        ptx: str,
        *,
        arch: str,
        level: int = 3,
        lineinfo: bool = False,
        debug_info: bool = False,
        options: Sequence[str] = (),
        time_limit: float = 300.0,
        ptx_name: str | None = None,
    ) -> Assembled:
        """Assemble a cubin for `arch` (`sm_90a`). `options` are passed to ptxas unchanged, last.

        Raises ToolError if ptxas refuses the PTX (at the source location from `.loc`, otherwise at the line of
        `ptx_name`, the saved PTX, otherwise without location), is killed by a signal, or exceeds `time_limit` seconds.
        """
        with TemporaryFolder("tessera-ptxas") as folder:
            source = folder.write("kernel.ptx", ptx.encode())
            output = os.path.join(folder.path, "kernel.cubin")
            command = [self.path, "-v", f"-arch={arch}", f"-O{level}"]
            command += ["-lineinfo"] if lineinfo else []
            command += ["-g"] if debug_info else []
            command += [*options, source, "-o", output]
            finished = self._run(command, time_limit)
            if not finished.succeeded:
                raise _refusal(finished, ptx, ptx_name, source)
            report = parse_report(finished.text)
            try:
                with open(
                    os.open(output, os.O_RDONLY | os.O_NONBLOCK), "rb"
                ) as file:  # opening a FIFO would block
                    cubin = file.read(_CUBIN_LIMIT)
            except OSError as failure:
                raise ToolError(
                    f"ptxas succeeded, but its cubin cannot be read: {os_reason(failure)}",
                    "an option given to ptxas may send its output elsewhere",
                    details=finished.text,
                ) from None
        if not cubin.startswith(b"\x7fELF"):
            raise ToolError(
                "the output of ptxas is not a cubin: it is not an ELF file", details=finished.text
            )
        missing = elf_size(cubin) - len(cubin)
        if missing > 0:
            # ptxas does not report that it could not write.
            whole = len(cubin) + missing
            raise ToolError(
                f"ptxas succeeded, but wrote only {len(cubin)} of the {whole} bytes of its cubin",
                "set TMPDIR to a directory with more free space",
                details=finished.text,
            )
        return Assembled(cubin, report, command, finished.seconds, finished.text)

    def _run(self, command: list[str], time_limit: float) -> Finished:
        try:
            finished = run(command, time_limit=time_limit, env=allocating())
        except OSError as failure:
            raise ToolError(
                f"ptxas cannot be started at '{self.path}': {os_reason(failure)}",
                "expected NVIDIA's ptxas; install it with pip install nvidia-cuda-nvcc",
            ) from None
        if finished.timed_out:
            raise ToolError(
                f"ptxas timed out after {time_limit:g} s",
                "use a smaller tile or a lower -O, or raise the limit with --ptxas-timeout",
                details=finished.text,
            )
        if finished.flooded:
            raise ToolError(
                f"ptxas wrote more than {OUTPUT_LIMIT >> 20} MiB of messages and was stopped",
                f"expected NVIDIA's ptxas at '{self.path}'",
                details=finished.text[:_DETAILS_KEPT],
            )
        if finished.signal is not None:
            raise ToolError(
                f"ptxas was killed by {signal_name(finished.signal)}",
                "--save-temps=DIR keeps the PTX; another release of ptxas may compile it",
                details=finished.text,
            )
        return finished


def _refusal(finished: Finished, ptx: str, ptx_name: str | None, source: str) -> ToolError:
    """The error for a nonzero exit status: all errors of ptxas, each at its location.

    `source` is the temporary input file, which no message should mention.
    """
    shown = ptx_name or "kernel.ptx"
    messages = [replace(m, text=m.text.replace(source, shown)) for m in parse_report(finished.text).messages]
    errors = [message for message in messages if message.severity in ("error", "fatal")]
    # `Ptx assembly aborted due to errors` adds nothing to the errors themselves.
    errors = [message for message in errors if "aborted due to errors" not in message.text] or errors
    if not errors:
        reason = messages[-1].text if messages else "no message"
        return ToolError(f"ptxas failed with status {finished.status}: {reason}", details=finished.text)
    first = errors[0]
    failure = ToolError(
        f"ptxas: {first.text}",
        None if first.line is None else f"at line {first.line} of the PTX",
        line=first.line,
        location=_place(ptx, first, ptx_name),
        details=finished.text,
    )
    for message in errors[1:_MOST_REPORTED]:
        place = _place(ptx, message, ptx_name)
        failure.diagnostics.append(Diagnostic("error", place, f"ptxas: {message.text}"))
    return failure


def _place(ptx: str, message: Message, ptx_name: str | None) -> HasStart | None:
    if message.line is None:
        return None
    found = locate(ptx, message.line)
    if found is None and ptx_name is not None:
        return Position(ptx_name, message.line, 1)
    return found


_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"\n]*)"', re.MULTILINE)
# The begin or end of a function: a `.loc` before it belongs to another function.
_BOUNDARY = re.compile(r"\}|.*\.(?:entry|func)\b")


def locate(ptx: str, line: int) -> Position | None:
    """The source position of a line of PTX (counted from 1), from the last `.loc` before it in its function.

    PTX ISA, "Debugging Directives": `.loc file line column` holds for the statements that follow, and `.file`
    names the files. Line 0 means "no source line". None if the PTX has no position.
    """
    lines = ptx.split("\n")
    for text in reversed(lines[: max(0, min(line, len(lines)))]):
        found = _LOC.match(text)
        if found and int(found[2]) > 0:
            name = dict(_FILE.findall(ptx)).get(found[1])
            return Position(name, int(found[2]), max(1, int(found[3]))) if name is not None else None
        if _BOUNDARY.match(text):
            return None
    return None


def _release_cache() -> str | None:
    folder = cache_folder()
    return os.path.join(folder, "ptxas-releases") if folder is not None else None


def _cached_release(path: str) -> tuple[int, int] | None:
    cache = _release_cache()
    if cache is None:
        return None
    try:
        current = identity(path)
        with open(cache, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                major, minor, known = line.rstrip("\n").split(" ", 2)
                if known == current:
                    return int(major), int(minor)
    except (OSError, ValueError):
        pass  # no cache, or not ours: run ptxas
    return None


def _remember_release(path: str, release: tuple[int, int]) -> None:
    """Add a line to the cache. A failure is not an error: it costs the next run 5 ms."""
    cache = _release_cache()
    if cache is None:
        return
    try:
        line = f"{release[0]} {release[1]} {identity(path)}\n"
        # One short write in append mode: concurrent compilers cannot interleave their lines.
        descriptor = os.open(cache, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, line.encode("utf-8", "surrogateescape"))
        finally:
            os.close(descriptor)
    except OSError:
        pass


def elf_size(data: bytes) -> int:
    """The bytes that the headers of a 64-bit ELF file of this byte order describe; the length of a whole header, if
    there is none (elf(5))."""
    if len(data) < _ELF_HEADER:
        return _ELF_HEADER

    def number(at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], "little")

    segments, sections = number(32, 8), number(40, 8)
    end = max(
        _ELF_HEADER,
        segments + number(54, 2) * number(56, 2) if segments else 0,
        sections + number(58, 2) * number(60, 2) if sections else 0,
    )
    if len(data) < end:
        return end
    for at in range(sections, sections + number(58, 2) * number(60, 2), number(58, 2) or 1):
        if number(at + 4, 4) != _NOBITS:
            end = max(end, number(at + 24, 8) + number(at + 32, 8))
    return end
