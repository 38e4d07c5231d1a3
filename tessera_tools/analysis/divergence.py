"""Divergence analysis: the values that differ between the threads of a block.

%t = tile.thread_id                       differs
%x = tile.load_shared %s[%t]              differs: each thread loads its own element
%i = arith.addi %t, %c1                   differs
scf.for %j = %c0 to %i                    %j and the results of the loop differ
"""

from __future__ import annotations

from collections.abc import Callable

from tessera_tools.dialects import scf
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import RankedTensorType

_BY_THREAD = frozenset(
    {
        "tile.thread_id", "tile.warp_id", "tile.lane_id", "tile.load_shared", "tile.load_shared_vector",
        "tile.load_global", "tile.load_global_vector", "nv_tileas.load_element", "nv_tileas.load_global",
    }
)  # fmt: skip
"""Ops whose results differ by thread; by name, because kernels of cuda_tile need not load the dialect `tile`."""
_REGISTERS = ("nvvm.read.ptx.sreg.tid.", "nvvm.read.ptx.sreg.laneid", "nvvm.read.ptx.sreg.warpid")


def divergent_values(function: Operation) -> set[Value]:
    """The scalars that may differ between the threads of a block, in `tile` and nv_tileas: thread ids, values loaded by
    thread, and values computed from them, also around loops.  Tiles are not included."""
    found: set[Value] = set()
    changed = True
    while changed:
        changed = False
        for op in function.walk():
            for value in _differing(op, found.__contains__):
                if value not in found:
                    found.add(value)
                    changed = True
    return found


def differs(op: Operation, divergent: set[Value]) -> bool:
    """Returns true if the threads of a block may diverge at a loop or branch."""
    if isinstance(op, scf.For):
        return any(v in divergent for v in (op.lower, op.upper, op.step))
    if isinstance(op, scf.While):
        ends = [inner for inner in op.walk() if isinstance(inner, scf.Condition)]
        return any(v in divergent for v in (*op.operands, *(end.condition for end in ends)))
    return bool(op.regions) and any(v in divergent for v in op.operands)


def _differing(op: Operation, known: Callable[[Value], bool]) -> list[Value]:
    """Returns the divergent results and block arguments of an op."""
    if op.name in _BY_THREAD or op.name.startswith(_REGISTERS):
        return list(op.results)
    if isinstance(op, scf.For):
        body = op.body.entry
        ends = body.last_op.operands if body.last_op is not None else []
        found: list[Value] = []
        for init, argument, end, result in zip(op.inits, body.arguments[1:], ends, op.results, strict=True):
            if known(init) or known(end) or known(argument):
                found += [argument, result]
        if any(map(known, (op.lower, op.upper, op.step))):
            found += [body.arguments[0], *op.results]
        return found
    if isinstance(op, scf.If):
        lasts = [region.blocks[0].last_op for region in op.regions if region.blocks]
        return [
            result
            for last in lasts
            for value, result in zip(last.operands if last is not None else (), op.results, strict=False)
            if known(value) or known(op.condition)
        ]
    if op.regions or op.name.startswith("tile.") or not any(map(known, op.operands)):
        return []
    return [result for result in op.results if not isinstance(result.type, RankedTensorType)]
