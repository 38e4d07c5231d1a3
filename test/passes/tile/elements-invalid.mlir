// RUN: tessera-opt %s --split-input-file --verify-diagnostics --convert-tile-to-tileas

func.func @vectors() attributes {tessera.kernel, tessera.threads = 32} {
  %c0 = arith.constant 0 : index
  %s = tile.alloc_shared : memref<6xf32, 3>
  // expected-error @below {{accesses 4 elements at a time, which does not divide the row length of 6 elements}}
  %x = tile.load_shared_vector %s[%c0] {vector_width = 4} : memref<6xf32, 3>
  return
}

// -----

func.func @bits() attributes {tessera.kernel, tessera.threads = 32} {
  %c0 = arith.constant 0 : index
  %s = tile.alloc_shared : memref<64xi1, 3>
  // expected-error @below {{accesses single elements of 1 bits; only whole bytes are supported}}
  %x = tile.load_shared %s[%c0] : memref<64xi1, 3>
  return
}

// -----

func.func @rows(%A: memref<?x?xf32>) attributes {tessera.kernel, tessera.threads = 32} {
  %c0 = arith.constant 0 : index
  %t = tile.thread_id : index
  %x = tile.load_global_vector %A[%t, %c0] {vector_width = 4} : memref<?x?xf32>
  // expected-error @below {{is not supported; expected one element at a constant position}}
  %y = vector.extract %x[%t] : f32 from vector<4xf32>
  return
}

// -----

func.func @slot() attributes {tessera.kernel} {
  %s = tile.alloc_shared : memref<96xf32, 3>
  // expected-error @below {{has the slot memref<96xf32, 3> for memref<8x8xf32, 5>; expected a rank-1 buffer of f32 whose length is a multiple of the fragment's}}
  %x = tile.reload %s : memref<96xf32, 3> -> memref<8x8xf32, 5>
  return
}

// -----

func.func @slot_by_element() attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared : memref<64x16xbf16, 3>
  %b = tile.alloc_shared : memref<16x64xbf16, 3>
  %zero = arith.constant 0.0 : bf16
  tile.store_shared %zero, %a[%c0, %c0] : memref<64x16xbf16, 3>
  tile.store_shared %zero, %b[%c0, %c0] : memref<16x64xbf16, 3>
  %slot = tile.alloc_shared : memref<4096xf32, 3>
  %s = tile.mma %a, %b : memref<64x16xbf16, 3>, memref<16x64xbf16, 3> -> memref<4x8xf32, 5>
  tile.spill %s, %slot : memref<4x8xf32, 5>, memref<4096xf32, 3>
  // expected-error @below {{uses a spill slot; all fragments in a slot must have the same type}}
  %x = tile.load_shared %slot[%c0] : memref<4096xf32, 3>
  return
}

// -----

func.func @sizes(%A: memref<?x?xf16>, %n: index) attributes {tessera.kernel, tessera.threads = 64} {
  %c0 = arith.constant 0 : index
  %t = tile.thread_id : index
  %c = arith.cmpi slt, %t, %n : index
  scf.if %c {
    // expected-error @below {{'memref.subview' op has a dynamic size in divergent control flow, where it cannot be checked; move it out}}
    %m = memref.subview %A[%c0, %c0] [%n, %n] [1, 1] : memref<?x?xf16> to memref<?x?xf16, strided<[?, 1], offset: ?>>
    %x = tile.load_global %m[%c0, %c0] : memref<?x?xf16, strided<[?, 1], offset: ?>>
  }
  return
}

// -----

func.func @chosen(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %b: i1) attributes {tessera.kernel, tessera.threads = 32} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'scf.if' op passes on tensors in global memory, which are parameters or slices of them; pass on where a slice begins instead}}
  %x = scf.if %b -> memref<?x?xf16> {
    scf.yield %A : memref<?x?xf16>
  } else {
    scf.yield %B : memref<?x?xf16>
  }
  %y = tile.load_global %x[%c0, %c0] : memref<?x?xf16>
  return
}

// -----

func.func @narrow() attributes {tessera.kernel} {
  // expected-error @below {{'tile.alloc_shared' op has no layout: swizzle of 64 bytes needs rows of at least 32 elements, found 16}}
  %s = tile.alloc_shared {swizzle = "xor", swizzle_size = 64} : memref<64x16xf16, 3>
  return
}
