"""What moves the elements of tiles, reductions, products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from reference.machine import Machine, constant_values, element_of, on, word
from reference.numbers import (
    Array,
    rounded,
    unsigned,
    wrapped,
)

from tessera_tools.dialects import cuda_tile as ct

# -- tiles


@on(ct.Constant)
def _constant_tile(m: Machine, op: Any) -> None:
    m.set(op, constant_values(op.value, op.result.type))


@on(ct.Iota)
def _iota(m: Machine, op: Any) -> None:
    m.set(op, wrapped(np.arange(op.result.type.shape[0]), element_of(op.result)))


@on(ct.Reshape)
def _reshape(m: Machine, op: Any) -> None:
    m.set(op, np.reshape(m.get(op.source), op.result.type.shape))


@on(ct.Broadcast)
def _broadcast(m: Machine, op: Any) -> None:
    m.set(op, np.broadcast_to(m.get(op.source), op.result.type.shape))


@on(ct.Permute)
def _permute(m: Machine, op: Any) -> None:
    m.set(op, np.transpose(m.get(op.source), op.permutation.values))


@on(ct.Cat)
def _cat(m: Machine, op: Any) -> None:
    m.set(op, np.concatenate([m.get(op.lhs), m.get(op.rhs)], op.dim.value))


def _part(indices: Sequence[Any], shape: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(int(i) * n, (int(i) + 1) * n) for i, n in zip(indices, shape, strict=True))


@on(ct.Extract)
def _extract(m: Machine, op: Any) -> None:
    m.set(op, m.get(op.source)[_part(m.all(op.indices), op.result.type.shape)])


@on(ct.Insert)
def _insert(m: Machine, op: Any) -> None:
    whole = np.array(m.get(op.destination))
    whole[_part(m.all(op.indices), op.source.type.shape)] = m.get(op.source)
    m.set(op, whole)


def _fold(m: Machine, op: Any) -> list[list[Array]]:
    """The accumulators after each step; the region's ops take whole slices as they take numbers.

    The identities are not asked for: combined with an element they give that element.
    """
    inputs = [np.moveaxis(np.asarray(m.get(v)), op.dim.value, 0) for v in op.inputs]
    reverse = op.attributes.get("reverse")
    order = range(inputs[0].shape[0])[:: -1 if reverse is not None and reverse.value else 1]
    steps = [[value[order[0]] for value in inputs]]
    for i in order[1:]:
        arguments = [x for value, acc in zip(inputs, steps[-1], strict=True) for x in (acc, value[i])]
        end = m.inner(op.body.entry, arguments)
        steps.append([np.broadcast_to(v, inputs[0].shape[1:]) for v in end.values])
    return steps if order.step > 0 else steps[::-1]


@on(ct.Reduce)
def _reduce(m: Machine, op: Any) -> None:
    m.set(op, *_fold(m, op)[-1])


@on(ct.Scan)
def _scan(m: Machine, op: Any) -> None:
    steps = _fold(m, op)
    m.set(op, *(np.moveaxis(np.stack(column), 0, op.dim.value) for column in zip(*steps, strict=True)))


@on(ct.MmaF)
def _product(m: Machine, op: Any) -> None:
    with np.errstate(all="ignore"):
        m.set(op, rounded(np.matmul(m.get(op.lhs), m.get(op.rhs)) + m.get(op.acc), element_of(op.result)))


@on(ct.MmaI)
def _integer_product(m: Machine, op: Any) -> None:
    a, b = (
        unsigned(m.get(v), element_of(v)).astype(np.int64) if word(s) == "unsigned" else m.get(v)
        for v, s in ((op.lhs, op.signedness_lhs), (op.rhs, op.signedness_rhs))
    )
    m.set(op, wrapped(np.matmul(a, b) + m.get(op.acc), element_of(op.result)))


@on(ct.MmaFScaled)
def _scaled_product(m: Machine, op: Any) -> None:
    a, b, x, y = (m.get(v) for v in (op.lhs, op.rhs, op.lhs_scale, op.rhs_scale))
    a = a * np.repeat(x, a.shape[-1] // x.shape[-1], -1)
    b = b * np.repeat(y, b.shape[-2] // y.shape[-2], -2)
    m.set(op, rounded(np.matmul(a, b) + m.get(op.acc), element_of(op.result)))
