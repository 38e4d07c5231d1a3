// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @for_arguments(%i: index, %x: f32) {
  // expected-error @below {{expected body to have 2 arguments, the induction variable and the carried values, but got 1}}
  %0 = "scf.for"(%i, %i, %i, %x) ({
  ^bb0(%k: index):
    scf.yield %x : f32
  }) : (index, index, index, f32) -> f32
  return
}

// -----

func.func @for_iter_type(%i: index, %x: f32, %y: f64) {
  // expected-error @below {{types mismatch between 0th iter operand and defined value}}
  %0 = "scf.for"(%i, %i, %i, %x) ({
  ^bb0(%k: index, %a: f32):
    scf.yield %y : f64
  }) : (index, index, index, f32) -> f64
  return
}

// -----

func.func @for_region_argument(%i: index, %x: f32, %y: f64) {
  // expected-error @below {{types mismatch between 0th iter region arg and defined value}}
  %0 = "scf.for"(%i, %i, %i, %x) ({
  ^bb0(%k: index, %a: f64):
    scf.yield %x : f32
  }) : (index, index, index, f32) -> f32
  return
}

// -----

func.func @switch_region_arguments(%i: index) {
  // expected-error @below {{expects regions without arguments}}
  "scf.index_switch"(%i) <{cases = array<i64>}> ({
  ^bb0(%k: index):
    scf.yield
  }) : (index) -> ()
  return
}

// -----

func.func @parallel_counts(%i: index) {
  // expected-error @below {{expects as many lower and upper bounds as steps}}
  "scf.parallel"(%i, %i, %i, %i, %i) <{operandSegmentSizes = array<i32: 2, 2, 1, 0>}> ({
  ^bb0(%k: index):
    scf.reduce
  }) : (index, index, index, index, index) -> ()
  return
}

// -----

func.func @reduction_empty(%i: index, %x: f32) {
  %0 = scf.parallel (%k) = (%i) to (%i) step (%i) init (%x) -> f32 {
    // expected-error @below {{reduction bodies must be terminated with an 'scf.reduce.return' op}}
    "scf.reduce"(%x) ({
    ^bb0(%a: f32, %b: f32):
    }) : (f32) -> ()
  }
  return
}

// -----

func.func @reduction_end(%i: index, %x: f32) {
  %0 = scf.parallel (%k) = (%i) to (%i) step (%i) init (%x) -> f32 {
    // expected-error @below {{reduction bodies must be terminated with an 'scf.reduce.return' op}}
    scf.reduce(%x : f32) {
    ^bb0(%a: f32, %b: f32):
      scf.yield
    }
  }
  return
}

// -----

func.func @parallel_end(%i: index) {
  // expected-error @below {{scf.reduce}}
  "scf.parallel"(%i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%k: index):
    // expected-note @below {{terminator here}}
    scf.yield
  }) : (index, index, index) -> ()
  return
}
