// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// MLIR reports this twice, the second time without the types.
func.func @extract_type(%a: vector<2x4xf32>) {
  // expected-error @below {{inferred type(s) 'vector<4xf32>' are incompatible with return type(s) of operation 'f32'}}
  %0 = vector.extract %a[1] : f32 from vector<2x4xf32>
  return
}
