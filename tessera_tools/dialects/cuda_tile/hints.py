"""Checks of optimization hints.

    entry @k(…) optimization_hints=<sm_90 = {num_cta_in_cga = 7}>  ──▶  warning: expected power-of-two ≤ 16 for …

Hints are advice: a wrong one is ignored. The commands look at them on request, with the words of the reference's own
checks (OptimizationHintsAttr in Attributes.cpp).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tessera_tools.dialects.cuda_tile.attributes import OptimizationHintsAttr
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import DictionaryAttr, IntegerAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import I1

ARCHITECTURES = (
    "sm_80",
    "sm_86",
    "sm_87",
    "sm_88",
    "sm_89",
    "sm_90",
    "sm_100",
    "sm_103",
    "sm_107",
    "sm_110",
    "sm_120",
    "sm_121",
)
"""The valid keys of hints, in addition to `default`."""
_ONE_BLOCK = re.compile(r"sm_8[0-9]")
_ENTRY = ("num_cta_in_cga", "num_worker_warps_per_cta", "occupancy")
_POINTERS = ("latency",)
_VIEWS = ("latency", "allow_tma")
_ALLOWED = {
    "cuda_tile.entry": _ENTRY,
    "cuda_tile.load_ptr_tko": _POINTERS,
    "cuda_tile.store_ptr_tko": _POINTERS,
    "cuda_tile.load_view_tko": _VIEWS,
    "cuda_tile.store_view_tko": _VIEWS,
}
"""Op name → the hints that mean something there."""


def problems(op: Operation) -> Iterator[str]:
    """The errors in the hints of one operation, with the reference's messages; empty for an op without hints."""
    hints = op.attributes.get("optimization_hints")
    if not isinstance(hints, OptimizationHintsAttr):
        return
    allowed = _ALLOWED.get(op.name, tuple(_CHECKS))
    for key, entry in hints.value.entries:
        if key != "default" and key not in ARCHITECTURES:
            yield f"unknown hint key {key}"
            continue
        assert isinstance(entry, DictionaryAttr)
        for name, value in entry.entries:
            if name not in allowed:
                yield f"{name} is not known hint for current Operation"
            elif (problem := _CHECKS[name](value, key)) is not None:
                yield problem.format(f"{key}.{name}")


def _number(value: Attribute) -> int | None:
    return value.value if isinstance(value, IntegerAttr) and value.type is not I1 else None


def _blocks(value: Attribute, key: str) -> str | None:
    number = _number(value)
    if number is None:
        return "integer value expected for {}"
    if _ONE_BLOCK.match(key) and number != 1:
        return "expected 1 for {}"
    return None if _is_power(number, 16) else "expected power-of-two ≤ 16 for {}"


def _warps(value: Attribute, key: str) -> str | None:
    number = _number(value)
    if number is None:
        return "integer value expected for {}"
    return None if _is_power(number, 32) else "expected power-of-two ≤ 32 for {}"


def _is_power(number: int, most: int) -> bool:
    return 0 < number <= most and number & (number - 1) == 0


def _between(lowest: int, highest: int) -> Callable[[Attribute, str], str | None]:
    def check(value: Attribute, key: str) -> str | None:
        number = _number(value)
        if number is None:
            return "integer value expected for {}"
        if lowest <= number <= highest:
            return None
        return f"integer value in the range [{lowest}, {highest}] is expected for {{}}"

    return check


def _boolean(value: Attribute, key: str) -> str | None:
    return None if isinstance(value, IntegerAttr) and value.type is I1 else "boolean value expected for {}"


_CHECKS: dict[str, Callable[[Attribute, str], str | None]] = {
    "num_cta_in_cga": _blocks,
    "num_worker_warps_per_cta": _warps,
    "occupancy": _between(1, 32),
    "latency": _between(1, 10),
    "allow_tma": _boolean,
}
