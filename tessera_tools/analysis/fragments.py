"""The tiles that the fragments of a `tile` program are parts of.

    %s = tile.mma %q, %k : memref<128x64xbf16, 3>, memref<64x128xbf16, 3> -> memref<8x8xf32, 5>
    tile of %s: 128x128, so (128/8) · (128/8) = 256 threads hold it; tile of tile.row_max %s: 128 rows

A fragment says how many elements a thread holds, not of what: that follows from the products.  Fragments that meet in
an op are parts of one tile (or of its rows), and a product in shared memory names the tile's extents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from tessera_tools.dialects import tile
from tessera_tools.dialects.tile.compute import ByRow, Product, RowReduction
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import DYNAMIC

DEFAULT_THREADS = 128
"""Threads of a block whose program does not say how many there are."""
THREADS = "tessera.threads"
"""Attribute of a function: threads of a block, for programs without a product."""


@dataclass
class Fragments:
    """What is known of a function's fragments."""

    shapes: dict[Value, tuple[int, ...]] = field(default_factory=dict)
    """The extents of the tile (MxN, or M for its rows) of each fragment."""
    threads: int = DEFAULT_THREADS

    def shape(self, value: Value) -> tuple[int, ...]:
        """The extents of the tile that a fragment is part of."""
        return self.shapes[value]


def is_fragment(value: Value) -> bool:
    """Whether a value is a buffer in registers."""
    return tile.FRAGMENT.accepts(value.type)


class _Classes:
    """Fragments of one tile; the class of a tile knows that of its rows."""

    def __init__(self) -> None:
        self.parent: dict[Value, Value] = {}
        self.rows: dict[Value, Value] = {}

    def find(self, value: Value) -> Value:
        while (up := self.parent.get(value, value)) is not value:
            self.parent[value] = self.parent.get(up, up)
            value = up
        return value

    def tie(self, a: Value, b: Value) -> None:
        ra, rb = self.find(a), self.find(b)
        if ra is rb:
            return
        self.parent[rb] = ra
        other = self.rows.pop(rb, None)
        if other is not None:
            self.tie_rows(ra, other)

    def tie_rows(self, whole: Value, rows: Value) -> None:
        root = self.find(whole)
        known = self.rows.get(root)
        if known is None:
            self.rows[root] = rows
        else:
            self.tie(known, rows)


def fragments_of(function: Operation) -> Fragments:
    """The tiles of a function's fragments.  Errors: at a product whose tile disagrees with another's or that takes
    another number of threads; at a fragment that no product decides."""
    classes = _Classes()
    ops = list(function.walk())
    for op in ops:
        _tie(op, classes)
    found = Fragments()
    known: dict[Value, tuple[int, int]] = {}
    threads: tuple[int, Operation] | None = None
    products = [op for op in ops if isinstance(op, Product)]
    waiting = products
    while waiting:
        later: list[Any] = []
        for op in waiting:
            shape = _product_shape(op, classes, known)
            if shape is None:
                later.append(op)
                continue
            root = classes.find(op.res)
            if known.setdefault(root, shape) != shape:
                raise op.error(
                    f"makes a tile of {_text(shape)}, but its fragment is part of one of {_text(known[root])}"
                )
            count = prod(shape) // prod(op.res.type.shape)
            if shape == op.res.type.shape:
                # The tile itself: as many threads hold it as the others need, or the function says.
                continue
            if prod(shape) % prod(op.res.type.shape) or count & (count - 1) or not 32 <= count <= 1024:
                raise op.error(
                    f"makes a tile of {_text(shape)} in fragments of {_text(op.res.type.shape)}; expected those of a "
                    "power of two of threads, from 32 to 1024"
                )
            if threads is not None and threads[0] != count:
                failure = op.error(f"takes {count} threads, but another product takes {threads[0]}")
                failure.diagnostics[0].note("the other product is here", threads[1].location)
                raise failure
            threads = (count, op)
        if len(later) == len(waiting):
            raise later[0].error(
                "multiplies fragments whose tile is not known; expected the result of a product of shared memory"
            )
        waiting = later
    found.threads = threads[0] if threads is not None else declared_threads(function)
    for root, rows in classes.rows.items():
        if root in known:
            known.setdefault(classes.find(rows), known[root])
    for root, rows in classes.rows.items():
        over = known.get(classes.find(rows))
        if root not in known and over is not None and root.type.rank == 2:  # type: ignore[attr-defined]
            # Spread over columns: as many as the threads of a block hold.
            known[root] = over[0], found.threads * prod(root.type.shape) // over[0]  # type: ignore[attr-defined]
    for op in ops:
        for value in op.results:
            if not is_fragment(value):
                continue
            if not op.name.startswith("tile."):
                raise op.error("gives a fragment; fragments are changed in place, and passed on by nothing")
            shape = known.get(classes.find(value))
            if shape is None and not value.has_uses:
                continue
            if shape is None:
                raise op.error(
                    "gives a fragment of a tile that no product decides; expected it to meet the result of a tile.mma"
                )
            found.shapes[value] = shape[: value.type.rank]  # type: ignore[attr-defined]
    return found


def declared_threads(function: Operation) -> int:
    """The threads of a block as a function's attribute says; an error where it is no power of two from 32 to 1024."""
    attribute: Any = function.attributes.get(THREADS)
    if attribute is None:
        return DEFAULT_THREADS
    count = attribute.value if isinstance(attribute, IntegerAttr) else 0
    if not 32 <= count <= 1024 or count & (count - 1):
        raise function.error(f"has {THREADS} = {attribute}; expected a power of two from 32 to 1024")
    return count


def _tie(op: Any, classes: _Classes) -> None:
    if isinstance(op, RowReduction):
        classes.tie_rows(op.source, op.res)
    elif isinstance(op, tile.Broadcast):
        classes.tie_rows(op.res, op.source)
    elif isinstance(op, ByRow):
        classes.tie(op.lhs, op.res)
        classes.tie_rows(op.lhs, op.rhs)
    elif isinstance(op, tile.ScaleAccumulator):
        classes.tie_rows(op.dest, op.factors)
    elif isinstance(op, tile.Spill):
        for user in op.slot.users:
            if not isinstance(user, tile.Spill | tile.Reload):
                continue
            classes.tie(op.value, user.value if isinstance(user, tile.Spill) else user.res)
    elif isinstance(op, Product):
        if op.acc is not None:
            classes.tie(op.res, op.acc)
    elif op.name.startswith("tile."):
        fragments = [v for v in (*op.operands, *op.results) if is_fragment(v)]
        for other in fragments[1:]:
            classes.tie(fragments[0], other)


def _product_shape(op: Any, classes: _Classes, known: dict[Value, tuple[int, int]]) -> tuple[int, int] | None:
    """MxN of a product; None while the tile of an operand in registers is not known."""
    extents: list[tuple[int, ...]] = []
    for value, transposed in ((op.lhs, op.transposes_a), (op.rhs, op.transposes_b)):
        shape = known.get(classes.find(value)) if is_fragment(value) else value.type.shape
        if shape is None:
            return None
        if DYNAMIC in shape:
            raise op.error(f"multiplies {value.type}; expected what lies in shared memory or registers")
        extents.append(tuple(reversed(shape)) if transposed else tuple(shape))
    (m, k), (other, n) = extents
    if k != other:
        raise op.error(f"multiplies a tile of {m}x{k} by one of {other}x{n}")
    return m, n


def _text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))
