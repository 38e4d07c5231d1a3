// RUN: tessera-opt %s --convert-tile-to-tileas --split-input-file --verify-diagnostics

func.func @not_in_a_loop(%A: memref<?xf32>) attributes {tessera.kernel} {
  %t = tile.thread_id : index
  // expected-error@+1 {{has tessera.prefetch, but is not in the body of a loop}}
  %0 = tile.load_global %A[%t] {tessera.prefetch = true} : memref<?xf32>
  return
}

// -----

func.func @carried(%A: memref<?xf32>, %n: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %c0) -> (index) {
    // expected-error@+1 {{has tessera.prefetch, but its address depends on a loop-carried value}}
    %0 = tile.load_global %A[%p] {tessera.prefetch = true} : memref<?xf32>
    %next = arith.addi %p, %i : index
    scf.yield %next : index
  }
  return
}

// -----

func.func @from_memory(%A: memref<?xf32>, %I: memref<?xi32>, %n: index) attributes {tessera.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %p = tile.load_global %I[%i] : memref<?xi32>
    %j = arith.index_cast %p : i32 to index
    // expected-error@+1 {{has tessera.prefetch, but its address depends on nv_tileas.load_global; expected arithmetic on the induction variable}}
    %0 = tile.load_global %A[%j] {tessera.prefetch = true} : memref<?xf32>
  }
  return
}

// -----

func.func @word(%A: memref<?xf32>) attributes {tessera.kernel} {
  %t = tile.thread_id : index
  // expected-error@+1 {{has the cache policy "L3"; expected one of cache_all, cache_global, streaming, evict_last, L1, L2 for a load}}
  %0 = tile.load_global %A[%t] {tessera.cache_hint = "L3"} : memref<?xf32>
  return
}

// -----

func.func @direction(%A: memref<?xf32>, %x: f32) attributes {tessera.kernel} {
  %t = tile.thread_id : index
  // expected-error@+1 {{has the cache policy "cache_all"; expected one of write_back, write_through, cache_global, streaming, evict_last for a store}}
  tile.store_global_element %x, %A[%t] {cache_policy = "cache_all"} : memref<?xf32>
  return
}

// -----

func.func @eight_bytes(%A: memref<?x?xf16>) attributes {tessera.kernel, tessera.alignment = 8 : i64} {
  %s = tile.alloc_shared : memref<64x64xf16, 3>
  // expected-error@+1 {{copies 8 bytes at a time, and cp.async.cg moves 16; state a greater tessera.alignment, or use tile.cp_async}}
  tile.cp_async_cg %A, %s : memref<?x?xf16>, memref<64x64xf16, 3>
  return
}
