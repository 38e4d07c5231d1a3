"""CTAs of a cluster: the rank of a CTA, and the tables of who shares what.

The tile block of a program is a cluster: each CTA of it computes a part of each tile.  A rank is a number of as many
bits as the cluster has halvings; a part that does not depend on a bit is the same in both CTAs that differ in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tessera_tools.dialects.nv_tileaa import TOKEN
from tessera_tools.dialects.nv_tileas.base import SMEM
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I32, I64, element_type
from tessera_tools.opdef import (
    ANY_RANKED_TENSOR,
    I64_ATTR,
    IN_ORDER,
    PURE,
    SINGLE_BLOCK,
    MemoryEffects,
    Op,
    Resource,
    attribute,
    exactly,
    operand,
    optional_operand,
    region,
    result,
    variadic_operand,
    variadic_result,
    write,
)

SHARED_BY = "nv_tileas.shared_by"
"""The discardable attribute of a load whose tile is the same in CTAs that differ in these bits of their rank."""

IN_STEP = "nv_tileas.in_step"
"""The discardable attribute of a product that CTAs execute equally often that differ in these bits of their rank."""


class CtaRank(Op, name="nv_tileas.cta_rank", traits=(PURE,)):
    """The rank of this CTA in its cluster; 0 without one (PTX ISA, "%cluster_ctarank")."""

    res = result(exactly(I32))
    assembly = "attr-dict `:` type($res)"


class ClusterReduce(
    Op,
    name="nv_tileas.cluster_reduce",
    traits=(MemoryEffects(write(resource=Resource.ORDER), recursive=True), SINGLE_BLOCK),
):
    """Combines what the CTAs have whose ranks differ only in `bits`, each the same elements of partial results, in the
    order of these bits.  All of them get the results.  The region is that of `nv_tileaa.reduce`."""

    sources = variadic_operand()
    bits = attribute(I64_ATTR, "bits of the rank")
    outputs = variadic_result()
    body = region()
    assembly = "$sources `bits` `=` $bits `:` type($sources) `->` type($outputs) $body attr-dict-with-keyword"

    @property
    def yielded(self) -> list[Value]:
        """The yielded values of the region, one for each operand."""
        last = self.body.entry.last_op
        return last.operands if last is not None else []

    def verify_op(self) -> None:
        if not 1 <= self.bits.value <= 15:
            raise self.error(f"has bits = {self.bits.value}; expected bits of a rank, 1 to 15")
        if self.operand_types != self.result_types or not self.operands:
            raise self.error("expected operands, and results of the same types")
        elements = [element_type(type) for type in self.operand_types]
        found = [argument.type for argument in self.body.entry.arguments]
        if found != [element for element in elements for _ in range(2)]:
            raise self.error(f"expects a region with two arguments for each of {len(elements)} operands")
        if [value.type for value in self.yielded] != elements:
            raise self.error("expects a region that yields an element of each operand")


class ClusterReduceScatter(Op, name="nv_tileas.cluster_reduce_scatter", traits=(IN_ORDER,)):
    """Adds the tiles of the CTAs of a cluster element by element; each CTA gets its part of the sums.

    The lowest bits of the rank say which part it is along the first axis that is split.  To what a CTA has itself, it
    adds what the CTAs have whose ranks differ by 1, 2, 3 and so on (xor): the order does not depend on the schedule.
    Until plan-cta has decided on the parts, the result has the shape of the source.  In an agent, only its threads
    meet, at the `mbarrier`: each of their warps arrives at those of all CTAs, twice for each round.  Outside of agents,
    all threads of the cluster meet.
    """

    source = operand(ANY_RANKED_TENSOR)
    mbarrier = optional_operand(SMEM)
    res = result(ANY_RANKED_TENSOR)
    assembly = (
        "$source (`at` $mbarrier^)? attr-dict `:` type($source) (`at` type($mbarrier)^)? `->` type($res)"
    )

    def verify_op(self) -> None:
        old, new = self.source.type, self.res.type
        whole = old.rank == new.rank and old.element is new.element
        parts = [n // m if m and n % m == 0 else 0 for n, m in zip(old.shape, new.shape, strict=whole)]
        if not whole or not all(parts):
            raise self.error(f"gives {new} of {old}; expected a part of it, of the same element type")
        _check_mbarrier(self)


class ClusterOrder(Op, name="nv_tileas.cluster_order", traits=(IN_ORDER,)):
    """The CTAs of a cluster meet: what a token orders after the result, in any of them, comes after the accesses
    before the operand in all of them.

    In an agent, only its threads meet, at the `mbarrier`, where each of their warps arrives in all CTAs.  Outside of
    agents, all threads of the cluster meet.
    """

    token = operand(TOKEN)
    mbarrier = optional_operand(SMEM)
    res = result(TOKEN)
    assembly = "$token (`at` $mbarrier^)? attr-dict `:` type($token) (`at` type($mbarrier)^)?"

    def verify_op(self) -> None:
        _check_mbarrier(self)


def _check_mbarrier(op: ClusterReduceScatter | ClusterOrder) -> None:
    """DiagnosticError if an op's threads do not meet at one mbarrier."""
    if op.mbarrier is not None:
        type = op.mbarrier.type
        if type.element is not I64 or type.tile != (1,) or type.stages != 1:
            raise op.error(f"has an operand of type {type}; its mbarrier is !nv_tileas.smem<1x1xi64>")


MEETINGS = (ClusterReduceScatter, ClusterOrder)
"""Ops at which the threads of an agent meet those of other CTAs, at an mbarrier."""


def combinations(bits: int) -> list[int]:
    """The numbers that have only bits of `bits`, in ascending order, with 0: 5 ──▶ 0, 1, 4, 5."""
    found, number = [0], 0
    while number != bits:
        number = (number - bits) & bits
        found.append(number)
    return found


def peers_of(shared: Iterable[int]) -> tuple[int, ...]:
    """By what the ranks of other CTAs differ from that of one (xor), if each of `shared` says in which bits a CTA and
    those that it shares a tile with differ."""
    return tuple(sorted({number for bits in shared for number in combinations(bits) if number}))


def shared_axis(tile: Sequence[int]) -> int:
    """The axis along which CTAs that copy a tile together have parts of it: the first of more than one element."""
    return next((axis for axis, size in enumerate(tile) if size > 1), 0)
