"""CTAs of a cluster: ranks, addresses of shared memory in other CTAs, the barrier of all threads of the cluster.

PTX ISA, "%cluster_ctarank", "mapa", "barrier.cluster".
"""

from __future__ import annotations

from tessera_tools.dialects import llvm, nv_tileas
from tessera_tools.dialects.llvm.types import pointer
from tessera_tools.dialects.nv_tileas import combinations
from tessera_tools.ir.builtin_attributes import UNIT
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I16
from tessera_tools.passes.llvm.lowering import Lowering, lowers

CLUSTER_SPACE = 7
"""The address space of the shared memory of a cluster."""


@lowers("nv_tileas.cta_rank")
def cta_rank(low: Lowering, op: nv_tileas.CtaRank) -> None:
    """%cluster_ctarank."""
    low.define(op.res, rank(low))


def rank(low: Lowering) -> Value:
    """The rank of this CTA in its cluster."""
    return low.e.special_register("cluster.ctarank") if low.ctas > 1 else low.e.constant(0)


def part_of(low: Lowering, bits: int) -> Value:
    """The number that these bits of the rank are, next to each other."""
    e, found, position = low.e, None, 0
    for bit in range(bits.bit_length()):
        if bits >> bit & 1:
            moved = e.shl(e.and_(e.lshr(rank(low), bit), 1), position)
            found = moved if found is None else e.or_(found, moved)
            position += 1
    assert found is not None
    return e.constant(found)


def receivers(low: Lowering, bits: int) -> Value:
    """The mask of the CTAs whose ranks differ from that of this one only in these bits."""
    e = low.e
    pattern = sum(1 << number for number in combinations(bits))
    mask = e.shl(e.constant(pattern), e.and_(rank(low), ~bits & (low.ctas - 1)))
    return e.resized(e.constant(mask), I16)


def in_cluster(low: Lowering, place: Value) -> Value:
    """An address in shared memory as one in that of the cluster."""
    return low.e.emit(llvm.AddrSpaceCast(place, res=pointer(CLUSTER_SPACE))).results[0]


def cluster_address(low: Lowering, place: Value, peer: int) -> Value:
    """The same place in the CTA whose rank differs by `peer` (xor)."""
    e = low.e
    other = e.constant(e.xor(rank(low), peer))
    space = pointer(CLUSTER_SPACE)
    return e.pure(("mapa",), (place, other), lambda: e.make_nvvm("mapa", [place, other], (space,), {}))


def cluster_barrier(low: Lowering) -> None:
    """All threads of the cluster meet, and see what each of them has written before."""
    low.e.nvvm("cluster.arrive", aligned=UNIT)
    low.e.nvvm("cluster.wait", aligned=UNIT)
