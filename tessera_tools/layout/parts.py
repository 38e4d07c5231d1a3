"""Conversions through shared memory in several parts, for tiles that do not fit into the scratch as a whole.

    tile 4×8, split by the bit "column ≥ 4", which only registers change in both layouts:

        a a a a | b b b b          part 0: the registers of both layouts that hold a's
        a a a a | b b b b          part 1: the registers that hold b's
            …                      each part is a tile 4×4 in the scratch; the layouts of both parts are the same

A bit of a coordinate splits the tile in half if no lane and no warp of either layout changes it. Every thread then
holds each part in half of its registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.layout.conversion import SharedRoundTrip, shared_round_trip
from tessera_tools.layout.distributed import HARDWARE_DIMS
from tessera_tools.layout.linear import LayoutError, LinearLayout
from tessera_tools.records import dataclass

__all__ = ["PartedRoundTrip", "most_parts", "parted_round_trip"]


@dataclass(frozen=True, slots=True)
class PartedRoundTrip:
    """For each part in turn: a store, a barrier, a load, and a barrier before the next part.

    trip: the round trip of one part, in registers of the part.
    source, target: the layouts of a part.
    store_registers[p][i], load_registers[p][i]: the tile's register that is register i of part p.
    """

    trip: SharedRoundTrip
    source: LinearLayout
    target: LinearLayout
    store_registers: tuple[tuple[int, ...], ...]
    load_registers: tuple[tuple[int, ...], ...]

    @property
    def scratch_bytes(self) -> int:
        """Bytes of shared memory for one part."""
        return self.trip.scratch_bytes


def most_parts(src: LinearLayout, dst: LinearLayout) -> int:
    """Returns the largest number of parts into which a conversion can be split, a power of two."""
    return 1 << len(_free_bits(src, dst))


def parted_round_trip(
    src: LinearLayout,
    dst: LinearLayout,
    parts: int,
    element_bits: int,
    matrix_store: bool = False,
    matrix_load: bool = False,
) -> PartedRoundTrip:
    """Returns the conversion in `parts` parts (a power of two). Raises LayoutError if it cannot be split so often."""
    bits = _free_bits(src, dst)
    if parts < 1 or parts & (parts - 1) or parts > 1 << len(bits):
        raise LayoutError(f"{parts} parts, expected a power of two up to {1 << len(bits)}: {src}\nto {dst}")
    store_registers = [tuple(range(src.in_size("register")))]
    load_registers = [tuple(range(dst.in_size("register")))]
    # Take the most significant bits first, so that the lower bits of an axis keep their positions.
    for dim, bit in bits[: parts.bit_length() - 1]:
        src, store_halves = _halved(src, dim, bit)
        dst, load_halves = _halved(dst, dim, bit)
        store_registers = _refined(store_registers, store_halves)
        load_registers = _refined(load_registers, load_halves)
    trip = shared_round_trip(src, dst, element_bits, matrix_store, matrix_load)
    return PartedRoundTrip(trip, src, dst, tuple(store_registers), tuple(load_registers))


def _refined(parts: list[tuple[int, ...]], halves: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    return [tuple(part[register] for register in half) for part in parts for half in halves]


def _free_bits(src: LinearLayout, dst: LinearLayout) -> list[tuple[str, int]]:
    """Returns the (axis, bit) pairs that no lane, warp or block of either layout changes.

    The slowest axis comes first; within an axis, the highest bit comes first.
    """
    found: list[tuple[str, int]] = []
    for name, size in src.outs:
        moved = 0
        for layout in (src, dst):
            place = layout.out_dims.index(name)
            for dim in HARDWARE_DIMS[1:]:
                for basis in layout.bases.get(dim, ()):
                    moved |= basis[place]
        found += [(name, bit) for bit in reversed(range(size.bit_length() - 1)) if not moved >> bit & 1]
    return found


def _halved(layout: LinearLayout, dim: str, bit: int) -> tuple[LinearLayout, list[list[int]]]:
    """Returns the layout of the half in which a bit of a coordinate is 0, and the registers of each half.

    The layout does not have that bit.
    """
    place = layout.out_dims.index(dim)
    registers = layout.bases["register"]
    having = [index for index, basis in enumerate(registers) if basis[place] >> bit & 1]
    if not having:
        raise LayoutError(f"no register moves bit {bit} of {dim}: {layout}")
    pivot = having[-1]
    # Registers that move the bit together with the pivot stay in their half.
    kept = [
        (1 << index) ^ (1 << pivot if index in having else 0)
        for index in range(len(registers))
        if index != pivot
    ]

    def without(coordinate: Sequence[int]) -> tuple[int, ...]:
        value = coordinate[place]
        low = value & ((1 << bit) - 1)
        return (*coordinate[:place], value >> bit + 1 << bit | low, *coordinate[place + 1 :])

    def image(vector: int) -> tuple[int, ...]:
        total = [0] * len(layout.outs)
        for index, basis in enumerate(registers):
            if vector >> index & 1:
                total = [a ^ b for a, b in zip(total, basis, strict=True)]
        return tuple(total)

    bases = {name: [without(basis) for basis in vectors] for name, vectors in layout.bases.items()}
    bases["register"] = [without(image(vector)) for vector in kept]
    outs = [(name, size // 2 if name == dim else size) for name, size in layout.outs]
    first = [0]
    for vector in kept:
        first += [register ^ vector for register in first]
    return LinearLayout(bases, outs), [first, [register ^ 1 << pivot for register in first]]
