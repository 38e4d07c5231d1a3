"""The number of blocks of a kernel that fit on one SM, and the resource that limits it.

    (registers/thread, threads/block, shared bytes/block) ──occupancy(target)──▶ Occupancy(blocks, limits)

The rules are those of the CUDA occupancy calculator (`cuda_occupancy.h`). Registers are allocated to whole warps in
multiples of `register_granularity`. The warps of a block are distributed over the four partitions of an SM. Each block
takes `reserved_shared_per_block` bytes in addition to its own.
"""

from __future__ import annotations

from functools import cache

from tessera_tools.records import dataclass
from tessera_tools.target.table import Target

__all__ = ["FEWEST_REGISTERS", "Occupancy", "launched_registers", "max_registers_for", "occupancy"]


FEWEST_REGISTERS = 24
"""The minimum limit of registers of a thread that ptxas accepts."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Resident blocks on one SM, with the bound of each resource."""

    blocks: int
    warps: int
    fraction: float
    """Resident warps divided by the SM's maximum, 0.0 to 1.0."""
    limits: dict[str, int]
    """Blocks per SM by resource: `threads`, `blocks`, `registers`, `shared`."""

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resources with the smallest bound."""
        return tuple(name for name, bound in self.limits.items() if bound == self.blocks)


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def occupancy(target: Target, *, threads: int, registers: int, shared: int = 0) -> Occupancy:
    """Returns the occupancy of a block of `threads`, each with `registers`, and `shared` bytes (static and dynamic).

    For a block that cannot be launched, the result is 0 blocks. Raises ValueError if a size is negative or if
    `threads` is 0.
    """
    if threads < 1 or registers < 0 or shared < 0:
        raise ValueError(f"no block has {threads} threads, {registers} registers and {shared} bytes")
    warps = -(-threads // target.warp_size)
    launchable = (
        threads <= target.max_threads_per_block
        and registers <= target.max_registers_per_thread
        and shared <= target.max_shared_per_block
    )
    limits = {
        "threads": target.max_warps_per_sm // warps,
        "blocks": target.max_blocks_per_sm,
        "registers": _blocks_by_registers(target, warps, registers),
        "shared": _blocks_by_shared(target, shared),
    }
    blocks = min(limits.values()) if launchable else 0
    return Occupancy(blocks, blocks * warps, blocks * warps / target.max_warps_per_sm, limits)


def _blocks_by_registers(target: Target, warps: int, registers: int) -> int:
    if registers == 0:
        return target.max_blocks_per_sm
    per_warp = _round_up(registers * target.warp_size, target.register_granularity)
    partitions = target.warp_granularity
    if per_warp * _round_up(warps, partitions) > target.registers_per_block:
        return 0
    warps_per_partition = target.registers_per_sm // partitions // per_warp
    return warps_per_partition * partitions // warps


def _blocks_by_shared(target: Target, shared: int) -> int:
    per_block = _round_up(shared + target.reserved_shared_per_block, target.shared_granularity)
    return target.max_shared_per_sm // per_block


@cache
def max_registers_for(target: Target, *, threads: int, blocks: int = 1) -> int:
    """Returns the maximum of registers per thread that keeps `blocks` blocks of `threads` resident; 0 if none."""
    if threads < 1 or blocks < 1:
        raise ValueError(f"no SM holds {blocks} blocks of {threads} threads")
    warps = -(-threads // target.warp_size)
    for registers in range(target.max_registers_per_thread, 0, -1):
        if _blocks_by_registers(target, warps, registers) >= blocks:
            return registers
    return 0


def launched_registers(target: Target, threads: int, blocks: int = 1) -> int:
    """Registers of each thread at the launch of a kernel whose warps then exchange them by setmaxnreg: as many as keep
    `blocks` blocks resident, in multiples of 8 (PTX ISA, setmaxnreg)."""
    return max_registers_for(target, threads=threads, blocks=blocks) // 8 * 8
