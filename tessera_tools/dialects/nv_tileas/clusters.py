"""CTAs of a cluster: the rank of a CTA, and the tables of who shares what.

The tile block of a program is a cluster: each CTA of it computes a part of each tile.  A rank is a number of as many
bits as the cluster has halvings; a part that does not depend on a bit is the same in both CTAs that differ in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tessera_tools.ir.types import I32
from tessera_tools.opdef import PURE, Op, exactly, result

SHARED_BY = "nv_tileas.shared_by"
"""The discardable attribute of a load whose tile is the same in CTAs that differ in these bits of their rank."""


class CtaRank(Op, name="nv_tileas.cta_rank", traits=(PURE,)):
    """The rank of this CTA in its cluster; 0 without one (PTX ISA, "%cluster_ctarank")."""

    res = result(exactly(I32))
    assembly = "attr-dict `:` type($res)"


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
