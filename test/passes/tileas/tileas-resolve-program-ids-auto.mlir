// RUN: tessera-opt %s --tileas-resolve-program-ids=raster=auto | filecheck %s

// Clusters of tile blocks go through the grid in columns of eight, whether their CTAs were to stay
// CHECK-LABEL: @columns
// CHECK-NOT: nv_tileas.persistent_if_auto
// CHECK: %[[NUMBER:.*]] = arith.addi
// CHECK: %[[EIGHT:.*]] = arith.constant 8 : i32
// CHECK: arith.minui %[[EIGHT]], %{{.*}}
nv_tileaa.func @columns(%p: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>, nv_tileas.persistent_if_auto = "static", nv_tileas.cluster_programs = array<i64: 2, 1>} {
  %x = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %v = nv_tileaa.make_memref %p, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %d = nv_tileas.tiled_store %v[%x], %one, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<1xf32>, !nv_tileaa.memref<?xf32>, !nv_tileaa.mem_token
  nv_tileaa.return
}

// or not,
// CHECK-LABEL: @once
// CHECK: %[[EIGHT:.*]] = arith.constant 8 : i32
// CHECK: arith.minui %[[EIGHT]], %{{.*}}
nv_tileaa.func @once(%p: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>, nv_tileas.cluster_programs = array<i64: 2, 1>} {
  %x = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %v = nv_tileaa.make_memref %p, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %d = nv_tileas.tiled_store %v[%x], %one, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<1xf32>, !nv_tileaa.memref<?xf32>, !nv_tileaa.mem_token
  nv_tileaa.return
}

// and single CTAs by rows.
// CHECK-LABEL: @single
// CHECK-NOT: nv_tileas.persistent_if_auto
// CHECK-NOT: arith.constant 8
// CHECK: nv_tileaa.return
nv_tileaa.func @single(%p: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>, nv_tileas.persistent_if_auto = "static"} {
  %x = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %v = nv_tileaa.make_memref %p, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %d = nv_tileas.tiled_store %v[%x], %one, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<1xf32>, !nv_tileaa.memref<?xf32>, !nv_tileaa.mem_token
  nv_tileaa.return
}
