// RUN: tessera-opt %s --tile-register-coalescing -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t --tile-register-coalescing | diff %t -

// A copy of what is not read again is the same fragment.
// CHECK-LABEL: @copied(
// CHECK-NEXT: %a = tile.alloc_register
// CHECK-NEXT: tile.fill %a
// CHECK-NEXT: tile.scale_tensor %a
// CHECK-NEXT: tile.store_global %a
func.func @copied(%D: memref<?x?xf32>, %x: f32) {
  %a = tile.alloc_register : memref<4x4xf32, 5>
  %b = tile.alloc_register : memref<4x4xf32, 5>
  tile.fill %a, %x : memref<4x4xf32, 5>
  tile.copy %a, %b : memref<4x4xf32, 5>
  tile.scale_tensor %b, %x : memref<4x4xf32, 5>, f32
  tile.store_global %b, %D : memref<4x4xf32, 5>, memref<?x?xf32>
  return
}

// Both are read, but they are equal as long as they are.
// CHECK-LABEL: @equal(
// CHECK-NOT: tile.copy
// CHECK: tile.add %a, %a
func.func @equal(%D: memref<?x?xf32>, %x: f32) {
  %a = tile.alloc_register : memref<4x4xf32, 5>
  %b = tile.alloc_register : memref<4x4xf32, 5>
  tile.fill %a, %x : memref<4x4xf32, 5>
  tile.copy %a, %b : memref<4x4xf32, 5>
  %c = tile.add %a, %b : memref<4x4xf32, 5>, memref<4x4xf32, 5> -> memref<4x4xf32, 5>
  tile.store_global %c, %D : memref<4x4xf32, 5>, memref<?x?xf32>
  return
}

// One is changed while the other is still read.
// CHECK-LABEL: @both(
// CHECK: tile.copy %a, %b
func.func @both(%D: memref<?x?xf32>, %x: f32) {
  %a = tile.alloc_register : memref<4x4xf32, 5>
  %b = tile.alloc_register : memref<4x4xf32, 5>
  tile.fill %a, %x : memref<4x4xf32, 5>
  tile.copy %a, %b : memref<4x4xf32, 5>
  tile.scale_tensor %b, %x : memref<4x4xf32, 5>, f32
  %c = tile.add %a, %b : memref<4x4xf32, 5>, memref<4x4xf32, 5> -> memref<4x4xf32, 5>
  tile.store_global %c, %D : memref<4x4xf32, 5>, memref<?x?xf32>
  return
}

// First and last uses do not overlap; around the loop they do: the next iteration reads %a.
// CHECK-LABEL: @around_the_loop(
// CHECK: tile.copy %a, %b
func.func @around_the_loop(%D: memref<?x?xf32>, %x: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_register : memref<4x4xf32, 5>
  tile.fill %a, %x : memref<4x4xf32, 5>
  scf.for %i = %c0 to %n step %c1 {
    %b = tile.alloc_register : memref<4x4xf32, 5>
    tile.copy %a, %b : memref<4x4xf32, 5>
    tile.scale_tensor %b, %x : memref<4x4xf32, 5>, f32
    tile.store_global %b, %D : memref<4x4xf32, 5>, memref<?x?xf32>
  }
  return
}

// What goes around the loop through two fragments is one.
// CHECK-LABEL: @through_the_loop(
// CHECK: scf.for
// CHECK-NEXT: tile.scale_tensor %a
// CHECK-NEXT: }
// CHECK-NEXT: tile.store_global %a
func.func @through_the_loop(%D: memref<?x?xf32>, %x: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_register : memref<4x4xf32, 5>
  tile.fill %a, %x : memref<4x4xf32, 5>
  scf.for %i = %c0 to %n step %c1 {
    %b = tile.alloc_register : memref<4x4xf32, 5>
    tile.copy %a, %b : memref<4x4xf32, 5>
    tile.scale_tensor %b, %x : memref<4x4xf32, 5>, f32
    tile.copy %b, %a : memref<4x4xf32, 5>
  }
  tile.store_global %a, %D : memref<4x4xf32, 5>, memref<?x?xf32>
  return
}

// A branch that does not copy keeps the old value: the two differ behind it.
// CHECK-LABEL: @branch(
// CHECK: tile.copy %a, %b
func.func @branch(%D: memref<?x?xf32>, %x: f32, %y: f32, %c: i1) {
  %a = tile.alloc_register : memref<4x4xf32, 5>
  %b = tile.alloc_register : memref<4x4xf32, 5>
  tile.fill %a, %x : memref<4x4xf32, 5>
  tile.fill %b, %y : memref<4x4xf32, 5>
  scf.if %c {
    tile.copy %a, %b : memref<4x4xf32, 5>
  }
  tile.store_global %b, %D : memref<4x4xf32, 5>, memref<?x?xf32>
  return
}

// What an op makes may be used in place of a copy.
// CHECK-LABEL: @made(
// CHECK: %[[M:.*]] = tile.add
// CHECK-NEXT: tile.scale_tensor %[[M]]
func.func @made(%D: memref<?x?xf32>, %x: f32) {
  %a = tile.alloc_register : memref<4x4xf32, 5>
  %b = tile.alloc_register : memref<4x4xf32, 5>
  tile.fill %a, %x : memref<4x4xf32, 5>
  %m = tile.add %a, %a : memref<4x4xf32, 5>, memref<4x4xf32, 5> -> memref<4x4xf32, 5>
  tile.copy %m, %b : memref<4x4xf32, 5>
  tile.scale_tensor %b, %x : memref<4x4xf32, 5>, f32
  tile.store_global %b, %D : memref<4x4xf32, 5>, memref<?x?xf32>
  return
}

// Nobody reads what the first fill, the sum and the scaling at the end write.  A fill before a loop that writes stays:
// the loop may run not even once, and goes on from something.
// CHECK-LABEL: @dead(
// CHECK-NEXT: arith.constant
// CHECK-NEXT: arith.constant
// CHECK-NEXT: %a = tile.alloc_register
// CHECK-NEXT: %c = tile.alloc_register
// CHECK-NEXT: tile.fill %a, %y
// CHECK-NEXT: tile.fill %c, %x
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.fill %c, %y
// CHECK-NEXT: tile.store_global %c
// CHECK-NEXT: }
// CHECK-NEXT: tile.store_global %a
// CHECK-NEXT: return
func.func @dead(%D: memref<?x?xf32>, %x: f32, %y: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_register : memref<4x4xf32, 5>
  %b = tile.alloc_register : memref<4x4xf32, 5>
  %c = tile.alloc_register : memref<4x4xf32, 5>
  tile.fill %a, %x : memref<4x4xf32, 5>
  tile.fill %a, %y : memref<4x4xf32, 5>
  tile.fill %c, %x : memref<4x4xf32, 5>
  scf.for %i = %c0 to %n step %c1 {
    tile.fill %c, %y : memref<4x4xf32, 5>
    tile.store_global %c, %D : memref<4x4xf32, 5>, memref<?x?xf32>
  }
  %s = tile.add %a, %a : memref<4x4xf32, 5>, memref<4x4xf32, 5> -> memref<4x4xf32, 5>
  tile.store_global %a, %D : memref<4x4xf32, 5>, memref<?x?xf32>
  tile.scale_tensor %a, %x : memref<4x4xf32, 5>, f32
  return
}

// Without the copy the product would begin with %acc, and round otherwise.  A product that says how many threads there
// are stays, though nobody reads it.
// CHECK-LABEL: @rounding(
// CHECK: tile.mma
// CHECK: tile.copy %u, %b
// CHECK: tile.accumulate %acc, %b
func.func @rounding(%D: memref<?x?xf32>, %A: memref<64x64xf16, 3>, %x: f32) {
  %acc = tile.alloc_register : memref<4x8xf32, 5>
  %b = tile.alloc_register : memref<4x8xf32, 5>
  tile.fill %acc, %x : memref<4x8xf32, 5>
  %u = tile.mma %A, %A : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.copy %u, %b : memref<4x8xf32, 5>
  tile.accumulate %acc, %b : memref<4x8xf32, 5>, memref<4x8xf32, 5>
  tile.store_global %acc, %D : memref<4x8xf32, 5>, memref<?x?xf32>
  return
}

// CHECK-LABEL: @threads(
// CHECK: tile.mma
func.func @threads(%A: memref<64x64xf16, 3>) {
  %u = tile.mma %A, %A : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<2x8xf32, 5>
  return
}

// Four neighbors from a multiple of 4 on; the fifth is alone.
// CHECK-LABEL: @neighbors(
// CHECK: %[[V:.*]] = tile.load_global_vector %A[%r, %i] {cache_policy = "streaming", vector_width = 4 : i64} : memref<?x?xf32>
// CHECK-DAG: %a = vector.extract %[[V]][0]
// CHECK-DAG: %b = vector.extract %[[V]][1]
// CHECK-DAG: %c = vector.extract %[[V]][2]
// CHECK-DAG: %d = vector.extract %[[V]][3]
// CHECK: tile.load_global %A
// CHECK: %[[W:.*]] = vector.from_elements %d, %c, %b, %a : vector<4xf32>
// CHECK-NEXT: tile.store_global_vector %[[W]], %B[%r, %i] {vector_width = 4 : i64}
// CHECK-NEXT: tile.store_global_element %e
func.func @neighbors(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %r: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %t = tile.thread_id : index
  %i = arith.muli %t, %c4 : index
  %i1 = arith.addi %i, %c1 : index
  %i2 = arith.addi %c2, %i : index
  %i3 = arith.addi %i2, %c1 : index
  %i4 = arith.addi %i, %c4 : index
  %a = tile.load_global %A[%r, %i] {cache_policy = "streaming"} : memref<?x?xf32>
  %c = tile.load_global %A[%r, %i2] {cache_policy = "streaming"} : memref<?x?xf32>
  %b = tile.load_global %A[%r, %i1] {cache_policy = "streaming"} : memref<?x?xf32>
  %d = tile.load_global %A[%r, %i3] {cache_policy = "streaming"} : memref<?x?xf32>
  %e = tile.load_global %A[%r, %i4] {cache_policy = "streaming"} : memref<?x?xf32>
  tile.store_global_element %d, %B[%r, %i] : memref<?x?xf32>
  tile.store_global_element %c, %B[%r, %i1] : memref<?x?xf32>
  tile.store_global_element %b, %B[%r, %i2] : memref<?x?xf32>
  tile.store_global_element %a, %B[%r, %i3] : memref<?x?xf32>
  tile.store_global_element %e, %B[%r, %i4] : memref<?x?xf32>
  return
}

// Not neighbors: other rows, a gap.  Not aligned: an odd index, a tensor of 4 bytes' alignment, rows of 6 elements.
// Not together: a store or a barrier between.
// CHECK-LABEL: @apart(
// CHECK-NOT: vector
// CHECK-LABEL: @unaligned(
// CHECK-NOT: vector
// CHECK-LABEL: @rows_of_six(
// CHECK-COUNT-2: tile.load_global_vector %A{{.*}} {vector_width = 2 : i64}
// CHECK: return
func.func @apart(%A: memref<?x?xf32>, %r: index, %j: index) -> (f32, f32, f32, f32, f32, f32, f32, f32, f32) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %i = arith.muli %j, %c2 : index
  %i1 = arith.addi %i, %c1 : index
  %i2 = arith.addi %i, %c2 : index
  %r1 = arith.addi %r, %c1 : index
  %0 = tile.load_global %A[%r, %i] : memref<?x?xf32>
  %1 = tile.load_global %A[%r1, %i1] : memref<?x?xf32>
  %2 = tile.load_global %A[%r, %i2] : memref<?x?xf32>
  %j1 = arith.addi %j, %c1 : index
  %3 = tile.load_global %A[%r1, %j] : memref<?x?xf32>
  %4 = tile.load_global %A[%r1, %j1] : memref<?x?xf32>
  tile.barrier
  %5 = tile.load_global %A[%c2, %i] : memref<?x?xf32>
  tile.store_global_element %5, %A[%c2, %j] : memref<?x?xf32>
  %6 = tile.load_global %A[%c2, %i1] : memref<?x?xf32>
  %7 = tile.load_global %A[%c1, %i] : memref<?x?xf32>
  tile.barrier
  %8 = tile.load_global %A[%c1, %i1] : memref<?x?xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : f32, f32, f32, f32, f32, f32, f32, f32, f32
}

func.func @unaligned(%A: memref<?xf32>) -> (f32, f32) attributes {tessera.alignment = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tile.load_global %A[%c0] : memref<?xf32>
  %1 = tile.load_global %A[%c1] : memref<?xf32>
  return %0, %1 : f32, f32
}

func.func @rows_of_six(%A: memref<?x6xf32>, %r: index) -> (f32, f32, f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %0 = tile.load_global %A[%r, %c0] : memref<?x6xf32>
  %1 = tile.load_global %A[%r, %c1] : memref<?x6xf32>
  %2 = tile.load_global %A[%r, %c2] : memref<?x6xf32>
  %3 = tile.load_global %A[%r, %c3] : memref<?x6xf32>
  return %0, %1, %2, %3 : f32, f32, f32, f32
}

// Not together: a branch or a call between, which may store. Together: what only computes, or reads shared memory, between.
// CHECK-LABEL: @around_a_branch(
// CHECK-NOT: vector
// CHECK-LABEL: @around_a_call(
// CHECK-NOT: vector
// CHECK-LABEL: @around_shared_memory(
// CHECK: tile.load_global_vector %A{{.*}} {vector_width = 2 : i64}
func.func @around_a_branch(%A: memref<?xf32>, %x: f32, %some: i1) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tile.load_global %A[%c0] : memref<?xf32>
  scf.if %some {
    tile.store_global_element %x, %A[%c1] : memref<?xf32>
  }
  %1 = tile.load_global %A[%c1] : memref<?xf32>
  return %0, %1 : f32, f32
}

func.func private @elsewhere()
func.func @around_a_call(%A: memref<?xf32>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tile.load_global %A[%c0] : memref<?xf32>
  func.call @elsewhere() : () -> ()
  %1 = tile.load_global %A[%c1] : memref<?xf32>
  return %0, %1 : f32, f32
}

func.func @around_shared_memory(%A: memref<?xf32>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tile.alloc_shared : memref<64xf32, 3>
  %0 = tile.load_global %A[%c0] : memref<?xf32>
  tile.store_shared %0, %s[%c0] : memref<64xf32, 3>
  %1 = tile.load_global %A[%c1] : memref<?xf32>
  return %0, %1 : f32, f32
}

// A vector is stored where the last of its elements is, whose value is there only then.
// CHECK-LABEL: @last_value(
// CHECK: %y = arith.addf
// CHECK-NEXT: vector.from_elements %x, %y
// CHECK-NEXT: tile.store_global_vector
func.func @last_value(%A: memref<?xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.store_global_element %x, %A[%c0] : memref<?xf32>
  %y = arith.addf %x, %x : f32
  tile.store_global_element %y, %A[%c1] : memref<?xf32>
  return
}

// Elements that memory holds in another form than registers: bits, 8-bit floats.
// CHECK-LABEL: @bits(
// CHECK-NOT: vector
// CHECK-LABEL: @bytes(
// CHECK: tile.load_global_vector
// CHECK-LABEL: @small_floats(
// CHECK-NOT: vector
// CHECK: return
func.func @bits(%A: memref<?xi1>) -> (i1, i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tile.load_global %A[%c0] : memref<?xi1>
  %1 = tile.load_global %A[%c1] : memref<?xi1>
  return %0, %1 : i1, i1
}

func.func @bytes(%A: memref<?xi8>) -> (i8, i8) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tile.load_global %A[%c0] : memref<?xi8>
  %1 = tile.load_global %A[%c1] : memref<?xi8>
  return %0, %1 : i8, i8
}

func.func @small_floats(%A: memref<?xf8E4M3FN>) -> (f8E4M3FN, f8E4M3FN) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tile.load_global %A[%c0] : memref<?xf8E4M3FN>
  %1 = tile.load_global %A[%c1] : memref<?xf8E4M3FN>
  return %0, %1 : f8E4M3FN, f8E4M3FN
}

// A fragment that an op of another dialect uses stays itself, on either side of a copy.
// CHECK-LABEL: @used_elsewhere(
// CHECK: tile.copy %a, %b
// CHECK: call @taking(%b)
// CHECK: tile.copy %b, %c
// CHECK: tile.store_global %c
func.func private @taking(memref<4x4xf32, 5>)
func.func @used_elsewhere(%D: memref<?x?xf32>, %x: f32) {
  %a = tile.alloc_register : memref<4x4xf32, 5>
  %b = tile.alloc_register : memref<4x4xf32, 5>
  %c = tile.alloc_register : memref<4x4xf32, 5>
  tile.fill %a, %x : memref<4x4xf32, 5>
  tile.copy %a, %b : memref<4x4xf32, 5>
  func.call @taking(%b) : (memref<4x4xf32, 5>) -> ()
  tile.copy %b, %c : memref<4x4xf32, 5>
  tile.store_global %c, %D : memref<4x4xf32, 5>, memref<?x?xf32>
  return
}

// What is spilled is read when it comes back.
// CHECK-LABEL: @spilled(
// CHECK: tile.fill %a
// CHECK: tile.spill %a
func.func @spilled(%D: memref<?x?xf32>, %slot: memref<4096xf32, 3>, %x: f32) {
  %a = tile.alloc_register : memref<4x8xf32, 5>
  tile.fill %a, %x : memref<4x8xf32, 5>
  tile.spill %a, %slot : memref<4x8xf32, 5>, memref<4096xf32, 3>
  %b = tile.reload %slot : memref<4096xf32, 3> -> memref<4x8xf32, 5>
  tile.store_global %b, %D : memref<4x8xf32, 5>, memref<?x?xf32>
  return
}
