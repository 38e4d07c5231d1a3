"""The `scf` dialect: structured control flow.

Loops (`LoopLike`) provide their parts: `loop_body` (the region that repeats), `induction` (its induction variables),
`inits` → `iter_args` → `yielded` → `results` (the carried values, position by position).
"""

from __future__ import annotations

from tessera_tools.dialects.scf import forall, ops, parallel
from tessera_tools.dialects.scf.forall import Forall, InParallel
from tessera_tools.dialects.scf.ops import (
    Condition,
    ExecuteRegion,
    For,
    If,
    IndexSwitch,
    While,
    Yield,
)
from tessera_tools.dialects.scf.parallel import Parallel, Reduce, ReduceReturn
from tessera_tools.opdef import Dialect, ops_of

DIALECT = Dialect(
    "scf",
    "structured control flow",
    ops_of(ops, parallel, forall),
    canonicalizers="tessera_tools.dialects.scf.canonicalize",
)


__all__ = [
    "DIALECT", "Condition", "ExecuteRegion", "For", "Forall", "If", "InParallel", "IndexSwitch", "Parallel", "Reduce",
    "ReduceReturn", "While", "Yield",
]  # fmt: skip
