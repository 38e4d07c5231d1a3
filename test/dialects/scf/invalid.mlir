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

func.func @reduction_without_an_initial_value(%a: index, %x: f32) {
  // expected-error @below {{'scf.parallel' op expects number of results: 1 to be the same as number of initial values: 0}}
  %0 = "scf.parallel"(%a, %a, %a) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    "scf.reduce"(%x) ({
    ^bb1(%l: f32, %r: f32):
      scf.reduce.return %l : f32
    }) : (f32) -> ()
  }) : (index, index, index) -> f32
  return
}

// -----

func.func @reduction_with_two_initial_values(%a: index, %x: f32) {
  // expected-error @below {{'scf.parallel' op expects number of results: 1 to be the same as number of initial values: 2}}
  %0 = "scf.parallel"(%a, %a, %a, %x, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 2>}> ({
  ^bb0(%i: index):
    "scf.reduce"(%x) ({
    ^bb1(%l: f32, %r: f32):
      scf.reduce.return %l : f32
    }) : (f32) -> ()
  }) : (index, index, index, f32, f32) -> f32
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

// -----

func.func @forall_results(%t: tensor<4xf32>) {
  // expected-error @below {{'scf.forall' op produces 2 results, but has only 1 outputs}}
  %0:2 = "scf.forall"(%t) <{operandSegmentSizes = array<i32: 0, 0, 0, 1>, staticLowerBound = array<i64: 0>, staticStep = array<i64: 1>, staticUpperBound = array<i64: 4>}> ({
  ^bb0(%k: index, %a: tensor<4xf32>):
    scf.forall.in_parallel {
    }
  }) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @forall_body() {
  // expected-error @below {{'scf.forall' op region #0 ('region') failed to verify constraint: region with 1 blocks}}
  "scf.forall"() <{operandSegmentSizes = array<i32: 0, 0, 0, 0>, staticLowerBound = array<i64: 0>, staticStep = array<i64: 1>, staticUpperBound = array<i64: 4>}> ({
  }) : () -> ()
  return
}

// -----

func.func @forall_index() {
  // expected-error @below {{'scf.forall' op expects 0-th block argument to be an index}}
  "scf.forall"() <{operandSegmentSizes = array<i32: 0, 0, 0, 0>, staticLowerBound = array<i64: 0>, staticStep = array<i64: 1>, staticUpperBound = array<i64: 4>}> ({
  ^bb0(%k: i32):
    scf.forall.in_parallel {
    }
  }) : () -> ()
  return
}

// -----

func.func @forall_output(%t: tensor<4xf32>) {
  // expected-error @below {{'scf.forall' op type mismatch between 0-th output and corresponding block argument}}
  %0 = "scf.forall"(%t) <{operandSegmentSizes = array<i32: 0, 0, 0, 1>, staticLowerBound = array<i64: 0>, staticStep = array<i64: 1>, staticUpperBound = array<i64: 4>}> ({
  ^bb0(%k: index, %a: tensor<8xf32>):
    scf.forall.in_parallel {
    }
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @while_types(%x: i32, %c: i1) {
  // expected-error @below {{custom op 'scf.while' expected as many input types as operands (expected 1 got 0)}}
  scf.while (%a = %x) : () -> () {
    scf.condition(%c)
  } do {
    scf.yield
  }
  return
}

// -----

func.func @while_body(%c: i1) {
  // expected-error @below {{'scf.while' op region #1 ('after') failed to verify constraint: region with 1 blocks}}
  "scf.while"() ({
    scf.condition(%c)
  }, {
  }) : () -> ()
  return
}

// -----

func.func @reduce_body(%i: index, %x: f32) {
  %0 = "scf.parallel"(%i, %i, %i, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
  ^bb0(%k: index):
    // expected-error @below {{'scf.reduce' op region #0 ('reductions') failed to verify constraint: region with 1 blocks}}
    "scf.reduce"(%x) ({
    }) : (f32) -> ()
  }) : (index, index, index, f32) -> f32
  return
}

// -----

func.func @reduce_arguments(%i: index, %x: f32) {
  %0 = "scf.parallel"(%i, %i, %i, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
  ^bb0(%k: index):
    // expected-error @below {{'scf.reduce' op expected two block arguments with type 'f32' in the 0-th reduction region}}
    "scf.reduce"(%x) ({
    ^bb0(%a: f32):
      scf.reduce.return %a : f32
    }) : (f32) -> ()
  }) : (index, index, index, f32) -> f32
  return
}

// -----

func.func @parallel_counters(%i: index) {
  // expected-error @below {{'scf.parallel' op expects the same number of induction variables: 0 as bound and step values: 1}}
  "scf.parallel"(%i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    scf.reduce
  }) : (index, index, index) -> ()
  return
}

// -----

func.func @parallel_counter_type(%i: index) {
  // expected-error @below {{'scf.parallel' op expects arguments for the induction variable to be of index type}}
  "scf.parallel"(%i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%k: i32):
    scf.reduce
  }) : (index, index, index) -> ()
  return
}

// -----

func.func @parallel_end(%i: index) {
  // expected-error @below {{'scf.parallel' op expects body to terminate with 'scf.reduce'}}
  "scf.parallel"(%i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%k: index):
    // expected-note @below {{terminator here}}
    llvm.unreachable
  }) : (index, index, index) -> ()
  return
}

// -----

func.func @parallel_result_type(%i: index, %x: f32, %y: f64) {
  %0 = "scf.parallel"(%i, %i, %i, %y) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
  ^bb0(%k: index):
    // expected-error @below {{'scf.reduce' op expects type of 0-th reduction operand: 'f32' to be the same as the 0-th result type: 'f64'}}
    "scf.reduce"(%x) ({
    ^bb0(%a: f32, %b: f32):
      scf.reduce.return %a : f32
    }) : (f32) -> ()
  }) : (index, index, index, f64) -> f64
  return
}

// -----

func.func @in_parallel_body(%i: index) {
  scf.forall (%k) in (4) {
    // expected-error @below {{'scf.forall.in_parallel' op expects region #0 to have 0 or 1 blocks}}
    "scf.forall.in_parallel"() ({
      llvm.unreachable
    ^bb1:
      llvm.unreachable
    }) : () -> ()
  }
  return
}
