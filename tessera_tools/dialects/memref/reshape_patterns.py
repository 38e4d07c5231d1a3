"""Canonicalization patterns of `memref.expand_shape` and `memref.collapse_shape`, and what all patterns of `memref`
ask of casts and of lists of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tessera_tools.dialects.arith.integers import MulI, defined_by
from tessera_tools.dialects.memref.buffers import Cast
from tessera_tools.dialects.memref.layouts import can_be_cast, collapsed_type, expanded_type, extents, strided
from tessera_tools.dialects.memref.lists import mixed
from tessera_tools.dialects.memref.reshapes import CollapseShape, ExpandShape
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import ArrayAttr, DenseArrayAttr, i64, index
from tessera_tools.ir.core import Operation, OpT, Value
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.rewriter import RewritePattern, Rewriter
from tessera_tools.ir.types import DYNAMIC, DYNAMIC_INDEX, I64, MemRefType

if TYPE_CHECKING:
    from typing_extensions import TypeIs


def known_items(given: Sequence[int | Value], *, strides: bool = False) -> list[int | Value]:
    """The numbers of a mixed list, with constants for values that are such: of strides all but 0, of others those that
    are not negative."""
    known: list[int | Value] = []
    for item in given:
        number = constant_integer(item) if isinstance(item, Value) else None
        fits = number is not None and (number != 0 if strides else number >= 0)
        known.append(number if number is not None and fits else item)
    return known


def split(given: Sequence[int | Value]) -> tuple[list[Value], tuple[int, ...]]:
    """A mixed list as its operands and its static list."""
    values = [item for item in given if isinstance(item, Value)]
    return values, tuple(item if isinstance(item, int) else DYNAMIC_INDEX for item in given)


def is_as_static(source: Type, target: Type) -> bool:
    """True if a cast from one type to the other is possible and forgets: all that the target has, the source has."""
    if not isinstance(source, MemRefType) or not isinstance(target, MemRefType):
        return False
    a, b = strided(source), strided(target)
    if a is None or b is None or not can_be_cast(source, target):
        return False
    pairs = [*zip(source.shape, target.shape, strict=True)]
    numbers = [(a.offset, b.offset), *zip(a.strides, b.strides, strict=True)]
    return all(y in (x, DYNAMIC) for x, y in pairs) and all(y in (x, DYNAMIC_INDEX) for x, y in numbers)


def is_ranked(buffer: Value) -> TypeIs[Value[MemRefType]]:
    """Whether the rank of a buffer is known."""
    return isinstance(buffer.type, MemRefType)


def forgotten(value: Value) -> Value[MemRefType] | None:
    """The buffer ahead of a cast that forgets; None for other values."""
    cast = defined_by(value, Cast)
    if cast is None or not is_ranked(cast.source) or not is_as_static(cast.source.type, cast.dest.type):
        return None
    return cast.source


def replace_cast(op: Operation, made: Operation, rewriter: Rewriter) -> None:
    """Replace an op by one whose result may have another type, through a cast."""
    value, type = made.results[0], op.results[0].type
    rewriter.replace_op(
        op, [value if value.type is type else rewriter.insert(Cast(value, dest=type)).results[0]]
    )


def groups_attribute(groups: Sequence[Sequence[int]]) -> ArrayAttr:
    """The attribute of a list of groups of dimensions."""
    return ArrayAttr(tuple(ArrayAttr(tuple(i64(dim) for dim in group)) for group in groups))


def expand(
    source: Value, groups: Sequence[Sequence[int]], shape: Sequence[int | Value]
) -> ExpandShape | None:
    """An expansion to a mixed shape; None if it has no type, or breaks a rule."""
    values, numbers = split(shape)
    target = tuple(DYNAMIC if n == DYNAMIC_INDEX else n for n in numbers)
    type = expanded_type(source.type, target, groups)  # type: ignore[arg-type]
    if type is None:
        return None
    made = ExpandShape(
        source,
        groups_attribute(groups),
        values,
        static_output_shape=DenseArrayAttr(I64, numbers),
        result=type,
    )
    return checked(made)


def collapse(source: Value, groups: Sequence[Sequence[int]]) -> CollapseShape | None:
    """A collapse; None if it has no type, or breaks a rule."""
    type = collapsed_type(source.type, groups)  # type: ignore[arg-type]
    if type is None:
        return None
    return checked(CollapseShape(source, reassociation=groups_attribute(groups), result=type))


def checked(op: OpT) -> OpT | None:
    """A new op; None if it breaks a rule, such as a number outside of the buffer."""
    from tessera_tools.diagnostics import DiagnosticError

    try:
        op.verify_op()
    except DiagnosticError:
        op.erase()
        return None
    return op


def replace_if_castable(op: Operation, made: Operation | None, rewriter: Rewriter) -> bool | str:
    """Replace an op by one whose type can be cast to its own; otherwise discard the new one."""
    if made is None:
        return "the types do not fit"
    old, new = op.results[0].type_as(MemRefType), made.results[0].type_as(MemRefType)
    if old is not new and not can_be_cast(new, old):
        made.erase()
        return "the types do not fit"
    replace_cast(op, rewriter.insert(made), rewriter)
    return True


class ReshapeOfNothing(RewritePattern[Operation]):
    """A reshape to the same type is none; nor are two that undo each other."""

    # expand(x) = x, collapse(x) = x of one type;  collapse(expand(x)) = x, expand(collapse(x)) = x with one grouping

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool | str | None:
        if not isinstance(op, ExpandShape | CollapseShape):
            return None
        if op.src.type is op.result.type:
            rewriter.replace_op(op, [op.src])
            return True
        inner = defined_by(op.src, CollapseShape if isinstance(op, ExpandShape) else ExpandShape)
        if inner is None or inner.groups != op.groups:
            return "it undoes no other"
        source, result = inner.src, op.result.type
        if isinstance(op, ExpandShape) and DYNAMIC in result.shape and source.type is not result:
            return "the extents may differ"
        if source.type is result:
            rewriter.replace_op(op, [source])
            return True
        if is_as_static(source.type, result):
            rewriter.replace_op(op, rewriter.insert(Cast(source, dest=result)))
            return True
        return "the types do not fit"


class CollapseOfCollapse(RewritePattern[CollapseShape]):
    """Dimensions that are joined, and then joined again, are joined at once."""

    # collapse [[0, 1]] (collapse [[0, 1], [2]] x) = collapse [[0, 1, 2]] x

    def match_and_rewrite(self, op: CollapseShape, rewriter: Rewriter) -> bool | str | None:
        inner = defined_by(op.src, CollapseShape)
        if inner is None:
            return "it joins no joined dimensions"
        within = inner.groups
        groups = [[dim for part in group for dim in within[part]] for group in op.groups]
        return replace_if_castable(op, collapse(inner.src, groups), rewriter)


class ExpandOfExpand(RewritePattern[ExpandShape]):
    """Dimensions that are split, and then split again, are split at once."""

    # expand [[0, 1], [2]] (expand [[0, 1]] x) = expand [[0, 1, 2]] x

    def match_and_rewrite(self, op: ExpandShape, rewriter: Rewriter) -> bool | str | None:
        inner = defined_by(op.src, ExpandShape)
        if inner is None:
            return "it splits no split dimensions"
        outer = op.groups
        groups = [[dim for part in group for dim in outer[part]] for group in inner.groups]
        shape = mixed(op.static_output_shape.values, op.output_shape)
        return replace_if_castable(op, expand(inner.src, groups, shape), rewriter)


class CollapseOfExpand(RewritePattern[CollapseShape]):
    """Dimensions that are split and partly joined again are split into fewer."""

    # collapse [[0, 1], [2]] (expand [[0, 1, 2]] x) = expand [[0, 1]] x
    # collapse [[0, 1, 2]] (expand [[0], [1, 2]] x) = collapse [[0, 1]] x

    def match_and_rewrite(self, op: CollapseShape, rewriter: Rewriter) -> bool | str | None:
        inner = defined_by(op.src, ExpandShape)
        joined = op.groups
        if inner is None or not joined or not inner.groups or inner.groups == joined:
            return "it joins no dimensions that were split otherwise"
        parts = inner.groups
        place = {dim: i for i, group in enumerate(joined) for dim in group}
        origin = {dim: i for i, group in enumerate(parts) for dim in group}
        if all(len({origin[dim] for dim in group}) == 1 for group in joined):
            groups = [list(dict.fromkeys(place[dim] for dim in group)) for group in parts]
            shape = mixed(inner.static_output_shape.values, inner.output_shape)
            items = [self._product([shape[dim] for dim in group], rewriter) for group in joined]
            return replace_if_castable(op, expand(inner.src, groups, items), rewriter)
        if all(len({place[dim] for dim in group}) == 1 for group in parts):
            groups = [list(dict.fromkeys(origin[dim] for dim in group)) for group in joined]
            return replace_if_castable(op, collapse(inner.src, groups), rewriter)
        return "the groups overlap"

    @staticmethod
    def _product(items: Sequence[int | Value], rewriter: Rewriter) -> int | Value:
        from tessera_tools.dialects.arith.constant_op import Constant

        number = math.prod(n for n in items if isinstance(n, int))
        values = [v for v in items if isinstance(v, Value)]
        if not values:
            return number
        product = values[0]
        for value in values[1:]:
            product = rewriter.insert(MulI(product, value)).result
        if number != 1:
            product = rewriter.insert(MulI(product, rewriter.insert(Constant(index(number))).result)).result
        return product


class CollapseOfCast(RewritePattern[CollapseShape]):
    """Dimensions are joined ahead of a cast that forgets."""

    # collapse(cast(x)) = cast(collapse(x))

    def match_and_rewrite(self, op: CollapseShape, rewriter: Rewriter) -> bool | str | None:
        source = forgotten(op.src)
        if source is None:
            return "it joins dimensions of no cast that forgets"
        return replace_if_castable(op, collapse(source, op.groups), rewriter)


class ExpandOfKnown(RewritePattern[ExpandShape]):
    """Folds constant extents of an expansion into its shape, and uses the static type of a cast's source."""

    # expand(cast(x)) to [c, 4] = cast(expand(x) to [2, 4])

    def match_and_rewrite(self, op: ExpandShape, rewriter: Rewriter) -> bool | str | None:
        source = forgotten(op.src) or op.src
        given = mixed(op.static_output_shape.values, op.output_shape)
        shape = known_items(given)
        if source is op.src and shape == given:
            return "no extent is constant, and no cast ahead of it forgets"
        for group, extent in zip(op.groups, extents(source.type.shape), strict=False):
            if (extent == DYNAMIC_INDEX) != any(isinstance(shape[dim], Value) for dim in group):
                return "the extents do not follow"
        return replace_if_castable(op, expand(source, op.groups, shape), rewriter)


patterns = (
    ReshapeOfNothing, CollapseOfCollapse, ExpandOfExpand, CollapseOfExpand, CollapseOfCast, ExpandOfKnown,
)  # fmt: skip
"""The patterns for reshapes."""
