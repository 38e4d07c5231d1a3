"""Many elementwise ops in one program: what each makes of the same operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from programs import TARGETS, Array, decode, empty, program, run, tile

NAMES: tuple[str, ...] = ("x", "y", "w")


def text(
    ops: Sequence[str], element: str, shape: Sequence[int], arity: int, output: str = "", types: str = ""
) -> str:
    """A program that loads operands %x, %y, %w and stores what each op makes of them.

    ops: `addf %x, %y rounding<zero>`, without types; `types` are theirs, where they are not the one type of all tiles.
    """
    output = output or element
    types = types or tile(element, shape)
    body = "\n  ".join(f"%r{i} = {op} : {types}" for i, op in enumerate(ops))
    inputs = dict.fromkeys(NAMES[:arity], (element, tuple(shape)))
    return program(body, inputs, {f"r{i}": (output, tuple(shape)) for i in range(len(ops))})


def computed(
    ops: Sequence[str], element: str, given: Sequence[Array], target: str, output: str = "", types: str = ""
) -> list[Array]:
    """The arrays that the ops give."""
    shape = given[0].shape
    made = text(ops, element, shape, len(given), output, types)
    outputs = [empty(output or element, shape) for _ in ops]
    return run(made, *given, *outputs, target=target)[len(given) :]


def numbers(element: str, array: Array) -> Array:
    """The float64 values of an array, signaling NaNs among them."""
    with np.errstate(invalid="ignore"):
        return decode(element, array)


def any_target(rng: Any) -> str:
    """One of the targets."""
    return TARGETS[int(rng.integers(len(TARGETS)))]
