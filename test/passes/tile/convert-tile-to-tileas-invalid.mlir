// RUN: tessera-opt %s --convert-tile-to-tileas --split-input-file --verify-diagnostics

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %w = tile.alloc_register : memref<4x8xf32, 5>
  // expected-error @below {{'tile.accumulate' op reads a fragment before it is written; initialize it with tile.fill}}
  tile.accumulate %p, %w : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'tile.alloc_register' op produces a fragment whose tile cannot be inferred; expected it to be used with the result of a tile.mma, or with a load from or store to a matrix of static extents}}
  %u = tile.alloc_register : memref<2x2xf32, 5>
  tile.fill %u, %x : memref<2x2xf32, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'scf.for' op returns a fragment; fragments are modified in place and cannot be results}}
  %r = scf.for %i = %c0 to %c64 step %c1 iter_args(%q = %p) -> (memref<4x8xf32, 5>) {
   scf.yield %q : memref<4x8xf32, 5>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %cond = arith.cmpi slt, %n, %c1 : index
  // expected-error @below {{'scf.if' op returns a fragment; fragments are modified in place and cannot be results}}
  %r = scf.if %cond -> (memref<4x8xf32, 5>) {
   scf.yield %p : memref<4x8xf32, 5>
  } else {
   scf.yield %p : memref<4x8xf32, 5>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  scf.for %i = %c0 to %t step %c1 {
   // expected-error @below {{'tile.barrier' op is in a loop with thread-dependent bounds; accesses of single elements, and fragments changed in a branch's own block, are supported there}}
   tile.barrier
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %cond = arith.cmpi slt, %t, %c1 : index
  scf.if %cond {
   // expected-error @below {{'tile.barrier' op is under a thread-dependent condition; accesses of single elements, and fragments changed in a branch's own block, are supported there}}
   tile.barrier
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %cond = arith.cmpi slt, %t, %c1 : index
  scf.if %cond {
   scf.if %cond {
   // expected-error @below {{'tile.fill' op is under a thread-dependent condition; accesses of single elements, and fragments changed in a branch's own block, are supported there}}
     tile.fill %p, %x : memref<4x8xf32, 5>
   }
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %b = tile.alloc_register : memref<4x8xf32, 5>
  %cond = arith.cmpi slt, %t, %c1 : index
  // expected-error @below {{'scf.if' op writes an uninitialized fragment for some threads only; initialize it with tile.fill}}
  scf.if %cond {
   tile.fill %b, %x : memref<4x8xf32, 5>
  }
  tile.accumulate %acc, %b : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'memref.dim' op queries an extent; expected a kernel parameter and a constant dimension}}
  %r = memref.dim %m, %c0 : memref<64x?xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %c7 = arith.constant 7 : index
  // expected-error @below {{'memref.dim' op queries dimension 7 of memref<?x?xf16>}}
  %r = memref.dim %A, %c7 : memref<?x?xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %b = tile.alloc_shared : memref<64x64xi8, 3>
  %z8 = arith.constant 0 : i8
  tile.store_shared %z8, %b[%c0, %c0] : memref<64x64xi8, 3>
  %q = tile.mma %b, %b {transpose_b = true}  : memref<64x64xi8, 3>, memref<64x64xi8, 3> -> memref<4x8xi32, 5>
  // expected-error @below {{'tile.exp_diff' op computes with i32; only floating-point types are supported}}
  %r = tile.exp_diff %q, %q : memref<4x8xi32, 5>, memref<4x8xi32, 5> -> memref<4x8xi32, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %b = tile.alloc_shared : memref<64x64xi8, 3>
  %z8 = arith.constant 0 : i8
  tile.store_shared %z8, %b[%c0, %c0] : memref<64x64xi8, 3>
  %q = tile.mma %b, %b {transpose_b = true} : memref<64x64xi8, 3>, memref<64x64xi8, 3> -> memref<4x8xi32, 5>
  %r = tile.alloc_register : memref<4xi32, 5>
  %z = arith.constant 1 : i32
  tile.fill %r, %z : memref<4xi32, 5>
  // expected-error @below {{'tile.div_broadcast' op computes with i32; only floating-point types are supported}}
  %e = tile.div_broadcast %q, %r : memref<4x8xi32, 5>, memref<4xi32, 5> -> memref<4x8xi32, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %b = tile.alloc_shared : memref<64x64xbf16, 3>
  // expected-error @below {{'tile.mma' op multiplies f16 by bf16 into f32, for which there is no instruction; supported: f16 into f16/f32, bf16 into f32, tf32 into f32, f64 into f64, i8 into i32, f8E4M3FN/f8E5M2 into f16/f32, f4E2M1FN into f32, f32 into f32}}
  %q = tile.mma %a, %b : memref<64x64xf16, 3>, memref<64x64xbf16, 3> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %b = tile.alloc_shared : memref<64x64xbf16, 3>
  // expected-error @below {{'tile.mma' op multiplies bf16 by bf16 into bf16, for which there is no instruction; supported: f16 into f16/f32, bf16 into f32, tf32 into f32, f64 into f64, i8 into i32, f8E4M3FN/f8E5M2 into f16/f32, f4E2M1FN into f32, f32 into f32}}
  %q = tile.mma %b, %b : memref<64x64xbf16, 3>, memref<64x64xbf16, 3> -> memref<4x8xbf16, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %b = tile.alloc_shared : memref<64x64xi4, 3>
  // expected-error @below {{'tile.mma' op multiplies i4 by i4 into i32, for which there is no instruction; supported: f16 into f16/f32, bf16 into f32, tf32 into f32, f64 into f64, i8 into i32, f8E4M3FN/f8E5M2 into f16/f32, f4E2M1FN into f32, f32 into f32}}
  %q = tile.mma %b, %b : memref<64x64xi4, 3>, memref<64x64xi4, 3> -> memref<4x8xi32, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'tile.alloc_shared' op has type memref<96x48xf16, 3>; extents must be powers of two}}
  %b = tile.alloc_shared : memref<96x48xf16, 3>
  %q = tile.mma %b, %b {transpose_b = true} : memref<96x48xf16, 3>, memref<96x48xf16, 3> -> memref<12x6xf32, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'tile.mma' op multiplies memref<64x?xf16>; expected an operand in shared memory or registers}}
  %q = tile.mma %m, %a : memref<64x?xf16>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %h = tile.cast %p : memref<4x8xf32, 5> to memref<4x8xf16, 5>
  // expected-error @below {{'tile.mma' op transposes a fragment; only operands in shared memory can be read transposed}}
  %q = tile.mma %h, %a {transpose_a = true} : memref<4x8xf16, 5>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  return
}

// -----

module { func.func private @g(index)
func.func @f(%n: index) attributes {tessera.kernel} {
  // expected-error @below {{'func.call' op is not supported by convert-tile-to-tileas}}
  func.call @g(%n) : (index) -> ()
  return
}}

// -----

// expected-error @below {{'func.func' op is a kernel that returns values; a kernel must return nothing}}
func.func @f(%n: index) -> index attributes {tessera.kernel} {
  return %n : index
}

// -----

// expected-error @below {{'func.func' op has unstructured control flow; only scf loops and branches are supported}}
func.func @f(%n: index) attributes {tessera.kernel} {
  cf.br ^a
^a:
  return
}

// -----

// expected-error @below {{'func.func' op is a kernel declaration; expected a body}}
module { func.func private @f(%n: index) attributes {tessera.kernel} }

// -----

// expected-error @below {{a parameter of type memref<8x8xf32, 3>; expected a tensor in global memory}}
func.func @f(%a: memref<8x8xf32, 3>) attributes {tessera.kernel} {
  return
}

// -----

// expected-error @below {{a parameter of type memref<8x8xf32, 5>; expected a tensor in global memory}}
func.func @f(%a: memref<8x8xf32, 5>) attributes {tessera.kernel} {
  return
}

// -----

// expected-error @below {{a parameter of type vector<8xf32>; tensors in global memory and numbers are supported}}
func.func @f(%a: vector<8xf32>) attributes {tessera.kernel} {
  return
}

// -----

// expected-error @below {{a parameter of type memref<?xindex>; expected a tensor of numbers}}
func.func @f(%a: memref<?xindex>) attributes {tessera.kernel} {
  return
}

// -----

// expected-error @below {{a parameter of type memref<?x?xf32, strided<[?, 2]>>; expected unit stride in the last dimension}}
func.func @f(%a: memref<?x?xf32, strided<[?, 2]>>) attributes {tessera.kernel, tessera.threads = 32 : i64} {
  %t = tile.thread_id : index
  %v = tile.load_global %a[%t, %t] : memref<?x?xf32, strided<[?, 2]>>
  return
}

// -----

func.func @f(%a: memref<?x?xi1>) attributes {tessera.kernel} {
  %s = tile.alloc_shared : memref<64x64xi1, 3>
  // expected-error @below {{a matrix of i1 in global memory; only elements of whole bytes are supported}}
  tile.cp_async %a, %s : memref<?x?xi1>, memref<64x64xi1, 3>
  return
}

// -----

func.func @f(%a: memref<?x?x?xf16>) attributes {tessera.kernel} {
  %s = tile.alloc_shared : memref<8x64x64xf16, 3>
  // expected-error @below {{'tile.cp_async' op uses a tensor as a matrix; slice it with tile.compute_tensor_slice}}
  tile.cp_async %a, %s : memref<?x?x?xf16>, memref<8x64x64xf16, 3>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'memref.subview' op is not supported; expected a matrix of the last two dimensions, or a vector of the last one, with unit strides}}
  %q = memref.subview %A[0, 0] [64, 64] [1, 2] : memref<?x?xf16> to memref<64x64xf16, strided<[?, 2]>>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'memref.subview' op takes a slice of a tensor that is not a kernel parameter}}
  %q = memref.subview %m[0, 0] [64, 64] [1, 1] : memref<64x?xf16> to memref<64x64xf16, strided<[?, 1]>>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'memref.subview' op takes 32x32 from memref<64x64xf16, 3>; expected a stage of it: one index, or a part that divides an extent, and the following dimensions whole}}
  %q = memref.subview %a[0, 0] [32, 32] [1, 1] : memref<64x64xf16, 3> to memref<32x32xf16, strided<[64, 1]>, 3>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'tile.compute_tensor_slice' op has a thread-dependent offset}}
  %q = tile.compute_tensor_slice %A, %t : memref<?x?xf16>, index -> memref<64x?xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  // expected-note @below {{the other product is here}}
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'tile.mma' op needs 64 threads, but another product needs 128}}
  %q = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<8x8xf32, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %b = tile.alloc_shared : memref<128x64xf16, 3>
  %e = tile.alloc_shared : memref<64x32xf16, 3>
  // expected-error @below {{'tile.mma' op computes a tile of 128x32, but its fragment is part of a tile of 64x64}}
  %r = tile.mma %b, %e : memref<128x64xf16, 3>, memref<64x32xf16, 3> -> memref<4x8xf32, 5>
  %u = tile.add %r, %p : memref<4x8xf32, 5>, memref<4x8xf32, 5> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'tile.alloc_register' op produces a fragment whose tile cannot be inferred; expected it to be used with the result of a tile.mma, or with a load from or store to a matrix of static extents}}
  %r = tile.alloc_register : memref<4xf32, 5>
  tile.fill %r, %x : memref<4xf32, 5>
  %u = tile.broadcast %r : memref<4xf32, 5> -> memref<4x8xf32, 5>
  return
}

// -----

// expected-error @below {{'func.func' op has tessera.threads = 48 : i64; expected a power of two from 32 to 1024}}
func.func @f() attributes {tessera.kernel, tessera.threads = 48 : i64} {
  %t = tile.thread_id : index
  return
}

// -----

// expected-error @below {{'func.func' op has tessera.threads = "many"; expected a power of two from 32 to 1024}}
func.func @f() attributes {tessera.kernel, tessera.threads = "many"} {
  %t = tile.thread_id : index
  return
}

// -----

// expected-error @below {{'func.func' op has tessera.alignment = "many"; expected a power of two}}
func.func @f() attributes {tessera.kernel, tessera.alignment = "many"} {
  %t = tile.thread_id : index
  return
}

// -----

// expected-error @below {{'func.func' op has tessera.alignment = 0 : i64; expected a power of two}}
func.func @f(%a: memref<?x?xf16>, %i: index) attributes {tessera.kernel, tessera.alignment = 0 : i64} {
  %m = tile.compute_tensor_slice %a, %i : memref<?x?xf16>, index -> memref<64x?xf16>
  return
}

// -----

func.func @f(%a: memref<?x?xf16>, %i: index) attributes {tessera.kernel, tessera.alignment = 2 : i64} {
  %m = tile.compute_tensor_slice %a, %i : memref<?x?xf16>, index -> memref<64x?xf16>
  %s = tile.alloc_shared : memref<64x64xf16, 3>
  // expected-error @below {{'tile.cp_async' op copies single elements of 16 bits, but cp.async copies at least 32 bits; increase tessera.alignment}}
  tile.cp_async %m, %s : memref<64x?xf16>, memref<64x64xf16, 3>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'tile.alloc_shared' op has type memref<64x24xf16, 3>; extents must be powers of two}}
  %b = tile.alloc_shared {swizzle = "xor"} : memref<64x24xf16, 3>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'tile.alloc_shared' op has rows of 8 bytes; a swizzle needs 32 or more}}
  %b = tile.alloc_shared {swizzle = "xor"} : memref<64x4xf16, 3>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'tile.alloc_shared' op has type memref<10x10xf16, 3>; extents must be powers of two}}
  %b = tile.alloc_shared : memref<10x10xf16, 3>
  %y = tile.load_shared %b[%c0, %c0] : memref<10x10xf16, 3>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %b = tile.alloc_shared : memref<10x10xf16, 3>
  // expected-error @below {{'tile.cp_async' op copies 64 elements along axis 0 into a destination with 10}}
  tile.cp_async %m, %b : memref<64x?xf16>, memref<10x10xf16, 3>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  // expected-error @below {{'tile.copy' op copies buffers that are not in registers; copy tiles with tile.cp_async or tile.store_global}}
  tile.copy %a, %b : memref<64x64xf16, 3>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'scf.while' op is not supported by convert-tile-to-tileas}}
  %q = scf.while (%i = %c0) : (index) -> index {
    %e = arith.cmpi slt, %i, %c64 : index
    scf.condition(%e) %i : index
  } do {
  ^bb0(%i: index):
    %j = arith.addi %i, %c1 : index
    scf.yield %j : index
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  // expected-error @below {{'memref.load' op is not supported by convert-tile-to-tileas}}
  %v = memref.load %A[%c0, %c0] : memref<?x?xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %v = arith.index_cast %t : index to i32
  %w = arith.sitofp %v : i32 to f32
  // expected-error @below {{'tile.scale_tensor' op uses a thread-dependent number; it must be the same in all threads of a block}}
  tile.scale_tensor %p, %w : memref<4x8xf32, 5>, f32
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %q = memref.subview %A[0, 0] [64, %n] [1, 1] : memref<?x?xf16> to memref<64x?xf16, strided<[?, 1]>>
  // expected-error @below {{'tile.cp_async' op copies single elements of 16 bits, but cp.async copies at least 32 bits; increase tessera.alignment}}
  tile.cp_async %q, %a : memref<64x?xf16, strided<[?, 1]>>, memref<64x64xf16, 3>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index, %x: f32) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %t = tile.thread_id : index
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  %d = tile.compute_tensor_slice %D, %c0 : memref<?x?xf32>, index -> memref<64x?xf32>
  tile.cp_async %m, %a : memref<64x?xf16>, memref<64x64xf16, 3>
  tile.async_wait
  tile.barrier
  %p0 = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  tile.accumulate %acc, %p0 : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  %b = tile.alloc_shared : memref<64x64xf16, 3>
  // expected-error @below {{'tile.mma' op reads a buffer in shared memory that is never written}}
  %q = tile.mma %a, %b : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>) attributes {tessera.kernel} {
  %t = tile.thread_id : index
  %odd = arith.index_cast %t : index to i1
  // expected-error @below {{'cf.assert' op checks a thread-dependent condition; it must be the same in all threads of a block}}
  cf.assert %odd, "odd"
  return
}

// -----

func.func @f(%A: memref<?x?xf32>) attributes {tessera.kernel} {
  %m = memref.subview %A[0, 0] [16, 64] [1, 1] : memref<?x?xf32> to memref<16x64xf32, strided<[?, 1]>>
  %n = memref.subview %A[0, 0] [8, 64] [1, 1] : memref<?x?xf32> to memref<8x64xf32, strided<[?, 1]>>
  %f = tile.alloc_register : memref<2x4xf32, 5>
  %g = tile.alloc_register : memref<2x4xf32, 5>
  // expected-note @below {{the other op is here}}
  tile.load_global_tile %m, %f : memref<16x64xf32, strided<[?, 1]>>, memref<2x4xf32, 5>
  // expected-error @below {{'tile.load_global_tile' op needs 64 threads, but another op needs 128}}
  tile.load_global_tile %n, %g : memref<8x64xf32, strided<[?, 1]>>, memref<2x4xf32, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf32>) attributes {tessera.kernel, tessera.threads = 64} {
  %m = memref.subview %A[0, 0] [16, 64] [1, 1] : memref<?x?xf32> to memref<16x64xf32, strided<[?, 1]>>
  %f = tile.alloc_register : memref<2x4xf32, 5>
  // expected-error @below {{'tile.load_global_tile' op needs 128 threads, but the kernel has tessera.threads = 64}}
  tile.load_global_tile %m, %f : memref<16x64xf32, strided<[?, 1]>>, memref<2x4xf32, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf32>) attributes {tessera.kernel} {
  %m = memref.subview %A[0, 0] [16, 64] [1, 1] : memref<?x?xf32> to memref<16x64xf32, strided<[?, 1]>>
  %n = memref.subview %A[0, 0] [8, 64] [1, 1] : memref<?x?xf32> to memref<8x64xf32, strided<[?, 1]>>
  %f = tile.alloc_register : memref<2x4xf32, 5>
  tile.load_global_tile %m, %f : memref<16x64xf32, strided<[?, 1]>>, memref<2x4xf32, 5>
  // expected-error @below {{'tile.store_global' op moves a tile of 8x64, but its fragment is part of a tile of 16x64}}
  tile.store_global %f, %n : memref<2x4xf32, 5>, memref<8x64xf32, strided<[?, 1]>>
  return
}

// -----

func.func @f(%A: memref<?x?xf32>) attributes {tessera.kernel} {
  %m = memref.subview %A[0, 0] [16, 64] [1, 1] : memref<?x?xf32> to memref<16x64xf32, strided<[?, 1]>>
  %f = tile.alloc_register : memref<3x4xf32, 5>
  // expected-error @below {{'tile.load_global_tile' op moves a tile of 16x64 in fragments of 3x4; expected fragments of a power of two of threads, from 32 to 1024}}
  tile.load_global_tile %m, %f : memref<16x64xf32, strided<[?, 1]>>, memref<3x4xf32, 5>
  return
}

// -----

func.func @f(%A: memref<?xf32>) attributes {tessera.kernel, tessera.threads = 64} {
  %m = memref.subview %A[0] [1024] [1] : memref<?xf32> to memref<1024xf32, strided<[1]>>
  // expected-error @below {{'tile.alloc_register' op has fragments of 4 of a tile of 1024, which cannot be distributed evenly over 64 threads; choose other fragments, or another tessera.threads}}
  %f = tile.alloc_register : memref<4xf32, 5>
  tile.load_global_tile %m, %f : memref<1024xf32, strided<[1]>>, memref<4xf32, 5>
  return
}

// -----

func.func @f(%A: memref<?x?xf32>) attributes {tessera.kernel} {
  // expected-error @below {{'tile.alloc_register' op produces a fragment whose tile cannot be inferred; expected it to be used with the result of a tile.mma, or with a load from or store to a matrix of static extents}}
  %f = tile.alloc_register : memref<4x4xf32, 5>
  tile.load_global_tile %A, %f : memref<?x?xf32>, memref<4x4xf32, 5>
  return
}

// -----

func.func @f(%D: memref<64x64xf32>) attributes {tessera.kernel} {
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<32x64xf16, 3>
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf16, 5>
  // expected-error @below {{'tile.mma' op multiplies a tile of 64x64 by one of 32x64}}
  %q = tile.mma %p, %b : memref<4x8xf16, 5>, memref<32x64xf16, 3> -> memref<4x8xf32, 5>
  tile.store_global %q, %D : memref<4x8xf32, 5>, memref<64x64xf32>
  return
}

// -----

func.func @f(%D: memref<?x?xf32>) attributes {tessera.kernel} {
  %b = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %p = tile.alloc_register : memref<4x8xf16, 5>
  // expected-error @below {{'tile.mma' op multiplies fragments of an unknown tile; expected the result of a product of shared memory, or of a load from a matrix of static extents}}
  %q = tile.mma %p, %b : memref<4x8xf16, 5>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.store_global %q, %D : memref<4x8xf32, 5>, memref<?x?xf32>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %D: memref<?x?xf32>, %n: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %b = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %m = tile.compute_tensor_slice %A, %c0 : memref<?x?xf16>, index -> memref<64x?xf16>
  // expected-error @below {{'scf.for' op passes on buffers, whose places in shared memory are fixed; pass on the number of a part instead, and take it with memref.subview}}
  %r:2 = scf.for %i = %c0 to %c64 step %c1 iter_args(%x = %a, %y = %b) -> (memref<64x64xf16, 3>, memref<64x64xf16, 3>) {
    tile.cp_async %m, %x : memref<64x?xf16>, memref<64x64xf16, 3>
    tile.async_wait
    tile.barrier
    %p = tile.mma %y, %y : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
    tile.accumulate %acc, %p : memref<4x8xf32, 5>, memref<4x8xf32, 5>
    scf.yield %y, %x : memref<64x64xf16, 3>, memref<64x64xf16, 3>
  }
  return
}

// -----

func.func @f(%A: memref<64x64xf16>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared {swizzle = "xor"} : memref<64x64xf16, 3>
  // expected-error @below {{multiplies an operand that is neither in shared memory nor in registers}}
  %p0 = tile.mma %a, %A : memref<64x64xf16, 3>, memref<64x64xf16> -> memref<4x8xf32, 5>
  return
}

// -----

func.func @f(%A: memref<64x64xf16>) attributes {tessera.kernel} {
  %a = tile.alloc_shared {swizzle = "xor"} : memref<2x64x64xf16, 3>
  %s = memref.subview %a[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xf16, 3> to memref<64x64xf16, strided<[64, 1]>, 3>
  // expected-error @below {{uses a view of memory that was not allocated by tile.alloc_shared}}
  %r = memref.subview %s[0, 0] [64, 64] [1, 1] : memref<64x64xf16, strided<[64, 1]>, 3> to memref<64x64xf16, strided<[64, 1]>, 3>
  return
}

// -----

func.func @kept(%A: memref<1x64x64xf16>) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %s = tile.alloc_shared {swizzle = "xor"} : memref<2x64x64xf16, 3>
  %one = memref.subview %s[%c0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xf16, 3> to memref<1x64x64xf16, strided<[4096, 64, 1], offset: ?>, 3>
  // expected-error @below {{uses memref<1x64x64xf16, strided<[4096, 64, 1], offset: ?>, 3>, which has dimensions of extent 1; drop them}}
  tile.cp_async %A, %one : memref<1x64x64xf16>, memref<1x64x64xf16, strided<[4096, 64, 1], offset: ?>, 3>
  tile.async_wait
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{'scf.for' op passes on tensors in global memory, which are parameters or slices of them; pass on where a slice begins instead, and take it with memref.subview}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %A) -> (memref<?x?xf16>) {
    scf.yield %x : memref<?x?xf16>
  }
  return
}

// -----

func.func @f(%p: i1) attributes {tessera.kernel} {
  %a = tile.alloc_shared : memref<64x64xf16, 3>
  %b = tile.alloc_shared : memref<64x64xf16, 3>
  // expected-error @below {{'arith.select' op passes on buffers, whose places in shared memory are fixed}}
  %r = arith.select %p, %a, %b : memref<64x64xf16, 3>
  return
}

// -----

func.func @f(%p: i1) attributes {tessera.kernel} {
  %a = tile.alloc_shared : memref<4096xf32, 3>
  // expected-error @below {{'tile.reload' op reloads from a slot to which nothing is spilled}}
  %r = tile.reload %a : memref<4096xf32, 3> -> memref<4x8xf32, 5>
  return
}
