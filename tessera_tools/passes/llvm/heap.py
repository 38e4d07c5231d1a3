"""Heap memory of a tile block: malloc and free by its first thread, as in device code of CUDA C++.

heap_alloc   the first thread: malloc, trap where there is none left; its address through shared memory; all align it
heap_free    the first thread: free
"""

from __future__ import annotations

from tessera_tools.dialects import llvm, nv_tileaa
from tessera_tools.ir.builtin_attributes import i64
from tessera_tools.ir.types import I64
from tessera_tools.passes.llvm.emitter import GLOBAL_POINTER
from tessera_tools.passes.llvm.instructions import only_where
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.shared_memory import GLOBAL_SMEM
from tessera_tools.passes.llvm.symbols import GENERIC

MALLOC_ALIGNMENT = 16
"""The alignment of malloc, in bytes (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation and Operations")."""


@lowers("nv_tileaa.heap_alloc")
def heap_alloc(low: Lowering, op: nv_tileaa.HeapAlloc) -> None:
    """For an alignment of more than 16 bytes, that many more bytes are allocated."""
    e = low.e
    alignment = op.alignment.value
    slack = alignment if alignment > MALLOC_ALIGNMENT else 0
    place = e.gep(e.address_of(GLOBAL_SMEM), low.allocation.offsets[op])
    with only_where(e, e.is_first_thread):
        (found,) = low.symbols.call(e, op, "malloc", [e.constant(op.bytes_.value + slack, I64)])
        address = e.emit(llvm.PtrToInt(found, res=I64)).results[0]
        with only_where(e, e.icmp("eq", address, 0, I64)):
            e.emit(llvm.Trap())
        e.emit(llvm.Store(address, place, i64(8)))
    e.barrier()
    address = e.emit(llvm.Load(place, i64(8), res=I64)).results[0]
    low.heap[op.res] = address
    if slack:
        address = e.constant(
            e.and_(e.constant(e.add(address, alignment - 1, I64), I64), -alignment, I64), I64
        )
    low.define(op.res, e.emit(llvm.IntToPtr(address, res=GLOBAL_POINTER)).results[0])


@lowers("nv_tileaa.heap_free")
def heap_free(low: Lowering, op: nv_tileaa.HeapFree) -> None:
    """Free the pointer that malloc returned, not the aligned one."""
    e = low.e
    address = low.heap[op.source]
    with only_where(e, e.is_first_thread):
        pointer = e.emit(llvm.IntToPtr(address, res=GENERIC)).results[0]
        low.symbols.call(e, op, "free", [pointer])
