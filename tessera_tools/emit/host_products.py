"""Products in functions on the host: each becomes the launch of a kernel that is written here, in the tile dialect.

%D = tile.mma %A, %B : memref<128x16xbf16>, …  ─▶  tile.launch @tile_matmul_bf16 grid ["m / 64", "n / 64"] (%A, %B)
"""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects import func
from tessera_tools.dialects.tile.collectives import Launch
from tessera_tools.dialects.tile.compute import Product
from tessera_tools.ir.builtin_attributes import ArrayAttr, StringAttr, SymbolRefAttr
from tessera_tools.ir.core import Builder, Operation
from tessera_tools.passes.tile.sharding_rules import is_zero

__all__ = ["launch_products"]

_ALIGNMENT = 16
"""Bytes that rows must be a multiple of: the kernel copies so many at a time."""

_KERNEL = """
func.func @NAME(%A: memref<?x?xE> {tile.dimensions = ["m", "k"]}, %B: memref<?x?xE> {tile.dimensions = ["k", "n"]},
                %D: memref<?x?xf32> {tile.dimensions = ["m", "n"]}) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor", swizzle_size = 64 : i64} : memref<64x32xE, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<32x64xE, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  tile.fill %acc, %zero : memref<4x8xf32, 5>
  %depth = memref.dim %A, %c1 : memref<?x?xE>
  %x = tile.block_id : index
  %y = tile.block_id {axis = 1 : i64} : index
  %row = arith.muli %x, %c64 : index
  %column = arith.muli %y, %c64 : index
  scf.for %k = %c0 to %depth step %c32 {
    %a0 = memref.subview %A[%row, %k] [64, 32] [1, 1] : memref<?x?xE> to memref<64x32xE, strided<[?, 1], offset: ?>>
    %b0 = memref.subview %B[%k, %column] [32, 64] [1, 1] : memref<?x?xE> to memref<32x64xE, strided<[?, 1], offset: ?>>
    tile.barrier
    tile.cp_async %a0, %a : memref<64x32xE, strided<[?, 1], offset: ?>>, memref<64x32xE, 3>
    tile.cp_async %b0, %b : memref<32x64xE, strided<[?, 1], offset: ?>>, memref<32x64xE, 3>
    tile.cp_commit_group
    tile.cp_wait_group 0
    tile.barrier
    %u = tile.mma %a, %b : memref<64x32xE, 3>, memref<32x64xE, 3> -> memref<4x8xf32, 5>
    tile.accumulate %acc, %u : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  }
  %d = memref.subview %D[%row, %column] [64, 64] [1, 1]
      : memref<?x?xf32> to memref<64x64xf32, strided<[?, 1], offset: ?>>
  tile.store_global %acc, %d : memref<4x8xf32, 5>, memref<64x64xf32, strided<[?, 1], offset: ?>>
  return
}
"""


def launch_products(module: Operation, functions: list[func.Func]) -> None:
    """Replace the products of functions on the host; the kernels are added to the module.

    Raises DiagnosticError for a product that the kernel is not made for.
    """
    made: set[str] = set()
    for function in functions:
        for op in [op for op in function.walk() if isinstance(op, Product)]:
            name = _check(op)
            if name not in made:
                made.add(name)
                _add_kernel(module, name, str(op.lhs.type.element))
            grid = ArrayAttr((StringAttr("m / 64"), StringAttr("n / 64")))
            launch = Launch(SymbolRefAttr(name), grid, [op.lhs, op.rhs], results=[op.res.type])
            launch.location = op.location
            Builder.before(op).insert(launch)
            op.replace_all_uses_with(launch.results)
            launch.results[0].name_hint = op.res.name_hint
            op.erase()


def _check(op: Any) -> str:
    """The name of the kernel for a product."""
    a, b, res = op.lhs.type, op.rhs.type, op.res.type
    if str(a.element) not in ("f16", "bf16") or b.element is not a.element or str(res.element) != "f32":
        raise op.error(
            f"multiplies {a} by {b} into {res.element} on the host; f16 and bf16 into f32 are supported, "
            "and whatever a kernel does that is launched"
        )
    if op.transposes_a or op.transposes_b:
        raise op.error("multiplies a transposed matrix on the host; launch a kernel that does")
    if op.acc is not None and not is_zero(op.acc):
        raise op.error("adds to a buffer that holds something, on the host; launch a kernel that does")
    for type in (a, b):
        if not type.is_static or type.shape[1] * 2 % _ALIGNMENT:
            raise op.error(f"multiplies {type} on the host; rows must be a multiple of {_ALIGNMENT} bytes")
    if res.shape != (a.shape[0], b.shape[1]):
        raise op.error("gives fragments of a tile on the host; expected the whole product")
    return f"tile_matmul_{a.element}"


def _add_kernel(module: Operation, name: str, element: str) -> None:
    from tessera_tools.parser import parse_module

    text = _KERNEL.replace("NAME", name).replace("xE", f"x{element}")
    kernel = parse_module(text, f"<{name}>").regions[0].entry.first_op
    assert kernel is not None
    for other in module.regions[0].entry:
        if isinstance(other, func.Func) and other.sym_name.value == name:
            raise other.error("has the name of a kernel that multiplies for functions on the host; rename it")
    kernel.detach()
    module.regions[0].entry.append(kernel)
