// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t -o %t.again
// RUN: diff %t %t.again

// CHECK-LABEL: nv_tileaa.func @counted(
// CHECK-SAME: %[[N:.*]]: i32, %[[X:.*]]: f32)
entry @counted(%n: tile<i32>, %x: tile<f32>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  // CHECK: %[[SUM:.*]]:2 = scf.for %[[I:.*]] = %{{.*}} to %[[N]] step %{{.*}} iter_args(%[[A:.*]] = %[[X]], %[[K:.*]] = %{{.*}}) -> (f32, i32) : i32 {
  // CHECK-NEXT: %[[B:.*]] = arith.addf %[[A]], %[[X]] : f32
  // CHECK-NEXT: %[[L:.*]] = arith.addi %[[K]], %[[I]] : i32
  // CHECK-NEXT: scf.yield %[[B]], %[[L]] : f32, i32
  %sum:2 = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%a = %x, %k = %c0) -> (tile<f32>, tile<i32>) {
    %b = addf %a, %x : tile<f32>
    %l = addi %k, %i : tile<i32>
    continue %b, %l : tile<f32>, tile<i32>
  }
  // CHECK: arith.addf %[[SUM]]#0, %[[X]]
  %y = addf %sum#0, %x : tile<f32>
  // CHECK: scf.for unsigned %{{.*}} = %{{.*}} to %[[N]] step %{{.*}} : i32 {
  for unsigned %i in (%c0 to %n, step %c1) : tile<i32> {
    continue
  }
  return
}

// CHECK-LABEL: nv_tileaa.func @branches(
// CHECK-SAME: %[[C:.*]]: i1, %[[X:.*]]: f32)
entry @branches(%c: tile<i1>, %x: tile<f32>) {
  // CHECK: %[[Y:.*]] = scf.if %[[C]] -> (f32) {
  // CHECK-NEXT: %[[D:.*]] = arith.mulf %[[X]], %[[X]]
  // CHECK-NEXT: scf.yield %[[D]] : f32
  // CHECK-NEXT: } else {
  // CHECK-NEXT: scf.yield %[[X]] : f32
  %y = if %c -> (tile<f32>) {
    %d = mulf %x, %x : tile<f32>
    yield %d : tile<f32>
  } else {
    yield %x : tile<f32>
  }
  // CHECK: scf.if %[[C]] {
  // CHECK-NEXT: arith.addf %[[Y]], %[[X]]
  // CHECK-NEXT: }
  if %c {
    %z = addf %y, %x : tile<f32>
  }
  return
}

// CHECK-LABEL: nv_tileaa.func @endless(
// CHECK-SAME: %[[N:.*]]: i32, %[[X:.*]]: f32)
entry @endless(%n: tile<i32>, %x: tile<f32>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  // CHECK: %[[R:.*]]:2 = nv_tileaa.loop (%[[I:.*]] = %{{.*}}) : (i32) -> (i32, f32) {
  // CHECK-NEXT: %[[STOP:.*]] = arith.cmpi sge, %[[I]], %[[N]] : i32
  // CHECK-NEXT: nv_tileaa.if %[[STOP]] {
  // CHECK-NEXT: nv_tileaa.break %[[I]], %[[X]] : i32, f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[J:.*]] = arith.addi %[[I]], %{{.*}} : i32
  // CHECK-NEXT: nv_tileaa.continue %[[J]] : i32
  %r:2 = loop iter_values(%i = %c0) : tile<i32> -> tile<i32>, tile<f32> {
    %stop = cmpi greater_than_or_equal %i, %n, signed : tile<i32> -> tile<i1>
    if %stop {
      break %i, %x : tile<i32>, tile<f32>
    }
    %next = addi %i, %c1 : tile<i32>
    continue %next : tile<i32>
  }
  // CHECK: arith.addi %[[R]]#0, %[[N]]
  %s = addi %r#0, %n : tile<i32>
  return
}

// What leaves a loop or the kernel makes every branch around it an nv_tileaa.if; others stay scf.if.
// CHECK-LABEL: nv_tileaa.func @nested(
entry @nested(%c: tile<i1>, %n: tile<i32>) {
  // CHECK: nv_tileaa.loop {
  // CHECK-NEXT: scf.if
  // CHECK: %[[V:.*]] = nv_tileaa.if %{{.*}} -> (i32) {
  // CHECK-NEXT: nv_tileaa.if %{{.*}} {
  // CHECK-NEXT: nv_tileaa.break
  // CHECK-NEXT: } else {
  // CHECK-NEXT: nv_tileaa.continue
  // CHECK-NEXT: }
  // CHECK-NEXT: nv_tileaa.yield %{{.*}} : i32
  // CHECK-NEXT: } else {
  // CHECK-NEXT: nv_tileaa.yield %{{.*}} : i32
  // CHECK-NEXT: }
  // CHECK-NEXT: arith.addi %[[V]]
  // CHECK-NEXT: nv_tileaa.continue
  loop {
    if %c { %d = addi %n, %n : tile<i32> }
    %v = if %c -> (tile<i32>) {
      if %c { break } else { continue }
      yield %n : tile<i32>
    } else {
      yield %n : tile<i32>
    }
    %w = addi %v, %n : tile<i32>
    continue
  }
  // CHECK: nv_tileaa.if
  // CHECK-NEXT: nv_tileaa.if
  // CHECK-NEXT: nv_tileaa.return
  // CHECK-NEXT: }
  // CHECK-NEXT: }
  if %c {
    if %c { return }
  }
  // CHECK: nv_tileaa.if
  // CHECK-NEXT: nv_tileaa.loop
  // CHECK-NEXT: nv_tileaa.if
  // CHECK-NEXT: nv_tileaa.return
  if %c {
    loop {
      if %c { return }
    }
  }
  return
}

// A loop whose iterations end early counts by itself. As a step of 1 never wraps, it asks for the bound only.
// CHECK-LABEL: nv_tileaa.func @counts(
// CHECK-SAME: %[[N:.*]]: i32, %[[C:.*]]: i1)
entry @counts(%n: tile<i32>, %c: tile<i1>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  // CHECK: nv_tileaa.loop (%[[I:.*]] = %[[ZERO:.*]], %[[A:.*]] = %[[N]]) : (i32, i32) -> i32 {
  // CHECK-NEXT: %[[MORE:.*]] = arith.cmpi slt, %[[I]], %[[N]] : i32
  // CHECK-NEXT: nv_tileaa.if %[[MORE]] {
  // CHECK-NEXT: } else {
  // CHECK-NEXT: nv_tileaa.break %[[A]] : i32
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[K:.*]] = nv_tileaa.assume %[[I]] {lower = 0 : i64, upper = 2147483646 : i64} : i32
  // CHECK-NEXT: nv_tileaa.if %[[C]] {
  // CHECK-NEXT: %[[J:.*]] = arith.addi %[[I]], %{{.*}} : i32
  // CHECK-NEXT: nv_tileaa.continue %[[J]], %[[K]] : i32, i32
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[L:.*]] = arith.addi %[[I]], %{{.*}} : i32
  // CHECK-NEXT: nv_tileaa.continue %[[L]], %[[A]] : i32, i32
  %r = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%a = %n) -> (tile<i32>) {
    if %c { continue %i : tile<i32> }
    continue %a : tile<i32>
  }
  return
}

// Where the step may lead past the largest number, the loop is told whether there is a next one.
// CHECK-LABEL: nv_tileaa.func @wraps(
// CHECK-SAME: %[[N:.*]]: i8, %[[S:.*]]: i8, %[[C:.*]]: i1)
entry @wraps(%n: tile<i8>, %s: tile<i8>, %c: tile<i1>) {
  %c0 = constant <i8: 0> : tile<i8>
  // CHECK: %[[FIRST:.*]] = arith.cmpi ult, %{{.*}}, %[[N]] : i8
  // CHECK-NEXT: nv_tileaa.loop (%[[I:.*]] = %{{.*}}, %[[MORE:.*]] = %[[FIRST]]) : (i8, i1) {
  // CHECK-NEXT: nv_tileaa.if %[[MORE]] {
  // CHECK: nv_tileaa.if %[[C]] {
  // CHECK-NEXT: %[[J:.*]] = arith.addi %[[I]], %[[S]] : i8
  // CHECK-NEXT: %[[LEFT:.*]] = arith.subi %[[N]], %[[I]] : i8
  // CHECK-NEXT: %[[AGAIN:.*]] = arith.cmpi ugt, %[[LEFT]], %[[S]] : i8
  // CHECK-NEXT: nv_tileaa.continue %[[J]], %[[AGAIN]] : i8, i1
  for unsigned %i in (%c0 to %n, step %s) : tile<i8> {
    if %c { continue }
    continue
  }
  return
}
