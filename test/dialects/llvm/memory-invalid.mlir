// RUN: tessera-opt %s --split-input-file --verify-diagnostics

llvm.func @load_type(%p: !llvm.ptr) {
  // expected-error @below {{unsupported type 'i1' for atomic access}}
  %0 = llvm.load %p atomic monotonic {alignment = 1 : i64} : !llvm.ptr -> i1
  llvm.return
}

// -----

llvm.func @load_ordering(%p: !llvm.ptr) {
  // expected-error @below {{unsupported ordering 'release'}}
  %0 = llvm.load %p atomic release {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return
}

// -----

llvm.func @store_ordering(%p: !llvm.ptr, %v: i32) {
  // expected-error @below {{unsupported ordering 'acquire'}}
  llvm.store %v, %p atomic acquire {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
}

// -----

llvm.func @dereferenceable(%p: !llvm.ptr) {
  // expected-error @below {{expected op to return a single LLVM pointer type}}
  %0 = llvm.load %p dereferenceable<bytes = 8> : !llvm.ptr -> i64
  llvm.return
}

// -----

llvm.func @cmpxchg(%p: !llvm.ptr, %v: i24) {
  // expected-error @below {{unexpected LLVM IR type}}
  %0 = llvm.cmpxchg %p, %v, %v monotonic monotonic : !llvm.ptr, i24
  llvm.return
}

// -----

llvm.func @add(%p: !llvm.ptr, %v: f32) {
  // expected-error @below {{expected LLVM IR integer type}}
  %0 = llvm.atomicrmw add %p, %v monotonic : !llvm.ptr, f32
  llvm.return
}

// -----

llvm.func @fadd(%p: !llvm.ptr, %v: i32) {
  // expected-error @below {{expected LLVM IR floating point type}}
  %0 = llvm.atomicrmw fadd %p, %v monotonic : !llvm.ptr, i32
  llvm.return
}

// -----

llvm.func @xchg(%p: !llvm.ptr, %v: vector<2xi16>) {
  // expected-error @below {{unexpected LLVM IR type for 'xchg' bin_op}}
  %0 = llvm.atomicrmw xchg %p, %v monotonic : !llvm.ptr, vector<2xi16>
  llvm.return
}

// -----

llvm.func @inbounds_flag(%p: !llvm.ptr) {
  // expected-error @below {{'inbounds_flag' cannot be used directly.}}
  %0 = llvm.getelementptr inbounds_flag %p[0] : (!llvm.ptr) -> !llvm.ptr, i32
  llvm.return
}

// -----

llvm.func @unknown_flag(%p: !llvm.ptr) {
  // expected-error @below {{unknown flag 'exact'; expected inbounds}}
  %0 = llvm.getelementptr exact %p[0] : (!llvm.ptr) -> !llvm.ptr, i32
  llvm.return
}

// -----

llvm.func @unknown_second_flag(%p: !llvm.ptr) {
  // expected-error @below {{unknown flag 'wraps'; expected inbounds}}
  %0 = llvm.getelementptr inbounds|wraps %p[0] : (!llvm.ptr) -> !llvm.ptr, i32
  llvm.return
}

// -----

llvm.func @scopes(%p: !llvm.ptr) {
  // expected-error @below {{attribute 'alias_scopes' failed to satisfy constraint: LLVM dialect alias scope array}}
  %0 = llvm.load %p {alias_scopes = [@scopes]} : !llvm.ptr -> i64
  llvm.return
}
