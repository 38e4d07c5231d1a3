"""Kernels for attention, and for combining partial results: 64 queries per block, 64 keys per iteration.

In the kernel's tiles, all extents except batch and heads are rounded up to powers of two. Elements out of bounds are
loaded as zero, masked in the scores, and not stored.
"""

from __future__ import annotations

import math

from tessera_tools.dialects import tile
from tessera_tools.emit.host_kernels.kernel import HostKernel, alignment, divided, dynamic, named, tensors
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import MemRefType

_QUERIES = 64
_MOST_DEPTH = 256
_LOWEST = "-3.40282347e+38"


def attention(op: tile.FlashAttention) -> HostKernel:
    """The kernel of tile.flash_attention, for its types, depths, mask and results."""
    values = [*op.operands, *op.results]
    tensors(op, values)
    q, v, res = op.q.type, op.v.type, op.res.type
    element, rank = str(q.element), q.rank
    if element not in ("f16", "bf16") or str(res.element) not in ("f16", "bf16", "f32"):
        raise op.error(f"has {q} and {res} on the host; f16 and bf16, into f16, bf16 or f32, are supported")
    if alignment(values) < 4:
        raise op.error(f"has {q}, {v} and {res}; rows must be multiples of 4 bytes")
    depth, width = _extent(op, q), _extent(op, v)
    scale = op.scale.value if op.scale is not None else 1 / math.sqrt(q.shape[-1])
    fragment = _fragment(width)
    in_memory, smem = (
        f"memref<64x{{}}x{element}, strided<[?, 1], offset: ?>>",
        f"memref<64x{{}}x{element}, 3>",
    )
    places = list(op.positions)
    parameters = [
        f"%{name}: {dynamic(value.type)}" for name, value in zip("QKV", (op.q, op.k, op.v), strict=True)
    ]
    parameters += [f"%{name}: memref<?xi32>" for name in ("PQ", "PK")[: len(places)]]
    parameters.append(f"%O: {dynamic(res)}")
    parameters += [
        f"%{name}: {dynamic(t.type)}"
        for name, t in zip("ML"[: len(op.statistics)], op.statistics, strict=True)
    ]
    lines = (
        _begin(rank)
        + f"""
  %lowest = arith.constant {_LOWEST} : f32
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant {scale!r} : f32
  %keys_axis = arith.constant {rank - 2} : index
  %smem_q = tile.alloc_shared {{swizzle = "xor"}} : {smem.format(depth)}
  %smem_k = tile.alloc_shared {{swizzle = "xor"}} : {smem.format(depth)}
  %smem_v = tile.alloc_shared {{swizzle = "xor"}} : {smem.format(width)}
  %acc = tile.alloc_register : {fragment}
  %m = tile.alloc_register : memref<4xf32, 5>
  %l = tile.alloc_register : memref<4xf32, 5>
  tile.fill %acc, %zero : {fragment}
  tile.fill %m, %lowest : memref<4xf32, 5>
  tile.fill %l, %zero : memref<4xf32, 5>
  %keys = memref.dim %K, %keys_axis : {dynamic(op.k.type)}
  %q = {_cut("%Q", q, "%row", depth)}
  tile.cp_async %q, %smem_q : {in_memory.format(depth)}, {smem.format(depth)}
  tile.cp_commit_group"""
    )
    end = "%keys"
    if places:
        lines += """
  %pq0 = memref.subview %PQ[%row] [64] [1] : memref<?xi32> to memref<64xi32, strided<[1], offset: ?>>
  %pq = tile.alloc_register : memref<4xi32, 5>
  tile.load_global_tile %pq0, %pq : memref<64xi32, strided<[1], offset: ?>>, memref<4xi32, 5>
  %rows = tile.broadcast %pq : memref<4xi32, 5> -> memref<4x8xi32, 5>
  %columns = tile.alloc_register : memref<4x8xi32, 5>"""
    elif op.causal is not None:
        # Keys after the last query of the block are masked for all its queries.
        lines += """
  %last = arith.addi %row, %c64 : index
  %end = arith.minsi %last, %keys : index"""
        end = "%end"
    lines += f"""
  scf.for %kv = %c0 to {end} step %c64 {{
    %k = {_cut("%K", op.k.type, "%kv", depth)}
    %v = {_cut("%V", v, "%kv", width)}
    tile.barrier
    tile.cp_async %k, %smem_k : {in_memory.format(depth)}, {smem.format(depth)}
    tile.cp_async %v, %smem_v : {in_memory.format(width)}, {smem.format(width)}
    tile.cp_commit_group
    tile.cp_wait_group 0
    tile.barrier
    %scores = tile.mma %smem_q, %smem_k {{transpose_b = true}}
        : {smem.format(depth)}, {smem.format(depth)} -> memref<4x8xf32, 5>
    tile.scale_tensor %scores, %scale : memref<4x8xf32, 5>, f32
    tile.bound_mask %scores, %kv, %keys, %lowest : memref<4x8xf32, 5>"""
    shown = "%scores"
    if places:
        shown = "%shown"
        lines += """
    %pk = memref.subview %PK[%kv] [64] [1] : memref<?xi32> to memref<64xi32, strided<[1], offset: ?>>
    tile.load_global_tile %pk, %columns : memref<64xi32, strided<[1], offset: ?>>, memref<4x8xi32, 5>
    %hidden = tile.apply "arith.cmpi"(%rows, %columns) {predicate = 2 : i64}
        : (memref<4x8xi32, 5>, memref<4x8xi32, 5>) -> memref<4x8xi1, 5>
    %shown = tile.apply "arith.select"(%hidden, %lowest, %scores)
        : (memref<4x8xi1, 5>, f32, memref<4x8xf32, 5>) -> memref<4x8xf32, 5>"""
    elif op.causal is not None:
        lines += """
    tile.causal_mask %scores, %row, %kv, %lowest : memref<4x8xf32, 5>"""
    lines += f"""
    %m_block = tile.row_max {shown} : memref<4x8xf32, 5> -> memref<4xf32, 5>
    %m_new = tile.element_max %m, %m_block : memref<4xf32, 5>, memref<4xf32, 5> -> memref<4xf32, 5>
    %alpha = tile.exp_diff %m, %m_new : memref<4xf32, 5>, memref<4xf32, 5> -> memref<4xf32, 5>
    %p = tile.exp_subtract {shown}, %m_new : memref<4x8xf32, 5>, memref<4xf32, 5> -> memref<4x8xf32, 5>
    %sum = tile.row_sum %p : memref<4x8xf32, 5> -> memref<4xf32, 5>
    %l_new = tile.fma %alpha, %l, %sum : memref<4xf32, 5>, memref<4xf32, 5>, memref<4xf32, 5> -> memref<4xf32, 5>
    %weights = tile.cast %p : memref<4x8xf32, 5> to memref<4x8x{element}, 5>
    tile.scale_accumulator %acc, %alpha : {fragment}, memref<4xf32, 5>
    %update = tile.mma %weights, %smem_v : memref<4x8x{element}, 5>, {smem.format(width)} -> {fragment}
    tile.accumulate %acc, %update : {fragment}, {fragment}
    tile.copy %m_new, %m : memref<4xf32, 5>
    tile.copy %l_new, %l : memref<4xf32, 5>
  }}"""
    if op.statistics:
        lines += _stored("%acc", "%O", res, width)
        lines += _stored_rows("%m", "%M", op.statistics[0].type) + _stored_rows(
            "%l", "%L", op.statistics[1].type
        )
    else:
        lines += f"""
  %divided = tile.div_broadcast %acc, %l : {fragment}, memref<4xf32, 5> -> {fragment}
  %out = tile.cast %divided : {fragment} to {_fragment(width, res.element)}"""
        lines += _stored("%out", "%O", res, width)
    return _kernel("attention", op, parameters, lines, values, list(op.operands), q)


def rescale(op: tile.AttentionRescale) -> HostKernel:
    """The kernel of tile.attention_rescale."""
    source, sums = op.source.type, op.sums.type
    values = [*op.operands, *op.results]
    tensors(op, values)
    width = _extent(op, source)
    fragment = _fragment(width, source.element)
    lines = _begin(source.rank) + _loaded("%o", "%O", source, fragment, width)
    for name in ("l", "m", "common"):
        lines += _loaded_rows(f"%{name}", f"%{name.upper()}", sums)
    lines += f"""
  %alpha = tile.exp_diff %m, %common : memref<4xf32, 5>, memref<4xf32, 5> -> memref<4xf32, 5>
  tile.scale_accumulator %o, %alpha : {fragment}, memref<4xf32, 5>
  %l1 = tile.mul %l, %alpha : memref<4xf32, 5>, memref<4xf32, 5> -> memref<4xf32, 5>"""
    lines += _stored("%o", "%R", source, width) + _stored_rows("%l1", "%S", sums)
    rows = dynamic(sums)
    parameters = [f"%O: {dynamic(source)}", f"%L: {rows}", f"%M: {rows}", f"%COMMON: {rows}"]
    parameters += [f"%R: {dynamic(source)}", f"%S: {rows}"]
    return _kernel("attention_rescale", op, parameters, lines, values, list(op.operands), source)


def divide(op: tile.AttentionDivide) -> HostKernel:
    """The kernel of tile.attention_divide."""
    source, sums, res = op.source.type, op.sums.type, op.res.type
    values = [*op.operands, *op.results]
    tensors(op, values)
    width = _extent(op, source)
    fragment = _fragment(width, source.element)
    lines = (
        _begin(source.rank) + _loaded("%o", "%O", source, fragment, width) + _loaded_rows("%l", "%L", sums)
    )
    lines += f"""
  %divided = tile.div_broadcast %o, %l : {fragment}, memref<4xf32, 5> -> {fragment}
  %out = tile.cast %divided : {fragment} to {_fragment(width, res.element)}"""
    lines += _stored("%out", "%R", res, width)
    parameters = [f"%O: {dynamic(source)}", f"%L: {dynamic(sums)}", f"%R: {dynamic(res)}"]
    return _kernel("attention_divide", op, parameters, lines, values, list(op.operands), source)


def iota(op: tile.Iota) -> HostKernel:
    """The kernel of tile.iota: each of 128 threads stores its own number."""
    tensors(op, [op.res])
    text = """func.func @NAME(%R: memref<?xi32>) attributes {tessera.kernel, tessera.alignment = 4 : i64} {
  %c0 = arith.constant 0 : index
  %count = memref.dim %R, %c0 : memref<?xi32>
  %threads = tile.num_threads : index
  %t = tile.thread_id : index
  %block = tile.block_id : index
  %first = arith.muli %block, %threads : index
  %i = arith.addi %first, %t : index
  %inside = arith.cmpi slt, %i, %count : index
  scf.if %inside {
    %n = arith.index_cast %i : index to i32
    tile.store_global_element %n, %R[%i] : memref<?xi32>
  }
  return
}
"""
    return named("iota", text, (divided(op.res.type.shape[0], 128),), [])


# -- parts of kernels


def _extent(op: Operation, type: MemRefType) -> int:
    """The number of columns of a tensor's tiles."""
    if type.shape[-1] > _MOST_DEPTH:
        raise op.error(f"has {type} on the host; a depth of up to {_MOST_DEPTH} is supported")
    return max(16, 1 << (type.shape[-1] - 1).bit_length())


def _fragment(width: int, element: Type | str = "f32") -> str:
    """The fragment of each of 128 threads, of 64 rows."""
    return f"memref<4x{width // 8}x{element}, 5>"


def _begin(rank: int) -> str:
    """Constants, and the start of the block's part: rows along x, heads along y, batch along z."""
    return """
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %x = tile.block_id : index
  %h = tile.block_id {axis = 1 : i64} : index
  %b = tile.block_id {axis = 2 : i64} : index
  %row = arith.muli %x, %c64 : index"""


def _leading(rank: int) -> str:
    return "".join(f"{name}, " for name in ("%b", "%h")[4 - rank :])


def _cut(tensor: str, type: MemRefType, row: str, width: int) -> str:
    """A view of 64 rows of a tensor."""
    ones = "1, " * (type.rank - 2)
    return (
        f"memref.subview {tensor}[{_leading(type.rank)}{row}, 0] [{ones}64, {width}] [{ones}1, 1] : {dynamic(type)} to "
        f"memref<64x{width}x{type.element}, strided<[?, 1], offset: ?>>"
    )


def _cut_rows(tensor: str, type: MemRefType) -> str:
    """A view of 64 values of a tensor with one value per row; `type` has one dimension less than the tensor."""
    ones = "1, " * (type.rank - 1)
    return (
        f"memref.subview {tensor}[{_leading(type.rank + 1)}%row] [{ones}64] [{ones}1] : {dynamic(type)} to "
        "memref<64xf32, strided<[1], offset: ?>>"
    )


def _loaded(name: str, tensor: str, type: MemRefType, fragment: str, width: int) -> str:
    return f"""
  {name}_in = {_cut(tensor, type, "%row", width)}
  {name} = tile.alloc_register : {fragment}
  tile.load_global_tile {name}_in, {name} : memref<64x{width}x{type.element}, strided<[?, 1], offset: ?>>, {fragment}"""


def _loaded_rows(name: str, tensor: str, type: MemRefType) -> str:
    return f"""
  {name}_in = {_cut_rows(tensor, type)}
  {name} = tile.alloc_register : memref<4xf32, 5>
  tile.load_global_tile {name}_in, {name} : memref<64xf32, strided<[1], offset: ?>>, memref<4xf32, 5>"""


def _stored(name: str, tensor: str, type: MemRefType, width: int) -> str:
    view = f"memref<64x{width}x{type.element}, strided<[?, 1], offset: ?>>"
    return f"""
  {name}_out = {_cut(tensor, type, "%row", width)}
  tile.store_global {name}, {name}_out : {_fragment(width, type.element)}, {view}"""


def _stored_rows(name: str, tensor: str, type: MemRefType) -> str:
    return f"""
  {name}_out = {_cut_rows(tensor, type)}
  tile.store_global {name}, {name}_out : memref<4xf32, 5>, memref<64xf32, strided<[1], offset: ?>>"""


def _kernel(
    word: str,
    op: Operation,
    parameters: list[str],
    lines: str,
    values: list[Value],
    operands: list[Value],
    rows: MemRefType,
) -> HostKernel:
    attributes = f"tessera.kernel, tessera.alignment = {alignment(values)} : i64, tessera.threads = 128 : i64"
    text = f"func.func @NAME({', '.join(parameters)}) attributes {{{attributes}}} {{{lines}\n  return\n}}\n"
    grid = (divided(rows.shape[-2], _QUERIES), *reversed(rows.shape[:-2]))
    return named(word, text, grid, operands)
