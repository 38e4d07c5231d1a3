"""The `cute_nvgpu` dialect: the matrix-multiply atoms of NVIDIA's tensor cores.

`#cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>`: the instruction's shape and the types of A, B and the accumulator.
Integers say their signedness: `si8`, `ui8`.  Floats of 8 and 4 bits with a shape of f16 are converted to it before.
"""

from __future__ import annotations

import re
from typing import Any

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.opdef import Dialect, by_word

_SHAPE = re.compile(r"sm(\d+)_m(\d+)n(\d+)k(\d+)|fma")
FMA = "fma"
"""The shape that stands for fused multiply-adds of single elements."""


class MmaAtomAttr(Attribute, name="cute_nvgpu.mma_atom"):
    """One matrix-multiply instruction; the shape `fma` stands for scalar multiply-adds, where no tensor core serves."""

    shape: str
    a: Type
    b: Type
    accumulator: Type

    def verify(self) -> None:
        if _SHAPE.fullmatch(self.shape) is None:
            raise ValueError(f"unknown mma shape '{self.shape}'; expected e.g. sm80_m16n8k16, or fma")

    @property
    def is_fma(self) -> bool:
        """Whether no tensor core takes part."""
        return self.shape == FMA

    @property
    def mnk(self) -> tuple[int, int, int]:
        """Rows, columns and depth of the instruction; (1, 1, 1) for fma."""
        match = _SHAPE.fullmatch(self.shape)
        assert match is not None
        return (
            (1, 1, 1)
            if match.group(2) is None
            else (int(match.group(2)), int(match.group(3)), int(match.group(4)))
        )

    @classmethod
    def parse(cls, s: Any) -> MmaAtomAttr:
        s.expect("<")
        shape = s.word()
        types: list[Type] = []
        for _ in range(3):
            s.expect(",")
            types.append(s.type())
        s.expect(">")
        return cls(shape, *types)

    def text(self) -> str:
        return f"#cute_nvgpu.mma_atom<{self.shape}, {self.a}, {self.b}, {self.accumulator}>"


DIALECT = Dialect("cute_nvgpu", "tensor core atoms", {}, attributes=by_word(MmaAtomAttr))
