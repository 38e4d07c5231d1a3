"""Strides and offsets of buffers, and the layouts that views of them have.

    memref<8x?xf32, strided<[?, 1], offset: 4>> ─▶ Strided(([?, 1]), 4)
    memref<8x16xf32> ─▶ Strided([16, 1], 0)         memref<8xf32, affine_map<(d0) -> (d0 mod 4)>> ─▶ None

All numbers are in elements; `DYNAMIC_INDEX` is a number known only at run time.
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.ir.affine import AffineExpr
from tessera_tools.ir.builtin_attributes import AffineMapAttr, StridedLayoutAttr
from tessera_tools.ir.types import DYNAMIC, DYNAMIC_INDEX, MemRefType
from tessera_tools.records import dataclass

__all__ = [
    "Strided",
    "can_be_cast",
    "collapsed_type",
    "dropped_dimensions",
    "expanded_type",
    "is_identity",
    "reduced_type",
    "strided",
    "subview_type",
]


@dataclass(frozen=True, slots=True)
class Strided:
    """Element (i, j, …) is at `offset` + i * strides[0] + j * strides[1] + …"""

    strides: tuple[int, ...]
    offset: int

    def layout(self) -> StridedLayoutAttr:
        """The layout attribute."""
        return StridedLayoutAttr(self.strides, self.offset)


def add(a: int, b: int) -> int:
    """a + b, dynamic if one is."""
    return DYNAMIC_INDEX if DYNAMIC_INDEX in (a, b) else a + b


def times(a: int, b: int) -> int:
    """a * b, dynamic if one is and the other is not 0."""
    if 0 in (a, b):
        return 0
    return DYNAMIC_INDEX if DYNAMIC_INDEX in (a, b) else a * b


def extents(shape: Sequence[int]) -> list[int]:
    """A type's extents in numbers of this module."""
    return [DYNAMIC_INDEX if extent == DYNAMIC else extent for extent in shape]


def strided(type: MemRefType) -> Strided | None:
    """The strides and the offset of a buffer; None if its layout is not a strided one."""
    layout = type.layout
    if layout is None:
        strides: list[int] = []
        stride = 1
        for extent in reversed(extents(type.shape)):
            strides.append(stride)
            stride = times(stride, extent)
        return Strided(tuple(reversed(strides)), 0)
    if isinstance(layout, StridedLayoutAttr):
        return Strided(layout.strides, layout.offset)
    if not isinstance(layout, AffineMapAttr) or len(layout.map.results) != 1:
        return None
    terms = _terms(layout.map.results[0], layout.map.num_dims)
    return Strided(tuple(terms[:-1]), terms[-1]) if terms is not None else None


def _terms(expr: AffineExpr, dims: int) -> list[int] | None:
    """The factor of each dimension, then the constant; symbols are dynamic. None if the expression is not linear."""
    if expr.is_symbolic:
        return [0] * dims + [expr.value if expr.kind == "constant" else DYNAMIC_INDEX]
    if expr.kind == "dim":
        return [int(i == expr.value) for i in range(dims + 1)]
    if expr.kind not in ("+", "*"):
        return None
    lhs, rhs = _terms(expr.lhs, dims), _terms(expr.rhs, dims)
    if lhs is None or rhs is None:
        return None
    if expr.kind == "+":
        return [add(a, b) for a, b in zip(lhs, rhs, strict=True)]
    if any(rhs[:-1]):
        lhs, rhs = rhs, lhs
    return None if any(rhs[:-1]) else [times(a, rhs[-1]) for a in lhs]


def is_identity(type: MemRefType) -> bool:
    """True if the layout is that of a type without one; of `strided` layouts, upstream knows it of `strided<[1]>`."""
    layout = type.layout
    return layout is None or (isinstance(layout, StridedLayoutAttr) and Strided((1,), 0).layout() is layout)


def subview_type(
    source: MemRefType, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]
) -> MemRefType | None:
    """The type of a view by static lists (`DYNAMIC_INDEX` for operands), of full rank; None for other layouts."""
    base = strided(source)
    if base is None:
        return None
    offset = base.offset
    for start, stride in zip(offsets, base.strides, strict=True):
        offset = add(offset, times(start, stride))
    steps = tuple(times(a, b) for a, b in zip(base.strides, strides, strict=True))
    shape = tuple(DYNAMIC if size == DYNAMIC_INDEX else size for size in sizes)
    return MemRefType(shape, source.element, StridedLayoutAttr(steps, offset), source.memory_space)


def dropped_dimensions(full: MemRefType, reduced: MemRefType) -> frozenset[int] | None:
    """Which unit dimensions of `full` are missing in `reduced`, whose strides are those of the others; None if the
    types do not fit together."""
    a, b = strided(full), strided(reduced)
    if a is None or b is None or a.offset != b.offset:
        return None
    dropped: list[int] = []
    at = 0
    for i, extent in enumerate(full.shape):
        if at < len(reduced.shape) and reduced.shape[at] == extent and b.strides[at] == a.strides[i]:
            at += 1
        elif extent == 1:
            dropped.append(i)
        else:
            return None
    return frozenset(dropped) if at == len(reduced.shape) else None


def reduced_type(full: MemRefType, shape: Sequence[int]) -> MemRefType | None:
    """`full` without the unit dimensions that `shape` lacks, the last ones where it may be either; None if the shape
    is no such."""
    base = strided(full)
    if base is None:
        return None
    strides: list[int] = []
    for i, extent in enumerate(full.shape):
        at = len(strides)
        if at < len(shape) and shape[at] == extent:
            strides.append(base.strides[i])
        elif extent != 1:
            return None
    if len(strides) != len(shape):
        return None
    return MemRefType(
        tuple(shape), full.element, StridedLayoutAttr(tuple(strides), base.offset), full.memory_space
    )


def can_be_cast(source: MemRefType, target: MemRefType) -> bool:
    """True if `memref.cast` may convert one ranked type to the other: their static information is consistent."""
    if source.element is not target.element or source.memory_space is not target.memory_space:
        return False
    if len(source.shape) != len(target.shape) or not all(
        a == b or DYNAMIC in (a, b) for a, b in zip(source.shape, target.shape, strict=True)
    ):
        return False
    if source.layout is target.layout:
        return True
    a, b = strided(source), strided(target)
    if a is None or b is None:
        return False
    pairs = [(a.offset, b.offset)]
    # The stride of a dimension of one element moves nothing.
    pairs += [p for p, n in zip(zip(a.strides, b.strides, strict=True), source.shape, strict=True) if n != 1]
    return all(x == y or DYNAMIC_INDEX in (x, y) for x, y in pairs)


def expanded_type(
    source: MemRefType, shape: Sequence[int], groups: Sequence[Sequence[int]]
) -> MemRefType | None:
    """The type of `source` with each dimension split into those of its group; None for other layouts."""
    layout = None
    if not is_identity(source):
        base = strided(source)
        if base is None:
            return None
        sizes = extents(shape)
        strides = [1] * len(sizes)
        for group, stride in zip(groups, base.strides, strict=False):
            for dim in reversed(group):
                strides[dim] = stride
                stride = times(stride, sizes[dim])
        layout = StridedLayoutAttr(tuple(strides), base.offset)
    return MemRefType(tuple(shape), source.element, layout, source.memory_space)


def collapsed_type(source: MemRefType, groups: Sequence[Sequence[int]]) -> MemRefType | None:
    """The type of `source` with the dimensions of each group joined; None if they are not contiguous."""
    sizes = extents(source.shape)
    shape: list[int] = []
    for group in groups:
        product = 1
        for dim in group:
            product = times(product, sizes[dim])
        shape.append(DYNAMIC if product == DYNAMIC_INDEX else product)
    layout = None
    if not is_identity(source):
        base = strided(source)
        if base is None:
            return None
        strides: list[int] = []
        for group in groups:
            inner = list(group)
            while len(inner) > 1 and sizes[inner[-1]] == 1:
                inner.pop()
            known = sizes[inner[-1]] != DYNAMIC_INDEX or len(inner) == 1
            strides.append(base.strides[inner[-1]] if known else DYNAMIC_INDEX)
            stride = strides[-1]
            for before, dim in zip(reversed(group[:-1]), reversed(group[1:]), strict=True):
                stride = times(stride, sizes[dim])
                found = base.strides[before]
                if sizes[before] != 1 and DYNAMIC_INDEX not in (stride, found) and stride != found:
                    return None
        layout = StridedLayoutAttr(tuple(strides), base.offset)
    return MemRefType(tuple(shape), source.element, layout, source.memory_space)
