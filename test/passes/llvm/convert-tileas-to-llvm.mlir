// RUN: tessera-opt %s --convert-nv-tile-func-to-llvm --convert-tileas-to-llvm | filecheck %s
// RUN: tessera-opt %s --convert-nv-tile-func-to-llvm --convert-tileas-to-llvm -o %t
// RUN: tessera-opt %t -o %t.again
// RUN: diff %t %t.again

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // Every thread loads under its bounds check, adds, and stores under the same one. No shared memory, no global_smem.
  // CHECK-NOT: llvm.mlir.global
  // CHECK: llvm.func @add(%p: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 32>}
  // CHECK: nvvm.read.ptx.sreg.ctaid.x
  // CHECK: %[[IN:.*]] = llvm.icmp "ult"
  // CHECK: llvm.cond_br %[[IN]], ^[[LOAD:.*]], ^[[AFTER:[a-z0-9]*]]({{.*}})
  // CHECK: ^[[LOAD]]:
  // CHECK-NEXT: %[[X:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // CHECK-NEXT: llvm.br ^[[AFTER]](%[[X]] : f32)
  // CHECK: ^[[AFTER]](%[[Y:.*]]: f32):
  // CHECK-NEXT: %[[Z:.*]] = llvm.fadd %[[Y]], %[[Y]]
  // CHECK-NEXT: llvm.cond_br %[[IN]]
  // CHECK: llvm.store %[[Z]], %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
  // CHECK: llvm.return
  // CHECK-NOT: nv_tile{{a[as]}}.{{[a-z]*}}_
  nv_tileaa.func @add(%p: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %e = nv_tileaa.assume %n {lower = 0 : i64} : i32
    %v = nv_tileaa.make_memref %p, shape = [%e], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
    %i = nv_tileaa.get_program_id {axis = 0 : i32} : i32
    %x, %l = nv_tileas.tiled_load %v[%i], %t padding zero {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<?xf32> -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>, !nv_tileaa.mem_token
    %y = arith.addf %x, %x : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>
    %s = nv_tileas.tiled_store %v[%i], %y, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>, !nv_tileaa.memref<?xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // A coordinate is compared with what the extent leaves behind the index, both unsigned.
  // CHECK-LABEL: llvm.func @extent
  // CHECK: %[[E:.*]] = llvm.intr.umax(%n, %i)
  // CHECK: %[[LEFT:.*]] = llvm.sub %[[E]], %i
  // CHECK: llvm.icmp "ult" %{{.*}}, %[[LEFT]]
  nv_tileaa.func @extent(%p: !llvm.ptr<1>, %n: i32, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
    %x, %l = nv_tileas.tiled_load %v[%i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<?xf32> -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // A view known to hold the tile needs no check.
  // CHECK-LABEL: llvm.func @inside
  // CHECK-NOT: llvm.icmp
  // CHECK: llvm.load
  nv_tileaa.func @inside(%p: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<64xf32>
    %i = arith.constant 32 : i32
    %x, %l = nv_tileas.tiled_load %v[%i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<64xf32> -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // Of an extent of 64 bits, no more is left than the tile has.
  // CHECK-LABEL: llvm.func @wide
  // CHECK: %[[I:.*]] = llvm.zext %i : i32 to i64
  // CHECK: %[[E:.*]] = llvm.intr.umax(%n, %[[I]])
  // CHECK: %[[LEFT:.*]] = llvm.sub %[[E]], %[[I]] : i64
  // CHECK: %[[LEAST:.*]] = llvm.intr.umin(%[[LEFT]], %{{.*}})
  // CHECK: %[[NARROW:.*]] = llvm.trunc %[[LEAST]] : i64 to i32
  // CHECK: llvm.icmp "ult" %{{.*}}, %[[NARROW]] : i32
  nv_tileaa.func @wide(%p: !llvm.ptr<1>, %n: i64, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [%n], stride = [1], space = #nv_tileaa.global : (i64) !nv_tileaa.memref<?xf32>
    %x, %l = nv_tileas.tiled_load %v[%i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<?xf32> -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // No index of 32 bits is outside of so many elements.
  // CHECK-LABEL: llvm.func @larger
  // CHECK-NOT: llvm.icmp
  // CHECK: llvm.load
  nv_tileaa.func @larger(%p: !llvm.ptr<1>, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [8589934592], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<8589934592xf32>
    %x, %l = nv_tileas.tiled_load %v[%i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<8589934592xf32> -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
