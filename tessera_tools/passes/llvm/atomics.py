"""nv_tileaa.atomic_rmw and nv_tileaa.atomic_cas: one atom or red instruction for each element, by its owner.

They are inline assembly: LLVM's `atomicrmw` loses ordering and scope in the lowering to PTX, and never becomes a `red`.
Barriers implement orderings between the threads of the tile block, if tokens require them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.dialects import nv_tileaa
from tessera_tools.dialects.nv_tileas import layout_of
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import IntegerType, RankedTensorType, bit_width, element_type, width_of
from tessera_tools.passes.llvm.global_memory import fill_copies
from tessera_tools.passes.llvm.inline_asm import instruction
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.owners import owned_registers, owner, shared_by_owners

_OPERATIONS = {
    "and": "and.b", "or": "or.b", "xor": "xor.b", "xchg": "exch.b", "add": "add.u",
    "max": "max.s", "min": "min.s", "umax": "max.u", "umin": "min.u",
}  # fmt: skip
"""The PTX operation and the kind of its type, followed by the width (PTX ISA, "atom")."""


@lowers("nv_tileaa.atomic_rmw")
def atomic_rmw(low: Lowering, op: nv_tileaa.AtomicRmw) -> None:
    """An op without uses is a `red`, which supports neither acquire nor exchange (PTX ISA, "red")."""
    element = element_type(op.value.type)
    mode = op.mode.value
    if mode == "addf":
        half = bit_width(element) == 16
        operation = f"add.{'noftz.' if half else ''}{element}"
    else:
        operation = f"{_OPERATIONS[mode]}{bit_width(element)}"
    returns = op.res.has_uses or op.ordering.value in ("acquire", "acq_rel") or mode == "xchg"
    _atomic(low, op, "atom" if returns else "red", operation, [op.value])


@lowers("nv_tileaa.atomic_cas")
def atomic_cas(low: Lowering, op: nv_tileaa.AtomicCas) -> None:
    """Bits are compared, whatever the type."""
    operation = f"cas.b{width_of(op.value.type)}"
    _atomic(low, op, "atom", operation, [op.expected, op.value])


def _atomic(
    low: Lowering,
    op: nv_tileaa.AtomicRmw | nv_tileaa.AtomicCas,
    name: str,
    operation: str,
    sources: Sequence[Value],
) -> None:
    """An instruction for each element; the result is the first source if the mask is false."""
    e = low.e
    type = op.value.type
    bits = IntegerType(width_of(type))
    head = f"{name}.{op.ordering.value}.{op.scope.value}.global.{operation}"
    pointers, given = low.flatten(op.pointers), [low.flatten(source) for source in sources]
    masks = low.flatten(op.mask) if op.mask is not None else [None] * len(pointers)
    mine = owner(low, type)
    found: list[Any] = [None] * len(pointers)
    for register in owned_registers(type):
        values = [e.bitcast(column[register], bits) for column in given]
        condition = e.both([masks[register], mine])
        returns = name == "atom"
        listed = ", ".join(f"{{{i + 1}}}" for i in range(len(values)))
        text = f"{head} {'{d}, ' if returns else ''}[{{0}}], {listed}"
        operands = [pointers[register], *values]
        result = instruction(e, text, operands, condition, values[0] if returns else None)
        found[register] = e.bitcast(result, given[0][register].type) if result is not None else None
    low.define(op.out_token, None)
    if not op.res.has_uses:
        return
    if isinstance(type, RankedTensorType):
        fill_copies(layout_of(type), found)
    low.define_flat(op.res, shared_by_owners(low, op, type, found))
