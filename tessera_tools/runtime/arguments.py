"""Arguments as text: `--arg`, `--out` and `--expect` of tessera-run.

    "A=rand:f16:128x64" ──parse_argument──▶ BufferSpec("A", …) ──array(random)──▶ ndarray of the type's storage
    "i32:128"           ──parse_argument──▶ Scalar(128, i32)

Files are read when the array is made, so that the text is checked first. Every error is a DiagnosticError that
begins with the text as the user wrote it.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tessera_tools.diagnostics import Diagnostic, DiagnosticError, error
from tessera_tools.runtime.signature import Scalar
from tessera_tools.runtime.types import TYPES, Array, Type, lookup_type, type_of_array

__all__ = [
    "FORMS",
    "LARGEST",
    "BufferSpec",
    "Expectation",
    "MapSpec",
    "parse_argument",
    "parse_expectation",
    "parse_output",
    "read_array",
    "read_bytes",
]


FORMS = (
    "NAME=rand:TYPE:SHAPE, zeros:TYPE:SHAPE, full:TYPE:SHAPE:VALUE, arange:TYPE:SHAPE, @FILE.npy, "
    "@FILE.bin:TYPE:SHAPE, or a number as TYPE:VALUE"
)
_NAME = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_CHUNK = 1 << 20
LARGEST = 1 << 36
"""Bytes of the largest buffer: a larger size is probably a typing error."""


@dataclass(frozen=True, slots=True)
class BufferSpec:
    """A buffer to create. `how` is rand, zeros, full, arange, npy or bin; `name` is empty if none was given."""

    name: str
    how: str
    text: str
    type: Type | None = None
    shape: tuple[int, ...] = ()
    value: float = 0.0
    path: str = ""

    def array(self, random: np.random.Generator) -> tuple[Array, Type]:
        """The content, in the type's storage, and the type. Raises DiagnosticError."""
        if self.how in ("npy", "bin"):
            return read_array(self.path, self.type, self.shape or None, self.text)
        type = self.type
        assert type is not None
        count = math.prod(self.shape)
        if self.how == "arange":
            # The values wrap around at the type's largest consecutive integer: 2048 for f16.
            period = {"i1": 2, "f16": 2048, "bf16": 256, "f8e4m3": 16, "f8e5m2": 8}.get(type.name, 1 << 24)
            if type.bits == 8 and type.kind != "f":
                period = 128
            values: Array = np.arange(count) % period
            if type.name == "f8e8m0":
                values = 2.0 ** (values % 16)
        elif self.how == "rand":
            values = _random(random, type, count)
        else:
            values = np.full(count, self.value if self.how == "full" else 0)
        try:
            return type.encode(values).reshape(self.shape), type
        except DiagnosticError as failure:
            raise _bad(self.text, failure.diagnostics[0].message) from None


@dataclass(frozen=True, slots=True)
class MapSpec:
    """A tensor map of an earlier buffer: `tensormap:A:64x32[:swizzle=128B]`, box outermost first like shapes."""

    name: str
    buffer: str
    box: tuple[int, ...]
    swizzle: str
    fill: str
    text: str


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expected content of a buffer after the launch: |found - expected| <= atol + rtol * |expected|."""

    buffer: str
    source: BufferSpec | None
    path: str
    rtol: float
    atol: float
    text: str


def _bad(text: str, message: str, *notes: str) -> DiagnosticError:
    return error(None, f"'{text}': {message}", *notes)


def _random(random: np.random.Generator, type: Type, count: int) -> Array:
    """Floats from -1 to 1, f8e8m0 powers of two, i1 and 8-bit integers over their range, others -100 to 100."""
    if type.name == "f8e8m0":
        return 2.0 ** random.integers(-4, 5, count)
    if type.kind == "f":
        return random.uniform(-1, 1, count)
    low, high = (0, 1 << type.bits) if type.kind == "u" else (-(1 << type.bits - 1), 1 << type.bits - 1)
    if type.bits > 8:
        low, high = max(low, -100), min(high, 101)
    return random.integers(low, high, count)


def _type(text: str, name: str) -> Type:
    found = lookup_type(name)
    if found is None:
        raise _bad(text, f"unknown type '{name}'", f"expected one of {', '.join(TYPES)}")
    return found


def _shape(text: str, given: str, type: Type) -> tuple[int, ...]:
    parts = given.split("x")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise _bad(text, f"the shape is '{given}'", "expected numbers with x between them, as in 128x64")
    shape = tuple(map(int, parts))
    if math.prod(shape) * type.size > LARGEST:
        raise _bad(text, f"{math.prod(shape) * type.size:,} bytes; expected at most {LARGEST:,}")
    return shape


def _number(text: str, given: str, type: Type) -> float:
    try:
        return int(given, 0) if type.kind != "f" else float(given)
    except ValueError:
        pass
    raise _bad(text, f"'{given}' is not a number of type {type.name}")


def parse_argument(text: str) -> BufferSpec | MapSpec | Scalar:
    """One `--arg`. Raises DiagnosticError."""
    match = _NAME.fullmatch(text)
    name, rest = match.groups() if match else ("", text)
    if rest.startswith("@"):
        return _file(name, rest, text)
    how, *parts = rest.split(":")
    if how in ("rand", "zeros", "arange"):
        if len(parts) != 2:
            raise _bad(text, f"'{how}' requires a type and a shape", f"expected {how}:TYPE:SHAPE")
        type = _type(text, parts[0])
        return BufferSpec(name, how, text, type, _shape(text, parts[1], type))
    if how == "full":
        if len(parts) != 3:
            raise _bad(text, "'full' requires a type, a shape and a value", "expected full:TYPE:SHAPE:VALUE")
        type = _type(text, parts[0])
        shape = _shape(text, parts[1], type)
        return BufferSpec(name, how, text, type, shape, _number(text, parts[2], type))
    if how == "tensormap":
        return _map(name, parts, text)
    if how == "bytes" and len(parts) == 1:
        try:
            return Scalar(bytes.fromhex(parts[0]))
        except ValueError:
            raise _bad(text, f"'{parts[0]}' is not a row of hexadecimal bytes") from None
    if len(parts) == 1:
        if how == "ptr":
            return Scalar(int(_number(text, parts[0], TYPES["u64"])), TYPES["u64"])
        type = _type(text, how)
        value = _number(text, parts[0], type)
        if type.kind == "i" and value >= 1 << type.bits - 1:
            value = int(value) - (1 << type.bits) if value < 1 << type.bits else value
        type.encode(np.array([value]) if type.kind == "f" else _integers(text, int(value), type))
        return Scalar(value, type)
    raise _bad(text, "not a valid argument", f"expected {FORMS}")


def _integers(text: str, value: int, type: Type) -> Array:
    if not -(1 << 63) <= value < 1 << 64:
        raise _bad(text, f"{value} does not fit {type.name}")
    return np.array([value], np.int64 if value < 1 << 63 else np.uint64)


def _file(name: str, rest: str, text: str) -> BufferSpec:
    path, *parts = rest[1:].split(":")
    if not path:
        raise _bad(text, "expected a file name after '@'")
    if not parts:
        if not path.endswith(".npy"):
            raise _bad(
                text, f"'{path}' is not a .npy file, so its type is unknown", f"expected @{path}:TYPE:SHAPE"
            )
        return BufferSpec(name, "npy", text, path=path)
    type = _type(text, parts[0])
    if len(parts) > 2 or (len(parts) == 1 and not path.endswith(".npy")):
        raise _bad(text, "a raw file requires a type and a shape", f"expected @{path}:TYPE:SHAPE")
    shape = _shape(text, parts[1], type) if len(parts) == 2 else ()
    return BufferSpec(name, "npy" if path.endswith(".npy") else "bin", text, type, shape, path=path)


def _map(name: str, parts: Sequence[str], text: str) -> MapSpec:
    form = "expected tensormap:BUFFER:BOX[:swizzle=none|32B|64B|128B][:fill=zeros|nan]"
    if len(parts) < 2 or not all(part.isascii() and part.isdigit() for part in parts[1].split("x")):
        raise _bad(text, "a tensor map requires an earlier buffer and a box", form)
    options = {"swizzle": "none", "fill": "zeros"}
    for part in parts[2:]:
        key, equals, value = part.partition("=")
        if key not in options or not equals:
            raise _bad(text, f"unknown option '{part}'", form)
        options[key] = value
    box = tuple(map(int, parts[1].split("x")))
    return MapSpec(name, parts[0], box, options["swizzle"], options["fill"], text)


def read_bytes(path: str, text: str, most: int = LARGEST) -> bytes:
    """The content of a file of at most `most` bytes; `text` is its origin in messages. Raises DiagnosticError."""
    try:
        with open(path, "rb") as file:
            if stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty() and path != os.devnull:
                raise _bad(text, f"'{path}' is a device; expected a file")
            raw = bytearray()
            while len(raw) <= most and (part := file.read(_CHUNK)):
                raw += part
    except (ValueError, UnicodeEncodeError):
        raise _bad(text, f"{path!r} is not a file name") from None
    except OSError as failure:
        reason = (failure.strerror or str(failure)).lower()
        raise _bad(text, f"cannot open '{path}': {reason}") from None
    if len(raw) > most:
        raise _bad(text, f"'{path}' is larger than {most:,} bytes")
    return bytes(raw)


def read_array(path: str, type: Type | None, shape: tuple[int, ...] | None, text: str) -> tuple[Array, Type]:
    """A .npy file (default: its own type and shape), or a raw little-endian image. Raises DiagnosticError."""
    if not path.endswith(".npy"):
        assert type is not None and shape is not None
        raw = read_bytes(path, text)
        size = math.prod(shape) * type.size
        if len(raw) != size:
            raise _bad(text, f"'{path}' has {len(raw)} bytes; the shape needs {size}")
        return np.frombuffer(raw, type.storage).reshape(shape).copy(), type
    try:
        with open(path, "rb") as file:
            array = np.load(file, allow_pickle=False)
    except OSError as failure:
        reason = (failure.strerror or str(failure)).lower()
        raise _bad(text, f"cannot open '{path}': {reason}") from None
    except (ValueError, EOFError, SyntaxError):
        raise _bad(text, f"'{path}' is not a .npy file that can be read") from None
    own = type_of_array(array)
    if own is None:
        raise _bad(text, f"'{path}' holds {array.dtype}; expected numbers")
    wanted = type or own
    array = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    if wanted is not own:
        if wanted.patterns and array.dtype.kind in "ui" and array.dtype.itemsize == wanted.size:
            array = array.view(wanted.storage)  # NumPy has no such type: the file contains patterns.
        elif wanted.size != own.size or wanted.kind == "f" or own.kind == "f":
            raise _bad(text, f"'{path}' holds {own.name}; expected {wanted.name}")
    array = array.view(wanted.storage)
    if shape is not None and array.shape != shape:
        found, expected = ("x".join(map(str, s)) for s in (array.shape, shape))
        raise _bad(text, f"'{path}' has shape {found}; expected {expected}")
    return array, wanted


def parse_output(text: str) -> tuple[str, str]:
    """`A=file.npy` of `--out`: buffer and file."""
    name, equals, path = text.partition("=")
    if not equals or not name or not path:
        raise _bad(text, "expected BUFFER=FILE.npy, or any other ending for a raw image")
    return name, path


def parse_expectation(text: str) -> Expectation:
    """`A=@file.npy:rtol=1e-3:atol=1e-3` of `--expect`. Without tolerances, the bits must be equal (or both NaN)."""
    name, equals, rest = text.partition("=")
    if not equals or not name or not rest:
        raise _bad(text, "expected BUFFER=@FILE.npy[:rtol=NUMBER][:atol=NUMBER]")
    parts = rest.split(":")
    tolerances = {"rtol": 0.0, "atol": 0.0}
    while len(parts) > 1 and parts[-1].partition("=")[0] in tolerances:
        key, _, value = parts.pop().partition("=")
        try:
            tolerances[key] = float(value)
        except ValueError:
            tolerances[key] = -1.0
        if not 0 <= tolerances[key] < math.inf:
            raise _bad(text, f"{key} is '{value}'; expected a number of 0 or more")
    rest = ":".join(parts)
    path = ""
    source: BufferSpec | None = None
    if rest.startswith("@") and len(parts) == 1:
        path = rest[1:]
    else:
        try:
            parsed = parse_argument(rest)
        except DiagnosticError as failure:
            notes = [Diagnostic("note", None, note.message) for note in failure.diagnostics[0].notes]
            only = _bad(text, failure.diagnostics[0].message.partition("': ")[2])
            only.diagnostics[0].notes += notes
            raise only from None
        if not isinstance(parsed, BufferSpec) or parsed.how == "rand":
            raise _bad(text, "expected a file, zeros, full or arange after '='")
        source = parsed
    return Expectation(name, source, path, tolerances["rtol"], tolerances["atol"], text)
