// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// Errors whose words or places differ from upstream's.

func.func @reduce_count(%i: index, %x: f32) {
  %0 = "scf.parallel"(%i, %i, %i, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
  ^bb0(%k: index):
    // expected-error @below {{'scf.reduce' op number of operands (1) must match number of reductions (0)}}
    "scf.reduce"(%x) : (f32) -> ()
  }) : (index, index, index, f32) -> f32
  return
}
