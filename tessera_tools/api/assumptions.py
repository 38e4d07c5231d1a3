"""What is compiled in of the arrays of a cuTile kernel, and whether other arrays comply.

ArrayViews ──`Assumed.of`──▶ divisors and constants that hold for all ──`violation`──▶ why another does not comply
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.api.arrays import ArrayView
from tessera_tools.diagnostics import error
from tessera_tools.records import dataclass

__all__ = ["VECTOR", "Assumed", "overlaps"]

VECTOR = 16
"""The declared alignment of addresses, strides and extents, in bytes."""


@dataclass(frozen=True)
class Assumed:
    """What is compiled in of an array, or of every array of a list."""

    dtype: str
    base: int
    """The divisor of the address, in bytes."""
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    """Divisors, in elements."""
    fixed_extents: tuple[int | None, ...]
    fixed_strides: tuple[int | None, ...]
    """Constants."""
    wide: bool
    """Extents and strides are i64."""
    repeats: bool
    """Several elements may have the same address."""

    @staticmethod
    def of(noted: object, arrays: Sequence[tuple[str, ArrayView]]) -> Assumed:
        """What holds for all the arrays, which have one element type and rank.

        noted: cuTile's annotation of an array, or None. arrays: with their names. Raises DiagnosticError if the
        annotation asks for constants that differ.
        """
        views = [view for _, view in arrays]
        first = views[0]
        rank = len(first.shape)
        each = max(VECTOR // first.itemsize, 1)
        shapes = [tuple(view.shape[axis] for view in views) for axis in range(rank)]
        steps = [tuple(view.strides[axis] for view in views) for axis in range(rank)]
        static_extents = _static(noted, "extent", "static_shape_dims", shapes, arrays)
        static_strides = _static(noted, "stride", "static_stride_dims", steps, arrays)
        fixed = [
            values[0] if axis in static_strides or (set(values) == {1} and not static_strides) else None
            for axis, values in enumerate(steps)
        ]
        index = getattr(getattr(noted, "index_dtype", None), "name", "int32")
        return Assumed(
            first.dtype,
            VECTOR if _all_multiples([view.address for view in views], VECTOR) else first.itemsize,
            tuple(each if _all_multiples(extents, each) else 1 for extents in shapes),
            tuple(
                each if _all_multiples(values, each) and known is None else 1
                for values, known in zip(steps, fixed, strict=True)
            ),
            tuple(extents[0] if axis in static_extents else None for axis, extents in enumerate(shapes)),
            tuple(fixed),
            index == "int64" or any(map(_is_wide, views)),
            any(map(_repeats, views)),
        )

    def violation(self, view: ArrayView) -> str | None:
        """Why a kernel that assumes this cannot have the array; None if it can."""
        if view.dtype != self.dtype or len(view.shape) != len(self.extents):
            return f"arrays of {self.dtype} with {len(self.extents)} dimensions; found {view.dtype}, {view.shape}"
        if view.address % self.base:
            return f"an address that is a multiple of {self.base} bytes; found {view.address:#x}"
        rows = (
            ("extent", view.shape, self.fixed_extents, self.extents),
            ("stride", view.strides, self.fixed_strides, self.strides),
        )
        for what, values, fixed, divisors in rows:
            for axis, (value, known, divisor) in enumerate(zip(values, fixed, divisors, strict=True)):
                if known is not None and value != known:
                    return f"{what} {known} in dimension {axis}; found {value}"
                if value % divisor:
                    return f"{what}s in dimension {axis} that are multiples of {divisor}; found {value}"
        if not self.wide and _is_wide(view):
            return "extents and strides of 32 bits; found larger ones"
        if not self.repeats and _repeats(view):
            return f"elements with addresses of their own; found the strides {view.strides}"
        return None


def _static(
    noted: object,
    what: str,
    field: str,
    values: Sequence[Sequence[int]],
    arrays: Sequence[tuple[str, ArrayView]],
) -> set[int]:
    """The dimensions whose extents or strides the annotation compiles in; cuTile refuses those that there are not."""
    axes = {axis % max(len(values), 1) for axis in getattr(noted, field, ())} & {*range(len(values))}
    for axis in sorted(axes):
        expected = values[axis][0]
        for (name, _), value in zip(arrays, values[axis], strict=True):
            if value != expected:
                raise error(
                    None,
                    f"'{name}': found {what} {value} in dimension {axis}, expected {expected}, as '{arrays[0][0]}' "
                    "has: the annotation compiles it in",
                )
    return axes


def _all_multiples(values: Sequence[int], divisor: int) -> bool:
    return all(value % divisor == 0 for value in values)


def _is_wide(view: ArrayView) -> bool:
    return max((*view.shape, *view.strides, 0)) >= 1 << 31


def _repeats(view: ArrayView) -> bool:
    """Whether an array has the same element at several places, as broadcast arrays have."""
    return any(step == 0 and extent > 1 for extent, step in zip(view.shape, view.strides, strict=True))


def overlaps(arguments: Sequence[Sequence[ArrayView]]) -> set[tuple[int, int]]:
    """The pairs of arguments, by number, whose arrays share memory; a number twice if arrays of one argument do."""
    bounds = sorted((*view.bounds, number) for number, views in enumerate(arguments) for view in views)
    found: set[tuple[int, int]] = set()
    begun: list[tuple[int, int]] = []
    for low, high, number in bounds:
        if low == high:
            continue
        begun = [(end, other) for end, other in begun if low < end]
        found |= {(min(number, other), max(number, other)) for _, other in begun}
        begun.append((high, number))
    return found
