"""The conversion of matrix products."""

from __future__ import annotations

from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.ir.builtin_attributes import StringAttr
from tessera_tools.ir.types import F32, TF32, element_type
from tessera_tools.passes.tileaa.lowering import Handlers, Lowering


def populate_dots(handlers: Handlers) -> None:
    """Add the handlers of matrix products."""
    handlers.update({ct.MmaF: _mma})


_PRECISION = {F32: "ieee", TF32: "tf32"}
"""How the inputs of a dot are read; for other types there is no choice."""


def _mma(op: ct.MmaF, to: Lowering) -> None:
    if len(op.acc.type.shape) != 2:
        raise to.refuse(op, f"no batch of matrices ('{op.lhs.type}'); tiles of rank 2 are supported")
    # fast_acc allows fewer bits in the sum, and asks for nothing.
    word = _PRECISION.get(element_type(op.lhs.type))
    precision = StringAttr(word) if word is not None else None
    to.replace(op, to.emit(aa.Dot(to[op.lhs], to[op.rhs], to[op.acc], precision)).res)
