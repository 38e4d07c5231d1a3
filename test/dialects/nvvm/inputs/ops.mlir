module {
  llvm.func @n(%arg0: !llvm.ptr, %arg1: !llvm.ptr<3>, %arg2: !llvm.ptr<1>, %arg3: !llvm.ptr<7>, %arg4: i32, %arg5: i64, %arg6: f32, %arg7: i1, %arg8: i16, %arg9: vector<2xf16>) attributes {nvvm.kernel} {
    %0 = llvm.mlir.constant(128 : i32) : i32
    %1 = nvvm.read.ptx.sreg.tid.x : i32
    %2 = nvvm.read.ptx.sreg.tid.x range <i32, 0, 1024> : i32
    %3 = nvvm.read.ptx.sreg.laneid : i32
    %4 = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %5 = nvvm.read.ptx.sreg.clock64 : i64
    %6 = nvvm.read.ptx.sreg.globaltimer : i64
    %7 = nvvm.read.ptx.sreg.lanemask.lt : i32
    nvvm.barrier0
    nvvm.barrier
    nvvm.barrier id = %arg4
    nvvm.barrier id = %arg4 number_of_threads = %arg4
    %8 = nvvm.barrier #nvvm.reduction<popc> %arg4 -> i32
    nvvm.bar.warp.sync %arg4 : i32
    %9 = nvvm.shfl.sync  bfly %arg4, %arg6, %arg4, %arg4 : f32 -> f32
    %10 = nvvm.shfl.sync  idx %arg4, %arg4, %arg4, %arg4 {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
    %11 = nvvm.vote.sync  ballot %arg4, %arg7 -> i32
    %12 = nvvm.vote.sync  any %arg4, %arg7 -> i1
    %13 = nvvm.elect.sync -> i1
    %14 = nvvm.elect.sync %arg4 -> i1
    %15 = nvvm.redux.sync  add %arg4, %arg4 : i32 -> i32
    %16 = nvvm.redux.sync  fmin %arg6, %arg4 {abs = true, nan = true} : f32 -> f32
    %17 = nvvm.match.sync  any %arg4, %arg4 : i32 -> i32
    %18 = nvvm.match.sync  all %arg4, %arg5 : i64 -> !llvm.struct<(i32, i1)>
    nvvm.cp.async.shared.global %arg1, %arg2, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.shared.global %arg1, %arg2, 4, cache =  ca, %arg4 : !llvm.ptr<3>, !llvm.ptr<1>, i32
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 2
    nvvm.cp.async.mbarrier.arrive %arg1 : !llvm.ptr<3>
    nvvm.cp.async.mbarrier.arrive %arg0 {noinc = true} : !llvm.ptr
    %19 = nvvm.ldmatrix %arg1 {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    %20 = nvvm.ldmatrix %arg1 {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, num = 1 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32
    %21 = nvvm.ldmatrix %arg1 {eltType = #nvvm.ld_st_matrix_elt_type<b8>, layout = #nvvm.mma_layout<col>, num = 1 : i32, shape = #nvvm.ld_st_matrix_shape<m = 16, n = 16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
    nvvm.stmatrix %arg1, %arg4, %arg4 {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : !llvm.ptr<3>, i32, i32
    %22 = nvvm.mma.sync A[%arg9, %arg9, %arg9, %arg9]  B[%arg9, %arg9]  C[%arg6, %arg6, %arg6, %arg6]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %23 = nvvm.mma.sync A[%arg4, %arg4, %arg4, %arg4]  B[%arg4, %arg4]  C[%arg6, %arg6, %arg6, %arg6]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %24 = nvvm.mma.sync A[%arg4, %arg4, %arg4, %arg4]  B[%arg4, %arg4]  C[%arg4, %arg4, %arg4, %arg4]  {intOverflowBehavior = #nvvm.mma_int_overflow<satfinite>, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<s8>, multiplicandBPtxType = #nvvm.mma_type<u8>, shape = #nvvm.shape<m = 16, n = 8, k = 32>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
    %25 = nvvm.mma.sync A[%arg4, %arg4]  B[%arg4]  C[%arg6, %arg6, %arg6, %arg6]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<tf32>, multiplicandBPtxType = #nvvm.mma_type<tf32>, shape = #nvvm.shape<m = 16, n = 8, k = 4>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    nvvm.mbarrier.init %arg1, %arg4 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %arg0, %arg4 : !llvm.ptr, i32
    nvvm.mbarrier.inval %arg1 : !llvm.ptr<3>
    nvvm.mbarrier.expect_tx %arg1, %arg4 : !llvm.ptr<3>, i32
    nvvm.mbarrier.expect_tx %arg3, %arg4 {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>, i32
    nvvm.mbarrier.complete_tx %arg1, %arg4 : !llvm.ptr<3>, i32
    %26 = nvvm.mbarrier.arrive %arg1 : !llvm.ptr<3> -> i64
    %27 = nvvm.mbarrier.arrive %arg1, %arg4 : !llvm.ptr<3> -> i64
    nvvm.mbarrier.arrive %arg3 : !llvm.ptr<7>
    %28 = nvvm.mbarrier.arrive %arg1 {relaxed = true, scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<3> -> i64
    %29 = nvvm.mbarrier.arrive %arg0 : !llvm.ptr -> i64
    %30 = nvvm.mbarrier.arrive_drop %arg1 : !llvm.ptr<3> -> i64
    %31 = nvvm.mbarrier.arrive.nocomplete %arg1, %arg4 : !llvm.ptr<3>, i32 -> i64
    %32 = nvvm.mbarrier.arrive_drop.nocomplete %arg0, %arg4 : !llvm.ptr, i32 -> i64
    %33 = nvvm.mbarrier.arrive.expect_tx %arg1, %arg4 : !llvm.ptr<3>, i32 -> i64
    nvvm.mbarrier.arrive.expect_tx %arg3, %arg4 : !llvm.ptr<7>, i32
    %34 = nvvm.mbarrier.arrive_drop.expect_tx %arg1, %arg4 : !llvm.ptr<3>, i32 -> i64
    %35 = nvvm.mbarrier.test.wait %arg1, %arg5 : !llvm.ptr<3>, i64 -> i1
    %36 = nvvm.mbarrier.test.wait %arg1, %arg4 {relaxed = true, scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<3>, i32 -> i1
    %37 = nvvm.mbarrier.try_wait %arg1, %arg4 : !llvm.ptr<3>, i32 -> i1
    %38 = nvvm.mbarrier.try_wait %arg1, %arg5, %arg4 : !llvm.ptr<3>, i64, i32 -> i1
    nvvm.fence.mbarrier.init
    nvvm.fence.sc.cluster
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<alias>}
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cluster>}
    nvvm.fence.proxy.acquire <cta> %arg0, %0
    nvvm.fence.proxy.acquire <gpu> %arg0, %0
    nvvm.fence.proxy.release <sys>
    nvvm.fence.sync_restrict {order = #nvvm.mem_order<acquire>}
    nvvm.fence.proxy.sync_restrict {order = #nvvm.mem_order<release>}
    nvvm.memory.barrier <cta>
    nvvm.memory.barrier <gpu>
    nvvm.memory.barrier <sys>
    nvvm.cluster.arrive
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.arrive.relaxed {aligned}
    nvvm.cluster.wait
    nvvm.cluster.wait {aligned}
    %39 = nvvm.mapa %arg1, %arg4 : !llvm.ptr<3> -> !llvm.ptr<7>
    %40 = nvvm.mapa %arg0, %arg4 : !llvm.ptr -> !llvm.ptr
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 1
    nvvm.cp.async.bulk.wait_group 1 {read}
    nvvm.cp.async.bulk.tensor.shared.cluster.global %arg3, %arg0, %arg1, box[%arg4, %arg4] : !llvm.ptr<7>, !llvm.ptr
    nvvm.cp.async.bulk.tensor.shared.cluster.global %arg1, %arg0, %arg1, box[%arg4, %arg4] l2_cache_hint = %arg5 {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
    nvvm.cp.async.bulk.tensor.shared.cluster.global %arg3, %arg0, %arg1, box[%arg4, %arg4, %arg4] im2col[%arg8] multicast_mask = %arg8 l2_cache_hint = %arg5 {group = #nvvm.cta_group<cta_2>, mode = #nvvm.tma_load_mode<im2col>} : !llvm.ptr<7>, !llvm.ptr
    nvvm.cp.async.bulk.tensor.global.shared.cta %arg0, %arg1, box[%arg4, %arg4] : !llvm.ptr, <3>
    nvvm.cp.async.bulk.tensor.global.shared.cta %arg0, %arg1, box[%arg4, %arg4, %arg4] l2_cache_hint = %arg5 {mode = #nvvm.tma_store_mode<im2col>} : !llvm.ptr, <3>
    nvvm.cp.async.bulk.tensor.prefetch %arg0, box[%arg4] : !llvm.ptr
    nvvm.cp.async.bulk.tensor.reduce %arg0, %arg1, box[%arg4] {redKind = #nvvm.tma_redux_kind<add>} : !llvm.ptr, <3>
    nvvm.cp.async.bulk.prefetch %arg2, %arg4 : <1>
    nvvm.cp.async.bulk.shared.cluster.global %arg3, %arg2, %arg1, %arg4 : !llvm.ptr<7>, <1>
    nvvm.cp.async.bulk.shared.cluster.global %arg3, %arg2, %arg1, %arg4 multicast_mask = %arg8 l2_cache_hint = %arg5 : !llvm.ptr<7>, <1>
    nvvm.cp.async.bulk.shared.cluster.global %arg1, %arg2, %arg1, %arg4 : !llvm.ptr<3>, <1>
    nvvm.cp.async.bulk.shared.cluster.shared.cta %arg3, %arg1, %arg1, %arg4 : <7>, <3>
    nvvm.cp.async.bulk.global.shared.cta %arg2, %arg1, %arg4 : <1>, <3>
    nvvm.cp.async.bulk.global.shared.cta %arg2, %arg1, %arg4 l2_cache_hint = %arg5 byte_mask = %arg8 : <1>, <3>
    nvvm.prefetch level =  L1, %arg0 : !llvm.ptr
    nvvm.prefetch level =  L2, evict_priority =  evict_last, %arg2 : !llvm.ptr<1>
    nvvm.prefetch tensormap, %arg0 : !llvm.ptr
    nvvm.wgmma.fence.aligned
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    nvvm.setmaxregister  increase 232
    nvvm.setmaxregister  decrease 40
    nvvm.griddepcontrol  wait
    nvvm.griddepcontrol  launch_dependents
    %41 = nvvm.rcp.approx.ftz.f %arg6 : f32
    nvvm.nanosleep %arg4
    %42 = nvvm.prmt <default> %arg4, %arg4, %arg4 : i32
    %43 = nvvm.prmt <f4e> %arg4, %arg4, %arg4 : i32
    %44 = nvvm.convert.float.to.tf32 %arg6 {rnd = #nvvm.fp_rnd_mode<rna>}
    %45 = nvvm.convert.f32x2.to.f8x2 %arg6, %arg6 {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
    %46 = nvvm.convert.f32x2.to.f16x2 %arg6, %arg6 {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xf16>
    nvvm.st.bulk %arg1, size = %arg5 : !llvm.ptr<3>
    nvvm.exit
    nvvm.breakpoint
    llvm.return
  }

  llvm.func @guarded(%arg0: !llvm.ptr, %arg1: !llvm.ptr<3>, %arg2: i32, %arg3: i64, %arg4: f32, %arg5: i1, %arg6: !llvm.struct<(f32, f32, f32, f32)>) {
    %0 = nvvm.wgmma.mma_async %arg3, %arg3, %arg6, <m = 64, n = 8, k = 16>, D[<f32>, <zero>], A[<f16>, <one>, <row>], B[<f16>, <neg>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    nvvm.mbarrier.try_wait.parity %arg1, %arg2, %arg2 : !llvm.ptr<3>, i32, i32
    nvvm.mbarrier.try_wait.parity %arg0, %arg2, %arg2 : !llvm.ptr, i32, i32
    nvvm.mbarrier.init %arg1, %arg2, predicate = %arg5 : !llvm.ptr<3>, i32, i1
    nvvm.mbarrier.arrive.expect_tx %arg1, %arg2, predicate = %arg5 : !llvm.ptr<3>, i32, i1
    nvvm.barrier.arrive id = %arg2 number_of_threads = %arg2
    nvvm.cp.async.bulk.tensor.shared.cluster.global %arg1, %arg0, %arg1, box[%arg2, %arg2] predicate = %arg5 : !llvm.ptr<3>, !llvm.ptr
    nvvm.cp.async.bulk.tensor.global.shared.cta %arg0, %arg1, box[%arg2, %arg2], predicate = %arg5 : !llvm.ptr, <3>
    %1 = nvvm.inline_ptx "ex2.approx.ftz.f32 {$w0}, {$r0};" ro(%arg4 : f32) -> f32
    nvvm.inline_ptx "foo {$rw0}, {$r0};" ro(%arg4 : f32) rw(%arg2 : i32), predicate = %arg5
    %2:2 = nvvm.inline_ptx "bar {$w0}, {$w1}, {$r0};" ro(%arg3 : i64) -> f32, i32
    llvm.return
  }
}

