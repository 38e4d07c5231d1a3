// Every attribute decides something, or a remark says why not.
//
// RUN: tessera-opt %s --convert-tile-to-tileas --split-input-file --verify-diagnostics

func.func @copies(%A: memref<64x64xf16>, %B: memref<64x64xf32>) attributes {tessera.kernel, tessera.alignment = 4 : i64} {
  %a = tile.alloc_shared : memref<64x64xf16, 3>
  // expected-remark @below {{double_buffer is ignored: buffers are allocated explicitly; allocate two, or run tile-double-buffering}}
  // expected-remark @below {{stages is ignored: stages are explicit}}
  // expected-remark @below {{priority is ignored: cp.async has no priorities}}
  // expected-remark @below {{bypass_l1 is ignored: cp.async.cg moves 16 bytes, but this copy moves 4 at a time}}
  tile.cp_async %A, %a {double_buffer = true, stages = 3, priority = "high", bypass_l1 = true} : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.async_wait
  return
}

// -----

func.func @wide(%A: memref<64x64xf16>, %D: memref<64x64xf32>, %i: index) attributes {tessera.kernel} {
  %a = tile.alloc_shared : memref<64x64xf16, 3>
  tile.cp_async %A, %a {bypass_l1 = true} : memref<64x64xf16>, memref<64x64xf16, 3>
  // expected-remark @below {{bypass_l1 = false is ignored: copies of 16 bytes are cp.async.cg}}
  tile.cp_async %A, %a {bypass_l1 = false} : memref<64x64xf16>, memref<64x64xf16, 3>
  // expected-remark @below {{tile_size is ignored: the copy is compiled as cp.async}}
  tile.tma_load %A, %a {tile_size = array<i64: 64, 64>} : memref<64x64xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  // expected-remark @below {{accumulate is ignored: there is no accumulator operand}}
  // expected-remark @below {{precision is ignored: the operand and result types determine}}
  %p = tile.mma %a, %a {accumulate = true, precision = "mixed", layout = "row_major"} : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-remark @below {{intrinsic is ignored: the product is compiled as mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32}}
  %q = tile.wgmma %a, %a {intrinsic = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"} : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %r = tile.wmma %a, %a {intrinsic = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"} : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-remark @below {{layout is ignored: the ops that use the fragment determine which elements each thread holds}}
  // expected-remark @below {{vector_width is ignored: the ops that use the fragment}}
  %s = tile.alloc_register {layout = "col_major", vector_width = 8} : memref<4x8xf32, 5>
  // expected-remark @below {{coalesce is ignored: tiles are copied along rows, with the widest access that their alignment allows}}
  tile.store_global %p, %D {coalesce = true} : memref<4x8xf32, 5>, memref<64x64xf32>
  // expected-remark @below {{coalesce = false is ignored: the hardware coalesces}}
  %x = tile.load_global %D[%i, %i] {coalesce = false} : memref<64x64xf32>
  return
}
