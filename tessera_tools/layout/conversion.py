"""Conversion from one distributed layout of a tile to another.

    src, dst ──▶ which hardware coordinates do not change?
                   lane, warp, block ──▶ RegisterMove   (renaming, or a select by lane)
                   warp, block       ──▶ LaneShuffle    (rounds of shfl.sync.idx)
                   block             ──▶ SharedRoundTrip (store, barrier, load, by a conflict-free layout)

Each case is one linear system: dst(y) = src(x), where x and y agree in the coordinates that do not change. If src
holds an element several times, the nearest copy is read: the thread's own lane before other lanes, and the lowest
registers first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tessera_tools.layout.access import MatrixAccess, VectorAccess
from tessera_tools.layout.distributed import HARDWARE_DIMS, shape_of
from tessera_tools.layout.f2 import Elimination, apply_columns, extend
from tessera_tools.layout.linear import LayoutError, LinearLayout
from tessera_tools.layout.shared import Access, SwizzleChoice, choose_swizzle
from tessera_tools.layout.xor import XorExpression, XorTerm
from tessera_tools.records import dataclass


@dataclass(frozen=True, slots=True)
class RegisterMove:
    """Register i of the result is register `source.evaluate(i, lane=…, warp=…)` of the same thread."""

    source: XorExpression
    source_count: int

    @property
    def is_static(self) -> bool:
        """True if the register does not depend on the thread. The move is then a renaming without instructions."""
        return not self.source.terms

    @property
    def is_identity(self) -> bool:
        """True if no register changes."""
        return self.is_static and self.source.constants == tuple(range(self.source_count))


@dataclass(frozen=True, slots=True)
class LaneShuffle:
    """Rounds of shfl.sync.idx within each warp. In round i, a thread with `lane` and `warp`:

    - provides its register `provided.evaluate(i, lane=lane, warp=warp)`,
    - reads the register that lane `source_lane.evaluate(i, lane=lane, warp=warp)` provides,
    - and writes it to register `target.evaluate(i, lane=lane)` of the result.

    `copies` lists (register, source) for each register of the result that duplicates another one.
    """

    rounds: int
    provided: XorExpression
    source_lane: XorExpression
    target: XorExpression
    copies: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SharedRoundTrip:
    """A store to `choice.layout`, a barrier, and a load. Needs `scratch_bytes` of shared memory, aligned to 16 bytes.

    A thread whose lane or warp has any bit of `store_masks` set holds duplicates and does not store.
    """

    choice: SwizzleChoice
    store: VectorAccess | MatrixAccess
    load: VectorAccess | MatrixAccess
    scratch_bytes: int
    store_masks: tuple[tuple[str, int], ...]


Conversion = RegisterMove | LaneShuffle | SharedRoundTrip


def classify(src: LinearLayout, dst: LinearLayout) -> str:
    """Returns the cheapest sufficient kind: `identity`, `registers` (renaming), `select`, `shuffle` or `shared`."""
    _check(src, dst)
    move = register_move(src, dst)
    if move is not None:
        return "identity" if move.is_identity else "registers" if move.is_static else "select"
    return "shared" if lane_shuffle(src, dst) is None else "shuffle"


def plan_conversion(
    src: LinearLayout,
    dst: LinearLayout,
    element_bits: int,
    matrix_store: bool = False,
    matrix_load: bool = False,
    max_shuffles: int | None = None,
) -> Conversion:
    """Returns the cheapest plan that gives every thread the elements of `dst`.

    `matrix_store` and `matrix_load` specify whether the target has stmatrix and ldmatrix. A conversion of more than
    `max_shuffles` rounds goes through shared memory (default: no bound).
    Raises `LayoutError` if the layouts differ in the tile shape or in the number of lanes, warps or blocks, if src
    lacks an element, or if elements would cross CTAs.
    """
    _check(src, dst)
    move = register_move(src, dst)
    if move is not None:
        return move
    shuffle = lane_shuffle(src, dst)
    if shuffle is not None and (max_shuffles is None or shuffle.rounds <= max_shuffles):
        return shuffle
    return shared_round_trip(src, dst, element_bits, matrix_store, matrix_load)


def _check(src: LinearLayout, dst: LinearLayout) -> None:
    if dict(src.outs) != dict(dst.outs):
        raise LayoutError(f"layouts of different tiles: {src}\nand {dst}")
    for layout in (src, dst):
        unknown = set(layout.in_dims) - set(HARDWARE_DIMS)
        if unknown:
            raise LayoutError(f"'{min(unknown)}' is not a coordinate of a thread, in {layout}")
    for name in HARDWARE_DIMS[1:]:
        if src.in_bits(name) != dst.in_bits(name):
            raise LayoutError(
                f"{src.in_size(name)} and {dst.in_size(name)} positions of '{name}': {src}\nand {dst}"
            )
    if not src.is_surjective():
        raise LayoutError(f"the source does not hold every element: {src}")


def _solve(src: LinearLayout, dst: LinearLayout, moved: Sequence[str]) -> dict[str, list[int]] | None:
    """Returns, for each dst input bit y, the flattened `moved` part of the x with src(x) == dst(y)."""
    elimination = Elimination(column for name in moved for column in src.dim_columns(name))
    ordered = dst.transpose_outs(src.out_dims)
    solution: dict[str, list[int]] = {}
    for name in HARDWARE_DIMS:
        own = src.dim_columns(name) if name != "register" else ()
        solution[name] = []
        for bit, column in enumerate(ordered.dim_columns(name)):
            # If the lane may change, solve for the change of lane, so that the nearest copy is read.
            found = elimination.solve(column ^ (own[bit] if own else 0))
            if found is None:
                return None
            solution[name].append(found)
    return solution


def register_move(src: LinearLayout, dst: LinearLayout) -> RegisterMove | None:
    """Returns the conversion within each thread, or None if elements move between threads."""
    solution = _solve(src, dst, ["register"])
    if solution is None:
        return None
    terms = _terms({name: solution[name] for name in HARDWARE_DIMS[1:]})
    source = XorExpression(_span(solution["register"]), terms)
    return RegisterMove(source, src.in_size("register"))


def _terms(columns: dict[str, Sequence[int]]) -> tuple[XorTerm, ...]:
    return tuple(
        XorTerm(name, bit, value)
        for name, values in columns.items()
        for bit, value in enumerate(values)
        if value
    )


def _span(columns: Iterable[int]) -> tuple[int, ...]:
    """Returns every xor of the columns, in counting order."""
    values = [0]
    for column in columns:
        values += [value ^ column for value in values]
    return tuple(values)


def _linear_map(pairs: Sequence[tuple[int, int]], bits: int) -> list[int]:
    """Returns the columns of the linear map f with f(x) == y for each pair, where every x is independent.

    f is 0 on the vectors that complete them to a basis.
    """
    known = [x for x, _ in pairs]
    values = [y for _, y in pairs]
    rest = extend(known, [1 << bit for bit in range(bits)])
    elimination = Elimination([*known, *rest])
    columns: list[int] = []
    for bit in range(bits):
        combination = elimination.solve(1 << bit) or 0
        columns.append(apply_columns(values + [0] * len(rest), combination))
    return columns


def lane_shuffle(src: LinearLayout, dst: LinearLayout) -> LaneShuffle | None:
    """Returns the conversion by shuffles within each warp, one for each distinct register; None if impossible.

    Let x_lane = A·r + B·l (+ warps) and x_register = C·r + D·l for register r of lane l. In one round, all lanes that
    read the same lane must read the same register of it. If every lane worked on register r, lanes that differ by k in
    the kernel of B would read the same lane, but different registers of it if D·k ≠ 0. A lane therefore works on
    register r + Q·l, with A·Q·k outside the image of B. Then l ↦ (A·Q + B)·l gives these lanes different sources.
    """
    solution = _solve(src, dst, ["register", "lane"])
    if solution is None:
        return None
    padded_bits = src.in_bits("register")
    low = (1 << padded_bits) - 1
    registers = Elimination(dst.dim_columns("register"))
    c = [value & low for value in solution["register"]]
    a = [value >> padded_bits for value in solution["register"]]
    d = [value & low for value in solution["lane"]]
    b = [value >> padded_bits ^ 1 << bit for bit, value in enumerate(solution["lane"])]
    q = _spread(a, b, d, registers.pivots)
    if q is None:
        return None
    from_lane = [b[bit] ^ apply_columns(a, q[bit]) for bit in range(len(b))]
    from_register = [d[bit] ^ apply_columns(c, q[bit]) for bit in range(len(b))]
    pivots = Elimination(from_lane).pivots
    # The register that lane s provides is the one that its reader needs. It is a linear function of s.
    wanted = _linear_map([(from_lane[index], from_register[index]) for index in pivots], len(b))

    leaders = _span(1 << bit for bit in registers.pivots)
    lane_of = [apply_columns(a, leader) for leader in leaders]
    warp_lane = {name: [value >> padded_bits for value in solution[name]] for name in ("warp", "block")}
    warp_register = {
        name: [value & low ^ apply_columns(wanted, value >> padded_bits) for value in solution[name]]
        for name in ("warp", "block")
    }
    provided = tuple(
        apply_columns(c, leader) ^ apply_columns(wanted, lane)
        for leader, lane in zip(leaders, lane_of, strict=True)
    )
    return LaneShuffle(
        rounds=len(leaders),
        provided=XorExpression(provided, _terms({"lane": wanted, **warp_register})),
        source_lane=XorExpression(tuple(lane_of), _terms({"lane": from_lane, **warp_lane})),
        target=XorExpression(leaders, _terms({"lane": q})),
        copies=_copies(dst, registers),
    )


def _spread(a: list[int], b: list[int], d: list[int], registers: Sequence[int]) -> list[int] | None:
    """Returns Q of `lane_shuffle`, whose values have only the bits of `registers`; None if there is none."""
    kernel = Elimination(b).kernel
    by_need = Elimination(apply_columns(d, vector) for vector in kernel)
    apart = [kernel[index] for index in by_need.pivots]
    together = [apply_columns(kernel, combination) for combination in by_need.kernel]
    reachable = [b[index] for index in Elimination(b).pivots]
    chosen: list[int] = []
    for bit in registers:
        if len(chosen) < len(apart) and extend(reachable, [a[bit]]):
            reachable.append(a[bit])
            chosen.append(1 << bit)
    if len(chosen) < len(apart):
        return None
    complement = [*together, *extend([*apart, *together], [1 << bit for bit in range(len(b))])]
    pairs = [*zip(apart, chosen, strict=True), *((vector, 0) for vector in complement)]
    return _linear_map(pairs, len(b))


def _copies(dst: LinearLayout, registers: Elimination) -> tuple[tuple[int, int], ...]:
    """Returns (register, source) for each register that duplicates another. These take no part in the rounds."""
    free = sum(1 << bit for bit in registers.free)
    columns = dst.dim_columns("register")
    return tuple(
        (register, registers.solve(apply_columns(columns, register)) or 0)
        for register in range(1 << len(columns))
        if register & free
    )


def shared_round_trip(
    src: LinearLayout,
    dst: LinearLayout,
    element_bits: int,
    matrix_store: bool = False,
    matrix_load: bool = False,
) -> SharedRoundTrip:
    """Returns the conversion through shared memory, with the scratch layout that needs the fewest wavefronts."""
    _check(src, dst)
    if src.in_bits("block"):
        same = _solve(src, dst, [name for name in HARDWARE_DIMS if name != "block"])
        if same is None:
            raise LayoutError(f"elements would cross CTAs: {src}\nto {dst}")
    shape = shape_of(src)
    masks = src.free_variable_masks()
    # All lanes of a warp execute stmatrix, but lanes that hold duplicates must not store.
    matrix_store = matrix_store and not masks.get("lane")
    best: tuple[tuple[int, int], SwizzleChoice, Access, Access] | None = None
    for store_form in ("vector", "matrix") if matrix_store else ("vector",):
        for load_form in ("vector", "matrix") if matrix_load else ("vector",):
            store, load = Access(src, store_form), Access(dst, load_form)
            choice = choose_swizzle(shape, element_bits, store, load)
            cost = (
                choice.write.total + choice.read.total,
                choice.write.instructions + choice.read.instructions,
            )
            if best is None or cost < best[0]:
                best = (cost, choice, store, load)
    if best is None:
        raise LayoutError(f"no scratch layout for {src}")
    _, choice, store, load = best
    total = 1 << src.total_out_bits
    return SharedRoundTrip(
        choice,
        store.plan(choice.layout, element_bits),
        load.plan(choice.layout, element_bits),
        max(1, total * element_bits // 8),
        tuple((name, masks.get(name, 0)) for name in ("lane", "warp") if masks.get(name, 0)),
    )
