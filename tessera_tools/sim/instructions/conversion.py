"""cvt between integers, and between integers and f32/f64 to nearest even or toward zero (PTX ISA, "cvt")."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions.common import computed


@instruction("cvt")
def cvt(ctx: Context) -> Execute:
    """cvt{.rnd}{.sat}.dtype.atype d, a."""
    rounding = ctx.choose("rn", "rni", "rz", "rzi", default="")
    saturate = ctx.flag("sat")
    to, source_type = ctx.types(2)
    target, source = ctx.operands(2)
    d, a = ctx.write(target, to), ctx.read(source, source_type)
    dtype = to.dtype
    if to.kind in "us" and source_type.kind in "us":
        if not saturate:
            return computed(lambda x: x.astype(dtype), d, a)
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        return computed(lambda x: _clamp(x, low, high).astype(dtype), d, a)
    if to.kind in "us" and source_type.kind == "f":
        nearest = {"rni": np.rint, "rzi": np.trunc}.get(rounding)
        if nearest is None:
            raise ctx.error("needs .rni or .rzi")
        info = np.iinfo(dtype)

        def to_integer(x: Any) -> Any:
            wide = nearest(x.astype(np.float64))
            inside = (wide > float(info.min) - 1) & (wide < float(info.max) + 1)
            result = np.where(inside, wide, 0).astype(dtype)
            result = np.where(wide >= float(info.max), dtype(info.max), result)
            return np.where(wide <= float(info.min), dtype(info.min), result)

        return computed(to_integer, d, a)
    if to.kind == "f" and source_type.kind in "usf" and rounding in ("", "rn"):
        return computed(lambda x: x.astype(dtype), d, a)
    raise ctx.error(f"converts {source_type} to {to}, which this family does not know")


def _clamp(x: Any, low: int, high: int) -> Any:
    info = np.iinfo(x.dtype)
    return np.clip(x, max(low, info.min), min(high, info.max))
