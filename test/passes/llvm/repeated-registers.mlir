// RUN: tessera-opt %s --tileas-insert-barriers --convert-nv-tile-func-to-llvm --convert-tileas-to-llvm -o %t
// RUN: filecheck %s --input-file %t

// Two registers of a thread hold the same elements as two others: only these are computed, and the loop begins with
// each of them twice.

#from = #nv_tileas.linear<{register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>
#to = #nv_tileas.linear<{register = [[32], [0]], lane = [[16], [8], [4], [2], [1]], warp = [], block = []}>
#spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>
!view = !nv_tileaa.memref<64xi32>
!from = tensor<64xi32, #from>
!to = tensor<64xi32, #to>
!pointers = tensor<64x!llvm.ptr<1>, #to>

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // CHECK-LABEL: llvm.func @exchanged
  // CHECK: %[[FIRST:.+]] = nvvm.shfl.sync idx
  // CHECK: %[[SECOND:.+]] = nvvm.shfl.sync idx
  // CHECK-NOT: nvvm.shfl.sync idx
  // CHECK: llvm.br ^{{.+}}(%{{.+}}, %[[FIRST]], %[[SECOND]], %[[FIRST]], %[[SECOND]] :
  nv_tileaa.func @exchanged(%p: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #spec} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %zero = arith.constant 0 : i32
    %m = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !view
    %x, %l = nv_tileas.tiled_load %m[%zero], %t {atom = #cute.copy_atom<sm80_ldg_32_i32>} : !view -> !from, !nv_tileaa.mem_token
    %y = nv_tileas.convert_layout %x : !from -> !to
    %z = scf.for %i = %zero to %n step %n iter_args(%w = %y) -> (!to) : i32 {
      %more = arith.addi %w, %w : !to
      scf.yield %more : !to
    }
    %s = nv_tileas.tiled_store %m[%zero], %z, %t {atom = #cute.copy_atom<sm80_stg_32_i32>} : !to, !view, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // CHECK-LABEL: llvm.func @loaded
  // CHECK: %[[FIRST:.+]] = llvm.load
  // CHECK: %[[SECOND:.+]] = llvm.load
  // CHECK-NOT: llvm.load
  // CHECK: llvm.br ^{{.+}}(%{{.+}}, %[[FIRST]], %[[SECOND]], %[[FIRST]], %[[SECOND]] :
  nv_tileaa.func @loaded(%p: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #spec} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %zero = arith.constant 0 : i32
    %m = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !view
    %y, %l = nv_tileas.tiled_load %m[%zero], %t {atom = #cute.copy_atom<sm80_ldg_32_i32>} : !view -> !to, !nv_tileaa.mem_token
    %z = scf.for %i = %zero to %n step %n iter_args(%w = %y) -> (!to) : i32 {
      %more = arith.addi %w, %w : !to
      scf.yield %more : !to
    }
    %s = nv_tileas.tiled_store %m[%zero], %z, %t {atom = #cute.copy_atom<sm80_stg_32_i32>} : !to, !view, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // CHECK-LABEL: llvm.func @gathered
  // CHECK: %[[FIRST:.+]] = llvm.load
  // CHECK: %[[SECOND:.+]] = llvm.load
  // CHECK-NOT: llvm.load
  // CHECK: llvm.br ^{{.+}}(%{{.+}}, %[[FIRST]], %[[SECOND]], %[[FIRST]], %[[SECOND]] :
  nv_tileaa.func @gathered(%p: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #spec} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %zero = arith.constant 0 : i32
    %m = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !view
    %ps = nv_tileaa.splat %p : !llvm.ptr<1> -> !pointers
    %y, %l = nv_tileaa.load %ps, %t {axis = 0 : i64, copy_atom = #cute.copy_atom<sm80_ldg_32_i32>} : !pointers -> !to, !nv_tileaa.mem_token
    %z = scf.for %i = %zero to %n step %n iter_args(%w = %y) -> (!to) : i32 {
      %more = arith.addi %w, %w : !to
      scf.yield %more : !to
    }
    %s = nv_tileas.tiled_store %m[%zero], %z, %t {atom = #cute.copy_atom<sm80_stg_32_i32>} : !to, !view, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // CHECK-LABEL: llvm.func @counted
  // CHECK: %[[FIRST:.+]] = llvm.inline_asm has_side_effects "{{.*}}atom.relaxed
  // CHECK: %[[SECOND:.+]] = llvm.inline_asm has_side_effects "{{.*}}atom.relaxed
  // CHECK-NOT: llvm.inline_asm has_side_effects "{{.*}}atom.relaxed
  // CHECK: llvm.br ^{{.+}}(%{{.+}}, %[[FIRST]], %[[SECOND]], %[[FIRST]], %[[SECOND]] :
  nv_tileaa.func @counted(%p: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #spec} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %zero = arith.constant 0 : i32
    %m = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !view
    %ps = nv_tileaa.splat %p : !llvm.ptr<1> -> !pointers
    %one = arith.constant dense<1> : !to
    %y, %l = nv_tileaa.atomic_rmw add relaxed gpu %ps, %one, %t : !pointers, !to, !nv_tileaa.mem_token
    %z = scf.for %i = %zero to %n step %n iter_args(%w = %y) -> (!to) : i32 {
      %more = arith.addi %w, %w : !to
      scf.yield %more : !to
    }
    %s = nv_tileas.tiled_store %m[%zero], %z, %t {atom = #cute.copy_atom<sm80_stg_32_i32>} : !to, !view, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
