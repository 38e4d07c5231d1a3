"""Canonicalization patterns of `memref`: static information is moved to the type of a buffer, and casts that remove it
are erased.

    this module          allocations, casts, copies, extents, views by offsets, sizes and strides
    reshape_patterns.py  dimensions split and joined

A pattern that refines a type creates the op with that type, and casts the result to the original type.
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects.arith.constant_op import Constant
from tessera_tools.dialects.arith.integers import defined_by
from tessera_tools.dialects.memref import reshape_patterns
from tessera_tools.dialects.memref.buffers import (
    Alloc,
    Alloca,
    Cast,
    Copy,
    Dealloc,
    Dim,
    Load,
    MemorySpaceCast,
    Store,
)
from tessera_tools.dialects.memref.layouts import dropped_dimensions, extents, strided, subview_type
from tessera_tools.dialects.memref.lists import mixed_items
from tessera_tools.dialects.memref.reshape_patterns import (
    checked,
    forgotten,
    is_as_static,
    known_items,
    replace_cast,
    split,
)
from tessera_tools.dialects.memref.reshapes import AssumeAlignment, ExpandShape
from tessera_tools.dialects.memref.views import ExtractStridedMetadata, ReinterpretCast, SubView, View
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, StridedLayoutAttr, index
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.rewriter import RewritePattern, Rewriter
from tessera_tools.ir.types import DYNAMIC, DYNAMIC_INDEX, I64, MemRefType

# -- allocations


class AllocationOfKnownExtents(RewritePattern[Operation]):
    """Folds a constant extent of an allocation into its type."""

    # alloc(4) : memref<?xf32> = cast(alloc() : memref<4xf32>)

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool | str | None:
        if not isinstance(op, Alloc | Alloca):
            return None
        type = op.memref.type
        sizes = iter(op.dynamic_sizes)
        given: list[int | Value] = [next(sizes) if extent == DYNAMIC else extent for extent in type.shape]
        known = known_items(given)
        if known == given:
            return "no extent is constant"
        shape = tuple(n if isinstance(n, int) else DYNAMIC for n in known)
        made = op.__class__(
            [n for n in known if isinstance(n, Value)],
            op.symbol_operands,
            memref=MemRefType(shape, type.element, type.layout, type.memory_space),
            alignment=op.alignment,
        )
        replace_cast(op, rewriter.insert(made), rewriter)
        return True


class AllocationThatNothingReads(RewritePattern[Operation]):
    """An allocation to which there are only stores goes, with them."""

    # a = alloc(); store x, a; dealloc a  =  nothing

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool | str | None:
        if not isinstance(op, Alloc | Alloca):
            return None
        users = list(dict.fromkeys(op.memref.users))
        if not all(
            isinstance(u, Dealloc) or (isinstance(u, Store) and u.value is not op.memref) for u in users
        ):
            return "it is read, or passed on"
        for user in users:
            rewriter.erase_op(user)
        rewriter.erase_op(op)
        return True


# -- casts


class UseOfCast(RewritePattern[Operation]):
    """An op that does not need a specific type uses the source of a cast that removes static information."""

    # load(cast(x)) = load(x), if x has the more static type; store, dealloc, dim and copy likewise

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool | str | None:
        if not isinstance(op, Load | Store | Dealloc | Dim | Copy):
            return None
        changed = False
        for i, value in enumerate(op.operands):
            source = forgotten(value)
            if source is not None and not (isinstance(op, Store) and value is op.value):
                with rewriter.modify(op):
                    op.set_operand(i, source)
                changed = True
        return changed or "no operand is a cast that forgets"


class CastOfCast(RewritePattern[Cast]):
    """Merges two casts if the first one removes static information."""

    # cast(cast(x)) = cast(x), if the first one forgets

    def match_and_rewrite(self, op: Cast, rewriter: Rewriter) -> bool | str | None:
        source = forgotten(op.source)
        if source is None:
            return "it casts no cast that forgets"
        if source.type is op.dest.type:
            rewriter.replace_op(op, [source])
        else:
            rewriter.replace_op(op, rewriter.insert(Cast(source, dest=op.dest.type)))
        return True


class SpaceCastOfSpaceCast(RewritePattern[MemorySpaceCast]):
    """Merges two casts of the memory space; erases one to the same space."""

    # space_cast(space_cast(x)) = space_cast(x)

    def match_and_rewrite(self, op: MemorySpaceCast, rewriter: Rewriter) -> bool | str | None:
        if op.source.type is op.dest.type:
            rewriter.replace_op(op, [op.source])
            return True
        inner = defined_by(op.source, MemorySpaceCast)
        if inner is None:
            return "it casts no such cast"
        rewriter.replace_op(op, rewriter.insert(MemorySpaceCast(inner.source, dest=op.dest.type)))
        return True


class AssumedTwice(RewritePattern[AssumeAlignment]):
    """An alignment that was assumed need not be assumed again."""

    # assume_alignment(assume_alignment(x, n), n) = assume_alignment(x, n)

    def match_and_rewrite(self, op: AssumeAlignment, rewriter: Rewriter) -> bool | str | None:
        inner = defined_by(op.memref, AssumeAlignment)
        if inner is None or inner.alignment is not op.alignment:
            return "it is not assumed yet"
        rewriter.replace_op(op, [inner.result])
        return True


class CopyOfNothing(RewritePattern[Copy]):
    """A copy of a buffer to itself, or of no elements, goes."""

    # copy x, x = nothing

    def match_and_rewrite(self, op: Copy, rewriter: Rewriter) -> bool | str | None:
        empty = any(isinstance(v.type, MemRefType) and 0 in v.type.shape for v in op.operands)
        if op.source is not op.target and not empty:
            return "it copies elements"
        rewriter.erase_op(op)
        return True


# -- extents


class ExtentOfMadeBuffer(RewritePattern[Dim]):
    """The extent of a buffer is the one with which it was created."""

    # dim(alloc(n), 0) = n;  dim(subview(x)[o][n][s], 0) = n

    def match_and_rewrite(self, op: Dim, rewriter: Rewriter) -> bool | str | None:
        at, made, type = constant_integer(op.index), op.source.defining_op, op.source.type
        if at is None or not isinstance(type, MemRefType):
            return "the dimension is not known"
        if not 0 <= at < len(type.shape) or type.shape[at] != DYNAMIC:
            return "there is no such dimension, or the type has its extent"
        before = type.shape[:at].count(DYNAMIC)
        if isinstance(made, Alloc | Alloca):
            found: int | Value = made.dynamic_sizes[before]
        elif isinstance(made, View):
            found = made.sizes[before]
        elif isinstance(made, ReinterpretCast) or (
            isinstance(made, SubView) and len(type.shape) == len(made.source.type.shape)
        ):
            found = mixed_items(made, "sizes")[at]
        elif isinstance(made, ExpandShape):
            found = mixed_items(made, "output_shape")[at]
        else:
            return "nothing is known of the buffer"
        if isinstance(found, int):
            return "the type has its extent"
        rewriter.replace_op(op, [found])
        return True


# -- views by offsets, sizes and strides


def with_source(
    op: SubView | ReinterpretCast, source: Value, lists: Sequence[Sequence[int | Value]], type: MemRefType
) -> SubView | ReinterpretCast:
    """A view like `op` of another buffer, with mixed offsets, sizes and strides."""
    (offsets, static_offsets), (sizes, static_sizes), (strides, static_strides) = map(split, lists)
    return op.__class__(
        source,
        offsets,
        sizes,
        strides,
        static_offsets=DenseArrayAttr(I64, static_offsets),
        static_sizes=DenseArrayAttr(I64, static_sizes),
        static_strides=DenseArrayAttr(I64, static_strides),
        result=type,
    )


FIELDS = ("offsets", "sizes", "strides")


class SubViewOfKnown(RewritePattern[SubView]):
    """Folds constant offsets, sizes and strides of a view into its lists, and uses the static type of a cast's
    source."""

    # subview(x)[c0][c1][c2] = cast(subview(x)[0][1][2]);  subview(cast(x)) = cast(subview(x))

    def match_and_rewrite(self, op: SubView, rewriter: Rewriter) -> bool | str | None:
        source = forgotten(op.source) or op.source
        given = [mixed_items(op, name) for name in FIELDS]
        known = [known_items(given[0]), known_items(given[1]), known_items(given[2], strides=True)]
        if known == given and source is op.source:
            return "no number is constant, and no cast ahead of it forgets"
        dropped = None
        full = subview_type(op.source.type, *(split(found)[1] for found in given))
        if full is not None:
            dropped = dropped_dimensions(full, op.result.type)
        fresh = subview_type(source.type, *(split(found)[1] for found in known))
        layout = fresh.layout if fresh is not None else None
        if dropped is None or fresh is None or not isinstance(layout, StridedLayoutAttr):
            return "the layout is not a strided one"
        kept = [i for i in range(len(fresh.shape)) if i not in dropped]
        type = MemRefType(
            tuple(fresh.shape[i] for i in kept),
            fresh.element,
            StridedLayoutAttr(tuple(layout.strides[i] for i in kept), layout.offset),
            fresh.memory_space,
        )
        old, new = op.result.type, type
        if old.shape == new.shape and strided(old) == strided(new):
            type = old
        made = with_source(op, source, known, type)
        # Numbers out of bounds are left as operands.
        if checked(made) is None:
            return "the numbers are out of bounds"
        replace_cast(op, rewriter.insert(made), rewriter)
        return True


class SubViewOfAll(RewritePattern[SubView]):
    """A view of all of a buffer is the buffer."""

    # subview(x : memref<4x6>)[0, 0][4, 6][1, 1] = x

    def match_and_rewrite(self, op: SubView, rewriter: Rewriter) -> bool | str | None:
        source, result = op.source.type, op.result.type
        if len(source.shape) != len(result.shape):
            return "it drops dimensions"
        if any(n != 0 for n in mixed_items(op, "offsets")) or any(n != 1 for n in mixed_items(op, "strides")):
            return "it begins elsewhere, or leaves elements out"
        whole = extents(source.shape)
        if isinstance(op.source.defining_op, SubView) and op.source.defining_op.result.type is source:
            inner = op.source.defining_op
            if len(inner.source.type.shape) == len(source.shape):
                whole = mixed_items(inner, "sizes")
        sizes = mixed_items(op, "sizes")
        if any(a != b for a, b in zip(sizes, whole, strict=True)) or DYNAMIC_INDEX in whole:
            return "it has not all elements, as far as is known"
        if source is result:
            rewriter.replace_op(op, [op.source])
            return True
        if is_as_static(source, result):
            rewriter.replace_op(op, rewriter.insert(Cast(op.source, dest=result)))
            return True
        return "the types do not fit"


class ReinterpretSource(RewritePattern[ReinterpretCast]):
    """Only the memory of the source of a reinterpretation is relevant."""

    # reinterpret_cast(cast(x)) = reinterpret_cast(x); so for reinterpret_cast, a view from the start, a base buffer

    def match_and_rewrite(self, op: ReinterpretCast, rewriter: Rewriter) -> bool | str | None:
        made = op.source.defining_op
        if (
            isinstance(made, ReinterpretCast | Cast)
            or (isinstance(made, SubView) and all(n == 0 for n in mixed_items(made, "offsets")))
            or (isinstance(made, ExtractStridedMetadata) and op.source is made.base_buffer)
        ):
            source = made.source
        else:
            return "the buffer is not a view of another at offset 0"
        with rewriter.modify(op):
            op.set_operand(0, source)
        return True


class ReinterpretOfKnown(RewritePattern[ReinterpretCast]):
    """Folds constant numbers of a reinterpretation into its lists; erases an identity."""

    # reinterpret_cast(x) to offset(x), sizes(x), strides(x) = x

    def match_and_rewrite(self, op: ReinterpretCast, rewriter: Rewriter) -> bool | str | None:
        given = [mixed_items(op, name) for name in FIELDS]
        known = [known_items(given[0]), known_items(given[1]), known_items(given[2], strides=True)]
        source, result = op.source.type, op.result.type
        if self._changes_nothing(op.source, known):
            if source is result:
                rewriter.replace_op(op, [op.source])
                return True
            if is_as_static(source, result):
                rewriter.replace_op(op, rewriter.insert(Cast(op.source, dest=result)))
                return True
        if known == given:
            return "no number is constant"
        (offset,), sizes, strides = (split(found)[1] for found in known)
        layout = StridedLayoutAttr(tuple(strides), offset)
        shape = tuple(DYNAMIC if n == DYNAMIC_INDEX else n for n in sizes)
        type = MemRefType(shape, result.element, layout, result.memory_space)
        if result.shape == type.shape and strided(result) == strided(type):
            type = result
        replace_cast(op, rewriter.insert(with_source(op, op.source, known, type)), rewriter)
        return True

    @staticmethod
    def _changes_nothing(source: Value, known: Sequence[Sequence[int | Value]]) -> bool:
        type = source.type
        base = strided(type) if isinstance(type, MemRefType) else None
        if base is None or not isinstance(type, MemRefType) or len(type.shape) != len(known[1]):
            return False
        pairs = [
            *zip(known[0], [base.offset], ["offset"], [0], strict=True),
            *((n, e, "sizes", i) for i, (n, e) in enumerate(zip(known[1], extents(type.shape), strict=True))),
            *((n, e, "strides", i) for i, (n, e) in enumerate(zip(known[2], base.strides, strict=True))),
        ]
        for number, fixed, name, at in pairs:
            if isinstance(number, int):
                if number != fixed:
                    return False
                continue
            made = defined_by(number, ExtractStridedMetadata)
            if made is None or made.source is not source:
                return False
            places = {"offset": [made.offset], "sizes": made.sizes, "strides": made.strides}
            if places[name][at] is not number:
                return False
        return True


class MetadataOfKnown(RewritePattern[ExtractStridedMetadata]):
    """Numbers of a buffer that its type has are constants."""

    # extract_strided_metadata(x : memref<3x?xf32, strided<[4, ?]>>) returns 3 and 4

    def match_and_rewrite(self, op: ExtractStridedMetadata, rewriter: Rewriter) -> bool | str | None:
        base = strided(op.source.type)
        if base is None:
            return "the layout is not a strided one"
        changed = False
        numbers = (base.offset, *extents(op.source.type.shape), *base.strides)
        for result, number in zip(op.results[1:], numbers, strict=True):
            if number != DYNAMIC_INDEX and result.has_uses:
                rewriter.replace_all_uses(result, rewriter.insert(Constant(index(number))).result)
                changed = True
        return changed or "nothing more is known"


class MetadataOfCast(RewritePattern[ExtractStridedMetadata]):
    """A cast changes no number of a buffer."""

    # extract_strided_metadata(cast(x)) = extract_strided_metadata(x)

    def match_and_rewrite(self, op: ExtractStridedMetadata, rewriter: Rewriter) -> bool | str | None:
        inner = defined_by(op.source, Cast)
        if inner is None or not isinstance(inner.source.type, MemRefType):
            return "it is of no cast"
        with rewriter.modify(op):
            op.set_operand(0, inner.source)
        return True


class ViewOfKnown(RewritePattern[View]):
    """A view of bytes uses the source of a cast, has its constant extents in its type, and may be an identity."""

    # view(cast(x)) = view(x);  view(x)[0] of the type of x = x;  view(x)[n][4] = cast(view(x)[n][])

    def match_and_rewrite(self, op: View, rewriter: Rewriter) -> bool | str | None:
        type = op.result.type
        if constant_integer(op.byte_shift) == 0 and type is op.source.type and not op.sizes:
            rewriter.replace_op(op, [op.source])
            return True
        source = forgotten(op.source)
        if source is not None and source.type.layout is None:
            with rewriter.modify(op):
                op.set_operand(0, source)
            return True
        sizes = iter(op.sizes)
        given: list[int | Value] = [next(sizes) if extent == DYNAMIC else extent for extent in type.shape]
        known = known_items(given)
        if known == given:
            return "no extent is constant"
        shape = tuple(n if isinstance(n, int) else DYNAMIC for n in known)
        made = View(
            op.source,
            op.byte_shift,
            [n for n in known if isinstance(n, Value)],
            result=MemRefType(shape, type.element, type.layout, type.memory_space),
        )
        replace_cast(op, rewriter.insert(made), rewriter)
        return True


canonicalizers = (
    AllocationOfKnownExtents, AllocationThatNothingReads, UseOfCast, CastOfCast, SpaceCastOfSpaceCast, AssumedTwice,
    CopyOfNothing, ExtentOfMadeBuffer, SubViewOfKnown, SubViewOfAll, ReinterpretSource, ReinterpretOfKnown,
    MetadataOfKnown, MetadataOfCast, ViewOfKnown, *reshape_patterns.patterns,
)  # fmt: skip
"""The patterns of the dialect."""
