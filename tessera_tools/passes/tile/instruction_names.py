"""The PTX name of a product's instruction: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32."""

from __future__ import annotations

from math import prod

from tessera_tools.analysis.fragments import Fragments, is_fragment
from tessera_tools.dialects.cute_nvgpu import MmaAtomAttr
from tessera_tools.dialects.tile.compute import Product
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import BF16, F16, F32, I8, I32, TF32, FloatType, IntegerType, bit_width

WARPGROUP = 128
"""Threads of a warpgroup."""
ROWS = 64
"""Rows of a product that one wgmma computes."""
_WIDEST = 256
_F8 = (FloatType("f8E4M3FN"), FloatType("f8E5M2"))

_PTX = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2", "f4E2M1FN": "e2m1"}


def warp_instruction(atom: MmaAtomAttr) -> str | None:
    """The mma.sync instruction of an atom; None for multiply-adds.  PTX ISA, "mma"."""
    if atom.is_fma:
        return None
    a, b = atom.a, atom.b
    m, n, k = atom.mnk
    if isinstance(a, FloatType) and a.width < 16 and k == 16:
        a = b = F16  # converted in registers
    words = [ptx_type(t) for t in (atom.accumulator, a, b, atom.accumulator)]
    return f"mma.sync.aligned.m{m}n{n}k{k}.row.col.{'.'.join(words)}"


def ptx_type(type: Type) -> str:
    """The name of an element type in PTX; integers are signed by default."""
    if isinstance(type, IntegerType):
        return f"{'u' if type.signedness == 'unsigned' else 's'}{type.width}"
    assert isinstance(type, FloatType)
    return _PTX.get(type.keyword, type.keyword)


def warpgroup_instruction(op: Product, fragments: Fragments) -> str | None:
    """The wgmma instruction for a product, e.g. wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16; None
    if there is none.  PTX ISA, "Asynchronous warpgroup-level matrix instructions".

    B must be in shared memory; A in shared memory or in registers.  Only 16-bit operands can be transposed.  Each
    warpgroup computes 64 rows, or a multiple, of a tile with a known number of threads.  One warpgroup computes a tile
    without it; its 64 rows may exceed the tile: those are computed from the data after A, and masked.
    """
    a, b, c = (v.type.element for v in (op.lhs, op.rhs, op.res))
    depth = _depth_of(a, b, c)
    if depth is None or is_fragment(op.rhs) or (is_fragment(op.lhs) and op.transposes_a):
        return None
    if bit_width(a) != 16 and (op.transposes_a or not op.transposes_b):
        return None
    m, n = fragments.shape(op.res)
    k = op.rhs.type.shape[1 if op.transposes_b else 0]
    threads = m * n // prod(op.res.type.shape)
    if threads > 1 and (threads % WARPGROUP or m % (ROWS * (threads // WARPGROUP))):
        return None
    columns = _columns(n, isinstance(a, IntegerType))
    if columns is None or k % depth:
        return None
    return f"wgmma.mma_async.sync.aligned.m64n{columns}k{depth}.{ptx_type(c)}.{ptx_type(a)}.{ptx_type(b)}"


_DEPTHS: dict[Type, tuple[int, tuple[Type, ...]]] = {
    F16: (16, (F16, F32)),
    BF16: (16, (F32,)),
    TF32: (8, (F32,)),
    I8: (32, (I32,)),
}
"""Elements → the K of one wgmma, and its accumulators."""


def _depth_of(a: Type, b: Type, c: Type) -> int | None:
    """The K of one wgmma: 32 bytes of elements; None if it does not support the types."""
    if a in _F8 and b in _F8:
        return 32 if c in (F16, F32) else None
    if a is not b:
        return None
    depth, accumulators = _DEPTHS.get(a, (0, ()))
    return depth if c in accumulators else None


def _columns(n: int, integers: bool) -> int | None:
    """The largest supported number of columns that divides N: multiples of 8 up to 256; for integers, from 32 on,
    multiples of 16."""
    sizes = range(min(n, _WIDEST) // 8 * 8, 0, -8)
    return next((s for s in sizes if n % s == 0 and not (integers and s > 24 and s % 16)), None)
