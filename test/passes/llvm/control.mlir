// RUN: tessera-opt %s --convert-tileas-to-llvm | filecheck %s

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {

// `continue` is a branch to the loop's first block, `break` one to the block behind it, with the values as arguments.
// CHECK-LABEL: llvm.func @loop(
// CHECK-SAME: %[[N:.*]]: i32, %[[C:.*]]: i1, %[[P:.*]]: !llvm.ptr<1>)
func.func @loop(%n: i32, %c: i1, %p: !llvm.ptr<1>) attributes {cute.kernel, nvvm.reqntid = array<i32: 32>} {
  // CHECK: llvm.br ^[[HEAD:.*]](%[[N]] : i32)
  // CHECK: ^[[HEAD]](%[[I:.*]]: i32):
  // CHECK: llvm.cond_br %[[C]], ^[[THEN:.*]], ^[[ELSE:.*]]
  // CHECK: ^[[EXIT:.*]](%[[R:.*]]: i32):
  // CHECK: llvm.return
  // CHECK: ^[[THEN]]:
  // CHECK: llvm.br ^[[EXIT]](%[[I]] : i32)
  // CHECK: ^[[ELSE]]:
  // CHECK: llvm.br ^[[HEAD]](%[[J:.*]] : i32)
  %r = nv_tileaa.loop (%i = %n) : (i32) -> i32 {
    %j = arith.addi %i, %n : i32
    %v = nv_tileaa.if %c -> (i32) {
      nv_tileaa.break %i : i32
    } else {
      nv_tileaa.continue %j : i32
    }
    // Never reached, and not lowered.
    // CHECK-NOT: llvm.mul
    %w = arith.muli %v, %v : i32
    nv_tileaa.continue %w : i32
  }
  func.return
}

// CHECK-LABEL: llvm.func @early(
// CHECK-SAME: %[[C:.*]]: i1)
func.func @early(%c: i1) attributes {cute.kernel, nvvm.reqntid = array<i32: 32>} {
  // CHECK: llvm.cond_br %[[C]], ^[[THEN:.*]], ^[[ELSE:.*]]
  // CHECK: ^[[THEN]]:
  // CHECK-NEXT: llvm.return
  // CHECK: ^[[ELSE]]:
  // CHECK-NEXT: llvm.br ^[[AFTER:.*]]
  // CHECK: ^[[AFTER]]:
  // CHECK: llvm.return
  nv_tileaa.if %c {
    nv_tileaa.return
  }
  func.return
}

// Where counter + step may wrap, the first block is told whether there is a next iteration.
// CHECK-LABEL: llvm.func @counted(
// CHECK-SAME: %[[LO:.*]]: i32, %[[HI:.*]]: i32, %[[STEP:.*]]: i32)
func.func @counted(%lo: i32, %hi: i32, %step: i32) attributes {cute.kernel, nvvm.reqntid = array<i32: 32>} {
  // CHECK: %[[FIRST:.*]] = llvm.icmp "slt" %[[LO]], %[[HI]]
  // CHECK: llvm.br ^[[HEAD:.*]](%[[LO]], %[[FIRST]] : i32, i1)
  // CHECK: ^[[HEAD]](%[[I:.*]]: i32, %[[MORE:.*]]: i1):
  // CHECK: llvm.cond_br %[[MORE]]
  // CHECK: %[[LEFT:.*]] = llvm.sub %[[HI]], %[[I]]
  // CHECK: %[[AGAIN:.*]] = llvm.icmp "ugt" %[[LEFT]], %[[STEP]]
  // CHECK: %[[NEXT:.*]] = llvm.add %[[I]], %[[STEP]]
  // CHECK: llvm.br ^[[HEAD]](%[[NEXT]], %[[AGAIN]] : i32, i1)
  scf.for %i = %lo to %hi step %step : i32 {
    nvvm.barrier0
  }
  func.return
}

// CHECK-LABEL: llvm.func @by_one(
// CHECK-SAME: %[[LO:.*]]: i32, %[[HI:.*]]: i32)
func.func @by_one(%lo: i32, %hi: i32) attributes {cute.kernel, nvvm.reqntid = array<i32: 32>} {
  %one = arith.constant 1 : i32
  // CHECK: llvm.br ^[[HEAD:.*]](%[[LO]] : i32)
  // CHECK: ^[[HEAD]](%[[I:.*]]: i32):
  // CHECK: %[[MORE:.*]] = llvm.icmp "ult" %[[I]], %[[HI]]
  // CHECK: llvm.cond_br %[[MORE]]
  // CHECK-NOT: llvm.sub
  scf.for unsigned %i = %lo to %hi step %one : i32 {
    nvvm.barrier0
  }
  func.return
}

// Both branches of the inner `if` leave the kernel. What follows the outer one is still reached, where %c is false.
// CHECK-LABEL: llvm.func @nested(
// CHECK-SAME: %[[C:.*]]: i1, %[[D:.*]]: i1, %{{.*}}: i32)
func.func @nested(%c: i1, %d: i1, %n: i32) attributes {cute.kernel, nvvm.reqntid = array<i32: 32>} {
  // CHECK: llvm.cond_br %[[C]], ^[[INNER:.*]], ^[[ELSE:.*]]
  // CHECK: ^[[INNER]]:
  // CHECK-NEXT: llvm.cond_br %[[D]], ^[[LEFT:.*]], ^[[RIGHT:.*]]
  // CHECK: ^[[ELSE]]:
  // CHECK-NEXT: nvvm.barrier0
  // CHECK: nvvm.bar.warp.sync
  nv_tileaa.if %c {
    nv_tileaa.if %d {
      nv_tileaa.return
    } else {
      nv_tileaa.return
    }
  } else {
    nvvm.barrier0
  }
  nvvm.bar.warp.sync %n : i32
  func.return
}

// A division may trap or be expensive: it stays in its branch. An addition is shared and hoisted.
// CHECK-LABEL: llvm.func @divided(
// CHECK-SAME: %[[C:.*]]: i1, %[[A:.*]]: i32, %[[B:.*]]: i32)
func.func @divided(%c: i1, %a: i32, %b: i32) attributes {cute.kernel, nvvm.reqntid = array<i32: 32>} {
  // CHECK-NOT: llvm.udiv
  // CHECK: llvm.cond_br %[[C]], ^[[THEN:.*]], ^[[ELSE:.*]]
  // CHECK: ^[[THEN]]:
  // CHECK-NEXT: llvm.udiv %{{.*}}, %[[B]]
  // CHECK-NOT: llvm.udiv
  %r = scf.if %c -> (i32) {
    %s = arith.addi %a, %b : i32
    %q = arith.divui %s, %b : i32
    scf.yield %q : i32
  } else {
    scf.yield %a : i32
  }
  scf.for %i = %a to %r step %b : i32 {
    nvvm.barrier0
  }
  func.return
}

}
