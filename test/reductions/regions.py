"""Texts of reductions and scans, and shapes for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from programs import program, tile

Operand = tuple[str, str, str]
"""(name of a tile of the program, element type, identity as text)."""


def combined(
    what: str,
    operands: Sequence[Operand],
    region: str,
    shape: Sequence[int],
    axis: int,
    reverse: bool = False,
    before: str = "",
) -> tuple[str, tuple[int, ...]]:
    """(a program that reduces or scans its tiles `x`, … into `xR`, …; the shape of the results).

    what: `reduce` or `scan`. region: ops on `%xA` (what is before an element) and `%xE` (the element), … that end in
    a yield.
    before: ops before it, whose values the region may use.
    """
    scan = what == "scan"
    result = tuple(shape) if scan else (*shape[:axis], *shape[axis + 1 :])
    names = [name for name, _, _ in operands]
    arguments = ", ".join(f"%{n}A: tile<{e}>, %{n}E: tile<{e}>" for n, e, _ in operands)
    old = ", ".join(tile(e, shape) for _, e, _ in operands)
    new = ", ".join(tile(e, result) for _, e, _ in operands)
    flag = f" reverse={'true' if reverse else 'false'}" if scan else ""
    identities = ", ".join(f"{number} : {e}" for _, e, number in operands)
    results = "%r" if len(names) == 1 else f"%r:{len(names)}"
    values = ", ".join(f"%{name}" for name in names)
    lines = [
        f"{results} = {what} {values} dim={axis}{flag} identities=[{identities}] : {old} -> {new}",
        f"({arguments}) {{ {region} }}",
    ]
    outputs = {f"{n}R": (e, result) for n, e, _ in operands}
    for i, (n, e, _) in enumerate(operands):
        part = "%r" if len(names) == 1 else f"%r#{i}"
        # The same value under the name that the program stores.
        lines.append(f"%{n}R = reshape {part} : {tile(e, result)} -> {tile(e, result)}")
    body = "\n".join([before, *lines])
    return program(body, {n: (e, shape) for n, e, _ in operands}, outputs), result


def random_shape(rng: np.random.Generator, most_bits: int = 11, rank: int | None = None) -> tuple[int, ...]:
    """A tile shape of rank 1 to 5 of up to 2**most_bits elements."""
    rank = int(rng.integers(1, 6)) if rank is None else rank
    bits = int(rng.integers(0, most_bits + 1))
    cuts = np.sort(rng.integers(0, bits + 1, rank - 1))
    return tuple(1 << int(b) for b in rng.permutation(np.diff([0, *cuts, bits])))


def random_case(rng: np.random.Generator, **options: Any) -> tuple[tuple[int, ...], int]:
    """A shape and an axis of it."""
    shape = random_shape(rng, **options)
    return shape, int(rng.integers(len(shape)))
