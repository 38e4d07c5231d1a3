"""CTAs of a cluster: ranks, addresses of shared memory in other CTAs, the barrier of all threads of the cluster.

PTX ISA, "%cluster_ctarank", "mapa", "barrier.cluster".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import llvm, nv_tileas
from tessera_tools.dialects.llvm.types import pointer as pointer_in
from tessera_tools.dialects.nv_tileas import combinations
from tessera_tools.ir.builtin_attributes import UNIT, i64
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I16, RankedTensorType, element_type
from tessera_tools.passes.llvm.emitter import Int
from tessera_tools.passes.llvm.instructions import only_where
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.reductions import Combiner
from tessera_tools.passes.llvm.shared_memory import GLOBAL_SMEM
from tessera_tools.passes.llvm.tiles import from_memory, into_memory, stored
from tessera_tools.planning.scratch import exchange_places

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


def with_peers(low: Lowering, peers: Sequence[int], ctas: int = 1) -> Value:
    """The mask of this CTA, or of its pair of `ctas`, and of those whose ranks differ from its own by `peers` (xor)."""
    e = low.e
    pattern = e.constant((1 << ctas) - 1)
    first = e.and_(rank(low), low.ctas - ctas)
    mask: Int = e.shl(pattern, first)
    for peer in peers:
        mask = e.or_(mask, e.shl(pattern, e.xor(first, peer)))
    return e.resized(e.constant(mask), I16)


def in_cluster(low: Lowering, place: Value) -> Value:
    """An address in shared memory as one in that of the cluster."""
    return low.e.emit(llvm.AddrSpaceCast(place, res=pointer_in(CLUSTER_SPACE))).results[0]


def cluster_address(low: Lowering, place: Value, peer: int) -> Value:
    """The same place in the CTA whose rank differs by `peer` (xor)."""
    return address_in(low, place, low.e.xor(rank(low), peer))


def leader_address(low: Lowering, place: Value) -> Value:
    """The same place in the leader of a pair of CTAs, whose rank is even."""
    return address_in(low, place, low.e.and_(rank(low), low.ctas - 2))


def is_first(low: Lowering) -> Value:
    """Whether this CTA is the first of its cluster."""
    return low.e.icmp("eq", rank(low), 0)


def leads(low: Lowering) -> Value:
    """Whether this CTA is the leader of its pair."""
    return low.e.icmp("eq", low.e.and_(rank(low), 1), 0)


def address_in(low: Lowering, place: Value, cta: Int) -> Value:
    """The same place in a CTA of the cluster."""
    e = low.e
    other = e.constant(cta)
    space = pointer_in(CLUSTER_SPACE)
    return e.pure(("mapa",), (place, other), lambda: e.make_nvvm("mapa", [place, other], (space,), {}))


@lowers("nv_tileas.cluster_reduce")
def cluster_reduce(low: Lowering, op: nv_tileas.ClusterReduce) -> None:
    """Each thread stores what it has; all threads of the cluster meet; it reads the same places of the other CTAs, and
    combines.  All meet again, before a place is written again, or a CTA ends whose places others read."""
    e, bits = low.e, op.bits.value
    combining: Any = op
    body = Combiner(low, combining)
    own = [low.flatten(value) for value in op.sources]
    elements = [element_type(value.type) for value in op.sources]
    base = e.gep(e.address_of(GLOBAL_SMEM), low.allocation.offsets[op])
    places: list[list[Int]] = []
    for value, element, place in zip(op.sources, elements, exchange_places(op), strict=True):
        is_tile = isinstance(value.type, RankedTensorType)
        mine = e.mul(e.thread, element_bytes(element)) if is_tile else 0
        places.append([e.add(mine, place.offset + number * place.step) for number in range(place.registers)])
    for value, values, element, at in zip(op.sources, own, elements, places, strict=True):
        # A number is the same in all threads.
        with only_where(e, None if isinstance(value.type, RankedTensorType) else e.is_first_thread):
            for part, place in zip(values, at, strict=True):
                pointer = e.gep(base, place)
                e.emit(llvm.Store(into_memory(e, part, element), pointer, i64(element_bytes(element))))
    cluster_barrier(low)
    parts: list[list[tuple[Value, ...]]] = []
    first = e.and_(rank(low), ~bits & (low.ctas - 1))
    space = pointer_in(CLUSTER_SPACE)
    for number in combinations(bits):
        other = e.constant(e.or_(first, number))
        there = e.emit(e.make_nvvm("mapa", [base, other], (space,), {})).results[0]
        columns: list[list[Value]] = []
        for element, at in zip(elements, places, strict=True):
            found: list[Value] = []
            for place in at:
                loaded = llvm.Load(e.gep(there, place), i64(element_bytes(element)), res=stored(element))
                found.append(from_memory(e, e.emit(loaded).results[0], element))
            columns.append(found)
        parts.append(list(zip(*columns, strict=True)))
    combined = [body.tree(values) for values in zip(*parts, strict=True)]
    cluster_barrier(low)
    for index, res in enumerate(op.results):
        low.define_flat(res, [values[index] for values in combined])


def cluster_barrier(low: Lowering) -> None:
    """All threads of the cluster meet, and see what each of them has written before."""
    low.e.nvvm("cluster.arrive", aligned=UNIT)
    low.e.nvvm("cluster.wait", aligned=UNIT)
