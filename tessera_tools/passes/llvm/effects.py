"""Programmatic dependent launch, and the fence between addresses of the same memory."""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects.nvvm.attributes import GridDepActionAttr, ProxyKindAttr
from tessera_tools.passes.llvm.lowering import Lowering, lowers


@lowers("nv_tileaa.gdc_wait", "nv_tileaa.gdc_launch_dependents")
def griddepcontrol(low: Lowering, op: Any) -> None:
    """Every thread waits or signals for itself (PTX ISA, "griddepcontrol")."""
    kind = "wait" if op.name.endswith("wait") else "launch_dependents"
    low.e.nvvm("griddepcontrol", kind=GridDepActionAttr(kind))
    low.define(op.out_token, None)


@lowers("nv_tileaa.fence_alias")
def fence_alias(low: Lowering, op: Any) -> None:
    """Every thread fences its own accesses (PTX ISA, "membar/fence", fence.proxy.alias); barriers order the threads."""
    low.e.nvvm("fence.proxy", kind=ProxyKindAttr("alias"))
    low.define(op.out_token, None)
