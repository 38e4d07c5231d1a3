"""The older spelling of `nv_tileaa`, as the walk-through of the stages prints it, and its translation into today's.

    %a, %t = nv_tileaa.tiled_load %v, %tok { copy_atom = #cute.copy_atom<sm90_tma_load_2d_f16> }
        ─▶ the same with #cute.copy_atom<sm80_ldg_16_f16>

Whether TMA copies a tile is decided later, from facts (`passes/tileas/products.py`).  Until then an access has an atom
of threads.  In functions with such atoms, `dot` may take its right factor as N×K; it is permuted.

Listings name no target.  In a module that has one, which the compiler has printed, such an atom is not translated, and
the verifier refuses it.
"""

from __future__ import annotations

from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.dialects.nv_tileaa.structure import Func
from tessera_tools.dialects.nv_tileaa.tensors import Dot, Permute
from tessera_tools.dialects.nv_tileaa.views import TiledLoad, TiledStore
from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.core import Builder, Operation
from tessera_tools.ir.types import I64, RankedTensorType, bit_width


def upgrade_older(module: Operation) -> None:
    """Translates what is in the older spelling, in place."""
    if "nv_tileaa.target_spec" in module.attributes:
        return
    for function in [op for op in module.walk() if isinstance(op, Func)]:
        accesses = [op for op in function.walk() if isinstance(op, TiledLoad | TiledStore) and _is_older(op)]
        for op in accesses:
            element = op.moved.type.element
            op.attributes["copy_atom"] = CopyAtomAttr.make(80, op.word, bit_width(element), element)
        if accesses:
            for op in [inner for inner in function.walk() if isinstance(inner, Dot)]:
                _turn(op)


def _is_older(op: TiledLoad | TiledStore) -> bool:
    return isinstance(op.copy_atom, CopyAtomAttr) and op.copy_atom.primitive.startswith("tma_")


def _turn(op: Dot) -> None:
    """Permutes a right factor of N×K."""
    a, b, c = (value.type for value in (op.a, op.b, op.c))
    if not all(isinstance(t, RankedTensorType) and t.rank == 2 for t in (a, b, c)):
        return
    (_, k), (_, n) = a.shape, c.shape
    if b.shape == (k, n) or b.shape != (n, k):
        return
    turned = Permute(
        op.b, DenseArrayAttr(I64, (1, 0)), res=RankedTensorType((k, n), b.element), location=op.location
    )
    Builder.before(op).insert(turned)
    op.set_operand(1, turned.res)
