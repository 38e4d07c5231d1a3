"""nv_tileaa.print: vprintf by the first thread of the CTA.

print "x = %d\\n", %x                  vprintf("x = %d\\n", x)
print "t = %5.1f\\n", %t : 2x2xf32     t to shared memory, row by row; barrier; in the first thread:
                                         vprintf("t = ")
                                         for i in 0..4: vprintf("%s%5.1f", i == 0 ? "[[" : i % 2 ? ", " : "], [", t[i])
                                         vprintf("]]\\n")
"""

from __future__ import annotations

from math import prod

from tessera_tools.dialects import llvm, nv_tileaa
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.dialects.nv_tileaa.formats import Conversion, pieces
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import F64, I1, I32, I64, FloatType, IntegerType, RankedTensorType
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.first_thread import each_element, vprintf
from tessera_tools.passes.llvm.instructions import only_where
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.symbols import GENERIC

MOST_ARGUMENTS = 32
"""The limit of vprintf (CUDA C++ Programming Guide, "Formatted Output")."""
_FLOATS, _SIGNED = "eEfFgGaA", "di"
_NARROWED = {"hh": 8, "h": 16}
_LONG = ("l", "ll", "j", "z", "t")


@lowers("nv_tileaa.print")
def print_(low: Lowering, op: nv_tileaa.Print) -> None:
    """Tiles are copied to shared memory first, so that one thread can print them."""
    writer = _Writer(low, op)
    texts, conversions = pieces(op.format.value)
    for text, conversion, value in zip(texts, conversions, op.args, strict=False):
        writer.format += text
        if isinstance(value.type, RankedTensorType):
            writer.tile(conversion, value)
        else:
            writer.value(conversion, low.scalar(value), value.type)
    writer.format += texts[-1]
    writer.flush()
    low.define(op.out_token, None)


class _Writer:
    """A sequence of calls of vprintf; adjacent parts of the format are combined."""

    def __init__(self, low: Lowering, op: nv_tileaa.Print) -> None:
        self.low = low
        self.op = op
        self.format = ""
        self.arguments: list[Value] = []
        self.shared = False
        """The scratch has already held a tile."""

    def value(self, conversion: Conversion, value: Value, type: Type) -> None:
        """Print a scalar with its conversion."""
        if len(self.arguments) == MOST_ARGUMENTS:
            self.flush()
        spelled, argument = promoted(self.low.e, conversion, value, type)
        self.format += spelled
        self.arguments.append(argument)

    def flush(self) -> None:
        """Print the collected parts."""
        format, arguments = self.format, self.arguments
        if format:
            with only_where(self.low.e, self.low.e.is_first_thread):
                vprintf(self.low, self.op, format, arguments)
        self.format, self.arguments = "", []

    def tile(self, conversion: Conversion, value: Value) -> None:
        """Print a tile, with its rows in brackets."""
        self.flush()
        e, text = self.low.e, self.low.symbols.text
        type = value.type
        assert isinstance(type, RankedTensorType)
        rank = len(type.shape)

        def body(index: Value, element: Value) -> None:
            before = text(e, ", ")
            # A row begins at a multiple of its number of elements, and so do the parts of rows.
            for axis in range(rank - 1, 0, -1):
                begins = e.icmp("eq", e.and_(index, prod(type.shape[axis:]) - 1), 0)
                between = "]" * (rank - axis) + ", " + "[" * (rank - axis)
                before = e.either(begins, text(e, between), before)
            before = e.either(e.icmp("eq", index, 0), text(e, "[" * rank), before)
            spelled, argument = promoted(e, conversion, element, type.element)
            vprintf(self.low, self.op, f"%s{spelled}", [before, argument])

        if self.shared:
            # The first thread may still read the previous tile.
            e.barrier()
        self.shared = True
        each_element(self.low, self.low.tile(value), type, self.low.allocation.offsets[self.op], body)
        self.format = "]" * rank


def promoted(e: Emitter, conversion: Conversion, value: Value, type: Type) -> tuple[str, Value]:
    """(the conversion for vprintf, the argument in memory form).

    An integer has the length of its conversion, by default its own; a conversion of the other kind of number
    reads the bits, as in C.
    """
    head, length, kind = conversion
    if kind == "s":
        return head + kind, e.pure("generic", (value,), lambda: llvm.AddrSpaceCast(value, res=GENERIC))
    if isinstance(type, PointerType):
        value, type = e.emit(llvm.PtrToInt(value, res=I64)).results[0], I64
    elif isinstance(type, FloatType):
        value = value if value.type is F64 else e.emit(llvm.FPExt(value, res=F64)).results[0]
        if kind in _FLOATS:
            return head + kind, value
        value, type = e.bitcast(value, I64), I64
    assert isinstance(type, IntegerType)
    signed = kind in _SIGNED and type is not I1
    value = e.resized(value, IntegerType(min(type.width, _NARROWED.get(length, 64))))
    if kind in _FLOATS:
        return head + kind, e.bitcast(e.resized(value, I64), F64)
    if kind == "p":
        return head + kind, e.resized(value, I64)
    if kind != "c" and (type.width > 32 or length in _LONG):
        return f"{head}ll{kind}", e.resized(value, I64, signed=signed)
    return head + kind, e.resized(value, I32, signed=signed)
