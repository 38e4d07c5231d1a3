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

// -----

// expected-error @below {{'func.func' op gpu.known_block_size must be a dense i32 array}}
func.func private @block_size() attributes {gpu.known_block_size = 32 : i32}

// -----

// expected-error @below {{'func.func' op gpu.known_grid_size must contain exactly 3 elements}}
func.func private @grid_size() attributes {gpu.known_grid_size = array<i32: 2, 1>}

// -----

gpu.module @kernels {
  // expected-error @below {{attribute 'known_block_size' failed to satisfy constraint: i32 dense array attribute with 3 elements (if present)}}
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 2, 1>} {
    gpu.return
  }
}

// -----

// expected-error @below {{attribute 'targets' failed to satisfy constraint: array of GPU target attributes with at least 1 elements}}
gpu.module @no_targets [1] {
}

// -----

module attributes {gpu.container_module} {
  module @kernels {
  }
  func.func @launch(%n: index) {
    // expected-error @below {{kernel module 'kernels' is undefined}}
    gpu.launch_func @kernels::@kernel blocks in (%n, %n, %n) threads in (%n, %n, %n)
    return
  }
}

// -----

func.func @launch_ends(%n: index) {
  // expected-note @below {{in 'gpu.launch' body region}}
  gpu.launch blocks(%a, %b, %c) in (%d = %n, %e = %n, %f = %n) threads(%g, %h, %i) in (%j = %n, %k = %n, %l = %n) {
    // expected-error @below {{expected 'gpu.terminator' or a terminator with successors}}
    gpu.yield %n : index
  }
  return
}

// -----

func.func @launch_buffer(%n: index) {
  // expected-error @below {{expected memory space private in attribution}}
  gpu.launch blocks(%a, %b, %c) in (%d = %n, %e = %n, %f = %n) threads(%g, %h, %i) in (%j = %n, %k = %n, %l = %n)
      private(%p : memref<4xf32, #gpu.address_space<workgroup>>) {
    gpu.terminator
  }
  return
}

// -----

func.func @alloc_sizes(%n: index) {
  // expected-error @below {{incorrect number of dynamic sizes, has 1, expected 2}}
  %0 = gpu.alloc (%n) : memref<?x?xf32>
  return
}

// -----

func.func @copies(%a: memref<3xf32>, %b: memref<4xf32>, %c: memref<3xi32>) {
  // expected-error @below {{arguments have incompatible element type}}
  gpu.memcpy %a, %c : memref<3xf32>, memref<3xi32>
  return
}

// -----

func.func @copies(%a: memref<3xf32>, %b: memref<4xf32>) {
  // expected-error @below {{arguments have incompatible shape}}
  gpu.memcpy %a, %b : memref<3xf32>, memref<4xf32>
  return
}

// -----

func.func @set(%a: memref<3xf32>, %b: f16) {
  // expected-error @below {{failed to verify that all of {dst, value} have same element type}}
  gpu.memset %a, %b : memref<3xf32>, f16
  return
}

// -----

func.func @shared() {
  // expected-error @below {{address space must be address_space<workgroup>}}
  %0 = gpu.dynamic_shared_memory : memref<?xi8>
  return
}

// -----

func.func @shared() {
  // expected-error @below {{result memref type must be memref<?xi8, #gpu.address_space<workgroup>>}}
  %0 = gpu.dynamic_shared_memory : memref<8xi8, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @stride(%x: f32) {
  // expected-error @below {{cluster stride 3 is not a power of two}}
  %0 = gpu.subgroup_reduce add %x cluster(size = 4, stride = 3) : (f32) -> f32
  return
}

// -----

func.func @neither(%x: f32) {
  // expected-error @below {{expected either an op attribute or a non-empty body}}
  %0 = "gpu.all_reduce"(%x) ({}) : (f32) -> f32
  return
}

// -----

func.func @arguments(%x: f32) {
  // expected-error @below {{expected two region arguments}}
  %0 = gpu.all_reduce %x {
  ^bb0(%a: f32):
    gpu.yield %a : f32
  } : (f32) -> (f32)
  return
}

// -----

func.func @types(%x: f32) {
  // expected-error @below {{incorrect region argument type}}
  %0 = gpu.all_reduce %x {
  ^bb0(%a: f32, %b: i32):
    gpu.yield %a : f32
  } : (f32) -> (f32)
  return
}

// -----

func.func @yield(%x: f32) {
  // expected-error @below {{expected one gpu.yield operand}}
  %0 = gpu.all_reduce %x {
  ^bb0(%a: f32, %b: f32):
    gpu.yield
  } : (f32) -> (f32)
  return
}

// -----

func.func @warp_yield(%lane: index) {
  // expected-error @below {{'gpu.warp_execute_on_lane_0' op expected same number of yield operands and return values.}}
  %0 = gpu.warp_execute_on_lane_0(%lane)[64] -> (vector<4xi32>) {
    gpu.yield
  }
  return
}

// -----

func.func @warp_arguments(%lane: index) {
  // expected-error @below {{'gpu.warp_execute_on_lane_0' op expected same number op arguments and block arguments.}}
  gpu.warp_execute_on_lane_0(%lane)[64] {
  ^bb0(%a: vector<128xi32>):
  }
  return
}

// -----

func.func @warp_size(%lane: index, %v: vector<4xi32>) {
  // expected-error @below {{incompatible distribution dimensions from 'vector<128xi32>' to 'vector<4xi32>' with warp size = 64}}
  gpu.warp_execute_on_lane_0(%lane)[64] args(%v : vector<4xi32>) {
  ^bb0(%a: vector<128xi32>):
  }
  return
}

// -----

func.func @warp_extent(%lane: index, %v: vector<6xi32>) {
  // expected-error @below {{expected expanded vector dimension #0 (128) to be a}}
  gpu.warp_execute_on_lane_0(%lane)[32] args(%v : vector<6xi32>) {
  ^bb0(%a: vector<128xi32>):
  }
  return
}

// -----

func.func @broadcast(%x: f32, %lane: i32) {
  // expected-error @below {{lane can only be specified for `specific_lane` broadcast}}
  %0 = gpu.subgroup_broadcast %x, first_active_lane %lane : f32
  return
}

// -----

func.func @broadcast_lane(%x: f32) {
  // expected-error @below {{lane must be specified for `specific_lane` broadcast}}
  %0 = gpu.subgroup_broadcast %x, specific_lane : f32
  return
}

// -----

func.func @rotate(%x: f32) {
  // expected-error @below {{offset must be in the range [0, 16)}}
  %0, %1 = gpu.rotate %x, 16, 16 : f32
  return
}

// -----

func.func @rotate_width(%x: f32) {
  // expected-error @below {{attribute 'width' failed to satisfy constraint: 32-bit signless integer attribute whose value is a power of two > 0}}
  %0, %1 = gpu.rotate %x, 1, 15 : f32
  return
}

// -----

func.func @matrix_order(%a: !gpu.mma_matrix<16x16xf16, "AOp">, %c: !gpu.mma_matrix<16x16xf16, "COp">) {
  // expected-error @below {{operands must be in the order AOp, BOp, COp}}
  %0 = gpu.subgroup_mma_compute %a, %a, %c : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "AOp"> -> !gpu.mma_matrix<16x16xf16, "COp">
  return
}

// -----

func.func @matrix_shape(%a: !gpu.mma_matrix<16x8xf16, "AOp">, %b: !gpu.mma_matrix<16x16xf16, "BOp">, %c: !gpu.mma_matrix<16x16xf16, "COp">) {
  // expected-error @below {{operand shapes do not satisfy matmul constraints}}
  %0 = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<16x8xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf16, "COp">
  return
}

// -----

func.func @matrix_stored(%a: !gpu.mma_matrix<16x16xf16, "AOp">, %m: memref<32x32xf16>, %i: index) {
  // expected-error @below {{expected the operand matrix being stored to have 'COp' operand type}}
  gpu.subgroup_mma_store_matrix %a, %m[%i, %i] {leadDimension = 32 : index} : !gpu.mma_matrix<16x16xf16, "AOp">, memref<32x32xf16>
  return
}

// -----

// expected-error @below {{operand expected to be one of AOp, BOp or COp}}
func.func private @matrix_role(!gpu.mma_matrix<16x16xf16, "EOp">)

// -----

// expected-error @below {{MMAMatrixType elements must be SI8, UI8, I32, F16, F32, or F64}}
func.func private @matrix_element(!gpu.mma_matrix<16x16xbf16, "AOp">)

// -----

gpu.module @old_chip [#nvvm.target<chip = "sm_90">] {
  func.func @f() {
    // expected-error @below {{'nvvm.wgmma.fence.aligned' op is not supported on sm_90}}
    nvvm.wgmma.fence.aligned
    return
  }
}

// -----

// expected-error @below {{The optimization level must be a number between 0 and 3.}}
gpu.module @level [#nvvm.target<O = 4>] {
}

// -----

// expected-error @below {{the object index must be positive}}
gpu.binary @negative <#gpu.select_object<-1>> [#gpu.object<#nvvm.target, "">]

// -----

// expected-error @below {{'gpu.binary' op attribute 'objects' failed to satisfy constraint: an array of GPU object attributes with at least 1 elements}}
gpu.binary @empty []

// -----

// expected-error @below {{'gpu.binary' op attribute 'offloadingHandler' failed to satisfy constraint}}
gpu.binary @handler <1> [#gpu.object<#nvvm.target, "">]

// -----

func.func @sparse(%n: index, %m: memref<?xf64>) {
  %0 = gpu.create_dn_tensor %m, %n : index into memref<?xf64>
  // expected-error @below {{operand #0 must be sparse matrix handle type, but got '!gpu.sparse.dntensor_handle'}}
  "gpu.destroy_sp_mat"(%0) : (!gpu.sparse.dntensor_handle) -> ()
  return
}

// -----

func.func @barrier_operand(%n: index) {
  // expected-error @below {{expected '=' after SSA name}}
  gpu.barrier %n
  return
}

// -----

func.func @launch_return(%n: index) {
  gpu.launch blocks(%a, %b, %c) in (%d = %n, %e = %n, %f = %n) threads(%g, %h, %i) in (%j = %n, %k = %n, %l = %n) {
    // expected-error @below {{'gpu.return' op expects parent op 'gpu.func'}}
    gpu.return
  }
  return
}

// -----

func.func @terminator() {
  // expected-error @below {{'gpu.terminator' op expects parent op 'gpu.launch'}}
  gpu.terminator
}

// -----

module {
  gpu.module @kernels {
    gpu.func @f() kernel {
      gpu.return
    }
  }
  func.func @host(%i: index) {
    // expected-error @below {{'gpu.launch_func' op expected the closest surrounding module to have the 'gpu.container_module' attribute}}
    gpu.launch_func @kernels::@f blocks in (%i, %i, %i) threads in (%i, %i, %i)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // expected-note @below {{see the kernel definition here}}
    memref.global "private" @f : memref<4xf32>
  }
  func.func @host(%i: index) {
    // expected-error @below {{'gpu.launch_func' op referenced kernel '@kernels::@f' is not a function}}
    gpu.launch_func @kernels::@f blocks in (%i, %i, %i) threads in (%i, %i, %i)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @f() {
      gpu.return
    }
  }
  func.func @host(%i: index) {
    // expected-error @below {{'gpu.launch_func' op kernel function is missing the 'gpu.kernel' attribute}}
    gpu.launch_func @kernels::@f blocks in (%i, %i, %i) threads in (%i, %i, %i)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @f(%x: f32) kernel {
      gpu.return
    }
  }
  func.func @host(%i: index) {
    // expected-error @below {{'gpu.launch_func' op got 0 kernel operands but expected 1}}
    gpu.launch_func @kernels::@f blocks in (%i, %i, %i) threads in (%i, %i, %i)
    return
  }
}

// -----

func.func @cluster_sizes(%i: index) {
  // expected-error @below {{'gpu.launch' op cluster size must be all present}}
  "gpu.launch"(%i, %i, %i, %i, %i, %i, %i) <{operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0>}> ({
    gpu.terminator
  }) : (index, index, index, index, index, index, index) -> ()
  return
}

// -----

func.func @region_arguments(%i: index) {
  // expected-error @below {{'gpu.launch' op unexpected number of region arguments}}
  "gpu.launch"(%i, %i, %i, %i, %i, %i) <{operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}> ({
  ^bb0(%a: index):
    gpu.terminator
  }) : (index, index, index, index, index, index) -> ()
  return
}

// -----

gpu.module @kernels {
  // expected-error @below {{'gpu.func' op expected body with at least one block}}
  "gpu.func"() <{function_type = () -> ()}> ({
  }) {sym_name = "f"} : () -> ()
}

// -----

func.func @no_yield(%x: f32) {
  // expected-error @below {{expected gpu.yield op in region}}
  %0 = "gpu.all_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    llvm.unreachable
  }) : (f32) -> f32
  return
}

// -----

func.func @stride_alone(%x: f32) {
  // expected-error @below {{'gpu.subgroup_reduce' op cluster stride can only be specified if cluster size is specified}}
  %0 = "gpu.subgroup_reduce"(%x) <{cluster_stride = 4 : i32, op = #gpu<all_reduce_op add>}> : (f32) -> f32
  return
}

// -----

func.func @warp_region(%i: index) {
  // expected-error @below {{'gpu.warp_execute_on_lane_0' op region #0 ('warpRegion') failed to verify constraint: region with 1 blocks}}
  "gpu.warp_execute_on_lane_0"(%i) <{warp_size = 32 : i64}> ({
  }) : (index) -> ()
  return
}

// -----

func.func @warp_end(%i: index) {
  // expected-error @below {{'gpu.warp_execute_on_lane_0' op expects regions to end with 'gpu.yield', found 'llvm.unreachable'}}
  // expected-note @below {{in custom textual format, the absence of terminator implies 'gpu.yield'}}
  "gpu.warp_execute_on_lane_0"(%i) <{warp_size = 32 : i64}> ({
    llvm.unreachable
  }) : (index) -> ()
  return
}

// -----

func.func @yield_type(%x: f32) {
  // expected-error @below {{incorrect gpu.yield type}}
  %0 = "gpu.all_reduce"(%x) ({
  ^bb0(%a: f32, %b: f32):
    %y = arith.constant 1.0 : f64
    "gpu.yield"(%y) : (f64) -> ()
  }) : (f32) -> f32
  return
}

// -----

func.func @distributed_scalar(%i: index) {
  // expected-error @below {{'gpu.warp_execute_on_lane_0' op expected vector type for distributed operands.}}
  %0 = gpu.warp_execute_on_lane_0(%i)[32] -> (f32) {
    %1 = arith.constant dense<1.0> : vector<32xf32>
    gpu.yield %1 : vector<32xf32>
  }
  return
}

// -----

func.func @distributed_rank(%i: index) {
  // expected-error @below {{'gpu.warp_execute_on_lane_0' op expected distributed vectors to have same rank and element type.}}
  %0 = gpu.warp_execute_on_lane_0(%i)[32] -> (vector<1x1xf32>) {
    %1 = arith.constant dense<1.0> : vector<32xf32>
    gpu.yield %1 : vector<32xf32>
  }
  return
}
