"""Globals: `cuda_tile.global` to `llvm.mlir.global` in global memory, `get_global` to its address."""

from __future__ import annotations

from tessera_tools.analysis.access import storage_bits
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects.llvm.attributes import LinkageAttr
from tessera_tools.dialects.llvm.constants import AddressOf
from tessera_tools.dialects.llvm.module_ops import Global
from tessera_tools.dialects.llvm.types import ArrayType
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import UNIT, DenseElementsAttr, SymbolRefAttr, TypeAttr, i32, i64
from tessera_tools.ir.core import Region
from tessera_tools.ir.types import BF16, F16, F32, F64, FloatType, IntegerType, RankedTensorType, Type
from tessera_tools.passes.tileaa.lowering import GLOBAL_POINTER, Lowering, handles


@handles(ct.GetGlobal)
def _get_global(op: ct.GetGlobal, to: Lowering) -> None:
    to.replace(op, to.emit(AddressOf(SymbolRefAttr(op.name_.root), res=GLOBAL_POINTER)).results[0])


def global_variable(op: ct.Global) -> Global:
    """The variable of a global: a public one is visible to the host, a private one may be removed."""
    element = op.value.shaped.element
    count = op.value.shaped.num_elements
    bits = op.value.bits()
    if len(bits) < count:
        bits = bits * count
    size = storage_bits(element)
    if size < 8:
        bits, size = _packed(bits, size), 8
    elif isinstance(element, FloatType):
        # The bits of a tf32 are the high ones of an f32.
        bits = [code << size - element.width for code in bits]
    held = _held(element, size)
    attributes: dict[str, Attribute] = {
        "global_type": TypeAttr(ArrayType(len(bits), held)),
        "sym_name": op.sym_name,
        "linkage": LinkageAttr("internal" if op.symbol_visibility.value == "private" else "external"),
        "value": DenseElementsAttr.of(RankedTensorType((len(bits),), held), bits),
        "addr_space": i32(1),
        "alignment": i64(max(op.alignment.value, size // 8)),
    }
    if op.constant is not None:
        attributes["constant"] = UNIT
    return Global.create([], [], attributes, [Region()], location=op.location)


def _held(element: Type, bits: int) -> Type:
    """The LLVM type of the elements; the bits for formats that LLVM lacks."""
    return element if element in (F16, BF16, F32, F64) else IntegerType(bits)


def _packed(codes: list[int], bits: int) -> list[int]:
    """Codes narrower than a byte as bytes, the first in the low bits."""
    per = 8 // bits
    groups = [codes[at : at + per] for at in range(0, len(codes), per)]
    return [sum(code << bits * place for place, code in enumerate(group)) for group in groups]
