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

// What stands before the exit is the first region; what the second one uses of it is passed on, behind the results.
// CHECK-LABEL: nv_tileaa.func @endless(
// CHECK-SAME: %[[N:.*]]: i32)
entry @endless(%n: tile<i32>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  // CHECK: %[[R:.*]]:2 = scf.while (%[[I:.*]] = %{{.*}}) : (i32) -> (i32, i32) {
  // CHECK-NEXT: %[[J:.*]] = arith.addi %[[I]], %[[I]] : i32
  // CHECK-NEXT: %[[STOP:.*]] = arith.cmpi sge, %[[I]], %[[N]] : i32
  // CHECK-NEXT: %[[TRUE:.*]] = arith.constant true
  // CHECK-NEXT: %[[ON:.*]] = arith.xori %[[STOP]], %[[TRUE]] : i1
  // CHECK-NEXT: scf.condition(%[[ON]]) %[[I]], %[[J]] : i32, i32
  // CHECK-NEXT: } do {
  // CHECK-NEXT: ^bb0(%{{.*}}: i32, %[[JJ:.*]]: i32):
  // CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[JJ]], %{{.*}} : i32
  // CHECK-NEXT: scf.yield %[[NEXT]] : i32
  %r = loop iter_values(%i = %c0) : tile<i32> -> tile<i32> {
    %j = addi %i, %i : tile<i32>
    %stop = cmpi greater_than_or_equal %i, %n, signed : tile<i32> -> tile<i1>
    if %stop {
      break %i : tile<i32>
    }
    %next = addi %j, %c1 : tile<i32>
    continue %next : tile<i32>
  }
  // CHECK: arith.addi %[[R]]#0, %[[N]]
  %s = addi %r, %n : tile<i32>
  return
}

// The other branch may be the one that leaves.
// CHECK-LABEL: nv_tileaa.func @otherwise(
entry @otherwise(%n: tile<i32>) {
  %c1 = constant <i32: 1> : tile<i32>
  // CHECK: scf.while (%[[I:.*]] = %{{.*}}) : (i32) -> i32 {
  // CHECK-NEXT: %[[GO:.*]] = arith.cmpi slt
  // CHECK-NEXT: scf.condition(%[[GO]]) %[[I]] : i32
  loop iter_values(%i = %c1) : tile<i32> {
    %go = cmpi less_than %i, %n, signed : tile<i32> -> tile<i1>
    if %go {
    } else {
      break
    }
    %next = addi %i, %c1 : tile<i32>
    continue %next : tile<i32>
  }
  return
}

// Views are made again where the second region uses them.
// CHECK-LABEL: nv_tileaa.func @views_in_a_loop(
entry @views_in_a_loop(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  // CHECK: scf.while
  // CHECK: } do {
  // CHECK: %[[V:.*]] = nv_tileaa.make_memref
  // CHECK: %[[O:.*]] = nv_tileaa.addptr %[[V]]
  // CHECK: nv_tileaa.tiled_load %[[O]]
  // CHECK: scf.yield
  loop iter_values(%i = %c0) : tile<i32> {
    %v = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
    %w = make_partition_view %v : partition_view<tile=(16), tensor_view<64xf32, strides=[1]>>
    %stop = cmpi greater_than_or_equal %i, %n, signed : tile<i32> -> tile<i1>
    if %stop {
      break
    }
    %t, %tok = load_view_tko weak %w[%i] : partition_view<tile=(16), tensor_view<64xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token
    %next = addi %i, %c1 : tile<i32>
    continue %next : tile<i32>
  }
  return
}
