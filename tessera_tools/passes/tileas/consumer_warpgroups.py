"""How many consumer warpgroups compute the products of a kernel, and which rows and columns each has."""

from __future__ import annotations

from tessera_tools.analysis.hints import hint
from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.traversal import enclosing
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.precision import PROMOTED, SLICED, is_deep, loses_precision, sums_of

MOST_ACCUMULATOR = 128
"""Limit of the accumulator registers of one product in a thread."""
WARPGROUPS = ((1, 96), (2, MOST_ACCUMULATOR), (4, 64))
"""(consumer warpgroups, limit of accumulator registers).  An epilogue of 128 sums spills with two warpgroups in total,
which have 255 registers, but not with three, where the consumers have 232.  With four consumers, each thread has
112."""

CONSUMER_WARPGROUPS = "nv_tileas.consumer_warpgroups"
"""The attribute of a kernel that says how many warpgroups of consumers it must have, as an option asks."""
FOR_TURNS = "nv_tileas.consumers_take_turns"
"""A unit attribute of a kernel that has that many so that they take turns with the tensor cores."""
SLICE = 128
"""The most columns of a slice, 64 sums of a thread."""
_SLICED_GROUPS = ((1, 96), (2, MOST_ACCUMULATOR))
"""(consumer warpgroups, limit of accumulator registers) where a slice of sums is beside the accumulator."""


def warpgroups(dots: list[nv_tileas.Dot], chained: bool) -> tuple[int, str]:
    """How many warpgroups, and why: those that an option or the author asks for, else the fewest whose threads can hold
    the sums of each product."""
    function = enclosing(dots[0], nv_tileaa.Func)
    assert function is not None
    option = function.attributes.get(CONSUMER_WARPGROUPS)
    if isinstance(option, IntegerAttr) and FOR_TURNS not in function.attributes:
        return wanted_warpgroups(function, dots, option.value, chained), "as num-consumer-warpgroups says"
    if isinstance(option, IntegerAttr):
        most = dict(WARPGROUPS)[option.value]
        if all(fits(dot, option.value, chained, most) for dot in dots):
            return option.value, "so that they take turns"
    wanted = hint(function, "num_worker_warps_per_cta")
    for groups, most in WARPGROUPS:
        if wanted in (None, 4 * groups) and all(fits(dot, groups, chained, most) for dot in dots):
            if wanted is not None:
                return groups, f"as the hint num_worker_warps_per_cta = {wanted} says"
            return groups, f"the fewest whose threads have {most} registers or fewer of each product's sums"
    for groups, most in _SLICED_GROUPS:
        if wanted in (None, 4 * groups) and all(fits(dot, groups, chained, most, True) for dot in dots):
            return (
                groups,
                f"the fewest whose threads have {most} registers or fewer of sums, beside a slice of them",
            )
    if wanted in (None, 4) and all(fits(dot, 1, chained, MOST_ACCUMULATOR) for dot in dots):
        # An epilogue may spill, but a product of 64 rows cannot be divided, and without wgmma, loops take longer.
        return 1, "the most by which its products can be divided"
    if wanted is not None:
        raise Missed(
            function,
            f"requests {wanted} worker warps, which cannot be divided into warpgroups for its products",
            "remove the hint num_worker_warps_per_cta",
        )
    raise Missed(
        dots[0],
        f"has sums that do not fit the registers of {WARPGROUPS[-1][0]} warpgroups",
        "use smaller tiles",
    )


def group_in_turn(dots: list[nv_tileas.Dot], chained: bool) -> int:
    """One warpgroup for each consumer of those that take tiles in turn.  Missed if its threads cannot hold the sums."""
    for dot in dots:
        if not fits(dot, 1, chained, MOST_ACCUMULATOR):
            m, n = dot.c.type.shape
            raise Missed(
                dot, f"has sums of {m}x{n}, for which the threads of one warpgroup have no registers"
            )
    return 1


def wanted_warpgroups(function: nv_tileaa.Func, dots: list[nv_tileas.Dot], groups: int, chained: bool) -> int:
    """As many warpgroups as an option says.  An error if the products cannot be divided among them."""
    most = dict(WARPGROUPS).get(groups)
    if most is None:
        raise function.error(
            f"requests {groups} consumer warpgroups; expected {', '.join(str(n) for n, _ in WARPGROUPS)}, because the "
            "extents of tiles are powers of two"
        )
    for dot in dots:
        if not fits(dot, groups, chained, most, sliced=groups in dict(_SLICED_GROUPS)):
            m, n = dot.c.type.shape
            registers = m * n * element_bytes(dot.c.type.element) // (512 * groups)
            raise dot.error(
                f"has sums of {m}x{n}, which cannot be divided among {groups} consumer warpgroups: they take "
                f"{registers} registers of a thread, of at most {most}"
                if registers > most
                else f"has sums of {m}x{n}, which cannot be divided among {groups} consumer warpgroups: each takes 64 "
                f"rows{'' if chained else ' and at least 8 columns'}"
            )
    return groups


def is_sliced(dot: nv_tileas.Dot, groups: int) -> bool:
    """Whether the sums of a product are added in f32 slice by slice: it adds too many terms for one slice of all
    columns, or there are no registers for all of them twice."""
    if SLICED in dot.attributes:
        return True
    if PROMOTED in dot.attributes or not loses_precision(dot):
        return False
    m, n = dot.c.type.shape
    return is_deep(dot) or 2 * m * n > dict(WARPGROUPS)[groups] * 128 * groups


def fits(dot: nv_tileas.Dot, groups: int, chained: bool, most: int, sliced: bool = False) -> bool:
    """Whether the sums of a product fit so many registers; `sliced`: a slice of them may be beside these."""
    m, n = dot.c.type.shape
    if sums_of(dot, groups, sliced) > most:
        return False
    along_m = min(groups, m // 64)
    return along_m == groups or (not chained and n // (groups // along_m) >= 8)


def grid(dot: nv_tileas.Dot, groups: int, chained: bool) -> tuple[int, tuple[int, int]]:
    """(n of the instruction, the grid of warps): as many warpgroups along M as possible, the rest along N."""
    m, n = dot.c.type.shape
    along_m = min(groups, m // 64)
    along_n = groups // along_m
    return min(256, n // along_n), (4 * along_m, along_n)
