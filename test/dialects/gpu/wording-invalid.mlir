// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// Errors whose words or places differ from upstream's.

module attributes {gpu.container_module} {
  func.func @host(%i: index) {
    // expected-error @below {{'gpu.launch_func' op cluster size must be all present}}
    "gpu.launch_func"(%i, %i, %i, %i, %i, %i, %i) <{kernel = @kernels::@f, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0>}> : (index, index, index, index, index, index, index) -> ()
    return
  }
}

// -----

module attributes {gpu.container_module} {
  func.func @host(%i: index) {
    // expected-error @below {{'gpu.launch_func' op kernel '@f' must name a module and a function, as in @module::@kernel}}
    gpu.launch_func @f blocks in (%i, %i, %i) threads in (%i, %i, %i)
    return
  }
}

// -----

func.func @no_body(%i: index) {
  // expected-error @below {{'gpu.launch' op expected body with at least one block}}
  "gpu.launch"(%i, %i, %i, %i, %i, %i) <{operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}> ({
  }) : (index, index, index, index, index, index) -> ()
  return
}

// -----

module attributes {gpu.container_module} {
  func.func @host(%i: index) {
    // expected-error @below {{custom op 'gpu.launch_func' expected three numbers, for x, y and z, found 2}}
    gpu.launch_func @kernels::@f blocks in (%i, %i) threads in (%i, %i, %i)
    return
  }
}

// -----

func.func @two_names(%i: index) {
  // expected-error @below {{custom op 'gpu.launch' expected three names and sizes, for x, y and z, found 2 and 2}}
  gpu.launch blocks(%a, %b) in (%c = %i, %d = %i) threads(%e, %f, %g) in (%h = %i, %j = %i, %k = %i) {
    gpu.terminator
  }
  return
}

// -----

gpu.module @kernels {
  // expected-error @below {{'gpu.func' op expected memref type in attribution, got 'i32'}}
  "gpu.func"() <{function_type = () -> (), workgroup_attributions = 1 : i64}> ({
  ^bb0(%a: i32):
    gpu.return
  }) {sym_name = "f"} : () -> ()
}

// -----

gpu.module @kernels {
  // expected-error @below {{custom op 'gpu.func' a function with a body needs a name for each argument, as in '%arg0: i32'}}
  gpu.func @f(i32) {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-note @below {{return type declared here}}
  gpu.func @f(%x: i32) -> f32 {
    // expected-error @below {{'gpu.return' op unexpected type `i32' for operand #0}}
    gpu.return %x : i32
  }
}
