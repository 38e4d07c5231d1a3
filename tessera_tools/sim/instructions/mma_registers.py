"""The registers of a warp as matrices, and back: what all instructions of the tensor cores with fragments share.

registers [register, lane] ──collect──▶ float64 matrix      matrix of patterns ──distribute──▶ registers
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.decode import Context
from tessera_tools.sim.elements import split
from tessera_tools.sim.fragments import Fragment
from tessera_tools.sim.interfaces import HasPorts
from tessera_tools.sim.program import Operand, Vector
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import Mask, Warp

__all__ = ["collect", "distribute", "emit", "load_matrix", "ports_of", "whole_warp"]


def ports_of(ctx: Context, operand: Operand, what: str, count: int, bits: int, *, write: bool) -> list[int]:
    """The ports of a fragment of `count` registers of 32 or 64 bits."""
    if not isinstance(operand, Vector):
        raise ctx.error(f"has no list of registers in braces for {what}; expected {count}")
    elements = operand.elements
    if len(elements) != count:
        raise ctx.error(f"has {len(elements)} registers for {what}; expected {count}")
    type = TYPES[f"b{bits}"]
    return [(ctx.write if write else ctx.read)(element, type) for element in elements]


def whole_warp(warp: Warp, mask: Mask) -> bool:
    """True if all 32 lanes run the instruction; otherwise reports a finding."""
    if mask.full:
        return True
    warp.report("illegal", f"{mask.count} of 32 lanes run it; it needs the whole warp", mask)
    return False


def collect(
    fragment: Fragment, bits: int, values: Callable[[Array], Array], axis: int | None
) -> Callable[[Array], Array]:
    """A function that reads a fragment: patterns of its registers [register, lane] → float64, K axis (`axis`) first.

    Leading axes are preserved: the fragments of several warps.
    """
    places = fragment.gather
    if axis is not None:
        places = np.ascontiguousarray(np.moveaxis(places, axis, 0))
    return lambda raw: values(split(raw, bits).reshape(*raw.shape[:-2], -1).take(places, axis=-1))


def distribute(fragment: Fragment) -> Callable[[Array], Array]:
    """A function that scatters a matrix of patterns to registers [register, lane]; leading axes are preserved."""
    count, _, packed = fragment.scatter.shape
    places = fragment.scatter

    def spread(patterns: Array) -> Array:
        several = patterns.shape[: -len(fragment.shape)]
        taken = patterns.reshape(*several, -1).take(places, axis=-1)
        return (taken.view(np.uint32) if packed > 1 else taken).reshape(*several, count, 32)

    return spread


def load_matrix(
    ports: Sequence[int], fragment: Fragment, bits: int, values: Callable[[Array], Array], axis: int | None
) -> Callable[[HasPorts], Array]:
    """A function that gathers a fragment: registers → float64 matrix, with its K axis (`axis`) first."""
    raw = np.empty((len(ports), 32), f"<u{max(bits, 32) // 8}")
    read = collect(fragment, bits, values, axis)
    pairs = list(enumerate(ports))

    def load(warp: HasPorts) -> Array:
        rows = warp.ports
        for index, port in pairs:
            raw[index] = rows[port]
        return read(raw)

    return load


def emit(ports: Sequence[int], fragment: Fragment) -> Callable[[HasPorts, Array], None]:
    """A function that scatters a matrix of patterns to registers."""
    spread = distribute(fragment)
    pairs = list(enumerate(ports))

    def give(warp: HasPorts, patterns: Array) -> None:
        taken = spread(patterns)
        rows = warp.ports
        for index, port in pairs:
            rows[port][...] = taken[index]

    return give
