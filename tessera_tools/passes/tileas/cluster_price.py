"""The price of clusters of tile blocks: what bounds a step of the loops with products, with and without shared loads.

    tensor cores    multiply-adds / those of a cycle
    L2              bytes of the loads / what L2 gives to one SM of all; of a load that n CTAs share, an n-th
    shared memory   (what products read + what loads write) / 128 bytes a cycle; of the right factor of a pair of CTAs,
                    each writes and reads half

Only loads by TMA are shared, in kernels with agents: multicast, and in halves for pairs of CTAs that multiply by
tcgen05.mma.  A step takes as long as the slowest of them.  The numbers are those of the clock (target/timing.py), for
launches that fill the GPU: if few CTAs run, L2 bounds none of them, and the barriers of a cluster are lost time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import ceil, prod

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.nv_tileas import allocated_columns
from tessera_tools.ir.core import Operation
from tessera_tools.passes.tileas.cluster_programs import in_step, shared_by
from tessera_tools.passes.tileas.fills import BoxLoad
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.packed_factors import unpack_factors
from tessera_tools.passes.tileas.products import AsyncProduct, Choice, asynchronous_products, is_by_threads
from tessera_tools.passes.tileas.umma_pairs import CTAS, has_halves
from tessera_tools.passes.tileas.umma_products import UmmaChoice, choose_umma
from tessera_tools.planning.kernel import occupancy_of
from tessera_tools.planning.shared_memory import pipeline_room
from tessera_tools.records import dataclass
from tessera_tools.target import Feature, Target
from tessera_tools.target.throughput import throughput
from tessera_tools.target.timing import timing

SHAPES = ((2, 1), (1, 2))
"""The tile blocks of clusters that are compared."""
_SHAPES_OF_PAIRS = ((4, 1), (2, 2), (1, 4))
"""More of them, for pairs of CTAs.  They have several pairs."""
_OCCUPIED = 120 / 132
"""The part of the SMs that clusters of four CTAs occupy: on an H100, 30 of them fit 132 SMs (revollllt/flash-vla).  A
guess for other GPUs.  Clusters of two CTAs occupy all SMs."""
_WORTH = 0.95
"""The part of a step that a cluster may take: less is an estimate's error."""
_MOST_CTAS = 8
"""More of them than that have too few threads' registers."""
_ROWS = {"wgmma": 64, "tcgen05": 128}
"""Rows of an instruction, for which B is read once."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """A shape of clusters, and the cycles of a step of all loops with products, with it and without."""

    shape: tuple[int, int]
    cycles: float
    plain: float
    bound: str
    """What bounds a step without it."""


def choose_blocks(function: nv_tileaa.Func, target: Target) -> Blocks | None:
    """The cheapest clusters of tile blocks; None if a plain kernel is as fast, or if the clock does not know the
    target."""
    try:
        return _choose_blocks(function, target)
    finally:
        unpack_factors(function)


def resident(function: nv_tileaa.Func, target: Target) -> int:
    """How many CTAs a multiprocessor runs at once, by estimate; 0 if no agent brings factors of products by TMA.

    Several consumer warpgroups of wgmma have all registers.  Else, shared memory or tensor memory decides, and a hint
    may ask for fewer.
    """
    try:
        choice = _asynchronous(function, target)
        loads = [load for product in choice.products for load in product.loads] if choice is not None else []
        if choice is None or not any(isinstance(load, BoxLoad) for load in loads):
            return 0
        if not isinstance(choice, UmmaChoice) and choice.groups > 1:
            return 1
        fits = min(_by_shared_memory(function, choice, target), _by_columns(choice, target))
        return max(1, min(fits, occupancy_of(function) or fits))
    finally:
        unpack_factors(function)


def _by_shared_memory(function: nv_tileaa.Func, choice: Choice, target: Target) -> int:
    """The CTAs that leave each other room for as many stages as the latency of a load has steps."""
    step = _price(function, {}, (), target)[0]
    depth = min(choice.stages, 1 + ceil(throughput(target).memory_latency / step)) if step else 1
    fills = {load.load: load for product in choice.products for load in product.loads}
    whole = sum(load.bytes * (1 if op.parent is function.body.entry else depth) for op, load in fills.items())
    return pipeline_room(target) // whole


def _by_columns(choice: Choice, target: Target) -> int:
    if not isinstance(choice, UmmaChoice):
        return _MOST_CTAS
    columns = allocated_columns([one.type for one in choice.accumulations])
    return min(_MOST_CTAS, target.tmem_columns // columns)


def step_cycles(function: nv_tileaa.Func, target: Target) -> float:
    """The cycles of a step of all loops with products, in a kernel without clusters."""
    return _price(function, {}, (), target)[0]


def _choose_blocks(function: nv_tileaa.Func, target: Target) -> Blocks | None:
    found = _asynchronous(function, target)
    if timing(target) is None or found is None or not found.products:
        return None
    products = found.products
    plain, bound = _price(function, {}, (), target)
    prices: dict[tuple[int, int], float] = {}
    in_pairs = target.has(Feature.TCGEN05)
    for shape in (*SHAPES, *_SHAPES_OF_PAIRS) if in_pairs else SHAPES:
        halves: set[Operation] = set()
        rows_first = in_pairs and _pairs_are_rows(function, shape, target)
        if in_pairs and not (halves := _pairs(function, shape, products, rows_first)):
            continue
        shared = _multicast(function, shape, products, rows_first)
        if halves:
            shared = {op: bits & ~1 | (op in halves) for op, bits in shared.items()}
        cycles, _ = _price(function, shared, halves, target)
        prices[shape] = cycles if prod(shape) == CTAS else cycles / _OCCUPIED
    if not prices:
        return None
    shape = min(prices, key=prices.__getitem__)
    cycles = prices[shape]
    return Blocks(shape, cycles, plain, bound) if cycles < _WORTH * plain else None


def _asynchronous(function: nv_tileaa.Func, target: Target) -> Choice | None:
    """The products whose factors TMA brings; their factors of 4 bits are packed until `unpack_factors`."""
    if not target.has(Feature.TCGEN05):
        return asynchronous_products(function, target)
    try:
        return choose_umma(function, target)
    except Missed:
        return None


def _multicast(
    function: nv_tileaa.Func, shape: tuple[int, int], products: list[AsyncProduct], rows_first: bool = False
) -> dict[Operation, int]:
    """The loads that CTAs share, with the bits in which the ranks of these CTAs differ."""
    factors = [load for product in products for load in (*product.loads, *product.shared)]
    by_tma = {load.load for load in factors if isinstance(load, BoxLoad)}
    return {op: bits for op, bits in shared_by(function, shape, rows_first).items() if op in by_tma}


def pairs_are_rows(function: nv_tileaa.Func, shape: tuple[int, int], target: Target) -> bool:
    """Whether the CTAs of a pair, whose ranks differ in bit 0, should run programs next to each other along the second
    axis of the grid, because those along the first one cannot multiply together."""
    try:
        return _pairs_are_rows(function, shape, target)
    finally:
        unpack_factors(function)


def _pairs_are_rows(function: nv_tileaa.Func, shape: tuple[int, int], target: Target) -> bool:
    if min(shape) == 1 or not target.has(Feature.TCGEN05):
        return False
    found = _asynchronous(function, target)
    products = found.products if found is not None else []
    return not _pairs(function, shape, products) and bool(_pairs(function, shape, products, rows_first=True))


def _pairs(
    function: nv_tileaa.Func, shape: tuple[int, int], products: list[AsyncProduct], rows_first: bool = False
) -> set[Operation]:
    """The loads of which each CTA of a pair has half; none if not all products can be those of pairs."""
    steps, shared = in_step(function, shape, rows_first), shared_by(function, shape, rows_first)
    found: set[Operation] = set()
    for product in products:
        load = product.b
        if not isinstance(load, BoxLoad) or not shared.get(load.load, 0) & 1:
            return set()
        if not steps.get(product.dot, 0) & 1 or not has_halves(product):
            return set()
        if any(is_by_threads(one) for one in product.loads):
            return set()
        found.add(load.load)
    return found


def _price(
    function: nv_tileaa.Func, shared: Mapping[Operation, int], halves: Collection[Operation], target: Target
) -> tuple[float, str]:
    """The cycles of a step, summed over the loops with products, and what bounds most of them.  CTAs whose ranks differ
    in the bits of `shared` have a load together; a CTA of a pair has half of each of `halves`."""
    table, rates = timing(target), throughput(target)
    assert table is not None
    primitive = "tcgen05" if target.has(Feature.TCGEN05) else "wgmma"
    from_l2 = table.value("l2_chip_rate") / table.value("sms")
    total: dict[str, float] = {}
    for loop in function.walk():
        if not isinstance(loop, scf.For):
            continue
        products = [op for op in loop.body.entry if isinstance(op, nv_tileas.Dot)]
        loads = [op for op in loop.body.entry if isinstance(op, nv_tileas.TiledLoad)]
        if not products:
            continue
        loaded = sum(_size(op) / (1 << shared.get(op, 0).bit_count()) for op in loads)
        written = sum(_size(op) / (CTAS if op in halves else 1) for op in loads)
        read = sum(_read(op, _ROWS[primitive], CTAS if halves else 1) for op in products)
        times = {
            "the tensor cores bound": sum(
                op.multiplications / rates.tensor(primitive, _bits(op)) for op in products
            ),
            "L2 bounds": loaded / from_l2,
            "shared memory bounds": (read + written) / rates.shared_bytes,
        }
        slowest = max(times, key=times.__getitem__)
        total[slowest] = total.get(slowest, 0.0) + times[slowest]
    return sum(total.values()), max(total, key=total.__getitem__, default="nothing bounds")


def _bits(op: nv_tileas.Dot) -> int:
    return 8 * element_bytes(op.a.type.element)


def _size(op: Operation) -> int:
    """The bytes of a tile that is loaded."""
    type = op.results[0].type
    return type.num_elements * element_bytes(type.element)  # type: ignore[attr-defined]


def _read(op: nv_tileas.Dot, rows: int, ctas: int) -> float:
    """The bytes that a product reads: A once, B once for each so many rows, a part of it from each of the CTAs."""
    m, n, k = *op.c.type.shape[-2:], op.a.type.shape[-1]
    one = (m * k + ceil(m / rows) * n * k / ctas) * element_bytes(op.a.type.element)
    return one * prod(op.c.type.shape[:-2])
