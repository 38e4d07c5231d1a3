"""Inference of the tiles of fragments in a `tile` program.

    %s = tile.mma %q, %k : memref<128x64xbf16, 3>, memref<64x128xbf16, 3> -> memref<8x8xf32, 5>
    tile of %s: 128x128, so (128/8) · (128/8) = 256 threads hold it; tile of tile.row_max %s: 128 rows

    tile.load_global_tile %m, %f : memref<16x256xf32>, memref<4x8xf32, 5>         tile of %f: 16x256, 128 threads

The type of a fragment has the number of elements per thread, not the tile.  The tile follows from products, or, if
there are none, from the matrices that are loaded and stored.  Fragments used by the same op are parts of one tile (or
of its rows).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from math import prod

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import tile
from tessera_tools.dialects.tile.compute import ByRow, Product, RowReduction
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import DYNAMIC
from tessera_tools.records import dataclass, field

_ACCESSES = (tile.LoadGlobalTile, tile.StoreGlobal)

DEFAULT_THREADS = 128
"""The default number of threads of a block."""
THREADS = "tessera.threads"
"""Attribute of a function: threads of a block, for programs without a product."""


@dataclass
class Fragments:
    """The tiles of a function's fragments."""

    shapes: dict[Value, tuple[int, ...]] = field(default_factory=dict)
    """The extents of the tile (MxN, or M for its rows) of each fragment."""
    threads: int = DEFAULT_THREADS

    def shape(self, value: Value) -> tuple[int, ...]:
        """The extents of a fragment's tile."""
        return self.shapes[value]


def is_fragment(value: Value) -> bool:
    """True if a value is a buffer in registers."""
    return tile.FRAGMENT.accepts(value.type)


class _Classes:
    """Equivalence classes of fragments of one tile; the class of a tile is linked to the class of its rows."""

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


def fragments_of(function: Operation, *, partly: bool = False) -> Fragments:
    """The tiles of a function's fragments.  Reports errors: at a product, load or store whose tile or number of
    threads is inconsistent with another op; at a fragment whose tile cannot be inferred.

    partly: omit the fragments with an error, for analyses of the rest.
    """
    ops = list(function.walk())
    found = _Extents(function, partly)
    for op in ops:
        _tie(op, found.classes)
    found.products([op for op in ops if isinstance(op, Product)])
    found.accesses([op for op in ops if isinstance(op, _ACCESSES)])
    found.complete()
    fragments = Fragments(threads=found.threads)
    for op in ops:
        for value in op.results:
            if not is_fragment(value):
                continue
            if not op.name.startswith("tile."):
                if partly:
                    continue
                raise op.error("returns a fragment; fragments are modified in place and cannot be results")
            shape = found.shape(value)
            if shape is None and (partly or not value.has_uses):
                continue
            if shape is None:
                raise op.error(
                    "produces a fragment whose tile cannot be inferred; expected it to be used with the result of a "
                    "tile.mma, or with a load from or store to a matrix of static extents"
                )
            fragments.shapes[value] = shape
    return fragments


Extents = tuple[int | None, ...]
"""The known extents of a tile."""


class _Extents:
    """Infers the tiles of fragments from a function's products, loads and stores."""

    def __init__(self, function: Operation, partly: bool) -> None:
        self.function = function
        self.partly = partly
        self.classes = _Classes()
        self.known: dict[Value, Extents] = {}
        """By the root of a class."""
        self.whole: set[Value] = set()
        """Roots of classes whose fragments are the whole tile: other ops define the number of threads."""
        self.source: tuple[int, Operation] | None = None
        """The number of threads, and the op that defines it."""
        self.declared = declared_threads(function) if THREADS in function.attributes else None

    @property
    def threads(self) -> int:
        """The threads of a block."""
        if self.source is not None:
            return self.source[0]
        return self.declared if self.declared is not None else DEFAULT_THREADS

    def shape(self, value: Value) -> tuple[int, ...] | None:
        """The extents of a fragment's tile; None if an extent is unknown."""
        found = self.known.get(self.classes.find(value))
        if found is None:
            return None
        shape = tuple(n for n in found[: value.type.rank] if n is not None)  # type: ignore[attr-defined]
        return shape if len(shape) == value.type.rank else None  # type: ignore[attr-defined]

    # -- products

    def products(self, waiting: list[tile.Product]) -> None:
        """Infer the tiles of products: products of shared memory first, then products of fragments."""
        while waiting:
            later: list[tile.Product] = []
            for op in waiting:
                with self.tolerance():
                    if not self.product(op):
                        later.append(op)
            if len(later) == len(waiting):
                # The operand's tile may follow from a load.
                break
            waiting = later
        self.waiting = waiting

    def product(self, op: tile.Product) -> bool:
        """Infer the tile of one product; True if it is known."""
        shape = _product_shape(op, self)
        if shape is None:
            return False
        before = self.known.setdefault(self.classes.find(op.res), shape)
        if before != shape:
            raise op.error(
                f"computes a tile of {_text(shape)}, but its fragment is part of a tile of {_text(before)}"
            )
        self.take(op, op.res, f"makes a tile of {_text(shape)}")
        return True

    def tolerance(self) -> AbstractContextManager[None]:
        """Ignore an error in partial mode."""
        return suppress(DiagnosticError) if self.partly else nullcontext()

    # -- loads and stores

    def accesses(self, ops: Sequence[tile.StoreGlobal | tile.LoadGlobalTile]) -> None:
        """Infer the tiles of fragments without a product: the extents of the matrix that is loaded or stored, each
        rounded up to a power of two."""
        decided = set(self.known)
        for op in ops:
            fragment, matrix = (
                (op.value, op.dest) if isinstance(op, tile.StoreGlobal) else (op.dest, op.source)
            )
            root = self.classes.find(fragment)
            if root in decided:
                continue
            extents = [None if n == DYNAMIC else 1 << (n - 1).bit_length() for n in matrix.type.shape]
            missing = fragment.type.rank - len(extents)
            padded: Extents = (None,) * missing + tuple(extents)
            before = self.known.get(root, (None,) * len(padded))
            if any(a is not None and b is not None and a != b for a, b in zip(before, padded, strict=True)):
                if self.partly:
                    continue
                raise op.error(
                    f"moves a tile of {_text(padded)}, but its fragment is part of a tile of {_text(before)}"
                )
            self.known[root] = tuple(b if a is None else a for a, b in zip(before, padded, strict=True))
        self.spread()
        for op in ops:
            fragment = op.value if isinstance(op, tile.StoreGlobal) else op.dest
            shape = self.shape(fragment)
            if shape is not None and len(shape) == 2 and self.classes.find(fragment) not in decided:
                with self.tolerance():
                    self.take(op, fragment, f"moves a tile of {_text(shape)}")

    def spread(self) -> None:
        """Propagate the number of rows between tiles and their row vectors."""
        links = [(root, self.classes.find(rows)) for root, rows in self.classes.rows.items()]
        for root, rows in links:
            height = self.known.get(root, (None,))[0]
            if height is not None and self.known.get(rows, (None,))[0] is None:
                self.known[rows] = (height,)
        for root, rows in links:
            height, width = self.known.get(root, (None, None))
            below = self.known.get(rows, (None,))[0]
            if height is None and below is not None:
                self.known[root] = below, width

    def complete(self) -> None:
        """Infer extents from the number of threads."""
        self.spread()
        if self.source is None and self.declared is None:
            self.lines()
        for root, shape in list(self.known.items()):
            if len(shape) != 2 or None not in shape or shape == (None, None):
                continue
            elements = self.threads * prod(root.type.shape)  # type: ignore[attr-defined]
            height, width = shape
            self.known[root] = (height, elements // height) if height else (elements // (width or 1), width)
        self.spread()
        for root, shape in self.known.items():
            if shape == (None,):
                self.known[root] = (self.threads * root.type.shape[0],)  # type: ignore[attr-defined]
        self.products(self.waiting)
        if self.waiting:
            with self.tolerance():
                raise self.waiting[0].error(
                    "multiplies fragments of an unknown tile; expected the result of a product of shared "
                    "memory, or of a load from a matrix of static extents"
                )
        for root, shape in self.known.items():
            with self.tolerance():
                self.check(root, shape)

    def lines(self) -> None:
        """Without a two-dimensional tile, the longest vector defines the number of threads."""
        counts = [
            shape[0] // root.type.shape[0]  # type: ignore[attr-defined]
            for root, shape in self.known.items()
            if len(shape) == 1 and shape[0] is not None
        ]
        if counts and 32 <= max(counts) <= 1024:
            self.source = max(counts), self.function

    def check(self, root: Value, shape: Extents) -> None:
        """Report an error if a tile is not distributed evenly over the threads."""
        maker = root.defining_op
        fragment = root.type.shape  # type: ignore[attr-defined]
        if maker is None or None in shape or root in self.whole:
            return
        parts = [n // m for n, m in zip(shape, fragment, strict=True) if n is not None]
        even = all(n is not None and n % m == 0 for n, m in zip(shape, fragment, strict=True))
        if len(shape) == 1 and even and parts[0] <= self.threads:
            return
        if len(shape) == 2 and even and prod(parts) == self.threads:
            return
        raise maker.error(
            f"has fragments of {_text(fragment)} of a tile of {_text(shape)}, which cannot be distributed evenly "
            f"over {self.threads} threads; choose other fragments, or another {THREADS}"
        )

    # -- threads

    def take(self, op: Operation, fragment: Value, does: str) -> None:
        """Take the number of threads from an op that defines a fragment's tile."""
        own: tuple[int, ...] = fragment.type.shape  # type: ignore[attr-defined]
        shape = self.shape(fragment)
        assert shape is not None
        if shape == own:
            # The whole tile: the number of threads follows from other ops or from the function.
            self.whole.add(self.classes.find(fragment))
            return
        count = prod(shape) // prod(own)
        if (
            any(n % m for n, m in zip(shape, own, strict=True))
            or count & (count - 1)
            or not 32 <= count <= 1024
        ):
            raise op.error(
                f"{does} in fragments of {_text(own)}; expected fragments of a power of two of threads, from 32 to 1024"
            )
        if self.source is not None and self.source[0] != count:
            first = self.source[1]
            what = "product" if isinstance(first, Product) and isinstance(op, Product) else "op"
            failure = op.error(f"needs {count} threads, but another {what} needs {self.source[0]}")
            failure.diagnostics[0].note(f"the other {what} is here", first.location)
            raise failure
        if self.declared is not None and count != self.declared:
            raise op.error(f"needs {count} threads, but the kernel has {THREADS} = {self.declared}")
        self.source = self.source or (count, op)


def declared_threads(function: Operation) -> int:
    """The threads of a block, from the function's attribute, which must be a power of two from 32 to 1024."""
    attribute = function.attributes.get(THREADS)
    if attribute is None:
        return DEFAULT_THREADS
    count = attribute.value if isinstance(attribute, IntegerAttr) else 0
    if not 32 <= count <= 1024 or count & (count - 1):
        raise function.error(f"has {THREADS} = {attribute}; expected a power of two from 32 to 1024")
    return count


def _tie(op: Operation, classes: _Classes) -> None:
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


def _product_shape(op: tile.Product, found: _Extents) -> tuple[int, int] | None:
    """MxN of a product; None if the tile of an operand in registers is not yet known."""
    extents: list[tuple[int, ...]] = []
    for value, transposed in ((op.lhs, op.transposes_a), (op.rhs, op.transposes_b)):
        shape = found.shape(value) if is_fragment(value) else value.type.shape
        if shape is None:
            return None
        if DYNAMIC in shape:
            raise op.error(f"multiplies {value.type}; expected an operand in shared memory or registers")
        extents.append(tuple(reversed(shape)) if transposed else tuple(shape))
    (m, k), (other, n) = extents
    if k != other:
        raise op.error(f"multiplies a tile of {m}x{k} by one of {other}x{n}")
    return m, n


def _text(shape: Extents) -> str:
    return "x".join("?" if n is None else str(n) for n in shape)
