// RUN: tessera-opt %s --tile-performance-annotation -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t --tile-performance-annotation | diff %t -
// RUN: tessera-opt %s --tile-performance-annotation=markers=true -o %t.marked
// RUN: filecheck %s --input-file %t.marked --check-prefix=MARKED
// RUN: tessera-opt %t.marked --tile-performance-annotation=markers=true | diff %t.marked -

// Without the option there are no markers.
// CHECK-NOT: tile.profile_marker

// Loops within loops are no hot paths.  A loop of 4 short iterations is unrolled as a whole, one of 1000 by the power of
// two that divides 1000, one of which nobody knows by as much as fits beside what is left over.
// CHECK-LABEL: @loops(
// CHECK: } {tessera.hot_path, tessera.unroll_hint = 4 : i64}
// CHECK-NEXT: }{{$}}
// CHECK: } {tessera.hot_path, tessera.unroll_hint = 8 : i64}
// CHECK: } {tessera.hot_path, tessera.unroll_hint = 64 : i64}
func.func @loops(%A: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c1000 = arith.constant 1000 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %k = arith.addi %i, %j : index
      tile.store_global_element %zero, %A[%k] : memref<?xf32>
    }
  }
  scf.for %i = %c0 to %c1000 step %c1 {
    %k = arith.addi %i, %c1 : index
    tile.store_global_element %zero, %A[%k] : memref<?xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %k = arith.addi %i, %c1 : index
    %l = arith.addi %k, %c1 : index
    %m = arith.addi %l, %c1 : index
    tile.store_global_element %zero, %A[%m] : memref<?xf32>
  }
  return
}

// A body of many instructions is not unrolled; the copy's next rows are told by the counter.
// CHECK-LABEL: @heavy(
// CHECK: tile.cp_async {{.*}} {tessera.performance_critical}
// CHECK: tile.cp_async {{.*}} {tessera.performance_critical, tessera.prefetch = true}
// CHECK: tile.mma {{.*}} {tessera.performance_critical}
// CHECK: } {tessera.hot_path, tessera.unroll_hint = 1 : i64}
// CHECK: tile.store_global {{.*}} {tessera.write_policy = "streaming"}

// MARKED-LABEL: @heavy(
// MARKED-NEXT: tile.profile_marker "function_entry", "heavy"
// MARKED: tile.profile_marker "compute_start", "tile.mma"
// MARKED-NEXT: tile.mma
// MARKED-NEXT: tile.profile_marker "compute_end", "tile.mma"
// MARKED: tile.profile_marker "function_exit", "heavy"
// MARKED-NEXT: return
func.func @heavy(%A: memref<?x?xf16>, %D: memref<128x128xf32>, %start: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %a = tile.alloc_shared : memref<128x128xf16, 3>
  %b = tile.alloc_shared : memref<128x128xf16, 3>
  %acc = tile.alloc_register : memref<8x8xf32, 5>
  scf.for %i = %c0 to %n step %c128 {
    %same = tile.compute_tensor_slice %A, %start : memref<?x?xf16>, index -> memref<128x?xf16>
    tile.cp_async %same, %a : memref<128x?xf16>, memref<128x128xf16, 3>
    %next = tile.compute_tensor_slice %A, %i : memref<?x?xf16>, index -> memref<128x?xf16>
    tile.cp_async %next, %b : memref<128x?xf16>, memref<128x128xf16, 3>
    %u = tile.mma %a, %b : memref<128x128xf16, 3>, memref<128x128xf16, 3> -> memref<8x8xf32, 5>
    tile.accumulate %acc, %u : memref<8x8xf32, 5>, memref<8x8xf32, 5>
  }
  tile.store_global %acc, %D : memref<8x8xf32, 5>, memref<128x128xf32>
  return
}

// One look at A; two at B; the neighbor each time in C, whose line is there already; the next line of D, which is
// fetched ahead; E's place comes from memory, and cannot be told.
// CHECK-LABEL: @reuse(
// CHECK: tile.load_global %A{{.*}}tessera.cache_hint = "streaming", tessera.performance_critical}
// CHECK: tile.load_global %B{{.*}}tessera.cache_hint = "L2", tessera.performance_critical}
// CHECK: tile.store_global_element {{.*}}%B{{.*}}tessera.write_policy = "write_back"}
// CHECK: tile.load_global %C{{.*}}tessera.cache_hint = "L1", tessera.performance_critical}
// CHECK: tile.load_global %D{{.*}}tessera.cache_hint = "streaming", tessera.performance_critical, tessera.prefetch = true}
// CHECK: tile.load_global %E{{.*}}tessera.cache_hint = "streaming", tessera.performance_critical}
func.func @reuse(%A: memref<?xf32>, %B: memref<?xf32>, %C: memref<?xf32>, %D: memref<?xf32>, %E: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %s = tile.alloc_shared : memref<32xi32, 3>
  %t = tile.thread_id : index
  %0 = tile.load_global %A[%t] : memref<?xf32>
  %1 = tile.load_global %B[%t] : memref<?xf32>
  tile.store_global_element %0, %B[%t] : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %2 = tile.load_global %C[%i] : memref<?xf32>
    %j = arith.muli %i, %c32 : index
    %k = arith.addi %j, %t : index
    %3 = tile.load_global %D[%k] : memref<?xf32>
    %4 = tile.load_shared %s[%t] : memref<32xi32, 3>
    %5 = arith.index_cast %4 : i32 to index
    %6 = tile.load_global %E[%5] : memref<?xf32>
  }
  return
}
