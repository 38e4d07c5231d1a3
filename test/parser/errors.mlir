// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// Several independent errors of one file are all reported.

func.func @all(%a: i32) {
  // expected-error@+1 {{use of undeclared SSA value name '%c'}}
  %0 = arith.addi %c, %a : i32
  // expected-error@+1 {{unknown op 'arith.adddi'; did you mean 'arith.addi'?}}
  %1 = arith.adddi %a, %a : i32
  // A value whose definition is in error may be used without a further one.
  %2 = arith.addi %1, %0 : i32
  // expected-error@+1 {{expected ',', found '%'}}
  %3 = arith.addi %a %a : i32
  return
}

// -----

func.func @redefined(%a: i32) {
  // expected-note@+1 {{previously defined here}}
  %0 = arith.addi %a, %a : i32
  // expected-error@+1 {{redefinition of SSA value '%0'}}
  %0 = arith.addi %a, %a : i32
  return
}

// -----

func.func @dominance(%c: i1, %c0: i32) {
  cf.cond_br %c, ^a, ^b
^a:
  // expected-note@+1 {{operand defined here}}
  %0 = arith.constant 1 : i32
  cf.br ^b
^b:
  // expected-error@+1 {{operand #0 does not dominate this use}}
  %1 = arith.addi %0, %c0 : i32
  return
}

// -----

// expected-error@+1 {{undefined type alias '!t'; define it with '!t = …'}}
func.func private @alias(!t)

// -----

func.func @block() {
  // expected-error@+1 {{reference to an undefined block '^nowhere'}}
  cf.br ^nowhere
}

// -----

// expected-error@+1 {{alias '!a' is defined recursively}}
!a = tuple<tensor<4xi32>, !a>
func.func private @alias(!a)

// -----

func.func @types(%a: i32, %p: !llvm.ptr) {
  // expected-error@+1 {{custom op 'gpu.subgroup_reduce' expected a type for each result, found 0}}
  %0 = gpu.subgroup_reduce add %a : (i32) -> ()
  // expected-error@+1 {{custom op 'gpu.all_reduce' found 2 result types, expected 1}}
  %1 = gpu.all_reduce add %a {} : (i32) -> (i32, i32)
  // expected-error@+1 {{custom op 'nvvm.mbarrier.init' expected a type for each operand, found 1}}
  nvvm.mbarrier.init %p, %a : !llvm.ptr
  // expected-error@+1 {{custom op 'nvvm.mbarrier.inval' found 2 operand types, expected 1}}
  nvvm.mbarrier.inval %p : !llvm.ptr, i32
  return
}
