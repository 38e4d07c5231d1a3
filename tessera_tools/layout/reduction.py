"""Plans of reductions and scans: how threads combine the elements of a tile along an axis.

    reduction   registers of a thread ──▶ lanes of a warp, pair by pair ──▶ warps, through shared memory
    scan        the bits of the axis' coordinate, from the lowest, in runs that one kind of hardware bit holds:
                  {register = [[1], [2], [128]], lane = [[4], [8], [16], [32], [64]]}
                  ──▶ registers 0, 1 | lanes 0 to 4 | register 2

An exchange through shared memory is a layout conversion. Its tile has one more leading axis: the coordinate along it is
a warp before the conversion and a register after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tessera_tools.layout.distributed import dims_of, reduction_steps, slice_dim
from tessera_tools.layout.f2 import Elimination, apply_columns
from tessera_tools.layout.linear import LayoutError, LinearLayout
from tessera_tools.records import dataclass

MANY = 64
"""If a thread would load and combine at least this many values of several warps, the warps share that work."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A conversion of layouts through shared memory."""

    before: LinearLayout
    after: LinearLayout


@dataclass(frozen=True, slots=True)
class Gather(Exchange):
    """An exchange that gives a thread one value of each of several warps.

    `before` and `after` are layouts of the tile (warp of the group, element). In `after`, registers count the warps
    first, then the elements.
    """

    @property
    def count(self) -> int:
        """The number of warps of a group."""
        return self.before.out_size("dim0")


@dataclass(frozen=True, slots=True)
class LaneStep:
    """Lane l combines its value i with value `partners[i]` of lane l ^ `lanes`.

    The lane with bit `upper` set has the later elements.
    """

    lanes: int
    upper: int
    partners: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reduction:
    """How a thread computes its registers of the result.

    Value i of a thread first combines the source registers `groups[i]`, in ascending order of their coordinates. Then
    the lane steps follow in order. `values[i]` is the value of register i of the result, of one warp or of several.  If
    several warps take part, `gather` gives a thread all values that it combines. If those would be many, a warp
    combines only some of the elements, and `spread` distributes all of them to every warp.
    """

    groups: tuple[tuple[int, ...], ...]
    steps: tuple[LaneStep, ...]
    values: tuple[int, ...]
    gather: Gather | None
    spread: Exchange | None


def span(columns: Sequence[int]) -> list[int]:
    """Every xor of the columns, in counting order."""
    values = [0]
    for column in columns:
        values += [value ^ column for value in values]
    return values


@lru_cache(maxsize=256)
def plan_reduction(source: LinearLayout, axis: int, result: LinearLayout | None = None) -> Reduction:
    """Returns the reduction of a tile along `axis`.

    The layout `result` may differ from `slice_dim(source, axis)` (the default) in its registers only.  Raises
    LayoutError if it differs otherwise, or if elements would cross CTAs.
    """
    sliced = slice_dim(source, axis)
    result = sliced if result is None else result
    if result.outs != sliced.outs or any(
        result.dim_columns(name) != sliced.dim_columns(name) for name in ("lane", "warp", "block")
    ):
        raise LayoutError(f"a reduction along axis {axis} of {source}\ngives {sliced}, not {result}")
    rest = [name for name in source.out_dims if name != f"dim{axis}"]
    keys = span(source.sublayout(["register"], rest).columns)
    places = span(source.sublayout(["register"], [f"dim{axis}"]).columns)
    groups: dict[int, dict[int, int]] = {}
    for register, (key, place) in enumerate(zip(keys, places, strict=True)):
        groups.setdefault(key, {}).setdefault(place, register)
    index = {key: i for i, key in enumerate(groups)}
    steps, across = [], []
    for step in reduction_steps(source, axis):
        if step.get("block"):
            raise LayoutError(f"elements along axis {axis} would cross CTAs: {source}")
        if step["warp"]:
            across.append(step)
        elif lanes := step["lane"]:
            moved = keys[step["register"]]
            partners = tuple(index[key ^ moved] for key in groups)
            steps.append(LaneStep(lanes, 1 << lanes.bit_length() - 1, partners))
    wanted = span(result.dim_columns("register"))
    if any(key not in index for key in wanted):
        raise LayoutError(f"{result}\nasks for elements that other threads hold: {source}")
    own = [step["warp"].bit_length() - 1 for step in across]
    parted = _parted(result, own)
    return Reduction(
        tuple(tuple(register for _, register in sorted(group.items())) for group in groups.values()),
        tuple(steps),
        tuple(index[key] for key in wanted),
        _gather_partials(source, result, parted or result, across) if across else None,
        Exchange(parted, result) if parted is not None else None,
    )


def _parted(result: LinearLayout, own: Sequence[int]) -> LinearLayout | None:
    """Returns the layout in which warps that hold the same elements of the result each have a part of them.

    These warps differ in the bits `own`. Returns None if a split is not worthwhile.
    """
    registers = result.bases["register"]
    kept = len(registers) - len(own)
    if len(own) < 2 or kept < 0 or 1 << len(registers) + len(own) < MANY:
        return None
    warps = list(result.bases["warp"])
    for bit, basis in zip(own, registers[kept:], strict=True):
        warps[bit] = basis
    return LinearLayout({**result.bases, "register": registers[:kept], "warp": warps}, result.outs)


def _gather_partials(
    source: LinearLayout, result: LinearLayout, after: LinearLayout, across: list[dict[str, int]]
) -> Gather:
    """Returns the exchange of the warps' partial results, along the moves that need warps.

    A thread combines the elements that it holds in the layout `after`.
    The highest bit of each move belongs to no other move.  These bits therefore identify the partial results of an
    element.  A redundant bit of the hardware index counts as the bits that it duplicates.
    """
    starts: dict[str, int] = {}
    position = 0
    for name, size in source.ins:
        starts[name] = position
        position += size.bit_length() - 1
    partial = [0] * position
    for number, step in enumerate(across):
        partial[starts["warp"] + step["warp"].bit_length() - 1] = 1 << number
    for free, combination in zip(source.elimination.free, source.elimination.kernel, strict=True):
        partial[free] = apply_columns(partial, combination ^ 1 << free)
    before = {}
    for name, bases in result.bases.items():
        # Non-redundant registers hold no partial results: the registers of one thread are already combined.
        own = partial[starts.get(name, position) :] if name != "register" else [0] * len(bases)
        before[name] = [(number, *basis) for number, basis in zip(own, bases, strict=False)]
    return _gather(before, after.bases, [size for _, size in result.outs], len(across))


def _gather(
    before: dict[str, list[tuple[int, ...]]],
    after: dict[str, tuple[tuple[int, ...], ...]],
    shape: Sequence[int],
    bits: int,
) -> Gather:
    """Returns the exchange. Each basis of `before` has the warp of the group as its first component.

    `after` does not have it, and receives registers for the warps.
    """
    outs = list(zip(dims_of(len(shape) + 1), (1 << bits, *shape), strict=True))
    bases = {name: [(0, *basis) for basis in vectors] for name, vectors in after.items()}
    zeros = (0,) * len(shape)
    bases["register"] = [(1 << bit, *zeros) for bit in range(bits)] + bases["register"]
    return Gather(LinearLayout(before, outs), LinearLayout(bases, outs))


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive bits of the axis' coordinate that one kind of hardware bit holds.

    `bits` lists them in the order of the coordinate's bits.
    A run of warps has a `gather`. It exchanges one value for each element that remains once the axis' bits up to this
    run are removed. Before it, registers are counted by those bits of the scan's `registers` that no run so far holds.
    """

    kind: str
    bits: tuple[int, ...]
    gather: Gather | None = None

    @property
    def mask(self) -> int:
        """The bits as a number."""
        return sum(1 << bit for bit in self.bits)


@dataclass(frozen=True, slots=True)
class Scan:
    """`runs` are in order from the lowest bits of the coordinate to the highest.

    `registers` are the non-redundant bits of the register index. Register i holds the same element as register
    `originals[i]`, which has only these bits.
    """

    runs: tuple[Run, ...]
    registers: tuple[int, ...]
    originals: tuple[int, ...]


@lru_cache(maxsize=256)
def plan_scan(layout: LinearLayout, axis: int) -> Scan:
    """Returns the scan of a tile along `axis`.  Raises LayoutError unless `is_scannable`."""
    holders = _holders(layout, axis)
    if holders is None:
        raise LayoutError(f"the coordinate of axis {axis} is not a selection of bits in {layout}")
    registers = Elimination(layout.dim_columns("register"))
    found = span([1 << bit for bit in registers.pivots])
    by_element = {apply_columns(layout.dim_columns("register"), register): register for register in found}
    elements = span(layout.dim_columns("register"))
    neighbors: list[tuple[str, list[int]]] = []
    for kind, bit in holders:
        if neighbors and neighbors[-1][0] == kind and neighbors[-1][1][-1] < bit:
            neighbors[-1][1].append(bit)
        else:
            neighbors.append((kind, [bit]))
    runs: list[Run] = []
    low = 0
    for kind, bits in neighbors:
        high = low + len(bits)
        gather = _gather_totals(layout, axis, low, high, registers.pivots) if kind == "warp" else None
        runs.append(Run(kind, tuple(bits), gather))
        low = high
    return Scan(tuple(runs), tuple(registers.pivots), tuple(by_element[element] for element in elements))


def is_scannable(layout: LinearLayout, axis: int) -> bool:
    """Returns true if each bit of the axis' coordinate is one bit of the register, lane or warp.

    That hardware bit must change nothing else. This holds for blocked layouts, for accumulators of instructions, and
    for permutations and slices of them.
    """
    return _holders(layout, axis) is not None


def _holders(layout: LinearLayout, axis: int) -> list[tuple[str, int]] | None:
    """Returns (kind, bit) for each bit of the axis' coordinate, lowest first; None unless `is_scannable`."""
    at = layout.out_dims.index(f"dim{axis}")
    found: dict[int, tuple[str, int]] = {}
    for name, bases in layout.bases.items():
        for bit, basis in enumerate(bases):
            value = basis[at]
            if value and (name == "block" or sum(basis) != value or value & value - 1 or value in found):
                return None
            if value:
                found[value] = (name, bit)
    wanted = [1 << bit for bit in range(layout.out_size(f"dim{axis}").bit_length() - 1)]
    return [found[value] for value in wanted] if all(value in found for value in wanted) else None


def _gather_totals(layout: LinearLayout, axis: int, low: int, high: int, registers: Sequence[int]) -> Gather:
    """Returns the exchange of totals along the axis' bits `low` to `high`. Lower bits are already combined."""
    at = layout.out_dims.index(f"dim{axis}")
    before: dict[str, list[tuple[int, ...]]] = {}
    after: dict[str, tuple[tuple[int, ...], ...]] = {}
    for name, bases in layout.bases.items():
        kept = [
            basis
            for bit, basis in enumerate(bases)
            if name != "register" or (bit in registers and not 0 < basis[at] < 1 << high)
        ]
        above = [(*basis[:at], basis[at] >> high, *basis[at + 1 :]) for basis in kept]
        group = [basis[at] >> low & (1 << high - low) - 1 for basis in kept]
        before[name] = [(number, *basis) for number, basis in zip(group, above, strict=True)]
        after[name] = tuple(above)
    shape = [size >> (high if name == f"dim{axis}" else 0) for name, size in layout.outs]
    return _gather(before, after, shape, high - low)
