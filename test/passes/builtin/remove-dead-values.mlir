// RUN: tessera-opt %s --remove-dead-values | filecheck %s
// RUN: tessera-opt %s --remove-dead-values --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: tessera-opt %s --remove-dead-values=canonicalize=false | filecheck %s --check-prefix=POISON

// The loop stays as it is, with poison for what nobody needs.
// POISON-LABEL: @loop
// POISON: %[[P:.*]] = ub.poison : i32
// POISON: scf.for {{.*}} iter_args(%s = %x, %t = %[[P]]) -> (i32, i32)

// CHECK: func.func private @callee(%a: i32 {x.kept}) -> i32 {
// CHECK-NOT: muli
// CHECK: return %{{.*}} : i32
func.func private @callee(%a: i32 {x.kept}, %b: i32 {x.gone}) -> (i32, i32) {
  %c = arith.addi %a, %a : i32
  %d = arith.muli %b, %b : i32
  return %c, %d : i32, i32
}
// CHECK-LABEL: @caller
// CHECK: %[[R:.*]] = call @callee(%x) : (i32) -> i32
// CHECK: return %[[R]] : i32
func.func @caller(%x: i32, %y: i32) -> i32 {
  %z = arith.addi %y, %y : i32
  %r:2 = call @callee(%x, %z) : (i32, i32) -> (i32, i32)
  return %r#0 : i32
}

// Where no parameter with attributes is left, there is no list of empty ones.
// CHECK: func.func private @bare(%{{[^:]*}}: i32) -> i32 {
// CHECK: return
// GENERIC: "func.func"() <{function_type = (i32) -> i32, sym_name = "bare", sym_visibility = "private"}>
func.func private @bare(%a: i32, %b: i32 {x.gone}) -> i32 {
  %c = arith.addi %a, %a : i32
  return %c : i32
}
func.func @calls_bare(%x: i32) -> i32 {
  %r = call @bare(%x, %x) : (i32, i32) -> i32
  return %r : i32
}

// What only a recursive call passes on is not needed.
// CHECK: func.func private @recursive() {
// CHECK-NEXT: call @recursive() : () -> ()
func.func private @recursive(%a: i32) -> i32 {
  %r = call @recursive(%a) : (i32) -> i32
  return %r : i32
}

// CHECK-LABEL: @loop
// CHECK: scf.for {{.*}} iter_args(%s = %x) -> (i32)
// CHECK-NOT: muli
// CHECK: scf.yield
func.func @loop(%x: i32, %n: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x, %t = %x) -> (i32, i32) {
    %u = arith.addi %s, %s : i32
    %v = arith.muli %t, %t : i32
    scf.yield %u, %v : i32, i32
  }
  return %r#0 : i32
}

// Arguments of blocks, where a branch passes some to one successor and some to another.
// CHECK-LABEL: @branches
// CHECK: cf.cond_br %c, ^[[A:.*]], ^[[B:.*]](%x : i32)
// CHECK: ^[[A]]:
// CHECK-NOT: muli
// CHECK: ^[[B]](%s: i32):
func.func @branches(%x: i32, %c: i1) -> i32 {
  cf.cond_br %c, ^a(%x, %x : i32, i32), ^b(%x : i32)
^a(%p: i32, %q: i32):
  %w = arith.muli %p, %q : i32
  cf.br ^b(%x : i32)
^b(%s: i32):
  return %s : i32
}

// What is computed for a needed argument of a block stays.
// CHECK-LABEL: @computed
// CHECK-NOT: muli
// CHECK: %[[V:.*]] = arith.addi %x, %x : i32
// CHECK: cf.cond_br %c, ^[[A:.*]], ^[[B:.*]](%[[V]] : i32)
// CHECK: ^[[A]]:
// CHECK: %[[W:.*]] = arith.subi %x, %x : i32
// CHECK: cf.br ^[[B]](%[[W]] : i32)
// What is computed for one that nobody needs does not.
// POISON-LABEL: @computed
// POISON-NOT: muli
// POISON: cf.cond_br %c, ^a, ^b
func.func @computed(%x: i32, %c: i1) -> i32 {
  %u = arith.muli %x, %x : i32
  %v = arith.addi %x, %x : i32
  cf.cond_br %c, ^a(%u : i32), ^b(%v : i32)
^a(%p: i32):
  %w = arith.subi %x, %x : i32
  cf.br ^b(%w : i32)
^b(%s: i32):
  return %s : i32
}

// What only the next iteration of a loop of blocks needs is not needed.
// CHECK-LABEL: @counted
// CHECK: ^[[L:.*]](%i: i32):
// CHECK-NOT: muli
// CHECK: cf.cond_br %{{.*}}, ^[[L]](%{{.*}} : i32), ^
func.func @counted(%x: i32, %n: i32) -> i32 {
  cf.br ^a(%x, %x : i32, i32)
^a(%i: i32, %p: i32):
  %q = arith.muli %p, %n : i32
  %j = arith.addi %i, %x : i32
  %c = arith.cmpi slt, %j, %n : i32
  cf.cond_br %c, ^a(%j, %q : i32, i32), ^b
^b:
  return %j : i32
}

// A parameter that a branch passes to an argument that nobody needs is not needed; the branch's condition is.
// CHECK: func.func private @branching(%c: i1, %{{[^:]*}}: i32) -> i32 {
func.func private @branching(%c: i1, %a: i32, %b: i32) -> i32 {
  cf.cond_br %c, ^a(%a : i32), ^b(%b : i32)
^a(%p: i32):
  cf.br ^b(%p : i32)
^b(%q: i32):
  return %b : i32
}
func.func @calls_branching(%c: i1, %x: i32, %y: i32) -> i32 {
  %r = call @branching(%c, %x, %y) : (i1, i32, i32) -> i32
  return %r : i32
}

// A parameter that a loop yields for a result that somebody needs is needed.
// CHECK: func.func private @looping(%{{[^:]*}}: index, %{{[^:]*}}: i32, %{{[^:]*}}: i32) -> i32 {
func.func private @looping(%n: index, %a: i32, %b: i32, %dead: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a, %t = %dead) -> (i32, i32) {
    scf.yield %b, %t : i32, i32
  }
  return %r#0 : i32
}
func.func @calls_looping(%n: index, %x: i32, %y: i32) -> i32 {
  %r = call @looping(%n, %x, %y, %y) : (index, i32, i32, i32) -> i32
  return %r : i32
}

// A value that an effect needs stays, wherever it is.
// CHECK-LABEL: @effect
// CHECK: func.call @printed(%a)
func.func @effect(%a: i32, %c: i1) {
  scf.if %c {
    func.call @printed(%a) : (i32) -> ()
  }
  return
}
func.func private @printed(i32)

// The signature stays if not every call is known: of a public function,
// CHECK: func.func @public(%a: i32, %b: i32) -> i32
func.func @public(%a: i32, %b: i32) -> i32 {
  return %a : i32
}
// of one whose address is taken,
// CHECK: func.func private @taken(%a: i32, %b: i32) -> i32
func.func private @taken(%a: i32, %b: i32) -> i32 {
  return %a : i32
}
func.func @takes(%a: i32) -> ((i32, i32) -> i32) {
  %r = call @taken(%a, %a) : (i32, i32) -> i32
  %f = constant @taken : (i32, i32) -> i32
  return %f : (i32, i32) -> i32
}
// and of one with the name of another in a module inside.
// CHECK: func.func private @twice(%a: i32)
func.func private @twice(%a: i32) {
  return
}
func.func @calls_twice(%a: i32) {
  call @twice(%a) : (i32) -> ()
  return
}
module @inside {
  func.func private @twice(%a: i32)
  func.func @calls_the_other(%a: i32) {
    // CHECK: call @twice(%a) : (i32) -> ()
    call @twice(%a) : (i32) -> ()
    return
  }
}
