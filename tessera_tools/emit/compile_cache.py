"""The compile cache: results of earlier compilations.

input, options, tools ──key_of──▶ <cache>/compile/<key> ──once──▶ Entry(compiled, diagnostics, facts), read or made

The key is a digest of all inputs of the result: the input's bytes and name, the options, this package's
files, LLVM, ptxas and nvdisasm.  An entry is one file, written whole; its digest tells a damaged one, which counts as
absent.  The folder is the user's own (`tessera_tools.cache`), because a cubin from it is run.  When the entries exceed
`TESSERA_CACHE_LIMIT` (MiB; 512 if unset, 0 turns the cache off), those that were not used for the longest time go.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from tessera_tools.cache import cache_folder, digest
from tessera_tools.diagnostics import Diagnostic, Position, Remark, emit, record
from tessera_tools.emit.compiled import Compiled, Options
from tessera_tools.emit.errors import ToolError
from tessera_tools.records import Json, asdict, dataclass, field, fields
from tessera_tools.target import Target

if TYPE_CHECKING:
    from tessera_tools.emit.resources import Report

__all__ = [
    "Entry",
    "Listed",
    "cache_limit",
    "clear",
    "compile_folder",
    "entries",
    "key_of",
    "leftovers",
    "load",
    "own_identity",
    "once",
    "store",
]

FORMAT = 3
"""The version of the entry format."""
MAGIC = b"TesseraCache"
_DIGEST = 32
_LENGTH = 8
_LARGEST = 256 << 20
"""The maximum size of an entry, in bytes."""
_TEMPORARY = re.compile(r"\..*\.(\d+)-[0-9a-f]+\.tmp")
"""The name of an incomplete file, with the process that writes it (emit/files.py)."""
_LONG = 3600.0
"""Seconds without a write after which an incomplete file has no writer, whichever process has its number."""
_DEFAULT_LIMIT = 512
"""The default limit of all entries, in MiB."""


@dataclass(slots=True)
class Entry:
    """A stored compilation."""

    compiled: Compiled
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    """The emitted diagnostics (remarks and warnings), in order."""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further JSON data of the caller."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One entry in the list of `tessera-cache`."""

    key: str
    source: str
    """The name of the input."""
    target: str
    until: str
    size: int
    """Bytes."""
    used: float
    """When it was last read or written, in seconds since the epoch."""


# -- keys


def key_of(data: bytes, name: str, options: Options, target: Target | None, **more: object) -> str | None:
    """The key of a compilation: 64 hexadecimal digits; None if the cache is off or a tool cannot be found.

    data, name: the input and its name, which messages and line information show.
    target: the requested GPU; None if the input determines it, independent of `options.target`.
    more: further options of the caller, as JSON data.
    """
    if compile_folder() is None:
        return None
    chosen = {one.name: getattr(options, one.name) for one in fields(options) if one.name != "target"}
    chosen["off"] = sorted(options.off)
    try:
        tools = _tools(options)
        # Line information has absolute paths.
        folder = os.getcwd() if options.lineinfo or options.debug_info else ""
    except (ToolError, OSError):
        # The compilation reports a missing tool, and does not need the working directory, which may have been removed.
        return None
    parts = {
        "format": FORMAT,
        "tool": own_identity(),
        "tools": tools,
        "input": digest(data).hex(),
        "name": name,
        "folder": folder,
        "target": target.cpu if target is not None else None,  # sm_100a and sm_100f have one name
        "options": chosen,
        "more": more,
    }
    return digest(json.dumps(parts, sort_keys=True).encode("ascii")).hex()


def _tools(options: Options) -> list[str]:
    """The identity of the tools.  ptxas determines the PTX version, so every later stage depends on it."""
    from tessera_tools.emit.tools import find_tool, identity

    found: list[str] = []
    if options.until == "llvmir" and not options.all_stages:
        return found
    needs_ptxas = options.until in ("cubin", "sass") or options.ptxas is not None
    for name, given, wheel, needed in (
        ("ptxas", options.ptxas, "nvidia-cuda-nvcc", needs_ptxas),
        ("nvdisasm", options.nvdisasm, "nvidia-cuda-nvdisasm", options.until == "sass"),
    ):
        try:
            found.append(identity(find_tool(name, option=given, wheel=wheel)))
        except ToolError:
            if needed:
                raise
            found.append("")
    return found


def own_identity() -> list[str]:
    """The identity of this package, llvmlite and Python: changed files differ in time or size."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found: list[str] = []
    folders = [package]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for one in entries:
                name = one.name
                if name.endswith((".py", ".json", ".lark")):
                    status = os.stat(one.path)
                    found.append(f"{one.path} {status.st_mtime_ns} {status.st_size}\n")
                elif "." not in name and name != "__pycache__" and one.is_dir(follow_symlinks=False):
                    folders.append(one.path)
    found.sort()
    state = digest("".join(found).encode("utf-8", "surrogateescape"))
    return [state.hex(), _llvm_identity(), sys.version]


def _llvm_identity() -> str:
    for folder in sys.path:
        path = os.path.join(folder, "llvmlite", "_version.py")
        with suppress(OSError):
            status = os.stat(path)
            return f"{os.path.realpath(path)} {status.st_mtime_ns} {status.st_size}"
    return ""


# -- the folder


def cache_limit() -> int:
    """The limit of all entries in bytes; 0 if the cache is off. Raises ToolError if the value is not a number."""
    given = os.environ.get("TESSERA_CACHE_LIMIT", "").strip()
    if given and not (given.isascii() and given.isdigit() and len(given) < 10):
        raise ToolError(
            f"TESSERA_CACHE_LIMIT is '{given}'; expected a number of MiB, as in TESSERA_CACHE_LIMIT=1024",
            "0 turns the compile cache off",
        )
    return int(given or _DEFAULT_LIMIT) << 20


def compile_folder() -> str | None:
    """The folder of the entries, created if it is missing; None if the cache is off or there is no private folder."""
    folder = cache_folder() if cache_limit() else None
    if folder is None:
        return None
    path = os.path.join(folder, "compile")
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError:
        return None
    return None if os.path.islink(path) else path


def load(key: str | None) -> Entry | None:
    """The entry of `key`, marked as used; None if there is none, or it is damaged."""
    folder = compile_folder() if key is not None else None
    if key is None or folder is None:
        return None
    path = os.path.join(folder, key)
    try:
        with _opened(path) as file:
            data = file.read(_LARGEST + 1)
    except OSError:
        return None
    try:
        found = _decoded(data, key)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ToolError):
        with suppress(OSError):
            os.unlink(path)
        return None
    with suppress(OSError):
        os.utime(path)
    return found


def store(key: str | None, entry: Entry, *, source: str) -> None:
    """Store an entry. A full disk or a result that is too large is not an error: the next run compiles again."""
    from tessera_tools.emit.files import write_output

    folder = compile_folder() if key is not None else None
    if key is None or folder is None:
        return
    path = os.path.join(folder, key)
    data = _encoded(entry, key, source)
    limit = cache_limit()
    if len(data) > min(_LARGEST, limit):
        return
    with suppress(ToolError, OSError):
        if os.path.lexists(path) and not _is_file(path):
            # A pipe is written through, which would block, and a link is followed.
            os.unlink(path)
        write_output(path, data)
        _trim(folder, limit)


def _opened(path: str) -> BinaryIO:
    """The file, opened for reading. Raises OSError for a link, a pipe or a device, without waiting for it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    file = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise OSError(f"'{path}' is not a file")
    return file


def _is_file(path: str) -> bool:
    return stat.S_ISREG(os.lstat(path).st_mode)


def once(
    key: str | None,
    source: str,
    make: Callable[[], Entry],
    on_stage: Callable[[str, str | bytes], object] | None = None,
) -> Entry:
    """The entry of `key`, or what `make` returns, which is kept with what was emitted meanwhile.

    If an entry is found, its diagnostics are emitted again, and `on_stage` is called with each of its stages.
    source: the name of the input, for `tessera-cache`.
    """
    found = load(key)
    if found is not None:
        for stage, data in found.compiled.stages.items():
            if on_stage is not None:
                on_stage(stage, data)
        for diagnostic in found.diagnostics:
            emit(diagnostic)
        return found
    with record() as emitted:
        made = make()
    made.diagnostics = emitted
    store(key, made, source=source)
    return made


def entries() -> list[Listed]:
    """The entries of the cache, the last used first."""
    folder = compile_folder()
    found: list[Listed] = []
    for path, status in _files(folder) if folder is not None else ():
        try:
            with _opened(path) as file:
                head, _ = _head(file.read(len(MAGIC) + _DIGEST + _LENGTH + 4096), partial=True)
            about = head["about"]
            listed = Listed(
                os.path.basename(path),
                str(about["source"]),
                str(about["target"]),
                str(about["until"]),
                status.st_size,
                status.st_mtime,
            )
        except (OSError, ValueError, KeyError, TypeError):
            listed = Listed(os.path.basename(path), "(damaged)", "", "", status.st_size, status.st_mtime)
        found.append(listed)
    return sorted(found, key=lambda one: -one.used)


def clear() -> int:
    """Remove all entries, and incomplete files that nobody writes any more; returns the number of entries."""
    folder = compile_folder()
    if folder is None:
        return 0
    _remove_leftovers(folder)
    return sum(_remove(path) for path, _ in list(_files(folder)))


def leftovers() -> int:
    """The bytes of incomplete files whose writers were killed."""
    folder = compile_folder()
    return sum(status.st_size for _, status in _leftovers(folder)) if folder is not None else 0


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def _scan(folder: str) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    try:
        with os.scandir(folder) as found:
            for one in found:
                with suppress(OSError):  # another process may remove it
                    if one.is_file(follow_symlinks=False):
                        yield one, one.stat()
    except OSError:
        return


def _files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """The paths of the entries, without incomplete files, whose names begin with a dot."""
    for one, status in _scan(folder):
        if not one.name.startswith("."):
            yield one.path, status


def _leftovers(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """The paths of incomplete files whose writers have ended, or have written nothing for long."""
    for one, status in _scan(folder):
        written = _TEMPORARY.fullmatch(one.name)
        if written is not None and (
            time.time() - status.st_mtime > _LONG or not _is_running(int(written[1]))
        ):
            yield one.path, status


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _remove_leftovers(folder: str) -> None:
    for path, _ in list(_leftovers(folder)):
        _remove(path)


def _trim(folder: str, limit: int) -> None:
    """Remove incomplete files of killed processes, and the entries that were not used for the longest time until the
    rest fits."""
    _remove_leftovers(folder)
    files = sorted(_files(folder), key=lambda one: one[1].st_mtime)
    total = sum(status.st_size for _, status in files)
    for path, status in files:
        if total <= limit:
            return
        with suppress(OSError):
            os.unlink(path)
        total -= status.st_size


# -- entries as bytes: magic, digest of the rest, length of the head, head (JSON), the stages one after the other


def _encoded(entry: Entry, key: str, source: str) -> bytes:
    made = entry.compiled
    blobs: list[bytes] = []
    stages: list[list[object]] = []
    for name, data in made.stages.items():
        raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
        blobs.append(raw)
        stages.append([name, "bytes" if isinstance(data, bytes) else "text", len(raw)])
    manifest = made.manifest
    head = {
        "about": {
            "source": source[-500:],
            "target": manifest.target if manifest is not None else "",
            "until": stages[-1][0] if stages else "",
        },
        "format": FORMAT,
        "key": key,
        "stages": stages,
        "manifest": manifest.to_json() if manifest is not None else None,
        "report": asdict(made.report) if made.report is not None else None,
        "warnings": made.warnings,
        "command": made.ptxas_command,
        "output": made.ptxas_output,
        "diagnostics": [_diagnostic_data(one) for one in entry.diagnostics],
        "facts": dict(entry.facts),
    }
    text = json.dumps(head).encode("ascii")
    rest = len(text).to_bytes(_LENGTH, "little") + text + b"".join(blobs)
    return MAGIC + digest(rest) + rest


def _head(data: bytes, partial: bool = False) -> tuple[dict[str, Any], int]:
    """The head, and the offset of the stages. `partial`: `data` is the beginning of an entry; only `about` is
    needed."""
    start = len(MAGIC) + _DIGEST + _LENGTH
    if len(data) < start or not data.startswith(MAGIC):
        raise ValueError("not an entry")
    end = start + int.from_bytes(data[start - _LENGTH : start], "little")
    if partial:
        about, _ = json.JSONDecoder().raw_decode(data[start:].decode("latin-1"), len('{"about": '))
        return {"about": about}, end
    if end > len(data):
        raise ValueError("cut off")
    head = json.loads(data[start:end])
    if head["format"] != FORMAT:
        raise ValueError("another format")
    return head, end


def _decoded(data: bytes, key: str) -> Entry:
    """The entry. Raises ValueError if it is damaged, or was stored for another key."""
    from tessera_tools.emit.manifest import Manifest

    begin = len(MAGIC)
    if len(data) > _LARGEST or digest(data[begin + _DIGEST :]) != data[begin : begin + _DIGEST]:
        raise ValueError("damaged")
    head, at = _head(data)
    if head["key"] != key:
        raise ValueError("of another key")
    made = Compiled(warnings=list(head["warnings"]), ptxas_command=list(head["command"]))
    made.ptxas_output = str(head["output"])
    for name, kind, size in head["stages"]:
        raw = data[at : at + size]
        made.stages[name] = raw if kind == "bytes" else raw.decode("utf-8", "surrogatepass")
        at += size
    if head["manifest"] is not None:
        made.manifest = Manifest.from_json(head["manifest"])
        made.plans = made.manifest.plans
    if head["report"] is not None:
        made.report = _report(head["report"])
    return Entry(made, [_diagnostic(one) for one in head["diagnostics"]], head["facts"])


def _report(data: Mapping[str, Any]) -> Report:
    from tessera_tools.emit.resources import Message, Report, Resources

    def banks(found: Mapping[str, int]) -> dict[int, int]:
        return {int(bank): size for bank, size in found.items()}

    functions: dict[str, Resources] = {}
    for name, used in data["functions"].items():
        counts: dict[str, Any] = {**used, "constants": banks(used["constants"])}
        functions[name] = Resources(**counts)
    messages = [Message(**message) for message in data["messages"]]
    return Report(functions, messages, data["global_bytes"], banks(data["constants"]))


_REMARK_FIELDS = ("source", "rule", "category", "function", "kind")


def _diagnostic_data(one: Diagnostic) -> list[Json]:
    place = one.location.start() if one.location is not None else None
    remark = [getattr(one, name) for name in _REMARK_FIELDS] if isinstance(one, Remark) else None
    return [one.severity, place, one.message, [_diagnostic_data(note) for note in one.notes], remark]


def _diagnostic(data: Sequence[Any]) -> Diagnostic:
    severity, place, message, notes, remark = data
    location = Position(*place) if place is not None else None
    rest = [_diagnostic(note) for note in notes]
    if remark is None:
        return Diagnostic(severity, location, message, rest)
    return Remark(severity, location, message, rest, **dict(zip(_REMARK_FIELDS, remark, strict=True)))
