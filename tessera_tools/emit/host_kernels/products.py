"""The kernel for a matrix product: a block computes a 64x64 tile of the result in steps of 32 along K, through shared
memory."""

from __future__ import annotations

from tessera_tools.dialects.tile.compute import Product
from tessera_tools.emit.host_kernels.kernel import HostKernel, alignment, divided, tensors
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import FloatType
from tessera_tools.passes.tile.sharding_rules import is_zero

_OPERANDS = ("f16", "bf16", "f32", "i8")
_RESULTS = ("f16", "bf16", "f32")

_KERNEL = """
func.func @NAME(%A: memref<?x?xE>, %B: memref<?x?xE>, CARGUMENT%D: memref<?x?xR>)
    attributes {tessera.kernel, tessera.alignment = ALIGN : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant ZERO
  %a = tile.alloc_shared {swizzle = "xor"} : memref<ASHAPExE, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<BSHAPExE, 3>
  %acc = tile.alloc_register : memref<4x8xS, 5>
  %depth = memref.dim %A, %cDEPTH : memref<?x?xE>
  %x = tile.block_id : index
  %y = tile.block_id {axis = 1 : i64} : index
  %row = arith.muli %x, %c64 : index
  %column = arith.muli %y, %c64 : index
BEGIN
  scf.for %k = %c0 to %depth step %c32 {
    %a0 = memref.subview %A[APLACE] [ASIZE] [1, 1] : memref<?x?xE> to memref<ASHAPExE, strided<[?, 1], offset: ?>>
    %b0 = memref.subview %B[BPLACE] [BSIZE] [1, 1] : memref<?x?xE> to memref<BSHAPExE, strided<[?, 1], offset: ?>>
    tile.barrier
    tile.cp_async %a0, %a : memref<ASHAPExE, strided<[?, 1], offset: ?>>, memref<ASHAPExE, 3>
    tile.cp_async %b0, %b : memref<BSHAPExE, strided<[?, 1], offset: ?>>, memref<BSHAPExE, 3>
    tile.cp_commit_group
    tile.cp_wait_group 0
    tile.barrier
    %u = tile.mma %a, %b {transpose_a = TA, transpose_b = TB}
        : memref<ASHAPExE, 3>, memref<BSHAPExE, 3> -> memref<4x8xS, 5>
    tile.accumulate %acc, %u : memref<4x8xS, 5>, memref<4x8xS, 5>
  }
  %d = memref.subview %D[%row, %column] [64, 64] [1, 1]
      : memref<?x?xR> to memref<64x64xR, strided<[?, 1], offset: ?>>
  %out = tile.cast %acc : memref<4x8xS, 5> to memref<4x8xR, 5>
  tile.store_global %out, %d : memref<4x8xR, 5>, memref<64x64xR, strided<[?, 1], offset: ?>>
  return
}
"""
_FROM_ZERO = "  tile.fill %acc, %zero : memref<4x8xS, 5>"
_FROM_C = """  %c_part = memref.subview %C[%row, %column] [64, 64] [1, 1]
      : memref<?x?xR> to memref<64x64xR, strided<[?, 1], offset: ?>>
  %c_in = tile.alloc_register : memref<4x8xR, 5>
  tile.load_global_tile %c_part, %c_in : memref<64x64xR, strided<[?, 1], offset: ?>>, memref<4x8xR, 5>
  %begin = tile.cast %c_in : memref<4x8xR, 5> to memref<4x8xS, 5>
  tile.copy %begin, %acc : memref<4x8xS, 5>"""


def product(op: Product) -> HostKernel:
    """The kernel of a product.  Raises an error for unsupported types, and for rows that copies cannot move."""
    a, b, res = op.lhs.type, op.rhs.type, op.res.type
    tensors(op, [op.lhs, op.rhs, op.res])
    element, result = str(a.element), str(res.element)
    floats = isinstance(a.element, FloatType)
    fits = result in _RESULTS if floats else result == "i32"
    if element not in _OPERANDS or b.element is not a.element or not fits:
        raise op.error(
            f"multiplies {a} by {b} into {res.element} on the host; f16, bf16 and f32 into f16, bf16 or f32, and i8 "
            "into i32 are supported, and any product in a launched kernel"
        )
    m, n = a.shape[1 if op.transposes_a else 0], b.shape[0 if op.transposes_b else 1]
    if res.shape != (m, n):
        raise op.error("returns a fragment in a host function; expected the whole product")
    begins = op.acc is not None and not is_zero(op.acc)
    align = alignment([op.lhs, op.rhs, op.res])
    if align < 4:
        raise op.error(f"multiplies {a} by {b} into {res} on the host; rows must be multiples of 4 bytes")
    parts = {
        "NAME": f"tile_mma_{element}_{result}{'_at' * op.transposes_a}{'_bt' * op.transposes_b}{'_c' * begins}_{align}",
        "CARGUMENT": "%C: memref<?x?xR>, " if begins else "",
        "BEGIN": _FROM_C if begins else _FROM_ZERO,
        "ALIGN": str(align),
        "ZERO": "0.0 : f32" if floats else "0 : i32",
        "DEPTH": "0" if op.transposes_a else "1",
        "ASHAPE": "32x64" if op.transposes_a else "64x32",
        "BSHAPE": "64x32" if op.transposes_b else "32x64",
        "ASIZE": "32, 64" if op.transposes_a else "64, 32",
        "BSIZE": "64, 32" if op.transposes_b else "32, 64",
        "APLACE": "%k, %row" if op.transposes_a else "%row, %k",
        "BPLACE": "%column, %k" if op.transposes_b else "%k, %column",
        "TA": str(op.transposes_a).lower(),
        "TB": str(op.transposes_b).lower(),
    }
    text = _KERNEL
    for word, part in parts.items():
        text = text.replace(word, part)
    for word, part in (("xE", element), ("xR", result), ("xS", "f32" if floats else "i32")):
        text = text.replace(f"{word},", f"x{part},").replace(f"{word}>", f"x{part}>")
    operands: list[Value] = [op.lhs, op.rhs]
    if begins and op.acc is not None:
        operands.append(op.acc)
    return HostKernel(parts["NAME"], text, (divided(m, 64), divided(n, 64)), operands)
