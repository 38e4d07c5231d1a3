"""Programs around one op, with their arguments: the pieces that test/support/cases.py is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from programs import Array, encode, tile

from tessera_tools.runtime import lookup_type

ELEMENTS = (
    "i1", "i4", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "tf32", "f64", "f8E4M3FN", "f8E5M2", "f8E8M0FNU",
    "f4E2M1FN", "ptr",
)  # fmt: skip
"""The columns of the table: the element types of cuda_tile (`ptr` is a pointer to f32), then `-` for none."""
INTEGERS = ("i1", "i8", "i16", "i32", "i64")
NONE = "-"
BITS = {
    "i1": 1, "i4": 4, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "f16": 16, "bf16": 16, "f32": 32, "tf32": 32, "f64": 64,
    "f8E4M3FN": 8, "f8E5M2": 8, "f8E8M0FNU": 8, "f4E2M1FN": 4, "ptr": 64,
}  # fmt: skip
HALF_BYTES = ("i4", "f4E2M1FN")
POINTEES = 64
"""Elements of the memory that tiles of pointers point into."""


def spelled(element: str) -> str:
    """An element type as cuda_tile writes it."""
    return "ptr<f32>" if element == "ptr" else element


def tile_of(element: str, shape: Sequence[int]) -> str:
    """`tile<4x8xf32>`."""
    return tile(spelled(element), shape)


def random_shape(rng: np.random.Generator, most: int, least: int = 0, ranks: tuple[int, int] = (1, 5)) -> Any:
    """A shape of 2**least to 2**most elements."""
    bits = int(rng.integers(least, most + 1))
    shape = [1] * int(rng.integers(ranks[0], ranks[1] + 1))
    for _ in range(bits):
        shape[int(rng.integers(len(shape)))] *= 2
    return tuple(shape)


def numbers(element: str, shape: Sequence[int], rng: np.random.Generator) -> Array:
    """Random elements: all integers; floats around zero, scales around one."""
    kind = lookup_type(element)
    assert kind is not None, element
    if element == "i1":
        return rng.integers(0, 2, shape, np.uint8)
    if element.startswith("i"):
        limits = np.iinfo(kind.storage)
        return rng.integers(limits.min, limits.max, shape, kind.storage, endpoint=True)
    if element == "f8E8M0FNU":
        return rng.integers(120, 135, shape).astype(kind.storage)
    return encode(element, rng.standard_normal(shape) * 3)


def storage(element: str) -> np.dtype[Any]:
    """How NumPy holds an element type."""
    kind = lookup_type(element)
    assert kind is not None, element
    return kind.storage


def whole(element: str, shape: Sequence[int]) -> tuple[str, str, str]:
    """(extents and strides, type of the tensor view, type of the view of its one tile), in row-major order."""
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    extents = "x".join(map(str, shape))
    view = f"tensor_view<{extents}x{spelled(element)}, strides=[{','.join(map(str, strides))}]>"
    text = f"shape = [{', '.join(map(str, shape))}], strides = [{', '.join(map(str, strides))}]"
    return text, view, f"partition_view<tile=({extents}), {view}>"


@dataclass
class Memory:
    """An argument that is an array: its place among the arguments, and what its elements are."""

    place: int
    element: str


class Writer:
    """Collects the parameters, lines and arguments of a program.

    rng: where numbers and shapes come from. `grid` may be changed; `before` and `behind` get what stands around the
    entry.
    `output` is the format by which the one result is printed, where it is.
    """

    def __init__(self, rng: np.random.Generator, op: str) -> None:
        self.rng = rng
        self.op = op
        self.grid: tuple[int, ...] = (1,)
        self.before: list[str] = []
        self.behind: list[str] = []
        self.parameters: list[str] = []
        self.args: list[Any] = []
        self.memories: list[Memory] = []
        self.lines: list[str] = []
        self.output: str | None = None
        self._count = 0

    def text(self) -> str:
        """The program."""
        body = "\n  ".join(
            ["%zero = constant <i32: 0> : tile<i32>", "%token = make_token : token", *self.lines, "return"]
        )
        return "\n".join(
            [*self.before, f"entry @kernel({', '.join(self.parameters)}) {{\n  {body}\n}}", *self.behind, ""]
        )

    def name(self) -> str:
        """A name that is not taken."""
        self._count += 1
        return f"%v{self._count}"

    def line(self, text: str) -> None:
        """Add text; `$` is a new name for what it defines."""
        self.lines.append(text)

    def define(self, text: str) -> str:
        """Add an op with one result; the result's name."""
        name = self.name()
        self.lines.append(f"{name} = {text}")
        return name

    def scalar(self, element: str, value: Any) -> str:
        """A parameter that is passed by value."""
        name = self.name()
        self.parameters.append(f"{name}: tile<{spelled(element)}>")
        self.args.append(value)
        return name

    def memory(self, element: str, data: Array, attributes: str = "") -> str:
        """A parameter that is the address of an array."""
        name = self.name()
        self.parameters.append(f"{name}: tile<ptr<{spelled(element)}{attributes}>>")
        self.memories.append(Memory(len(self.args), element))
        self.args.append(data)
        return name

    def constant(self, element: str, value: Any, shape: Sequence[int] = ()) -> str:
        """A constant tile."""
        if element == "i1":
            value = "true" if value else "false"
        elif not element.startswith("i"):
            value = f"{float(value):e}"
        return self.define(f"constant <{element}: {value}> : {tile(element, shape)}")

    def load(self, element: str, shape: Sequence[int], data: Array) -> str:
        """All of an array as a tile."""
        extents = tuple(shape) or (1,)
        pointer = self.memory(element, data.reshape(extents))
        text, view, part = whole(element, extents)
        tensor = self.define(f"make_tensor_view {pointer}, {text} : {view}")
        tiles = self.define(f"make_partition_view {tensor} : {part}")
        name = self.name()
        zeros = ", ".join(["%zero"] * len(extents))
        self.line(
            f"{name}, {name}T = load_view_tko weak {tiles}[{zeros}] : {part}, tile<i32> -> "
            f"{tile_of(element, extents)}, token"
        )
        return name if shape else self.reshape(name, element, (1,), ())

    def reshape(self, name: str, element: str, old: Sequence[int], new: Sequence[int]) -> str:
        """The same tile in another shape."""
        if tuple(old) == tuple(new):
            return name
        return self.define(f"reshape {name} : {tile_of(element, old)} -> {tile_of(element, new)}")

    def input(self, element: str, shape: Sequence[int], data: Array | None = None) -> str:
        """A tile of random numbers, or of those given."""
        count = int(np.prod(shape, dtype=np.int64))
        if element in HALF_BYTES:
            packed = self.load("i8", (count // 2,), self.rng.integers(-128, 128, count // 2, np.int8))
            flat = self.define(f"unpack {packed} : {tile('i8', (count // 2,))} -> {tile(element, (count,))}")
            return self.reshape(flat, element, (count,), shape)
        if element == "ptr":
            base = self.memory("f32", numbers("f32", (POINTEES,), self.rng))
            return self.pointers("f32", base, shape, self.rng.integers(0, POINTEES, shape, np.int32))
        return self.load(element, shape, numbers(element, shape, self.rng) if data is None else data)

    def pointers(self, pointee: str, base: str, shape: Sequence[int], offsets: Array) -> str:
        """Addresses of elements behind `base`, by offsets in elements."""
        by = self.load("i32", shape, offsets)
        spread = self.spread(f"ptr<{spelled(pointee)}>", base, shape)
        type = tile(f"ptr<{spelled(pointee)}>", shape)
        return self.define(f"offset {spread}, {by} : {type}, {tile('i32', shape)} -> {type}")

    def spread(self, element: str, name: str, shape: Sequence[int]) -> str:
        """One element as all of a tile."""
        if not shape:
            return name
        ones = (1,) * len(shape)
        one = self.define(f"reshape {name} : {tile(element, ())} -> {tile(element, ones)}")
        if ones == tuple(shape):
            return one
        return self.define(f"broadcast {one} : {tile(element, ones)} -> {tile(element, shape)}")

    def result(self, name: str, element: str, shape: Sequence[int]) -> None:
        """Store a tile, to be compared."""
        count = int(np.prod(shape, dtype=np.int64))
        if element in HALF_BYTES:
            flat = self.reshape(name, element, shape, (count,))
            packed = self.define(f"pack {flat} : {tile(element, (count,))} -> {tile('i8', (count // 2,))}")
            return self.result(packed, "i8", (count // 2,))
        if element == "ptr":
            read = self.name()
            self.line(
                f"{read}, {read}T = load_ptr_tko weak {name} : {tile_of('ptr', shape)} -> {tile('f32', shape)}, token"
            )
            return self.result(read, "f32", shape)
        if not shape:
            return self.result(self.reshape(name, element, (), (1,)), element, (1,))
        kind = lookup_type(element)
        assert kind is not None
        data = np.full(count * kind.size, 0xA5, np.uint8).view(kind.storage).reshape(shape)
        pointer = self.memory(element, data)
        text, view, part = whole(element, shape)
        tensor = self.define(f"make_tensor_view {pointer}, {text} : {view}")
        tiles = self.define(f"make_partition_view {tensor} : {part}")
        zeros = ", ".join(["%zero"] * len(shape))
        self.define(
            f"store_view_tko weak {name}, {tiles}[{zeros}] : {tile_of(element, shape)}, {part}, tile<i32> -> token"
        )
        return None
