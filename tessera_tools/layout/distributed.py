"""Layouts of tiles over the threads of a CTA: how to build them, and how shape ops transform them.

    a hardware atom ─▶ × warps ─▶ × repeats in registers ─▶ LinearLayout of the whole tile
                                                                 │ slice, expand_dims, broadcast,
                                                                 ▼ transpose, reshape: exact, no data moves
                                                             LinearLayout of the result

The inputs are always `register`, `lane`, `warp`, `block`, in that order. The outputs are `dim0`, `dim1`, … in the order
of the shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tessera_tools.layout import atoms
from tessera_tools.layout.f2 import Elimination, is_power_of_two, log2
from tessera_tools.layout.linear import Basis, LayoutError, LinearLayout

HARDWARE_DIMS = ("register", "lane", "warp", "block")


def dims_of(rank: int) -> tuple[str, ...]:
    """Returns `("dim0", "dim1", …)`, the output dimensions of a tile of this rank."""
    return tuple(f"dim{axis}" for axis in range(rank))


def shape_of(layout: LinearLayout) -> tuple[int, ...]:
    """Returns the shape of the tile of a distributed layout."""
    return tuple(layout.out_size(name) for name in dims_of(len(layout.out_dims)))


def _standard(layout: LinearLayout, rank: int) -> LinearLayout:
    """Returns the same layout with all hardware dimensions present, in order."""
    bases = layout.bases
    ordered = layout.transpose_outs([name for name in dims_of(rank) if name in layout.out_dims])
    bases = ordered.bases
    return LinearLayout({name: bases.get(name, ()) for name in HARDWARE_DIMS}, ordered.outs)


def _check_shape(shape: Sequence[int]) -> None:
    if not all(is_power_of_two(size) for size in shape):
        raise LayoutError(f"tile of shape {list(shape)}, expected powers of two")


def _grid(in_dim: str, counts: Sequence[int], order: Sequence[int]) -> LinearLayout:
    """Returns a grid of `counts` positions of one input dimension. `order` lists the axes from fastest to slowest."""
    if sorted(order) != list(range(len(counts))):
        raise LayoutError(f"order {list(order)} is not a permutation of the {len(counts)} axes")
    result = LinearLayout.empty()
    for axis in order:
        result *= LinearLayout.identity_1d(counts[axis], in_dim, f"dim{axis}")
    return result


def fit(layout: LinearLayout, shape: Sequence[int], order: Sequence[int]) -> LinearLayout:
    """Fits the layout to `shape`. Positions outside the shape wrap around; a larger shape adds registers.

    The added registers repeat the layout along the axes in `order`. The first axis varies fastest.
    """
    _check_shape(shape)
    for axis, size in enumerate(shape):
        if layout.out_size(f"dim{axis}") > size:
            layout = layout.resize_out(f"dim{axis}", size)
    for axis in order:
        name = f"dim{axis}"
        layout *= LinearLayout.identity_1d(shape[axis] // layout.out_size(name), "register", name)
    return _standard(layout, len(shape))


def blocked(
    shape: Sequence[int],
    size_per_thread: Sequence[int],
    threads_per_warp: Sequence[int],
    warps_per_cta: Sequence[int],
    order: Sequence[int],
    blocks: Sequence[int] | None = None,
) -> LinearLayout:
    """Returns a blocked layout: each thread holds a box of `size_per_thread`, and threads and warps form grids.

    All of them are counted in `order`, fastest axis first.
    Example: `blocked((32, 32), (1, 4), (4, 8), (4, 1), (1, 0))` gives a thread four adjacent elements of a row, and a
    warp four rows. If the layout is larger than the shape, threads hold duplicates. If it is smaller, each thread
    holds more registers.
    """
    _check_shape(shape)
    rank = len(shape)
    for what, counts in (("size", size_per_thread), ("threads", threads_per_warp), ("warps", warps_per_cta)):
        if len(counts) != rank or not all(is_power_of_two(count) for count in counts):
            raise LayoutError(f"{what} {list(counts)} for shape {list(shape)}, expected {rank} powers of two")
    split = tuple(blocks) if blocks is not None else (1,) * rank
    cta_shape = [max(1, size // count) for size, count in zip(shape, split, strict=True)]
    tile = (
        _grid("register", size_per_thread, order)
        * _grid("lane", threads_per_warp, order)
        * _grid("warp", warps_per_cta, order)
    )
    return fit(fit(tile, cta_shape, order) * _grid("block", split, order), shape, order)


def _tiled(
    atom: LinearLayout,
    shape: Sequence[int],
    warps: Sequence[int],
    what: str,
    order: Sequence[int] | None = None,
) -> LinearLayout:
    """Returns an atom on the last two axes × the grid of warps × repeats in registers.

    In the grid, the last axis is fastest. Repeats follow `order` (default: last axis first).
    """
    _check_shape(shape)
    rank = len(shape)
    if rank < 2 or len(warps) != rank or not all(is_power_of_two(count) for count in warps):
        raise LayoutError(
            f"{what} of shape {list(shape)} with warps {list(warps)}, expected one count for each axis"
        )
    placed = atom.rename({atoms.ROW: f"dim{rank - 2}", atoms.COL: f"dim{rank - 1}"})
    for axis in (rank - 2, rank - 1):
        if shape[axis] < placed.out_size(f"dim{axis}"):
            raise LayoutError(f"{what} needs at least {[size for _, size in atom.outs]}, found {list(shape)}")
    axes = list(range(rank - 1, -1, -1))
    return fit(placed * _grid("warp", warps, axes), shape, order or axes)


@lru_cache(maxsize=256)
def coalesced(shape: tuple[int, ...], vector: int, warps: int, axis: int | None = None) -> LinearLayout:
    """Places threads along `axis` (default: the last) first, `vector` elements each: a warp accesses whole lines."""
    rank = len(shape)
    fast = rank - 1 if axis is None else axis
    order = [fast, *(i for i in range(rank - 1, -1, -1) if i != fast)]
    size = [1] * rank
    size[fast] = min(vector, shape[fast])
    lanes, warps_left = 32, warps
    threads, per_cta = [1] * rank, [1] * rank
    for i in order:
        room = max(1, shape[i] // size[i])
        threads[i] = min(lanes, room)
        lanes //= threads[i]
    threads[order[-1]] *= lanes
    for i in reversed(order):
        room = max(1, shape[i] // (size[i] * threads[i]))
        per_cta[i] = min(warps_left, room)
        warps_left //= per_cta[i]
    per_cta[order[-1]] *= warps_left
    return blocked(shape, size, threads, per_cta, order)


def mma_m16n8_accumulator(shape: Sequence[int], warps: Sequence[int], rows: int = 16) -> LinearLayout:
    """C/D of mma.sync m16n8 (m`rows`n8) over a tile (…, M, N), `warps` in a grid over the axes.

    Register order: c0 to c3 of an instruction, then further instructions along N, then along M. Adjacent warps are one
    instruction apart.
    """
    return _tiled(atoms.mma_accumulator(rows), shape, warps, f"an m{rows}n8 accumulator")


def mma_operand_a(
    shape: Sequence[int], element_bits: int, warps: Sequence[int], k: int | None = None, rows: int = 16
) -> LinearLayout:
    """Operand A (…, M, K) for the accumulator with the same `warps` (…, M, N): warps along N hold the same rows.

    Register order: the fragment of an instruction, then along K, then along M.
    """
    return _operand(
        atoms.mma_a(element_bits, k, rows), shape, warps, contracted=len(shape) - 1, what="mma operand A"
    )


def mma_operand_b(
    shape: Sequence[int], element_bits: int, warps: Sequence[int], k: int | None = None
) -> LinearLayout:
    """Operand B (…, K, N) for the accumulator with the same `warps` (…, M, N): warps along M hold the same columns.

    Register order: the fragment of an instruction, then along K, then along N.
    """
    return _operand(
        atoms.mma_b(element_bits, k), shape, warps, contracted=len(shape) - 2, what="mma operand B"
    )


def mma_scales(shape: Sequence[int], count: int, warps: Sequence[int]) -> tuple[LinearLayout, LinearLayout]:
    """Scales of A (…, M, S) and B (…, S, N) for the accumulator of `shape` (…, M, N) with `warps`, of `count` blocks.

    Register order: the blocks along K, then along M or N.
    """
    *batches, m, n = shape
    rank = len(shape)
    whole = (((*batches, m, count), atoms.mma_scale_a), ((*batches, count, n), atoms.mma_scale_b))
    a, b = (
        _operand(atom(count), part, warps, contracted=rank - 1 - position, what="scales of an mma operand")
        for position, (part, atom) in enumerate(whole)
    )
    return a, b


def held_operand(accumulator: LinearLayout, axis: int, extent: int) -> LinearLayout:
    """Returns the layout of the operand elements that a thread needs to compute its own accumulator elements.

    The operand does not have `axis` of the accumulator. The contracted axis takes its place, with `extent` positions,
    all of them in registers of every thread.

    Register order: the contracted axis, then the accumulator registers that move along axes of the operand. Example: A
    (M, K) of a product without tensor cores is `held_operand(c, 1, K)`, and B (K, N) is `held_operand(c, 0, K)`.
    """
    _check_shape((extent,))
    rank = len(accumulator.out_dims)
    if not 0 <= axis < rank:
        raise LayoutError(f"no axis {axis} in {accumulator}")

    def without(basis: Basis) -> Basis:
        return (*basis[:axis], 0, *basis[axis + 1 :])

    ordered = accumulator.transpose_outs(dims_of(rank))
    bases = {name: [without(basis) for basis in vectors] for name, vectors in ordered.bases.items()}
    along = [tuple(1 << bit if a == axis else 0 for a in range(rank)) for bit in range(log2(extent))]
    bases["register"] = along + [basis for basis in bases["register"] if any(basis)]
    sizes = [extent if a == axis else size for a, size in enumerate(shape_of(accumulator))]
    return LinearLayout(bases, list(zip(dims_of(rank), sizes, strict=True)))


def _operand(
    atom: LinearLayout, shape: Sequence[int], warps: Sequence[int], contracted: int, what: str
) -> LinearLayout:
    _check_shape(shape)
    rank = len(shape)
    if rank < 2 or len(warps) != rank:
        raise LayoutError(
            f"{what} of shape {list(shape)} with warps {list(warps)}, expected one count for each axis"
        )
    kept = 2 * rank - 3 - contracted
    order = [contracted, kept, *range(rank - 3, -1, -1)]
    # In the grid of warps, the axis that this operand lacks is at the position of its contracted axis: it only
    # replicates.
    lacking = warps[contracted]
    grid = LinearLayout.empty()
    for axis in range(rank - 1, -1, -1):
        name = f"dim{axis}"
        if axis == contracted:
            grid *= LinearLayout.zeros_1d(lacking, "warp", name)
        else:
            grid *= LinearLayout.identity_1d(warps[axis], "warp", name)
    return fit(
        _tiled(atom, _atom_shape(atom, rank), (1,) * rank, what) * grid, _at_least(atom, shape, what), order
    )


def _atom_shape(atom: LinearLayout, rank: int) -> tuple[int, ...]:
    return (1,) * (rank - 2) + (atom.out_size(atoms.ROW), atom.out_size(atoms.COL))


def _at_least(atom: LinearLayout, shape: Sequence[int], what: str) -> Sequence[int]:
    needed = _atom_shape(atom, len(shape))
    if any(size < least for size, least in zip(shape, needed, strict=True)):
        raise LayoutError(f"{what} needs at least {list(needed)}, found {list(shape)}")
    return shape


def wgmma_accumulator(shape: Sequence[int], warps: Sequence[int], n: int | None = None) -> LinearLayout:
    """D of wgmma m64n`n` over a tile (M, N); `warps` is (4 · warpgroups along M, warpgroups along N).

    `n` is the N of the instruction (default: all columns of a warpgroup, at most 256). Register order: d0, d1, … of one
    instruction, then along N, then along M. Warps 4i to 4i+3 form one warpgroup.
    """
    _check_shape(shape)
    if len(shape) != 2 or len(warps) != 2 or warps[0] % 4:
        raise LayoutError(
            f"wgmma accumulator of shape {list(shape)} with warps {list(warps)}, expected (4·i, j)"
        )
    chosen = n if n is not None else min(256, shape[1] // warps[1])
    atom = atoms.wgmma_accumulator_atom(chosen)
    return _tiled(atom, shape, (warps[0] // 4, warps[1]), "a wgmma accumulator")


def wgmma_operand_a(shape: Sequence[int], element_bits: int, warps: Sequence[int]) -> LinearLayout:
    """Operand A (M, K) of wgmma in registers, for the accumulator with the same `warps`."""
    if len(shape) != 2 or len(warps) != 2 or warps[0] % 4:
        raise LayoutError(
            f"wgmma operand A of shape {list(shape)} with warps {list(warps)}, expected (4·i, j)"
        )
    return _operand(atoms.wgmma_a(element_bits), shape, (warps[0] // 4, warps[1]), 1, "wgmma operand A")


# Shape ops


def slice_dim(layout: LinearLayout, axis: int) -> LinearLayout:
    """Returns the layout of a reduction's result: drops `axis`, renumbers later axes, removes redundant registers.

    Lanes and warps that differed only along `axis` now hold the same element (see `free_variable_masks`).
    """
    rank = len(layout.out_dims)
    if not 0 <= axis < rank:
        raise LayoutError(f"no axis {axis} in {layout}")
    kept = [name for name in dims_of(rank) if name != f"dim{axis}"]
    dropped = layout.sublayout(layout.in_dims, kept)
    renamed = dropped.rename(dict(zip(kept, dims_of(rank - 1), strict=True)))
    return renamed.remove_zero_bases("register")


def expand_dims(layout: LinearLayout, axis: int) -> LinearLayout:
    """Returns the layout with a new axis of size 1 at `axis`."""
    rank = len(layout.out_dims)
    if not 0 <= axis <= rank:
        raise LayoutError(f"cannot insert axis {axis} into {layout}")
    bases = {
        name: [(*basis[:axis], 0, *basis[axis:]) for basis in vectors]
        for name, vectors in layout.transpose_outs(dims_of(rank)).bases.items()
    }
    shape = list(shape_of(layout))
    shape.insert(axis, 1)
    return LinearLayout(bases, list(zip(dims_of(rank + 1), shape, strict=True)))


def broadcast(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """Returns the layout with axes of size 1 expanded to `shape`. Each added position is one more register.

    Register r of the result is register `r % old_count` of the source. All other sizes must be equal.
    """
    _check_shape(shape)
    for axis, (old, new) in enumerate(zip(shape_of(layout), shape, strict=True)):
        if old not in (1, new):
            raise LayoutError(f"cannot broadcast axis {axis} from {old} to {new}: {layout}")
    return fit(layout, shape, range(len(shape) - 1, -1, -1))


def inverse(permutation: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes another: `inverse(p)[p[i]] == i`."""
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def transpose(layout: LinearLayout, permutation: Sequence[int]) -> LinearLayout:
    """Returns the layout of the permuted tile: axis i of the result is axis `permutation[i]` of the source."""
    rank = len(layout.out_dims)
    if sorted(permutation) != list(range(rank)):
        raise LayoutError(f"{list(permutation)} is not a permutation of the axes of {layout}")
    names = {f"dim{source}": f"dim{result}" for result, source in enumerate(permutation)}
    return layout.rename(names).transpose_outs(dims_of(rank))


def reshape(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """Returns the layout of the reshaped (row-major) tile. Every thread keeps its registers."""
    _check_shape(shape)
    minor_first = layout.transpose_outs(dims_of(len(layout.out_dims))[::-1])
    names = dims_of(len(shape))
    reshaped = minor_first.reshape_outs(
        [(names[axis], shape[axis]) for axis in range(len(shape) - 1, -1, -1)]
    )
    return reshaped.transpose_outs(names)


def cat(layout: LinearLayout, axis: int) -> LinearLayout:
    """Returns the layout of two such tiles joined along `axis`: registers of the first, then of the second."""
    if not 0 <= axis < len(layout.out_dims):
        raise LayoutError(f"no axis {axis} in {layout}")
    return layout * LinearLayout.identity_1d(2, "register", f"dim{axis}")


def reduction_steps(layout: LinearLayout, axis: int) -> tuple[dict[str, int], ...]:
    """Returns independent moves along `axis`: xors of (register, lane, warp, block) that change only that coordinate.

    From any input, the 2^n combinations of the n moves visit every position along `axis` once. A reduction combines
    registers for a move of registers only, shuffles by xor for a move of lanes, and uses shared memory for a move of
    warps. Moves of registers come first, then those that need lanes, then those that need warps.
    """
    rest = [name for name in layout.out_dims if name != f"dim{axis}"]
    # Only pivot bits take part in a move. Redundant inputs do not move.
    pivots = layout.elimination.pivots
    kept = layout.sublayout(layout.in_dims, rest).columns
    kernel = Elimination(kept[index] for index in pivots).kernel
    steps: list[dict[str, int]] = []
    for combination in kernel:
        vector = sum(1 << index for at, index in enumerate(pivots) if combination >> at & 1)
        step: dict[str, int] = {}
        for name, size in layout.ins:
            step[name] = vector & (size - 1)
            vector >>= layout.in_bits(name)
        steps.append(step)
    return tuple(steps)


LANES = 32
"""Threads of a warp."""


def check_hardware(layout: LinearLayout) -> None:
    """Raises LayoutError unless the layout's inputs are registers, the lanes of a warp, warps and CTAs."""
    if tuple(layout.in_dims) != tuple(HARDWARE_DIMS):
        found = ", ".join(layout.in_dims)
        raise LayoutError(f"the layout has the dimensions {found}; expected {', '.join(HARDWARE_DIMS)}")
    lanes = layout.in_size("lane")
    if lanes != LANES:
        raise LayoutError(
            f"the layout has {lanes.bit_length() - 1} bases of lanes; expected 5, for {LANES} lanes"
        )


def check_fits(layout: LinearLayout, shape: Sequence[int]) -> None:
    """Raises LayoutError unless the layout has the tile's dimensions and extents and holds each of its elements."""
    if layout.outs != tuple(zip(dims_of(len(shape)), shape, strict=True)):
        found = "x".join(str(size) for _, size in layout.outs) or "nothing"
        raise LayoutError(f"the layout covers {found}, but the tile is {'x'.join(map(str, shape))}")
    if not layout.is_surjective():
        raise LayoutError(
            "the layout does not hold every element of the tile: a basis is missing or repeated"
        )
