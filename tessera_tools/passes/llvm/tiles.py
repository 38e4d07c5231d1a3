"""What an nv_tileas value becomes in one thread.

tensor<…, #linear>   → Tile: one value per register of the layout, or 32-bit words of packed elements
!nv_tileaa.memref    → View: base pointer, extents and strides
!nv_tileas.smem      → Buffer: byte offset within the kernel's shared memory
token                → None (order is the order of the code)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tessera_tools.dialects import llvm
from tessera_tools.dialects.nv_tileas import SmemType, layout_of
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I32, RankedTensorType, VectorType, bit_width
from tessera_tools.layout import LinearLayout

if TYPE_CHECKING:
    from tessera_tools.passes.llvm.emitter import Emitter, Int


class Tile:
    """The elements of a tile that one thread holds, in the order of the layout's registers.

    Elements narrower than 32 bits may be held packed in 32-bit words, register 0 in the low bits; either form is made
    from the other when asked for.
    """

    __slots__ = ("_elements", "_words", "element", "layout")

    def __init__(
        self, type: RankedTensorType, elements: list[Value] | None = None, words: list[Value] | None = None
    ):
        self.layout: LinearLayout = layout_of(type)
        self.element: Type = type.element
        self._elements = elements
        self._words = words

    @property
    def count(self) -> int:
        """Registers of the layout."""
        return self.layout.in_size("register")

    def elements(self, e: Emitter) -> list[Value]:
        """One value per register."""
        if self._elements is None:
            assert self._words is not None
            per = 32 // bit_width(self.element)
            type = VectorType((per,), self.element)
            self._elements = [
                v for word in self._words for v in e.elements(e.bitcast(word, type), per, self.element)
            ]
        return self._elements

    def words(self, e: Emitter) -> list[Value]:
        """32-bit words of neighbouring registers; the registers must fill whole words."""
        if self._words is None:
            assert self._elements is not None
            per = 32 // bit_width(self.element)
            self._words = [
                e.bitcast(e.vector(self._elements[i : i + per], self.element), I32)
                for i in range(0, len(self._elements), per)
            ]
        return self._words


@dataclass(slots=True)
class View:
    """A view of global memory: extents and strides (in elements) are ints or i32 values."""

    base: Value
    extents: list[Int]
    strides: list[Int]
    element: Type


@dataclass(slots=True)
class Buffer:
    """Stages of a tile at a byte offset of the kernel's shared memory."""

    offset: int
    type: SmemType

    @property
    def stage_bytes(self) -> int:
        count = 1
        for extent in self.type.tile:
            count *= extent
        return count * bit_width(self.type.element) // 8


def poison_tile(e: Emitter, type: RankedTensorType) -> Tile:
    """A tile of unspecified elements."""
    value = e.pure(("poison", type.element), (), lambda: llvm.Poison(res=type.element))
    tile: Any = Tile(type, [])
    tile._elements = [value] * tile.count
    return tile
