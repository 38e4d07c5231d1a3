// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @yield_count(%a: index, %x: f32) {
  // expected-error @below {{'scf.for' op along control flow edge from Operation scf.yield to Region #0: region branch point has 0 operands, but region successor needs 1 inputs}}
  %0 = scf.for %i = %a to %a step %a iter_args(%s = %x) -> (f32) {
    // expected-note @below {{region branch point}}
    scf.yield
  }
  return
}

// -----

func.func @yield_type(%a: index, %x: f32) {
  // expected-error @below {{'scf.for' op 0-th region iter_arg and 0-th yielded value have different type: 'f32' != 'index'}}
  %0 = scf.for %i = %a to %a step %a iter_args(%s = %x) -> (f32) {
    scf.yield %a : index
  }
  return
}

// -----

func.func @body_argument(%a: index) {
  // expected-error @below {{'scf.for' op expected induction variable to be same type as bounds and step}}
  "scf.for"(%a, %a, %a) ({
  ^bb0(%i: i32):
    scf.yield
  }) : (index, index, index) -> ()
  return
}

// -----

func.func @no_else(%c: i1) {
  // expected-error @below {{'scf.if' op must have an else block if defining values}}
  %0 = "scf.if"(%c) ({
    %1 = arith.constant 1 : i32
    scf.yield %1 : i32
  }, {
  }) : (i1) -> i32
  return
}

// -----

func.func @if_yield(%c: i1, %x: f32) {
  // expected-error @below {{'scf.if' op along control flow edge from Operation scf.yield to parent: successor operand type #0 'f32' should match successor input type #0 'i32'}}
  %0 = scf.if %c -> (i32) {
    %1 = arith.constant 1 : i32
    scf.yield %1 : i32
  } else {
    // expected-note @below {{region branch point}}
    scf.yield %x : f32
  }
  return
}

// -----

func.func @while_condition(%c: i1, %x: f32) {
  // expected-error @below {{'scf.while' op along control flow edge from Operation scf.condition to parent: successor operand type #0 'f32' should match successor input type #0 'i32'}}
  %0 = scf.while (%a = %x) : (f32) -> i32 {
    // expected-note @below {{region branch point}}
    scf.condition(%c) %a : f32
  } do {
  ^bb0(%b: f32):
    scf.yield %b : f32
  }
  return
}

// -----

func.func @duplicate_case(%a: index) {
  // expected-error @below {{'scf.index_switch' op has duplicate case value: 0}}
  scf.index_switch %a
  case 0 {
    scf.yield
  }
  case 0 {
    scf.yield
  }
  default {
    scf.yield
  }
  return
}

// -----

func.func @yield_outside() {
  // expected-error @below {{'scf.yield' op expects parent op to be one of 'scf.execute_region, scf.for, scf.if, scf.index_switch, scf.while'}}
  scf.yield
}

// -----

func.func @reduction(%a: index, %x: f32) {
  // expected-error @below {{'scf.parallel' op expects number of results: 1 to be the same as number of reductions: 0}}
  %0 = scf.parallel (%i) = (%a) to (%a) step (%a) init (%x) -> f32 {
    scf.reduce
  }
  return
}

// -----

func.func @execute_region_empty() {
  // expected-error @below {{region needs to have at least one block}}
  "scf.execute_region"() ({
  }) : () -> ()
  return
}

// -----

func.func @execute_region_arguments() {
  // expected-error @below {{region cannot have any arguments}}
  "scf.execute_region"() ({
  ^bb0(%k: index):
    scf.yield
  }) : () -> ()
  return
}

// -----

func.func @switch_cases(%i: index) {
  // expected-error @below {{has 1 case regions but 2 case values}}
  "scf.index_switch"(%i) <{cases = array<i64: 1, 2>}> ({
    scf.yield
  }, {
    scf.yield
  }) : (index) -> ()
  return
}

// -----

func.func @parallel_without_bounds() {
  // expected-error @below {{needs at least one tuple element for lowerBound, upperBound and step}}
  "scf.parallel"() <{operandSegmentSizes = array<i32: 0, 0, 0, 0>}> ({
    scf.reduce
  }) : () -> ()
  return
}

// -----

func.func @parallel_step(%i: index) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{constant step operand must be positive}}
  scf.parallel (%k) = (%i) to (%i) step (%c0) {
  }
  return
}

// -----

func.func @reduction_type(%i: index, %x: f32, %y: f64) {
  %0 = scf.parallel (%k) = (%i) to (%i) step (%i) init (%x) -> f32 {
    scf.reduce(%x : f32) {
    ^bb0(%a: f32, %b: f32):
      // expected-error @below {{must have type 'f32' (the type of the reduction inputs)}}
      scf.reduce.return %y : f64
    }
  }
  return
}

// -----

func.func @forall_mapping(%n: index) {
  // expected-error @below {{'scf.forall' op mapping attribute size must match op rank}}
  scf.forall (%i, %j) in (%n, 4) {
  } {mapping = [#gpu.thread<x>]}
  return
}

// -----

func.func @forall_masks(%n: index) {
  // expected-error @below {{'scf.forall' op "mapping" supports at most one device masking attribute}}
  scf.forall (%i) in (%n) {
  } {mapping = [#gpu.thread<x>, #gpu.mask<1>, #gpu.mask<2>]}
  return
}

// -----

func.func @forall_not_mapping(%n: index) {
  // expected-error @below {{'scf.forall' op attribute 'mapping' failed to satisfy constraint: Device Mapping array attribute}}
  scf.forall (%i) in (%n) {
  } {mapping = ["x"]}
  return
}

// -----

func.func @forall_bounds() {
  // expected-error @below {{expected 1 upper bound values, got 2}}
  "scf.forall"() <{operandSegmentSizes = array<i32: 0, 0, 0, 0>, staticLowerBound = array<i64: 0>, staticStep = array<i64: 1>, staticUpperBound = array<i64: 4, 5>}> ({
  ^bb0(%i: index):
    "scf.forall.in_parallel"() ({
    ^bb0:
    }) : () -> ()
  }) : () -> ()
  return
}

// -----

func.func @forall_arguments() {
  // expected-error @below {{'scf.forall' op region expects 1 arguments}}
  "scf.forall"() <{operandSegmentSizes = array<i32: 0, 0, 0, 0>, staticLowerBound = array<i64: 0>, staticStep = array<i64: 1>, staticUpperBound = array<i64: 4>}> ({
    "scf.forall.in_parallel"() ({
    ^bb0:
    }) : () -> ()
  }) : () -> ()
  return
}

// -----

func.func @forall_combines(%n: index) {
  scf.forall (%i) in (%n) {
    // expected-error @below {{'scf.forall.in_parallel' op expected only ParallelCombiningOpInterface ops}}
    scf.forall.in_parallel {
      %0 = arith.constant 1 : index
    }
  }
  return
}
