"""Types, attributes and operand constraints of `nv_tileaa`."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.ir import floats
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.effects import Resource
from tessera_tools.ir.types import (
    FloatType,
    IndexType,
    IntegerType,
    PlainShapedType,
    RankedTensorType,
)
from tessera_tools.opdef import (
    EnumAttr,
    TypeConstraint,
    container_of,
    exactly,
    of,
    of_class,
)

if TYPE_CHECKING:
    from tessera_tools.ir.scanner import Scanner


class MemTokenType(Type, name="nv_tileaa.mem_token"):
    """`!nv_tileaa.mem_token`: a point in the order of memory operations."""


MEM_TOKEN = MemTokenType()


class MemRefType(PlainShapedType, name="nv_tileaa.memref"):
    """`!nv_tileaa.memref<?x?xf16>`: a view of global memory; extents and strides are operands of the op that defines
    it."""

    @property
    def resource(self) -> Resource:
        return Resource.GLOBAL


class GlobalSpaceAttr(Attribute, name="nv_tileaa.global"):
    """`#nv_tileaa.global`: global memory."""


class KernelSpecAttr(Attribute, name="nv_tileaa.kernel_spec"):
    """`#nv_tileaa.kernel_spec<num_warps = 4, cluster = [1, 1, 1]>`: how a kernel is launched."""

    num_warps: int
    cluster: tuple[int, ...] = (1, 1, 1)

    def verify(self) -> None:
        if not 1 <= self.num_warps <= 32:
            raise ValueError(f"num_warps must be from 1 to 32, got {self.num_warps}")
        if len(self.cluster) != 3 or min(self.cluster) < 1:
            raise ValueError(f"cluster must be three positive extents, got {list(self.cluster)}")

    @classmethod
    def parse(cls, s: Scanner) -> KernelSpecAttr:
        s.expect("<")
        s.keyword("num_warps")
        s.expect("=")
        warps = s.integer()
        cluster = (1, 1, 1)
        if s.optional(","):
            s.keyword("cluster")
            s.expect("=")
            cluster = tuple(s.list("[", s.integer, "]"))
        s.expect(">")
        return cls(warps, cluster)

    def text(self) -> str:
        return f"#nv_tileaa.kernel_spec<num_warps = {self.num_warps}, cluster = {list(self.cluster)}>"


class PaddingAttr(EnumAttr, name="nv_tileaa.padding"):
    """The value of elements outside the view: `undef` is any value; the others are the named value."""

    cases = ("undef", "zero", "neg_zero", "nan", "pos_inf", "neg_inf")

    def bits(self, element: Type) -> int | None:
        """The padding as bits of an element type; None if unspecified.  Raises Refusal if the type has no such value.

        Zero is the element whose bits are 0, also in f8E8M0FNU, where that is 2^-127: as in the reference compiler.
        """
        if self.value == "undef":
            return None
        if self.value == "zero":
            return 0
        if isinstance(element, FloatType):
            number = {"neg_zero": -0.0, "nan": math.nan, "pos_inf": math.inf, "neg_inf": -math.inf}[
                self.value
            ]
            with suppress(ValueError):  # no zero, no NaN
                bits = floats.encode(number, element.keyword)
                # Formats without infinity round it to something else.
                if math.isinf(floats.decode(bits, element.keyword)) == math.isinf(number):
                    return bits
        raise Refusal(f"cannot pad '{element}' elements with {self.value}")


class OrderingAttr(EnumAttr, name="nv_tileaa.ordering"):
    """The memory ordering of an access (PTX ISA, "Memory Consistency Model"): `weak` requires that there are no others
    at the same time."""

    cases = ("weak", "relaxed", "acquire", "release", "acq_rel")


class ScopeAttr(EnumAttr, name="nv_tileaa.scope"):
    """The scope of an ordering: the threads of the tile block, of the GPU, or of the system."""

    cases = ("cta", "gpu", "sys")


POINTER = of(PointerType, summary="LLVM pointer")
VIEW = of(MemRefType, summary="nv_tileaa.memref")


ElementT = TypeVar("ElementT", bound=Type)


def scalar_or_tile(element: TypeConstraint[ElementT]) -> TypeConstraint[ElementT | RankedTensorType]:
    """A scalar that `element` accepts, or a tile of such."""
    return element | container_of(RankedTensorType, element, f"tile of {element.summary}")


INTEGER_SCALAR = of(IntegerType, IndexType, summary="integer or index")
TOKEN = exactly(MEM_TOKEN)
COPY_ATOM = of_class(CopyAtomAttr)
