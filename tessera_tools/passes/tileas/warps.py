"""The number of warps of a kernel: from the command line, otherwise from the author's hint, otherwise from its tiles.

    elementwise     1 → 4 warps, while a thread has 16 bytes of the largest tile: the widest access
                    4 → 16, while a thread would hold more than 32 registers of it
    with products   at most one per piece (16x8 of the accumulator for mma.sync), at most 4;
                    8 if a thread would hold more than 64 registers of the largest tile, or too many of the sums
                    of a loop
    any             more, while a thread would hold more than `MOST_ELEMENTS` of a tile

Registers have 32 bits; a smaller element counts as one.  Uniform tiles count only in the last line: they take one
register.  More than 8 warps do not give a kernel more registers (a multiprocessor has 65,536, a thread 255), but
less code per thread and more accesses in flight.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from tessera_tools.analysis.access import storage_bits
from tessera_tools.analysis.hints import hint
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.folding import constant_value
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.passes.tileas.assign_layouts import MOST_ELEMENTS
from tessera_tools.planning.dot_layouts import piece_of
from tessera_tools.planning.mma_atoms import mma_atom
from tessera_tools.target import Target

LANES = 32
FEW_WARPS = 4
"""One warp for each of the four schedulers of a multiprocessor."""
VECTOR = 4
"""Registers of the widest access, 16 bytes."""
TILE_REGISTERS = 32
"""Registers per thread of the largest tile of an elementwise kernel above which more warps are used."""
ACCUMULATOR_REGISTERS = 64
"""Registers a thread that the largest tile of a kernel with products may take before more warps are used."""
SUM_REGISTERS = 168
"""Registers a thread that the sums of a loop may take before more warps are used, which then share rows.  The exchange
of their maxima and sums costs more than a thread saves, up to where sums spill.  By the clock for sm_80, attention of
64x128x128 takes 24 µs with 4 warps and 37 with 8; gradients of keys and values in tiles of 64x64x128, 103 and 82."""
SUMS_OF_ROWS = 96
"""The same where each warp has rows of its own: attention of 128x64x64 takes 42 µs with 4 warps and 34 with 8."""


class Warps(NamedTuple):
    """The number of warps of a kernel, and the reason."""

    number: int
    why: str
    unfollowed: str = ""
    """Why the author's hint is ignored; "" if it is not, or if there is none."""


def choose_warps(function: Operation, target: Target, ctas: int = 1) -> Warps:
    """The warps of a CTA, from the author's hint or from the tiles; see the module's docstring.

    If so many CTAs are a cluster, each has a part of the tiles.

    A hint that is not a power of two, or exceeds the limit of a CTA, is ignored.
    """
    most = target.max_threads_per_block // LANES
    hinted = hint(function, "num_worker_warps_per_cta")
    unfollowed = ""
    if hinted is not None:
        if 0 < hinted <= most and hinted & (hinted - 1) == 0:
            return Warps(hinted, "as set by the hint num_worker_warps_per_cta")
        unfollowed = f"num_worker_warps_per_cta = {hinted} is ignored: expected a power of two up to {most}"
    tiles = [
        result.type
        for op in function.walk()
        for result in op.results
        if isinstance(result.type, RankedTensorType)
    ]
    registers = largest_tile(function) // ctas
    products = [op for op in function.walk() if isinstance(op, nv_tileaa.Dot)]
    warps = 1
    if products:
        pieces = max(1, max(_pieces(op, target) for op in products) // ctas)
        while warps < FEW_WARPS and 2 * warps <= pieces:
            warps *= 2
        why = f"one per piece of the products ({pieces}), up to {FEW_WARPS}"
        few = warps
        while FEW_WARPS <= warps < 8 and registers > ACCUMULATOR_REGISTERS * LANES * warps:
            warps *= 2
        if warps > few:
            why = _full(registers, few, ACCUMULATOR_REGISTERS)
        elif warps == FEW_WARPS:
            sums, rows = sums_in_loops(function)
            each = sums // ctas // (LANES * warps)
            most = (
                SUM_REGISTERS
                if rows < 2 * warps * piece_of(mma_atom(products[0], target))[0]
                else SUMS_OF_ROWS
            )
            if each > most:
                why = f"with {warps}, the sums of a loop would need {each} registers per thread, more than {most}"
                warps *= 2
    else:
        while warps < FEW_WARPS and registers >= VECTOR * LANES * 2 * warps:
            warps *= 2
        why = f"as many as give a thread {VECTOR} registers of the largest tile, up to {FEW_WARPS}"
        few = warps
        while warps < 16 and registers > TILE_REGISTERS * LANES * warps:
            warps *= 2
        if warps > few:
            why = _full(registers, few, TILE_REGISTERS)
    elements = max((t.num_elements for t in tiles), default=0) // ctas
    fewer = warps
    while warps < most and elements > MOST_ELEMENTS * LANES * warps:
        warps *= 2
    if warps > fewer:
        why = f"with {fewer}, a thread would have more than {MOST_ELEMENTS} elements of a tile of {elements}"
    return Warps(warps, why, unfollowed)


def largest_tile(function: Operation) -> int:
    """Words of 32 bits of the largest tile in registers, in all threads together."""
    return max(
        (
            _registers(result.type)
            for op in function.walk()
            for result in op.results
            if isinstance(result.type, RankedTensorType) and _is_in_registers(result)
        ),
        default=0,
    )


def sums_in_loops(function: Operation) -> tuple[int, int]:
    """(words of 32 bits of the sums in a loop, the fewest rows of its products), of the loop with the most.

    They are the tiles that the loop carries, the largest one that a product starts anew, and half of the second, of
    which a factor of 16 bits is made, as of the scores of attention.
    """
    most = (0, 0)
    for loop in function.walk():
        if not isinstance(loop, LoopLike):
            continue
        carried = sum(_registers(v.type) for v in loop.iter_args if isinstance(v.type, RankedTensorType))
        started = [
            op.res.type
            for op in loop.loop_body.walk()
            if isinstance(op, nv_tileaa.Dot | nv_tileas.Dot) and _starts(op)
        ]
        if started:
            *_, second, first = [0, *sorted(map(_registers, started))]
            most = max(most, (carried + first + second // 2, min(type.shape[-2] for type in started)))
    return most


def _starts(dot: nv_tileaa.Dot | nv_tileas.Dot) -> bool:
    """Whether the sums of a product start at a constant."""
    return isinstance(dot.c.defining_op, nv_tileaa.Splat) or constant_value(dot.c) is not None


def _full(registers: int, warps: int, most: int) -> str:
    """The reason for more than `warps` warps."""
    each = registers // (LANES * warps)
    return f"with {warps}, the largest tile would need {each} registers per thread, more than {most}"


def _registers(type: RankedTensorType) -> int:
    """The number of 32-bit registers of a tile, over all threads."""
    return type.num_elements * -(-storage_bits(type.element) // 32)


def _is_in_registers(value: Value) -> bool:
    """True if a tile's elements are in registers: the tile is not uniform, and not an operand of a product that passes
    through shared memory."""
    op = value.defining_op
    if isinstance(op, nv_tileaa.ConstantTensor | nv_tileaa.Splat):
        return False
    return not isinstance(op, nv_tileaa.TiledLoad | nv_tileaa.Permute) or not _feeds_products(value)


def _feeds_products(value: Value) -> bool:
    return value.has_uses and all(
        (isinstance(use.owner, nv_tileaa.Dot) and use.index < 2)
        or (isinstance(use.owner, nv_tileaa.Permute) and _feeds_products(use.owner.results[0]))
        for use in value.uses
    )


def _pieces(op: nv_tileaa.Dot, target: Target) -> int:
    """The number of warps that can compute separate parts of a product."""
    *batches, m, n = op.c.type.shape
    rows, columns = piece_of(mma_atom(op, target))
    return prod(batches) * -(-m // rows) * -(-n // columns)
