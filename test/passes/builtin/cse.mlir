// RUN: tessera-opt %s --cse | filecheck %s
// RUN: tessera-opt %s --cse --cse --mlir-pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STATS

// STATS: Pass statistics report
// STATS: CSE
// STATS-NEXT: (S) {{[1-9][0-9]*}} num-cse'd - Number of operations CSE'd
// STATS-NEXT: (S) {{[0-9 ]*[0-9]}} num-dce'd - Number of operations DCE'd
// STATS: CSE
// STATS-NEXT: (S) 0 num-cse'd
// STATS-NEXT: (S) 0 num-dce'd

// CHECK-LABEL: func.func @equal_constants
func.func @equal_constants() -> (i32, i32) {
  // CHECK-NEXT: %[[C:.*]] = arith.constant 1 : i32
  // CHECK-NEXT: return %[[C]], %[[C]] : i32, i32
  %0 = arith.constant 1 : i32
  %1 = arith.constant 1 : i32
  return %0, %1 : i32, i32
}

// Operands of a commutative operation may change places; of another they may not.
// CHECK-LABEL: func.func @operand_order
// CHECK-SAME: %[[A:.*]]: i32, %[[B:.*]]: i32
func.func @operand_order(%a: i32, %b: i32) -> (i32, i32, i32, i32) {
  // CHECK-NEXT: %[[SUM:.*]] = arith.addi %[[A]], %[[B]] : i32
  // CHECK-NEXT: %[[AB:.*]] = arith.subi %[[A]], %[[B]] : i32
  // CHECK-NEXT: %[[BA:.*]] = arith.subi %[[B]], %[[A]] : i32
  // CHECK-NEXT: return %[[SUM]], %[[SUM]], %[[AB]], %[[BA]]
  %0 = arith.addi %a, %b : i32
  %1 = arith.addi %b, %a : i32
  %2 = arith.subi %a, %b : i32
  %3 = arith.subi %b, %a : i32
  return %0, %1, %2, %3 : i32, i32, i32, i32
}

// Attributes and result types are part of what is computed.
// CHECK-LABEL: func.func @different_attributes
func.func @different_attributes(%a: i32, %b: i32) -> (i1, i1, i64, i48) {
  // CHECK: arith.cmpi slt
  // CHECK: arith.cmpi ult
  // CHECK: arith.extsi {{.*}} to i64
  // CHECK: arith.extsi {{.*}} to i48
  %0 = arith.cmpi slt, %a, %b : i32
  %1 = arith.cmpi ult, %a, %b : i32
  %2 = arith.extsi %a : i32 to i64
  %3 = arith.extsi %a : i32 to i48
  return %0, %1, %2, %3 : i1, i1, i64, i48
}

// CHECK-LABEL: func.func @dead
func.func @dead(%a: i32) {
  // CHECK-NEXT: return
  %0 = arith.addi %a, %a : i32
  return
}

// What a dominating block computed is known; what a sibling computed is not.
// CHECK-LABEL: func.func @dominance
func.func @dominance(%a: i32, %c: i1) -> i32 {
  // CHECK-NEXT: %[[SUM:.*]] = arith.addi
  // CHECK-NEXT: cf.cond_br
  %0 = arith.addi %a, %a : i32
  cf.cond_br %c, ^left, ^right
^left:
  // CHECK: %[[L:.*]] = arith.muli %[[SUM]], %[[SUM]]
  // CHECK-NEXT: cf.br {{.*}}(%[[L]] : i32)
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %1, %1 : i32
  cf.br ^join(%2 : i32)
^right:
  // CHECK: %[[R:.*]] = arith.muli %[[SUM]], %[[SUM]]
  // CHECK-NEXT: cf.br {{.*}}(%[[R]] : i32)
  %3 = arith.muli %0, %0 : i32
  cf.br ^join(%3 : i32)
^join(%r: i32):
  // CHECK: %[[J:.*]] = arith.muli %[[SUM]], %[[SUM]]
  // CHECK-NEXT: arith.addi
  %4 = arith.muli %0, %0 : i32
  %5 = arith.addi %4, %r : i32
  return %5 : i32
}

// A region sees what stands before its op, and two equal regions compute the same.
// CHECK-LABEL: func.func @regions
func.func @regions(%a: i32, %c: i1) -> (i32, i32) {
  // CHECK-NEXT: %[[SUM:.*]] = arith.addi
  // CHECK-NEXT: %[[IF:.*]] = scf.if
  // CHECK-NEXT: scf.yield %[[SUM]]
  // CHECK: return %[[IF]], %[[IF]]
  %0 = arith.addi %a, %a : i32
  %1 = scf.if %c -> i32 {
    %3 = arith.addi %a, %a : i32
    scf.yield %3 : i32
  } else {
    scf.yield %a : i32
  }
  %2 = scf.if %c -> i32 {
    scf.yield %0 : i32
  } else {
    scf.yield %a : i32
  }
  return %1, %2 : i32, i32
}

// Operations whose effects are unknown stay, all of them.
// CHECK-LABEL: func.func @calls
func.func private @opaque() -> i32
func.func @calls() -> (i32, i32) {
  // CHECK: call @opaque
  // CHECK: call @opaque
  %0 = call @opaque() : () -> i32
  %1 = call @opaque() : () -> i32
  return %0, %1 : i32, i32
}

// A branch that leaves the loop or the kernel has that effect, though it gives no result and touches no memory.
cuda_tile.module @early_exits {
  // CHECK-LABEL: entry @early_exits
  entry @early_exits(%done: tile<i1>, %limit: tile<i32>) {
    // CHECK: if
    // CHECK-NEXT: return
    if %done {
      return
    }
    // CHECK: loop
    %last = loop iter_values(%i = %limit) : tile<i32> -> tile<i32> {
      %next = addi %i, %i : tile<i32>
      %over = cmpi less_than %next, %limit, signed : tile<i32> -> tile<i1>
      // CHECK: if
      // CHECK-NEXT: if
      // CHECK-NEXT: break
      if %done {
        if %over {
          break %next : tile<i32>
        }
      }
      // CHECK: continue
      continue %next : tile<i32>
    }
    print_tko "%d", %last : tile<i32> -> token
    return
  }
}

// A branch that leaves its loop is not merged, and what it computes is not known behind it; loops without effects are.
// CHECK-LABEL: nv_tileaa.func @left_early
nv_tileaa.func @left_early(%a: i32, %c: i1) -> (i32, i32) {
  // CHECK-NEXT: %[[R:.*]] = nv_tileaa.loop
  // CHECK-NEXT: nv_tileaa.if
  // CHECK-NEXT: %[[X:.*]] = arith.addi
  // CHECK-NEXT: nv_tileaa.break %[[X]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[Y:.*]] = arith.addi
  // CHECK-NEXT: nv_tileaa.if
  // CHECK-NEXT: nv_tileaa.break %[[Y]]
  // CHECK-NEXT: }
  // CHECK-NEXT: nv_tileaa.continue
  // CHECK-NEXT: }
  // CHECK-NEXT: nv_tileaa.return %[[R]], %[[R]]
  %r = nv_tileaa.loop -> i32 {
    nv_tileaa.if %c {
      %0 = arith.addi %a, %a : i32
      nv_tileaa.break %0 : i32
    }
    %1 = arith.addi %a, %a : i32
    nv_tileaa.if %c { nv_tileaa.break %1 : i32 }
    nv_tileaa.continue
  }
  %s = nv_tileaa.loop -> i32 {
    nv_tileaa.if %c {
      %0 = arith.addi %a, %a : i32
      nv_tileaa.break %0 : i32
    }
    %1 = arith.addi %a, %a : i32
    nv_tileaa.if %c { nv_tileaa.break %1 : i32 }
    nv_tileaa.continue
  }
  nv_tileaa.return %r, %s : i32, i32
}

// A volatile access, and an atomic one that orders others, stands for a write: it is not merged, nor are reads across it.
// CHECK-LABEL: llvm.func @ordered_loads
llvm.func @ordered_loads(%p: !llvm.ptr, %q: !llvm.ptr) -> !llvm.struct<(i32, i32, i32, i32)> {
  // CHECK-COUNT-2: llvm.load volatile
  // CHECK-COUNT-2: llvm.load {{.*}} atomic monotonic
  // CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 8 : i64}
  %0 = llvm.load volatile %p : !llvm.ptr -> i32
  %1 = llvm.load volatile %p : !llvm.ptr -> i32
  %2 = llvm.load %p atomic monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
  %3 = llvm.load %p atomic monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
  %x = llvm.load %q {alignment = 8 : i64} : !llvm.ptr -> i32
  llvm.store volatile %x, %p : i32, !llvm.ptr
  %y = llvm.load %q {alignment = 8 : i64} : !llvm.ptr -> i32
  // CHECK-COUNT-1: llvm.load %{{.*}} atomic unordered
  // CHECK-NOT: llvm.load
  %4 = llvm.load %p atomic unordered {alignment = 4 : i64} : !llvm.ptr -> i32
  %5 = llvm.load %p atomic unordered {alignment = 4 : i64} : !llvm.ptr -> i32
  %s = llvm.mlir.undef : !llvm.struct<(i32, i32, i32, i32)>
  %s0 = llvm.insertvalue %x, %s[0] : !llvm.struct<(i32, i32, i32, i32)>
  %s1 = llvm.insertvalue %y, %s0[1] : !llvm.struct<(i32, i32, i32, i32)>
  %s2 = llvm.insertvalue %4, %s1[2] : !llvm.struct<(i32, i32, i32, i32)>
  %s3 = llvm.insertvalue %5, %s2[3] : !llvm.struct<(i32, i32, i32, i32)>
  llvm.return %s3 : !llvm.struct<(i32, i32, i32, i32)>
}

// A value keeps the name of the one merged into it, which a nested function may have too: the names differ.
// CHECK-LABEL: func.func @names
func.func @names() -> (i32, i32) {
  // CHECK-NEXT: %[[FOO:foo]] = arith.constant 1 : i32
  %0 = arith.constant 1 : i32
  builtin.module {
    // CHECK: func.func @nested
    func.func @nested() -> i32 {
      // CHECK-NEXT: %[[OTHER:foo_[0-9]+]] = arith.constant 1 : i32
      %foo = arith.constant 1 : i32
      // CHECK-NEXT: return %[[OTHER]]
      return %foo : i32
    }
  }
  %foo = arith.constant 1 : i32
  // CHECK: return %[[FOO]], %[[FOO]]
  return %0, %foo : i32, i32
}
