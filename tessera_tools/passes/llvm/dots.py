"""The lowering of dots."""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects import nv_tileas
from tessera_tools.dialects.llvm.types import struct
from tessera_tools.dialects.nvvm.attributes import MMALayoutAttr, MMAShapeAttr, MMATypeAttr
from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.types import BF16, F16, F32, I32, TF32, VectorType, bit_width
from tessera_tools.layout import as_xor_expression
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.tiles import Tile

_MMA_TYPES = {F16: "f16", BF16: "bf16", TF32: "tf32"}


@lowers("nv_tileas.dot")
def dot(low: Lowering, op: nv_tileas.Dot) -> None:
    """One mma.sync for every instruction-sized piece: those of A and C agree in rows, of B and C in columns."""
    e = low.e
    atom = op.atom
    if atom.a not in _MMA_TYPES or atom.accumulator is not F32:
        raise op.error(f"has no lowering for atom {atom}; f16, bf16 and tf32 with f32 accumulation have one")
    m, n, k = atom.mnk
    a, b, c = low.tile(op.a), low.tile(op.b), low.tile(op.c)
    a_words, b_words = a.words(e), b.words(e)
    accumulators = list(c.elements(e))
    per = 32 // max(bit_width(atom.a), 16) if atom.a is not TF32 else 1
    a_size, b_size = m * k // 32 // per, k * n // 32 // per
    a_at = _pieces(op.a.type, a_size * per)
    b_at = _pieces(op.b.type, b_size * per)
    kinds = MMATypeAttr(_MMA_TYPES[atom.a])
    fixed = {
        "layoutA": MMALayoutAttr("row"),
        "layoutB": MMALayoutAttr("col"),
        "multiplicandAPtxType": kinds,
        "multiplicandBPtxType": kinds,
        "operandSegmentSizes": DenseArrayAttr(I32, (a_size, b_size, 4)),
        "shape": MMAShapeAttr(m, n, k),
    }
    # f16 operands are vectors of two halves, the others plain words.
    operand_type = VectorType((2,), F16) if atom.a is F16 else I32
    a_words = [e.bitcast(w, operand_type) for w in a_words]
    b_words = [e.bitcast(w, operand_type) for w in b_words]
    result = struct(*[F32] * 4)
    depth = op.a.type.shape[1]
    # k outermost: the fragments of one k step are used together, and neighbouring instructions are independent.
    for step in range(0, depth, k):
        for (row, column), first in _pieces(op.c.type, 4).items():
            mine_a = a_words[a_at[row, step] // per :][:a_size]
            mine_b = b_words[b_at[step, column] // per :][:b_size]
            values = e.nvvm(
                "mma.sync", [*mine_a, *mine_b, *accumulators[first : first + 4]], [result], **fixed
            )
            accumulators[first : first + 4] = e.fields(values.results[0], [F32] * 4)
    low.define(op.res, Tile(op.res.type, accumulators))


def _pieces(type: Any, registers: int) -> dict[tuple[int, int], int]:
    """Where each instruction-sized piece of a warp starts: (row, column) in the warp's own coordinates → register."""
    layout = nv_tileas.layout_of(type)
    rows, columns = (as_xor_expression(layout, out=f"dim{d}").constants for d in (0, 1))
    return {(rows[r], columns[r]): r for r in range(0, len(rows), registers)}
