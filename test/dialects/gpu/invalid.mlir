// RUN: tessera-opt %s --split-input-file --verify-diagnostics

gpu.module @m {
  // expected-error @below {{expected void return type for kernel function}}
  gpu.func @k() -> f32 kernel {
    %0 = arith.constant 1.0 : f32
    gpu.return %0 : f32
  }
}

// -----

gpu.module @m {
  // expected-note @below {{return type declared here}}
  gpu.func @k() -> f32 {
    // expected-error @below {{'gpu.return' op expected 1 result operands}}
    gpu.return
  }
}

// -----

// expected-error @below {{'gpu.func' op expects parent op 'gpu.module'}}
gpu.func @k() {
  gpu.return
}

// -----

func.func @kind(%a: f32) {
  // expected-error @below {{`and` reduction operation is not compatible with type 'f32'}}
  %0 = gpu.subgroup_reduce and %a : (f32) -> f32
  return
}

// -----

func.func @cluster(%a: f32) {
  // expected-error @below {{cluster size 3 is not a power of two}}
  %0 = gpu.subgroup_reduce add %a cluster(size = 3) : (f32) -> f32
  return
}
