// RUN: tessera-opt %s --allow-unregistered-dialect --tileaa-uplift-loops --remarks=text -o /dev/null 2>&1 | filecheck %s

nv_tileaa.func @reasons(%l: i32, %n: i32, %c: i1, %s: i32) {
  %one = arith.constant 1 : i32
  // CHECK: :3: remark[missed]: the loop does not become a counted one: it is left or continued at several places [counted]
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    nv_tileaa.if %c { nv_tileaa.break }
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  // CHECK: :3: remark[missed]: the loop does not become a counted one: the branch that leaves it does more
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more { "test.use"(%i) : (i32) -> () } else { nv_tileaa.break }
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  // CHECK: :3: remark[missed]: the loop does not become a counted one: 'test.use' is executed before it is left
  nv_tileaa.loop (%i = %l) : (i32) {
    "test.use"(%i) : (i32) -> ()
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  // CHECK: :8: remark[missed]: the loop does not become a counted one: its results are computed in its last iteration
  %r = nv_tileaa.loop (%i = %l) : (i32) -> i32 {
    %twice = arith.addi %i, %i : i32
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break %twice : i32 }
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  // CHECK: :3: remark[missed]: the loop does not become a counted one: a part of its condition cannot be computed before it
  nv_tileaa.loop (%i = %l, %m = %n) : (i32, i32) {
    %more = arith.cmpi slt, %i, %m : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    %k = "test.use"(%i) : (i32) -> i32
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j, %k : i32, i32
  }
  // CHECK: :3: remark[missed]: the loop does not become a counted one: its condition does not compare a counter
  nv_tileaa.loop (%i = %l) : (i32) {
    nv_tileaa.if %c { nv_tileaa.break }
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  // CHECK: :3: remark[missed]: the loop does not become a counted one: its counter has no upper bound
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi sgt, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  // CHECK: :3: remark[missed]: the loop does not become a counted one: its counter is compared as a signed and as an unsigned number
  nv_tileaa.loop (%i = %l) : (i32) {
    %below = arith.cmpi slt, %i, %n : i32
    %above = arith.cmpi uge, %i, %l : i32
    %more = arith.andi %below, %above : i1
    nv_tileaa.if %more { } else { nv_tileaa.break }
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  // CHECK: :3: remark[missed]: the loop does not become a counted one: a bound of its counter may be the largest number, which it may be itself
  nv_tileaa.loop (%i = %l) : (i32) {
    %below = arith.cmpi sle, %i, %n : i32
    %above = arith.cmpi sge, %i, %l : i32
    %more = arith.andi %below, %above : i1
    nv_tileaa.if %more { } else { nv_tileaa.break }
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  // CHECK: :3: remark[missed]: the loop does not become a counted one: the step of its counter cannot be computed before it
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    %j = arith.addi %i, %i : i32
    nv_tileaa.continue %j : i32
  }
  // CHECK: :3: remark[missed]: the loop does not become a counted one: the step of its counter is not known to be positive
  nv_tileaa.loop (%i = %l) : (i32) {
    %more = arith.cmpi slt, %i, %n : i32
    nv_tileaa.if %more { } else { nv_tileaa.break }
    %j = arith.addi %i, %s : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.return
}

// 17 parts of a condition are not taken apart, and 16 are.
nv_tileaa.func @parts(%l: i32, %n: i32, %c: i1) {
  %one = arith.constant 1 : i32
  %c2 = arith.andi %c, %c : i1
  %c4 = arith.andi %c2, %c2 : i1
  %c8 = arith.andi %c4, %c4 : i1
  %c12 = arith.andi %c8, %c4 : i1
  %c14 = arith.andi %c12, %c2 : i1
  %c15 = arith.andi %c14, %c : i1
  // CHECK: :3: remark[missed]: the loop does not become a counted one: its condition has too many parts
  nv_tileaa.loop (%i = %l) : (i32) {
    %less = arith.cmpi slt, %i, %n : i32
    %more = arith.andi %less, %c15 : i1
    %again = arith.andi %more, %c : i1
    nv_tileaa.if %again { } else { nv_tileaa.break }
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  // CHECK-NOT: remark[missed]
  nv_tileaa.loop (%i = %l) : (i32) {
    %less = arith.cmpi slt, %i, %n : i32
    %more = arith.andi %less, %c15 : i1
    nv_tileaa.if %more { } else { nv_tileaa.break }
    %j = arith.addi %i, %one : i32
    nv_tileaa.continue %j : i32
  }
  nv_tileaa.return
}
