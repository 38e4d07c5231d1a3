"""Kernels for elementwise ops and reductions of rows: a block loads tiles, applies the op to its fragments, and stores.

tile.add %a, %b of 100x200  ─▶  grid [4, 4]: 32x64 per block, fragments of 2x8; 512 elements of a vector, fragments of 4
tile.row_sum %a of 100x200  ─▶  grid [4]: 32 rows per block, 64 columns at a time
"""

from __future__ import annotations

from tessera_tools.dialects import arith, tile
from tessera_tools.dialects.tile.compute import RowReduction
from tessera_tools.emit.host_kernels.kernel import HostKernel, alignment, divided, dynamic, named, tensors
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import FloatAttr, IntegerAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import FloatType, MemRefType, bit_width

_ROWS, _COLUMNS, _LINE = 32, 64, 512
_FRAGMENT = {2: (2, 8), 1: (2,)}
"""The fragments of each of 128 threads, of 32x64 elements and of their rows."""
_OF_LINE = (4,)


def elementwise(op: Operation) -> HostKernel:
    """The kernel of an elementwise op on matrices, their rows, or vectors."""
    values = [*op.operands, *op.results]
    _check(op, values)
    rank = max(value.type.rank for value in values if isinstance(value.type, MemRefType))
    parameters, body, operands = [], [], []
    names: list[str] = []
    for number, value in enumerate(op.operands):
        if not isinstance(value.type, MemRefType):
            body.append(f"  %f{number} = {_constant(op, value)}")
        else:
            parameters.append(f"%a{number}: {dynamic(value.type)}")
            operands.append(value)
            body += _moved(f"%a{number}", f"%f{number}", value.type, rank, load=True)
        names.append(f"%f{number}")
    result = op.results[0]
    assert isinstance(result.type, MemRefType)
    parameters.append(f"%r: {dynamic(result.type)}")
    types = ", ".join(_fragment(value.type, rank) for value in op.operands)
    attributes = ", ".join(f"{key} = {value}" for key, value in op.attributes.items() if "." not in key)
    body.append(
        f'  %g = "{op.name}"({", ".join(names)}) {{{attributes}}} : ({types}) -> {_fragment(result.type, rank)}'
    )
    body += _moved("%r", "%g", result.type, rank, load=False)
    shape = result.type.shape
    grid = (
        (divided(shape[0], _ROWS), divided(shape[1], _COLUMNS)) if rank == 2 else (divided(shape[0], _LINE),)
    )
    text = "\n".join(body)
    return _kernel(op, parameters, text, grid, operands, [*operands, result])


def row_reduction(op: RowReduction) -> HostKernel:
    """The kernel of a row reduction, which iterates along the columns."""
    source, result = op.source, op.res
    _check(op, [source, result])
    element = source.type.element
    kind = {"tile.row_max": "max", "tile.row_min": "min", "tile.row_sum": "sum"}.get(op.name)
    if kind is None:
        assert isinstance(op, tile.Reduce | tile.WarpReduce)
        kind = op.kind.value
    combine = {"max": "tile.element_max", "min": "tile.element_min", "sum": "tile.add"}[kind]
    matrix, rows = f"memref<2x8x{element}, 5>", f"memref<2x{element}, 5>"
    tensor, view = dynamic(source.type), f"memref<32x64x{element}, strided<[?, 1], offset: ?>>"
    line = f"memref<32x{element}, strided<[1], offset: ?>>"
    text = f"""  %identity = arith.constant {_identity(kind, element)} : {element}
  %sum = tile.alloc_register : {rows}
  tile.fill %sum, %identity : {rows}
  %f = tile.alloc_register : {matrix}
  %columns = memref.dim %a0, %c1 : {tensor}
  scf.for %j = %c0 to %columns step %c64 {{
    %m = memref.subview %a0[%row, %j] [32, 64] [1, 1] : {tensor} to {view}
    tile.load_global_tile %m, %f : {view}, {matrix}
    tile.bound_mask %f, %j, %columns, %identity : {matrix}
    %part = tile.reduce {kind} %f : {matrix} -> {rows}
    %next = {combine} %sum, %part : {rows}, {rows} -> {rows}
    tile.copy %next, %sum : {rows}
  }}
  %v = memref.subview %r[%row] [32] [1] : memref<?x{element}> to {line}
  tile.store_global %sum, %v : {rows}, {line}"""
    parameters = [f"%a0: {tensor}", f"%r: memref<?x{element}>"]
    grid = (divided(source.type.shape[0], _ROWS),)
    return _kernel(op, parameters, text, grid, [source], [source, result], f"row_{kind}")


def fill(op: tile.Fill) -> HostKernel:
    """The kernel that fills a new tensor."""
    type = op.dest.type
    _check(op, [op.dest])
    fragment = _fragment(type, type.rank)
    lines = [
        f"  %x = {_constant(op, op.value)}",
        f"  %g = tile.alloc_register : {fragment}",
        f"  tile.fill %g, %x : {fragment}",
        *_moved("%r", "%g", type, type.rank, load=False),
    ]
    shape = type.shape
    grid = (
        (divided(shape[0], _ROWS), divided(shape[1], _COLUMNS))
        if type.rank == 2
        else (divided(shape[0], _LINE),)
    )
    return _kernel(op, [f"%r: {dynamic(type)}"], "\n".join(lines), grid, [], [op.dest])


def _kernel(
    op: Operation, parameters: list[str], body: str, grid: tuple[int, ...], operands: list[Value], moved: list[Value],
    word: str = "",
) -> HostKernel:  # fmt: skip
    attributes = f"tessera.kernel, tessera.alignment = {alignment(moved)} : i64, tessera.threads = 128 : i64"
    text = f"""func.func @NAME({", ".join(parameters)}) attributes {{{attributes}}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %x0 = tile.block_id : index
  %y0 = tile.block_id {{axis = 1 : i64}} : index
  %row = arith.muli %x0, %c32 : index
  %column = arith.muli %y0, %c64 : index
  %start = arith.muli %x0, %c512 : index
{body}
  return
}}
"""
    return named(word or op.name.removeprefix("tile."), text, grid, operands)


def _check(op: Operation, values: list[Value]) -> None:
    tensors(op, values)
    for value in values:
        type = value.type
        if isinstance(type, MemRefType) and not 1 <= type.rank <= 2:
            raise op.error(f"has a value of type {type} on the host; matrices and vectors are supported")


def _fragment(type: Type, rank: int) -> str:
    """The fragment of a tensor, in an op whose largest tensor has the given rank."""
    if not isinstance(type, MemRefType):
        return str(type)
    shape = _FRAGMENT[type.rank] if rank == 2 else _OF_LINE
    return f"memref<{'x'.join(map(str, shape))}x{type.element}, 5>"


def _moved(tensor: str, fragment: str, type: MemRefType, rank: int, *, load: bool) -> list[str]:
    """The lines that load a block's tile of a tensor, or store it."""
    if type.rank == 2:
        place, size, steps = "[%row, %column]", (_ROWS, _COLUMNS), "[1, 1]"
        strides = "strided<[?, 1], offset: ?>"
    else:
        place, size, steps = ("[%row]", (_ROWS,), "[1]") if rank == 2 else ("[%start]", (_LINE,), "[1]")
        strides = "strided<[1], offset: ?>"
    view, own = f"memref<{'x'.join(map(str, size))}x{type.element}, {strides}>", _fragment(type, rank)
    name = f"%v{tensor[1:]}"
    cut = f"  {name} = memref.subview {tensor}{place} {list(size)} {steps} : {dynamic(type)} to {view}"
    if not load:
        return [cut, f"  tile.store_global {fragment}, {name} : {own}, {view}"]
    return [
        cut,
        f"  {fragment} = tile.alloc_register : {own}",
        f"  tile.load_global_tile {name}, {fragment} : {view}, {own}",
    ]


def _constant(op: Operation, value: Value) -> str:
    """A constant as the text of the kernel; raises an error if the value is not constant."""
    maker = value.defining_op
    if not isinstance(maker, arith.Constant):
        raise op.error("uses a non-constant number in a host function")
    return f"arith.constant {maker.value}"


def _identity(kind: str, element: Type) -> str:
    if isinstance(element, FloatType):
        number = {"sum": 0.0, "max": float("-inf"), "min": float("inf")}[kind]
        return str(FloatAttr.of(number, element)).partition(" : ")[0]
    half = 1 << bit_width(element) - 1
    return str(IntegerAttr({"sum": 0, "max": -half, "min": half - 1}[kind], element)).partition(" : ")[0]
