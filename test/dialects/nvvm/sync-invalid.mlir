// RUN: tessera-opt %s --split-input-file --verify-diagnostics

llvm.func @arrive_at_cluster(%q: !llvm.ptr<7>) {
  // expected-error @below {{'nvvm.mbarrier.arrive' op mbarrier in shared_cluster space cannot return any value}}
  %0 = nvvm.mbarrier.arrive %q : !llvm.ptr<7> -> i64
  llvm.return
}

// -----

llvm.func @redux_type(%i: i32, %f: f32) {
  // expected-error @below {{'nvvm.redux.sync' op 'add' redux kind unsupported with f32 type}}
  %0 = nvvm.redux.sync  add %f, %i : f32 -> f32
  llvm.return
}

// -----

llvm.func @redux_marks(%i: i32) {
  // expected-error @below {{'nvvm.redux.sync' op abs and nan attributes are supported only for f32 type}}
  %0 = nvvm.redux.sync  add %i, %i {abs = true} : i32 -> i32
  llvm.return
}

// -----

llvm.func @barrier_id(%i: i32) {
  // expected-error @below {{'nvvm.barrier' op barrier id is missing, it should be set between 0 to 15}}
  nvvm.barrier number_of_threads = %i
  llvm.return
}

// -----

llvm.func @barrier_predicate(%i: i32) {
  // expected-error @below {{'nvvm.barrier' op reduction predicate and reduction operation must be specified together}}
  "nvvm.barrier"(%i) <{operandSegmentSizes = array<i32: 0, 0, 1>}> : (i32) -> ()
  llvm.return
}

// -----

llvm.func @restricted_fence() {
  // expected-error @below {{'nvvm.fence.sync_restrict' op only acquire and release semantics are supported, but got 'weak'}}
  nvvm.fence.sync_restrict {order = #nvvm.mem_order<weak>}
  llvm.return
}

// -----

llvm.func @proxy_kind() {
  // expected-error @below {{'nvvm.fence.proxy' op 'tensormap' proxy kind is not supported; use fence.proxy.acquire or release}}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<tensormap>}
  llvm.return
}

// -----

llvm.func @proxy_space() {
  // expected-error @below {{'nvvm.fence.proxy' op async_shared fence requires space attribute}}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>}
  llvm.return
}

// -----

llvm.func @registers_by_eight() {
  // expected-error @below {{'nvvm.setmaxregister' op new register size must be multiple of 8}}
  nvvm.setmaxregister  increase 100
  llvm.return
}

// -----

llvm.func @registers_range() {
  // expected-error @below {{'nvvm.setmaxregister' op new register size must be in between 24 to 256}}
  nvvm.setmaxregister  increase 264
  llvm.return
}

// -----

llvm.func @space_of_another_proxy() {
  // expected-error @below {{'nvvm.fence.proxy' op only async_shared fence can have space attribute}}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>, space = #nvvm.shared_space<cta>}
  llvm.return
}

// -----

llvm.func @barrier_reduction(%i: i32) {
  // expected-error @below {{'nvvm.barrier' op reduction predicate and reduction operation must be specified together}}
  "nvvm.barrier"(%i) <{operandSegmentSizes = array<i32: 1, 0, 0>, reductionOp = #nvvm.reduction<popc>}> : (i32) -> ()
  llvm.return
}
