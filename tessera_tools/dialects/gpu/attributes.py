"""Attributes and types of `gpu`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.opdef import (
    AttrKind,
    EnumAttr,
    enum,
)

if TYPE_CHECKING:
    from typing import Self

    from tessera_tools.ir.scanner import Scanner


class _ShortEnum(EnumAttr):
    """The base of enumerations that are written inside the brackets: `#gpu<dim x>`."""

    def text(self) -> str:
        return f"#gpu<{self.name[4:]} {self.value}>"

    @classmethod
    def parse_inside(cls, scanner: Scanner) -> Self:
        """The case, after `#gpu<dim`."""
        return cls(scanner.word())


class DimensionAttr(_ShortEnum, name="gpu.dim"):
    """`#gpu<dim x>`: a dimension of grid or block."""

    cases = ("x", "y", "z")


class AllReduceOperationAttr(_ShortEnum, name="gpu.all_reduce_op"):
    """`#gpu<all_reduce_op add>`: how a group's values are combined."""

    cases = (
        "add", "mul", "minui", "minsi", "minnumf", "maxui", "maxsi", "maxnumf", "and", "or", "xor", "minimumf",
        "maximumf",
    )  # fmt: skip


class ShuffleModeAttr(_ShortEnum, name="gpu.shuffle_mode"):
    """`#gpu<shuffle_mode xor>`: how the source lane is found."""

    cases = ("xor", "down", "up", "idx")


class BroadcastTypeAttr(_ShortEnum, name="gpu.broadcast"):
    """`#gpu<broadcast specific_lane>`: the lane whose value is broadcast."""

    cases = ("first_active_lane", "specific_lane")


class ElementwiseAttr(_ShortEnum, name="gpu.mma_element_wise"):
    """`#gpu<mma_element_wise addf>`: an operation on each element of a matrix."""

    cases = (
        "addf", "mulf", "subf", "maxf", "minf", "divf", "addi", "muli", "subi", "divs", "divu", "negatef", "negates",
        "extf",
    )  # fmt: skip


class TransposeModeAttr(_ShortEnum, name="gpu.mat_transpose_mode"):
    """`#gpu<mat_transpose_mode TRANSPOSE>`: how a call reads a sparse matrix."""

    cases = ("NON_TRANSPOSE", "TRANSPOSE", "CONJUGATE_TRANSPOSE")


class PruneFlagAttr(_ShortEnum, name="gpu.prune_2to4_spmat_flag"):
    """`#gpu<prune_2to4_spmat_flag PRUNE_ONLY>`: how elements are left out of a matrix of which 2 of 4 remain."""

    cases = ("NONE", "PRUNE_ONLY", "PRUNE_AND_CHECK")


class SpGEMMStepAttr(_ShortEnum, name="gpu.spgemm_work_estimation_or_compute_kind"):
    """`#gpu<spgemm_work_estimation_or_compute_kind COMPUTE>`: a step of a product of sparse matrices."""

    cases = ("WORK_ESTIMATION", "COMPUTE")


_ShortT = TypeVar("_ShortT", bound=_ShortEnum)


def short(attribute: type[_ShortT]) -> AttrKind[_ShortT]:
    """The kind of such an enumeration: upstream's formats write two spaces before its keyword."""
    kind = enum(attribute)
    kind.text = lambda a: f" {a.value}"
    return kind


class AddressSpaceAttr(EnumAttr, name="gpu.address_space"):
    """`#gpu.address_space<workgroup>`: the memory of a grid, a block, or a thread."""

    cases = ("global", "workgroup", "private")


class _MappingAttr(EnumAttr):
    """The base of what the iterations of a loop are mapped to: a dimension, or one of a linear order."""

    cases = ("x", "y", "z", *(f"linear_dim_{i}" for i in range(10)))


class BlockMappingAttr(_MappingAttr, name="gpu.block"):
    """`#gpu.block<x>`: iterations of a loop are blocks of the grid."""


class WarpgroupMappingAttr(_MappingAttr, name="gpu.warpgroup"):
    """`#gpu.warpgroup<x>`: iterations of a loop are warpgroups."""


class WarpMappingAttr(_MappingAttr, name="gpu.warp"):
    """`#gpu.warp<x>`: iterations of a loop are warps."""


class ThreadMappingAttr(_MappingAttr, name="gpu.thread"):
    """`#gpu.thread<x>`: iterations of a loop are threads of the block."""


class LaneMappingAttr(_MappingAttr, name="gpu.lane"):
    """`#gpu.lane<linear_dim_0>`: iterations of a loop are lanes of a warp."""


class MappingMaskAttr(Attribute, name="gpu.mask"):
    """`#gpu.mask<3>`: which of the blocks, warps or threads that a loop is mapped to take part; a bit for each."""

    mask: int

    def verify(self) -> None:
        if not 0 <= self.mask < 1 << 64:
            raise ValueError(f"expected 64 bits, found {self.mask}")

    def text(self) -> str:
        return f"#gpu.mask<{self.mask}>"

    @classmethod
    def parse(cls, s: Scanner) -> MappingMaskAttr:
        s.expect("<")
        mask = s.integer()
        s.expect(">")
        return cls(mask)


class MemorySpaceMappingAttr(EnumAttr, name="gpu.memory_space"):
    """`#gpu.memory_space<workgroup>`: the memory that data of a loop is mapped to."""

    cases = ("global", "workgroup", "private")


MAPPINGS = (
    BlockMappingAttr,
    LaneMappingAttr,
    MappingMaskAttr,
    MemorySpaceMappingAttr,
    ThreadMappingAttr,
    WarpMappingAttr,
    WarpgroupMappingAttr,
)
"""What `mapping` of `scf.forall` may name."""


class AsyncTokenType(Type, name="gpu.async.token"):
    """`!gpu.async.token`: that an asynchronous operation was issued."""
