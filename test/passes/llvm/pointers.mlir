// RUN: tessera-opt %s --convert-nv-tile-func-to-llvm --convert-tileas-to-llvm | filecheck %s

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // Four neighbors under the mask of the first; the padding elsewhere.
  // CHECK-LABEL: llvm.func @wide(
  // CHECK: llvm.cond_br %{{.*}}, ^[[THEN:.*]], ^[[AFTER:.*]](
  // CHECK: ^[[THEN]]:
  // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK: llvm.br ^[[AFTER]](
  nv_tileaa.func @wide(%p: !llvm.ptr<1>, %c: i1, %x: f32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %b = nv_tileaa.splat %p : !llvm.ptr<1> -> tensor<128x!llvm.ptr<1>, #nv_tileas.linear<{register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []}>>
    %i = nv_tileaa.iota : tensor<128xi32, #nv_tileas.linear<{register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []}>>
    %q = nv_tileaa.offset %b, %i, f32 : tensor<128x!llvm.ptr<1>, #nv_tileas.linear<{register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []}>>, tensor<128xi32, #nv_tileas.linear<{register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []}>>
    %m = nv_tileaa.splat %c : i1 -> tensor<128xi1, #nv_tileas.linear<{register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []}>>
    %d = nv_tileaa.splat %x : f32 -> tensor<128xf32, #nv_tileas.linear<{register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []}>>
    %v, %l = nv_tileaa.load %q mask %m padding %d, %t {axis = 0 : i64, copy_atom = #cute.copy_atom<sm80_ldg_128_f32>} : tensor<128x!llvm.ptr<1>, #nv_tileas.linear<{register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []}>> -> tensor<128xf32, #nv_tileas.linear<{register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []}>>, !nv_tileaa.mem_token
    nv_tileas.barrier
    // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    %s = nv_tileaa.store %q, %v, %l {axis = 0 : i64, copy_atom = #cute.copy_atom<sm80_stg_128_f32>} : tensor<128x!llvm.ptr<1>, #nv_tileas.linear<{register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []}>>, tensor<128xf32, #nv_tileas.linear<{register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []}>>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // A thread holds four elements, two of them neighbors, which one instruction moves.
  // CHECK-LABEL: llvm.func @held(
  // CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xf32>
  // CHECK-NOT: llvm.load
  nv_tileaa.func @held(%p: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %b = nv_tileaa.splat %p : !llvm.ptr<1> -> tensor<128x!llvm.ptr<1>, #nv_tileas.linear<{register = [[1], [64]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>>
    %i = nv_tileaa.iota : tensor<128xi32, #nv_tileas.linear<{register = [[1], [64]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>>
    %q = nv_tileaa.offset %b, %i, f32 : tensor<128x!llvm.ptr<1>, #nv_tileas.linear<{register = [[1], [64]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>>, tensor<128xi32, #nv_tileas.linear<{register = [[1], [64]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>>
    %v, %l = nv_tileaa.load %q, %t {axis = 0 : i64, copy_atom = #cute.copy_atom<sm80_ldg_64_f32>} : tensor<128x!llvm.ptr<1>, #nv_tileas.linear<{register = [[1], [64]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>> -> tensor<128xf32, #nv_tileas.linear<{register = [[1], [64]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // Offsets are signed, and counted in elements; one thread stores a scalar.
  // CHECK-LABEL: llvm.func @scalar(
  // CHECK: %[[WIDE:.*]] = llvm.sext %i : i8 to i64
  // CHECK: %[[BYTES:.*]] = llvm.shl %[[WIDE]], %{{.*}} : i64
  // CHECK: %[[Q:.*]] = llvm.getelementptr %p[%[[BYTES]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
  // CHECK: %[[FIRST:.*]] = llvm.icmp "eq" %{{.*}}, %{{.*}} : i32
  // CHECK: llvm.cond_br %[[FIRST]]
  // CHECK: llvm.store %x, %[[Q]] {alignment = 4 : i64} : f32, !llvm.ptr<1>
  // CHECK: %[[BITS:.*]] = llvm.bitcast %x : f32 to i32
  // CHECK: llvm.cond_br %[[FIRST]]
  // CHECK: llvm.store %[[BITS]], %[[Q]] atomic syncscope("device") release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  nv_tileaa.func @scalar(%p: !llvm.ptr<1>, %i: i8, %x: f32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %q = nv_tileaa.offset %p, %i, f32 : !llvm.ptr<1>, i8
    %s = nv_tileaa.store %q, %x, %t {copy_atom = #cute.copy_atom<sm80_stg_32_f32>} : !llvm.ptr<1>, f32, !nv_tileaa.mem_token
    %r = nv_tileaa.atomic_store release gpu %q, %x, %t : !llvm.ptr<1>, f32, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
