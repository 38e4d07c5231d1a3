"""setp (PTX ISA, "Comparison and Selection Instructions")."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions.common import put
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import Mask, Warp

_INTEGER: dict[str, Any] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
_UNORDERED = {"equ": "eq", "neu": "ne", "ltu": "lt", "leu": "le", "gtu": "gt", "geu": "ge"}
_COMBINE: dict[str, Any] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def comparison(name: str, is_float: bool) -> Any:
    """The function of two rows that a comparison names; NaN makes an ordered one false, an unordered one true."""
    if name == "num":
        return lambda x, y: ~(np.isnan(x) | np.isnan(y))
    if name == "nan":
        return lambda x, y: np.isnan(x) | np.isnan(y)
    if name in _UNORDERED:
        plain = _INTEGER[_UNORDERED[name]]
        return lambda x, y: plain(x, y) | np.isnan(x) | np.isnan(y)
    if name == "ne" and is_float:
        return lambda x, y: (x != y) & ~(np.isnan(x) | np.isnan(y))
    return _INTEGER[name]


@instruction("setp")
def setp(ctx: Context) -> Execute:
    """setp.cmp{.bool}{.ftz}.type p{|q}, a, b{, {!}c}: p = cmp and q = not cmp, each combined with c."""
    name = ctx.choose(*_INTEGER, *_UNORDERED, "num", "nan")
    combine = ctx.choose(*_COMBINE, default="")
    type = ctx.type()
    compare = comparison(name, type.is_float)
    target, first, second, *rest = ctx.operands(4 if combine else 3)
    a, b = ctx.read(first, type), ctx.read(second, type)
    p, q = ctx.pair(target)
    pred = TYPES["pred"]
    d = ctx.write(p, pred)
    if q is None and not combine and name in _INTEGER and not (name == "ne" and type.is_float):
        from tessera_tools.sim.instructions.common import elementwise

        return elementwise(compare, d, a, b)
    e = ctx.write(q, pred) if q is not None else None
    c, negated = ctx.predicate(rest[0]) if rest else (d, False)
    both = _COMBINE.get(combine)

    def execute(warp: Warp, mask: Mask) -> None:
        ports = warp.ports
        result = compare(ports[a], ports[b])
        other = ~result
        if both is not None:
            third = ~ports[c] if negated else ports[c]
            result, other = both(result, third), both(other, third)
        put(warp, mask, d, result)
        if e is not None:
            put(warp, mask, e, other)

    return execute
