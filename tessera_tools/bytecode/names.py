"""Names for values without one, as in the output of the reference's tools.

The results of an op with several declared results are named after their fields; a few ops with one result have a fixed
name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.ir import floats
from tessera_tools.ir.builtin_attributes import wrap_int
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import I1, FloatType
from tessera_tools.opdef import Op

Namer: TypeAlias = Callable[[Any], None]
"""Names the values of an op of one class."""


def suggest_names(root: Operation) -> None:
    """Name the unnamed results and block arguments inside `root`."""
    plans: dict[type[Operation], Namer | None] = {}
    for op in root.walk():
        cls = type(op)
        if cls not in plans:
            plans[cls] = _plan(cls)
        plan = plans[cls]
        if plan is not None:
            plan(op)


_ONE_WORD: dict[str, str] = {
    "broadcast": "bcast",
    "make_gather_scatter_view": "gsview",
    "make_partition_view": "pview",
    "make_strided_view": "sview",
    "make_tensor_view": "tview",
    "reduce": "reduce",
    "reshape": "reshape",
}
"""Ops whose first result has a fixed name."""


def _plan(cls: type[Operation]) -> Namer | None:
    """The naming of the values of a class of ops; None if they are not named."""
    word = cls.name.partition(".")[2]
    special = _SPECIAL.get(word)
    if special is not None:
        return special
    if word in _ONE_WORD:
        return _first(_ONE_WORD[word])
    if not issubclass(cls, Op) or len(cls.definition.results) < 2:
        return None
    fields = cls.definition.results

    def several(op: Operation) -> None:
        for field in fields:
            start, count = field.span(op)
            if count:
                _name(op.results[start], field.name)

    return several


def _first(name: str) -> Namer:
    def one(op: Operation) -> None:
        if op.results:
            _name(op.results[0], name)

    return one


def _name(value: Value, name: str) -> None:
    if value.name_hint is None:
        value.name_hint = name


def _assume(op: ct.Assume) -> None:
    value = op.value
    known = value.name_hint if value.defining_op is not None else None
    _name(op.results[0], f"assume_{known}" if known else "assume")


def _constant(op: ct.Constant) -> None:
    value = op.value
    assert isinstance(value.type, ct.TileType)
    element = kind = value.type.element
    if element is I1:
        _name(op.results[0], ("true" if value.data[0] else "false") if value.is_splat else "cst_i1")
        return
    middle = ""
    if value.is_splat:
        bits = value.bits()[0]
        if not isinstance(element, FloatType):
            middle = f"_{wrap_int(bits, element)}"
        elif floats.is_nan(bits, element.keyword):
            middle = "_NaN"
        elif not floats.is_inf(bits, element.keyword):
            number = floats.decode(bits, element.keyword)
            if number == int(number) and 0 <= number < 1 << 64 and not str(number).startswith("-"):
                middle = f"_{int(number)}"
    _name(op.results[0], f"cst{middle}_{kind}")


def _for(op: ct.For) -> None:
    if op.results:
        _name(op.results[0], "for")
    index, *carried = op.body.entry.arguments
    _name(index, "loopIdx")
    for number, argument in enumerate(carried):
        _name(argument, f"iterArg{number}")


def _reduce(op: ct.Reduce) -> None:
    if op.results:
        _name(op.results[0], "reduce")
    arguments = op.body.entry.arguments
    for number, argument in enumerate(arguments):
        side = "rhs" if number % 2 else "lhs"
        _name(argument, f"reduce_{side}{number // 2 if len(arguments) > 2 else ''}")


_SPECIAL: dict[str, Namer] = {
    ct.Assume.name.partition(".")[2]: _assume,
    ct.Constant.name.partition(".")[2]: _constant,
    ct.For.name.partition(".")[2]: _for,
    ct.Reduce.name.partition(".")[2]: _reduce,
}
"""Ops whose names depend on more than the class."""
