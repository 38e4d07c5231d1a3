// RUN: tessera-opt %s --allow-unregistered-dialect --canonicalize | filecheck %s

// CHECK-LABEL: nv_tileaa.func @while
// CHECK-SAME: (%[[L:.*]]: i32, %[[N:.*]]: i32, %[[X:.*]]: f32)
nv_tileaa.func @while(%l: i32, %n: i32, %x: f32) {
  // CHECK: %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK-NEXT: %[[R:.*]] = scf.for %[[I:.*]] = %[[L]] to %[[N]] step %[[ONE]] iter_args(%[[A:.*]] = %[[X]]) -> (f32) : i32 {
  // CHECK-NEXT: "test.use"(%[[I]])
  // CHECK-NEXT: %[[B:.*]] = arith.addf %[[A]], %[[A]] : f32
  // CHECK-NEXT: scf.yield %[[B]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: "test.use"(%[[R]])
  %r = nv_tileaa.loop (%i = %l, %a = %x) : (i32, f32) -> f32 {
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more {
    } else {
      nv_tileaa.break %a : f32
    }
    "test.use"(%i) : (i32) -> ()
    %one = arith.constant 1 : i32
    %j = arith.addi %i, %one : i32
    %b = arith.addf %a, %a : f32
    nv_tileaa.continue %j, %b : i32, f32
  }
  "test.use"(%r) : (f32) -> ()
  nv_tileaa.return
}

// The comparison may be the other way round, and the counter itself may be asked for: it is carried beside.
// CHECK-LABEL: nv_tileaa.func @until
nv_tileaa.func @until(%l: i32, %n: i32) {
  // CHECK: %[[R:.*]] = scf.for unsigned %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (i32) : i32 {
  // CHECK: %[[J:.*]] = arith.addi %[[I]], %{{.*}} : i32
  // CHECK: scf.yield %[[J]] : i32
  // CHECK: "test.use"(%[[R]], %{{.*}})
  %one = arith.constant 1 : i32
  %r:2 = nv_tileaa.loop (%i = %l) : (i32) -> (i32, i32) {
    %done = arith.cmpi ule, %n, %i : i32
    nv_tileaa.if %done { nv_tileaa.break %i, %n : i32, i32 }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %one, %i : i32
    nv_tileaa.continue %j : i32
  }
  "test.use"(%r#0, %r#1) : (i32, i32) -> ()
  nv_tileaa.return
}

// By 3 it counts past 100, but not past the largest number. With an unknown bound, or next to the largest, it may.
// CHECK-LABEL: nv_tileaa.func @steps
nv_tileaa.func @steps(%l: i32, %n: i32) {
  %three = arith.constant 3 : i32
  %hundred = arith.constant 100 : i32
  %most = arith.constant 2147483647 : i32
  // CHECK: scf.for
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi slt, %i, %hundred : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %three : i32
    nv_tileaa.continue %j : i32
  }
  // CHECK: nv_tileaa.loop
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %three : i32
    nv_tileaa.continue %j : i32
  }
  // CHECK: nv_tileaa.loop
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi slt, %i, %most : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %three : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.return
}

// What happens before the question, another way out, a bound of the loop's own, a counter that stands still.
// CHECK-LABEL: nv_tileaa.func @others
nv_tileaa.func @others(%l: i32, %n: i32, %c: i1) {
  // CHECK-NOT: scf.for
  %one = arith.constant 1 : i32
  nv_tileaa.loop (%i = %l) : (i32) {
    "test.use"(%i) : (i32) -> ()
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    nv_tileaa.if %c { nv_tileaa.return }
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.loop (%i = %l, %m = %n) : (i32, i32) {
    %more = arith.cmpi slt, %i, %m : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    %k = "test.use"(%i) : (i32) -> i32
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j, %k : i32, i32
  }
  nv_tileaa.loop (%i = %l, %m = %n) : (i32, i32) {
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %m, %one : i32
    nv_tileaa.continue %j, %j : i32, i32
  }
  nv_tileaa.return
}
