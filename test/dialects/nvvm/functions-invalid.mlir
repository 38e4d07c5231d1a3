// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{'nvvm.kernel' attribute attached to unexpected op}}
func.func private @kernel() attributes {nvvm.kernel}

// -----

// expected-error @below {{'"nvvm.reqntid"' attribute must be integer array with maximum 3 index}}
llvm.func @extents() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 1, 2, 3, 4>}

// -----

// expected-error @below {{'"nvvm.minctasm"' attribute must be integer constant}}
llvm.func @number() attributes {nvvm.kernel, nvvm.minctasm = array<i32: 1>}

// -----

// expected-error @below {{'"nvvm.blocksareclusters"' attribute must be used along with 'nvvm.reqntid' and 'nvvm.cluster_dim'}}
llvm.func @clusters() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 1>, nvvm.blocksareclusters}

// -----

// expected-error @below {{'"nvvm.grid_constant"' attribute must be present only on kernel arguments}}
llvm.func @no_kernel(!llvm.ptr {llvm.byval = i32, nvvm.grid_constant})

// -----

// expected-error @below {{'"nvvm.grid_constant"' must be a unit attribute}}
llvm.func @value(!llvm.ptr {llvm.byval = i32, nvvm.grid_constant = 1 : i32}) attributes {nvvm.kernel}

// -----

// expected-error @below {{'"nvvm.grid_constant"' attribute requires the argument to also have attribute 'llvm.byval'}}
llvm.func @no_copy(!llvm.ptr {nvvm.grid_constant}) attributes {nvvm.kernel}

// -----

// expected-error @below {{'gpu.module' op Minimum NVVM target SM version is sm_20}}
gpu.module @old [#nvvm.target<chip = "sm_10">] {
}
