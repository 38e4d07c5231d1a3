"""How many warps a kernel has: what the command line says, else what the author hints at, else what its tiles want.

    elementwise     1 → 4 warps, as long as a thread keeps 16 bytes of the largest tile: the widest access
                    4 → 16, as long as it would hold more than 32 registers of it
    with products   no more than there are pieces for (16x8 of the accumulator for mma.sync), at most 4;
                    8 where a thread would hold more than 64 registers of the largest tile
    any             more, as long as a thread would hold more than `MOST_ELEMENTS` of a tile

Registers have 32 bits; a smaller element counts as one.  Tiles of equal elements count only in the last line: they take
one register.  More than 8 warps give a kernel no more registers (a multiprocessor has 65,536, a thread 255), only
shorter stretches of code and more accesses in flight.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from tessera_tools.analysis.access import storage_bits
from tessera_tools.dialects import nv_tileaa
from tessera_tools.ir.builtin_attributes import DictionaryAttr, IntegerAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.passes.tileas.assign_layouts import MOST_ELEMENTS
from tessera_tools.planning.dot_layouts import piece_of
from tessera_tools.planning.mma_atoms import mma_atom
from tessera_tools.target import Target

LANES = 32
FEW_WARPS = 4
"""Warps that fill the four schedulers of a multiprocessor once."""
VECTOR = 4
"""Registers of the widest access, 16 bytes."""
TILE_REGISTERS = 32
"""Registers a thread that an elementwise kernel's largest tile may take before more warps are used."""
ACCUMULATOR_REGISTERS = 64
"""Registers a thread that the largest tile of a kernel with products may take before more warps are used."""
HINTS = "nv_tileaa.hints"


def hint(function: Operation, name: str) -> int | None:
    """A number that the author hints at for the target; None if there is none."""
    hints = function.attributes.get(HINTS)
    found = dict(hints.entries).get(name) if isinstance(hints, DictionaryAttr) else None
    return found.value if isinstance(found, IntegerAttr) else None


class Warps(NamedTuple):
    """How many warps a kernel has, and why."""

    number: int
    why: str
    unfollowed: str = ""
    """Why the author's hint is not followed; "" if it is, or if there is none."""


def choose_warps(function: Operation, target: Target) -> Warps:
    """The warps of a kernel, from the author's hint or from its tiles; see the module's docstring.

    A hint that is not a power of two, or more than a CTA may have, is not followed.
    """
    most = target.max_threads_per_block // LANES
    hinted = hint(function, "num_worker_warps_per_cta")
    unfollowed = ""
    if hinted is not None:
        if 0 < hinted <= most and hinted & (hinted - 1) == 0:
            return Warps(hinted, "as the hint num_worker_warps_per_cta says")
        unfollowed = (
            f"num_worker_warps_per_cta = {hinted} is not followed: expected a power of two up to {most}"
        )
    tiles = [
        (result, result.type)
        for op in function.walk()
        for result in op.results
        if isinstance(result.type, RankedTensorType)
    ]
    registers = max((_registers(t) for value, t in tiles if _is_held(value)), default=0)
    products = [op for op in function.walk() if isinstance(op, nv_tileaa.Dot)]
    warps = 1
    if products:
        pieces = max(_pieces(op, target) for op in products)
        while warps < FEW_WARPS and 2 * warps <= pieces:
            warps *= 2
        why = f"as many as the products have pieces for ({pieces}), up to {FEW_WARPS}"
        few = warps
        while FEW_WARPS <= warps < 8 and registers > ACCUMULATOR_REGISTERS * LANES * warps:
            warps *= 2
        if warps > few:
            why = _full(registers, few, ACCUMULATOR_REGISTERS)
    else:
        while warps < FEW_WARPS and registers >= VECTOR * LANES * 2 * warps:
            warps *= 2
        why = f"as many as leave a thread {VECTOR} registers of the largest tile, up to {FEW_WARPS}"
        few = warps
        while warps < 16 and registers > TILE_REGISTERS * LANES * warps:
            warps *= 2
        if warps > few:
            why = _full(registers, few, TILE_REGISTERS)
    elements = max((t.num_elements for _, t in tiles), default=0)
    fewer = warps
    while warps < most and elements > MOST_ELEMENTS * LANES * warps:
        warps *= 2
    if warps > fewer:
        why = f"with {fewer}, a thread would have more than {MOST_ELEMENTS} elements of a tile of {elements}"
    return Warps(warps, why, unfollowed)


def _full(registers: int, warps: int, most: int) -> str:
    """Why a kernel has more than so many warps."""
    each = registers // (LANES * warps)
    return f"with {warps}, the largest tile would take {each} registers a thread, more than {most}"


def _registers(type: RankedTensorType) -> int:
    """32-bit registers of all threads together that a tile takes."""
    return type.num_elements * -(-storage_bits(type.element) // 32)


def _is_held(value: Value) -> bool:
    """True if a tile's elements are in registers: not one number for all, and not an operand that comes to a product
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
    """How many warps can have a part of a product of their own."""
    *batches, m, n = op.c.type.shape
    rows, columns = piece_of(mma_atom(op, target))
    return prod(batches) * -(-m // rows) * -(-n // columns)
