"""`--launch FILE.json`: a launch with raw images of its buffers, for programs that invoke tessera-run.

    {"entry": "gemm", "grid": [4, 4, 1],
     "buffers": {"A": {"file": "A.bin", "out": "A.after.bin"},
                 "T": {"file": "T.bin", "pointers": [{"at": 0, "to": "A", "offset": 0}]}},
     "args": [{"pointer": "A", "offset": 0}, {"i32": 128}, {"f32": 0.125}]}

Optional: `block`, `cluster` and `shared` (bytes) of the launch; a buffer may have `size` (bytes of zeros) instead of
`file`; `"args"` may contain `{"bytes": "00ff…"}` and `{"pointer": "A"}`. Files are relative to the JSON's folder. They
must be inside it unless the user allows others, because a launch file may be untrusted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tessera_tools.diagnostics import DiagnosticError, Position, error
from tessera_tools.runtime.arguments import LARGEST, read_bytes
from tessera_tools.runtime.interface import Buffer, Device
from tessera_tools.runtime.signature import Scalar, Shape
from tessera_tools.runtime.types import TYPES, lookup_type

__all__ = ["BufferImage", "LaunchFile", "PointerArgument", "read_launch"]


_LONGEST = 64 << 20
"""Maximum bytes of a launch file."""


@dataclass(frozen=True, slots=True)
class BufferImage:
    """A buffer: the file of its initial image (or `size` zero bytes), the file of its final image, and its pointers."""

    name: str
    file: str | None
    size: int
    out: str | None
    pointers: tuple[tuple[int, str, int], ...] = ()
    """(at, to, offset): byte `at` contains the address of buffer `to` plus `offset`."""


@dataclass(frozen=True, slots=True)
class PointerArgument:
    """The address of a buffer plus `offset` bytes."""

    buffer: str
    offset: int


@dataclass(slots=True)
class LaunchFile:
    """The validated content of the JSON file."""

    path: str
    allow_outside: bool = False
    """Whether files may be outside the JSON's folder."""
    entry: str | None = None
    grid: Shape | None = None
    block: Shape | None = None
    cluster: Shape | None = None
    shared: int | None = None
    buffers: dict[str, BufferImage] = field(default_factory=dict[str, BufferImage])
    args: list[PointerArgument | Scalar] = field(default_factory=list[PointerArgument | Scalar])

    def resolve(self, file: str, where: str) -> str:
        """The path of a file, relative to the JSON's folder. Raises DiagnosticError for one outside, at `where`."""
        folder = os.path.dirname(self.path)
        path = os.path.join(folder, file)
        inside = os.path.realpath(folder or ".")
        if not self.allow_outside and os.path.commonpath([inside, os.path.realpath(path)]) != inside:
            raise error(
                None,
                f"{self.path}: {where}: '{file}' is outside the folder of the launch file",
                "--allow-outside allows it",
            )
        return path

    def images(self) -> dict[str, bytes]:
        """The image of every buffer. Raises DiagnosticError for an unreadable file, or a pointer out of bounds."""
        found: dict[str, bytes] = {}
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if (total := sum(image.size for image in self.buffers.values())) > memory // 4:
            raise _bad(
                self.path, "buffers", f"{total:,} bytes of zeros", f"at most {memory // 4:,} on this machine"
            )
        for name, image in self.buffers.items():
            where = f"buffers.{name}.file"
            if image.out is not None:
                self.resolve(image.out, f"buffers.{name}.out")  # Rejected before anything runs.
            if image.file is None:
                found[name] = bytes(image.size)
            else:
                found[name] = read_bytes(self.resolve(image.file, where), f"{self.path}: {where}")
            for at, _, _ in image.pointers:
                if at + 8 > len(found[name]):
                    raise _bad(
                        self.path, f"buffers.{name}.pointers",
                        f"a pointer at byte {at} of {len(found[name])}", "8 bytes inside the buffer",
                    )  # fmt: skip
        return found

    def place(self, device: Device, images: Mapping[str, bytes]) -> dict[str, Buffer]:
        """The buffers on a device, with their pointers filled in."""
        made = {
            name: device.buffer(np.frombuffer(raw, np.uint8).copy(), name, TYPES["u8"])
            for name, raw in images.items()
        }
        for name, image in self.buffers.items():
            for at, to, offset in image.pointers:
                made[name].write(np.array([made[to].address + offset], "<u8").view(np.uint8), at)
        return made

    def arguments(self, buffers: Mapping[str, Buffer]) -> list[Buffer | Scalar]:
        """One per parameter: a buffer, an address inside one, or a number."""
        found: list[Buffer | Scalar] = []
        for argument in self.args:
            if isinstance(argument, Scalar):
                found.append(argument)
            elif argument.offset == 0:
                found.append(buffers[argument.buffer])
            else:
                found.append(Scalar(buffers[argument.buffer].address + argument.offset))
        return found


def _bad(path: str, where: str, found: str, expected: str) -> DiagnosticError:
    return error(None, f"{path}: {where}: found {found}, expected {expected}")


class _Object:
    """A JSON object during validation; `where` is its path, for messages."""

    def __init__(self, data: object, path: str, where: str, known: tuple[str, ...]) -> None:
        self.path, self.where = path, where
        if not isinstance(data, dict):
            raise _bad(path, where, _kind(data), "an object")
        unknown = sorted(set(data) - set(known))
        if unknown:
            raise _bad(path, where, f"the field '{unknown[0]}'", f"only {', '.join(known)}")
        self.data: dict[str, Any] = data

    def has(self, key: str) -> bool:
        return self.data.get(key) is not None

    def bad(self, key: str, expected: str) -> DiagnosticError:
        found = _kind(self.data[key]) if key in self.data else "nothing"
        where = f"{self.where}.{key}" if self.where != "the launch" else key
        return _bad(self.path, where, found, expected)

    def text(self, key: str) -> str:
        value = self.data.get(key)
        if not isinstance(value, str) or not value:
            raise self.bad(key, "a text")
        if not value.isprintable():
            raise self.bad(key, "a string without control characters")
        return value

    def count(self, key: str, most: int = LARGEST) -> int:
        value = self.data.get(key, 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.bad(key, "a whole number of 0 or more")
        if value > most:
            raise self.bad(key, f"at most {most:,}")
        return value

    def shape(self, key: str) -> Shape:
        value = self.data[key]
        whole = isinstance(value, list) and 1 <= len(value) <= 3
        if not whole or not all(
            isinstance(n, int) and not isinstance(n, bool) and 0 < n < 1 << 31 for n in value
        ):
            raise self.bad(key, "a list of one to three numbers from 1 to 2147483647")
        x, y, z = (*value, 1, 1)[:3]
        return x, y, z


def _kind(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    try:
        text = json.dumps(value)
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= 40 else text[:37] + "..."


def read_launch(path: str, *, allow_outside: bool = False) -> LaunchFile:
    """Read and validate a launch. Raises DiagnosticError for invalid content."""
    raw = read_bytes(path, "--launch", _LONGEST)
    try:
        data = json.loads(raw)
    except json.JSONDecodeError as failure:
        place = Position(path, failure.lineno, failure.colno)
        raise error(place, f"this is not JSON: {failure.msg.lower()}") from None
    except (UnicodeDecodeError, RecursionError):
        raise error(None, f"{path}: this is not JSON: it is not UTF-8 text, or nested too deeply") from None
    except ValueError:
        raise error(None, f"{path}: a number has thousands of digits, expected at most 64 bits") from None
    fields = ("entry", "grid", "block", "cluster", "shared", "buffers", "args")
    top = _Object(data, path, "the launch", fields)
    launch = LaunchFile(path, allow_outside)
    if top.has("entry"):
        launch.entry = top.text("entry")
    if top.has("grid"):
        launch.grid = top.shape("grid")
    if top.has("block"):
        launch.block = top.shape("block")
    if top.has("cluster"):
        launch.cluster = top.shape("cluster")
    if top.has("shared"):
        launch.shared = top.count("shared")
    buffers = top.data.get("buffers", {})
    if not isinstance(buffers, dict):
        raise top.bad("buffers", "an object, buffers by name")
    for name, item in buffers.items():
        launch.buffers[name] = _buffer(name, item, path)
    for name, image in launch.buffers.items():
        for number, (_, to, _) in enumerate(image.pointers):
            _known(path, f"buffers.{name}.pointers[{number}].to", to, launch)
    args = top.data.get("args", [])
    if not isinstance(args, list):
        raise top.bad("args", "a list")
    launch.args = [_argument(item, f"args[{number}]", launch) for number, item in enumerate(args)]
    return launch


def _known(path: str, where: str, name: str, launch: LaunchFile) -> None:
    if name not in launch.buffers:
        raise _bad(
            path, where, f"'{name}'", f"one of the buffers {', '.join(launch.buffers) or '(there are none)'}"
        )


def _buffer(name: str, item: object, path: str) -> BufferImage:
    where = f"buffers.{name}"
    entry = _Object(item, path, where, ("file", "size", "out", "pointers"))
    if entry.has("file") == entry.has("size"):
        found = "both" if entry.has("file") else "neither"
        raise _bad(path, where, f"{found} of 'file' and 'size'", "one of them")
    listed = entry.data.get("pointers", [])
    if not isinstance(listed, list):
        raise entry.bad("pointers", "a list")
    pointers: list[tuple[int, str, int]] = []
    for number, one in enumerate(listed):
        pointer = _Object(one, path, f"{where}.pointers[{number}]", ("at", "to", "offset"))
        pointers.append((pointer.count("at"), pointer.text("to"), pointer.count("offset")))
    return BufferImage(
        name,
        entry.text("file") if entry.has("file") else None,
        entry.count("size"),
        entry.text("out") if entry.has("out") else None,
        tuple(pointers),
    )


def _argument(item: object, where: str, launch: LaunchFile) -> PointerArgument | Scalar:
    path = launch.path
    form = '{"pointer": BUFFER, "offset": BYTES} or {TYPE: NUMBER}'
    if not isinstance(item, dict) or not item:
        raise _bad(path, where, _kind(item), form)
    if "pointer" in item:
        pointer = _Object(item, path, where, ("pointer", "offset"))
        _known(path, f"{where}.pointer", pointer.text("pointer"), launch)
        return PointerArgument(pointer.text("pointer"), pointer.count("offset"))
    (kind, value), *more = item.items()
    if kind == "bytes" and isinstance(value, str) and not more:
        try:
            return Scalar(bytes.fromhex(value))
        except ValueError:
            raise _bad(path, where, f"'{value[:40]}'", "a row of hexadecimal bytes") from None
    type = lookup_type(kind)
    if type is None or more:
        raise _bad(path, where, _kind(item if more else kind), form)
    if isinstance(value, str) and value.lower() in ("inf", "-inf", "nan") and type.kind == "f":
        value = float(value)  # JSON does not have these numbers.
    if isinstance(value, bool) and type.name == "i1":
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int if type.kind != "f" else int | float):
        raise _bad(path, where, _kind(value), f"a number of type {type.name}")
    if type.kind != "f" and not -(1 << type.bits - 1) <= value < 1 << type.bits:
        raise _bad(path, where, str(value), f"a number that fits {type.name}")
    if type.kind == "i" and value >= 1 << type.bits - 1:
        value -= 1 << type.bits
    if type.kind != "f":
        return Scalar(value, type)
    try:
        return Scalar(float(value), type)
    except OverflowError:
        raise _bad(path, where, _kind(value), f"a number of type {type.name}") from None
