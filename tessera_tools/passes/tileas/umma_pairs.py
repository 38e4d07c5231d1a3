"""Pairs of CTAs: decides whether the two CTAs of a cluster do their products together, and gives each half of B.

    CTA 0: A₀ (128xK), B[:, 0:N/2]  ─┐ tcgen05.mma.cta_group::2   ┌─▶ D₀ (128xN), sums of CTA 0
                                     ├── of 256xN, by a thread ──┤
    CTA 1: A₁ (128xK), B[:, N/2:N]  ─┘ of CTA 0, the leader       └─▶ D₁ (128xN), sums of CTA 1

Each CTA computes the same tile as it would alone.  It loads half of B, which both need, and the tensor cores read half
as much of it from each shared memory.  A kernel's products use pairs together or not at all, because all tcgen05
instructions of a kernel have one cta_group.  What the consumers compute as a left factor, or as factors of blocks, each
CTA has for itself.  A cluster may have several pairs; what pairs need alike they copy together
(materialize_tensor_memory.py).
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Operation
from tessera_tools.layout.tensor_memory import LANES
from tessera_tools.passes.tileas.fills import BoxLoad
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.products import AsyncProduct, is_by_threads

if TYPE_CHECKING:
    from tessera_tools.passes.tileas.umma_products import UmmaChoice

CTAS = 2
_COLUMNS = (32, 256)
"""The fewest and the most columns of a product of a pair."""


def may_pair(function: nv_tileaa.Func) -> bool:
    """Whether a kernel has clusters of pairs."""
    spec = function.kernel_spec
    return spec is not None and prod(spec.cluster) % CTAS == 0


def pair(choice: UmmaChoice) -> None:
    """Let pairs of CTAs do the products of a kernel.  Raises Missed, and changes nothing, if they cannot."""
    found = [_right_factor(product) for product in choice.products if _supports(product)]
    before = [load.boxes for load in found]
    try:
        for load in found:
            load.halve(1)
    except Missed:
        for load, boxes in zip(found, before, strict=True):
            load.half, load.boxes = None, boxes
        raise
    choice.in_pairs = True


def _supports(product: AsyncProduct) -> bool:
    """True; raises Missed if the instruction does not do the product in pairs."""
    dot = product.dot
    if any(is_by_threads(load) for load in product.loads):
        raise Missed(dot, "has a factor that the threads of the producer bring, each CTA for itself")
    if not _has_bit(dot, nv_tileas.IN_STEP):
        raise Missed(
            dot,
            "is not executed equally often by both CTAs of a cluster",
            "give the loops around it the same bounds in both programs",
        )
    rows, columns = dot.c.type.shape
    if not has_halves(product):
        raise Missed(
            dot,
            f"has sums of {rows}x{columns}; a pair of CTAs has multiples of {LANES} rows each, and {_COLUMNS[0]} to "
            f"{_COLUMNS[1]} columns",
        )
    return True


def has_halves(product: AsyncProduct) -> bool:
    """Whether the product of a pair has as many rows in each CTA, and so many columns."""
    rows, columns = product.dot.c.type.shape
    return rows % LANES == 0 and _COLUMNS[0] <= columns <= _COLUMNS[1]


def _right_factor(product: AsyncProduct) -> BoxLoad:
    load = product.b
    if not isinstance(load, BoxLoad):
        raise Missed(product.dot, "has a right factor that the consumer computes, not half of it in each CTA")
    if not _has_bit(load.load, nv_tileas.SHARED_BY):
        raise Missed(product.dot, "has another right factor in each CTA of a cluster")
    return load


def _has_bit(op: Operation, name: str) -> bool:
    """Whether an attribute names the bit in which the ranks of a pair differ."""
    bits = op.attributes.get(name)
    return isinstance(bits, IntegerAttr) and bits.value & 1 == 1
