// RUN: tessera-opt %s --allow-unregistered-dialect --tileaa-uplift-loops --canonicalize | filecheck %s

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

// By 3 it counts past 100, but not past the largest number. With an unknown bound, or next to the largest, it may: the
// last counter is then asserted to be no less than the bound.
// CHECK-LABEL: nv_tileaa.func @steps
// CHECK-SAME: (%[[L:.*]]: i32, %[[N:.*]]: i32)
nv_tileaa.func @steps(%l: i32, %n: i32) {
  %three = arith.constant 3 : i32
  %hundred = arith.constant 100 : i32
  %most = arith.constant 2147483647 : i32
  // CHECK: scf.for %{{.*}} = %[[L]] to %{{.*}} step %{{.*}} {{ *}}: i32 {
  // CHECK: }
  // CHECK-NOT: nv_tileaa.assert
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi slt, %i, %hundred : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %three : i32
    nv_tileaa.continue %j : i32
  }
  // CHECK: scf.for %[[I:.*]] = %[[L]] to %[[N]] step %[[S:[a-z]+]] {{ *}}: i32 {
  // CHECK: %[[SPAN:.*]] = arith.subi %[[N]], %[[L]] : i32
  // CHECK: %[[SPAN1:.*]] = arith.subi %[[SPAN]], %{{.*}} : i32
  // CHECK: %[[STEPS1:.*]] = arith.divui %[[SPAN1]], %[[S]] : i32
  // CHECK: %[[STEPS:.*]] = arith.addi %[[STEPS1]], %{{.*}} : i32
  // CHECK: %[[FAR:.*]] = arith.muli %[[STEPS]], %[[S]] : i32
  // CHECK: %[[END:.*]] = arith.addi %[[L]], %[[FAR]] : i32
  // CHECK: %[[ANY:.*]] = arith.cmpi slt, %[[L]], %[[N]] : i32
  // CHECK: %[[E:.*]] = arith.select %[[ANY]], %[[END]], %[[L]] : i32
  // CHECK: %[[ENDED:.*]] = arith.cmpi sge, %[[E]], %[[N]] : i32
  // CHECK: nv_tileaa.assert %[[ENDED]], "the counter of a loop wraps around, and the loop would go on" : i1
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %three : i32
    nv_tileaa.continue %j : i32
  }
  // CHECK: scf.for
  // CHECK: nv_tileaa.assert
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi slt, %i, %most : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %three : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.return
}

// The last value of the counter is carried where it is needed.
// CHECK-LABEL: nv_tileaa.func @last
nv_tileaa.func @last(%l: i32, %n: i32) -> i32 {
  %one = arith.constant 1 : i32
  // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args
  // CHECK: nv_tileaa.return %[[R]] : i32
  %r = nv_tileaa.loop (%i = %l) : (i32) -> i32 {
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break %i : i32 }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.return %r : i32
}

// `while i >= k and i < k + n`, as an exporter writes it: what the branch computes is there before the loop, which has
// no iteration if its first counter is less than the lower bound. A counter that wraps around is less, too.
// CHECK-LABEL: nv_tileaa.func @range
// CHECK-SAME: (%[[L:.*]]: i32, %[[K0:.*]]: i32, %[[N:.*]]: i32)
nv_tileaa.func @range(%l: i32, %k0: i32, %n: i32) {
  %four = arith.constant 4 : i32
  %false = arith.constant false
  // CHECK: %[[K:.*]] = nv_tileaa.assume %[[K0]]
  %k = nv_tileaa.assume %k0 {lower = 0 : i64} : i32
  // CHECK: %[[U:.*]] = arith.addi %[[K]], %[[N]] : i32
  // CHECK: %[[ANY:.*]] = arith.cmpi sge, %[[L]], %[[K]] : i32
  // CHECK: %[[TO:.*]] = arith.select %[[ANY]], %[[U]], %[[L]] : i32
  // CHECK: scf.for %[[I:.*]] = %[[L]] to %[[TO]] step %{{.*}} {{ *}}: i32 {
  // CHECK-NEXT: "test.use"(%[[I]])
  // CHECK-NEXT: }
  // CHECK-NEXT: nv_tileaa.return
  nv_tileaa.loop (%i = %l) : (i32) {
    %above = arith.cmpi sge, %i, %k : i32
    %more = scf.if %above -> (i1) {
      %u = arith.addi %k, %n : i32
      %below = arith.cmpi slt, %i, %u : i32
      scf.yield %below : i1
    } else {
      scf.yield %false : i1
    }
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %four : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.return
}

// The lower bound may be next to the smallest number: the assertion compares with both.
// CHECK-LABEL: nv_tileaa.func @low_range
nv_tileaa.func @low_range(%l: i32, %k: i32, %n: i32) {
  %four = arith.constant 4 : i32
  // CHECK: scf.for
  // CHECK: %[[E:.*]] = arith.select
  // CHECK-DAG: %[[BELOW:.*]] = arith.cmpi slt, %[[E]], %{{.*}} : i32
  // CHECK-DAG: %[[ABOVE:.*]] = arith.cmpi sgt, %[[E]], %{{.*}} : i32
  // CHECK: %[[AGAIN:.*]] = arith.andi %[[BELOW]], %[[ABOVE]] : i1
  // CHECK: %[[ENDED:.*]] = arith.xori %[[AGAIN]], %{{.*}} : i1
  // CHECK: nv_tileaa.assert %[[ENDED]]
  nv_tileaa.loop (%i = %l) : (i32) {
    %below = arith.cmpi sgt, %n, %i : i32
    %above = arith.cmpi sgt, %i, %k : i32
    %more = arith.andi %below, %above : i1
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %four : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.return
}

// Two upper bounds, of which one is in the range, and a condition that the loop does not change. The loop is left if
// one of them does not hold.
// CHECK-LABEL: nv_tileaa.func @bounds
// CHECK-SAME: (%[[L:.*]]: i32, %[[N:.*]]: i32, %[[M0:.*]]: i32, %[[C:.*]]: i1)
nv_tileaa.func @bounds(%l: i32, %n: i32, %m0: i32, %c: i1) {
  %one = arith.constant 1 : i32
  %true = arith.constant true
  // CHECK: %[[M:.*]] = nv_tileaa.assume %[[M0]]
  %m = nv_tileaa.assume %m0 {upper = 100 : i64} : i32
  // CHECK: %[[M1:.*]] = arith.addi %[[M]], %{{.*}} : i32
  // CHECK: %[[U:.*]] = arith.minsi %[[N]], %[[M1]] : i32
  // CHECK: %[[TO:.*]] = arith.select %[[C]], %[[L]], %[[U]] : i32
  // CHECK: scf.for %{{.*}} = %[[L]] to %[[TO]]
  // CHECK-NOT: nv_tileaa.assert
  nv_tileaa.loop (%i = %l) : (i32) {
    %done = arith.cmpi sge, %i, %n : i32
    %beyond = arith.cmpi slt, %m, %i : i32
    %either = arith.select %done, %true, %beyond : i1
    %any = arith.ori %either, %c : i1
    nv_tileaa.if %any { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.return
}

// `while i <= n` has no end for the largest n.
// CHECK-LABEL: nv_tileaa.func @inclusive
// CHECK-SAME: (%[[L:.*]]: i32, %[[N:.*]]: i32)
nv_tileaa.func @inclusive(%l: i32, %n: i32) {
  %one = arith.constant 1 : i32
  // CHECK: %[[U:.*]] = arith.addi %[[N]], %{{.*}} : i32
  // CHECK: scf.for %{{.*}} = %[[L]] to %[[U]]
  // CHECK: %[[E:.*]] = arith.select
  // CHECK: %[[ENDED:.*]] = arith.cmpi sgt, %[[E]], %[[N]] : i32
  // CHECK: nv_tileaa.assert %[[ENDED]]
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi sle, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.return
}

// A step of which only the facts say that it is positive.
// CHECK-LABEL: nv_tileaa.func @programs
nv_tileaa.func @programs(%l: i32, %n: i32) {
  // CHECK: scf.for
  // CHECK: nv_tileaa.assert
  %x = nv_tileaa.get_num_programs {axis = 0 : i32} : i32
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %x : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.return
}

// The condition of an inner loop may compare the counter of an outer one: it holds for all iterations or for none.
// CHECK-LABEL: nv_tileaa.func @nested
// CHECK-SAME: (%[[M:.*]]: i32, %[[LIMIT:.*]]: i32, %[[N:.*]]: i32)
nv_tileaa.func @nested(%m: i32, %limit: i32, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // CHECK: scf.for %[[O:.*]] = %{{.*}} to %[[M]]
  // CHECK: %[[ACTIVE:.*]] = arith.cmpi slt, %[[O]], %[[LIMIT]] : i32
  // CHECK: %[[TO:.*]] = arith.select %[[ACTIVE]], %[[N]], %{{.*}} : i32
  // CHECK: scf.for %{{.*}} = %{{.*}} to %[[TO]]
  nv_tileaa.loop (%o = %zero) : (i32) {
    %more = arith.cmpi slt, %o, %m : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    %active = arith.cmpi slt, %o, %limit : i32
    nv_tileaa.loop (%i = %zero) : (i32) {
      %below = arith.cmpi slt, %i, %n : i32
      %both = arith.andi %active, %below : i1
      nv_tileaa.if %both { } else { nv_tileaa.break }
      "test.use"(%i) : (i32) -> ()
      %j = arith.addi %i, %one : i32
      nv_tileaa.continue %j : i32
    }
    %p = arith.addi %o, %one : i32
    nv_tileaa.continue %p : i32
  }
  nv_tileaa.return
}

// What is computed before the loop is left may be what the next iteration begins with.
// CHECK-LABEL: nv_tileaa.func @ahead
nv_tileaa.func @ahead(%l: i32, %n: i32, %x: f32) {
  %one = arith.constant 1 : i32
  // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}) -> (f32)
  // CHECK-NEXT: %[[TWICE:.*]] = arith.addf %[[A]], %[[A]]
  // CHECK-NEXT: scf.yield %[[TWICE]] : f32
  // CHECK: "test.use"(%[[R]])
  %r = nv_tileaa.loop (%i = %l, %a = %x) : (i32, f32) -> f32 {
    %twice = arith.addf %a, %a : f32
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break %a : f32 }
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j, %twice : i32, f32
  }
  "test.use"(%r) : (f32) -> ()
  nv_tileaa.return
}

// A division that each iteration begins with is executed at least once. One that a branch guards may not be.
// CHECK-LABEL: nv_tileaa.func @quotient
// CHECK-SAME: (%[[L:.*]]: i32, %[[N:.*]]: i32, %[[D:.*]]: i32)
nv_tileaa.func @quotient(%l: i32, %n: i32, %d: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %false = arith.constant false
  // CHECK: %[[Q:.*]] = arith.divsi %[[N]], %[[D]] : i32
  // CHECK: scf.for %{{.*}} = %[[L]] to %[[Q]]
  nv_tileaa.loop (%i = %l) : (i32) {
    %q = arith.divsi %n, %d : i32
    %more = arith.cmpi slt, %i, %q : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  // CHECK: nv_tileaa.loop
  nv_tileaa.loop (%i = %l) : (i32) {
    %defined = arith.cmpi ne, %d, %zero : i32
    %more = scf.if %defined -> (i1) {
      %q = arith.divsi %n, %d : i32
      %below = arith.cmpi slt, %i, %q : i32
      scf.yield %below : i1
    } else {
      scf.yield %false : i1
    }
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %one : i32
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

// `while not (i >= n or c)`: what is negated is the conjunction of what is.
// CHECK-LABEL: nv_tileaa.func @negated
// CHECK-SAME: (%[[L:.*]]: i32, %[[N:.*]]: i32, %[[C:.*]]: i1)
nv_tileaa.func @negated(%l: i32, %n: i32, %c: i1) {
  %one = arith.constant 1 : i32
  %true = arith.constant true
  // CHECK: %[[TO:.*]] = arith.select %[[C]], %[[L]], %[[N]] : i32
  // CHECK: scf.for %{{.*}} = %[[L]] to %[[TO]] step
  nv_tileaa.loop (%i = %l) : (i32) {
    %done = arith.cmpi sge, %i, %n : i32
    %stop = arith.ori %done, %c : i1
    %more = arith.xori %stop, %true : i1
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.return
}

// The counter that is asked for is the one of which it is asserted that it ends the loop.
// CHECK-LABEL: nv_tileaa.func @last_of_steps
// CHECK-SAME: (%[[L:.*]]: i32, %[[N:.*]]: i32)
nv_tileaa.func @last_of_steps(%l: i32, %n: i32) -> i32 {
  %three = arith.constant 3 : i32
  // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args
  // CHECK: %[[ENDED:.*]] = arith.cmpi sge, %[[R]], %[[N]] : i32
  // CHECK-NEXT: nv_tileaa.assert %[[ENDED]]
  // CHECK-NEXT: nv_tileaa.return %[[R]] : i32
  %r = nv_tileaa.loop (%i = %l) : (i32) -> i32 {
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break %i : i32 }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %three : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.return %r : i32
}

// The largest bounds from which a step of 3 does not wrap around, and the next ones.
// CHECK-LABEL: nv_tileaa.func @largest_bounds
nv_tileaa.func @largest_bounds(%l: i32) {
  %three = arith.constant 3 : i32
  %a = arith.constant 2147483645 : i32
  %b = arith.constant 2147483646 : i32
  // CHECK: scf.for
  // CHECK-NOT: nv_tileaa.assert
  // CHECK: scf.for
  // CHECK: nv_tileaa.assert
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi slt, %i, %a : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %three : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi slt, %i, %b : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %three : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.return
}

// Unsigned numbers: a bound that is less than 2^31 is far from the largest; of any other, nothing is known.
// CHECK-LABEL: nv_tileaa.func @unsigned_steps
// CHECK-SAME: (%[[L:.*]]: i32, %[[N0:.*]]: i32, %[[M:.*]]: i32)
nv_tileaa.func @unsigned_steps(%l: i32, %n0: i32, %m: i32) {
  %three = arith.constant 3 : i32
  %n = nv_tileaa.assume %n0 {lower = 0 : i64} : i32
  // CHECK: scf.for unsigned
  // CHECK-NOT: nv_tileaa.assert
  // CHECK: scf.for unsigned
  // CHECK: %[[ANY:.*]] = arith.cmpi ult, %[[L]], %[[M]] : i32
  // CHECK: %[[E:.*]] = arith.select %[[ANY]], %{{.*}}, %[[L]] : i32
  // CHECK: %[[ENDED:.*]] = arith.cmpi uge, %[[E]], %[[M]] : i32
  // CHECK: nv_tileaa.assert %[[ENDED]]
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi ult, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %three : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi ult, %i, %m : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    "test.use"(%i) : (i32) -> ()
    %j = arith.addi %i, %three : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.return
}
