// RUN: tessera-opt %s --split-input-file --verify-diagnostics --tile-memory-management -o %t
// RUN: filecheck %s --input-file %t

// What an earlier run predicted is gone.
// CHECK-LABEL: func.func @unknown
// CHECK-NOT: wavefronts
// CHECK: return
func.func @unknown(%A: memref<?xi32>) attributes {tessera.threads = 32} {
  %c0 = arith.constant 0 : index
  %s = tile.alloc_shared : memref<32x32xf32, 3>
  %l = tile.lane_id : index
  %i = tile.load_global %A[%l] : memref<?xi32>
  %j = arith.index_cast %i : i32 to index
  // expected-remark @below {{the bank conflicts of this access are not known; keeping the swizzle of memref<32x32xf32, 3>}}
  %x = tile.load_shared %s[%j, %c0] {tile.ideal_wavefronts = 1 : i64, tile.predicted_wavefronts = 4 : i64} : memref<32x32xf32, 3>
  return
}

// -----

// A declaration has no buffers.
func.func private @declared() attributes {tessera.kernel}

// -----

// expected-error @below {{has unstructured control flow; only scf loops and branches are supported}}
func.func @jumps() attributes {tessera.kernel} {
  cf.br ^bb1
^bb1:
  return
}

// -----

// By zero: nothing is known of it.
func.func @divided() attributes {tessera.threads = 32} {
  %c0 = arith.constant 0 : index
  %s = tile.alloc_shared : memref<32xf32, 3>
  %l = tile.lane_id : index
  %i = arith.divui %l, %c0 : index
  // expected-remark @below {{the bank conflicts of this access are not known}}
  %x = tile.load_shared %s[%i] : memref<32xf32, 3>
  return
}

// -----

// Larger than shared memory: nothing of it is counted, which would take time by the element.
func.func @large(%A: memref<65536x65536xf32>) attributes {tessera.threads = 64} {
  %c0 = arith.constant 0 : index
  %l = tile.lane_id : index
  // expected-remark @below {{the bank conflicts of its accesses are not counted: memref<65536x65536xf32, 3> takes 17179869184 bytes, and sm_80 has 166912 bytes of shared memory per CTA}}
  %s = tile.alloc_shared : memref<65536x65536xf32, 3>
  tile.cp_async %A, %s : memref<65536x65536xf32>, memref<65536x65536xf32, 3>
  %x = tile.load_shared %s[%c0, %l] : memref<65536x65536xf32, 3>
  return
}
