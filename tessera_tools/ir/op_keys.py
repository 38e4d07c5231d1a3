"""Keys of operations: equal for ops that compute the same value from the same operands.

%0 = arith.addi %a, %b          %1 = arith.addi %b, %a          one key: the op commutes
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from tessera_tools.ir.core import Operation, Region, UnregisteredOp, Value
from tessera_tools.ir.traits import Commutative

_LARGEST_REGION = 128
"""Ops with more nested operations than this are not compared: comparing nested regions would be quadratic."""

Identify = Callable[[Value], Hashable]


def op_key(op: Operation, identify: Identify = id) -> Hashable | None:
    """A key that is equal for ops that compute the same value; None if the op is not compared.

    identify: what stands for a value that is used; values with equal identities are taken for the same.
    """
    operands: tuple[Hashable, ...] = tuple(identify(use.value) for use in op.op_operands)
    if len(operands) > 1 and op.has_trait(Commutative):
        operands = tuple(sorted(operands))  # type: ignore[type-var]
    attributes = frozenset(op.attributes.items()) if op.attributes else None
    types = tuple(r.type for r in op.results)
    if isinstance(op, UnregisteredOp):
        return None
    if not op.regions:
        return (type(op), operands, attributes, types)
    size = 0
    for region in op.regions:
        if len(region.blocks) > 1:
            return None
        for _ in region.walk():
            size += 1
            if size > _LARGEST_REGION:
                return None
    numbers: dict[Value, int] = {}
    return (
        type(op),
        operands,
        attributes,
        types,
        tuple(_region_key(region, numbers, identify) for region in op.regions),
    )


def _region_key(region: Region, numbers: dict[Value, int], identify: Identify) -> Hashable:
    """The structure of a region of at most one block; values defined inside are numbered."""
    parts: list[Hashable] = []
    for block in region.blocks:
        for argument in block.arguments:
            numbers[argument] = -1 - len(numbers)
        parts.append(tuple(a.type for a in block.arguments))
        for op in block.operations:
            operands = tuple(numbers.get(use.value) or identify(use.value) for use in op.op_operands)
            name = op.name if isinstance(op, UnregisteredOp) else type(op)
            inner = tuple(_region_key(r, numbers, identify) for r in op.regions)
            attributes = frozenset(op.attributes.items())
            parts.append((name, operands, attributes, tuple(r.type for r in op.results), inner))
            for result in op.results:
                numbers[result] = -1 - len(numbers)
    return tuple(parts)
