// RUN: tessera-opt %s --tileas-slicing --canonicalize --split-input-file --verify-diagnostics -o %t
// RUN: filecheck %s --input-file %t

// Two slices an iteration, and a loop for the one that may be left.
// CHECK-LABEL: nv_tileaa.func @residual
// CHECK: %[[MIDDLE:.*]] = arith.muli %{{.*}}, %{{.*}} : i32
// CHECK: %[[A:.*]] = scf.for %[[I:.*]] = %{{.*}} to %[[MIDDLE]] step %{{.*}} iter_args(%[[X:.*]] = %{{.*}}) -> (i32)
// CHECK-NEXT: %[[B:.*]] = arith.muli %[[X]], %[[I]]
// CHECK-NEXT: %[[J:.*]] = arith.addi %[[I]], %{{.*}}
// CHECK-NEXT: %[[C:.*]] = arith.muli %[[B]], %[[J]]
// CHECK-NEXT: scf.yield %[[C]]
// CHECK: scf.for %{{.*}} = %[[MIDDLE]] to %n step %{{.*}} iter_args(%{{.*}} = %[[A]])
// CHECK-NOT: sliceCount
nv_tileaa.func @residual(%n: i32) -> i32 {
  %z = arith.constant 0 : i32
  %o = arith.constant 1 : i32
  %r = scf.for %i = %z to %n step %o iter_args(%x = %o) -> (i32) : i32 {
    %y = arith.muli %x, %i : i32
    scf.yield %y : i32
  } {sliceCount = 2 : i64}
  nv_tileaa.return %r : i32
}

// The largest bound and step that fit: two slices, and nothing is left.
// CHECK-LABEL: nv_tileaa.func @largest
// CHECK: %[[X:.*]] = arith.muli %n, %n
// CHECK-NEXT: arith.muli
// CHECK-NOT: arith.muli
// CHECK: nv_tileaa.return
nv_tileaa.func @largest(%n: i32) -> i32 {
  %z = arith.constant 0 : i32
  %e = arith.constant 2147483646 : i32
  %s = arith.constant 0x3FFFFFFF : i32
  %r = scf.for %i = %z to %e step %s iter_args(%x = %n) -> (i32) : i32 {
    %y = arith.muli %x, %n : i32
    scf.yield %y : i32
  } {sliceCount = 2 : i64}
  nv_tileaa.return %r : i32
}

// The number of iterations is a multiple of the slice count: nothing is left.
// CHECK-LABEL: nv_tileaa.func @whole
// CHECK-COUNT-1: scf.for
// CHECK-COUNT-3: arith.muli
// CHECK-NOT: scf.for
// CHECK: nv_tileaa.return
nv_tileaa.func @whole(%n: i32) -> i32 {
  %z = arith.constant 0 : i32
  %e = arith.constant 12 : i32
  %o = arith.constant 2 : i32
  %r = scf.for %i = %z to %e step %o iter_args(%x = %n) -> (i32) : i32 {
    %y = arith.muli %x, %i : i32
    scf.yield %y : i32
  } {sliceCount = 3 : i64}
  nv_tileaa.return %r : i32
}

// -----

nv_tileaa.func @text(%n: i32) {
  %o = arith.constant 1 : i32
  // expected-error @below {{The sliceCount need to be a IntegerAttr, found "two"}}
  scf.for %i = %o to %n step %o : i32 {
  } {sliceCount = "two"}
  nv_tileaa.return
}

// -----

nv_tileaa.func @none(%n: i32) {
  %o = arith.constant 1 : i32
  // expected-error @below {{has sliceCount = 0; expected a number from 1 to 1024}}
  scf.for %i = %o to %n step %o : i32 {
  } {sliceCount = 0 : i64}
  nv_tileaa.return
}

// -----

nv_tileaa.func @while(%c: i1) {
  // expected-error @below {{unsupported op in Slicing pass: 'scf.while' has no number of iterations; use scf.for}}
  scf.while : () -> () {
    scf.condition(%c)
  } do {
    scf.yield
  } attributes {sliceCount = 2 : i64}
  nv_tileaa.return
}

// -----

nv_tileaa.func @bound(%n: i32, %s: i32) {
  %o = arith.constant 1 : i32
  // expected-error @below {{unsupported op to be a lower bound in slicing pass: the bound of the iterations that are left may not fit i32}}
  scf.for %i = %o to %n step %s : i32 {
  } {sliceCount = 2 : i64}
  nv_tileaa.return
}

// -----

// The counter of the last slice fits, but not the one behind it, where the sliced loop would end.
nv_tileaa.func @last(%n: i32) {
  %z = arith.constant 0 : i32
  %e = arith.constant 2147483647 : i32
  %s = arith.constant 0x40000000 : i32
  // expected-error @below {{the bound of the iterations that are left may not fit i32}}
  scf.for %i = %z to %e step %s : i32 {
  } {sliceCount = 2 : i64}
  nv_tileaa.return
}

// -----

// The sliced loop would have a step that does not fit.
nv_tileaa.func @step(%n: i32, %s: i32) {
  %z = arith.constant 0 : i32
  %m = nv_tileaa.assume %n {upper = 16 : i64} : i32
  %t = nv_tileaa.assume %s {lower = 1 : i64, upper = 0x40000000 : i64} : i32
  // expected-error @below {{the bound of the iterations that are left may not fit i32}}
  scf.for %i = %z to %m step %t : i32 {
  } {sliceCount = 2 : i64}
  nv_tileaa.return
}

// -----

nv_tileaa.func @buffer(%n: i32) {
  %o = arith.constant 1 : i32
  scf.for %i = %o to %n step %o : i32 {
    // expected-error @below {{is not expected inside sliced part in SlicingPass: it would be there twice}}
    %b = nv_tileas.alloc_tensor : !nv_tileas.smem<1x64x64xf16>
  } {sliceCount = 2 : i64}
  nv_tileaa.return
}
