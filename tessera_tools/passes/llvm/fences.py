"""tcgen05.fence where tensor_fences.py says; the fence before TMA writes what others have written."""

from __future__ import annotations

from tessera_tools.dialects.nvvm.attributes import ProxyKindAttr, Tcgen05FenceAttr
from tessera_tools.ir.core import Operation
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.lowering import Lowering
from tessera_tools.passes.llvm.tensor_fences import ACCESSES


def fence(e: Emitter, side: str) -> None:
    """Orders tcgen05 operations before or after a synchronization of threads."""
    e.nvvm("tcgen05.fence", kind=Tcgen05FenceAttr(side))


def fence_before(low: Lowering, op: Operation) -> None:
    """A fence between accesses of tensor memory and the arrival `op`, or between a wait and the access `op`, if one is
    needed."""
    if op in low.fences.before:
        fence(low.e, "after" if isinstance(op, ACCESSES) else "before")


def fence_behind(low: Lowering, op: Operation) -> None:
    """A fence behind a wait, if one is needed there."""
    if op in low.fences.after:
        fence(low.e, "after")


def fence_global(low: Lowering) -> None:
    """Orders what TMA will write to global memory behind the writes that this thread sees (PTX ISA,
    "fence.proxy.async")."""
    low.e.nvvm("fence.proxy", kind=ProxyKindAttr("async.global"))
