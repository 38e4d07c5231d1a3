"""The state of one tile block, and the table from op classes to what they do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from reference.numbers import (
    Array,
    Memory,
    UnsupportedError,
    kind_of,
    wrapped,
)

from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.types import IntegerType


@dataclass(slots=True)
class View:
    """A tensor in memory: extents and strides in elements."""

    base: int
    shape: list[int]
    strides: list[int]
    element: Type


@dataclass(slots=True)
class TiledView:
    """Tiles of a tensor, as the type of the view says."""

    tensor: View
    type: Any


class Leave(Exception):
    def __init__(self, op: Operation, values: list[Any]) -> None:
        super().__init__()
        self.op = op
        self.values = values


def constant_values(data: Any, type: Any) -> Array:
    bits = data.bits()
    count = int(np.prod(type.shape, dtype=np.int64))
    if len(bits) == 1:
        bits = bits * count
    if isinstance(type.element, IntegerType):
        values = wrapped(
            np.array([b - (1 << 64) if b >= 1 << 63 else b for b in bits], np.int64), type.element
        )
    else:
        kind = kind_of(type.element)
        if str(type.element) == "tf32":
            bits = [b << 13 for b in bits]  # in memory, an f32
        raw = np.array(bits, np.uint64).astype(f"<u{kind.storage.itemsize}")
        values = kind.decode(raw.view(kind.storage))
    return values.reshape(type.shape)


def element_of(value: Any) -> Any:
    return value.type.element


def word(attribute: Any) -> str:
    return attribute.value if attribute is not None else ""


class Machine:
    """One tile block."""

    def __init__(
        self, memory: Memory, block: tuple[int, ...], grid: tuple[int, ...], global_bases: dict[str, int]
    ) -> None:
        self.memory = memory
        self.place = block
        self.grid = grid
        self.globals = global_bases
        self.values: dict[Value, Any] = {}

    def block(self, block: Block) -> None:
        """Run a block; it ends with a `Leave`."""
        for op in block:
            self.op(op)

    def op(self, op: Any) -> None:
        handler = HANDLERS.get(type(op))
        if handler is None:
            raise UnsupportedError(op.name)
        handler(self, op)

    def get(self, value: Value) -> Any:
        return self.values[value]

    def all(self, values: Sequence[Value]) -> list[Any]:
        return [self.values[v] for v in values]

    def set(self, op: Any, *results: Any) -> None:
        for value, result in zip(op.results, results, strict=True):
            self.values[value] = result

    def inner(self, block: Block, arguments: Sequence[Any]) -> Leave:
        """Run a region's block with arguments; how it ended."""
        self.values.update(zip(block.arguments, arguments, strict=True))
        try:
            self.block(block)
        except Leave as end:
            return end
        raise AssertionError("a block without an end")


HANDLERS: dict[Any, Callable[[Machine, Any], None]] = {}


def on(*classes: Any) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        for cls in classes:
            HANDLERS[cls] = function
        return function

    return register
