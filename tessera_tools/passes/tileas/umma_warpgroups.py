"""How many warpgroups take sums from tensor memory: as many as have registers for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.analysis.hints import hint
from tessera_tools.dialects import nv_tileaa
from tessera_tools.passes.tileas.missed import Missed

if TYPE_CHECKING:
    from tessera_tools.passes.tileas.umma_products import Accumulation

_WARPGROUPS = ((1, 64), (2, 128), (4, 64))
"""(warpgroups that load the sums, limit of registers of a thread for those of one accumulation)."""
_MOST_OF_ROW = 128
"""The same for one warpgroup, beside an agent that changes the sums that it would carry."""


def warpgroups(function: nv_tileaa.Func, accumulations: list[Accumulation]) -> int:
    """The fewest warpgroups whose threads can hold the sums, or those that the author asks for.  Raises Missed if there
    are none."""
    wanted = hint(function, "num_worker_warps_per_cta")
    for groups, most in _WARPGROUPS:
        if wanted in (None, 4 * groups) and all(_fits(one, groups, most) for one in accumulations):
            return groups
    if wanted is not None:
        raise Missed(
            function,
            f"requests {wanted} worker warps, which cannot be divided into warpgroups for its products",
            "remove the hint num_worker_warps_per_cta",
        )
    raise Missed(
        accumulations[0].first,
        f"has sums that do not fit the registers of {_WARPGROUPS[-1][0]} warpgroups",
        "use smaller tiles",
    )


def _fits(one: Accumulation, groups: int, most: int) -> bool:
    m, n = one.first.c.type.shape
    along_m = min(groups, m // one.type.rows)
    return m * n <= most * 128 * groups and n // (groups // along_m) >= 8


def has_rows(function: nv_tileaa.Func, accumulations: list[Accumulation]) -> bool:
    """Whether the threads of one warpgroup can hold rows of all sums, so that reductions need no other thread."""
    wanted = hint(function, "num_worker_warps_per_cta")
    return wanted in (None, 4) and all(_fits(one, 1, _MOST_OF_ROW) for one in accumulations)
