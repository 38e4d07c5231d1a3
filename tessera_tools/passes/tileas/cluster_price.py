"""The price of clusters of tile blocks: what bounds a step of the loops with products, with and without shared loads.

    tensor cores    multiply-adds / those of a cycle
    L2              bytes of the loads / what L2 gives to one SM of all; a load that two CTAs share counts half
    shared memory   (what products read + what loads write) / 128 bytes a cycle

Only loads by TMA are multicast, in kernels with agents.  A step takes as long as the slowest of them.  The numbers are
those of the clock (target/timing.py), for launches that fill the GPU: if few CTAs run, L2 bounds none of them, and the
barriers of a cluster are lost time.
"""

from __future__ import annotations

from math import ceil, prod

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.ir.core import Operation
from tessera_tools.passes.tileas.cluster_programs import shared_by
from tessera_tools.passes.tileas.fills import BoxLoad
from tessera_tools.passes.tileas.products import asynchronous_products
from tessera_tools.records import dataclass
from tessera_tools.target import Target
from tessera_tools.target.throughput import throughput
from tessera_tools.target.timing import timing

SHAPES = ((2, 1), (1, 2))
"""The tile blocks of clusters that are compared.  On an H100, clusters of two CTAs occupy all SMs, but larger ones
do not: 30 clusters of 4 CTAs fit 132 SMs (revollllt/flash-vla)."""
_WORTH = 0.95
"""The part of a step that a cluster may take: less is an estimate's error."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A shape of clusters, and the cycles of a step of all loops with products, with it and without."""

    shape: tuple[int, int]
    cycles: float
    plain: float


def choose_blocks(function: nv_tileaa.Func, target: Target) -> Choice | None:
    """The cheapest clusters of tile blocks; None if a plain kernel is as fast, or if the clock does not know the
    target."""
    agents = asynchronous_products(function, target)
    # An occupancy fixes the registers of all threads, so that there are no agents.
    if timing(target) is None or agents is None or "nv_tileaa.occupancy" in function.attributes:
        return None
    by_tma = {load.load for product in agents.products for load in product.loads if isinstance(load, BoxLoad)}
    plain, _ = _price(function, {}, (1, 1), target)
    prices: dict[tuple[int, int], tuple[float, float]] = {}
    for shape in SHAPES:
        shared = {op: bits for op, bits in shared_by(function, shape).items() if op in by_tma}
        prices[shape] = _price(function, shared, shape, target)
    shape = min(prices, key=prices.__getitem__)
    cycles, _ = prices[shape]
    return Choice(shape, cycles, plain) if cycles < _WORTH * plain else None


def _price(
    function: nv_tileaa.Func, shared: dict[nv_tileas.TiledLoad, int], shape: tuple[int, int], target: Target
) -> tuple[float, float]:
    """The cycles of a step, and the bytes of its loads, summed over the loops with products."""
    table, rates = timing(target), throughput(target)
    assert table is not None
    from_l2 = table.value("l2_chip_rate") / table.value("sms")
    total = bytes_moved = 0.0
    for loop in function.walk():
        if not isinstance(loop, scf.For):
            continue
        products = [op for op in loop.body.entry if isinstance(op, nv_tileas.Dot)]
        loads = [op for op in loop.body.entry if isinstance(op, nv_tileas.TiledLoad)]
        if not products:
            continue
        tensor = sum(_work(op) / rates.tensor("wgmma", _bits(op)) for op in products)
        moved = sum(_size(op) / (prod(shape) if shared.get(op) else 1) for op in loads)
        port = (sum(map(_read, products)) + sum(map(_size, loads))) / rates.shared_bytes
        total += max(tensor, moved / from_l2, port)
        bytes_moved += moved
    return total, bytes_moved


def _work(op: nv_tileas.Dot) -> int:
    return prod(op.c.type.shape) * op.a.type.shape[-1]


def _bits(op: nv_tileas.Dot) -> int:
    return 8 * element_bytes(op.a.type.element)


def _size(op: Operation) -> int:
    """The bytes of a tile that is loaded."""
    type = op.results[0].type
    return type.num_elements * element_bytes(type.element)  # type: ignore[attr-defined]


def _read(op: nv_tileas.Dot) -> int:
    """The bytes that wgmma reads: A once, B once for each 64 rows."""
    m, n, k = *op.c.type.shape[-2:], op.a.type.shape[-1]
    return (m * k + ceil(m / 64) * n * k) * prod(op.c.type.shape[:-2]) * element_bytes(op.a.type.element)
