"""An interpretation of cuda_tile programs in NumPy: what a program says, with no compiler in between.

    module = parse_module(text, "program.mlir")
    a, b, c = interpret(module, [a, b, c, n], grid=(4,))       # the arrays afterwards

Tile blocks run one after the other.  Every op rounds once, to the nearest (floats are computed in float64); sums of a
reduction are taken in order, products in float64.  What differs from a GPU is the order of roundings only.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from reference import elementwise, memory, tiles
from reference.machine import Leave, Machine, constant_values, element_of, on
from reference.numbers import (
    Array,
    Memory,
    UnsupportedError,
    is_half_byte,
    kind_of,
    rounded,
    to_bytes,
    unsigned,
    wrapped,
)

from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import FloatType

__all__ = ["UnsupportedError", "interpret"]
FAMILIES = (elementwise, memory, tiles)


def interpret(
    module: Operation, args: Sequence[Any], grid: Sequence[int] = (1,), entry: str | None = None
) -> list[Array]:
    """Run an entry of a module; the arrays among `args` as they are afterwards.

    args: NumPy arrays (passed as addresses, in the element storage of tessera_tools.runtime) and numbers.
    Raises UnsupportedError for what this interpreter does not do, IndexError for accesses outside the arrays.
    """
    entries = [op for op in module.walk() if isinstance(op, ct.Entry)]
    function = next(e for e in entries if entry is None or e.sym_name.value == entry)
    store = Memory()
    bases: list[tuple[int, Array]] = []
    values: list[Any] = []
    parameters = function.body.entry.arguments
    for argument, parameter in zip(args, parameters, strict=True):
        type: Any = parameter.type
        if isinstance(argument, np.ndarray) and argument.ndim:
            base = store.add(argument)
            bases.append((len(store.buffers) - 1, argument))
            values.append(np.asarray(base, np.int64))
        elif isinstance(type.element, FloatType) and type.element.width == 8:
            pattern = np.asarray(int(argument) & 0xFF, np.uint8)  # as launches take them
            values.append(kind_of(type.element).decode(pattern))
        elif isinstance(type.element, FloatType):
            values.append(rounded(np.asarray(argument, np.float64), type.element))
        else:
            values.append(wrapped(np.asarray(int(argument)), type.element))
    shape = (*grid, 1, 1)[:3]
    made = {op.sym_name.value: store.add(_initial(op)) for op in module.walk() if isinstance(op, ct.Global)}
    for z, y, x in itertools.product(*(range(n) for n in reversed(shape))):
        machine = Machine(store, (x, y, z), shape, made)
        machine.values.update(zip(parameters, values, strict=True))
        try:
            machine.block(function.body.entry)
        except Leave as end:
            assert isinstance(end.op, ct.Return)
    return [store.buffers[number].view(array.dtype).reshape(array.shape)[...] for number, array in bases]


def _initial(op: Any) -> Array:
    type = op.value.type
    values = constant_values(op.value, type)
    if is_half_byte(type.element):
        low, high = (kind_of(type.element).encode(values[i::2]).astype(np.uint8) & 15 for i in (0, 1))
        return np.asarray(low | high << 4)
    return to_bytes(values, type.element)


# -- control flow


@on(ct.Break, ct.Continue, ct.Yield, ct.Return)
def _leave(m: Machine, op: Any) -> None:
    raise Leave(op, m.all(op.operands))


@on(ct.If)
def _if(m: Machine, op: Any) -> None:
    region = op.thenRegion if int(m.get(op.condition)) & 1 else op.elseRegion
    if not region.blocks:
        return
    end = m.inner(region.entry, ())
    if not isinstance(end.op, ct.Yield):
        raise end
    m.set(op, *end.values)


@on(ct.Loop)
def _loop(m: Machine, op: Any) -> None:
    carried = m.all(op.initValues)
    while True:
        end = m.inner(op.body.entry, carried)
        if isinstance(end.op, ct.Break):
            m.set(op, *end.values)
            return
        if not isinstance(end.op, ct.Continue):
            raise end
        carried = end.values


@on(ct.For)
def _for(m: Machine, op: Any) -> None:
    element = element_of(op.lowerBound)
    low, high, step = (
        int(unsigned(m.get(v), element) if op.unsignedCmp is not None else m.get(v))
        for v in (op.lowerBound, op.upperBound, op.step)
    )
    carried = m.all(op.initValues)
    for i in range(low, high, step):
        counter = wrapped(np.asarray(i - (1 << 64) if i >= 1 << 63 else i), element)
        end = m.inner(op.body.entry, [counter, *carried])
        if not isinstance(end.op, ct.Continue):
            raise end
        carried = end.values
    m.set(op, *carried)
