"""nv_tileaa.assert: prints a line for each false element, then calls the driver's __assertfail.

every thread   is one of its elements false?  ─▶ bar.red.or ─▶ no: done
yes:           the tile to shared memory, row by row, in parts; barrier
first thread   for each element that is false: vprintf("file:line: tile block [x, y, z], element [i, j]: message\\n")
               __assertfail(message, file, line, kernel, 1)
"""

from __future__ import annotations

from tessera_tools.dialects import nv_tileaa
from tessera_tools.dialects.nvvm.attributes import ReductionAttr
from tessera_tools.dialects.nvvm.sync import Barrier
from tessera_tools.ir.builtin_attributes import StringAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import I1, I32, I64, RankedTensorType
from tessera_tools.passes.llvm.emitter import Int
from tessera_tools.passes.llvm.first_thread import each_element, vprintf
from tessera_tools.passes.llvm.instructions import only_where
from tessera_tools.passes.llvm.lowering import Lowering, lowers


@lowers("nv_tileaa.assert")
def assert_(low: Lowering, op: nv_tileaa.Assert) -> None:
    """A scalar needs no exchange, because all threads have it."""
    e = low.e
    type = op.condition.type
    if not isinstance(type, RankedTensorType):
        with only_where(e, _not(low, low.scalar(op.condition))), only_where(e, e.is_first_thread):
            _print_line(low, op, [])
            _end(low, op)
        return
    all_true: Int = 1
    for value in low.tile(op.condition).elements(e):
        all_true = e.and_(e.constant(all_true, I1), value, I1) if isinstance(all_true, Value) else value
    mine = e.resized(_not(low, e.constant(all_true, I1)), I32)
    reduced = e.emit(Barrier(reduction_op=ReductionAttr("or"), reduction_predicate=mine, res=I32))
    offset = low.allocation.offsets[op]

    def report(index: Value, is_true: Value) -> None:
        with only_where(e, _not(low, is_true)):
            _print_line(low, op, _coordinates(low, index, type.shape))

    with only_where(e, e.icmp("ne", reduced.results[0], 0)):
        each_element(low, low.tile(op.condition), type, offset, report)
        with only_where(e, e.is_first_thread):
            _end(low, op)


def _not(low: Lowering, condition: Value) -> Value:
    return low.e.constant(low.e.xor(condition, 1, I1), I1)


def _coordinates(low: Lowering, index: Value, shape: tuple[int, ...]) -> list[Value]:
    """The coordinates of a row-major index in a tile; extents are powers of two."""
    e = low.e
    places: list[Value] = []
    shift = 0
    for extent in reversed(shape):
        place = e.and_(e.lshr(index, shift), extent - 1)
        places.insert(0, e.constant(place))
        shift += extent.bit_length() - 1
    return places


def _print_line(low: Lowering, op: nv_tileaa.Assert, places: list[Value]) -> None:
    file, line = _position(op)
    shown = f", element [{', '.join(['%u'] * len(places))}]" if places else ""
    text = f"{_literal(file)}:{line}: tile block [%u, %u, %u]{shown}: {_literal(op.message.value)}\n"
    block = [low.e.special_register(f"ctaid.{axis}") for axis in "xyz"]
    vprintf(low, op, text, [*block, *places])


def _end(low: Lowering, op: nv_tileaa.Assert) -> None:
    """The driver prints the location of the failure again, and reports it to the host (PTX Writer's Guide, "System
    Calls")."""
    e, text = low.e, low.symbols.text
    file, line = _position(op)
    arguments = [
        text(e, op.message.value),
        text(e, file),
        e.constant(line),
        text(e, _kernel(op)),
        e.constant(1, I64),
    ]
    low.symbols.call(e, op, "__assertfail", arguments)


def _position(op: Operation) -> tuple[str, int]:
    start = op.location.start()
    return (start[0], start[1]) if start is not None else ("(unknown)", 0)


def _literal(text: str) -> str:
    """A text escaped for a format."""
    return text.replace("%", "%%")


def _kernel(op: Operation) -> str:
    parent = op.parent_op
    while parent is not None:
        name = parent.attributes.get("sym_name")
        if isinstance(name, StringAttr):
            return name.value
        parent = parent.parent_op
    return ""
