"""The `cute_nvgpu` dialect: the matrix-multiply atoms of NVIDIA's tensor cores, and the copy atoms of TMA.

`#cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>`: the instruction's shape and the types of A, B and the accumulator.
Integers have an explicit signedness: `si8`, `ui8`.  Floats of 8 and 4 bits with a shape of f16 are converted to it
before.

`#cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>`: a box of a tensor of that many dimensions, in shared
memory in that swizzle (none if it is omitted).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from tessera_tools.dialects.atoms import COPIES, CopyPrimitive, MmaAtom, element_named, read_shape
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.opdef import Dialect, by_word

if TYPE_CHECKING:
    from tessera_tools.ir.scanner import Scanner


class MmaAtomAttr(MmaAtom, name="cute_nvgpu.mma_atom"):
    """One matrix-multiply instruction; the shape `fma` means scalar multiply-adds, without tensor cores."""

    @classmethod
    def of(cls, shape: str, a: Type, b: Type, accumulator: Type) -> MmaAtomAttr:
        """The atom of a shape in its text form, `sm80_m16n8k16`."""
        return cls(*read_shape(shape), a, b, accumulator)

    @classmethod
    def parse(cls, s: Scanner) -> MmaAtomAttr:
        s.expect("<")
        shape = s.word()
        types: list[Type] = []
        for _ in range(3):
            s.expect(",")
            types.append(s.type())
        s.expect(">")
        return cls.of(shape, *types)

    def text(self) -> str:
        return f"#cute_nvgpu.mma_atom<{self.shape}, {self.a}, {self.b}, {self.accumulator}>"


class TmaAtom(Attribute):
    """The base of the copy atoms of TMA: dimensions of the box, element type, bytes of the swizzle (0 for none)."""

    verb: ClassVar[str] = ""
    rank: int
    element: Type
    swizzle: int = 0

    def verify(self) -> None:
        if self.rank not in self.row.sizes:
            raise ValueError(f"a box has 1 to 5 dimensions, got {self.rank}")
        if self.swizzle not in self.row.swizzles:
            raise ValueError(f"unknown swizzle of {self.swizzle} bytes; expected 32, 64, 128, or none")

    @property
    def primitive(self) -> str:
        """`tma_load` or `tma_store`."""
        return f"tma_{self.verb}"

    @property
    def row(self) -> CopyPrimitive:
        """The table entry of the primitive."""
        return COPIES[self.primitive]

    @classmethod
    def parse(cls, s: Scanner) -> TmaAtom:
        s.expect("<")
        word = s.word()
        match = re.fullmatch(rf"{cls.verb}_(\d)d_(\w+)", word)
        if match is None:
            raise ValueError(f"unknown atom '{word}'; expected e.g. {cls.verb}_2d_f16")
        swizzle = 0
        if s.optional(","):
            given = s.word()
            found = re.fullmatch(r"swizzle_(\d+)B", given)
            if found is None:
                raise ValueError(
                    f"unknown swizzle '{given}'; expected swizzle_32B, swizzle_64B or swizzle_128B"
                )
            swizzle = int(found[1])
        s.expect(">")
        return cls(int(match[1]), element_named(match[2]), swizzle)

    def text(self) -> str:
        swizzle = f", swizzle_{self.swizzle}B" if self.swizzle else ""
        return f"#{self.name}<{self.verb}_{self.rank}d_{self.element}{swizzle}>"


class TmaLoadAtomAttr(TmaAtom, name="cute_nvgpu.atom_copy_field_tmaload"):
    """`#cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>`: global memory to shared memory."""

    verb: ClassVar[str] = "load"


class TmaStoreAtomAttr(TmaAtom, name="cute_nvgpu.atom_copy_field_tmastore"):
    """`#cute_nvgpu.atom_copy_field_tmastore<store_2d_f32, swizzle_128B>`: shared memory to global memory."""

    verb: ClassVar[str] = "store"


class S2tCopyAttr(Attribute, name="cute_nvgpu.s2t_copy"):
    """`#cute_nvgpu.s2t_copy<shape_128x256b, ctas = 2>`: shared to tensor memory, the lanes and bits of an instruction;
    the CTAs of a cluster that copy together."""

    shape: str
    ctas: int

    def verify(self) -> None:
        if self.shape not in _S2T_SHAPES:
            raise ValueError(f"unknown shape '{self.shape}' of a copy; expected {' or '.join(_S2T_SHAPES)}")
        if self.ctas not in (1, 2, 4):
            raise ValueError(f"{self.ctas} CTAs cannot copy together; expected 1, 2 or 4")

    @property
    def bits(self) -> int:
        """The bits of a lane that an instruction copies."""
        return _S2T_SHAPES[self.shape]

    @classmethod
    def parse(cls, s: Scanner) -> S2tCopyAttr:
        s.expect("<")
        shape = s.word()
        for word in (",", "ctas", "="):
            s.expect(word)
        ctas = s.integer()
        s.expect(">")
        return cls(shape, ctas)

    def text(self) -> str:
        return f"#cute_nvgpu.s2t_copy<{self.shape}, ctas = {self.ctas}>"


_S2T_SHAPES = {"shape_128x256b": 256, "shape_128x128b": 128}
"""Bits of a lane by shape, of the shapes in which all warps get different lanes."""

DIALECT = Dialect(
    "cute_nvgpu",
    "atoms of tensor cores and of TMA",
    {},
    attributes=by_word(MmaAtomAttr, TmaLoadAtomAttr, TmaStoreAtomAttr, S2tCopyAttr),
)
