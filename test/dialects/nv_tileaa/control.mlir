// RUN: tessera-opt %s -o %t
// RUN: tessera-opt %t | diff %t -
// RUN: filecheck %s --input-file %t

// CHECK-LABEL: nv_tileaa.func @loops
nv_tileaa.func @loops(%n: i32, %c: i1) {
  // CHECK: %[[R:.*]] = nv_tileaa.loop (%[[I:.*]] = %{{.*}}) : (i32) -> i32 {
  %r = nv_tileaa.loop (%i = %n) : (i32) -> i32 {
    // CHECK-NEXT: %[[V:.*]] = nv_tileaa.if %{{.*}} -> (i32) {
    // CHECK-NEXT: nv_tileaa.yield %[[I]] : i32
    // CHECK-NEXT: } else {
    // CHECK-NEXT: nv_tileaa.break %[[I]] : i32
    // CHECK-NEXT: }
    %v = nv_tileaa.if %c -> (i32) {
      nv_tileaa.yield %i : i32
    } else {
      nv_tileaa.break %i : i32
    }
    // A yield without values may be left out.
    // CHECK-NEXT: nv_tileaa.if %{{.*}} {
    // CHECK-NEXT: } else {
    // CHECK-NEXT: nv_tileaa.return
    // CHECK-NEXT: }
    nv_tileaa.if %c {
      nv_tileaa.yield
    } else {
      nv_tileaa.return
    }
    // CHECK-NEXT: nv_tileaa.continue %[[V]] : i32
    nv_tileaa.continue %v : i32
  }
  // CHECK: %{{.*}}:2 = nv_tileaa.loop -> (i32, i1) {
  %s:2 = nv_tileaa.loop -> (i32, i1) {
    nv_tileaa.break %r, %c : i32, i1
  }
  // CHECK: nv_tileaa.loop {
  nv_tileaa.loop {
    nv_tileaa.break
  }
  nv_tileaa.return
}
