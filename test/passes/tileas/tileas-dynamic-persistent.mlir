// RUN: tessera-opt %s --tileas-dynamic-persistent --split-input-file -o %t
// RUN: filecheck %s --input-file %t

// The body becomes a loop over numbers of programs.  What is the same for all programs, stays in front of it.  Tiles are
// made in each program.
// CHECK-LABEL: @k
// CHECK: nv_tileaa.make_memref
// CHECK: %[[FIRST:.+]] = nv_tileaa.first_program_id : i32
// CHECK: scf.while (%[[PID:.+]] = %[[FIRST]]) : (i32) -> i32 {
// CHECK-NEXT:   %[[VALID:.+]] = nv_tileaa.is_valid_program_id %[[PID]] : i32 -> i1
// CHECK-NEXT:   scf.condition(%[[VALID]]) %[[PID]] : i32
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%[[PROGRAM:.+]]: i32):
// CHECK-NEXT:   arith.constant dense<1.000000e+00>
// CHECK-NEXT:   nv_tileaa.get_program_id of %[[PROGRAM]] {axis = 0 : i32} : i32
// CHECK:        nv_tileas.tiled_store
// CHECK-NEXT:   %[[NEXT:.+]] = nv_tileaa.cancel_next_program_id : i32
// CHECK-NEXT:   scf.yield %[[NEXT]] : i32
// CHECK-NEXT: }
// CHECK-NEXT: nv_tileaa.return
nv_tileaa.func @k(%p: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %x = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %c64 = arith.constant 64 : i32
  %v = nv_tileaa.make_memref %p, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %at = arith.muli %x, %c64 : i32
  %d = nv_tileas.tiled_store %v[%at], %one, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<64xf32>, !nv_tileaa.memref<?xf32>, !nv_tileaa.mem_token
  nv_tileaa.return
}

// -----

// A load that is the same for all programs stays in front, too.  Not so one behind an access of the own program, and
// one for whose tile the registers of two CTAs have no room beside the others.
// CHECK-LABEL: @common
// CHECK: nv_tileas.tiled_load {{.*}} -> tensor<64xf32>
// CHECK: nv_tileas.tiled_load {{.*}} -> tensor<8192xf32>
// CHECK: scf.while
// CHECK: nv_tileas.tiled_store
// CHECK: nv_tileas.tiled_load {{.*}} -> tensor<64xf32>
// CHECK: nv_tileas.tiled_load {{.*}} -> tensor<8192xf32>
nv_tileaa.func @common(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
  %x = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %zero = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %v = nv_tileaa.make_memref %p, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
  %w = nv_tileaa.make_memref %q, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %at = arith.muli %x, %c64 : i32
  %a, %u = nv_tileas.tiled_load %w[%zero], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<?xf32> -> tensor<64xf32>, !nv_tileaa.mem_token
  %d = nv_tileas.tiled_store %v[%at], %a, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<64xf32>, !nv_tileaa.memref<?xf32>, !nv_tileaa.mem_token
  %b, %e = nv_tileas.tiled_load %w[%zero], %d {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<?xf32> -> tensor<64xf32>, !nv_tileaa.mem_token
  %c, %f = nv_tileas.tiled_load %w[%zero], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<?xf32> -> tensor<8192xf32>, !nv_tileaa.mem_token
  %g, %h = nv_tileas.tiled_load %w[%zero], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<?xf32> -> tensor<8192xf32>, !nv_tileaa.mem_token
  nv_tileaa.return
}
