"""Tiles of rank 1 as the bytes that they are in memory, and back."""

from __future__ import annotations

from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import I8, TF32, RankedTensorType, bit_width
from tessera_tools.opdef import ANY_RANKED_TENSOR, PURE, Op, operand, result


def packed_bits(element: Type) -> int:
    """The size of a packed element, in bits: its width, or 32 for a tf32."""
    return 32 if element is TF32 else bit_width(element)


class _Packing(Op):
    """The base of both: as many bits on either side, and bytes on one."""

    source = operand(ANY_RANKED_TENSOR)
    res = result(ANY_RANKED_TENSOR)
    assembly = "$source attr-dict `:` type($source) `->` type($res)"

    def check(self, elements: RankedTensorType, whole: RankedTensorType) -> None:
        """Verify the types of the elements' side and of the bytes' side."""
        if (elements.rank, whole.rank) != (1, 1) or whole.element is not I8:
            raise self.error(f"expects tiles of rank 1, and i8 as the bytes; got {elements} and {whole}")
        if elements.num_elements * packed_bits(elements.element) != 8 * whole.num_elements:
            raise self.error(f"expects as many bytes as {elements} has, got {whole}")


class Pack(_Packing, name="nv_tileaa.pack", traits=(PURE,)):
    """The bytes of a tile, low bits first: of elements narrower than a byte, the first has the lowest bits."""

    def verify_op(self) -> None:
        self.check(self.source.type, self.res.type)


class Unpack(_Packing, name="nv_tileaa.unpack", traits=(PURE,)):
    """A tile from its bytes, low bits first."""

    def verify_op(self) -> None:
        self.check(self.res.type, self.source.type)
