"""Side effects of a tile block other than accesses to views: heap memory, printing, dependent launches.

%p = nv_tileaa.heap_alloc {bytes = 256 : i64, alignment = 16 : i64} : !llvm.ptr<1>
nv_tileaa.heap_free %p : !llvm.ptr<1>
%t1 = nv_tileaa.print "%d\\0A", %a token %t0 : tensor<8xi32> -> !nv_tileaa.mem_token
nv_tileaa.assert %ok, "out of range" : tensor<8xi1>
%t2 = nv_tileaa.gdc_wait %t1 : !nv_tileaa.mem_token
"""

from __future__ import annotations

from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.dialects.nv_tileaa.base import POINTER, TOKEN, scalar_or_tile
from tessera_tools.dialects.nv_tileaa.formats import pieces
from tessera_tools.ir.effects import Resource
from tessera_tools.ir.types import I1, FloatType, IntegerType, Type, element_type
from tessera_tools.opdef import (
    I64_ATTR,
    IN_ORDER,
    STRING_ATTR,
    Completion,
    MemoryEffects,
    Op,
    allocate,
    arrive,
    attribute,
    exactly,
    free,
    of,
    operand,
    result,
    variadic_operand,
    wait,
    write,
)

CONDITIONS = scalar_or_tile(exactly(I1))
PRINTED = scalar_or_tile(of(IntegerType, FloatType, PointerType, summary="number or pointer"))


class HeapAlloc(
    Op, name="nv_tileaa.heap_alloc", traits=(MemoryEffects(allocate(), write(resource=Resource.ORDER)),)
):
    """Allocates memory for the tile block on the device heap. All threads receive the same address.

    The kernel traps if the heap is exhausted.
    """

    bytes_ = attribute(I64_ATTR, key="bytes")
    alignment = attribute(I64_ATTR)
    res = result(POINTER)
    assembly = "attr-dict `:` type($res)"

    def verify_op(self) -> None:
        size, alignment = self.bytes_.value, self.alignment.value
        if size < 1:
            raise self.error(f"bytes must be positive, got {size}")
        if alignment < 1 or alignment & (alignment - 1):
            raise self.error(f"alignment must be a power of two, got {alignment}")


class HeapFree(Op, name="nv_tileaa.heap_free", traits=(MemoryEffects(free("source")),)):
    """Frees memory of `heap_alloc`.  If other threads may still access it, a barrier must precede the op;
    tileas-insert-barriers inserts it."""

    source = operand(POINTER)
    assembly = "$source attr-dict `:` type($source)"

    def verify_op(self) -> None:
        if not isinstance(self.source.defining_op, HeapAlloc):
            raise self.error("frees a pointer that is not the result of an nv_tileaa.heap_alloc")


class Print(Op, name="nv_tileaa.print", traits=(IN_ORDER,)):
    """Prints a printf-style format once per tile block.

    A tile is printed as rows in brackets, each element by the tile's conversion.  Elements are integers, pointers, f32
    or f64.
    """

    format = attribute(STRING_ATTR)
    args = variadic_operand(PRINTED)
    token = operand(TOKEN)
    out_token = result(TOKEN)
    assembly = "$format (`,` $args^)? `token` $token attr-dict (`:` type($args)^)? `->` type($out_token)"

    def verify_op(self) -> None:
        try:
            _, conversions = pieces(self.format.value)
        except ValueError as problem:
            raise self.error(str(problem)) from None
        if len(conversions) != len(self.args):
            raise self.error(
                f"has {len(conversions)} conversions in its format, but {len(self.args)} arguments"
            )
        for conversion, value in zip(conversions, self.args, strict=True):
            kind = element_type(value.type)
            if conversion.kind == "s" and not isinstance(value.type, PointerType):
                raise self.error(
                    f"prints a value of type {value.type} with '%s', which expects the address of a string"
                )
            if not (isinstance(kind, IntegerType | PointerType) or _is_wide_float(kind)):
                raise self.error(f"prints {kind}; expected an integer, a pointer, f32 or f64")


def _is_wide_float(type: Type) -> bool:
    return isinstance(type, FloatType) and str(type) in ("f32", "f64")


class Assert(Op, name="nv_tileaa.assert", traits=(IN_ORDER,)):
    """Prints the message for each false element with its position in the tile, and aborts the kernel if there is
    one."""

    condition = operand(CONDITIONS)
    message = attribute(STRING_ATTR)
    assembly = "$condition `,` $message attr-dict `:` type($condition)"


class _Ordered(Op):
    """The base of ops in a chain of tokens without other operands."""

    token = operand(TOKEN)
    out_token = result(TOKEN)
    assembly = "$token attr-dict `:` type($out_token)"


class GdcWait(_Ordered, name="nv_tileaa.gdc_wait", traits=(MemoryEffects(wait(Completion.GRID)),)):
    """Waits until the preceding grids have completed and their writes are visible."""

    token = operand(TOKEN)


class GdcLaunchDependents(
    _Ordered, name="nv_tileaa.gdc_launch_dependents", traits=(MemoryEffects(arrive(Completion.GRID)),)
):
    """Signals that, for this tile block, the dependent grids may be launched."""

    token = operand(TOKEN)


class FenceAlias(_Ordered, name="nv_tileaa.fence_alias", traits=(IN_ORDER,)):
    """Orders accesses to the same memory through different addresses (aliases), among all threads of the tile block."""

    token = operand(TOKEN)
