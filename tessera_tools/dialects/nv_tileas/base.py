"""Layouts and shared memory: the types and attributes of `nv_tileas`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tessera_tools.diagnostics import Refusal
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.effects import Resource
from tessera_tools.ir.types import F32, TF32, IntegerType, RankedTensorType, ShapedType
from tessera_tools.layout import LinearLayout, from_text, to_text
from tessera_tools.layout.distributed import check_fits, check_hardware
from tessera_tools.opdef import Op, of

if TYPE_CHECKING:
    from tessera_tools.ir.core import Value
    from tessera_tools.ir.scanner import Scanner
    from tessera_tools.opdef.fields import OperandField


class LayoutAttr(Attribute):
    """The base of layout attributes: `{dimension = [bases], …}` in angle brackets."""

    layout: LinearLayout

    @classmethod
    def parse(cls, s: Scanner) -> Attribute:
        s.expect("<")
        start = s.skip()
        text = s.balanced()
        if not text.startswith("{"):
            raise s.error(f"expected '{{' of a layout, found '{text}'", start)
        s.expect(">")
        return cls(from_text(text[1:-1]))

    def text(self) -> str:
        return f"#{self.name}<{{{to_text(self.layout)}}}>"


class LinearAttr(LayoutAttr, name="nv_tileas.linear"):
    """A distributed layout: (register, lane, warp, block) → tile coordinates."""

    alias_word: ClassVar[str] = "layout"

    def verify(self) -> None:
        check_hardware(self.layout)

    def verify_encoding(self, shape: tuple[int, ...], element: Type) -> None:
        check_fits(self.layout, shape)


class SharedAttr(LayoutAttr, name="nv_tileas.shared"):
    """A layout of a shared-memory buffer: offset in elements → tile coordinates."""

    alias_word: ClassVar[str] = "shared"

    def verify(self) -> None:
        if tuple(self.layout.in_dims) != ("offset",):
            raise ValueError(
                f"the layout has the dimensions {', '.join(self.layout.in_dims)}; expected offset"
            )


class StagedType(ShapedType):
    """The base of buffers of several stages: the first extent is their number, the others are those of the tile."""

    @property
    def stages(self) -> int:
        return self.shape[0]

    @property
    def tile(self) -> tuple[int, ...]:
        """The shape of one stage."""
        return self.shape[1:]

    def verify_tile(self, layout: LinearLayout) -> None:
        """Raises ValueError unless a layout is one of the tile."""
        shape = tuple(size for _, size in layout.outs)
        if shape != self.tile:
            raise ValueError(f"the layout has shape {list(shape)}, the tile is {list(self.tile)}")


class SmemType(StagedType, name="nv_tileas.smem"):
    """`!nv_tileas.smem<3x128x64xf16, #nv_tileas.shared<…>>`: stages of one tile in shared memory."""

    layout: SharedAttr | None = None

    @property
    def resource(self) -> Resource:
        return Resource.SHARED

    def verify(self) -> None:
        super().verify()
        if self.rank < 2 or not self.is_static:
            raise ValueError("shared memory needs static extents, the number of stages first")
        if self.layout is not None:
            self.verify_tile(self.layout.layout)

    @classmethod
    def parse(cls, s: Scanner) -> SmemType:
        s.expect("<")
        shape = s.dimensions()
        element = s.type()
        layout = s.attribute() if s.optional(",") else None
        s.expect(">")
        if not isinstance(layout, SharedAttr | None):
            raise ValueError(f"expected a layout #nv_tileas.shared<…>, got {layout}")
        return cls(shape, element, layout)

    def text(self) -> str:
        suffix = f", {self.layout}" if self.layout is not None else ""
        return f"!nv_tileas.smem<{self.dims_text()}{self.element}{suffix}>"


SMEM = of(SmemType, summary="nv_tileas.smem")


def rounds(memory: Type, element: Type) -> bool:
    """Whether a load rounds what it reads: f32 to tf32, as TMA does with `CU_TENSOR_MAP_DATA_TYPE_TFLOAT32`.

    The driver API does not say how it rounds.  To nearest even, infinities and NaNs as they are: Triton's test of
    `round_f32_to_tf32` sees that on sm_120.
    """
    return memory is F32 and element is TF32


def layout_of(type: Type) -> LinearLayout:
    """The layout that a tensor type carries; Refusal if it carries none."""
    encoding = type.encoding if isinstance(type, RankedTensorType) else None
    if not isinstance(encoding, LinearAttr):
        raise Refusal(f"{type} has no layout; run --tileas-assign-layouts first")
    return encoding.layout


def with_layout(type: RankedTensorType, layout: LinearLayout) -> RankedTensorType:
    """The tensor type with that layout."""
    return RankedTensorType(type.shape, type.element, LinearAttr(layout))


class HasStage(Op):
    """An op on a stage of a buffer, by the number of the stage."""

    stage: OperandField[Value[IntegerType]]
