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

// -----

llvm.func @alignment(%p: !llvm.ptr) {
  // expected-error @below {{'llvm.load' op alignment must be a power of two, but is 3}}
  %0 = llvm.load %p {alignment = 3 : i64} : !llvm.ptr -> i32
  llvm.return
}

// -----

llvm.func @alloca_type(%n: i32) {
  // expected-error @below {{custom op 'llvm.alloca' expected a function type with one argument and one result}}
  %0 = llvm.alloca %n x f32 : () -> !llvm.ptr
  llvm.return
}

// -----

llvm.func @atomic_alignment(%p: !llvm.ptr) {
  // expected-error @below {{'llvm.load' op expected alignment for atomic access}}
  %0 = llvm.load %p atomic monotonic : !llvm.ptr -> i32
  llvm.return
}

// -----

llvm.func @dynamic_indices(%p: !llvm.ptr, %i: i32) {
  // expected-error @below {{'llvm.getelementptr' op expected 0 dynamic indices, as its attribute says, but found 1}}
  %0 = "llvm.getelementptr"(%p, %i) <{elem_type = f32, noWrapFlags = 0 : i32, rawConstantIndices = array<i32: 0>}> : (!llvm.ptr, i32) -> !llvm.ptr
  llvm.return
}

// -----

llvm.func @rmw_ordering(%p: !llvm.ptr, %v: i32) {
  // expected-error @below {{'llvm.atomicrmw' op expected at least 'monotonic' ordering}}
  %0 = llvm.atomicrmw add %p, %v unordered : !llvm.ptr, i32
  llvm.return
}

// -----

llvm.func @cmpxchg_ordering(%p: !llvm.ptr, %v: i32) {
  // expected-error @below {{'llvm.cmpxchg' op ordering must be at least 'monotonic'}}
  %0 = llvm.cmpxchg %p, %v, %v unordered monotonic : !llvm.ptr, i32
  llvm.return
}

// -----

llvm.func @cmpxchg_failure(%p: !llvm.ptr, %v: i32) {
  // expected-error @below {{'llvm.cmpxchg' op failure ordering cannot be 'release' or 'acq_rel'}}
  %0 = llvm.cmpxchg %p, %v, %v monotonic release : !llvm.ptr, i32
  llvm.return
}

// -----

llvm.func @fence_ordering() {
  // expected-error @below {{'llvm.fence' op can be given only acquire, release, acq_rel, and seq_cst orderings}}
  llvm.fence monotonic
  llvm.return
}

// -----

llvm.func @scope_without_ordering(%p: !llvm.ptr) {
  // expected-error @below {{'llvm.load' op expected syncscope to be null for non-atomic access}}
  %0 = "llvm.load"(%p) <{ordering = 0 : i64, syncscope = "block"}> : (!llvm.ptr) -> i32
  llvm.return
}

// -----

llvm.func @struct_index(%p: !llvm.ptr) {
  // expected-error @below {{'llvm.getelementptr' op index 1 indexing a struct is out of bounds}}
  %0 = llvm.getelementptr %p[0, 2] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, f32)>
  llvm.return
}

// -----

llvm.func @scalar_index(%p: !llvm.ptr) {
  // expected-error @below {{'llvm.getelementptr' op type 'i32' cannot be indexed (index #1)}}
  %0 = llvm.getelementptr %p[0, 2] : (!llvm.ptr) -> !llvm.ptr, i32
  llvm.return
}

// -----

llvm.func @dereferenceable_words(%p: !llvm.ptr) {
  // expected-error @below {{custom op 'llvm.load' expected 'bytes = <integer>' or 'mayBeNull = true|false'}}
  %0 = llvm.load %p dereferenceable<size = 8> : !llvm.ptr -> !llvm.ptr
  llvm.return
}

// -----

llvm.func @dereferenceable_bytes(%p: !llvm.ptr) {
  // expected-error @below {{'llvm.dereferenceable' needs the parameter 'bytes'}}
  %0 = "llvm.load"(%p) <{dereferenceable = #llvm.dereferenceable<mayBeNull = true>, ordering = 0 : i64}> : (!llvm.ptr) -> !llvm.ptr
  llvm.return
}
