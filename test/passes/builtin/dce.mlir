// RUN: tessera-opt %s --dce | filecheck %s

// CHECK-LABEL: func.func @unused_chain
func.func @unused_chain(%a: i32) {
  // CHECK-NEXT: return
  %0 = arith.addi %a, %a : i32
  %1 = arith.muli %0, %0 : i32
  return
}

// CHECK-LABEL: func.func @effects_stay
func.func private @effect(i32) -> i32
func.func @effects_stay(%a: i32) {
  // CHECK-NEXT: %[[SUM:.*]] = arith.addi
  // CHECK-NEXT: call @effect(%[[SUM]])
  // CHECK-NEXT: return
  %0 = arith.addi %a, %a : i32
  %1 = call @effect(%0) : (i32) -> i32
  return
}

// CHECK-LABEL: func.func @pure_region
func.func @pure_region(%c: i1, %a: i32) {
  // CHECK-NEXT: return
  %0 = scf.if %c -> i32 {
    %1 = arith.addi %a, %a : i32
    scf.yield %1 : i32
  } else {
    scf.yield %a : i32
  }
  return
}

// CHECK-LABEL: func.func @region_with_an_effect
func.func @region_with_an_effect(%c: i1, %a: i32) {
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: call @effect
  // CHECK-NOT: arith.muli
  // CHECK: return
  scf.if %c {
    %1 = func.call @effect(%a) : (i32) -> i32
    %2 = arith.muli %1, %a : i32
  }
  return
}

// CHECK-LABEL: func.func @unreachable
func.func @unreachable(%a: i32) -> i32 {
  // CHECK-NEXT: return
  // CHECK-NEXT: }
  return %a : i32
^never(%x: i32):
  %0 = arith.addi %x, %a : i32
  cf.br ^never(%0 : i32)
}

// Values that only feed each other around a loop.
// CHECK-LABEL: func.func @cycle
func.func @cycle(%a: i32, %c: i1) {
  // CHECK-NEXT: cf.br ^[[LOOP:.*]]{{$}}
  // CHECK-NOT: arith
  // CHECK: cf.cond_br %{{.*}}, ^[[LOOP]], ^
  cf.br ^loop(%a : i32)
^loop(%x: i32):
  %0 = arith.addi %x, %a : i32
  cf.cond_br %c, ^loop(%0 : i32), ^end
^end:
  return
}

// The live argument of two keeps its place.
// CHECK-LABEL: func.func @one_of_two_arguments
func.func @one_of_two_arguments(%a: i32, %b: i32) -> i32 {
  // CHECK-NEXT: cf.br ^[[END:.*]](%{{.*}} : i32)
  // CHECK: ^[[END]](%[[Y:.*]]: i32)
  // CHECK-NEXT: return %[[Y]]
  cf.br ^end(%a, %b : i32, i32)
^end(%x: i32, %y: i32):
  return %y : i32
}

// A loop that nothing needs goes with the branches that leave it; what may end the function is needed.
// CHECK-LABEL: nv_tileaa.func @left_early
nv_tileaa.func @left_early(%a: i32, %c: i1) {
  // CHECK-NEXT: nv_tileaa.loop {
  // CHECK-NEXT: nv_tileaa.if
  // CHECK-NEXT: nv_tileaa.if
  // CHECK-NEXT: nv_tileaa.return
  // CHECK-NOT: nv_tileaa.loop
  // CHECK-NOT: arith.addi
  nv_tileaa.loop {
    nv_tileaa.if %c {
      %0 = arith.addi %a, %a : i32
      nv_tileaa.if %c { nv_tileaa.return }
    }
    nv_tileaa.continue
  }
  %r = nv_tileaa.loop (%x = %a) : (i32) -> i32 {
    %0 = arith.addi %x, %a : i32
    nv_tileaa.if %c {
      nv_tileaa.if %c { nv_tileaa.break %0 : i32 } else { nv_tileaa.continue %x : i32 }
    }
    nv_tileaa.continue %0 : i32
  }
  nv_tileaa.return
}

// A volatile load, and an atomic one that orders others, is needed although nobody uses its result.
// CHECK-LABEL: llvm.func @ordered_loads
llvm.func @ordered_loads(%p: !llvm.ptr) {
  // CHECK-NEXT: llvm.load volatile
  // CHECK-NEXT: llvm.load {{.*}} atomic acquire
  // CHECK-NEXT: llvm.return
  %0 = llvm.load volatile %p : !llvm.ptr -> i32
  %1 = llvm.load %p atomic acquire {alignment = 4 : i64} : !llvm.ptr -> i32
  %2 = llvm.load %p atomic unordered {alignment = 4 : i64} : !llvm.ptr -> i32
  %3 = llvm.load %p : !llvm.ptr -> i32
  llvm.return
}

// Arguments that blocks only pass to each other, in a circle, are dead.
// CHECK-LABEL: func.func @circle
// CHECK: cf.br ^[[HEAD:.*]]
// CHECK: ^[[HEAD]]:
// CHECK: cf.br ^[[LATCH:.*]]
// CHECK: ^[[LATCH]]:
// CHECK: cf.cond_br %c, ^[[HEAD]], ^[[EXIT:.*]]
// CHECK: ^[[EXIT]]:
func.func @circle(%c: i1, %x: i32) {
  cf.br ^head(%x : i32)
^head(%a: i32):
  cf.br ^latch(%a, %x : i32, i32)
^latch(%b: i32, %d: i32):
  cf.cond_br %c, ^head(%b : i32), ^exit(%b : i32)
^exit(%e: i32):
  return
}
