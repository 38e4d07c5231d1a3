// RUN: tail -n +4 %s > %t
// RUN: tessera-opt %s | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%arg0: f32, %arg1: memref<?xf32, 1>) workgroup(%arg2 : memref<32xf32, #gpu.address_space<workgroup>>, %arg3 : memref<1xf32, 3> {llvm.align = 16 : i64}) private(%arg4 : memref<1xf32, 5>) kernel attributes {gpu.known_block_size = array<i32: 1, 2, 3>} {
      %thread_id_x = gpu.thread_id  x
      %thread_id_y = gpu.thread_id  y upper_bound 64
      %block_id_z = gpu.block_id  z
      %block_dim_x = gpu.block_dim  x
      %grid_dim_x = gpu.grid_dim  x
      %global_id_x = gpu.global_id  x
      %0 = gpu.lane_id
      %1 = gpu.lane_id upper_bound 32
      %2 = gpu.subgroup_id : index
      %3 = gpu.num_subgroups : index
      %4 = gpu.subgroup_size : index
      %5 = gpu.subgroup_size upper_bound 32 : index
      %cluster_id_x = gpu.cluster_id  x
      %cluster_dim_x = gpu.cluster_dim  x
      %cluster_block_id_x = gpu.cluster_block_id  x
      %cluster_dim_blocks_x = gpu.cluster_dim_blocks  x
      gpu.barrier
      gpu.barrier {foo}
      %c1_i32 = arith.constant 1 : i32
      %c32_i32 = arith.constant 32 : i32
      %shuffleResult, %valid = gpu.shuffle  xor %arg0, %c1_i32, %c32_i32 : f32
      %6 = gpu.all_reduce  add %arg0 {
      } : (f32) -> f32
      %7 = gpu.subgroup_reduce  add %arg0 : (f32) -> f32
      %8 = gpu.subgroup_reduce  maxnumf %arg0 uniform : (f32) -> f32
      %9 = gpu.subgroup_reduce  add %arg0 cluster(size = 4, stride = 2) : (f32) -> f32
      gpu.printf "x %f\0A", %arg0 : f32
      %10 = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      gpu.return
    }
    gpu.func @d(%arg0: f32) -> f32 {
      gpu.return %arg0 : f32
    }
  }
  func.func @h(%arg0: index, %arg1: memref<?xf32, 1>, %arg2: f32, %arg3: i32) {
    gpu.launch_func  @k::@f blocks in (%arg0, %arg0, %arg0) threads in (%arg0, %arg0, %arg0)  args(%arg2 : f32, %arg1 : memref<?xf32, 1>)
    gpu.launch_func  @k::@f clusters in (%arg0, %arg0, %arg0) blocks in (%arg0, %arg0, %arg0) threads in (%arg0, %arg0, %arg0)  dynamic_shared_memory_size %arg3 args(%arg2 : f32, %arg1 : memref<?xf32, 1>)
    %0 = gpu.wait async
    %1 = gpu.launch_func async [%0] @k::@f blocks in (%arg0, %arg0, %arg0) threads in (%arg0, %arg0, %arg0)  args(%arg2 : f32, %arg1 : memref<?xf32, 1>) {foo}
    gpu.wait [%1]
    return
  }
  func.func @launch(%arg0: index, %arg1: i32) {
    gpu.launch blocks(%arg2, %arg3, %arg4) in (%arg8 = %arg0, %arg9 = %arg0, %arg10 = %arg0) threads(%arg5, %arg6, %arg7) in (%arg11 = %arg0, %arg12 = %arg0, %arg13 = %arg0) module(@k) function(@f) {
      cf.br ^bb1
    ^bb1:  // pred: ^bb0
      gpu.terminator
    }
    gpu.launch clusters(%arg14, %arg15, %arg16) in (%arg17 = %arg0, %arg18 = %arg0, %arg19 = %arg0) blocks(%arg2, %arg3, %arg4) in (%arg8 = %arg0, %arg9 = %arg0, %arg10 = %arg0) threads(%arg5, %arg6, %arg7) in (%arg11 = %arg0, %arg12 = %arg0, %arg13 = %arg0) dynamic_shared_memory_size %arg1 workgroup(%arg20 : memref<32xf32, 3>) private(%arg21 : memref<1xf32, 5>) {
      gpu.terminator
    } {foo}
    %0 = gpu.wait async
    %1 = gpu.launch async [%0] blocks(%arg2, %arg3, %arg4) in (%arg8 = %arg0, %arg9 = %arg0, %arg10 = %arg0) threads(%arg5, %arg6, %arg7) in (%arg11 = %arg0, %arg12 = %arg0, %arg13 = %arg0) {
      gpu.terminator
    }
    return
  }
  func.func @memory(%arg0: index, %arg1: f32, %arg2: memref<*xf32>, %arg3: i32) {
    %0 = gpu.wait async
    %memref = gpu.alloc  () : memref<1024xf32, 1>
    %memref_0, %asyncToken = gpu.alloc async [%0] (%arg0) : memref<?xf32, 1>
    %memref_1 = gpu.alloc  host_shared (%arg0) {foo} : memref<?xf32, 1>
    %1 = gpu.memcpy async [%asyncToken] %memref_0, %memref_1 : memref<?xf32, 1>, memref<?xf32, 1>
    %2 = gpu.memset async [%asyncToken] %memref_0, %arg1 : memref<?xf32, 1>, f32
    gpu.dealloc  %memref : memref<1024xf32, 1>
    %3 = gpu.dealloc async [%1, %2] %memref_0 : memref<?xf32, 1>
    gpu.host_register %arg2 : memref<*xf32>
    gpu.host_unregister %arg2 : memref<*xf32>
    gpu.set_default_device %arg3
    return
  }
  func.func @warp(%arg0: index, %arg1: vector<4xi32>) -> vector<4xi32> {
    %0 = gpu.warp_execute_on_lane_0(%arg0)[32] args(%arg1 : vector<4xi32>) -> (vector<4xi32>) {
    ^bb0(%arg2: vector<128xi32>):
      gpu.yield %arg2 : vector<128xi32>
    }
    gpu.warp_execute_on_lane_0(%arg0)[32] {
    } {foo}
    return %0 : vector<4xi32>
  }
  func.func @lanes(%arg0: f32, %arg1: i32) -> (f32, i1) {
    %0 = gpu.subgroup_broadcast %arg0,  first_active_lane : f32
    %1 = gpu.subgroup_broadcast %0,  specific_lane %arg1 : f32
    %rotateResult, %valid = gpu.rotate %1, 1, 16 : f32
    return %rotateResult, %valid : f32, i1
  }
  func.func @mma(%arg0: memref<32x32xf16, 3>, %arg1: index, %arg2: f16) {
    %0 = gpu.subgroup_mma_load_matrix %arg0[%arg1, %arg1] {leadDimension = 32 : index, transpose} : memref<32x32xf16, 3> -> !gpu.mma_matrix<16x16xf16, "AOp">
    %1 = gpu.subgroup_mma_load_matrix %arg0[%arg1, %arg1] {leadDimension = 32 : index} : memref<32x32xf16, 3> -> !gpu.mma_matrix<16x16xf16, "BOp">
    %2 = gpu.subgroup_mma_constant_matrix %arg2 : !gpu.mma_matrix<16x16xf16, "COp">
    %3 = gpu.subgroup_mma_compute %0, %1, %2 {a_transpose} : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf16, "COp">
    %4 = gpu.subgroup_mma_elementwise  addf %3, %2 : (!gpu.mma_matrix<16x16xf16, "COp">, !gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">
    %5 = gpu.subgroup_mma_extract_thread_local %4[%arg1] : !gpu.mma_matrix<16x16xf16, "COp"> -> f16
    %6 = gpu.subgroup_mma_insert_thread_local %5, %4[%arg1] : f16, !gpu.mma_matrix<16x16xf16, "COp"> -> !gpu.mma_matrix<16x16xf16, "COp">
    gpu.subgroup_mma_store_matrix %6, %arg0[%arg1, %arg1] {leadDimension = 32 : index} : !gpu.mma_matrix<16x16xf16, "COp">, memref<32x32xf16, 3>
    return
  }
  func.func private @mapped() attributes {a = #gpu.thread<x>, b = #gpu.block<linear_dim_3>, c = #gpu.mask<5>, d = #gpu.warp<y>, e = #gpu.warpgroup<z>, f = #gpu.lane<linear_dim_0>, g = #gpu.memory_space<workgroup>}
  gpu.binary @a [#gpu.object<#nvvm.target, "x">]
  gpu.binary @b <#gpu.select_object<#nvvm.target<chip = "sm_90">>> [#gpu.object<#nvvm.target, "">, #gpu.object<#nvvm.target<chip = "sm_90">, "">]
  gpu.binary @c <#gpu.select_object<1 : i64>> {foo} [#gpu.object<#nvvm.target, bin = "">, #gpu.object<#nvvm.target<O = 3, features = "+ptx80", flags = {fast, ftz}, link = ["a.bc"]>, properties = {O = 3 : i32}, offload = "">]
  gpu.module @targeted <#gpu.select_object<0 : i64>> [#nvvm.target<chip = "sm_90a">] {
    func.func @f() {
      nvvm.wgmma.fence.aligned
      return
    }
  }
  func.func @matvec(%arg0: index) {
    %0 = gpu.wait async
    %memref, %asyncToken = gpu.alloc async [%0] (%arg0) : memref<?xindex>
    %memref_0, %asyncToken_1 = gpu.alloc async [%asyncToken] (%arg0) : memref<?xf64>
    %spmat, %asyncToken_2 = gpu.create_coo async [%asyncToken_1] %arg0, %arg0, %arg0, %memref, %memref, %memref_0 : memref<?xindex>, memref<?xindex>, memref<?xf64>
    %dnTensor, %asyncToken_3 = gpu.create_dn_tensor async [%asyncToken_2] %memref_0, %arg0 : index into memref<?xf64>
    %bufferSz, %asyncToken_4 = gpu.spmv_buffer_size async [%asyncToken_3] %spmat, %dnTensor, %dnTensor into f64
    %1 = gpu.spmv async [%asyncToken_4] %spmat{ TRANSPOSE}, %dnTensor, %dnTensor, %memref_0 : memref<?xf64> into f64
    %2 = gpu.destroy_sp_mat async [%1] %spmat
    %3 = gpu.destroy_dn_tensor async [%2] %dnTensor
    gpu.wait [%3]
    return
  }
  func.func @matmul(%arg0: index) {
    %0 = gpu.wait async
    %memref, %asyncToken = gpu.alloc async [%0] (%arg0) : memref<?xindex>
    %memref_0, %asyncToken_1 = gpu.alloc async [%asyncToken] (%arg0) : memref<?xf64>
    %spmat, %asyncToken_2 = gpu.create_csr async [%asyncToken_1] %arg0, %arg0, %arg0, %memref, %memref, %memref_0 : memref<?xindex>, memref<?xindex>, memref<?xf64>
    %dnTensor, %asyncToken_3 = gpu.create_dn_tensor async [%asyncToken_2] %memref_0, %arg0, %arg0 : index, index into memref<?xf64>
    %bufferSzs, %asyncToken_4 = gpu.spmm_buffer_size async [%asyncToken_3] %spmat, %dnTensor, %dnTensor : index into f64
    %1 = gpu.spmm async [%asyncToken_4] %spmat, %dnTensor, %dnTensor, %memref_0 : memref<?xf64> into f64
    %2 = gpu.destroy_sp_mat async [%1] %spmat
    %3 = gpu.destroy_dn_tensor async [%2] %dnTensor
    gpu.wait [%3]
    return
  }
  func.func @spgemm(%arg0: index) {
    %0 = gpu.wait async
    %memref, %asyncToken = gpu.alloc async [%0] (%arg0) : memref<?xindex>
    %memref_0, %asyncToken_1 = gpu.alloc async [%asyncToken] (%arg0) : memref<?xf32>
    %spmat, %asyncToken_2 = gpu.create_csr async [%asyncToken_1] %arg0, %arg0, %arg0, %memref, %memref, %memref_0 : memref<?xindex>, memref<?xindex>, memref<?xf32>
    %spmat_3, %asyncToken_4 = gpu.create_csr async [%asyncToken_2] %arg0, %arg0, %arg0, %memref, %memref, %memref_0 : memref<?xindex>, memref<?xindex>, memref<?xf32>
    %spmat_5, %asyncToken_6 = gpu.create_csr async [%asyncToken_4] %arg0, %arg0, %arg0, %memref, %memref, %memref_0 : memref<?xindex>, memref<?xindex>, memref<?xf32>
    %desc, %asyncToken_7 = gpu.spgemm_create_descr async [%asyncToken_6]
    %alloc = memref.alloc() : memref<0xi8>
    %c0 = arith.constant 0 : index
    %rows, %cols, %nnz, %asyncToken_8 = gpu.spmat_get_size async [%asyncToken_7] %spmat_5
    %1 = gpu.set_csr_pointers async [%asyncToken_7] %spmat_5, %memref, %memref, %memref_0 : memref<?xindex>, memref<?xindex>, memref<?xf32>
    %bufferSzNew, %asyncToken_9 = gpu.spgemm_work_estimation_or_compute async [%asyncToken_8]{ COMPUTE} %spmat{ TRANSPOSE}, %spmat_3, %spmat_5, %desc, %c0, %alloc : f32 into memref<0xi8>
    %2 = gpu.spgemm_copy async [%1] %spmat, %spmat_3, %spmat_5, %desc : f32
    %3 = gpu.spgemm_destroy_descr async [%2] %desc
    %4 = gpu.destroy_sp_mat async [%3] %spmat
    %5 = gpu.destroy_sp_mat async [%4] %spmat_3
    %6 = gpu.destroy_sp_mat async [%5] %spmat_5
    gpu.wait [%6]
    return
  }
  func.func @two_of_four(%arg0: index, %arg1: memref<?xf16>) {
    %0 = gpu.wait async
    %spmat, %asyncToken = gpu.create_2to4_spmat async [%0]{ PRUNE_ONLY} %arg0, %arg0, %arg1 : memref<?xf16>
    %spmat_0, %asyncToken_1 = gpu.create_2to4_spmat async{ NONE} %arg0, %arg0, %arg1 : memref<?xf16>
    %spmat_2 = gpu.create_2to4_spmat { PRUNE_AND_CHECK} %arg0, %arg0, %arg1 {tag} : memref<?xf16>
    %1 = gpu.wait async [%asyncToken_1] {tag}
    return
  }
  func.func @sddmm(%arg0: index) {
    %0 = gpu.wait async
    %memref, %asyncToken = gpu.alloc async [%0] (%arg0) : memref<?xindex>
    %memref_0, %asyncToken_1 = gpu.alloc async [%asyncToken] (%arg0) : memref<?xf64>
    %spmat, %asyncToken_2 = gpu.create_csr async [%asyncToken_1] %arg0, %arg0, %arg0, %memref, %memref, %memref_0 : memref<?xindex>, memref<?xindex>, memref<?xf64>
    %dnTensor, %asyncToken_3 = gpu.create_dn_tensor async [%asyncToken_2] %memref_0, %arg0, %arg0 : index, index into memref<?xf64>
    %bufferSz, %asyncToken_4 = gpu.sddmm_buffer_size async [%asyncToken_3] %dnTensor, %dnTensor, %spmat into f64
    %1 = gpu.sddmm async [%asyncToken_4] %dnTensor{ TRANSPOSE}, %dnTensor{ CONJUGATE_TRANSPOSE}, %spmat, %memref_0 : memref<?xf64> into f64
    %2 = gpu.destroy_sp_mat async [%1] %spmat
    %3 = gpu.destroy_dn_tensor async [%2] %dnTensor
    gpu.wait [%3]
    return
  }
  func.func @csc_and_bsr(%arg0: index) {
    %0 = gpu.wait async
    %memref, %asyncToken = gpu.alloc async [%0] (%arg0) : memref<?xindex>
    %memref_0, %asyncToken_1 = gpu.alloc async [%asyncToken] (%arg0) : memref<?xf64>
    %spmat, %asyncToken_2 = gpu.create_csc async [%asyncToken_1] %arg0, %arg0, %arg0, %memref, %memref, %memref_0 : memref<?xindex>, memref<?xindex>, memref<?xf64>
    %spmat_3, %asyncToken_4 = gpu.create_bsr async [%asyncToken_2] %arg0, %arg0, %arg0, %arg0, %arg0, %memref, %memref, %memref_0 : memref<?xindex>, memref<?xindex>, memref<?xf64>
    %1 = gpu.destroy_sp_mat async [%asyncToken_4] %spmat
    %2 = gpu.destroy_sp_mat async [%1] %spmat_3
    gpu.wait [%2]
    return
  }
}
