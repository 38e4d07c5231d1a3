// RUN: tessera-opt %s --split-input-file --verify-diagnostics

llvm.func @cp_async_modifier(%p: !llvm.ptr<3>, %g: !llvm.ptr<1>) {
  // expected-error @below {{'nvvm.cp.async.shared.global' op Only CG and CA cache modifiers are supported.}}
  nvvm.cp.async.shared.global %p, %g, 16, cache =  cs : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}

// -----

llvm.func @cp_async_size(%p: !llvm.ptr<3>, %g: !llvm.ptr<1>) {
  // expected-error @below {{'nvvm.cp.async.shared.global' op expected byte size to be either 4, 8 or 16.}}
  nvvm.cp.async.shared.global %p, %g, 2, cache =  ca : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}

// -----

llvm.func @cp_async_cg_size(%p: !llvm.ptr<3>, %g: !llvm.ptr<1>) {
  // expected-error @below {{'nvvm.cp.async.shared.global' op CG cache modifier is only support for 16 bytes copy.}}
  nvvm.cp.async.shared.global %p, %g, 8, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}

// -----

llvm.func @tma_rank(%p: !llvm.ptr<3>, %a: !llvm.ptr, %i: i32) {
  // expected-error @below {{'nvvm.cp.async.bulk.tensor.shared.cluster.global' op expects coordinates between 1 to 5 dimension}}
  nvvm.cp.async.bulk.tensor.shared.cluster.global %p, %a, %p, box[%i, %i, %i, %i, %i, %i] : !llvm.ptr<3>, !llvm.ptr
  llvm.return
}

// -----

llvm.func @tma_multicast_of_cta(%p: !llvm.ptr<3>, %a: !llvm.ptr, %i: i32, %m: i16) {
  // expected-error @below {{'nvvm.cp.async.bulk.tensor.shared.cluster.global' op multicast is not supported with shared::cta mode}}
  nvvm.cp.async.bulk.tensor.shared.cluster.global %p, %a, %p, box[%i] multicast_mask = %m {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
  llvm.return
}

// -----

llvm.func @tma_group_of_cta(%p: !llvm.ptr<3>, %a: !llvm.ptr, %i: i32) {
  // expected-error @below {{'nvvm.cp.async.bulk.tensor.shared.cluster.global' op CTAGroup is not supported with shared::cta mode}}
  nvvm.cp.async.bulk.tensor.shared.cluster.global %p, %a, %p, box[%i] {group = #nvvm.cta_group<cta_1>, isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
  llvm.return
}

// -----

llvm.func @bulk_multicast_of_cta(%p: !llvm.ptr<3>, %g: !llvm.ptr<1>, %i: i32, %m: i16) {
  // expected-error @below {{'nvvm.cp.async.bulk.shared.cluster.global' op multicast is not supported with shared::cta mode}}
  nvvm.cp.async.bulk.shared.cluster.global %p, %g, %p, %i multicast_mask = %m : !llvm.ptr<3>, <1>
  llvm.return
}

// -----

llvm.func @prefetch_of_nothing(%a: !llvm.ptr) {
  // expected-error @below {{'nvvm.prefetch' op requires either a cache level or tensormap}}
  nvvm.prefetch %a : !llvm.ptr
  llvm.return
}

// -----

llvm.func @prefetch_uniform(%a: !llvm.ptr) {
  // expected-error @below {{'nvvm.prefetch' op is uniform only with a cache level}}
  "nvvm.prefetch"(%a) <{tensormap, uniform}> : (!llvm.ptr) -> ()
  llvm.return
}

// -----

llvm.func @prefetch_parameters(%a: !llvm.ptr) {
  // expected-error @below {{'nvvm.prefetch' op reads parameter space only for a tensormap}}
  "nvvm.prefetch"(%a) <{cacheLevel = #nvvm<prefetch_cache_level L1>, in_param_space}> : (!llvm.ptr) -> ()
  llvm.return
}

// -----

llvm.func @prefetch_predicate(%a: !llvm.ptr, %e: i1) {
  // expected-error @below {{'nvvm.prefetch' op predicate supported only on prefetch tensormap}}
  nvvm.prefetch level =  L1, %a, predicate = %e : !llvm.ptr, i1
  llvm.return
}

// -----

llvm.func @prefetch_priority(%g: !llvm.ptr<1>) {
  // expected-error @below {{'nvvm.prefetch' op cache eviction priority supported only for cache level L2}}
  nvvm.prefetch level =  L1, evict_priority =  evict_last, %g : !llvm.ptr<1>
  llvm.return
}

// -----

llvm.func @prefetch_priority_space(%a: !llvm.ptr) {
  // expected-error @below {{'nvvm.prefetch' op cache eviction priority requires a global pointer}}
  nvvm.prefetch level =  L2, evict_priority =  evict_last, %a : !llvm.ptr
  llvm.return
}
