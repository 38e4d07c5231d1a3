"""Lowering of arithmetic on fragments to arithmetic on tiles."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tessera_tools.analysis.fragments import is_fragment
from tessera_tools.analysis.storage import padded_bits
from tessera_tools.dialects import arith, math, nv_tileaa, nv_tileas, tile
from tessera_tools.dialects.atoms import WGMMA
from tessera_tools.dialects.cute import CuteMmaAtomAttr
from tessera_tools.dialects.cute_nvgpu import MmaAtomAttr
from tessera_tools.dialects.nv_tileaa.arithmetic import DivF, RoundingAttr
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType
from tessera_tools.dialects.tile.compute import Product, RowReduction
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import (
    ArrayAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    FloatAttr,
    IntegerAttr,
    i32,
)
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.ir.types import F32, I32, I64, FloatType, IntegerType, RankedTensorType, bit_width
from tessera_tools.layout import LinearLayout, transpose
from tessera_tools.layout.shared import SWIZZLE_ALIGNMENT
from tessera_tools.passes.tile.copies import align, is_written_by_threads
from tessera_tools.passes.tile.ignored import remark_ignored
from tessera_tools.passes.tile.instruction_names import warp_instruction
from tessera_tools.passes.tile.lowering import Lowering, handles
from tessera_tools.passes.tile.swizzles import swizzle_of
from tessera_tools.passes.tile.warpgroup_products import by_warpgroups
from tessera_tools.planning.dot_layouts import operand_layouts, warp_grid
from tessera_tools.planning.mma_atoms import mma_atom, signed_factor
from tessera_tools.planning.shared_memory import (
    access_atom,
    full_tile_registers,
    slice_plan,
)
from tessera_tools.target import Target

APPROXIMATE = arith.FastMathFlagsAttr("afn")
"""Exponentials and quotients of the softmax use the hardware's approximations."""


# -- products


@handles("tile.mma", "tile.wgmma", "tile.wmma")
def product(low: Lowering, op: tile.Mma | tile.Wgmma | tile.Wmma) -> None:
    """One nv_tileas.dot for each step of the instruction along K; its operands are read from shared memory before
    it."""
    m, n = low.fragments.shape(op.res)
    k = _depth(low, op)
    element = op.res.type.element
    into = fused_accumulate(op)
    if into is not None and into.dest in low.tiles:
        low.folded.add(into)
        c = low.tile(op, into.dest)
    else:
        c = _accumulator(low, op, RankedTensorType((m, n), element))
    if (instruction := by_warpgroups(op, low.fragments, low.target)) is not None:
        remark_ignored(op, instruction=instruction)
        low.tiles[op.res] = _by_warpgroups(low, op, instruction, c)
        return
    atom = product_atom(op, low.target)
    remark_ignored(op, instruction=warp_instruction(atom))
    warps = low.fragments.threads // 32
    # Rows in one warp: row reductions stay within a warp, and an accumulator can be the next product's left operand.
    grid = warp_grid((m, n), warps, along_rows=prefers_rows(op))
    step = max(atom.mnk[2], 1)
    if is_fragment(op.lhs) or is_fragment(op.rhs):
        step = k
    result: Value = c
    for start in range(0, k, step):
        depth = min(step, k)
        layouts = operand_layouts((m, n), depth, atom, grid)
        a = _operand(low, op, op.lhs, (m, depth), [0, start], layouts[0], op.transposes_a)
        b = _operand(low, op, op.rhs, (depth, n), [start, 0], layouts[1], op.transposes_b)
        result = low.insert(nv_tileas.Dot(a, b, result, [], atom, DenseArrayAttr(I64, grid))).res
    low.tiles[op.res] = result


def _by_warpgroups(low: Lowering, op: tile.Mma | tile.Wgmma | tile.Wmma, instruction: str, c: Value) -> Value:
    """The product by wgmma.  What threads and cp.async have written becomes visible to it, and it is waited for."""
    a = _in_place(low, op, op.lhs, op.transposes_a)
    b = _in_place(low, op, op.rhs, op.transposes_b)
    if any(not is_fragment(v) and is_written_by_threads(low, v) for v in (op.lhs, op.rhs)):
        low.insert(nv_tileas.FenceProxy())
    m, n, k = (int(number) for number in re.findall(r"\d+", instruction.split(".")[4]))
    left, right = (signed_factor(v.type.element) for v in (op.lhs, op.rhs))
    atom = CuteMmaAtomAttr(WGMMA, 90, (m, n, k), left, right, op.res.type.element)
    grid = DenseArrayAttr(I64, (low.fragments.threads // 32, 1))
    started = low.insert(nv_tileas.AsyncDot(a, b, c, atom, grid))
    return low.insert(nv_tileas.AsyncDotWait(started.res, i32(0), res=started.res.type)).results[0]


def _in_place(low: Lowering, op: Operation, value: Value, turned: bool) -> Value:
    """A factor as wgmma takes it: a fragment, or the stage of a buffer."""
    if is_fragment(value):
        return low.tile(op, value)
    shared = low.stage(op, value)
    buffer = shared.buffer.type_as(SmemType)
    alloc = shared.buffer.defining_op
    assert isinstance(alloc, nv_tileas.AllocTensor)
    align(alloc, SWIZZLE_ALIGNMENT[swizzle_of(value) or 0])
    assert buffer.layout is not None
    shape, layout = buffer.tile, buffer.layout.layout
    if turned:
        shape, layout = shape[::-1], transpose(layout, (1, 0))
    type = SmemType((1, *shape), buffer.element, SharedAttr(layout))
    return low.insert(nv_tileas.View(shared.buffer, shared.stage, res=type)).res


def product_atom(op: Operation, target: Target) -> MmaAtomAttr:
    """The instruction for the element types of a product.  If there is none, raises an error that lists the supported
    types."""
    return mma_atom(_Product(op), target)  # type: ignore[arg-type]


class _Product:
    """The properties of a product that determine its instruction: the types of its operands."""

    unsigned_a = unsigned_b = None
    scales = ()

    def __init__(self, op: Product) -> None:
        self.a, self.b, self.c = op.lhs, op.rhs, op.res
        self.error = op.error


def _depth(low: Lowering, op: tile.Mma | tile.Wgmma | tile.Wmma) -> int:
    for value, axis in ((op.lhs, 0 if op.transposes_a else 1), (op.rhs, 1 if op.transposes_b else 0)):
        if not is_fragment(value):
            return value.type.shape[axis]
    return low.fragments.shape(op.lhs)[0 if op.transposes_a else 1]


def fused_accumulate(op: Product) -> tile.Accumulate | None:
    """The tile.accumulate that is the only use of a product, if the product can use its destination as accumulator."""
    if op.acc is not None or not op.res.has_one_use:
        return None
    user = next(op.res.users)
    if not isinstance(user, tile.Accumulate) or user.update is not op.res or user.parent is not op.parent:
        return None
    between = op.next_op
    while between is not user:
        if between is None or between.regions or user.dest in between.operands:
            return None
        between = between.next_op
    return user


def _accumulator(low: Lowering, op: tile.Mma | tile.Wgmma | tile.Wmma, type: RankedTensorType) -> Value:
    if op.acc is not None:
        return low.tile(op, op.acc)
    return _splat(low, 0, type)


def prefers_rows(op: Operation) -> bool:
    """True if rows should not cross warps: the function reduces rows, or multiplies fragments."""
    function = op
    while function.parent_op is not None and function.parent_op.name != "builtin.module":
        function = function.parent_op
    return any(
        isinstance(o, RowReduction) or (isinstance(o, Product) and is_fragment(o.lhs))
        for o in function.walk()
    )


def _operand(
    low: Lowering,
    op: tile.Mma | tile.Wgmma | tile.Wmma,
    value: Value,
    shape: tuple[int, ...],
    offsets: list[int],
    layout: LinearLayout,
    turned: bool,
) -> Value:
    """The slice of A or B for a step along K."""
    if is_fragment(value):
        if turned:
            raise op.error("transposes a fragment; only operands in shared memory can be read transposed")
        return low.tile(op, value)
    if value not in low.shared:
        raise op.error("multiplies an operand that is neither in shared memory nor in registers")
    shared = low.stage(op, value)
    buffer = shared.buffer.type_as(SmemType)
    in_memory, source_shape = layout, shape
    if turned:
        in_memory, source_shape, offsets = transpose(layout, (1, 0)), shape[::-1], offsets[::-1]
    assert buffer.layout is not None
    whole = full_tile_registers(in_memory, buffer.tile)
    plan = slice_plan(whole, buffer.layout.layout, padded_bits(buffer.element), low.target)
    load = nv_tileas.Load(
        shared.buffer, shared.stage, DenseArrayAttr(I64, tuple(offsets)), access_atom(plan, buffer.element),
        res=nv_tileas.with_layout(RankedTensorType(source_shape, buffer.element), in_memory),
    )  # fmt: skip
    found = low.insert(load).res
    if turned:
        type = nv_tileas.with_layout(RankedTensorType(shape, buffer.element), layout)
        found = low.insert(nv_tileaa.Permute(found, DenseArrayAttr(I64, (1, 0)), res=type)).res
    return found


# -- by row


def _splat(low: Lowering, number: float, type: RankedTensorType) -> Value:
    value = FloatAttr.of(number, type.element) if isinstance(type.element, FloatType) else None
    bits = value.bits if value is not None else int(number)
    return low.insert(arith.Constant(DenseElementsAttr.of(type, [bits]))).result


_REDUCTIONS = {"tile.row_max": "max", "tile.row_min": "min", "tile.row_sum": "sum"}


def _floats(op: tile.ExpDiff | tile.ExpSubtract | tile.DivBroadcast | tile.MulBroadcast, type: Any) -> None:
    """Raises an error for integer elements if the op supports only floats."""
    if not isinstance(type.element, FloatType):
        raise op.error(f"computes with {type.element}; only floating-point types are supported")


def _combined(low: Lowering, kind: str, a: Value, b: Value) -> Value:
    """Two tiles of floats or (signed) integers, element by element."""
    floats = isinstance(a.type.element, FloatType)  # type: ignore[attr-defined]
    return low.insert(_COMBINED[kind][0 if floats else 1](a, b)).results[0]


_COMBINED: dict[str, tuple[Callable[[Value, Value], Operation], Callable[[Value, Value], Operation]]] = {
    "add": (arith.AddF, arith.AddI), "sub": (arith.SubF, arith.SubI), "mul": (arith.MulF, arith.MulI),
    "max": (arith.MaxNumF, arith.MaxSI), "min": (arith.MinNumF, arith.MinSI),
}  # fmt: skip


def _identity(kind: str, element: Type) -> FloatAttr | IntegerAttr:
    """The identity of a reduction."""
    if isinstance(element, FloatType):
        return FloatAttr.of({"sum": 0.0, "max": float("-inf"), "min": float("inf")}[kind], element)
    assert isinstance(element, IntegerType)
    half = 1 << element.width - 1
    return IntegerAttr({"sum": 0, "max": -half, "min": half - 1}[kind], element)


@handles("tile.row_max", "tile.row_min", "tile.row_sum", "tile.reduce", "tile.warp_reduce")
def reduction(
    low: Lowering, op: tile.RowMax | tile.RowMin | tile.RowSum | tile.Reduce | tile.WarpReduce
) -> None:
    """A reduction of the tile along its columns; integers are signed, and their sums wrap."""
    kind = op.kind.value if isinstance(op, tile.Reduce | tile.WarpReduce) else _REDUCTIONS[op.name]
    element = op.res.type.element
    block = Block([element, element], [op.location] * 2)
    inside = Builder.at_end(block, op.location)
    floats = isinstance(element, FloatType)
    combine = _COMBINED["add" if kind == "sum" else kind][0 if floats else 1]
    made = inside.insert(combine(*block.arguments)).results[0]
    inside.insert(nv_tileaa.Yield([made]))
    reduce = nv_tileaa.Reduce(
        [low.tile(op, op.source)], i32(1), ArrayAttr((_identity(kind, element),)),
        outputs=[low.tile_type(op.res)], body=Region([block]),
    )  # fmt: skip
    low.tiles[op.res] = low.insert(reduce).results[0]


def over_rows(low: Lowering, rows: Value, type: RankedTensorType) -> Value:
    """Broadcast one value per row to all columns."""
    old = rows.type_as(RankedTensorType)
    column = RankedTensorType((type.shape[0], 1), old.element)
    upright = low.insert(nv_tileaa.Reshape(rows, res=column)).res
    return low.insert(nv_tileaa.Broadcast(upright, res=RankedTensorType(type.shape, old.element))).res


def _exponential(low: Lowering, value: Value) -> Value:
    return low.insert(math.Exp(value, APPROXIMATE)).results[0]


@handles("tile.broadcast")
def broadcast(low: Lowering, op: tile.Broadcast) -> None:
    low.tiles[op.res] = over_rows(low, low.tile(op, op.source), low.tile_type(op.res))


@handles("tile.exp_subtract", "tile.div_broadcast", "tile.mul_broadcast")
def by_row(low: Lowering, op: tile.ExpSubtract | tile.DivBroadcast | tile.MulBroadcast) -> None:
    """Combine each element with the value of its row."""
    value = low.tile(op, op.lhs)
    if not isinstance(op, tile.MulBroadcast):
        _floats(op, value.type)
    of_rows = low.tile(op, op.rhs)
    inverted = isinstance(op, tile.DivBroadcast) and bit_width(op.rhs.type.element) == 32
    if inverted:
        # One reciprocal per row, and products: as accurate as div.approx, which computes the same for each element.
        ones = _splat(low, 1, of_rows.type)  # type: ignore[arg-type]
        of_rows = low.insert(DivF(ones, of_rows, RoundingAttr("approx"))).results[0]
    rows = over_rows(low, of_rows, value.type)  # type: ignore[arg-type]
    if isinstance(op, tile.ExpSubtract):
        found = _exponential(low, low.insert(arith.SubF(value, rows)).result)
    elif isinstance(op, tile.DivBroadcast) and not inverted:
        found = low.insert(arith.DivF(value, rows)).result
    else:
        found = _combined(low, "mul", value, rows)
    low.tiles[op.res] = found


# -- elementwise


_BINARY = {
    "tile.element_max": "max", "tile.element_min": "min", "tile.add": "add", "tile.sub": "sub", "tile.mul": "mul",
}  # fmt: skip


@handles(*_BINARY)
def binary(low: Lowering, op: Any) -> None:
    low.tiles[op.res] = _combined(low, _BINARY[op.name], low.tile(op, op.lhs), low.tile(op, op.rhs))


@handles("tile.exp_diff")
def exp_diff(low: Lowering, op: tile.ExpDiff) -> None:
    _floats(op, op.lhs.type)
    low.tiles[op.res] = _exponential(
        low, low.insert(arith.SubF(low.tile(op, op.lhs), low.tile(op, op.rhs))).result
    )


@handles("tile.fma")
def fma(low: Lowering, op: tile.Fma) -> None:
    a, b, c = (low.tile(op, v) for v in (op.a, op.b, op.c))
    if isinstance(op.res.type.element, FloatType):
        low.tiles[op.res] = low.insert(math.Fma(a, b, c)).results[0]
    else:
        low.tiles[op.res] = _combined(low, "add", _combined(low, "mul", a, b), c)


@handles("tile.apply")
def apply(low: Lowering, op: tile.Apply) -> None:
    """The named op on tiles; a scalar is broadcast to a tile."""
    given = [low.tile(op, v) if is_fragment(v) else _spread(low, op, v, op.res) for v in op.operands]
    low.tiles[op.res] = low.insert(op.made(given, low.tile_type(op.res))).results[0]


@handles("tile.cast")
def cast(low: Lowering, op: tile.Cast) -> None:
    """Floats are rounded to nearest, or toward zero if converted to integers; integers are signed and truncated."""
    value = low.tile(op, op.source)
    old, new = op.source.type.element, op.res.type.element
    type = low.tile_type(op.res)
    if old is new:
        low.tiles[op.res] = value
        return
    narrows = bit_width(new) < bit_width(old)
    match isinstance(old, FloatType), isinstance(new, FloatType):
        case False, True:
            kind = arith.SIToFP
        case True, False:
            kind = arith.FPToSI
        case False, False:
            kind = arith.TruncI if narrows else arith.ExtSI
        case _ if bit_width(old) == bit_width(new):
            # Through f32.
            value = low.insert(arith.ExtF(value, out=RankedTensorType(type.shape, F32))).out
            kind = arith.TruncF
        case _:
            kind = arith.TruncF if narrows else arith.ExtF
    low.tiles[op.res] = low.insert(kind(value, out=type)).out


# -- in place


def _check_uniform(low: Lowering, op: Operation, number: Value) -> None:
    """Raises an error for a divergent scalar."""
    if number in low.divergent:
        raise op.error("uses a thread-dependent number; it must be the same in all threads of a block")


def _spread(low: Lowering, op: Operation, number: Value, fragment: Value) -> Value:
    _check_uniform(low, op, number)
    type = RankedTensorType(low.fragments.shape(fragment), number.type)
    return low.insert(nv_tileaa.Splat(low.scalar(op, number), res=type)).res


@handles("tile.fill", "tile.mask_fill")
def fill(low: Lowering, op: tile.Fill | tile.MaskFill) -> None:
    low.tiles[op.dest] = _spread(low, op, op.value, op.dest)


@handles("tile.copy")
def copy(low: Lowering, op: tile.Copy) -> None:
    if not is_fragment(op.dest):
        raise op.error(
            "copies buffers that are not in registers; copy tiles with tile.cp_async or tile.store_global"
        )
    low.tiles[op.dest] = low.tile(op, op.source)


@handles("tile.scale_tensor", "tile.broadcast_scale")
def scale(low: Lowering, op: tile.ScaleTensor | tile.BroadcastScale) -> None:
    low.tiles[op.dest] = _combined(low, "mul", low.tile(op, op.dest), _spread(low, op, op.factor, op.dest))


@handles("tile.scale_accumulator")
def scale_rows(low: Lowering, op: tile.ScaleAccumulator) -> None:
    value = low.tile(op, op.dest)
    rows = over_rows(low, low.tile(op, op.factors), value.type)  # type: ignore[arg-type]
    low.tiles[op.dest] = _combined(low, "mul", value, rows)


@handles("tile.accumulate")
def accumulate(low: Lowering, op: tile.Accumulate) -> None:
    if op in low.folded:
        low.tiles[op.dest] = low.tile(op, op.update)
        return
    low.tiles[op.dest] = _combined(low, "add", low.tile(op, op.dest), low.tile(op, op.update))


def _numbers(low: Lowering, op: Operation, first: Value, type: RankedTensorType, axis: int) -> Value:
    """The indices of rows (axis 0) or columns (axis 1), from `first`, for the whole tile."""
    _check_uniform(low, op, first)
    size = type.shape[axis]
    line = RankedTensorType((size,), I32)
    count = low.insert(nv_tileaa.Iota(res=line)).res
    start = low.insert(nv_tileaa.Splat(low.narrow(low.scalar(op, first)), res=line)).res
    numbers = low.insert(arith.AddI(start, count)).result
    shape = (size, 1) if axis == 0 else (1, size)
    upright = low.insert(nv_tileaa.Reshape(numbers, res=RankedTensorType(shape, I32))).res
    return low.insert(nv_tileaa.Broadcast(upright, res=RankedTensorType(type.shape, I32))).res


def _masked(low: Lowering, op: tile.CausalMask | tile.BoundMask, hidden: Value) -> None:
    value = low.tile(op, op.dest)
    low.tiles[op.dest] = low.insert(arith.Select(hidden, _spread(low, op, op.value, op.dest), value)).result


@handles("tile.causal_mask")
def causal_mask(low: Lowering, op: tile.CausalMask) -> None:
    type = low.tile_type(op.dest)
    rows, columns = _numbers(low, op, op.row, type, 0), _numbers(low, op, op.column, type, 1)
    _masked(low, op, low.insert(arith.CmpI.of("slt", rows, columns)).result)


@handles("tile.bound_mask")
def bound_mask(low: Lowering, op: tile.BoundMask) -> None:
    type = low.tile_type(op.dest)
    columns = _numbers(low, op, op.column, type, 1)
    _check_uniform(low, op, op.count)
    count = low.narrow(low.scalar(op, op.count))
    limit = low.insert(nv_tileaa.Splat(count, res=columns.type)).res
    _masked(low, op, low.insert(arith.CmpI.of("sge", columns, limit)).result)
