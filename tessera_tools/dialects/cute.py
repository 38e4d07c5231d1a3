"""The `cute` dialect: copy atoms and product atoms, the witnesses of how a tiled access or a product is done.

A copy atom names one hardware primitive and its element type: `#cute.copy_atom<sm80_cp_async_128_f16>`.  It is put on
an access when the access is created, and the lowering emits exactly this primitive.  The list of primitives is in
atoms.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.atoms import (
    COPIES,
    CopyPrimitive,
    MmaAtom,
    check_copy,
    check_emitter,
    element_named,
    least_bits,
    read_copy,
    read_shape,
    signless,
)
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.core import Operation
from tessera_tools.opdef import Dialect, by_word

if TYPE_CHECKING:
    from tessera_tools.ir.scanner import Scanner


class CopyAtomAttr(Attribute, name="cute.copy_atom"):
    """`#cute.copy_atom<sm80_ldg_128_f16>`: the architecture that introduced the primitive, the primitive, its width in
    bits (or matrices for ldmatrix, dimensions for TMA), the element type."""

    since: int
    primitive: str
    size: int
    element: Type

    def verify(self) -> None:
        check_copy(self.since, self.primitive, self.size)

    @classmethod
    def make(cls, since: int, primitive: str, size: int, element: Type) -> CopyAtomAttr:
        """An atom from its parts."""
        return cls(since, primitive, size, element)

    @property
    def row(self) -> CopyPrimitive:
        """The table entry of the primitive."""
        return COPIES[self.primitive]

    @property
    def bits(self) -> int:
        """The width of one access in bits; 0 if the primitive has none."""
        return self.size if self.row.size == "{}" else 0

    @property
    def spelling(self) -> str:
        """`sm80_ldg_128_f16`."""
        return f"sm{self.since}_{self.primitive}_{self.row.size.format(self.size)}_{self.element}"

    def check(self, op: Operation, element: Type) -> None:
        """An error for an op whose lowering does not emit the atom, or one that moves other elements."""
        check_emitter(op, self.row.emitters, self)
        if signless(self.element) is not element:
            raise op.error(f"moves elements of {element}, but its atom {self} moves {self.element}")
        if self.bits and self.bits < least_bits(element):
            raise op.error(
                f"has the atom {self}, which moves {self.bits} bits; expected at least {least_bits(element)}, the "
                f"size of one {element}"
            )

    @classmethod
    def parse(cls, s: Scanner) -> CopyAtomAttr:
        s.expect("<")
        spelling = s.word()
        s.expect(">")
        return cls(*read_copy(spelling))

    def text(self) -> str:
        return f"#cute.copy_atom<{self.spelling}>"


class CuteMmaAtomAttr(MmaAtom, name="cute.mma_atom"):
    """`#cute.mma_atom<sm90_wgmma_m64n128k16_f32_f16_f16>`: one instruction for products; the types are those of the
    accumulator, of A and of B."""

    @classmethod
    def parse(cls, s: Scanner) -> CuteMmaAtomAttr:
        s.expect("<")
        word = s.word()
        s.expect(">")
        shape, *types = word.rsplit("_", 3)
        if len(types) != 3:
            raise ValueError(f"unknown mma atom '{word}'; expected e.g. sm90_wgmma_m64n128k16_f32_f16_f16")
        accumulator, a, b = map(element_named, types)
        return cls(*read_shape(shape), a, b, accumulator)

    def text(self) -> str:
        return f"#cute.mma_atom<{self.shape}_{self.accumulator}_{self.a}_{self.b}>"


DIALECT = Dialect(
    "cute", "copy atoms and product atoms", {}, attributes=by_word(CopyAtomAttr, CuteMmaAtomAttr)
)
