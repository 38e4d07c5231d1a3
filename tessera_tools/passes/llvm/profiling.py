"""Time records of a block: the first thread reads %globaltimer and writes to its block's row.

profile   block 0: i32 count, 12 bytes free │ record 0 │ … │ record n-1      block 1: …
record    i64 nanoseconds (PTX ISA, "%globaltimer") │ i32 marker │ 4 bytes free

If there are too many records, the last ones are kept; `count` is their total number.
"""

from __future__ import annotations

from tessera_tools.dialects import llvm, nv_tileas
from tessera_tools.ir.builtin_attributes import i64
from tessera_tools.ir.types import I32, I64
from tessera_tools.passes.llvm.emitter import Int
from tessera_tools.passes.llvm.instructions import only_where
from tessera_tools.passes.llvm.lowering import Lowering, lowers

RECORD = 16
"""The sizes of a record, and of the header of a block, in bytes."""


@lowers("nv_tileas.profile_record")
def profile_record(low: Lowering, op: nv_tileas.ProfileRecord) -> None:
    """Only by the first thread, and only if there is space for records."""
    e = low.e
    pointer, records = low.scalar(op.pointer), low.scalar(op.records)
    with only_where(e, e.both([e.is_first_thread, e.icmp("ne", records, 0)])):
        block: Int = e.special_register("ctaid.z")
        for axis in ("y", "x"):
            block = e.add(
                e.mul(block, e.special_register(f"nctaid.{axis}")), e.special_register(f"ctaid.{axis}")
            )
        size = e.add(e.mul(e.zext(records), RECORD, I64), RECORD, I64)
        row = e.gep(pointer, e.mul(e.zext(block), size, I64))
        count = e.emit(llvm.Load(row, i64(4), res=I32)).results[0]
        e.emit(llvm.Store(e.constant(e.add(count, 1)), row, i64(4)))
        slot = e.emit(llvm.URem(count, records)).results[0]
        place = e.gep(e.gep(row, e.mul(e.zext(slot), RECORD, I64)), RECORD, shared=False)
        time = e.nvvm("read.ptx.sreg.globaltimer", (), (I64,)).results[0]
        e.emit(llvm.Store(time, place, i64(8)))
        e.emit(llvm.Store(e.constant(op.marker.value), e.gep(place, 8, shared=False), i64(4)))
