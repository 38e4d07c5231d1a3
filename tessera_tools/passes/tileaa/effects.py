"""Conversion of prints, assertions, block-private memory, dependent launches and fences to nv_tileaa."""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.access import storage_bits
from tessera_tools.dialects import arith
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.dialects.cuda_tile.constraints import pointee_of
from tessera_tools.dialects.nv_tileaa.formats import pieces
from tessera_tools.ir.builtin_attributes import StringAttr, i64
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import F32, F64, FloatType, element_type, with_element
from tessera_tools.passes.tileaa.lowering import GLOBAL_POINTER, Lowering, handles
from tessera_tools.passes.tileaa.pointers import token_of
from tessera_tools.target import Feature


@handles(ct.Alloca)
def _alloca(op: ct.Alloca, to: Lowering) -> None:
    """Allocated from the heap: pointers are addresses in global memory, and there is no memory that is private to a
    tile block. Therefore other tile blocks can also use the address, independent of `global`."""
    bits = op.num_elem.value * storage_bits(pointee_of(op.result))
    size = max(1, -(-bits // 8))
    to.replace(op, to.emit(aa.HeapAlloc(i64(size), op.alignment, res=GLOBAL_POINTER)).res)


@handles(ct.Assert)
def _assert(op: ct.Assert, to: Lowering) -> None:
    to.emit(aa.Assert(to[op.condition], op.message))


@handles(ct.PrintTko)
def _print(op: ct.PrintTko, to: Lowering) -> None:
    """A format ends at its first NUL, as in C."""
    text = op.str_.value.partition("\0")[0]
    try:
        _, conversions = pieces(text)
    except ValueError as problem:
        raise to.refuse(op, str(problem)) from None
    for conversion, value in zip(conversions, op.args, strict=False):
        if conversion.kind == "s" and to[value].type is not GLOBAL_POINTER:
            raise to.refuse(
                op,
                f"prints a value of type {to[value].type} with '%s', which expects the address of a string",
            )
    arguments = [_printable(to[value], to) for value in op.args[: len(conversions)]]
    to.replace(op, to.emit(aa.Print(StringAttr(text), arguments, token_of(op, to))).out_token)


def _printable(value: Value, to: Lowering) -> Value:
    """Convert floats narrower than f32 to f32, which represents all their values."""
    element = element_type(value.type)
    if not isinstance(element, FloatType) or element in (F32, F64):
        return value
    return to.emit(arith.ExtF(value, out=with_element(value.type, F32))).out


def _dependency(kind: Any) -> Any:
    """No op if grids do not overlap: every grid then waits for the end of the previous one."""

    def handler(op: Operation, to: Lowering) -> None:
        token = token_of(op, to)
        to.replace(op, to.emit(kind(token)).out_token if to.target.has(Feature.GRIDDEPCONTROL) else token)

    return handler


@handles(ct.MemoryFenceAliasTko)
def _fence_alias(op: ct.MemoryFenceAliasTko, to: Lowering) -> None:
    to.replace(op, to.emit(aa.FenceAlias(token_of(op, to))).out_token)


for _kind, _handler in {
    ct.GdcWaitTko: _dependency(aa.GdcWait),
    ct.GdcLaunchDependentsTko: _dependency(aa.GdcLaunchDependents),
}.items():
    handles(_kind)(_handler)
