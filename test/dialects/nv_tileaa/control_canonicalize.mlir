// RUN: tessera-opt %s --allow-unregistered-dialect --canonicalize | filecheck %s

// A known condition leaves one region.
// CHECK-LABEL: nv_tileaa.func @constant
nv_tileaa.func @constant(%x: i32, %n: i32, %c: i1) {
  %true = arith.constant true
  // CHECK: %[[R:.*]] = nv_tileaa.loop (%[[I:.*]] = %{{.*}}) : (i32) -> i32 {
  // CHECK-NEXT: %[[J:.*]] = arith.muli %[[I]], %[[I]] : i32
  // CHECK-NEXT: nv_tileaa.if %{{.*}} {
  // CHECK-NEXT: nv_tileaa.break %[[J]] : i32
  // CHECK-NEXT: }
  // CHECK-NEXT: nv_tileaa.continue %[[J]] : i32
  // CHECK-NEXT: }
  %r = nv_tileaa.loop (%i = %x) : (i32) -> i32 {
    %j = arith.muli %i, %i : i32
    nv_tileaa.if %c { nv_tileaa.break %j : i32 }
    nv_tileaa.if %true {
      nv_tileaa.continue %j : i32
    } else {
      nv_tileaa.return
    }
    %k = arith.addi %j, %n : i32
    nv_tileaa.continue %k : i32
  }
  // CHECK-NEXT: "test.use"(%[[R]])
  "test.use"(%r) : (i32) -> ()
  // CHECK-NEXT: nv_tileaa.return
  // CHECK-NEXT: }
  nv_tileaa.if %true { nv_tileaa.return }
  "test.use"(%r) : (i32) -> ()
  nv_tileaa.return
}

// CHECK-LABEL: nv_tileaa.func @not_left
nv_tileaa.func @not_left(%x: i32, %c: i1) {
  // CHECK-NEXT: %[[R:.*]] = scf.if %{{.*}} -> (i32) {
  // CHECK-NEXT: "test.effect"()
  // CHECK-NEXT: scf.yield
  // CHECK-NEXT: } else {
  %r = nv_tileaa.if %c -> (i32) {
    "test.effect"() : () -> ()
    nv_tileaa.yield %x : i32
  } else {
    %y = arith.addi %x, %x : i32
    nv_tileaa.yield %y : i32
  }
  "test.use"(%r) : (i32) -> ()
  // What is inside of it may leave it.
  // CHECK: nv_tileaa.if
  // CHECK-NEXT: nv_tileaa.if
  // CHECK-NEXT: nv_tileaa.return
  nv_tileaa.if %c {
    nv_tileaa.if %c { nv_tileaa.return }
    "test.effect"() : () -> ()
  }
  "test.use"(%r) : (i32) -> ()
  nv_tileaa.return
}

// What follows an early return is the other region, with the results of the branch. A return in a loop stays.
// CHECK-LABEL: nv_tileaa.func @returns
nv_tileaa.func @returns(%x: i32, %c: i1) {
  // CHECK-NEXT: nv_tileaa.if %{{.*}} {
  // CHECK-NEXT: "test.last"()
  // CHECK-NEXT: } else {
  // CHECK-NEXT: %[[Y:.*]] = arith.addi
  // CHECK-NEXT: "test.use"(%[[Y]])
  // CHECK-NEXT: nv_tileaa.if
  // CHECK-NEXT: } else {
  // CHECK-NEXT: nv_tileaa.loop
  // CHECK-NEXT: nv_tileaa.if
  // CHECK-NEXT: nv_tileaa.return
  // CHECK: "test.effect"()
  // CHECK-NEXT: }
  // CHECK-NEXT: }
  // CHECK-NEXT: nv_tileaa.return
  %r = nv_tileaa.if %c -> (i32) {
    "test.last"() : () -> ()
    nv_tileaa.return
  } else {
    %y = arith.addi %x, %x : i32
    nv_tileaa.yield %y : i32
  }
  "test.use"(%r) : (i32) -> ()
  nv_tileaa.if %c { nv_tileaa.return }
  nv_tileaa.loop {
    nv_tileaa.if %c { nv_tileaa.return }
    nv_tileaa.continue
  }
  "test.effect"() : () -> ()
  nv_tileaa.return
}

// What ends its block yields a value that is defined behind the early return, so that it stays.
// CHECK-LABEL: nv_tileaa.func @yielded_behind_a_return
nv_tileaa.func @yielded_behind_a_return(%x: i32, %c: i1, %d: i1) {
  // CHECK-NEXT: nv_tileaa.if %{{.*}} -> (i32) {
  // CHECK-NEXT: nv_tileaa.if %{{.*}} {
  // CHECK-NEXT: nv_tileaa.return
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[Y:.*]] = "test.effect"()
  // CHECK-NEXT: nv_tileaa.yield %[[Y]]
  %r = nv_tileaa.if %c -> (i32) {
    nv_tileaa.if %d { nv_tileaa.return }
    %y = "test.effect"() : () -> i32
    nv_tileaa.yield %y : i32
  } else {
    nv_tileaa.yield %x : i32
  }
  nv_tileaa.return
}

// One region returns, but the other one does not go on behind the branch: it leaves the loop.
// CHECK-LABEL: nv_tileaa.func @return_or_break
nv_tileaa.func @return_or_break(%c: i1) {
  // CHECK-NEXT: nv_tileaa.loop {
  // CHECK-NEXT: nv_tileaa.if %{{.*}} {
  // CHECK-NEXT: nv_tileaa.break
  // CHECK-NEXT: } else {
  // CHECK-NEXT: nv_tileaa.return
  // CHECK-NEXT: }
  nv_tileaa.loop {
    nv_tileaa.if %c { nv_tileaa.break } else { nv_tileaa.return }
    "test.unreachable"() : () -> ()
    nv_tileaa.return
  }
  // CHECK: "test.after"()
  "test.after"() : () -> ()
  nv_tileaa.return
}

// CHECK-LABEL: nv_tileaa.func @once
nv_tileaa.func @once(%x: i32) {
  // CHECK-NEXT: %[[Y:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
  // CHECK-NEXT: "test.use"(%{{.*}}, %[[Y]])
  %r:2 = nv_tileaa.loop (%i = %x) : (i32) -> (i32, i32) {
    %y = arith.addi %i, %i : i32
    nv_tileaa.break %i, %y : i32, i32
  }
  "test.use"(%r#0, %r#1) : (i32, i32) -> ()
  nv_tileaa.return
}

// %same never changes, %dead only feeds itself, and nothing reads the first result.
// CHECK-LABEL: nv_tileaa.func @carried
// CHECK-SAME: (%[[X:.*]]: i32, %[[C:.*]]: i1)
nv_tileaa.func @carried(%x: i32, %c: i1) {
  // CHECK-NEXT: %[[R:.*]] = nv_tileaa.loop (%[[I:.*]] = %[[X]]) : (i32) -> i32 {
  // CHECK-NEXT: %[[J:.*]] = arith.muli %[[I]], %[[X]] : i32
  // CHECK-NEXT: nv_tileaa.if %[[C]] {
  // CHECK-NEXT: nv_tileaa.break %[[J]] : i32
  // CHECK-NEXT: }
  // CHECK-NEXT: nv_tileaa.continue %[[J]] : i32
  %r:2 = nv_tileaa.loop (%i = %x, %same = %x, %dead = %x) : (i32, i32, i32) -> (i32, i32) {
    %j = arith.muli %i, %same : i32
    nv_tileaa.if %c { nv_tileaa.break %i, %j : i32, i32 }
    nv_tileaa.continue %j, %same, %dead : i32, i32, i32
  }
  "test.use"(%r#1) : (i32) -> ()
  nv_tileaa.return
}

// A loop without effects whose results nothing reads goes; one that a return may end stays.
// CHECK-LABEL: nv_tileaa.func @unused
nv_tileaa.func @unused(%x: i32, %c: i1) {
  // CHECK-NEXT: nv_tileaa.loop {
  // CHECK-NEXT: nv_tileaa.if %{{.*}} {
  // CHECK-NEXT: nv_tileaa.return
  // CHECK-NOT: nv_tileaa.loop
  %r = nv_tileaa.loop (%i = %x) : (i32) -> i32 {
    %j = arith.muli %i, %x : i32
    nv_tileaa.if %c { nv_tileaa.break %j : i32 }
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.loop {
    nv_tileaa.if %c { nv_tileaa.return }
    nv_tileaa.continue
  }
  nv_tileaa.return
}
