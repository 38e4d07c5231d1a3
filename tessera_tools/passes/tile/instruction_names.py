"""The PTX name of a product's instruction: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32."""

from __future__ import annotations

from tessera_tools.dialects.cute_nvgpu import MmaAtomAttr
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import F16, FloatType, IntegerType

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
