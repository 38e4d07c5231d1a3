"""Hidden parameters: the tensor maps that the launcher creates from a kernel's other parameters.

    make_tiled_tma_desc %view  ─▶  a parameter after the declared ones, !llvm.ptr {llvm.byval = !llvm.array<128 x i8>}
                                   nv_tileaa.tensor_maps = [{parameter = 3, base = 0, shape = […], …}]

Base, extents and strides of the view must be linear functions of parameters, or quotients of them
(`analysis/parameters.py`).
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.analysis.tensor_maps import TENSOR_MAPS, TensorMap, describe
from tessera_tools.dialects.llvm.types import ArrayType, PointerType
from tessera_tools.dialects.nv_tileas import BoxCopy, MakeTiledTmaDesc, RequestLaunch, TiledTmaLoad
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    UNIT,
    ArrayAttr,
    DictionaryAttr,
    StringAttr,
    TypeAttr,
    i64,
)
from tessera_tools.ir.types import I8
from tessera_tools.layout.shared import ATOMICITY

if TYPE_CHECKING:
    from tessera_tools.passes.llvm.lowering import Lowering

_POINTER = PointerType(0)
_BYTES = 128


def box_bytes(op: TiledTmaLoad | BoxCopy | RequestLaunch) -> int:
    """The bytes of a load: whole boxes, also at the tensor's boundary; or those of an answer."""
    type = op.buffer.type
    return prod(type.tile) * element_bytes(type.element)


def tensor_map_of(op: MakeTiledTmaDesc) -> TensorMap:
    """The map of a descriptor; raises an error if it is not a function of parameters."""
    atom = op.atom
    found = describe(op.view, tuple(op.box.values), atom.swizzle, atom.atomicity, op.res.type.element)
    if isinstance(found, str):
        raise op.error(found)
    return found


def hidden_parameters(low: Lowering, attributes: dict[str, Attribute], declared: int) -> list[Type]:
    """The types of the hidden parameters; their attributes are added to those of the kernel."""
    if not low.tensor_maps:
        return []
    given = attributes.get("arg_attrs")
    empty = DictionaryAttr(())
    own = list(given.elements) if isinstance(given, ArrayAttr) else [empty] * declared
    hidden = DictionaryAttr(
        (
            ("llvm.align", i64(64)),
            ("llvm.byval", TypeAttr(ArrayType(_BYTES, I8))),
            ("nvvm.grid_constant", UNIT),
        )
    )
    attributes["arg_attrs"] = ArrayAttr((*own, *[hidden] * len(low.tensor_maps)))
    attributes[TENSOR_MAPS] = ArrayAttr(
        tuple(_attribute(tensor_map, declared + i) for i, tensor_map in enumerate(low.tensor_maps))
    )
    return [_POINTER] * len(low.tensor_maps)


def prefetch_tensor_maps(low: Lowering) -> None:
    """Bring the tensor maps of the descriptors so far into the cache of TMA, each once, by the thread that comes here.

    The first copy of each would wait for its 128 bytes of memory; they come while the CTA prepares its barriers.
    """
    for pointer in low.hidden[low.prefetched :]:
        # Of a generic address, LLVM 22 makes two.
        low.e.nvvm("prefetch", [pointer], tensormap=UNIT, in_param_space=UNIT)
    low.prefetched = len(low.hidden)


def _attribute(tensor_map: TensorMap, parameter: int) -> Attribute:
    def numbers(items: Any) -> Attribute:
        return ArrayAttr(tuple(i64(n) for n in items))

    def expressions(items: Any) -> Attribute:
        return ArrayAttr(
            tuple(
                numbers((-1 if e.parameter is None else e.parameter, e.times, e.plus, e.over)) for e in items
            )
        )

    atomicity = (("atomicity", i64(tensor_map.atomicity)),) if tensor_map.atomicity != ATOMICITY else ()
    return DictionaryAttr(
        (
            *atomicity,
            ("base", i64(tensor_map.base)),
            ("box", numbers(tensor_map.box)),
            ("element_type", StringAttr(tensor_map.element)),
            ("parameter", i64(parameter)),
            ("shape", expressions(tensor_map.shape)),
            ("strides", expressions(tensor_map.strides)),
            ("swizzle", i64(tensor_map.swizzle)),
        )
    )
