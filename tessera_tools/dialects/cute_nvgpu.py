"""The `cute_nvgpu` dialect: the matrix-multiply atoms of NVIDIA's tensor cores, and the copy atoms of TMA and of
tensor memory.

`#cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>`: the instruction's shape and the types of A, B and the accumulator.
Integers have an explicit signedness: `si8`, `ui8`.  Floats of 8 and 4 bits with a shape of f16 are converted to it
before.

`#cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>`: a box of a tensor of that many dimensions, in shared
memory in that swizzle (none if it is omitted).  `swizzle_128B_atom_32B` permutes 32 bytes at a time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from tessera_tools.dialects.atoms import COPIES, CopyPrimitive, MmaAtom, element_named, read_shape
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.layout.shared import ATOMICITY, WIDE_ATOMICITY
from tessera_tools.opdef import Dialect, by_word
from tessera_tools.records import dataclass

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
    """The base of the copy atoms of TMA: dimensions of the box, element type, bytes of the swizzle (0 for none), and
    its atomicity: the bytes that stay together (PTX ISA, "Tensor Swizzling Modes")."""

    verb: ClassVar[str] = ""
    rank: int
    element: Type
    swizzle: int = 0
    atomicity: int = ATOMICITY

    def verify(self) -> None:
        if self.rank not in self.row.sizes:
            raise ValueError(f"a box has 1 to 5 dimensions, got {self.rank}")
        if self.swizzle not in self.row.swizzles:
            raise ValueError(f"unknown swizzle of {self.swizzle} bytes; expected 32, 64, 128, or none")
        if self.atomicity != ATOMICITY and (self.atomicity, self.swizzle) != (WIDE_ATOMICITY, 128):
            raise ValueError(f"a swizzle of {self.swizzle} bytes has no atomicity of {self.atomicity} bytes")

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
        swizzle, atomicity = 0, ATOMICITY
        if s.optional(","):
            given = s.word()
            found = re.fullmatch(r"swizzle_(\d+)B(?:_atom_(\d+)B)?", given)
            if found is None:
                raise ValueError(
                    f"unknown swizzle '{given}'; expected swizzle_32B, swizzle_64B, swizzle_128B or "
                    "swizzle_128B_atom_32B"
                )
            swizzle, atomicity = int(found[1]), int(found[2] or ATOMICITY)
        s.expect(">")
        return cls(int(match[1]), element_named(match[2]), swizzle, atomicity)

    def text(self) -> str:
        swizzle = f", swizzle_{self.swizzle}B" if self.swizzle else ""
        if self.atomicity != ATOMICITY:
            swizzle += f"_atom_{self.atomicity}B"
        return f"#{self.name}<{self.verb}_{self.rank}d_{self.element}{swizzle}>"


class TmaLoadAtomAttr(TmaAtom, name="cute_nvgpu.atom_copy_field_tmaload"):
    """`#cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>`: global memory to shared memory."""

    verb: ClassVar[str] = "load"


class TmaStoreAtomAttr(TmaAtom, name="cute_nvgpu.atom_copy_field_tmastore"):
    """`#cute_nvgpu.atom_copy_field_tmastore<store_2d_f32, swizzle_128B>`: shared memory to global memory."""

    verb: ClassVar[str] = "store"


class S2tCopyAttr(Attribute, name="cute_nvgpu.s2t_copy"):
    """`#cute_nvgpu.s2t_copy<shape_64x128b, warpx2_02_13, ctas = 2, b6x16_p32>`: shared to tensor memory, the rows of
    the source and the bits of a row that an instruction copies; the warps whose lanes get each row, if they are
    several; the CTAs of a cluster that copy together; the packed elements that become bytes, if any (PTX ISA,
    "tcgen05.cp")."""

    shape: str
    ctas: int
    multicast: str = "none"
    source_format: str = ""

    def verify(self) -> None:
        if self.shape not in _S2T_SHAPES:
            raise ValueError(
                f"unknown shape '{self.shape}' of a copy; expected one of {', '.join(_S2T_SHAPES)}"
            )
        allowed = _S2T_SHAPES[self.shape].multicasts
        if self.multicast not in allowed:
            raise ValueError(
                f"{self.shape} copies with multicast {self.multicast}; expected {' or '.join(allowed)}"
            )
        if self.source_format and self.source_format not in _S2T_FORMATS:
            raise ValueError(
                f"unknown format '{self.source_format}' of a copy; expected {' or '.join(_S2T_FORMATS)}"
            )
        if self.ctas not in (1, 2, 4):
            raise ValueError(f"{self.ctas} CTAs cannot copy together; expected 1, 2 or 4")

    @property
    def rows(self) -> int:
        """The rows of the source."""
        return _S2T_SHAPES[self.shape].rows

    @property
    def bits(self) -> int:
        """The bits of a row that an instruction copies."""
        return _S2T_SHAPES[self.shape].bits

    @classmethod
    def parse(cls, s: Scanner) -> S2tCopyAttr:
        s.expect("<")
        shape, multicast, source_format = s.word(), "none", ""
        s.expect(",")
        word = s.word()
        if word != "ctas":
            multicast = word
            s.expect(",")
            s.expect("ctas")
        s.expect("=")
        ctas = s.integer()
        if s.optional(","):
            source_format = s.word()
        s.expect(">")
        return cls(shape, ctas, multicast, source_format)

    def text(self) -> str:
        multicast = f", {self.multicast}" if self.multicast != "none" else ""
        source = f", {self.source_format}" if self.source_format else ""
        return f"#cute_nvgpu.s2t_copy<{self.shape}{multicast}, ctas = {self.ctas}{source}>"


@dataclass(frozen=True, slots=True)
class _S2tShape:
    rows: int
    bits: int
    multicasts: tuple[str, ...] = ("none",)


_S2T_SHAPES = {
    "shape_128x256b": _S2tShape(128, 256),
    "shape_128x128b": _S2tShape(128, 128),
    "shape_4x256b": _S2tShape(4, 256),
    "shape_64x128b": _S2tShape(64, 128, ("warpx2_02_13", "warpx2_01_23")),
    "shape_32x128b": _S2tShape(32, 128, ("warpx4",)),
}
_S2T_FORMATS = ("b6x16_p32", "b4x16_p64")
"""16 elements of 6 or 4 bits, and 32 or 64 bits that are not used."""

DIALECT = Dialect(
    "cute_nvgpu",
    "atoms of tensor cores and of TMA",
    {},
    attributes=by_word(MmaAtomAttr, TmaLoadAtomAttr, TmaStoreAtomAttr, S2tCopyAttr),
)
