// RUN: tessera-opt %s --convert-tileaa-to-tileas | filecheck %s

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // Memory lives as long as the block that asked for it.
  // CHECK-LABEL: nv_tileaa.func @blocks
  nv_tileaa.func @blocks(%c: i1, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    // CHECK: %[[OUTER:.+]] = nv_tileaa.heap_alloc
    %p = nv_tileaa.heap_alloc {bytes = 8 : i64, alignment = 8 : i64} : !llvm.ptr<1>
    scf.for %i = %zero to %n step %one : i32 {
      // CHECK: %[[INNER:.+]] = nv_tileaa.heap_alloc
      // CHECK-NEXT: nv_tileaa.heap_free %[[INNER]]
      // CHECK-NOT: heap_free
      %q = nv_tileaa.heap_alloc {bytes = 8 : i64, alignment = 8 : i64} : !llvm.ptr<1>
    }
    // CHECK: }
    // CHECK-NEXT: nv_tileaa.heap_free %[[OUTER]]
    // CHECK-NEXT: nv_tileaa.return
    nv_tileaa.return
  }

  // Wherever a loop's body is left, and nowhere else.
  // CHECK-LABEL: nv_tileaa.func @left_early
  nv_tileaa.func @left_early(%c: i1, %d: i1) {
    nv_tileaa.loop {
      // CHECK: nv_tileaa.if
      // CHECK-NEXT: nv_tileaa.break
      nv_tileaa.if %c {
        nv_tileaa.break
      }
      // CHECK: %[[P:.+]] = nv_tileaa.heap_alloc
      %p = nv_tileaa.heap_alloc {bytes = 8 : i64, alignment = 8 : i64} : !llvm.ptr<1>
      // CHECK-NEXT: nv_tileaa.if
      // CHECK-NEXT: nv_tileaa.heap_free %[[P]]
      // CHECK-NEXT: nv_tileaa.break
      // CHECK-NEXT: }
      nv_tileaa.if %d {
        nv_tileaa.break
      }
      // CHECK-NEXT: nv_tileaa.loop
      // CHECK-NEXT: nv_tileaa.break
      // CHECK-NEXT: }
      nv_tileaa.loop {
        nv_tileaa.break
      }
      // CHECK-NEXT: nv_tileaa.heap_free %[[P]]
      // CHECK-NEXT: nv_tileaa.continue
      nv_tileaa.continue
    }
    nv_tileaa.return
  }

  // A return leaves every block.
  // CHECK-LABEL: nv_tileaa.func @returned
  nv_tileaa.func @returned(%c: i1, %n: i32) {
    %zero = arith.constant 0 : i32
    // CHECK: %[[P:.+]] = nv_tileaa.heap_alloc
    %p = nv_tileaa.heap_alloc {bytes = 8 : i64, alignment = 8 : i64} : !llvm.ptr<1>
    // CHECK-NEXT: nv_tileaa.if
    // CHECK-NEXT: %[[Q:.+]] = nv_tileaa.heap_alloc
    // CHECK-DAG: nv_tileaa.heap_free %[[P]]
    // CHECK-DAG: nv_tileaa.heap_free %[[Q]]
    // CHECK: nv_tileaa.return
    // CHECK-NEXT: }
    nv_tileaa.if %c {
      %q = nv_tileaa.heap_alloc {bytes = 8 : i64, alignment = 8 : i64} : !llvm.ptr<1>
      nv_tileaa.return
    }
    // CHECK-NEXT: nv_tileaa.heap_free %[[P]]
    // CHECK-NEXT: nv_tileaa.return
    nv_tileaa.return
  }
}
