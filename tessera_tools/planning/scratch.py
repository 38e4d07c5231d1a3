"""Shared memory that ops with effects need while they run.

heap_alloc   the address, which one thread passes to all threads
print        a part of the tile, which one thread prints in row-major order
assert       a part of the tile of conditions; one thread reports the false ones
atomic_…     the old values, for threads of other warps that hold the same elements
cluster_reduce   the values that the threads of other CTAs read
cluster_reduce_scatter   the same, of one round
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.nv_tileas import layout_of
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.records import dataclass

PARTS = "nv_tileas.parts"
"""The attribute of a convert_layout or cluster_reduce_scatter with the number of its parts. It has scratch for one."""
ADDRESS_BYTES = 8
PART_BYTES = 8192
"""Bytes of a tile that one thread reads at a time."""


def declared_parts(op: Operation) -> int:
    """In how many parts an op uses its scratch."""
    declared = op.attributes.get(PARTS)
    return declared.value if isinstance(declared, IntegerAttr) else 1


def part_elements(type: RankedTensorType) -> int:
    """Returns the number of elements of a tile that one thread reads at a time."""
    return min(type.num_elements, PART_BYTES // element_bytes(type.element))


def _seen_bytes(values: Sequence[Value]) -> int:
    """Returns the bytes of the largest part of a tile among `values` that one thread reads."""
    tiles = [value.type for value in values if isinstance(value.type, RankedTensorType)]
    return max((part_elements(type) * element_bytes(type.element) for type in tiles), default=0)


def effect_bytes(op: Operation) -> int:
    """Returns the bytes of scratch that an op needs; 0 if it needs none."""
    if isinstance(op, nv_tileaa.HeapAlloc):
        return ADDRESS_BYTES
    if isinstance(op, nv_tileaa.Print | nv_tileaa.Assert):
        return _seen_bytes(op.operands)
    return _returned_bytes(op.results[0])


def _returned_bytes(result: Value) -> int:
    """Returns the bytes of values that one thread passes to other warps. Within a warp, shuffles pass them."""
    type = result.type
    if not result.has_uses:
        return 0
    if not isinstance(type, RankedTensorType):
        return element_bytes(type)
    is_shared = layout_of(type).free_variable_masks().get("warp", 0)
    return type.num_elements * element_bytes(type.element) if is_shared else 0


class ExchangePlace(NamedTuple):
    """Where the threads of a CTA put what others read: a register at `offset` + thread · bytes, the next `step` after
    it.  A number is the same in all threads, and is there once."""

    offset: int
    registers: int
    step: int


def exchange_places(op: nv_tileas.ClusterReduce) -> list[ExchangePlace]:
    """The places of each operand of an exchange between CTAs, in bytes from the start of its scratch."""
    found: list[ExchangePlace] = []
    offset = 0
    for value in op.sources:
        type = value.type
        if isinstance(type, RankedTensorType):
            layout = layout_of(type)
            threads = layout.in_size("lane") * layout.in_size("warp")
            place = ExchangePlace(offset, layout.in_size("register"), threads * element_bytes(type.element))
        else:
            place = ExchangePlace(offset, 1, 16)
        found.append(place)
        offset += -(-place.registers * place.step // 16) * 16
    return found


_WIDEST = 16
"""Bytes of the widest access of a thread."""


@dataclass(frozen=True, slots=True)
class ScatterPlan:
    """How the threads of CTAs add what they have, and each gets the sums of its part (cluster_reduce_scatter).

    A thread stores the elements of the parts of other CTAs, and the same threads of those CTAs read them.  The place of
    vector v of a round for the CTA whose rank differs by d (xor) is (d - 1) · slot + (v · threads + thread) · bytes.
    """

    groups: tuple[tuple[int, ...], ...]
    """By rank, the registers of the source that become the registers of the result in that CTA."""
    elements: int
    """Of a vector."""
    bytes: int
    """Of a vector."""
    threads: int
    vectors: int
    """Of each part in a round."""

    @property
    def rounds(self) -> int:
        """How often all threads store and read."""
        return len(self.groups[0]) // (self.elements * self.vectors)

    @property
    def slot(self) -> int:
        """Bytes for one CTA."""
        return self.vectors * self.threads * self.bytes

    @property
    def scratch(self) -> int:
        """Bytes of all."""
        return (len(self.groups) - 1) * self.slot


def scatter_plan(op: nv_tileas.ClusterReduceScatter, rounds: int = 1) -> ScatterPlan:
    """The plan of an exchange in so many rounds, a power of two; fewer if there are not so many vectors."""
    old, new = layout_of(op.source.type), layout_of(op.res.type)
    shape, part = op.source.type.shape, op.res.type.shape
    counts = [n // m for n, m in zip(shape, part, strict=True)]
    groups: list[list[int]] = [[] for _ in range(prod(counts))]
    for register in range(old.in_size("register")):
        at = old.apply({"register": register, "lane": 0, "warp": 0, "block": 0})
        rank, scale = 0, 1
        for axis, (count, size) in enumerate(zip(counts, part, strict=True)):
            rank += at[f"dim{axis}"] // size * scale
            scale *= count
        groups[rank].append(register)
    size = element_bytes(op.source.type.element)
    registers = new.in_size("register")
    elements = min(registers, _WIDEST // size)
    threads = old.in_size("lane") * old.in_size("warp")
    vectors = max(1, registers // elements // rounds)
    return ScatterPlan(tuple(map(tuple, groups)), elements, elements * size, threads, vectors)
