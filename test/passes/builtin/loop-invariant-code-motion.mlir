// RUN: tessera-opt %s --loop-invariant-code-motion | filecheck %s

func.func private @use(i32)

// CHECK-LABEL: func.func @out_of_two_loops
func.func @out_of_two_loops(%a: i32, %lo: index, %hi: index, %step: index) {
  // CHECK-NEXT: %[[SUM:.*]] = arith.addi
  // CHECK-NEXT: %[[PRODUCT:.*]] = arith.muli %[[SUM]], %[[SUM]]
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: func.call @use(%[[PRODUCT]])
  scf.for %i = %lo to %hi step %step {
    scf.for %j = %lo to %hi step %step {
      %0 = arith.addi %a, %a : i32
      %1 = arith.muli %0, %0 : i32
      func.call @use(%1) : (i32) -> ()
    }
  }
  return
}

// What depends on the induction variable leaves only the inner loop.
// CHECK-LABEL: func.func @out_of_one_loop
func.func @out_of_one_loop(%lo: index, %hi: index, %step: index) {
  // CHECK-NEXT: scf.for %[[I:.*]] =
  // CHECK-NEXT: %[[CAST:.*]] = arith.index_cast %[[I]]
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: func.call @use(%[[CAST]])
  scf.for %i = %lo to %hi step %step {
    scf.for %j = %lo to %hi step %step {
      %0 = arith.index_cast %i : index to i32
      func.call @use(%0) : (i32) -> ()
    }
  }
  return
}

// A division by a value that may be zero must not run where it did not run before.
// CHECK-LABEL: func.func @division
func.func @division(%a: i32, %b: i32, %lo: index, %hi: index, %step: index) {
  // CHECK: scf.for
  // CHECK-NEXT: arith.divsi
  scf.for %i = %lo to %hi step %step {
    %0 = arith.divsi %a, %b : i32
    func.call @use(%0) : (i32) -> ()
  }
  return
}

// An op with a region leaves with all that is in it.
// CHECK-LABEL: func.func @region
func.func @region(%a: i32, %c: i1, %lo: index, %hi: index, %step: index) {
  // CHECK-NEXT: scf.if
  // CHECK: scf.for
  // CHECK-NEXT: func.call @use
  scf.for %i = %lo to %hi step %step {
    %0 = scf.if %c -> i32 {
      %1 = arith.addi %a, %a : i32
      scf.yield %1 : i32
    } else {
      scf.yield %a : i32
    }
    func.call @use(%0) : (i32) -> ()
  }
  return
}

// Nor may it run because the branch around it runs.
// CHECK-LABEL: func.func @division_in_a_branch
func.func @division_in_a_branch(%a: i32, %b: i32, %c: i1, %lo: index, %hi: index, %step: index) {
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: scf.if
  scf.for %i = %lo to %hi step %step {
    %0 = scf.if %c -> i32 {
      %1 = arith.divsi %a, %b : i32
      scf.yield %1 : i32
    } else {
      scf.yield %a : i32
    }
    func.call @use(%0) : (i32) -> ()
  }
  return
}

// A loop stays: it may never end, and the loop around it may never run.
// CHECK-LABEL: func.func @loop_in_a_branch
func.func @loop_in_a_branch(%a: i32, %c: i1, %lo: index, %hi: index, %step: index) {
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: scf.if
  scf.for %i = %lo to %hi step %step {
    %0 = scf.if %c -> i32 {
      %1 = nv_tileaa.loop (%x = %a) : (i32) -> i32 {
        %2 = arith.cmpi eq, %x, %a : i32
        nv_tileaa.if %2 { nv_tileaa.break %x : i32 }
        nv_tileaa.continue %x : i32
      }
      scf.yield %1 : i32
    } else {
      scf.yield %a : i32
    }
    func.call @use(%0) : (i32) -> ()
  }
  return
}

// What can run any time leaves a loop that is left early; the branch that leaves it stays.
// CHECK-LABEL: func.func @left_early
func.func @left_early(%a: i32, %b: i32) {
  // CHECK-NEXT: %[[SUM:.*]] = arith.addi
  // CHECK-NEXT: %[[STOP:.*]] = arith.cmpi eq, %[[SUM]]
  // CHECK-NEXT: nv_tileaa.loop {
  // CHECK-NEXT: nv_tileaa.if %[[STOP]] {
  // CHECK-NEXT: nv_tileaa.break
  // CHECK-NEXT: }
  // CHECK-NEXT: arith.divsi
  nv_tileaa.loop {
    %0 = arith.addi %a, %b : i32
    %1 = arith.cmpi eq, %0, %a : i32
    nv_tileaa.if %1 { nv_tileaa.break }
    %2 = arith.divsi %a, %b : i32
    func.call @use(%2) : (i32) -> ()
    nv_tileaa.continue
  }
  return
}

// The loops of cuda_tile: what has no effect leaves, but not a division, and not what a continue passes on.
// CHECK-LABEL: entry @tiles
entry @tiles(%a: tile<i32>, %n: tile<i32>) {
  // CHECK-NEXT: %[[S:.*]] = addi
  // CHECK-NEXT: %[[T:.*]] = muli %[[S]], %[[S]]
  // CHECK-NEXT: %[[LESS:.*]] = cmpi less_than
  // CHECK-NEXT: for %{{.*}} in
  // CHECK-NEXT: divi
  // CHECK-NEXT: loop {
  // CHECK-NEXT: if %[[LESS]] {
  // CHECK-NEXT: break
  // CHECK-NEXT: }
  // CHECK-NEXT: print_tko "%d", %[[T]]
  for %i in (%n to %n, step %n) : tile<i32> {
    %q = divi %a, %a signed : tile<i32>
    loop {
      %s = addi %a, %a : tile<i32>
      %t = muli %s, %s : tile<i32>
      %less = cmpi less_than %n, %n, signed : tile<i32> -> tile<i1>
      if %less { break }
      %tok = print_tko "%d", %t : tile<i32> -> token
      continue
    }
    continue
  }
  return
}

// What is undefined for some operands leaves the loop only where they are known.
// CHECK-LABEL: func.func @speculation
func.func @speculation(%m: memref<?x?xf32>, %i: index, %a: i32, %b: i32, %lo: index, %hi: index, %step: index) {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c7 = llvm.mlir.constant(7 : i32) : i32
  // CHECK:      %[[DIM:.*]] = memref.dim %{{.*}}, %c1
  // CHECK-NEXT: %[[REM:.*]] = llvm.urem
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: memref.dim %{{.*}}, %i
  // CHECK-NEXT: memref.dim %{{.*}}, %c3
  // CHECK-NEXT: llvm.udiv
  // CHECK-NEXT: llvm.srem
  scf.for %k = %lo to %hi step %step {
    %0 = memref.dim %m, %c1 : memref<?x?xf32>
    %1 = memref.dim %m, %i : memref<?x?xf32>
    %2 = memref.dim %m, %c3 : memref<?x?xf32>
    %3 = llvm.udiv %a, %b : i32
    %4 = llvm.srem %a, %b : i32
    %5 = llvm.urem %a, %c7 : i32
    func.call @use_all(%0, %1, %2, %3, %4, %5) : (index, index, index, i32, i32, i32) -> ()
  }
  return
}

func.func private @use_all(index, index, index, i32, i32, i32)
